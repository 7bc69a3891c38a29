# SPDX-License-Identifier: Apache-2.0
"""Weft, a simulator of AI training clusters: hosts with GPUs, the fabric between them, the jobs on them.

>>> import weft
>>> result = weft.run("tools/examples/quickstart.textproto")
>>> result.summary["makespan_s"], result.jobs[["job", "jct_s"]]

- ``weft.run`` simulates a scenario, ``weft.study`` many that differ in little, ``weft.calibrate`` fits parameters to measured
  times, ``weft.predict`` asks a running cluster, ``weft.project`` knows memory, time and the best plan of a model, ``weft.report`` makes a page of charts.
- Inputs are files, as the ``weft`` command reads them, or ``weft.Topology``, ``weft.Workload``, ``weft.Scenario`` and
  ``weft.Study``. Quantities carry their unit: "400Gbps", "1.5us", "4MiB".
- Tables of results are pandas frames whose columns have their unit last in their names: ``wait_s``, ``fct_ns``, ``size_bytes``.
- What is wrong with an input is a ``weft.InputError`` with the text that the command prints.
"""
from . import project
from ._calibrate import Calibration, calibrate
from ._errors import InputError, InternalError
from ._inputs import Scenario, Topology, Workload
from ._native import version as __version__
from ._predict import Forecast, predict
from ._run import TABLES, RunResult, check, report, run
from ._study import Range, Study, StudyResult, study

__all__ = [
    "TABLES", "Calibration", "Forecast", "InputError", "InternalError", "Range", "RunResult", "Scenario", "Study", "StudyResult",
    "Topology", "Workload", "calibrate", "check", "predict", "project", "report", "run",
    "study",
]
