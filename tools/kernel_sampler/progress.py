# SPDX-License-Identifier: Apache-2.0
"""Says on stderr how far sampling is: one line that is rewritten on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import sys
import time

EVERY_S = {True: 0.2, False: 60.0}


def duration_text(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Progress:
    def __init__(self, total: int, stream=sys.stderr) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._total = total
        self._said_at = time.monotonic()

    def say(self, done: int, left_s: float, what: str) -> None:
        now = time.monotonic()
        if now - self._said_at < EVERY_S[self._is_terminal]:
            return
        self._said_at = now
        line = f"{done} of {self._total} points, {duration_text(left_s)} left: {what}"
        self._stream.write(f"\r\033[K{line[:150]}" if self._is_terminal else line + "\n")
        self._stream.flush()

    def end(self) -> None:
        if self._is_terminal:
            self._stream.write("\r\033[K")
            self._stream.flush()
