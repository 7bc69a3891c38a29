# SPDX-License-Identifier: Apache-2.0
"""Calibrations: parameters with which scenarios take as long as was measured."""
from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from . import _frames, _native
from ._errors import check_choice, check_if_given, check_number, input_error
from ._inputs import PathLike, Scenario, Settings, Topology, Workload, as_list, run_flags, settings_texts
from ._run import Progress

if TYPE_CHECKING:
    import pandas

Measured = Union[PathLike, "pandas.DataFrame"]


class Calibration:
    """What a calibration found.

    Attributes:
        parameters: a row for each parameter: what it was before, fitted, the ends of its interval, with units, and how well it
            is known.
        times: a row for each measured time beside the simulated ones, in seconds, with the columns of ``weft calibrate
            --table``.
        figures: errors before and after (mape: mean absolute percentage error as a share), as ``weft calibrate --json`` prints
            them.
        profile: the text of the profile, which ``save`` writes and ``weft.run(profile=...)`` reads.
        notes: rows left out of tables, assumptions, ends of ranges that were met.
    """

    def __init__(self, fit: _native.FinishedFit):
        self.parameters: "pandas.DataFrame" = _frames.frame(fit.parameters(), {}, {})
        self.times: "pandas.DataFrame" = _frames.frame(fit.times(), {}, {}).infer_objects()
        self.figures: dict[str, Any] = json.loads(fit.json())
        del self.figures["wall_time_s"]
        self.profile: str = fit.profile_text()
        self.notes: list[str] = fit.notes

    def save(self, path: PathLike) -> None:
        """Writes the profile."""
        Path(path).write_text(self.profile, encoding="utf-8")

    def __repr__(self) -> str:
        fitted = ", ".join(f"{row.parameter} = {row.fitted}" for row in self.parameters.itertuples())
        return f"<weft.Calibration {fitted}>"


def calibrate(
    scenario: Union[None, PathLike, Scenario] = None,
    *,
    topology: Union[None, PathLike, Topology] = None,
    workload: Union[None, PathLike, Workload] = None,
    flows: Optional[PathLike] = None,
    cases: Optional[Sequence[Mapping[str, Any]]] = None,
    measured: Union[None, Measured, Sequence[Measured]] = None,
    fit: Union[str, Sequence[str], Mapping[str, Optional[str]]],
    mode: Optional[str] = None,
    set: Optional[Settings] = None,
    seed: Optional[int] = None,
    profile: Optional[PathLike] = None,
    search: str = "hill_climbing",
    search_settings: Optional[Settings] = None,
    errors: str = "per_flow",
    weights: Optional[Mapping[str, float]] = None,
    order_weight: Optional[float] = None,
    hold_out: Optional[float] = None,
    match: str = "auto",
    outliers: str = "drop",
    align: Optional[str] = None,
    propose: Optional[str] = None,
    runs: int = 10_000,
    threads: int = 1,
    progress: Optional[Progress] = None,
) -> Calibration:
    """Fits parameters of a scenario to measured times; as ``weft calibrate``.

    Args:
        scenario, topology, workload, flows, mode, set, seed: as ``weft.run`` has them; or else ``cases``.
        cases: several scenarios and what was measured of each: dictionaries of scenario, measured (files), held_out, weight.
        measured: tables of measured times: files, or frames with a column such as ``fct_ns``, ``time_us`` or ``duration_s`` and
            columns that say of what; frames of a run are such tables.
        fit: parameters to find, ``["flow.wqe_latency"]``, or with ranges ``{"flow.wqe_latency": "0ns..5us"}``.
        profile: begin from its values.
        search: "hill_climbing", "bobyqa" or "sbplx"; ``search_settings`` are its parameters.
        errors: "per_flow": ln(simulated / measured), small times as large ones; "range": the difference.
        weights: how many times each "flow", "collective" or "iteration" counts.
        order_weight: weight of the order of times; default: found.
        hold_out: share of the times that the search does not see; default 0.25, or 0 where a case is held out.
        match: what tells measured flows apart: "auto", "id", "input_row" or "ends".
        outliers: times far off the first fit: "drop" or "keep".
        align: "cluster" or "job": also fit a correction of iteration times by the number of GPUs.
        propose: "flow": in packet mode, search in flow mode first.
        runs: candidates to look at, at most.
        threads: candidates that are simulated beside each other.
        progress: called now and then with what is done, how many candidates were looked at, and how many may be.

    Raises:
        InputError: an input is wrong, or does not belong to what is simulated.
        KeyboardInterrupt: after Ctrl-C, once the candidates that are being simulated have ended.
    """
    if cases is None and measured is None:
        raise input_error("missing-flag", "there is nothing to fit to", "measured", "give measured, or cases")
    if cases is not None and (measured is not None or any(one is not None for one in (scenario, topology, workload, flows))):
        raise input_error("unused-flag", "cases say scenarios and what was measured", "cases", "leave out the others")
    with tempfile.TemporaryDirectory(prefix="weft-calibrate-") as folder:
        wanted = _native.RequestedFit()
        if cases is not None:
            entries = [{**one, "scenario": _file_of(one.get("scenario"))} for one in cases]
            path = Path(folder) / "cases.textproto"
            path.write_text(_native.message_text("cases", {"case": entries}, "cases"), encoding="utf-8")
            wanted.cases = str(path)
            wanted.flags.settings = settings_texts(set, "set")
            wanted.flags.mode, wanted.flags.seed = mode or "", seed
        else:
            wanted.flags = run_flags(scenario, topology=topology, workload=workload, flows=flows, mode=mode, set=set, seed=seed)
            tables = [measured] if hasattr(measured, "to_csv") else as_list(measured)  # type: ignore[arg-type]
            if not tables:
                raise input_error("missing-flag", "there is nothing to fit to", "measured", "give at least one table")
            wanted.measured = [_table_file(table, Path(folder) / f"measured_{i}.csv") for i, table in enumerate(tables)]
        wanted.fit = _fit_texts(fit)
        wanted.profile = os.fspath(profile) if profile is not None else ""
        wanted.search, wanted.search_settings = search, settings_texts(search_settings, "search_settings")
        wanted.errors = check_choice("errors", errors, ("per_flow", "range"))
        wanted.weights = [(kind, float(weight)) for kind, weight in (weights or {}).items()]
        wanted.lambda_ = check_if_given("order_weight", order_weight, 0, whole=False)
        wanted.hold_out = check_if_given("hold_out", hold_out, 0, 0.9, whole=False)
        wanted.match = check_choice("match", match, ("auto", "id", "input_row", "ends"))
        wanted.outliers = check_choice("outliers", outliers, ("drop", "keep"))
        wanted.align = check_choice("align", align, ("cluster", "job")) if align is not None else ""
        wanted.propose = check_choice("propose", propose, ("flow",)) if propose is not None else ""
        wanted.runs, wanted.threads = check_number("runs", runs, 1), check_number("threads", threads, 1, 1024)
        return Calibration(_native.calibrate(wanted, progress))


def _file_of(scenario: Any) -> Any:
    return scenario._flag() if isinstance(scenario, Scenario) else scenario


def _fit_texts(fit: Union[str, Sequence[str], Mapping[str, Optional[str]]]) -> list[str]:
    if isinstance(fit, Mapping):
        return [name if ends is None else f"{name}={ends}" for name, ends in fit.items()]
    return [fit] if isinstance(fit, str) else list(fit)


def _table_file(table: Measured, path: Path) -> str:
    """The file of a table, written there if it is a frame."""
    if not hasattr(table, "to_csv"):
        return os.fspath(table)
    table.to_csv(path, index=False)
    return str(path)
