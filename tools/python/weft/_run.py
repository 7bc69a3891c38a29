# SPDX-License-Identifier: Apache-2.0
"""Runs: a scenario in, tables and a summary out."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Union

from . import _frames, _native
from ._errors import check_choice, check_if_given, check_number, check_time
from ._inputs import PathLike, Scenario, Settings, Topology, Workload, run_flags

if TYPE_CHECKING:
    import numpy
    import pandas
    import pyarrow

Progress = Callable[[str, int, int], None]

#: Tables that runs fill: by name their meaning, when they are filled, and of each column (unit, meaning).
TABLES: dict[str, tuple[str, str, dict[str, tuple[str, str]]]] = _native.table_descriptions()


class RunResult:
    """What a run came to.

    Each table is a pandas frame with the columns of the CSV table of this name: ``jobs``, ``attempts``, ``cluster``,
    ``iterations``, ``communicators``, ``collectives``, ``flows``, ``links``, ``pause_storms``, ``events``, ``congestion``,
    ``congested_jobs``, ``link_samples``, ``tier_samples``. Units are last in the names of columns (``wait_s``, ``fct_ns``, ``size_bytes``), and
    in ``frame.attrs["units"]``.

    Attributes:
        summary: the figures of summary.json, as a dictionary; units are in the names.
        manifest: inputs with their hashes, every parameter, seed and version, as manifest.json has them.
        notes: what the inputs left to assume, and what settings held back.
        standstill: why nothing got on any more, if the run ended for that.
        snapshot: how far all jobs had come at ``snapshot=``, for ``weft.predict``; empty without.
        out: the folder that was written; empty without.
    """

    def __init__(self, run: _native.FinishedRun):
        self._run = run
        self._tables: dict[str, "pandas.DataFrame"] = {}
        self.summary: dict[str, Any] = json.loads(run.summary_json())
        self.manifest: dict[str, Any] = json.loads(run.manifest_json())
        self.notes: list[str] = [*run.assumptions, *run.notes]
        if run.flows_in_classes:
            self.notes.append(f"flows has {run.flows_in_classes} transfers by class: a row is all of an op and iteration that "
                              'are about as large; flow_rows="whole" has each')
        self.standstill: list[str] = run.standstill
        self.snapshot: str = run.snapshot
        self.out: str = run.out

    @property
    def fingerprint(self) -> str:
        """The same for the same inputs, on any number of threads."""
        return self.summary["fingerprint"]

    @property
    def text(self) -> str:
        """What ``weft run`` prints."""
        return self._run.summary_text()

    def table(self, name: str) -> "pandas.DataFrame":
        """A table by its name, made when it is first asked for."""
        check_choice("table", name, tuple(TABLES))
        if name not in self._tables:
            columns = TABLES[name][2]
            self._tables[name] = _frames.frame(self._run.columns(name), {column: one[0] for column, one in columns.items()},
                                               {column: one[1] for column, one in columns.items()})
        return self._tables[name]

    def arrays(self, name: str) -> dict[str, "numpy.ndarray"]:
        """The columns of a table as NumPy arrays, without pandas. Numbers are not copied on the way."""
        check_choice("table", name, tuple(TABLES))
        return _frames.plain_columns(self._run.columns(name))

    def to_arrow(self, name: str) -> "pyarrow.Table":
        """A table for Arrow, with units as metadata of its fields. Needs pyarrow."""
        return _frames.arrow(self.table(name))

    def __repr__(self) -> str:
        return f"<weft.RunResult {self.text.splitlines()[0]}, fingerprint {self.fingerprint}>"


def _table_property(name: str) -> property:
    meaning, when, _ = TABLES[name]
    return property(lambda self: self.table(name), doc=f"{meaning}{f' ({when})' if when else ''}.")


for _name in TABLES:
    setattr(RunResult, _name, _table_property(_name))


def run(
    scenario: Union[None, PathLike, Scenario] = None,
    *,
    topology: Union[None, PathLike, Topology] = None,
    workload: Union[None, PathLike, Workload] = None,
    flows: Optional[PathLike] = None,
    jobs: Optional[PathLike] = None,
    mode: Optional[str] = None,
    set: Optional[Settings] = None,
    iterations: Optional[int] = None,
    hosts: Optional[int] = None,
    gpus_per_host: Optional[int] = None,
    scheduler: Optional[str] = None,
    placement: Optional[str] = None,
    seed: Optional[int] = None,
    workload_options: Optional[Mapping[str, Any]] = None,
    jobs_options: Optional[Mapping[str, Any]] = None,
    threads: int = 1,
    fast_forward: Optional[int] = None,
    zeta: str = "auto",
    until: Optional[str] = None,
    snapshot: Optional[str] = None,
    sample: Optional[str] = None,
    profile: Optional[PathLike] = None,
    align: bool = False,
    take_transferred: bool = False,
    flow_comparison: bool = True,
    flow_rows: str = "auto",
    out: Optional[PathLike] = None,
    trace: bool = False,
    trace_size: str = "100MB",
    trace_ranks: int = 64,
    report: bool = False,
    progress: Optional[Progress] = None,
) -> RunResult:
    """Simulates a scenario, a workload, a flow list or a cluster trace; as ``weft run``, with results in memory.

    The interpreter's lock is free meanwhile, so that runs may go on in several threads. Ctrl-C raises KeyboardInterrupt.

    Args:
        scenario: a Scenario, or the path of one; or else what follows.
        topology: a Topology, or FILE[:format].
        workload: a Workload of a file or of ops, or FILE[:format].
        flows: a flow list, FILE[:hpcc].
        jobs: a job trace, FILE:format.
        mode: "job", "flow" or "packet"; default: the scenario's, or by the inputs.
        set: parameters by name, with units: ``{"packet.buffer": "16MB"}``; ``weft modules`` lists them.
        iterations: rounds of ``workload``.
        hosts, gpus_per_host: job mode without a topology.
        scheduler, placement: names of ``weft modules``.
        seed: of every random choice.
        workload_options: of the reader of ``workload``: ranks, iteration, process_groups, time_unit, as_recorded, scale_group.
        jobs_options: of the reader of ``jobs``: strict, time_zone, throughputs, gpu_type, limit_share, skip_larger_jobs.
        threads: worker threads; results do not depend on them.
        fast_forward: simulate so many iterations whenever a job starts or ends, and let jobs go on at that pace.
        zeta: entities closer than this share a logical process: "auto", "table" or a duration.
        until: stop at this time of the run, "90min".
        snapshot: also note how far all jobs have come at this time, "60s"; see ``RunResult.snapshot``.
        sample: packet mode: fill ``link_samples`` for each such interval, "10us".
        profile: parameters that a calibration has fitted.
        align: also correct iteration times as the profile's alignment says; needs ``out``.
        take_transferred: also from a profile of other machines.
        flow_comparison: packet mode: run the same in flow mode to compare with.
        flow_rows: rows of ``flows``: "auto": a row for each transfer, above a million a row for each op, iteration and size
            class; "whole": a row each; "off": none.
        out: also write the folder that ``weft run --out`` would.
        trace: also write trace.json into ``out``, of ``trace_size`` at most, with ``trace_ranks`` ranks of each job.
        report: also write report.html into ``out``, a page of charts, and fill ``tier_samples``: how busy the links of each
            tier are over time.
        progress: called now and then with what is counted ("iterations"), how many are done, and of how many.

    Raises:
        InputError: an input is wrong.
        KeyboardInterrupt: after Ctrl-C; a folder holds what was finished by then.
    """
    wanted = _native.RequestedRun()
    wanted.flags = run_flags(
        scenario, topology=topology, workload=workload, flows=flows, jobs=jobs, mode=mode, set=set, iterations=iterations,
        hosts=hosts, gpus_per_host=gpus_per_host, scheduler=scheduler, placement=placement, seed=seed,
        workload_options=workload_options, jobs_options=jobs_options)
    wanted.fast_forward = check_if_given("fast_forward", fast_forward, 0)
    wanted.threads, wanted.zeta = check_number("threads", threads, 1, 1024), zeta
    wanted.until, wanted.snapshot, wanted.sample = (
        check_time(name, time) for name, time in (("until", until), ("snapshot", snapshot), ("sample", sample)))
    wanted.profile = os.fspath(profile) if profile is not None else ""
    wanted.align, wanted.take_transferred = align, take_transferred
    wanted.no_flow_comparison = not flow_comparison
    wanted.out = os.fspath(out) if out is not None else ""
    wanted.flows_csv = check_choice("flow_rows", flow_rows, ("auto", "whole", "off"))
    wanted.report = report
    wanted.trace, wanted.trace_size, wanted.trace_ranks = trace, trace_size, check_number("trace_ranks", trace_ranks, 1, 2**32 - 1)
    return RunResult(_native.run(wanted, flow_rows, progress))


def check(scenario: Union[None, PathLike, Scenario] = None, **inputs: Any) -> dict[str, Any]:
    """Reads and checks what ``run`` would be given, and runs nothing.

    Returns:
        Its name, mode, seed, and how many hosts, links and jobs there are, with the assumptions that inputs left to make.

    Raises:
        InputError: an input is wrong.
    """
    return _native.describe(run_flags(scenario, **inputs))


def report(folder: PathLike) -> str:
    """Writes report.html, a page of charts, of what a run, study, comparison, calibration or projection left in its folder; as
    ``weft report``.

    Returns:
        Its path.

    Raises:
        InputError: the folder has no such results, or they are of a run that has not ended.
    """
    return _native.report(os.fspath(folder))
