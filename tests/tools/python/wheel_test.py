# SPDX-License-Identifier: Apache-2.0
"""A wheel is built without a network, installed into a virtual environment, and runs there.

usage: wheel_test.py BUILD_FOLDER
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import weft_calls

weft_calls.require("numpy", "pandas", "pip", "wheel", "setuptools", "venv")

SCRIPT = """
import weft
result = weft.run(weft.Scenario(topology=weft.Topology("single_switch", hosts=2),
                                job=[{"name": "a", "gpus": 2, "duration": "90s"}]))
print(weft.__file__, weft.__version__, result.jobs["jct_s"][0])
"""


def main():
    build = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        # A copy, so that the project's tree stays as it is.
        source = Path(folder) / "source"
        source.mkdir()
        for name in ("pyproject.toml", "setup.py", "CMakeLists.txt", "README.md", "LICENSE"):
            (source / name).write_bytes((weft_calls.ROOT / name).read_bytes())
        (source / "tools").mkdir()
        (source / "tools/python").symlink_to(weft_calls.ROOT / "tools/python")
        offline = ["--no-index", "--no-deps", "--disable-pip-version-check", "--quiet"]
        environment = {**os.environ, "WEFT_BUILD_DIR": str(build), "PYTHONPATH": "", "PIP_ROOT_USER_ACTION": "ignore"}
        subprocess.run([sys.executable, "-m", "pip", "wheel", str(source), "--no-build-isolation", *offline, "-w", folder],
                       check=True, env=environment)
        wheel = next(Path(folder).glob("weft-*.whl"))
        place = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", str(place)], check=True)
        python = str(place / "bin/python")
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", *offline, str(wheel)], check=True, env=environment)
        told = subprocess.run([python, "-c", SCRIPT], check=True, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True).stdout
        where, version, seconds = told.split()
        assert Path(where).is_relative_to(place), where
        assert wheel.name.startswith(f"weft-{version}-"), (wheel.name, version)
        # A job of 90 s that starts at once.
        assert float(seconds) == 90, seconds
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
