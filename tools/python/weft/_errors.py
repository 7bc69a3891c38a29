# SPDX-License-Identifier: Apache-2.0
"""Exceptions of weft."""
from __future__ import annotations

import difflib
import numbers
from typing import Any, Sequence


class InputError(ValueError):
    """An input is wrong: a file, a setting, a keyword.

    Its text is what the ``weft`` command prints: place, source line, caret, code, help. Mistakes of a file are reported
    together; ``code``, ``message``, ``file``, ``line``, ``column`` and ``help`` are of the first.

    Attributes:
        diagnostics: all of them, each a dictionary of severity, code, message, file, line, column (from 1; 0: not known)
            and help.
    """

    def __init__(self, text: str, diagnostics: Sequence[dict[str, Any]]):
        super().__init__(text.rstrip("\n"))
        self.diagnostics: list[dict[str, Any]] = list(diagnostics)
        first = self.diagnostics[0]
        self.code: str = first["code"]
        self.message: str = first["message"]
        self.file: str = first["file"]
        self.line: int = first["line"]
        self.column: int = first["column"]
        self.help: str = first["help"]

    def __reduce__(self) -> Any:
        return (InputError, (str(self), self.diagnostics))


class InternalError(RuntimeError):
    """A bug in Weft, whatever the input was; please report it with the call and its inputs."""


def input_error(code: str, message: str, place: str, help: str = "") -> InputError:
    """An InputError of one mistake in what Python was given."""
    text = f"{place}: error: {message} [{code}]" + (f"\n  help: {help}" if help else "")
    return InputError(text, [
        {"severity": "error", "code": code, "message": message, "file": place, "line": 0, "column": 0, "help": help}
    ])


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """`value`, if it is one of `choices`."""
    if value in choices:
        return value
    close = difflib.get_close_matches(str(value), choices, 1)
    known = ", ".join(f'"{one}"' for one in choices)
    raise input_error("bad-value", f"{name} is {value!r}", name, f'did you mean "{close[0]}"?' if close else f"one of {known}")


def check_number(name: str, value: Any, least: float, most: float = float("inf"), whole: bool = True) -> Any:
    """`value`, if it is a number in this range; whole ones have 63 bits unless `most` is larger."""
    if whole and most == float("inf"):
        most = 2**63 - 1
    kind = numbers.Integral if whole else numbers.Real
    if isinstance(value, kind) and not isinstance(value, bool) and least <= value <= most:
        return value
    wanted = f"{'a whole number' if whole else 'a number'} from {least} {'up' if most in (float('inf'), 2**63 - 1, 2**64 - 1) else f'to {most}'}"
    raise input_error("out-of-range", f"{name} is {value!r}", name, wanted)


def check_if_given(name: str, value: Any, least: float, most: float = float("inf"), whole: bool = True) -> Any:
    """The same for a number that may be left out."""
    return None if value is None else check_number(name, value, least, most, whole)


def check_time(name: str, value: Any) -> str:
    """A text with a unit, or none."""
    if value is None or isinstance(value, str):
        return value or ""
    raise input_error("bad-value", f"{name} is {value!r}", name, f'a time has a unit: "{value}s"')
