"""Measures a model on held-out sessions: ``python -m inferlake_serve.training.evaluate --model FOLDER``."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import click
import torch
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from inferlake_serve.model_source import SHIPPED_MODEL
from inferlake_serve.training.generator import Example, examples
from inferlake_serve.training.heldout import heldout_examples
from inferlake_serve.training.labels import Label, parse_answer
from inferlake_serve.training.train import prompt

_BATCH: Final = 32
_MOST_NEW_TOKENS: Final = 16
_GENERATED: Final = 600


@dataclass(frozen=True, slots=True)
class Judged:
    """One example with what the model said: None is an answer that is no JSON with a label."""

    example: Example
    said: Label | None

    @property
    def right(self) -> bool:
        """Whether the model said what is right."""
        return self.said is self.example.label


@dataclass(frozen=True, slots=True)
class Score:
    """Shares from 0 to 1; ``confusion`` counts answers by true label and said label."""

    examples: int
    accuracy: float
    valid_json: float
    by_language: dict[str, float]
    by_label: dict[str, float]
    confusion: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a model does with both sets."""

    parameters: int
    heldout: Score
    generated: Score
    mistakes: tuple[Judged, ...]


def judge(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, asked: Sequence[Example]) -> list[Judged]:
    """Let the model answer freely, greedily, without constrained decoding."""
    tokenizer.padding_side = "left"
    judged: list[Judged] = []
    for start in range(0, len(asked), _BATCH):
        part = asked[start : start + _BATCH]
        inputs = tokenizer([prompt(example, tokenizer) for example in part], return_tensors="pt", padding=True)
        with torch.inference_mode():
            generate: Any = model.generate  # type: ignore[attr-defined,unused-ignore] # pyright: ignore[reportAttributeAccessIssue]
            output = generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                max_new_tokens=_MOST_NEW_TOKENS,
                do_sample=False,
            )
        texts = tokenizer.batch_decode(output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        judged += [Judged(example, parse_answer(text)) for example, text in zip(part, texts, strict=True)]
    return judged


def score(judged: Sequence[Judged]) -> Score:
    """Sum answers up."""
    confusion = {label.value: {said: 0 for said in (*(one.value for one in Label), "invalid")} for label in Label}
    for one in judged:
        confusion[one.example.label.value][one.said.value if one.said else "invalid"] += 1
    return Score(
        examples=len(judged),
        accuracy=_share(judged, lambda one: one.right),
        valid_json=_share(judged, lambda one: one.said is not None),
        by_language=_by(judged, lambda one: one.example.language),
        by_label=_by(judged, lambda one: one.example.label.value),
        confusion=confusion,
    )


def _by(judged: Sequence[Judged], key: Callable[[Judged], str]) -> dict[str, float]:
    ordered = sorted(judged, key=key)
    return {name: _share(list(group), lambda one: one.right) for name, group in itertools.groupby(ordered, key)}


def _share(judged: Sequence[Judged], counts: Callable[[Judged], bool]) -> float:
    return round(sum(map(counts, judged)) / len(judged), 4)


def show(title: str, result: Score) -> str:
    """Return the score as a few lines for people."""
    return (
        f"{title}: {result.accuracy:.1%} of {result.examples} right, {result.valid_json:.1%} valid JSON\n"
        f"  by language: {_listed(result.by_language)}\n  by label: {_listed(result.by_label)}"
    )


def _listed(shares: dict[str, float]) -> str:
    return "  ".join(f"{name} {share:.1%}" for name, share in shares.items())


def measure(folder: Path) -> Measured:
    """Judge both sets with the model in a folder."""
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    heldout = judge(model, tokenizer, list(heldout_examples()))
    generated = judge(model, tokenizer, list(itertools.islice(examples(seed=1_000_003), _GENERATED)))
    return Measured(
        parameters=sum(weight.numel() for weight in model.parameters()),
        heldout=score(heldout),
        generated=score(generated),
        mistakes=tuple(one for one in heldout + generated if not one.right),
    )


@click.command()
@click.option("--model", type=click.Path(exists=True, path_type=Path), default=SHIPPED_MODEL, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--mistakes", is_flag=True, help="Print what was judged wrongly.")
def main(model: Path, as_json: bool, mistakes: bool) -> None:
    """Measure a model on held-out sentences, and on generated sessions that it was not trained on."""
    measured = measure(model)
    results = {"held-out sentences": measured.heldout, "generated sessions": measured.generated}
    if as_json:
        click.echo(json.dumps({name: asdict(result) for name, result in results.items()}, ensure_ascii=False))
        return
    for name, result in results.items():
        click.echo(show(name, result))
    if mistakes:
        for one in measured.mistakes:
            click.echo(f"{one.example.label} not {one.said}: {one.example.user}")


if __name__ == "__main__":
    main()
