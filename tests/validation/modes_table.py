#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs packet mode beside flow mode with all settings at their defaults: fifty random small scenarios, and ten workloads from the templates on 16 hosts of
8 H100 GPUs with a 400G rail each. Prints a Markdown table: what both modes say, how long queues were against the length from which packets are marked (Kmin),
and, where they were longer or times more than 2 % apart, what the run itself gives as the cause. Exit status 1 if the mean difference of the scenarios whose
queues stayed below Kmin is above 5 %, or something was dropped.

usage: tests/validation/modes_table.py [--weft=build/weft] [--quick] [--only=TEXT]

--quick runs every fifth random scenario and the four smallest workloads; --only those whose name has TEXT in it.
"""
import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from typing import NamedTuple

from truth import Cases

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
H100_RAILS = os.path.join(ROOT, "topologies", "presets", "rail_128_h100.textproto")
KMIN_AT_100G = 400e3  # packet.ecn_kmin, in proportion to the rate of a port
MEAN_MOST = 0.05


class Fabric(NamedTuple):
    name: str
    builder: str
    parameters: str
    gpus: int
    gpus_per_host: int
    gpus_per_site: int = 0
    switches_per_site: int = 0

    def node(self, gpu):
        """Its number in a flow list. A host is its GPUs and, if several, an NVSwitch and a NIC for each GPU; the switches of a site follow its hosts."""
        host, place = divmod(gpu, self.gpus_per_host)
        nodes_per_host = 2 * self.gpus_per_host + 1 if self.gpus_per_host > 1 else 1
        before = gpu // self.gpus_per_site * self.switches_per_site if self.gpus_per_site else 0
        return host * nodes_per_host + place + before


FABRICS = [
    Fabric("switch of 8", "single_switch", "hosts=8", 8, 1),
    Fabric("fat tree of 16", "fat_tree", "k=4", 16, 1),
    Fabric("fat tree of 54, 100G", "fat_tree", "k=6 nic_rate=100Gbps fabric_rate=100Gbps", 54, 1),
    Fabric("rails, 4 x 8", "rail_optimized", "hosts=4 server=hgx_h100", 32, 8),
    Fabric("dual plane, 4 x 8", "dual_plane_rail", "hosts=4 server=hgx_h100", 32, 8),
    # 8 leafs, 8 spines and a border router in a site.
    Fabric("two sites, 2 x 2 x 8", "multi_site", "fabric_params=hosts=2,hosts_per_leaf_group=2,spines=8,server=hgx_h100 wan_rtt=1ms", 32, 8, 16, 17),
]
COLLECTIVES = ["ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER", "ALL_TO_ALL", "BROADCAST"]

# Name, template, parameters; the first four are the quick ones.
WORKLOADS = [
    ("all-reduce of 256 MiB", "collectives", "ranks=128 size=256MiB"),
    ("all-reduces of 64 MiB in rings along rails", "collectives", "ranks=128 size=64MiB group=16 stride=8 count=4 gap=1ms"),
    ("all-gathers of 2 MiB a rank", "collectives", "ranks=128 collective=all_gather size=2MiB count=2"),
    ("data parallel, ResNet-50", "data_parallel", "ranks=128"),
    ("all-to-all of 64 MiB a rank", "collectives", "ranks=128 collective=all_to_all size=64MiB"),
    ("all-to-all of 64 MiB within groups of 32", "collectives", "ranks=128 collective=all_to_all size=64MiB group=32"),
    ("DLRM", "dlrm", "ranks=128"),
    ("LLM, 6.7B, tp 8, pp 4, dp 4", "llm", ""),
    ("LLM, 13B sharded, tp 8, dp 16", "llm", "pp=1 dp=16 layers=40 hidden=5120 heads=40 ffn=20480 gradients=reduce_scatter microbatches=2"),
    ("MoE, 8 experts, tp 8, pp 4, dp 4", "moe", ""),
]


def text_set(pairs):
    return "".join(f' set {{ name: "{name}" value: "{value}" }}' for name, value in (pair.split("=", 1) for pair in pairs.split()))


class Both:
    """One run in packet mode, with the one in flow mode that it is compared with by itself."""

    def __init__(self, weft, folder, *arguments):
        out = os.path.join(folder, "out")
        command = [weft, "run", *arguments, "--mode=packet", "--json", "--quiet", "--out=" + out]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        if done.returncode != 0:
            raise RuntimeError(" ".join(command) + "\n" + done.stderr)
        self.summary = json.loads(done.stdout)
        # Iterations where there are some, as starting and ending a job take 20 us, and otherwise
        # completions of flows.
        figure = "mean_iteration_s" if self.summary["iterations"] else "mean_fct_s"
        self.packet_s = self.summary[figure]
        self.flow_s = self.summary["flow_mode"][figure]
        with open(os.path.join(out, "links.csv"), newline="", encoding="utf-8") as file:
            self.queue_of_kmin = max((float(row["peak_queue_bytes"]) / (KMIN_AT_100G * float(row["rate_bps"]) / 100e9) for row in csv.DictReader(file)),
                                     default=0)

    def difference(self):
        return self.packet_s / self.flow_s - 1

    def is_short(self):
        return self.queue_of_kmin < 1

    def cause(self):
        packets, cards = self.summary["packets"], self.summary["cards"]
        held = {name: cards[key] for name, key in [("congestion control", "held_by_congestion_control_s"), ("pauses", "held_by_pauses_s"),
                                                   ("acknowledgements", "held_by_acknowledgements_s"), ("what is sent again", "sending_again_s")]}
        all_s = cards["sending_s"] + sum(held.values()) - cards["sending_again_s"]
        parts = [f"{packets[key]} {word}" for key, word in [("ecn_marks", "marks"), ("pauses", "pauses")] if packets[key] > 0]
        parts += [f"cards held up {value / all_s:.0%} by {name}" for name, value in held.items() if all_s > 0 and value / all_s >= 0.005]
        return ", ".join(parts) or "queues alone"


class Scenarios(Cases):
    def random(self, seed):
        """Name and how to run it: pairs, many to one, or a collective, on one of the fabrics."""
        draw = random.Random(seed)
        fabric = FABRICS[draw.randrange(len(FABRICS))]
        gpus, per_host = fabric.gpus, fabric.gpus_per_host
        kind = draw.choice(["pairs", "pairs", "many to one", "collective", "collective"])
        size = int(10 ** draw.uniform(4.5, 6.8))
        if kind == "collective":
            collective = draw.choice(COLLECTIVES)
            name = f"{collective.lower()} of {size} B, {fabric.name}"
        elif kind == "pairs":
            ends = list(range(gpus))
            draw.shuffle(ends)
            count = draw.randint(2, gpus)
            rows = [(ends[i], ends[(i + 1) % gpus], int(10 ** draw.uniform(4.5, 6.8)), draw.uniform(0, 5e-4)) for i in range(count)]
            rows = [row for row in rows if row[0] // per_host != row[1] // per_host] or [(0, gpus - 1, size, 0)]
            name = f"{len(rows)} pairs, 30 kB to 6 MB, {fabric.name}"
        else:
            target = draw.randrange(gpus)
            others = [i for i in range(gpus) if i // per_host != target // per_host]
            rows = [(i, target, size, 0) for i in draw.sample(others, draw.randint(2, 7))]
            name = f"{len(rows)} to one, {size} B each, {fabric.name}"

        def run():
            net = self.write("net.textproto", f'builder: "{fabric.builder}"{text_set(fabric.parameters)}')
            if kind == "collective":
                work = self.write("work.textproto", f'ranks: {gpus} role {{ op {{ name: "c" collective {{ type: {collective} size: "{size}B" }} }} }}')
                return Both(self.weft, self.folder, f"--topology={net}", f"--workload={work}", f"--seed={seed + 1}")
            flows = self.write("flow.txt", f"{len(rows)}\n" + "".join(
                f"{fabric.node(a)} {fabric.node(b)} 3 100 {bytes_} {start:.9f}\n" for a, b, bytes_, start in rows))
            return Both(self.weft, self.folder, f"--topology={net}", f"--flows={flows}:hpcc", f"--seed={seed + 1}")

        return f"{seed}: {name}", run

    def workload(self, name, template, parameters):
        def run():
            work = os.path.join(self.folder, "work.pb")
            subprocess.run([self.weft, "workload", "make", "--template=" + template, "--out=" + work,
                            *("--set=" + pair for pair in parameters.split())], check=True, capture_output=True)
            return Both(self.weft, self.folder, f"--topology={H100_RAILS}", f"--workload={work}")

        return name, run


def readable(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


def compare(title, scenarios):
    """Prints the table. Returns the differences where queues stayed short, those of the others, and how many packets were dropped."""
    print(f"| {title} | flow mode | packet mode | difference | longest queue / Kmin | why |\n|---|---|---|---|---|---|")
    short, others, drops = [], [], 0
    for name, run in scenarios:
        both = run()
        (short if both.is_short() else others).append(abs(both.difference()))
        drops += both.summary["packets"]["drops"]
        print(f"| {name} | {readable(both.flow_s)} | {readable(both.packet_s)} | {both.difference():+.1%} | {both.queue_of_kmin:.2f} | "
              f"{both.cause() if not both.is_short() or abs(both.difference()) > 0.02 else ''} |", flush=True)
    print()
    return short, others, drops


def mean(values):
    return sum(values) / len(values) if values else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.path.join(ROOT, "build", "weft"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        scenarios = Scenarios(os.path.abspath(options.weft), folder)
        tables = [("random scenario", [scenarios.random(seed) for seed in range(0, 50, 5 if options.quick else 1)]),
                  ("workload", [scenarios.workload(*row) for row in WORKLOADS[:4 if options.quick else None]])]
        for title, rows in tables:
            rows = [row for row in rows if options.only in row[0]]
            if not rows:
                continue
            short, others, drops = compare(title, rows)
            print(f"Queues below Kmin: {len(short)}, {mean(short):.2%} apart on average, {max(short, default=0):.1%} at most. "
                  f"Longer queues: {len(others)}, {mean(others):.2%} on average, {max(others, default=0):.1%} at most. Dropped: {drops}.\n", flush=True)
            failed = failed or mean(short) > MEAN_MOST or drops > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
