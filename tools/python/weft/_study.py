# SPDX-License-Identifier: Apache-2.0
"""Studies: one question, asked of many runs that differ in little."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Union

from . import _frames, _native
from ._errors import check_number, input_error
from ._inputs import Folder, PathLike, Scenario, Settings, Topology, Workload, _Held, _plain, file_flag
from ._run import Progress

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True)
class Range:
    """Numbers of a parameter between two, for an axis.

    Attributes:
        first, last: both ends.
        unit: "MB", "us"; empty: plain numbers.
        values: how many; 0 for a Latin hypercube, which draws from all of the range.
        scale: "linear", equal differences, or "log", equal ratios.
    """

    first: float
    last: float
    unit: str = ""
    values: int = 0
    scale: str = "linear"

    def _field(self) -> dict[str, Any]:
        said = {"from": float(self.first), "to": float(self.last), "unit": self.unit, "scale": self.scale}
        return {**said, "values": self.values} if self.values else said


def _axis(name: str, values: Any) -> dict[str, Any]:
    if isinstance(values, Range):
        return {"name": name, "range": values._field()}
    if isinstance(values, Mapping):
        return {"name": name, **values}
    return {"name": name, "value": list(values) if not isinstance(values, (str, os.PathLike)) else [values]}


def _metric(metric: Union[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {"name": metric} if isinstance(metric, str) else dict(metric)


class Study(_Held):
    """What is varied, and what is noted of each run; the fields of tools/study/study.proto.

    >>> Study(scenario=Scenario(...), mode="packet",
    ...       axes={"packet.buffer": ["8MB", "16MB", "32MB"], "flow.wqe_latency": Range(1, 16, "us", values=5, scale="log")},
    ...       metrics=["mean_iteration_s", {"name": "wait_p99_s", "column": "jobs.wait_s", "statistic": "p99"}],
    ...       replicates=3)

    Args:
        scenario: what all runs share: a Scenario, or the path of one; or else ``topology`` with ``workload``, ``flows`` or
            ``jobs``, as ``weft.run`` has them.
        mode, scheduler, placement, iterations, hosts, gpus_per_host, set: as ``weft.run`` has them.
        axes: what runs differ in: by parameter or field its values, a Range, or a dictionary with ``value`` and ``along``
            (what takes its n-th value where the axis does).
        sampling: "grid", "one_at_a_time" or "latin_hypercube".
        samples: points of a hypercube.
        points: points one by one, in place of axes: dictionaries of settings.
        metrics: figures of the summary by name, or dictionaries of name, column ("jobs.wait_s"), statistic ("mean", "min",
            "max", "sum", "count", "p50", "p90", "p99") and where (``{"job": "a"}``).
        replicates: runs of each point, whose seeds are the same for all points.
        seed: of the first replicate.
        name, question: for results.
        more: further fields of the schema, such as ``stop`` (``{"precision": 0.02}``) and ``measure_machine``, whose figures
            (``machine.cpu_time_s``, ``machine.peak_memory_bytes``) include an interpreter for each run.

    Raises:
        InputError: [unknown-field], [bad-value]; ``weft.study`` finds the rest.
    """

    _file_name = "study.textproto"

    def __init__(
        self,
        scenario: Union[None, PathLike, Scenario] = None,
        *,
        topology: Union[None, PathLike, Topology] = None,
        workload: Union[None, PathLike, Workload] = None,
        flows: Optional[PathLike] = None,
        jobs: Optional[PathLike] = None,
        mode: Optional[str] = None,
        scheduler: Optional[str] = None,
        placement: Optional[str] = None,
        iterations: Optional[int] = None,
        hosts: Optional[int] = None,
        gpus_per_host: Optional[int] = None,
        set: Optional[Settings] = None,
        axes: Union[Mapping[str, Any], Sequence[Mapping[str, Any]]] = (),
        sampling: str = "grid",
        samples: Optional[int] = None,
        points: Sequence[Settings] = (),
        metrics: Union[str, Mapping[str, Any], Sequence[Union[str, Mapping[str, Any]]]],
        replicates: Optional[int] = None,
        seed: Optional[int] = None,
        name: Optional[str] = None,
        question: Optional[str] = None,
        **more: Any,
    ):
        super().__init__()
        self._inputs = (scenario, topology, workload)  # whose files are named below
        files = {"scenario": scenario, "topology": topology, "flows": flows, "jobs": jobs}
        base: dict[str, Any] = {key: file_flag(value) for key, value in files.items() if value is not None}
        if isinstance(workload, Workload):
            base["workload"], options = workload._flag()
            if options:
                raise input_error("unused-field", "a study's workload has no options", "workload", "put it into a Scenario")
        elif workload is not None:
            base["workload"] = os.fspath(workload)
        base.update(mode=mode, scheduler=scheduler, placement=placement, iterations=iterations, hosts=hosts,
                    gpus_per_host=gpus_per_host, set=dict(set) if set else None)
        listed = [_axis(key, values) for key, values in axes.items()] if isinstance(axes, Mapping) else [dict(one) for one in axes]
        fields = {"name": name, "question": question, "base": base, "axis": listed, "sampling": sampling, "samples": samples,
                  "point": [{"set": dict(point)} for point in points], "replicates": replicates, "seed": seed,
                  "metric": [_metric(metric) for metric in ([metrics] if isinstance(metrics, (str, Mapping)) else metrics)], **_plain(more)}
        self._text = _native.message_text("study", fields, "Study")

    def to_text(self) -> str:
        return self._text


class StudyResult:
    """What the runs of a study came to.

    Attributes:
        frame: a row for each run, with the columns of study.csv: run, point, replicate, seed, what was set, metrics,
            fingerprint, error. ``frame.attrs["units"]`` has units of metrics that are columns of tables; figures have theirs
            in their names.
        points: for each point the mean of each metric and, with replicates, how far it may be off (95 %, Student's t), as
            ``weft study --json`` prints them.
        names: what points set.
        metrics: what was noted.
        failed: runs that did not get to their end, whose row has an error.
        missing: runs without a record: other shares', or not begun when time was up.
        notes: what runs noted.
        out: the study's folder.
    """

    def __init__(self, study: _native.FinishedStudy, out: str, folder: Optional[Folder]):
        self._study = study
        self._folder = folder
        self.out = out
        columns = study.columns()
        units = study.units()
        self.names: list[str] = study.names
        self.metrics: list[str] = list(units)
        self.frame: "pandas.DataFrame" = _frames.frame(columns, units, {})
        self.points: list[dict[str, Any]] = json.loads(study.json())["points"]
        self.failed: int = study.failed
        self.missing: int = study.missing
        self.notes: list[str] = study.notes

    @property
    def text(self) -> str:
        """What ``weft study`` prints."""
        return self._study.page()

    def means(self) -> "pandas.DataFrame":
        """A row for each point: what it sets, the mean of each metric over its replicates and, as METRIC_half_width, how far
        that may be off (95 %); NaN where that is not known."""
        rows = []
        for point in self.points:
            row: dict[str, Any] = dict(point.get("set", {}))
            for metric in self.metrics:
                estimate = point["metrics"][metric] or {}
                row[metric] = estimate.get("mean", float("nan"))
                row[f"{metric}_half_width"] = estimate.get("half_width", float("nan"))
            rows.append(row)
        import pandas

        return pandas.DataFrame(rows)

    def to_arrow(self) -> "pyarrow.Table":
        """The frame for Arrow. Needs pyarrow."""
        return _frames.arrow(self.frame)

    def __repr__(self) -> str:
        return f"<weft.StudyResult {len(self.frame)} runs, {self.failed} failed, {self.missing} missing>"


def study(
    study: Union[PathLike, Study],
    *,
    out: Optional[PathLike] = None,
    resume: bool = False,
    share: Optional[tuple[int, int]] = None,
    threads: int = 0,
    time_limit_s: float = 0,
    progress: Optional[Progress] = None,
) -> StudyResult:
    """Carries out the runs of a study, several at a time; as ``weft study``.

    Args:
        study: a Study, or the path of one.
        out: folder of records and study.csv; default: one that goes with the result.
        resume: go on with what is in ``out``: runs that have ended are not repeated.
        share: (i, n): only every n-th run from the i-th on; several such calls that share ``out`` make up the study.
        threads: over which runs are shared out; 0: all cores. Results do not depend on them.
        time_limit_s: no run begins later than this; 0: whenever.
        progress: called now and then with "runs", how many are done, and of how many.

    Raises:
        InputError: the study, or an input that its first point names, is wrong. What other points do wrong is their row's error.
        KeyboardInterrupt: after Ctrl-C; with ``out``, ``resume=True`` goes on from there.
    """
    path = study._path() if isinstance(study, Study) else os.fspath(study)
    part, parts = (1, 1) if share is None else share
    check_number("share", part, 1, 2**32 - 1), check_number("share", parts, 1, 2**32 - 1)
    if not 1 <= part <= parts:
        raise input_error("bad-value", f"share is {share!r}", "share", "(2, 5) is every fifth run, from the second on")
    folder = Folder() if out is None else None
    where = str(Path(folder.path) / "study") if folder is not None else os.fspath(out)  # type: ignore[arg-type]
    keeps = resume or share is not None
    check_number("threads", threads, 0, 1024)
    check_number("time_limit_s", time_limit_s, 0, whole=False)

    def alone(run: int, runs: int, must_stop: Callable[[], bool]) -> str:
        return _run_alone([path, where, str(run + 1), str(runs), str(threads)], must_stop)

    return StudyResult(_native.study(path, where, keeps, part, parts, threads, time_limit_s, alone, progress), where, folder)


#: What an interpreter is told that carries out a run of a study that measures the machine: a share of one run, which needs no
#: other process.
_ALONE = """
import sys
import weft._native
file, out, share, shares, threads = sys.argv[1:]
weft._native.study(file, out, True, int(share), int(shares), int(threads), 0, lambda run, runs, must_stop: "", None)
"""


def _run_alone(arguments: list[str], must_stop: Callable[[], bool]) -> str:
    """Carries out a run in a process of its own; how it ended, if it left no result."""
    package = str(Path(__file__).resolve().parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    child = subprocess.Popen([sys.executable, "-c", _ALONE, *arguments], env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        try:
            child.wait(0.1)
            break
        except subprocess.TimeoutExpired:
            if must_stop():
                child.send_signal(signal.SIGINT)
    if child.returncode < 0:
        killed = ", as by a lack of memory" if child.returncode == -signal.SIGKILL else ""
        return f"the run's process was killed by signal {-child.returncode}{killed}"
    return f"the run's process ended with status {child.returncode} and left no result"
