"""The model's tokenizer: byte-level BPE, so that no text of any language is unknown, each digit a token of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END_OF_TEXT: Final = "<|endoftext|>"
TURN_START: Final = "<|im_start|>"
TURN_END: Final = "<|im_end|>"
# Their numbers: special tokens come first, in the order in which they are given.
END_OF_TEXT_ID: Final = 0
TURN_END_ID: Final = 2

# ChatML. No system message is put in where the caller sends none: the model learned both.
CHAT_TEMPLATE: Final = (
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"
)

# Letters and their combining marks stay together (the usual pattern cuts Hindi at each vowel sign), digits are alone.
_WORDS: Final = Regex(r" ?[\p{L}\p{M}]+| ?\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+")


def train_tokenizer(texts: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """Learn ``size`` tokens from texts and return the tokenizer with its chat template."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(_WORDS, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(token, special=True) for token in (END_OF_TEXT, TURN_START, TURN_END)]
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        eos_token=TURN_END,
        pad_token=END_OF_TEXT,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
