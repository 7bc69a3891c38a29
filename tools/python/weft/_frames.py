# SPDX-License-Identifier: Apache-2.0
"""Columns as NumPy arrays, pandas frames and Arrow tables."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

import numpy

if TYPE_CHECKING:
    import pandas
    import pyarrow


def plain_columns(columns: Mapping[str, Any]) -> dict[str, "numpy.ndarray"]:
    """Arrays alone: counts with holes become real numbers with NaN, texts objects with None where there is none."""
    return {name: _plain(column) for name, column in columns.items()}


def _plain(column: Any) -> "numpy.ndarray":
    if isinstance(column, list):
        return numpy.array(column, dtype=object)
    if not isinstance(column, tuple):
        return column
    first, second = column
    if isinstance(second, list):
        return numpy.array([*second, None], dtype=object)[first]
    filled = first.astype(float)
    filled[second] = numpy.nan
    return filled


def frame(columns: Mapping[str, Any], units: Mapping[str, str], meanings: Mapping[str, str]) -> "pandas.DataFrame":
    """A pandas frame. ``attrs["units"]`` and ``attrs["meanings"]`` are by column."""
    import pandas

    def series(column: Any) -> Any:
        if isinstance(column, tuple) and not isinstance(column[1], list):
            return pandas.arrays.IntegerArray(column[0], column[1])
        return _plain(column)

    made = pandas.DataFrame({name: series(column) for name, column in columns.items()}, copy=False)
    made.attrs["units"] = {name: unit for name, unit in units.items() if unit}
    made.attrs["meanings"] = dict(meanings)
    return made


def arrow(made: "pandas.DataFrame") -> "pyarrow.Table":
    """An Arrow table, with the unit of each column in its field's metadata."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Arrow tables need pyarrow, which is not installed; frames and arrays do without it") from error
    table = pyarrow.Table.from_pandas(made, preserve_index=False)
    units = made.attrs.get("units", {})
    fields = [field.with_metadata({"unit": units[field.name]}) if field.name in units else field for field in table.schema]
    return table.cast(pyarrow.schema(fields))
