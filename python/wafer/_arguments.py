"""Checks of arguments: a wrong type or name is an error that names the argument."""

from __future__ import annotations

import difflib
import math
import numbers
import operator
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wafer._errors import ConfigError, WorkloadError

__all__ = [
    "file",
    "flag",
    "instance",
    "known",
    "names",
    "not_an_input",
    "number",
    "of_a_dict",
    "read_text",
    "several",
    "text",
    "whole",
    "whole_or_none",
]

#: Largest whole number that the compiled half accepts.
MOST = 2**64 - 1


@contextmanager
def of_a_dict(name: str, place: str) -> Iterator[None]:
    """Names a dict in errors about it; the compiled half reads the dict as the document ``place``.

    The user has never seen that document, so its lines and its path mean nothing.
    """
    try:
        yield
    except (ConfigError, WorkloadError) as error:
        message = re.sub(rf"^{re.escape(place)}(:\d+)*(?=: )", lambda _: name, str(error))
        # An error about the whole dict names it, too.
        message = message.removeprefix(f"{name}: ") if message.startswith(f"{name}: {name}: ") else message
        raise type(error)(message) from None


def file(name: str, value: Any) -> str:
    """Returns the path of a file as text."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name}: expected a path, not {value!r:.60}") from None


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    """Returns the text of a file; an error names the file."""
    try:
        return Path(path).read_text(encoding)
    except FileNotFoundError:
        raise ConfigError(f"{os.fspath(path)}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{os.fspath(path)}: cannot be read: {reason}") from None


def whole(name: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """Returns a whole number from ``least`` to ``most``, including NumPy's types."""
    try:
        found = operator.index(value)
    except TypeError:
        found = least - 1
    if isinstance(value, bool) or not least <= found <= most:
        end = f" to {most}" if most < MOST or found > most else ""
        raise ConfigError(f"{name}: expected a whole number from {least}{end}, not {value!r:.60}")
    return found


def whole_or_none(name: str, value: Any, least: int = 0) -> int | None:
    """Returns a whole number; ``None`` stays ``None``."""
    return None if value is None else whole(name, value, least)


def number(name: str, value: Any) -> float:
    """Returns a finite number, including NumPy's types."""
    try:
        found = math.nan if isinstance(value, bool) or not isinstance(value, numbers.Real) else float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ConfigError(f"{name}: expected a number, not {value!r:.60}")
    return found


def text(name: str, value: Any) -> str | None:
    """Returns text; ``None`` stays ``None``."""
    if value is None or isinstance(value, str):
        return value
    raise ConfigError(f"{name}: expected text, not {value!r}")


def flag(name: str, value: Any) -> bool | None:
    """Returns ``True`` or ``False``; ``None`` stays ``None``."""
    if value is None or isinstance(value, bool):
        return value
    raise ConfigError(f"{name}: expected True or False, not {value!r}")


def instance(name: str, value: Any, kind: type, hint: str = "") -> None:
    """Raises ``TypeError`` unless the value is of the kind."""
    if not isinstance(value, kind):
        own = "wafer." if kind.__module__.startswith("wafer") else ""
        wanted = f"{own}{kind.__name__}{hint and ' '}{hint}"
        raise TypeError(f"{name}: expected a {wanted}, not {type(value).__name__} {value!r:.60}")


def several(name: str, values: Any, kind: type) -> list[Any]:
    """Returns one or more values as a list; raises an error if there are none or one has the wrong type."""
    found = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    if not found:
        raise ConfigError(f"{name}: none given")
    for value in found:
        instance(name, value, kind)
    return found


def names(name: str, given: Any) -> list[str]:
    """Returns one or more names as a list."""
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not all(isinstance(item, str) for item in found):
        raise ConfigError(f"{name}: expected a name, or a list of names, not {given!r:.60}")
    return found


def known(given: Iterable[str], names: Sequence[str]) -> None:
    """Raises ``TypeError`` if a keyword is not one of the names."""
    for name in given:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(names)}"
            raise TypeError(f"no setting `{name}`; {hint}")


def not_an_input(path: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Raises ConfigError if an output is one of the files that were read."""
    for file in inputs:
        if os.path.exists(path) and os.path.exists(file) and os.path.samefile(path, file):
            raise ConfigError(f"{os.fspath(path)}: is also an input, which the output would overwrite")
