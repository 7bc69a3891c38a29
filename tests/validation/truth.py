#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commonest cases with `weft run` and holds what comes out against what it should be: packet mode against flow mode where nothing collides,
congestion control on one link and on a fat tree, collectives on machines that people know. Prints a Markdown table; exit status 1 if a target is missed.

usage: tests/validation/truth.py [--weft=build/weft] [--long] [--only=TEXT]

--long adds runs of minutes: iterations of a 6.7B model on 128 and on 1,024 GPUs.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NONE = "--set=packet.congestion_control=none"


class Run:
    """One `weft run`: its summary.json, and the rows of its tables."""

    def __init__(self, weft, folder, *arguments):
        self.folder = os.path.join(folder, "out")
        command = [weft, "run", *arguments, "--json", "--quiet", "--out=" + self.folder]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        if done.returncode != 0:
            raise RuntimeError(" ".join(command) + "\n" + done.stderr)
        self.summary = json.loads(done.stdout)

    def rows(self, name):
        with open(os.path.join(self.folder, name), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def seconds(self):
        return self.summary["mean_iteration_s"] if self.summary["iterations"] else self.summary["makespan_s"]


class Cases:
    def __init__(self, weft, folder):
        self.weft = weft
        self.folder = folder

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run(self, *arguments):
        return Run(self.weft, self.folder, *arguments)

    def collective(self, ranks, kind, size):
        return self.write("work.textproto", f'ranks: {ranks} role {{ op {{ name: "c" collective {{ type: {kind} size: "{size}" }} }} }}')

    def topology(self, builder, **parameters):
        sets = "".join(f' set {{ name: "{name}" value: "{value}" }}' for name, value in parameters.items())
        return self.write("net.textproto", f'builder: "{builder}"{sets}')

    def flows(self, rows):
        text = f"{len(rows)}\n" + "".join(f"{a} {b} 3 100 {size} {start}\n" for a, b, size, start in rows)
        return self.write("flow.txt", text) + ":hpcc"

    def modes(self, *arguments, packet=()):
        """Seconds in flow mode and in packet mode."""
        return self.run(*arguments, "--mode=flow").seconds(), self.run(*arguments, "--mode=packet", *packet).seconds()

    # --- the cases: each yields rows (what, should be, is, met) ---

    def rings_without_congestion_control(self):
        for preset, size in [("fat_tree_k8", "64KiB"), ("fat_tree_k8", "1MiB"), ("fat_tree_k8", "16MiB"), ("rail_128_h100", "64KiB")]:
            work = self.collective(128, "ALL_REDUCE", size)
            flow, packet = self.modes(f"--topology=topologies/presets/{preset}.textproto", f"--workload={work}",
                                      "--set=collective.all_reduce=ring", packet=[NONE])
            yield both(f"ring all-reduce of {size}, 128 ranks, {preset}, no congestion control", flow, packet, 0.02)

    def rings_across_sites(self):
        for rtt in ["0.1ms", "1ms", "10ms", "50ms"]:
            net = self.topology("multi_site", wan_rtt=rtt, fabric_params="hosts=8 hosts_per_leaf_group=8 spines=8")
            work = self.collective(128, "ALL_REDUCE", "64KiB")
            flow, packet = self.modes(f"--topology={net}", f"--workload={work}", "--set=collective.all_reduce=ring", packet=[NONE])
            yield both(f"the same on two sites, round trip {rtt}", flow, packet, 0.02)

    def slots_across_sites(self):
        net = self.topology("multi_site", wan_rtt="50ms", fabric_params="hosts=8 hosts_per_leaf_group=8 spines=8")
        arguments = [f"--topology={net}", f"--workload={self.collective(128, 'ALL_REDUCE', '64KiB')}", "--set=collective.all_reduce=ring"]
        held = self.run(*arguments)
        lifted = self.run(*arguments, "--set=collective.slots=254")
        notes = len(held.summary.get("notes", [])), len(lifted.summary.get("notes", []))
        yield ("the same, round trip 50ms: slots that hold the path back, and as many as there are messages", "a note, then none and two round trips",
               f"{held.seconds() * 1e3:.4g} ms and {counted(notes[0])}, then {lifted.seconds() * 1e3:.4g} ms and {counted(notes[1])}",
               notes == (1, 0) and abs(lifted.seconds() / 0.1 - 1) < 0.02)

    def two_flows_fill_a_link(self):
        net = self.write("line.txt", "4 1 3\n3\n" + "".join(f"{i} 3 100Gbps 0.0005ms 0\n" for i in range(3))) + ":hpcc"
        flows = self.flows([(0, 2, 60_000_000, 0), (1, 2, 60_000_000, 0)])
        run = self.run(f"--topology={net}", f"--flows={flows}", "--mode=packet", "--sample=500us")
        rates = [(float(row["time_ns"]) * 1e-9, float(row["rate_bps"])) for row in run.rows("link_samples.csv") if row["link"] == "3->2"]
        full = next((time for time, rate in rates if rate >= 0.95 * 100e9), None)
        yield (f"two flows over a 100G link, default congestion control: above 95 % of it", "within 2 ms",
               "never" if full is None else f"in the sample that ends at {full * 1e3:.1f} ms", full is not None and full <= 2.0e-3)

    def fast_card_to_slow_card(self):
        net = self.write("slow.txt", "3 1 2\n2\n0 2 400Gbps 0.0005ms 0\n1 2 100Gbps 0.0005ms 0\n") + ":hpcc"
        flows = self.flows([(0, 1, 10_000_000, 0)])
        flow, packet = self.modes(f"--topology={net}", f"--flows={flows}")
        yield both("10 MB from a 400G card to a 100G card", flow, packet, 0.05)

    def permutation(self):
        for rate in ["100Gbps", "400Gbps"]:
            net = self.topology("fat_tree", k=8, nic_rate=rate, fabric_rate=rate)
            rows = [(i, (i * 37 + 5) % 128, 10_000_000, 0) for i in range(128) if i != (i * 37 + 5) % 128]
            flows = self.flows(rows)
            flow = self.run(f"--topology={net}", f"--flows={flows}", "--mode=flow").summary["mean_fct_s"]
            packet = self.run(f"--topology={net}", f"--flows={flows}", "--mode=packet").summary["mean_fct_s"]
            yield both(f"hashed permutation of 10 MB, k=8 at {rate}, mean", flow, packet, 0.15)

    def all_reduce_on_known_machines(self):
        # Estimates of NCCL's own tuning model and of published runs: about 6 ms.
        for hosts, server in [(10, "hgx_h100"), (4, "hgx_b200")]:
            net = self.topology("rail_optimized", hosts=hosts, server=server)
            work = self.collective(8 * hosts, "ALL_REDUCE", "1GiB")
            seconds = self.run(f"--topology={net}", f"--workload={work}").seconds()
            busbw = 2 * (8 * hosts - 1) / (8 * hosts) * 2**30 / seconds / 1e9
            yield (f"all-reduce of 1 GiB on {hosts} hosts of {server}, all defaults", "6 ms +- 5%", f"{seconds * 1e3:.2f} ms, {busbw:.0f} GB/s of bus bandwidth",
                   abs(seconds / 6.0e-3 - 1) <= 0.05)

    def seeds(self):
        rows = [(i, (i + 17) % 128, 10_000_000, 0) for i in range(128)]
        flows = self.flows(rows)
        prints = [self.run("--topology=topologies/presets/fat_tree_k8.textproto", f"--flows={flows}", f"--seed={seed}").summary["fingerprint"]
                  for seed in (1, 2, 3)]
        yield "--seed=1,2,3 in flow mode, hashed paths", "three results", f"{len(set(prints))} results", len(set(prints)) == 3

    def language_models(self):
        for dp, topology in [(4, "hosts=16"), (32, "hosts=128")]:
            gpus = 32 * dp
            net = self.topology("rail_optimized", **dict(part.split("=") for part in topology.split()))
            work = os.path.join(self.folder, "llm.pb")
            subprocess.run([self.weft, "workload", "make", "--template=llm", f"--set=dp={dp}", "--out=" + work], check=True, capture_output=True)
            flow, packet = self.modes(f"--topology={net}", f"--workload={work}")
            yield both(f"iteration of a 6.7B model on {gpus} GPUs", flow, packet, 0.05)


def counted(notes):
    return "no note" if notes == 0 else f"{notes} note" + "s" * (notes > 1)


def both(what, flow, packet, tolerance):
    off = packet / flow - 1
    return what, f"flow mode +- {tolerance:.0%}", f"flow {flow * 1e3:.4g} ms, packet {packet * 1e3:.4g} ms, {off:+.2%}", abs(off) <= tolerance


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.path.join(ROOT, "build", "weft"))
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    missed = 0
    print("| case | should be | is | |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(os.path.abspath(options.weft), folder)
        groups = [cases.rings_without_congestion_control, cases.rings_across_sites, cases.slots_across_sites, cases.two_flows_fill_a_link,
                  cases.fast_card_to_slow_card, cases.permutation, cases.all_reduce_on_known_machines, cases.seeds]
        if options.long:
            groups.append(cases.language_models)
        for group in groups:
            if options.only not in group.__name__:
                continue
            for what, target, result, met in group():
                missed += 0 if met else 1
                print(f"| {what} | {target} | {result} | {'yes' if met else 'NO'} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
