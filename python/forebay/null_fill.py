"""What takes the place of nulls in arrays that have none."""

from __future__ import annotations

import datetime
import decimal
import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np


class Unfilled(ValueError):
    """A null for which nothing, or nothing that fits, was chosen."""


class Fill:
    """The caller's choice for one column, or that none was made."""

    def __init__(self, column: str, chosen: bool, value: Any = None):
        self.column = column
        self.chosen = chosen
        self.value = value

    def field(self, name: str) -> Fill:
        """The choice for a field of a struct: its own, where there is one for each."""
        if not isinstance(self.value, Mapping):
            return self
        return Fill(self.column, name in self.value, self.value.get(name))

    def require(self) -> None:
        """Called where there is a null."""
        if not self.chosen:
            raise Unfilled(f"column {self.column} has nulls")

    def into(self, array: np.ndarray, nulls: np.ndarray, type_name: str) -> np.ndarray:
        """The array with the value where nulls are."""
        self.require()
        try:
            value = fitted(self.value, array.dtype, type_name)
        except (TypeError, ValueError, OverflowError, decimal.InvalidOperation):
            raise Unfilled(f"fill_null={self.value!r} does not fit column {self.column} "
                           f"({type_name})") from None
        if not array.flags.writeable:
            array = array.copy()
        array[nulls] = value
        return array


class FillChoice:
    """``fill_null`` as the caller gave it: one value, or one for each column."""

    def __init__(self, fill_null: Any, columns: list[str]):
        self._by_column = fill_null if isinstance(fill_null, Mapping) else None
        self._for_all = None if self._by_column is not None else fill_null
        for name in self._by_column or ():
            if name not in columns:
                raise ValueError(f"fill_null names column {name!r}, which is not read; "
                                 f"read are {', '.join(columns)}")

    def of(self, column: str) -> Fill:
        if self._by_column is None:
            return Fill(column, self._for_all is not None, self._for_all)
        if column in self._by_column:
            return Fill(column, True, self._by_column[column])
        return Fill(column, False)

    def given(self) -> dict[str, str]:
        """What was chosen for single columns, as people write it."""
        return {name: repr(value) for name, value in (self._by_column or {}).items()}


def fitted(value: Any, dtype: np.dtype, type_name: str) -> Any:
    """The value as this dtype has it; an error where it would become another value."""
    if dtype.kind == "O":
        return _fitted_object(value, type_name)
    if dtype.kind == "b":
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError
        return value
    if dtype.kind in "iu":
        return _fitted_integer(value, dtype)
    if dtype.kind == "f":
        return _fitted_real(value, dtype)
    if dtype.kind in "mM":
        return _fitted_time(value, dtype, "[" in type_name and ", " in type_name)
    if dtype.names and isinstance(value, tuple) and len(value) == len(dtype.names):
        return tuple(_fitted_integer(part, dtype[i]) for i, part in enumerate(value))
    raise TypeError


def _fitted_integer(value: Any, dtype: np.dtype) -> Any:
    number = operator.index(value)
    limits = np.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise OverflowError
    return number


def _fitted_real(value: Any, dtype: np.dtype) -> Any:
    if isinstance(value, (str, bytes)) or value is None:
        raise TypeError
    with np.errstate(over="ignore"):
        number = dtype.type(value)
    if math.isinf(number) and not math.isinf(value):
        raise OverflowError
    return number


def _fitted_time(value: Any, dtype: np.dtype, zoned: bool) -> Any:
    """A time that the column's unit has exactly. One with a zone is for columns that have
    one: those are in UTC."""
    unit = np.datetime_data(dtype)[0]
    kind = np.datetime64 if dtype.kind == "M" else np.timedelta64
    if isinstance(value, (bool, float)) or value is None:
        raise TypeError
    if isinstance(value, (int, np.integer)):
        return kind(value, unit)
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        if not zoned:
            raise TypeError
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    exact = kind(value)
    if np.isnat(exact):
        return kind("NaT", unit)
    time = exact.astype(dtype)
    if time.astype(exact.dtype) != exact:
        raise OverflowError
    return time


def _fitted_object(value: Any, type_name: str) -> Any:
    """Objects hold None for whoever wants it; else what the column's other values are."""
    if value is None:
        return None
    wanted: tuple[type, ...] = (bytes,)
    if type_name in ("string", "large_string"):
        wanted = (str,)
    elif type_name.startswith("decimal"):
        wanted = (decimal.Decimal, int)
    elif type_name == "null":
        wanted = (object,)
    if not isinstance(value, wanted):
        raise TypeError
    return decimal.Decimal(value) if type_name.startswith("decimal") else value
