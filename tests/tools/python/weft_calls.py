# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python module share: the command beside it, and endless work."""
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

SKIPPED = 77

ROOT = Path(__file__).resolve().parents[3]


def require(*modules):
    """Ends the test as skipped where one of these is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            print(f"{module} is not installed")
            sys.exit(SKIPPED)


def command(program, *arguments, ok=(0,)):
    """What the command prints."""
    done = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in ok, (arguments, done.returncode, done.stderr)
    return done.stdout


def command_json(program, *arguments):
    return json.loads(command(program, *arguments, "--json"))
