#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of the README from Python: two jobs on one fabric, a mixture of experts packet by packet, a snapshot and what a
drain would do, a projection, and a calibration whose profile a run takes.

Run it in the project's root: PYTHONPATH=build/python python3 tools/examples/readme.py
"""
import tempfile
from pathlib import Path

import weft

PIPELINE = {"topology": "topologies/presets/fat_tree_k8.textproto", "workload": "workloads/examples/pipeline_4.textproto"}


def quickstart():
    """weft run tools/examples/quickstart.textproto"""
    return weft.run("tools/examples/quickstart.textproto")


def experts():
    """weft run --topology=... --workload=... --mode=packet"""
    return weft.run(topology="topologies/presets/fat_tree_k8.textproto",
                    workload="workloads/examples/expert_parallel_16.textproto", mode="packet")


def four_jobs():
    """weft run tools/examples/four_jobs.textproto --fast-forward=2 --snapshot=60s --until=60s"""
    return weft.run("tools/examples/four_jobs.textproto", fast_forward=2, snapshot="60s", until="60s")


def drain(cluster):
    """weft predict cluster/snapshot.textproto --drain=host1"""
    return weft.predict(cluster, drain="host1")


def projection():
    """weft project training llama3_8b llama3_8b_nemo hgx_h100 --gpus=8"""
    return weft.project.training("llama3_8b", "llama3_8b_nemo", "hgx_h100", gpus=8)


def calibration(measured):
    """weft calibrate --topology=... --workload=... --measured=flows.csv --fit=flow.wqe_latency=500ns..5us"""
    return weft.calibrate(**PIPELINE, measured=measured, fit={"flow.wqe_latency": "500ns..5us"})


def with_profile(found):
    """weft run --topology=... --workload=... --profile=weft-profile.textproto"""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "weft-profile.textproto"
        found.save(profile)
        return weft.run(**PIPELINE, profile=profile)


def main():
    print(quickstart().text)
    print(experts().text)
    print(drain(four_jobs()).jobs[["job", "now.iteration_s", "then.iteration_s", "now.end_s", "then.end_s"]].to_string())
    print(projection().text)
    # In place of a machine: a run whose cards take 2 us to start a transfer.
    measured = weft.run(**PIPELINE, set={"flow.wqe_latency": "2us"}).flows
    found = calibration(measured)
    print(found.parameters.to_string())
    print(with_profile(found).text)


if __name__ == "__main__":
    main()
