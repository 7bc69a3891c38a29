#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` puts into a prefix: files, a manual page, and completions that complete.

Usage: install_test.py CMAKE BUILD_FOLDER
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# One of each kind of file, below the prefix; LIB stands for the folder of libraries.
INSTALLED = [
    "bin/weft",
    "share/bash-completion/completions/weft",
    "share/weft/examples/quickstart.textproto",
    "share/weft/examples/data_parallel_64.textproto",
    "share/weft/examples/workloads/pipeline_4.textproto",
    "share/weft/examples/one_job_16384_gpus.csv",
    "share/weft/presets/topologies/rail_128_h100.textproto",
    "share/weft/kernel_sampler/__main__.py",
    "include/weft/core/check.hpp",
    "include/weft/network/max_min/max_min_solver.hpp",
    "include/weft/workloads/workload.proto",
    "include/weft/workloads/workload.pb.h",
    "LIB/libweft_core.a",
    "LIB/libweft_scheduler.a",
    "LIB/cmake/weft/weftConfig.cmake",
    "LIB/cmake/weft/weftConfigVersion.cmake",
    "LIB/cmake/weft/weftTargets.cmake",
]
# What a user has typed, and words that must be offered, and one that must not.
COMPLETIONS = [
    ("weft ", ["run", "topology", "modules"], "build"),
    ("weft topology ", ["build", "show"], "run"),
    ("weft run --mo", ["--mode="], "--json"),
    ("weft run --mode=", ["job", "flow", "packet"], "fcfs"),
    ("weft run --mode p", ["packet"], "flow"),
    ("weft run --scheduler=", ["fcfs", "backfill"], "first_fit"),
    ("weft run --set=fl", ["flow."], "flow.mtu="),
    ("weft run --set=flow.mt", ["flow.mtu="], "flow."),
    ("weft run --set=flow.routing=s", ["spray", "static"], "ecmp"),
    ("weft run --set=preset=hgx_h", ["hgx_h100"], "hpcc"),
    ("weft topology build fat", ["fat_tree"], "fcfs"),
    ("weft topology build fat_tree --set=k", ["k="], "hosts="),
    ("weft workload make --template=llm --set=t", ["tp="], "dp="),
    ("weft modules flow.m", ["flow.mtu"], "flow"),
    ("weft help workload ", ["make", "show"], "run"),
    ("weft run quick", ["quickstart.textproto"], "four_jobs.textproto"),
]
COMPLETE = 'source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; _weft; printf "%s\\n" "${COMPREPLY[@]}"'


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weft-install-")
        cls.prefix = Path(cls.folder.name) / "prefix"
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", cls.prefix], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_files_are_there(self):
        libraries = [path.parent.relative_to(self.prefix) for path in self.prefix.rglob("libweft_core.a")]
        self.assertEqual(len(libraries), 1)
        for name in INSTALLED:
            self.assertTrue((self.prefix / name.replace("LIB", str(libraries[0]))).is_file(), name)
        self.assertEqual(len(list(self.prefix.rglob("man1/weft.1*"))), 1)
        self.assertEqual(len(list(self.prefix.rglob("_weft"))), 1)

    def test_headers_that_need_other_libraries_stay_out(self):
        for path in self.prefix.rglob("*.hpp"):
            for library in ("#include <CLI/", "#include <nlohmann/", "#include <pugixml"):
                self.assertNotIn(library, path.read_text(encoding="utf-8"), path)

    def test_the_kernel_sampler_starts(self):
        sampler = self.prefix / "share/weft/kernel_sampler"
        answer = subprocess.run([sys.executable, "-B", sampler, "--list"], capture_output=True, text=True, check=True)
        self.assertIn("linear_final\n", answer.stdout)
        self.assertEqual([path for path in sampler.rglob("*") if path.suffix != ".py"], [])

    def test_no_file_names_the_build_folder(self):
        for path in [*self.prefix.rglob("*.cmake"), *self.prefix.rglob("*.hpp")]:
            self.assertNotIn(str(BUILD), path.read_text(encoding="utf-8"), path)

    def test_the_manual_page_is_one(self):
        if shutil.which("man") is None:
            self.skipTest("man is not installed")
        page = next(self.prefix.rglob("man1/weft.1*"))
        shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"})
        self.assertEqual(shown.stderr, "")
        self.assertIn("weft workload make", shown.stdout)
        self.assertIn("--fast-forward=N", shown.stdout)

    def test_completions_of_bash_complete(self):
        script = self.prefix / "share/bash-completion/completions/weft"
        subprocess.run(["bash", "-n", script], check=True)
        environment = {**os.environ, "PATH": f"{self.prefix}/bin:{os.environ['PATH']}"}
        for line, offered, not_offered in COMPLETIONS:
            answer = subprocess.run(
                ["bash", "-c", COMPLETE, "bash", script, line], capture_output=True, text=True, check=True, env=environment,
                cwd=self.prefix / "share/weft/examples",
            )  # fmt: skip
            words = answer.stdout.split()
            self.assertEqual(answer.stderr, "", line)
            for word in offered:
                self.assertIn(word, words, line)
            self.assertNotIn(not_offered, words, line)

    def test_completions_of_zsh_are_a_script(self):
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        subprocess.run(["zsh", "-n", next(self.prefix.rglob("_weft"))], check=True)


if __name__ == "__main__":
    CMAKE = sys.argv.pop(1)
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
