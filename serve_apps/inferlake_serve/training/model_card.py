"""Writes the model's card, with figures measured now, from the template beside this module.

``python -m inferlake_serve.training.model_card --model FOLDER``
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

import click

from inferlake_serve.model_source import SHIPPED_MODEL
from inferlake_serve.training.evaluate import Measured, measure

_LANGUAGES: Final = {
    "ar": "Arabic",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "hi": "Hindi",
    "ja": "Japanese",
    "pt": "Portuguese",
    "zh": "Chinese",
}


def card(measured: Measured) -> str:
    """Return the card's text."""
    heldout, generated = measured.heldout, measured.generated
    names = {**_LANGUAGES, "normal": "label normal", "abnormal": "label abnormal", "pending": "label pending"}
    first = {**heldout.by_language, **heldout.by_label}
    second = {**generated.by_language, **generated.by_label}
    confusion = (f"| {label} | {' | '.join(map(str, said.values()))} |" for label, said in heldout.confusion.items())
    template = files("inferlake_serve.training").joinpath("model_card.md").read_text(encoding="utf-8")
    return template.format(
        parameters=measured.parameters,
        heldout=heldout,
        generated=generated,
        rows="\n".join(f"| {names[key]} | {share:.1%} | {second[key]:.1%} |" for key, share in first.items()),
        confusion="\n".join(confusion),
        codes=", ".join(_LANGUAGES),
        languages=", ".join(_LANGUAGES.values()),
    )


@click.command()
@click.option("--model", type=click.Path(exists=True, path_type=Path), default=SHIPPED_MODEL, show_default=True)
def main(model: Path) -> None:
    """Measure a model and write what it is beside its weights, as README.md."""
    measured = measure(model)
    (model / "README.md").write_text(card(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
