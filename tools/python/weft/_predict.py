# SPDX-License-Identifier: Apache-2.0
"""Forecasts: what a drain or a start would do to a running cluster."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from . import _native
from ._errors import check_number, check_time, input_error
from ._inputs import PathLike, Scenario, Settings, Topology, _Written, file_flag, settings_texts
from ._run import RunResult

if TYPE_CHECKING:
    import pandas


class Forecast:
    """The answer of ``weft.predict``.

    Attributes:
        possible: whether every job that has to move or start finds a place in time.
        refusal: why it cannot be done at all; empty if it was tried.
        data: the answer as ``weft predict --json`` prints it.
        notes: what was assumed of the cluster.
    """

    def __init__(self, data: dict[str, Any], notes: Sequence[str] = ()):
        self.data = data
        self.notes = list(notes)
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
    snapshot: Union[None, PathLike, RunResult] = None,
    *,
    nodes: Optional[PathLike] = None,
    jobs: Optional[str] = None,
    scenario: Union[None, PathLike, Scenario] = None,
    topology: Union[None, PathLike, Topology] = None,
    scheduler: Optional[str] = None,
    placement: Optional[str] = None,
    at: Optional[str] = None,
    limit_share: Optional[float] = None,
    time_zone: Optional[str] = None,
    drain: Optional[str] = None,
    start: Optional[str] = None,
    horizon: Optional[str] = None,
    set: Optional[Settings] = None,
    threads: int = 0,
) -> Forecast:
    """Tells what a drain or a start would do to a running cluster; as ``weft predict``.

    >>> predict(nodes="nodes.txt", jobs="queue.json:squeue", drain="gpu003")

    Args:
        snapshot: a run with ``snapshot=``, or the file that one wrote; or else ``nodes``, for a cluster that runs under Slurm.
        nodes: what ``scontrol show node`` prints, as text or with --json.
        jobs: what ``squeue --json``, ``sacct -P`` or ``sacct --json`` prints, "queue.json:squeue".
        scenario: names the queue in place of ``jobs``, and says what its jobs run, and the topology.
        topology: whose hosts are the nodes with GPUs, in their order.
        scheduler, placement: default: the scenario's, else "backfill" and "first_fit".
        at: when the files were taken, a date; default: the latest instant that the jobs tell of.
        limit_share: jobs run for this share of their time limit in all.
        time_zone: of dates without one; default UTC.
        drain: a host or a switch by its name: "host3", "leaf0".
        start: a job that waits or has not arrived. One of the two.
        horizon: how far to look ahead, "6h"; default 30 days where jobs are durations, 1 hour with a network.
        set: parameters instead of the run's.
        threads: that look ahead; 0: one per core. Answers do not depend on them.

    Raises:
        InputError: an input is wrong.
    """
    if (drain is None) == (start is None):
        raise input_error("missing-flag", "one question at a time", "predict", 'give drain="host3" or start="job"')
    if (snapshot is None) == (nodes is None):
        raise input_error("missing-flag", "one cluster at a time", "predict", 'give a snapshot, or nodes="nodes.txt"')
    asked = _native.Forecasting()
    asked.drain, asked.start = drain or "", start or ""
    asked.horizon, asked.threads = check_time("horizon", horizon), check_number("threads", threads, 0, 1024)
    settings = settings_texts(set, "set")
    if nodes is not None:
        flags = _native.OperatorFlags()
        flags.nodes, flags.jobs = os.fspath(nodes), jobs or ""
        flags.scenario, flags.topology = file_flag(scenario), file_flag(topology)
        flags.scheduler, flags.placement, flags.at = scheduler or "", placement or "", at or ""
        options = flags.jobs_options
        options.limit_share, options.time_zone = "" if limit_share is None else str(limit_share), time_zone or ""
        flags.jobs_options, flags.settings = options, settings
        text, notes = _native.predict_cluster(flags, asked)
        return Forecast(json.loads(text), notes)
    of_slurm = {"jobs": jobs, "scenario": scenario, "topology": topology, "scheduler": scheduler, "placement": placement, "at": at,
                "limit_share": limit_share, "time_zone": time_zone}
    for name, value in of_slurm.items():
        if value is not None:
            raise input_error("unused-flag", f"{name} says something about nodes, which are not given", name, "give nodes, or drop it")
    held: Optional[_Written] = None
    if isinstance(snapshot, RunResult):
        if not snapshot.snapshot:
            raise input_error("no-snapshot", "the run has no snapshot", "snapshot", 'run it with snapshot="60s", before it is over')
        held = _Written("snapshot.textproto", snapshot.snapshot)
    path = held.path if held is not None else os.fspath(snapshot)  # type: ignore[arg-type]
    text, notes = _native.predict(path, settings, asked)
    return Forecast(json.loads(text), notes)
