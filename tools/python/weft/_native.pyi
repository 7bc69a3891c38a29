# SPDX-License-Identifier: Apache-2.0
"""Types of the compiled part; the package gives its users keywords, frames and documentation on top."""
from typing import Any, Callable, Optional

import numpy

Progress = Optional[Callable[[str, int, int], None]]

version: str

class WorkloadOptions:
    ranks: Optional[int]
    iteration: Optional[int]
    process_groups: str
    time_unit: str
    as_recorded: bool
    def scale_group(self, name: str, size: int) -> None: ...

class JobTraceOptions:
    strict: bool
    time_zone: str
    throughputs: str
    gpu_type: str
    limit_share: str

class Forecasting:
    drain: str
    start: str
    horizon: str
    threads: int

class OperatorFlags:
    nodes: str
    jobs: str
    scenario: str
    topology: str
    scheduler: str
    placement: str
    at: str
    settings: list[str]
    jobs_options: JobTraceOptions

class RunFlags:
    scenario: str
    topology: str
    workload: str
    flows: str
    jobs: str
    mode: str
    workload_options: WorkloadOptions
    jobs_options: JobTraceOptions
    skip_larger_jobs: bool
    iterations: Optional[int]
    hosts: Optional[int]
    gpus_per_host: Optional[int]
    scheduler: str
    placement: str
    seed: Optional[int]
    settings: list[str]
    def __init__(self) -> None: ...

class RequestedRun:
    flags: RunFlags
    fast_forward: Optional[int]
    threads: int
    zeta: str
    out: str
    flows_csv: str
    trace: bool
    trace_size: str
    trace_ranks: int
    report: bool
    sample: str
    until: str
    snapshot: str
    profile: str
    align: bool
    take_transferred: bool
    no_flow_comparison: bool
    def __init__(self) -> None: ...

class FinishedRun:
    flows_in_classes: int
    assumptions: list[str]
    notes: list[str]
    standstill: list[str]
    snapshot: str
    out: str
    def summary_json(self) -> str: ...
    def summary_text(self) -> str: ...
    def manifest_json(self) -> str: ...
    def columns(self, table: str) -> dict[str, Any]: ...

class FinishedStudy:
    names: list[str]
    notes: list[str]
    failed: int
    missing: int
    def columns(self) -> dict[str, Any]: ...
    def units(self) -> dict[str, str]: ...
    def page(self) -> str: ...
    def json(self) -> str: ...

class RequestedFit:
    flags: RunFlags
    measured: list[str]
    cases: str
    fit: list[str]
    profile: str
    search: str
    search_settings: list[str]
    weights: list[tuple[str, float]]
    lambda_: Optional[float]
    errors: str
    match: str
    outliers: str
    align: str
    propose: str
    hold_out: Optional[float]
    runs: int
    threads: int
    def __init__(self) -> None: ...

class FinishedFit:
    notes: list[str]
    def json(self) -> str: ...
    def profile_text(self) -> str: ...
    def parameters(self) -> dict[str, list[str]]: ...
    def times(self) -> dict[str, list[Any]]: ...

class PlanFlags:
    model: str
    plan: str
    gpus: int
    settings: list[str]

class OperatorTimeFlags:
    gpu: str
    clock: str
    profiles: list[str]

class BenchmarkFlags:
    load: str

class GpuFlags:
    gpu: str

class MemoryFlags:
    plan: PlanFlags
    gpu: GpuFlags
    cluster: str
    given: set[str]
    target_nodes: int
    mode: str
    as_: str
    stage: Optional[int]
    benchmark: BenchmarkFlags
    margin: float
    def __init__(self) -> None: ...

class TrainingFlags:
    plan: PlanFlags
    operators: OperatorTimeFlags
    benchmark: BenchmarkFlags
    clusters: list[str]
    given: set[str]
    target_nodes: int
    mode: str
    as_: str
    hardware: str
    estimators: list[str]
    components: str
    neighbours: list[str]
    estimate_only: bool
    combine: bool
    iterations: int
    threads: int
    tokens: float
    def __init__(self) -> None: ...

class SearchFlags:
    model: str
    cluster: str
    base: str
    gpus: int
    global_batch: int
    settings: list[str]
    operators: OperatorTimeFlags
    simulated: int
    margin: float
    whole: bool
    threads: int
    def __init__(self) -> None: ...

class DecentralizedFlags:
    settings: list[str]
    as_: str
    simulate: bool
    def __init__(self) -> None: ...

def message_text(type: str, fields: dict[str, Any], called: str) -> str: ...
def table_descriptions() -> dict[str, tuple[str, str, dict[str, tuple[str, str]]]]: ...
def run(wanted: RequestedRun, flows: str, progress: Progress) -> FinishedRun: ...
def describe(flags: RunFlags) -> dict[str, Any]: ...
def report(folder: str) -> str: ...
def study(
    file: str,
    out: str,
    resume: bool,
    share: int,
    shares: int,
    threads: int,
    time_limit_s: float,
    alone: Optional[Callable[[int, int, Callable[[], bool]], str]],
    progress: Progress,
) -> FinishedStudy: ...
def calibrate(wanted: RequestedFit, progress: Progress) -> FinishedFit: ...
def project_memory(flags: MemoryFlags) -> tuple[str, str]: ...
def project_training(flags: TrainingFlags, progress: Progress) -> tuple[str, str]: ...
def project_search(flags: SearchFlags, shown: int, progress: Progress) -> tuple[str, str]: ...
def project_decentralized(flags: DecentralizedFlags, progress: Progress) -> tuple[str, str]: ...
def predict(snapshot: str, settings: list[str], asked: Forecasting) -> tuple[str, list[str]]: ...
def predict_cluster(flags: OperatorFlags, asked: Forecasting) -> tuple[str, list[str]]: ...
