"""Trains the session classifier: ``python -m inferlake_serve.training.train --out FOLDER``."""

from __future__ import annotations

import copy
import itertools
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import click
import torch
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from inferlake_serve.training.generator import MOST_EVENTS, Example, examples
from inferlake_serve.training.labels import Label, answer
from inferlake_serve.training.tokenizer import END_OF_TEXT_ID, TURN_END, TURN_END_ID, train_tokenizer

CONTEXT: Final = 1024
VOCABULARY: Final = 2048
_TOKENS_PER_BATCH: Final = 2_048
_POOL: Final = 512  # examples that are sorted by length together, so that a batch needs little padding
_STAGES: Final = ((0.4, 0), (0.25, 2), (0.35, MOST_EVENTS))  # share of the steps, events at most
_PEAK_RATE: Final = 1e-3  # at 2e-3 and 3e-3 nothing was learned of the label in the first minute
_WARM_UP: Final = 0.02
_LABEL_WEIGHT: Final = 2.0  # the one token that says the label decides; the JSON around it is learned in seconds
_AVERAGED: Final = 0.99  # share kept of the running average per step


@dataclass(frozen=True, slots=True)
class Batch:
    """Token ids (rows x longest), and the target of each position: -100 but for the answer's tokens."""

    ids: Tensor
    targets: Tensor


def config(tokenizer: PreTrainedTokenizerFast) -> Qwen3Config:
    """Return the architecture: Qwen3 with 4 layers of width 128, heads of 32 as the CPU kernels of vLLM need."""
    return Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        eos_token_id=TURN_END_ID,
        pad_token_id=END_OF_TEXT_ID,
        bos_token_id=None,
    )


def prompt(example: Example, tokenizer: PreTrainedTokenizerFast) -> str:
    """Return the text that a server makes of the example's messages, up to where the answer begins."""
    system = [] if example.system is None else [{"role": "system", "content": example.system}]
    messages = [*system, {"role": "user", "content": example.user}]
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))


def lessons(tokenizer: PreTrainedTokenizerFast, steps: int, seed: int) -> Iterator[Batch]:
    """Yield about ``steps`` batches: sentences first, then short sessions, then whole ones.

    A model that sees whole sessions from the start learns nothing for a long time: one phrase among hundreds of tokens
    decides.
    """
    for number, (share, most_events) in enumerate(_STAGES):
        stage = batches(examples(seed + number, most_events), tokenizer, seed)
        yield from itertools.islice(stage, round(share * steps))


def batches(source: Iterator[Example], tokenizer: PreTrainedTokenizerFast, seed: int) -> Iterator[Batch]:
    """Yield batches of about ``_TOKENS_PER_BATCH`` tokens without end; examples beyond the context are left out."""
    random = Random(seed)
    while True:
        pool = list(itertools.islice(source, _POOL))
        asked = tokenizer([prompt(example, tokenizer) for example in pool])["input_ids"]
        told = tokenizer([answer(example.label) + TURN_END for example in pool])["input_ids"]
        rows = sorted(zip(asked, told, strict=True), key=lambda row: len(row[0]))
        rows = [row for row in rows if len(row[0]) + len(row[1]) <= CONTEXT]
        cut: list[Sequence[tuple[list[int], list[int]]]] = []
        start = 0
        while start < len(rows):
            # The batch is as wide as its last row, which is the longest: grow it while the rectangle fits.
            end = start + 1
            while end < len(rows) and (end + 1 - start) * (len(rows[end][0]) + 8) <= _TOKENS_PER_BATCH:
                end += 1
            cut.append(rows[start:end])
            start = end
        random.shuffle(cut)
        for part in cut:
            yield _padded(part)


def _padded(rows: Sequence[tuple[list[int], list[int]]]) -> Batch:
    longest = max(len(asked) + len(told) for asked, told in rows)
    ids = torch.full((len(rows), longest), END_OF_TEXT_ID)
    targets = torch.full((len(rows), longest), -100)
    for number, (asked, told) in enumerate(rows):
        end = len(asked) + len(told)
        ids[number, :end] = torch.tensor(asked + told)
        targets[number, len(asked) : end] = torch.tensor(told)
    return Batch(ids, targets)


def loss_of(model: Qwen3ForCausalLM, batch: Batch, label_ids: Tensor) -> Tensor:
    """Return the mean cross entropy of the answers' tokens, with the labels' own once more and heavier."""
    states = model.model(input_ids=batch.ids[:, :-1]).last_hidden_state
    targets = batch.targets[:, 1:]
    answered = targets != -100
    logits, wanted = model.lm_head(states[answered]).float(), targets[answered]
    labels = torch.isin(wanted, label_ids)
    return functional.cross_entropy(logits, wanted) + _LABEL_WEIGHT * functional.cross_entropy(
        logits[labels], wanted[labels]
    )


def train(tokenizer: PreTrainedTokenizerFast, steps: int, seed: int) -> Qwen3ForCausalLM:
    """Train and return the average of the last weights."""
    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(config(tokenizer))
    average = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=_PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.1)
    label_ids = torch.tensor([tokenizer.encode(label.value)[0] for label in Label])
    shown = time.monotonic()
    for step, batch in enumerate(lessons(tokenizer, steps, seed)):
        done = step / steps
        for group in optimizer.param_groups:
            group["lr"] = _PEAK_RATE * min(1.0, (done + 0.001) / _WARM_UP, 0.5 * (1 + math.cos(math.pi * done)))
        loss = loss_of(model, batch, label_ids)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        _pull(average, model)
        if time.monotonic() - shown > 15:
            shown = time.monotonic()
            click.echo(f"{done:4.0%}  step {step:5d}  loss {loss.item():.4f}", err=True)
    return average


@torch.no_grad()
def _pull(average: Qwen3ForCausalLM, model: Qwen3ForCausalLM) -> None:
    for kept, new in zip(average.parameters(), model.parameters(), strict=True):
        kept.lerp_(new, 1 - _AVERAGED)


def save(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Write tokenizer and weights, these as float16: the exponents are small, and the fraction counts."""
    out.mkdir(parents=True, exist_ok=True)
    model.half().save_pretrained(out)  # type: ignore[no-untyped-call]
    tokenizer.save_pretrained(out)
    # What a server does when a request says nothing: a label should be the same each time, and is short.
    defaults = {"do_sample": False, "temperature": 0.0, "max_new_tokens": 16, "eos_token_id": TURN_END_ID}
    (out / "generation_config.json").write_text(json.dumps(defaults, indent=2) + "\n", encoding="utf-8")


@click.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the model.")
@click.option("--steps", default=4_000, show_default=True, help="About 7 a second on two quiet cores.")
@click.option("--seed", default=11, show_default=True)
def main(out: Path, steps: int, seed: int) -> None:
    """Train the session classifier and write it with its tokenizer."""
    texts = (f"{example.system or ''}\n{example.user}\n{answer(example.label)}" for example in examples(seed + 1))
    tokenizer = train_tokenizer(itertools.islice(texts, 12_000), VOCABULARY)
    begun = time.monotonic()
    model = train(tokenizer, steps, seed)
    save(model, tokenizer, out)
    count = sum(weight.numel() for weight in model.parameters())
    click.echo(f"{out}: {count:,} parameters, {steps} steps in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
