# SPDX-License-Identifier: Apache-2.0
"""The commands of the README and tools/examples/readme.py come to the same.

usage: readme_test.py WEFT
"""
import os
import sys
import tempfile
import unittest
from pathlib import Path

import weft_calls

weft_calls.require("numpy", "pandas")
sys.path.insert(0, str(weft_calls.ROOT / "tools/examples"))
import readme  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))


def without_machine(summary):
    """What runs tell of the model alone."""
    told = {key: value for key, value in summary.items() if key != "machine"}
    if "flow_mode" in told:
        told["flow_mode"] = {key: value for key, value in told["flow_mode"].items() if "wall" not in key}
    return told


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.chdir(weft_calls.ROOT)
        cls.folder = tempfile.TemporaryDirectory()

    def out(self, name):
        return f"--out={self.folder.name}/{name}"

    def same_run(self, result, *arguments):
        summary = weft_calls.command_json(PROGRAM, "run", *arguments, self.out(f"run{len(arguments)}"))
        self.assertTrue(result.fingerprint)
        self.assertEqual(without_machine(result.summary), without_machine(summary))

    def test_two_jobs_on_one_fabric(self):
        self.same_run(readme.quickstart(), "tools/examples/quickstart.textproto")

    def test_a_mixture_of_experts(self):
        result = readme.experts()
        self.same_run(result, "--topology=topologies/presets/fat_tree_k8.textproto",
                      "--workload=workloads/examples/expert_parallel_16.textproto", "--mode=packet")
        # What the README prints.
        self.assertIn(result.fingerprint, (weft_calls.ROOT / "README.md").read_text(encoding="utf-8"))

    def test_a_snapshot_and_a_drain(self):
        cluster = readme.four_jobs()
        self.same_run(cluster, "tools/examples/four_jobs.textproto", "--fast-forward=2", "--snapshot=60s", "--until=60s")
        snapshot = next(Path(self.folder.name).glob("*/snapshot.textproto"))
        told = weft_calls.command_json(PROGRAM, "predict", str(snapshot), "--drain=host1")
        answer = readme.drain(cluster).data
        self.assertTrue(answer["possible"])
        self.assertEqual(len(answer["jobs"]), 5)
        for key, value in answer.items():
            self.assertEqual(value, told[key], key)

    def test_a_projection(self):
        told = weft_calls.command_json(PROGRAM, "project", "training", "llama3_8b", "llama3_8b_nemo", "hgx_h100", "--gpus=8")
        self.assertEqual(readme.projection().data, told)

    def test_a_calibration_and_a_run_with_its_profile(self):
        inputs = [f"--{name}={path}" for name, path in readme.PIPELINE.items()]
        weft_calls.command(PROGRAM, "run", *inputs, "--set=flow.wqe_latency=2us", self.out("measured"))
        measured = f"{self.folder.name}/measured/flows.csv"
        profile = f"{self.folder.name}/profile.textproto"
        told = weft_calls.command_json(PROGRAM, "calibrate", *inputs, f"--measured={measured}",
                                       "--fit=flow.wqe_latency=500ns..5us", f"--out={profile}")
        del told["wall_time_s"]
        found = readme.calibration(measured)
        self.assertEqual(found.figures, told)
        # The truth is 2 us.
        self.assertEqual(list(found.parameters["fitted"]), ["2us"])
        self.same_run(readme.with_profile(found), *inputs, f"--profile={profile}")


if __name__ == "__main__":
    unittest.main()
