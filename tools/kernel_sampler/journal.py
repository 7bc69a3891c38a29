# SPDX-License-Identifier: Apache-2.0
"""What a folder of samples knows beside its tables: which machine they are of, how every number came about, and what was left out.

sampler.json      GPU, type, PyTorch, caches: what all samples of a folder have in common. Another run that differs is refused.
measurements.jsonl   one line per point: median, spread, samples, calls per sample, clock; or why it has none.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Iterator

from .faults import UseError
from .tables import append_line

IDENTITY = "sampler.json"
MEASUREMENTS = "measurements.jsonl"


@dataclass(frozen=True)
class Identity:
    gpu: str  # as file names have it
    type: str
    torch: str
    backend: str  # "cpu", "CUDA 12.4", "ROCm 6.1"
    caches: str  # "warm", or "cold" where they are flushed


class Journal:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def claimed(self, identity: Identity) -> Iterator[None]:
        """Holds the folder, for this machine and this process alone. Throws UseError if it is another's."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = open(self.folder / ".lock", "w", encoding="utf-8")
        except OSError as error:
            raise UseError(f"samples cannot be written: {error}", "--out=DIR names a folder that can be written to") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UseError(f"another sampler writes to {self.folder}", "wait for it, or name another folder with --out") from error
            path = self.folder / IDENTITY
            if path.exists():
                self._require_same(identity, path)
            else:
                fresh = path.with_suffix(".fresh")
                fresh.write_text(json.dumps(asdict(identity), indent=2) + "\n", encoding="utf-8")
                os.replace(fresh, path)
            yield

    def _require_same(self, identity: Identity, path: Path) -> None:
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UseError(f"{path} cannot be read: {error}", "name another folder with --out") from error
        for name, value in asdict(identity).items():
            if before.get(name) != value:
                has = f"{self.folder} has samples of {name} {before.get(name)}, not {value}"
                raise UseError(has, "samples are not mixed: name another folder with --out")

    def note(self, entry: dict[str, Any]) -> None:
        append_line(self.folder / MEASUREMENTS, json.dumps(entry))

    def entries(self) -> Iterator[dict[str, Any]]:
        path = self.folder / MEASUREMENTS
        if not path.exists():
            return
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    return  # of a write that was cut off
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise UseError(f"{path}:{number}: {error}", "take the line out") from error
