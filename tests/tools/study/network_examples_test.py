#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The studies of networks under tools/examples/studies find what their pages say.

  network_examples_test.py WEFT

Some points of each are run, as its own axes have them.
"""

import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

STUDIES = pathlib.Path(__file__).resolve().parents[3] / "tools" / "examples" / "studies"


def fail(message):
    sys.exit(f"network_examples_test.py: {message}")


def expect(holds, message):
    if not holds:
        fail(message)


def without_blocks(text, name):
    """The text without its top-level blocks of this name."""
    kept = []
    depth = 0
    for line in text.splitlines():
        if depth > 0 or line.startswith(name + " {"):
            depth += line.count("{") - line.count("}")
        else:
            kept.append(line)
    return "\n".join(kept)


class Studies:
    def __init__(self, weft):
        self.weft = weft

    def points(self, name, *points):
        """Metrics of some points, each a dictionary of what it sets; once each."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            shutil.copytree(STUDIES / name, path)
            text = without_blocks((path / "study.textproto").read_text(encoding="utf-8"), "axis")
            text = "\n".join(line for line in text.splitlines() if not line.startswith("replicates:")) + "\n"
            for point in points:
                sets = " ".join(f'set {{ name: "{key}" value: "{value}" }}' for key, value in point.items())
                text += f"point {{ {sets} }}\n"
            (path / "study.textproto").write_text(text, encoding="utf-8")
            done = subprocess.run([self.weft, "study", str(path / "study.textproto"), f"--out={path}/out"], capture_output=True, text=True,
                                  check=False)
            expect(done.returncode == 0, f"{name}: {done.stdout}{done.stderr}")
            with open(path / "out" / "study.csv", newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        expect(len(rows) == len(points), f"{name}: {len(rows)} runs")
        return [{key: float(value) for key, value in row.items() if key in self._metrics(text) and value} for row in rows]

    @staticmethod
    def _metrics(text):
        return [line.split('name: "')[1].split('"')[0] for line in text.splitlines() if line.startswith("metric {")]


def queue_pairs_size(studies):
    packet = {"workload": "all_reduce_64.textproto", "mode": "packet", "flow.routing": "ecmp"}
    one, many, even = (point["mean_iteration_s"] for point in studies.points(
        "queue_pairs_size", {**packet, "flow.queue_pairs": 1}, {**packet, "flow.queue_pairs": 32},
        {**packet, "flow.queue_pairs": 1, "mode": "flow", "flow.routing": "spray"}))
    expect(even < many < 1.3 * even, f"32 queue pairs take {many} s, all paths alike {even} s")
    expect(one > 1.15 * many, f"one queue pair takes {one} s, 32 take {many} s")


def queue_pairs_sharing(studies):
    packet = {"mode": "packet", "flow.routing": "ecmp", "flow.queue_pairs": 32}
    even = {"mode": "flow", "flow.routing": "spray", "flow.queue_pairs": 1}
    alone, shared, alone_evenly, shared_evenly = (point["mean_iteration_s"] for point in studies.points(
        "queue_pairs_sharing", {"workload": "alone_1.textproto", **packet}, {"workload": "shared_1.textproto", **packet},
        {"workload": "alone_1.textproto", **even}, {"workload": "shared_1.textproto", **even}))
    expect(shared > 1.1 * alone, f"a shared host costs nothing: {alone} s and {shared} s")
    expect(abs(shared_evenly / alone_evenly - 1) < 0.01, f"evenly spread, a shared host costs: {alone_evenly} s, {shared_evenly} s")


def buffers_aggregation(studies):
    pauses = {"packet.congestion_control": "none", "clos.nic_rate": "400Gbps"}
    even, small, large = studies.points(
        "buffers_aggregation", {"workload": "even.textproto", **pauses, "clos.agg_buffer": "34MB"},
        {"workload": "uneven.textproto", **pauses, "clos.agg_buffer": "34MB"},
        {"workload": "uneven.textproto", **pauses, "clos.agg_buffer": "136MB"})
    expect(even["nic_paused_ns"] == even["agg_paused_ns"] == 0, f"an even all-to-all is paused: {even}")
    expect(small["nic_paused_ns"] > 0 and large["nic_paused_ns"] == 0, f"pauses of NICs: {small}, {large}")
    expect(abs(small["mean_iteration_s"] / large["mean_iteration_s"] - 1) < 0.01, f"memory matters: {small}, {large}")


def buffers_spine(studies):
    common = {"collective.all_reduce": "halving_doubling", "packet.congestion_control": "none", "clos.nic_rate": "400Gbps"}
    small, large = studies.points("buffers_spine", {**common, "clos.spine_buffer": "2MB"}, {**common, "clos.spine_buffer": "32MB"})
    expect(small["spine_paused_ns"] == large["spine_paused_ns"] == 0, f"aggregation switches pause spines: {small}, {large}")
    expect(abs(small["mean_iteration_s"] / large["mean_iteration_s"] - 1) < 0.01, f"memory of spines matters: {small}, {large}")


def analytical_or_simulated(studies):
    times = [point["all_reduce_ns"] for point in studies.points(
        "analytical_or_simulated", *({"mode": "flow", "scenario": f"load_{jobs}.textproto"} for jobs in (0, 3, 7)))]
    line_rate_ns = 2 * 64e6 * (31 / 32) / (400e9 / 8) * 1e9
    expect(1.16 * line_rate_ns < times[0] < times[1] < times[2], f"{times} ns, and {line_rate_ns} ns by line rate")
    expect(times[2] > 2 * times[0], f"load does little: {times}")


def exposed_network(studies):
    small, large = studies.points("exposed_network", {"dlrm.batch": 4096, "dlrm.ranks": 8}, {"dlrm.batch": 4096, "dlrm.ranks": 64})
    expect(small["exposed_comm_share"] < large["exposed_comm_share"] < 0.5, f"{small}, {large}")


def oversubscription_price(studies):
    full, few = studies.points("oversubscription_price", {"rail_optimized.spines": 16}, {"rail_optimized.spines": 2})
    # 16 leafs with 16 hosts and all spines below 12.8 Tb/s; 256 cables to hosts, a cable from each leaf to each spine.
    for spines, point in ((16, full), (2, few)):
        fabric = (16 + spines) * 15000 + (256 + 16 * spines) * 1800
        expect(point["prices.fabric_cost"] == fabric, f"{spines} spines: {point}, and {fabric} by hand")
        expect(point["prices.cost"] == fabric + 32 * 240000 + 256 * 1800, f"{spines} spines: {point}")
    expect(few["mean_iteration_s"] > full["mean_iteration_s"], f"{full}, {few}")


def main():
    if "WEFT_LONG_TESTS" not in os.environ:
        print("takes minutes: tools/test --long has it")
        sys.exit(77)
    studies = Studies(sys.argv[1])
    for finding in (queue_pairs_size, queue_pairs_sharing, buffers_aggregation, buffers_spine, analytical_or_simulated, exposed_network,
                    oversubscription_price):
        finding(studies)


if __name__ == "__main__":
    main()
