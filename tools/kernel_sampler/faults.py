# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a user's flags, files or machine, and what to do about it."""

from __future__ import annotations


class UseError(Exception):
    """Ends the command with status 2. `help_text` says what to do."""

    def __init__(self, message: str, help_text: str = "") -> None:
        super().__init__(message)
        self.help_text = help_text


class Unavailable(Exception):
    """This PyTorch or this device has no such kernel: the function is left out, with this text as the reason."""
