"""Columns made of their buffers are the columns that pyarrow makes of the same values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferlake.worker.arrow_columns import arrow_column

_VALUES = {
    pa.string(): st.text(st.characters(exclude_categories=["Cs"])),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
}


@pytest.mark.parametrize("type_", _VALUES, ids=str)
@given(data=st.data())
def test_a_column_is_what_pyarrow_makes_of_the_values(type_: pa.DataType, data: st.DataObject) -> None:
    values: Sequence[object] = data.draw(st.lists(st.none() | _VALUES[type_], max_size=40).map(tuple))
    made = arrow_column(values, type_)
    made.validate(full=True)
    assert made.equals(pa.array(values, type_))
    assert (made.null_count, made.to_pylist()) == (values.count(None), list(values))
    part = made.slice(len(values) // 3)
    assert part.to_pylist() == list(values[len(values) // 3 :])


@pytest.mark.parametrize(("type_", "value"), [(pa.int32(), 1 << 31), (pa.int64(), 1 << 63), (pa.string(), "\ud800")])
def test_a_value_that_the_type_does_not_have_is_an_error(type_: pa.DataType, value: object) -> None:
    with pytest.raises((OverflowError, UnicodeEncodeError)):
        arrow_column([value], type_)


def test_a_worker_that_makes_results_has_no_need_of_pandas() -> None:
    program = (
        "import sys\n"
        "from inferlake.result import CallResult\n"
        "from inferlake.worker.result_arrow import text_array, to_struct_array\n"
        "import inferlake.routing.called\n"
        "results = [CallResult('a', attempts=1), CallResult(None, 'e')]\n"
        "print(to_struct_array(results).field('attempts').to_pylist(), text_array(results).to_pylist())\n"
        "print('pandas' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["[1, 0] ['a', None]", "False"]
