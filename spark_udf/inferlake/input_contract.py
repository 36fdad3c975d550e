"""What a model's INPUT says about the inputs of a call: how many there are, and of which types.

A model without INPUT takes anything. A fitting value is sent as it is and not cast to the declared type.
"""

from __future__ import annotations

from collections.abc import Sequence

from inferlake.errors import InputCountDiffers, InputTypeDiffers
from inferlake.type_fit import fits
from inferlake_registry.contract.models import ModelSnapshot


def check_count(snapshot: ModelSnapshot, given: int) -> None:
    """Raise InputCountDiffers when a model with INPUT gets more or fewer inputs than that has columns."""
    wanted = snapshot.inputs
    if wanted and len(wanted) != given:
        raise InputCountDiffers(snapshot.name, [f"{column.name} {column.type}" for column in wanted], given)


def check_types(snapshot: ModelSnapshot, given: Sequence[str]) -> None:
    """Raise InputTypeDiffers at the first input that does not fit; ``given`` are types as ``typeof`` spells them."""
    check_count(snapshot, len(given))
    for number, (column, type_text) in enumerate(zip(snapshot.inputs, given, strict=False), 1):
        if not fits(column.type, type_text):
            raise InputTypeDiffers(snapshot.name, number, column.name, column.type, type_text)
