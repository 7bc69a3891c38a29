# SPDX-License-Identifier: Apache-2.0
"""What a run is made of: topologies, workloads and scenarios, from files or from Python's own values."""
from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Union

from . import _native
from ._errors import check_choice, check_if_given, input_error

PathLike = Union[str, "os.PathLike[str]"]
Settings = Mapping[str, Any]


def settings_texts(settings: Optional[Settings], place: str) -> list[str]:
    """Settings as ``--set`` has them. Paths become text, truth values true and false."""
    if settings is None:
        return []
    if not isinstance(settings, Mapping):
        raise input_error("bad-value", f"{place} is {settings!r}", place, 'write a dictionary such as {"flow.queue_pairs": 4}')
    return [f"{name}={value_text(value)}" for name, value in settings.items()]


def value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


class Folder:
    """A folder that lasts as long as the object."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="weft-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class _Written:
    """Text that lies in a file of its own as long as the object lives."""

    def __init__(self, name: str, text: str):
        self._folder = Folder()
        self.path = str(Path(self._folder.path) / name)
        Path(self.path).write_text(text, encoding="utf-8")


class _Held:
    """An input whose text is in memory and becomes a file when it is needed."""

    _file_name = "input.textproto"

    def __init__(self) -> None:
        self._written: Optional[_Written] = None

    def to_text(self) -> str:
        """The file that says the same, in protobuf text format."""
        raise NotImplementedError

    def _path(self) -> str:
        if self._written is None:
            self._written = _Written(self._file_name, self.to_text())
        return self._written.path

    def save(self, path: PathLike) -> None:
        """Writes the file that says the same. What was read from a file names others relative to that file's folder: save it there."""
        Path(path).write_text(self.to_text(), encoding="utf-8")


class Topology(_Held):
    """Where things are and which links join them.

    >>> Topology("rail_optimized", hosts=16)                       # a builder and its parameters
    >>> Topology.from_file("net.txt", format="hpcc")
    >>> Topology.of_parts(host=[{"gpu": ["1"], "nic": ["400Gbps"]}], link=[...])

    Args:
        builder: one of ``weft modules topology``.
        parameters: of the builder, with units: ``nic_rate="400Gbps"``.
    """

    _file_name = "topology.textproto"

    def __init__(self, builder: str, **parameters: Any):
        super().__init__()
        self._fields: Optional[dict[str, Any]] = {"builder": builder, "set": parameters} if parameters else {"builder": builder}
        self._file: Optional[dict[str, str]] = None

    @classmethod
    def from_file(cls, path: PathLike, format: Optional[str] = None) -> "Topology":
        """A file. Formats: weft (default), hpcc, simai, simgrid, astrasim-network, nccl."""
        made = cls.__new__(cls)
        _Held.__init__(made)
        made._fields = None
        made._file = {"file": os.fspath(path), **({"format": format} if format else {})}
        return made

    @classmethod
    def of_parts(cls, **fields: Any) -> "Topology":
        """Hosts, switches and links one by one, as the fields of topologies/topology.proto: ``host``, ``switch``, ``link``,
        ``buffer_class``, ``name``."""
        made = cls.__new__(cls)
        _Held.__init__(made)
        made._fields = dict(fields)
        made._file = None
        return made

    def to_text(self) -> str:
        if self._file is not None:
            return Path(self._file["file"]).read_text(encoding="utf-8")
        return _native.message_text("topology", self._fields, "Topology")

    def _flag(self) -> str:
        if self._file is not None:
            return ":".join(self._file.values())
        return self._path()

    def _entry(self) -> dict[str, Any]:
        if self._file is not None:
            return dict(self._file)
        if set(self._fields or ()) <= {"builder", "set"}:
            return dict(self._fields or {})
        return {"file": self._path()}

    def __repr__(self) -> str:
        return f"<weft.Topology {self._file or self._fields}>"


class Workload(_Held):
    """What a job runs in each iteration.

    >>> Workload("dlrm", ranks=16)                                 # a template and its parameters
    >>> Workload.from_file("traces/step", format="chakra", ranks=128)
    >>> Workload.of_plan("llama3_70b", "llama3_70b_nemo", gpu="h100")
    >>> Workload.of_ops(ranks=2, role=[{"name": "all", "op": [{"name": "c", "compute": {"duration": "1us"}}]}])

    Args:
        template: one of ``weft modules template``.
        parameters: of the template, with units: ``gradient_bucket="25MB"``.
    """

    _file_name = "workload.textproto"

    def __init__(self, template: str, **parameters: Any):
        super().__init__()
        self._said: dict[str, Any] = {"template": template, **({"set": parameters} if parameters else {})}
        self._ops: Optional[dict[str, Any]] = None

    @classmethod
    def _of(cls, said: dict[str, Any], ops: Optional[dict[str, Any]]) -> "Workload":
        made = cls.__new__(cls)
        _Held.__init__(made)
        made._said, made._ops = said, ops
        return made

    @classmethod
    def from_file(cls, path: PathLike, format: Optional[str] = None, **options: Any) -> "Workload":
        """A file. For chakra ``path`` is PREFIX of PREFIX.0.et ...

        Args:
            options: ``ranks``, ``iteration``, ``process_groups`` (a file), ``time_unit`` ("ns", "us" or "ms"),
                ``as_recorded``, ``scale_group`` (``[{"name": ..., "size": ...}]``).
        """
        return cls._of({"file": os.fspath(path), **({"format": format} if format else {}), **options}, None)

    @classmethod
    def of_plan(cls, model: PathLike, plan: PathLike, gpu: Optional[PathLike] = None) -> "Workload":
        """A model trained under a parallel plan: files, or names of ``weft modules model``, ``plan`` and ``gpu``."""
        return cls._of({"model": model, "plan": plan, "gpu": gpu}, None)

    @classmethod
    def of_ops(cls, **fields: Any) -> "Workload":
        """Operations one by one, as the fields of workloads/workload.proto: ``ranks``, ``communicator``, ``role``, ``name``."""
        return cls._of({}, dict(fields))

    def to_text(self) -> str:
        if self._ops is not None:
            return _native.message_text("workload", self._ops, "Workload")
        if "file" in self._said:
            return Path(self._said["file"]).read_text(encoding="utf-8")
        raise input_error("no-file", "a template or a plan is no file of operations", "Workload",
                          "`weft workload make` writes one; a Scenario takes it as it is")

    def _flag(self) -> tuple[str, dict[str, Any]]:
        """FILE[:format], and the options of its reader."""
        if self._ops is not None:
            return self._path(), {}
        if "file" not in self._said:
            raise input_error("no-file", "a template or a plan belongs to a job", "workload",
                              'write weft.Scenario(topology=..., job=[{"name": "a", "workload": ...}])')
        options = {key: value for key, value in self._said.items() if key not in ("file", "format")}
        return ":".join(filter(None, [self._said["file"], self._said.get("format")])), options

    def _entry(self) -> dict[str, Any]:
        return {"file": self._path()} if self._ops is not None else dict(self._said)

    def __repr__(self) -> str:
        return f"<weft.Workload {self._said or self._ops}>"


def _plain(value: Any) -> Any:
    """The same with inputs replaced by what a scenario says of them."""
    if isinstance(value, (Topology, Workload)):
        return value._entry()
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


class Scenario(_Held):
    """Everything that a run needs, as the fields of tools/simulation/scenario.proto.

    >>> Scenario(name="two jobs",
    ...          topology=Topology("rail_optimized", hosts=16),
    ...          job=[{"name": "a", "iterations": 3, "workload": Workload("dlrm", ranks=16)},
    ...               {"name": "b", "submit": "5ms", "workload": Workload("dlrm", ranks=16)}],
    ...          set={"flow.queue_pairs": 4})

    A list fills a repeated field, a single value fills it once; values carry units as in files ("400Gbps", "5ms"). Paths are
    relative to the current folder.

    Args:
        fields: ``name``, ``mode`` ("job", "flow", "packet"), ``topology`` or ``cluster``, ``job``, ``jobs`` (job traces),
            ``scheduler``, ``set``, ``seed``, ``host_speed``, ``event``, ``handler``, ``switches``.

    Raises:
        InputError: [unknown-field], [bad-value].
    """

    _file_name = "scenario.textproto"

    def __init__(self, **fields: Any):
        super().__init__()
        self._fields: Optional[dict[str, Any]] = fields
        self._source: Optional[str] = None
        self._text = _native.message_text("scenario", _plain(fields), "Scenario")

    @classmethod
    def from_file(cls, path: PathLike) -> "Scenario":
        """A file in protobuf text format, which is read when it is run."""
        made = cls.__new__(cls)
        _Held.__init__(made)
        made._fields, made._text = None, None
        made._source = os.fspath(path)
        return made

    def to_text(self) -> str:
        return Path(self._source).read_text(encoding="utf-8") if self._source is not None else self._text

    def _flag(self) -> str:
        return self._source if self._source is not None else self._path()

    def __repr__(self) -> str:
        return f"<weft.Scenario {self._source or self._fields.get('name', 'without a name')}>"


def file_flag(value: Any) -> str:
    """FILE[:format] of a path or of an input."""
    if value is None:
        return ""
    return value._flag() if isinstance(value, (Topology, Scenario)) else os.fspath(value)


_UINT32_MAX = 2**32 - 1
_WORKLOAD_OPTIONS = ("ranks", "iteration", "process_groups", "time_unit", "as_recorded")


def run_flags(
    scenario: Any = None,
    *,
    topology: Any = None,
    workload: Any = None,
    flows: Any = None,
    jobs: Any = None,
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
) -> _native.RunFlags:
    """What the command line of a run would say."""
    if all(one is None for one in (scenario, topology, workload, flows, jobs, hosts)):
        raise input_error("missing-flag", "there is nothing to run", "run", "give a scenario, or topology and workload, or jobs")
    flags = _native.RunFlags()
    flags.scenario = file_flag(scenario)
    flags.topology = file_flag(topology)
    options = dict(workload_options or {})
    if isinstance(workload, Workload):
        flags.workload, own = workload._flag()
        options = {**own, **options}
    else:
        flags.workload = file_flag(workload)
    flags.flows = file_flag(flows)
    flags.jobs = file_flag(jobs)
    if mode is not None:
        flags.mode = check_choice("mode", mode, ("job", "flow", "packet"))
    flags.settings = settings_texts(set, "set")
    flags.iterations = check_if_given("iterations", iterations, 1)
    flags.hosts = check_if_given("hosts", hosts, 1, _UINT32_MAX)
    flags.gpus_per_host = check_if_given("gpus_per_host", gpus_per_host, 1, _UINT32_MAX)
    flags.seed = check_if_given("seed", seed, 0, 2**64 - 1)
    flags.scheduler, flags.placement = scheduler or "", placement or ""
    _fill_workload_options(flags, options)
    _fill_jobs_options(flags, dict(jobs_options or {}))
    return flags


def _fill_workload_options(flags: _native.RunFlags, options: dict[str, Any]) -> None:
    groups = options.pop("scale_group", [])
    for group in [groups] if isinstance(groups, Mapping) else groups:
        flags.workload_options.scale_group(group["name"], group["size"])
    for name, value in options.items():
        check_choice("workload_options", name, (*_WORKLOAD_OPTIONS, "scale_group"))
        if name in ("ranks", "iteration"):
            check_if_given(name, value, 1 if name == "ranks" else 0, _UINT32_MAX)
        if name == "time_unit":
            check_choice(name, value, ("ns", "us", "ms"))
        setattr(flags.workload_options, name, os.fspath(value) if name == "process_groups" else value)


def _fill_jobs_options(flags: _native.RunFlags, options: dict[str, Any]) -> None:
    names = ("strict", "time_zone", "throughputs", "gpu_type", "limit_share", "skip_larger_jobs")
    for name, value in options.items():
        check_choice("jobs_options", name, names)
        if name == "skip_larger_jobs":
            flags.skip_larger_jobs = value
        else:
            setattr(flags.jobs_options, name, os.fspath(value) if name == "throughputs" else str(value) if name == "limit_share" else value)


def as_list(value: Union[None, str, "os.PathLike[str]", Iterable[Any]]) -> list[Any]:
    if value is None:
        return []
    return [value] if isinstance(value, (str, os.PathLike)) else list(value)
