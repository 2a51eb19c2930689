"""What callers say about Iceberg tables, as the node takes it: options that are text."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _arguments

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_STATES = ("snapshot", "tag", "branch", "as_of")
_TEXTS = {"tag": "forebay.tag", "branch": "forebay.branch", "filter": "forebay.filter",
          "catalog": "catalog", "warehouse": "warehouse", "token": "token",
          "credential": "credential"}


def options(*, remap: Mapping[str, str] | None, allow: Iterable[str] | None,
            **arguments: Any) -> dict[str, str]:
    """The options that these arguments of ``open`` mean; those that are None mean none."""
    given = [name for name in _STATES if arguments[name] is not None]
    if len(given) > 1:
        raise ValueError(f"give at most one of snapshot, tag, branch and as_of, "
                         f"not {' and '.join(given)}")
    found = {option: _text(name, arguments[name])
             for name, option in _TEXTS.items() if arguments[name] is not None}
    if arguments["snapshot"] is not None:
        found["forebay.snapshot"] = str(_arguments.whole("snapshot", arguments["snapshot"]))
    if arguments["as_of"] is not None:
        found["forebay.as-of"] = str(milliseconds_since_1970(arguments["as_of"]))
    found.update(_remaps(remap))
    found.update(_allowed(allow))
    return found


def milliseconds_since_1970(as_of: Any) -> int:
    """A datetime or its ISO 8601 text, in UTC where it has no zone; a whole number of
    milliseconds, as Iceberg has them; or seconds as time.time() gives them."""
    if isinstance(as_of, str):
        as_of = _parse(as_of)
    if isinstance(as_of, datetime.datetime):
        if as_of.tzinfo is None:
            as_of = as_of.replace(tzinfo=datetime.timezone.utc)
        return (as_of - _EPOCH) // datetime.timedelta(milliseconds=1)
    if isinstance(as_of, int) and not isinstance(as_of, bool):
        return as_of
    if isinstance(as_of, float) and math.isfinite(as_of):
        return round(as_of * 1000)
    raise ValueError(f"as_of must be a time, as '2026-10-01T00:00:00Z', a datetime or "
                     f"milliseconds since 1970, not {as_of!r}")


def _parse(text: str) -> datetime.datetime | int:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        # Python 3.10 does not know that Z means UTC.
        return datetime.datetime.fromisoformat(
            text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    except ValueError:
        raise ValueError(f"as_of must be a time, as '2026-10-01T00:00:00Z', not {text!r}") from None


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        shown = "" if name in ("token", "credential") else f", not {value!r}"
        raise ValueError(f"{name} must be a text that is not empty{shown}")
    return value


def _remaps(remap: Mapping[str, str] | None) -> dict[str, str]:
    if remap is None:
        return {}
    if not isinstance(remap, Mapping):
        raise ValueError("remap must be a dict of old and new prefixes: "
                         "{'s3://old-bucket/': 's3://new-bucket/'}")
    found = {}
    for old, new in remap.items():
        found["forebay.remap." + _place("remap", old)] = _place("remap", new)
    return found


def _allowed(allow: Iterable[str] | None) -> dict[str, str]:
    if allow is None:
        return {}
    if isinstance(allow, (str, os.PathLike)):
        raise ValueError(f"allow must be a list of prefixes: [{os.fspath(allow)!r}]")
    return {f"forebay.allow.{number}": _place("allow", prefix)
            for number, prefix in enumerate(allow)}


def _place(name: str, prefix: Any) -> str:
    if isinstance(prefix, os.PathLike):
        prefix = os.fspath(prefix)
    if not isinstance(prefix, str) or not prefix:
        raise ValueError(f"the prefixes of {name} must be texts that are not empty, "
                         f"not {prefix!r}")
    return prefix
