# SPDX-License-Identifier: Apache-2.0
"""Forecasts: what a drain or a start would do to a running cluster."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._errors import check_number, input_error
from ._inputs import PathLike, Settings, _Written, settings_texts
from ._run import RunResult

if TYPE_CHECKING:
    import pandas


class Forecast:
    """The answer of ``weft.predict``.

    Attributes:
        possible: whether every job that has to move or start finds a place in time.
        refusal: why it cannot be done at all; empty if it was tried.
        data: the answer as ``weft predict --json`` prints it.
    """

    def __init__(self, data: dict[str, Any]):
        self.data = data
        self.possible: bool = data["possible"]
        self.refusal: str = data.get("refusal", "")

    @property
    def jobs(self) -> "pandas.DataFrame":
        """A row for each job that had not ended: as things are (``now.state``, ``now.iteration_s``, ``now.end_s``) and with what
        was asked about (``then.*``); times in seconds of the run."""
        import pandas

        return pandas.json_normalize(self.data["jobs"])

    def __repr__(self) -> str:
        return f"<weft.Forecast {self.data['question']}: {'possible' if self.possible else 'not possible'}>"


def predict(
    snapshot: Union[PathLike, RunResult],
    *,
    drain: Optional[str] = None,
    start: Optional[str] = None,
    horizon: str = "1h",
    set: Optional[Settings] = None,
    threads: int = 0,
) -> Forecast:
    """Tells what a drain or a start would do to a running cluster; as ``weft predict``.

    Args:
        snapshot: a run with ``snapshot=``, or the file that one wrote.
        drain: a host or a switch by its name: "host3", "leaf0".
        start: a job that waits or has not arrived. One of the two.
        horizon: how far to look ahead.
        set: parameters instead of the run's.
        threads: that look ahead; 0: one per core. Answers do not depend on them.

    Raises:
        InputError: an input is wrong.
    """
    if (drain is None) == (start is None):
        raise input_error("missing-flag", "one question at a time", "predict", 'give drain="host3" or start="job"')
    held: Optional[_Written] = None
    if isinstance(snapshot, RunResult):
        if not snapshot.snapshot:
            raise input_error("no-snapshot", "the run has no snapshot", "snapshot", 'run it with snapshot="60s", before it is over')
        held = _Written("snapshot.textproto", snapshot.snapshot)
    path = held.path if held is not None else os.fspath(snapshot)  # type: ignore[arg-type]
    return Forecast(_native.predict(path, drain or "", start or "", horizon, settings_texts(set, "set"), check_number("threads", threads, 0, 1024)))
