# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of the Python module: CMake compiles weft._native, setuptools packs it with tools/python/weft.

WEFT_BUILD_DIR names a build folder that is there already; else one is made in build-wheel/. What the build needs is listed in
tools/set_up.sh. The wheel links the libraries of the system that it was built on.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
SCRATCH = ROOT / "build-wheel"


class BuildByCMake(build_ext):
    def build_extension(self, ext):
        folder = Path(os.environ.get("WEFT_BUILD_DIR") or SCRATCH / "cmake")
        if not (folder / "CMakeCache.txt").exists():
            subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                            "-DWEFT_BUILD_TESTS=OFF", "-DWEFT_BUILD_BENCH=OFF", f"-DPython_EXECUTABLE={sys.executable}"], check=True)
        subprocess.run(["cmake", "--build", str(folder), "--target", "weft_native"], check=True)
        module = next((folder / "python/weft").glob("_native*.so"))
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(module, target)


def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(weft VERSION (\S+)", text).group(1)


SCRATCH.mkdir(exist_ok=True)
setup(
    version=version(),
    packages=["weft"],
    package_dir={"weft": "tools/python/weft"},
    package_data={"weft": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("weft._native", [])],
    cmdclass={"build_ext": BuildByCMake},
    options={"build": {"build_base": "build-wheel/setuptools"}, "egg_info": {"egg_base": "build-wheel"}},
)
