#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of clusters in which everything happens at once: each ends well, and in the same way on one thread and on two."""

import collections
import csv
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

WEFT = "weft"
SCENARIOS = 0
POLICIES = ["fcfs", "fcfs_fill", "sjf", "backfill", "priority", "srtf", "tiresias", "mast"]
PLACEMENTS = ["first_fit", "packed", "spread", "fragmentation_gradient", "rail_aware", "topology_aware"]
HOSTS = 16


class Scenario:
    """Jobs on a small fat tree, with data and checkpoints elsewhere, failures, drains and changes of policy."""

    may_stand_still = False

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.has_storage = self.chance(0.6)
        self.jobs = []
        self.drained = set()
        self.lines = ["mode: FLOW", 'topology { builder: "fat_tree" set { name: "k" value: "4" } }']
        self.lines.append(f'scheduler {{ policy: "{self.draw.choice(POLICIES)}" placement: "{self.draw.choice(PLACEMENTS)}" }}')
        self.set("storage.hosts", "0,5" if self.has_storage else "")
        self.set("failure.reroute", self.draw.choice(["0s", "20ms", "300ms"]))
        self.set("failure.detection", self.draw.choice(["0s", "50ms"]))
        self.set("failure.repair", "exponential(200ms)")
        self.set("checkpoint.every", self.draw.choice(["1", "2", "5"]))
        self.set("checkpoint.write", self.draw.choice(["0s", "1ms", "30ms"]))
        self.set("scheduler.start_overhead", self.draw.choice(["0s", "10ms", "100ms"]))
        self.lines += [f"job {{ {self.job(submit=True)} }}" for _ in range(self.draw.randrange(2, 12))]
        self.lines += [f'event {{ at: "{self.ms(1500)}" {self.event()} }}' for _ in range(self.draw.randrange(10))]
        if self.chance(0.3):
            self.lines.append('handler { name: "priority_boost" }')
        self.fast_forward = self.draw.choice([0, 0, 2])

    def chance(self, probability):
        return self.draw.random() < probability

    def ms(self, below, least=0):
        return f"{self.draw.randrange(least, below)}ms"

    def set(self, name, value):
        self.lines.append(f'set {{ name: "{name}" value: "{value}" }}')

    def job(self, submit):
        gpus = self.draw.choice([2, 3, 4, 6, 8, 12])
        name = f"job{len(self.jobs)}"
        self.jobs.append(name)
        text = f'name: "{name}" priority: {self.draw.randrange(3)} group: "{self.draw.choice("ab")}"'
        if submit:
            text += f' submit: "{self.ms(1000)}"'
        if self.chance(0.2):
            text += f' gpus: {gpus} duration: "{self.ms(900, 1)}"'
        else:
            workload = {"ranks": gpus, "forward_time": self.ms(20, 1), "backward_time": "5ms"}
            settings = " ".join(f'set {{ name: "{key}" value: "{value}" }}' for key, value in workload.items())
            text += f' iterations: {self.draw.randrange(1, 25)} workload {{ template: "data_parallel" {settings} }}'
            text += ' mode: JOB iteration_time: "50ms"' if self.chance(0.2) else ""
        if self.has_storage and self.chance(0.5):
            hosts = f' hosts: "{self.draw.randrange(HOSTS)}"' if self.chance(0.3) else ""
            text += f' data {{ size: "{self.draw.randrange(1, 9)}GB"{hosts} }}'
        if self.has_storage and self.chance(0.5):
            text += f' checkpoint_size: "{self.draw.randrange(1, 900)}MB"'
        return text

    def event(self):
        kind = self.draw.choice(["host", "switch", "cable", "drain", "cancel", "submit", "policy", "placement", "round"])
        if kind == "host":
            part = f"host{self.draw.randrange(HOSTS)}" + self.draw.choice(["", "/gpu0", "/nic0"])
            return f'fail {{ part: "{part}" repair: "{self.ms(500)}" }}'
        if kind == "switch":
            part = self.draw.choice([f"leaf{self.draw.randrange(8)}", f"agg{self.draw.randrange(8)}", f"spine{self.draw.randrange(4)}"])
            return f'fail {{ part: "{part}" repair: "{self.ms(600, 1)}" }}'
        if kind == "cable":
            leaf = self.draw.randrange(8)
            end = self.draw.choice([f"agg{leaf // 2 * 2 + self.draw.randrange(2)}", f"host{2 * leaf + self.draw.randrange(2)}/gpu0"])
            factor = f" factor: 0.{self.draw.randrange(1, 9)}" if self.chance(0.5) else ""
            return f'fail {{ part: "leaf{leaf}->{end}" repair: "{self.ms(600, 1)}"{factor} }}'
        undrained = sorted(set(range(HOSTS)) - self.drained)
        if kind == "drain":
            self.drained.add(host := self.draw.choice(undrained))
            return f'drain {{ hosts: "{host}" for: "{self.ms(400, 1)}" notice: "{self.ms(100)}" }}'
        if kind == "cancel":
            return f'cancel {{ job: "{self.draw.choice(self.jobs)}" }}'
        if kind == "submit":
            return f"submit {{ job {{ {self.job(submit=False)} }} }}"
        name, value = {
            "policy": ("scheduler.policy", self.draw.choice(POLICIES)),
            "placement": ("scheduler.placement", self.draw.choice(PLACEMENTS)),
            "round": ("scheduler.round", "70ms"),
        }[kind]
        return f'set {{ name: "{name}" value: "{value}" }}'


class PacketScenario:
    """Short jobs in packet mode, while switches and cables of all kinds of fabrics fail for microseconds to milliseconds."""

    may_stand_still = False

    # Parameters of a builder, and the parts that fail.
    FABRICS = {
        "fat_tree": (
            {"k": "4"},
            16,
            [f"leaf{i}" for i in range(8)]
            + [f"agg{i}" for i in range(8)]
            + [f"spine{i}" for i in range(4)]
            + [f"leaf{i}->agg{i // 2 * 2 + j}" for i in range(8) for j in range(2)]
            + [f"leaf{i}->host{2 * i + j}/gpu0" for i in range(8) for j in range(2)]
            + [f"agg{i}->spine{i % 2 * 2 + j}" for i in range(8) for j in range(2)],
        ),
        "clos": (
            {"hosts": "8", "gpus_per_host": "2", "nics_per_host": "2", "hosts_per_leaf": "2", "leafs_per_pod": "2", "aggs_per_pod": "2", "spines": "2"},
            16,
            [f"leaf{i}" for i in range(4)]
            + [f"spine{i}" for i in range(2)]
            + [f"leaf{i}->agg{i // 2 * 2 + j}" for i in range(4) for j in range(2)]
            + [f"leaf{i}->host{2 * i + j}/nic{n}" for i in range(4) for j in range(2) for n in range(2)],
        ),
        # Cards with ports in two planes.
        "dual_plane_rail": (
            {"hosts": "8", "gpus_per_host": "2", "nics_per_host": "2", "hosts_per_segment": "4", "segments_per_pod": "2", "aggs_per_plane": "2"},
            16,
            [f"leaf{i}" for i in range(8)]
            + [f"agg{i}" for i in range(4)]
            + [f"leaf{h // 4 * 4 + n + 2 * p}->host{h}/nic{n}" for h in range(8) for n in range(2) for p in range(2)],
        ),
        "torus": (
            {"dimensions": "4x4"},
            16,
            [f"switch{i}" for i in range(16)]
            + [f"switch{i}->switch{i // 4 * 4 + (i + 1) % 4}" for i in range(16)]
            + [f"switch{i}->switch{(i + 4) % 16}" for i in range(16)],
        ),
    }

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.fast_forward = 0
        name = self.draw.choice(sorted(self.FABRICS))
        parameters, gpus, parts = self.FABRICS[name]
        settings = " ".join(f'set {{ name: "{key}" value: "{value}" }}' for key, value in parameters.items())
        self.lines = ["mode: PACKET", f'topology {{ builder: "{name}" {settings} }}']
        for key, values in {
            "flow.routing": ["ecmp", "ecmp", "spray", "adaptive"],
            "flow.queue_pairs": ["1", "3"],
            "packet.retransmission_timeout": ["100us", "400us", "1ms"],
            "packet.retransmission": ["go_back_n", "selective_repeat"],
            "packet.congestion_control": ["dcqcn", "dctcp", "none"],
            "packet.lossy": ["none", "0"],
            "packet.watchdog": ["0s", "50us"],
            "packet.pause_time": ["0s", "20us"],
            "packet.buffer": ["1200kB", "32MB"],
            "packet.answers": ["own_priority", "with_data"],
            "failure.reroute": ["0s", "50us", "500us", "3ms"],
            "failure.detection": ["0s", "200us"],
        }.items():
            self.lines.append(f'set {{ name: "{key}" value: "{self.draw.choice(values)}" }}')
        for number in range(self.draw.randrange(1, 4)):
            workload = {"ranks": self.draw.choice([2, 4, gpus // 2, gpus]), "buckets": 1, "forward_time": "20us", "backward_time": "30us",
                        "parameters": self.draw.choice([100_000, 400_000])}
            settings = " ".join(f'set {{ name: "{key}" value: "{value}" }}' for key, value in workload.items())
            mode = "mode: FLOW " if self.draw.random() < 0.3 else ""
            self.lines.append(f'job {{ name: "job{number}" submit: "{self.draw.randrange(500)}us" iterations: {self.draw.randrange(1, 6)} '
                              f'{mode}workload {{ template: "data_parallel" {settings} }} }}')
        for _ in range(self.draw.randrange(1, 14)):
            part = self.draw.choice(parts)
            repair = self.draw.choice([self.draw.randrange(1, 30), self.draw.randrange(30, 900), self.draw.randrange(1000, 20_000)])
            factor = f" factor: 0.{self.draw.randrange(1, 9)}" if "->" in part and self.draw.random() < 0.35 else ""
            self.lines.append(f'event {{ at: "{self.draw.randrange(1500)}us" fail {{ part: "{part}" repair: "{repair}us"{factor} }} }}')


class OptionsScenario:
    """Short jobs in packet mode, with every option of cards, switches and congestion control drawn anew."""

    FABRICS = {
        "fat_tree": {"k": "4"},
        "clos": PacketScenario.FABRICS["clos"][0],
        "dual_plane_rail": PacketScenario.FABRICS["dual_plane_rail"][0],
    }
    ONE_WAY = ["ecmp", "e_ecmp", "static"]
    PAUSE_FRAME = 84  # bytes on the wire; begins and ends at a switch's port

    def __init__(self, seed):
        self.draw = random.Random(seed)
        choose = self.draw.choice
        builder = choose(sorted(self.FABRICS))
        parameters = " ".join(_set(*item) for item in self.FABRICS[builder].items())
        congestion_control = choose(["dcqcn", "dcqcn", "dctcp", "hpcc", "swift", "none"])
        lossy = choose(["none", "none", "0"])
        self.may_stand_still = self.draw.random() < 0.15
        self.has_slow_host = self.draw.random() < 0.3
        settings = {
            "dcqcn.round_trips": choose(["awaited", "ignored"]),
            "flow.path_weights": "equal",
            "flow.routing": choose(self.ONE_WAY + ([] if congestion_control == "hpcc" else ["spray", "adaptive"])),
            "flow.queue_pairs": choose(["1", "4"]),
            "flow.mtu": choose(["1024B", "4096B", "9000B"]),
            "packet.congestion_control": congestion_control,
            "packet.ack_interval": choose(["1", "16"]),
            "packet.window": choose(["auto", "none", "9kB", "300kB"]),
            "packet.window_scaling": choose(["fixed", "rate"]),
            "packet.pacing": choose(["way", "card"]),
            "packet.answers": choose(["own_priority", "with_data"]),
            "packet.retransmission": choose(["go_back_n", "selective_repeat"]),
            "packet.retransmission_timeout": choose(["200us", "2ms"]),
            "packet.adaptive_retransmission": choose(["off", "lossy", "on"]),
            "packet.retries": "7" if self.may_stand_still else choose(["0", "7"]),
            "packet.slow_restart": choose(["true", "false"]),
            "packet.buffer": choose(["1200kB", "32MB", "5GiB"]),
            "packet.alpha": choose(["0.125", "1"]),
            "packet.lossy_alpha": choose(["0.25", "1"]),
            "packet.pause_time": choose(["0ns", "20us"]),
            "packet.ecn_kmin": choose(["10kB", "400kB"]),
            "packet.ecn_at": choose(["enqueue", "dequeue"]),
            "packet.adaptive_band": choose(["0ns", "1us"]),
            "packet.profiles": choose(["none", "leaf: buffer=2MB alpha=0.25; *: ecn_kmin=20kB ecn_kmax=80kB", "leaf[01]: priority=0 lossy_alpha=2"]),
            "packet.lossy": lossy,
            "packet.lossy_queues": "tail_drop" if lossy == "none" else choose(["tail_drop", "wred"]),
            "packet.watchdog": "100us" if self.may_stand_still else choose(["0s", "100us"]),
            "packet.slow_hosts": "host1:100Gbps" if self.has_slow_host else "none",
            "packet.receive_buffer": choose(["20kB", "262016B"]),
            "packet.pausing_hosts": "host2:50us" if self.may_stand_still else "none",
            "packet.headroom": choose(["auto", "20kB"]),
            "packet.unsafe": "true",
            "collective.slots": choose(["1", "8"]),
            "collective.protocol": choose(["auto", "simple", "ll"]),
            "collective.all_reduce": choose(["auto", "ring", "double_binary_tree", "direct"]),
        }
        if settings["flow.routing"] in ("ecmp", "e_ecmp", "spray"):
            settings["flow.path_weights"] = choose(["equal", "capacity"])
        self.lines = ["mode: PACKET", f'topology {{ builder: "{builder}" {parameters} }}']
        self.lines += [_set(*item) for item in settings.items()]
        for number in range(self.draw.randrange(1, 4)):
            workload = {"ranks": choose([2, 4, 8, 16]), "buckets": 1, "forward_time": "20us", "backward_time": "30us",
                        "parameters": choose([100_000, 400_000])}
            self.lines.append(f'job {{ name: "job{number}" submit: "{self.draw.randrange(500)}us" iterations: {self.draw.randrange(1, 4)} '
                              f'workload {{ template: "data_parallel" {" ".join(_set(*item) for item in workload.items())} }} }}')


def _set(name, value):
    return f'set {{ name: "{name}" value: "{value}" }}'


class RandomScenarios(unittest.TestCase):
    def outcome_on_threads(self, folder, seed, scenario, option):
        """What one thread and two come to: fingerprint, links.csv and jobs.csv, or why it failed where it may."""
        path = pathlib.Path(folder) / "scenario.textproto"
        path.write_text("\n".join(scenario.lines) + "\n")
        outcomes = set()
        for threads in (1, 2):
            results = pathlib.Path(folder) / "results"
            command = [WEFT, "run", str(path), f"--out={results}", f"--threads={threads}", option]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            if done.returncode != 0:
                self.assertTrue(scenario.may_stand_still and "[retry-exceeded]" in done.stderr, f"seed {seed}: {done.stderr}\n{path.read_text()}")
                outcomes.add(done.stderr)
                continue
            fingerprint = re.search(r"fingerprint +(\w+)", done.stdout)[1]
            self.expect_true_figures(results, f"seed {seed}\n{path.read_text()}")
            # Packets that are lost show in no fingerprint.
            outcomes.add((fingerprint, (results / "links.csv").read_text(), (results / "jobs.csv").read_text()))
        self.assertEqual(len(outcomes), 1, f"seed {seed}\n{path.read_text()}")
        return outcomes.pop()

    def expect_true_figures(self, results, which):
        """Parts sum up to their wholes."""
        summary = json.loads((results / "summary.json").read_text())
        for row in csv.DictReader((results / "cluster.csv").read_text().splitlines()):
            busy, free, out = int(row["busy_gpus"]), int(row["free_gpus"]), int(row["gpus_out"])
            self.assertEqual(busy + free + out, summary["gpus"], which)
            self.assertLessEqual(int(row["draining_gpus"]), busy, which)
        total_s = summary["gpus"] * summary["makespan_s"]
        self.assertLessEqual(summary["gpu_time_s"] + summary["out_of_service_gpu_time_s"], total_s * (1 + 1e-9), which)
        self.assertLessEqual(summary["draining_gpu_time_s"], summary["gpu_time_s"], which)
        span_s = summary.get("link_utilization_over_s", 0)
        if span_s:
            self.assertGreaterEqual(span_s, summary["makespan_s"])
        for row in csv.DictReader((results / "links.csv").read_text().splitlines()):
            utilization = int(row["bytes"]) * 8 / (int(row["rate_bps"]) * span_s) if span_s else 0
            self.assertAlmostEqual(float(row["mean_utilization"]), utilization, 9, which)
            self.assertLessEqual(utilization, 1, which)
        for row in csv.DictReader((results / "flows.csv").read_text().splitlines()):
            self.assertGreaterEqual(float(row["slowdown"]), 1, f"{row} {which}")

    def expect_ends_alike(self, make_scenario, count):
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(count):
                scenario = make_scenario(seed)
                self.outcome_on_threads(folder, seed, scenario, f"--fast-forward={scenario.fast_forward}")

    def test_they_end_alike_on_one_thread_and_two(self):
        self.expect_ends_alike(Scenario, SCENARIOS)

    def test_packets_go_the_same_ways_where_cables_fail(self):
        self.expect_ends_alike(PacketScenario, SCENARIOS)

    def test_options_of_packet_mode_lose_and_make_no_bytes(self):
        paused = balanced = 0
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(SCENARIOS):
                scenario = OptionsScenario(seed)
                outcome = self.outcome_on_threads(folder, seed, scenario, "--no-flow-comparison")
                if isinstance(outcome, str):
                    continue
                links = list(csv.DictReader(outcome[1].splitlines()))
                if any(int(link["drops"]) for link in links):
                    continue
                # What goes into a switch comes out of it, but for pause frames.
                balance = collections.Counter()
                for link in links:
                    balance[link["src"]] -= int(link["bytes"])
                    balance[link["dst"]] += int(link["bytes"])
                of_switches = [bytes_ for node, bytes_ in balance.items() if not node.startswith("host")]
                if any(float(link["pause_ns"]) for link in links) or scenario.has_slow_host:
                    paused += 1
                    self.assertFalse([bytes_ for bytes_ in of_switches if bytes_ % scenario.PAUSE_FRAME], f"seed {seed}: {scenario.lines}")
                else:
                    balanced += 1
                    self.assertFalse(any(of_switches), f"seed {seed}: {scenario.lines}")
        # Both kinds are among enough draws.
        if SCENARIOS >= 20:
            self.assertGreater(min(paused, balanced), SCENARIOS // 8)

    def test_jobs_in_flow_mode_alone_take_as_long_in_packet_mode(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "scenario.textproto"
            for seed in range(SCENARIOS // 2):
                lines = Scenario(seed).lines
                jobs = []
                for mode in ("FLOW", "PACKET"):
                    lines[0] = f"mode: {mode}"
                    if mode == "PACKET":
                        lines = [line if "mode: JOB" in line else line.replace("workload {", "mode: FLOW workload {") for line in lines]
                    path.write_text("\n".join(lines) + "\n")
                    results = pathlib.Path(folder) / "results"
                    done = subprocess.run([WEFT, "run", str(path), f"--out={results}"], capture_output=True, text=True, check=False, timeout=300)
                    self.assertEqual(done.returncode, 0, f"seed {seed}: {done.stderr}\n{path.read_text()}")
                    jobs.append((results / "jobs.csv").read_text())
                self.assertEqual(jobs[0], jobs[1], f"seed {seed}")


if __name__ == "__main__":
    count = int(sys.argv.pop())
    SCENARIOS = 1000 if os.environ.get("WEFT_LONG_TESTS") else count
    WEFT = sys.argv.pop()
    unittest.main()
