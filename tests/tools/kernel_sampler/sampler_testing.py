# SPDX-License-Identifier: Apache-2.0
"""What tests of tools/kernel_sampler share: where it is, how it is run, and a Python that has PyTorch."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SAMPLER = ROOT / "tools" / "kernel_sampler"
sys.path.insert(0, str(SAMPLER.parent))

LAUNCH_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_PROCID")


def environment(**variables):
    """Without a launch of our caller's; one thread, since tests share the machine."""
    kept = {name: value for name, value in os.environ.items() if name not in LAUNCH_VARIABLES}
    return {**kept, "OMP_NUM_THREADS": "1", "USE_LIBUV": "0", **variables}


def command(*flags):
    return [sys.executable, "-B", str(SAMPLER), *flags]


def run(*flags, **variables):
    return subprocess.run(command(*flags), capture_output=True, text=True, check=False, env=environment(**variables), timeout=300)


def python_with_torch():
    """This Python or the system's; none if neither has PyTorch."""
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        try:
            if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None
