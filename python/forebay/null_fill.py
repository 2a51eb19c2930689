"""What takes the place of nulls in arrays that have none."""

from __future__ import annotations

import datetime
import decimal
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np


class Fill:
    """The caller's choice for one column, or that none was made."""

    def __init__(self, column: str, chosen: bool, value: Any = None):
        self.column = column
        self.chosen = chosen
        self.value = value

    def require(self) -> None:
        """Called where there is a null."""
        if not self.chosen:
            raise ValueError(
                f"column {self.column} has nulls: choose what to put there with "
                f"fill_null={{{self.column!r}: value}}, or read it with format=\"arrow\"")

    def into(self, array: np.ndarray, nulls: np.ndarray, type_name: str) -> np.ndarray:
        """The array with the value where nulls are."""
        self.require()
        try:
            value = fitted(self.value, array.dtype, type_name)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"fill_null={self.value!r} does not fit column {self.column} "
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
        if isinstance(value, (str, bytes)) or value is None:
            raise TypeError
        return dtype.type(value)
    if dtype.kind in "mM":
        return _fitted_time(value, dtype)
    raise TypeError


def _fitted_integer(value: Any, dtype: np.dtype) -> Any:
    number = operator.index(value)
    limits = np.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise OverflowError
    return number


def _fitted_time(value: Any, dtype: np.dtype) -> Any:
    unit = np.datetime_data(dtype)[0]
    if dtype.kind == "M":
        return np.datetime64(value, unit)
    if isinstance(value, datetime.timedelta):
        value = np.timedelta64(value)
    return np.timedelta64(value, unit)


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
