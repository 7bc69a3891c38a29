# SPDX-License-Identifier: Apache-2.0
"""Projections: memory and time of a model under a parallel plan, the best plan, and training across sites; as ``weft project``."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from . import _native
from ._errors import check_choice, check_if_given, check_number, input_error
from ._inputs import PathLike, Settings, as_list, settings_texts, value_text
from ._run import Progress

if TYPE_CHECKING:
    import pandas

__all__ = ["Projection", "memory", "training", "search", "decentralized"]


class Projection:
    """What a projection says.

    Attributes:
        data: what the command prints with ``--json``; units are in the names (bytes where there is none).
        text: what the command prints.
    """

    def __init__(self, data: dict[str, Any], text: str, rows: list[dict[str, Any]]):
        self.data = data
        self.text = text
        self._rows = rows

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def frame(self) -> "pandas.DataFrame":
        """Its table: a row for each stage of memory, for each way of telling the time of training, for each plan of a search,
        for each quantity of training across sites."""
        import pandas

        return pandas.json_normalize(self._rows)

    def __repr__(self) -> str:
        return f"<weft.Projection {self.text.splitlines()[0] if self.text else ''}>"


def _place(value: Optional[PathLike]) -> str:
    return "" if value is None else os.fspath(value)


def _given(**flags: Any) -> set[str]:
    """Flags as the command line would have them."""
    return {"--" + name.replace("_", "-") for name, value in flags.items() if value is not None and value is not False}


def memory(
    model: PathLike,
    plan: PathLike,
    cluster: Optional[PathLike] = None,
    *,
    gpus: Optional[int] = None,
    target_nodes: Optional[int] = None,
    gpu: Optional[str] = None,
    set: Optional[Settings] = None,
    stage: Optional[int] = None,
    mode: Optional[str] = None,
    load_benchmark: Optional[PathLike] = None,
    safety_margin: Optional[float] = None,
    as_: Optional[str] = None,
) -> Projection:
    """GPU memory of each pipeline stage in bytes, and whether the plan fits; as ``weft project memory``.

    Args:
        model, plan: files, or names of ``weft modules model`` and ``weft modules plan``.
        cluster: whose GPU it is to fit: a name of ``weft modules gpu`` or ``server``, or a topology.
        gpus: of the whole run; default: as the plan says. ``target_nodes``: hosts instead.
        gpu: whose memory counts, whatever the cluster has.
        set: fields of the plan: ``{"tensor_parallel": 8, "recompute.kind": "UNIFORM"}``.
        stage: to show, from 0; default: the one that needs most.
        mode: "simulate": all is calculated; "benchmark", "both": with what ``load_benchmark`` has measured.
        safety_margin: share by which the upper bound is more; default 0.05.
        as_: "seed": the arithmetic that Primus' documentation prints, beside it.

    Raises:
        InputError: an input is wrong.
    """
    flags = _native.MemoryFlags()
    flags.plan = _plan_flags(flags.plan, model, plan, gpus, set)
    flags.cluster = _place(cluster)
    flags.given = _given(gpus=gpus, target_nodes=target_nodes, gpu=gpu, set=set, stage=stage, mode=mode,
                         load_benchmark=load_benchmark, safety_margin=safety_margin)
    if gpu is not None:
        flags.gpu.gpu = gpu
    flags.target_nodes = _nodes(target_nodes, gpus)
    flags.stage = check_if_given("stage", stage, 0)
    if mode is not None:
        flags.mode = check_choice("mode", mode, ("simulate", "benchmark", "both"))
    flags.benchmark.load = _place(load_benchmark)
    if safety_margin is not None:
        flags.margin = check_number("safety_margin", safety_margin, 0, 10, whole=False)
    if as_ is not None:
        flags.as_ = check_choice("as_", as_, ("weft", "seed"))
    told, text = _native.project_memory(flags)
    data = json.loads(told)
    stages = next((data[key]["stages"] for key in ("benchmark", "simulate") if "stages" in data.get(key, {})), [])
    return Projection(data, text, stages)


def training(
    model: PathLike,
    plan: PathLike,
    cluster: Union[PathLike, Sequence[PathLike]],
    *,
    gpus: Optional[int] = None,
    target_nodes: Optional[int] = None,
    set: Optional[Settings] = None,
    gpu: Optional[str] = None,
    gpu_clock: Optional[str] = None,
    optimes: Union[None, PathLike, Sequence[PathLike]] = None,
    profiling_mode: Optional[str] = None,
    load_benchmark: Optional[PathLike] = None,
    hardware_config: Optional[PathLike] = None,
    estimators: Union[None, str, Sequence[str]] = None,
    components: Optional[PathLike] = None,
    neighbours: Union[None, str, Sequence[str]] = None,
    estimate_only: bool = False,
    combine_inside: bool = False,
    as_: Optional[str] = None,
    iterations: Optional[int] = None,
    tokens: Optional[float] = None,
    threads: Optional[int] = None,
    progress: Optional[Progress] = None,
) -> Union[Projection, list[Projection]]:
    """Time of an iteration: isolated, simulated on the fabric, with neighbours; as ``weft project training``.

    Args:
        model, plan, gpus, target_nodes: as ``memory`` has them.
        cluster: a server of ``weft modules server``, a topology FILE[:format], or a scenario, whose jobs are neighbours; a list
            of them gives a list of projections.
        set: fields of the plan; module.param of the cluster; gpu.param and analytical.param of operator times.
        gpu, gpu_clock: whose operators, at which clock ("1.4GHz").
        optimes: profiles of ``weft optimes fit``.
        profiling_mode: "simulate", "benchmark" or "both", with ``load_benchmark``.
        hardware_config: isolated collectives by closed forms on these links.
        estimators: of the literature: "composition", "precision", "nodes" or "all"; ``components``: times that are composed.
        neighbours: other jobs on the cluster, "MODEL:PLAN".
        estimate_only: the closed form alone.
        combine_inside: collectives inside hosts become part of computation, by formula.
        as_: "seed": beside it the projection from a node to a cluster that Primus' documentation prints.
        iterations: to simulate, of which the last counts; default 2.
        tokens: to train on: says how many hours that takes.
        threads: of the simulation.
        progress: called now and then with what is counted, how many are done, and of how many.

    Raises:
        InputError: an input is wrong.
        KeyboardInterrupt: after Ctrl-C.
    """
    flags = _native.TrainingFlags()
    flags.plan = _plan_flags(flags.plan, model, plan, gpus, set)
    flags.clusters = [os.fspath(one) for one in as_list(cluster)]
    if not flags.clusters:
        raise input_error("missing-flag", "there is no cluster", "cluster", "name a server, or the file of a topology or scenario")
    neighbour = as_list(neighbours)
    flags.given = _given(gpus=gpus, target_nodes=target_nodes, set=set, gpu=gpu, gpu_clock=gpu_clock, optimes=optimes,
                         profiling_mode=profiling_mode, load_benchmark=load_benchmark, hardware_config=hardware_config,
                         estimators=estimators, components=components, neighbour=neighbour or None,
                         estimate_only=estimate_only, combine_inside=combine_inside, iterations=iterations, tokens=tokens,
                         threads=threads, **{"as": as_})
    if as_ is not None:
        flags.as_ = check_choice("as_", as_, ("weft", "seed"))
    flags.target_nodes = _nodes(target_nodes, gpus)
    _operator_flags(flags.operators, gpu, gpu_clock, optimes)
    if profiling_mode is not None:
        flags.mode = check_choice("profiling_mode", profiling_mode, ("simulate", "benchmark", "both"))
    flags.benchmark.load = _place(load_benchmark)
    flags.hardware, flags.components = _place(hardware_config), _place(components)
    flags.estimators = [check_choice("estimators", one, ("composition", "precision", "nodes", "all")) for one in as_list(estimators)]
    flags.neighbours = neighbour
    flags.estimate_only, flags.combine = estimate_only, combine_inside
    if iterations is not None:
        flags.iterations = check_number("iterations", iterations, 1)
    if tokens is not None:
        flags.tokens = check_number("tokens", tokens, 0, whole=False)
    if threads is not None:
        flags.threads = check_number("threads", threads, 1, 1024)
    told, text = _native.project_training(flags, progress)
    found = [Projection(one, text, one["projections"]) for one in json.loads(told)]
    return found[0] if isinstance(cluster, (str, os.PathLike)) else found


def search(
    model: PathLike,
    cluster: PathLike,
    *,
    gpus: int,
    global_batch: Optional[int] = None,
    base: Optional[PathLike] = None,
    set: Optional[Settings] = None,
    gpu: Optional[str] = None,
    gpu_clock: Optional[str] = None,
    optimes: Union[None, PathLike, Sequence[PathLike]] = None,
    simulate: int = 50,
    show: int = 20,
    safety_margin: float = 0,
    whole: bool = False,
    threads: int = 0,
    progress: Optional[Progress] = None,
) -> Projection:
    """The best plans of a model on so many GPUs: those that fit, ranked by formula, the best simulated; as ``weft project
    search``.

    Args:
        model, cluster, gpu, gpu_clock, optimes: as ``training`` has them.
        gpus: to train on.
        global_batch: sequences in an iteration; default: as many as have 8,388,608 tokens, or as the base says.
        base: a plan whose other fields all plans share.
        set: fields of all plans, which are not varied then; module.param of the cluster.
        simulate: so many of the best; 0: rank by formula alone.
        show: so many in the result.
        safety_margin: a plan fits if its memory and this share of it do.
        whole: simulate whole iterations.
        threads: 0: all cores.
        progress: called now and then with "plans ranked" or "plans simulated", how many are done, and of how many.

    Raises:
        InputError: an input is wrong.
        KeyboardInterrupt: after Ctrl-C.
    """
    flags = _native.SearchFlags()
    flags.model, flags.cluster, flags.base = os.fspath(model), os.fspath(cluster), _place(base)
    flags.gpus = check_number("gpus", gpus, 1)
    flags.global_batch = 0 if global_batch is None else check_number("global_batch", global_batch, 1)
    flags.settings = settings_texts(set, "set")
    _operator_flags(flags.operators, gpu, gpu_clock, optimes)
    flags.simulated = check_number("simulate", simulate, 0)
    flags.margin = check_number("safety_margin", safety_margin, 0, 10, whole=False)
    flags.whole, flags.threads = whole, check_number("threads", threads, 0, 1024)
    told, text = _native.project_search(flags, check_number("show", show, 0), progress)
    data = json.loads(told)
    return Projection(data, text, data["plans"])


def decentralized(
    *,
    set: Optional[Settings] = None,
    simulate: bool = False,
    as_: Optional[str] = None,
    progress: Optional[Progress] = None,
) -> Projection:
    """Training across sites, how long it takes: by closed forms and, if asked for, simulated; as ``weft project decentralized``.

    Args:
        set: variables of ``weft modules decentralized``, with ``simulate`` also of ``weft modules sites``:
            ``{"numNodes": 14, "innerSteps": 100, "exchange": "ring"}``.
        simulate: run it on a network, too; ``["simulated"]`` then says how far closed forms are off.
        as_: "seed": what the source of the formulas prints, where it contradicts itself.
        progress: called now and then with what is counted, how many are done, and of how many.

    Raises:
        InputError: an input is wrong.
        KeyboardInterrupt: after Ctrl-C.
    """
    flags = _native.DecentralizedFlags()
    flags.settings = settings_texts(set, "set")
    flags.simulate = simulate
    if as_ is not None:
        flags.as_ = check_choice("as_", as_, ("weft", "seed"))
    told, text = _native.project_decentralized(flags, progress)
    data = json.loads(told)
    return Projection(data, text, [{"quantity": name, **one} for name, one in data["quantities"].items()])


def _plan_flags(flags: Any, model: PathLike, plan: PathLike, gpus: Optional[int], set: Optional[Settings]) -> Any:
    flags.model, flags.plan = os.fspath(model), os.fspath(plan)
    flags.gpus = 0 if gpus is None else check_number("gpus", gpus, 1)
    flags.settings = settings_texts(set, "set")
    return flags


def _operator_flags(flags: Any, gpu: Optional[str], gpu_clock: Optional[str], optimes: Any) -> None:
    flags.gpu, flags.clock = gpu or "", value_text(gpu_clock) if gpu_clock is not None else ""
    flags.profiles = [os.fspath(one) for one in as_list(optimes)]


def _nodes(target_nodes: Optional[int], gpus: Optional[int]) -> int:
    if target_nodes is None:
        return 0
    if gpus is not None:
        raise input_error("unused-flag", "target_nodes and gpus both say how large the run is", "target_nodes", "drop one of them")
    return check_number("target_nodes", target_nodes, 1)
