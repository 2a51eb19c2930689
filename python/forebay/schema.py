"""The columns of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import _native


class Field(NamedTuple):
    """A column: its name, its Arrow type as people write it, and whether it may be null."""

    name: str
    type: str
    nullable: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.type}{'' if self.nullable else ' not null'}"


class Schema:
    """The fields in order. ``pyarrow.schema(ds.schema)`` makes it pyarrow's."""

    def __init__(self, table: _native.Table, columns: list[str] | None):
        self._table = table
        self._columns = columns
        self._fields = tuple(Field(*field) for field in table.fields(columns))

    @property
    def names(self) -> list[str]:
        return [field.name for field in self._fields]

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self._fields)

    def __getitem__(self, key: int | str) -> Field:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"there is no column {key!r}: the columns are "
                               f"{', '.join(self.names)}")
            return self._fields[self.names.index(key)]
        return self._fields[key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "\n".join(str(field) for field in self._fields)

    def __arrow_c_schema__(self) -> object:
        return self._table.schema_capsule(self._columns)
