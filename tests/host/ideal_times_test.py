#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packet mode: no transfer is faster than its ideal time says, and alone in the network it takes just that."""

import csv
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

WEFT = "weft"
SCENARIOS = 0
TICK_NS = 0.01
LINKS_MAX = 6  # host, leaf, aggregation, spine, aggregation, leaf, host
HOSTS = 16  # of a fat tree of k = 4
APART_NS = 1_000_000_000  # until the slowest of transfers is over


class IdealTimes(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def weft(self, *arguments):
        done = subprocess.run([WEFT, *arguments], cwd=self.folder, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def transfers(self, draw, settings, gap_ns):
        """Rows of flows.csv for some transfers, each so long after the one before it."""
        # Ticks are 10 ps: at 400, 100 and 25 Gb/s a byte is a whole number of them, at the others
        # it is not.
        nic, fabric = draw.choice(
            [("400Gbps", "400Gbps"), ("100Gbps", "400Gbps"), ("25Gbps", "100Gbps"), ("37Gbps", "37Gbps"), ("97Gbps", "41Gbps"), ("3Gbps", "7Gbps")]
        )
        self.weft("topology", "build", "fat_tree", "--set=k=4", f"--set=nic_rate={nic}", f"--set=fabric_rate={fabric}", "--out=net.txt:hpcc")
        count = draw.randrange(1, 12)
        lines = [str(count)]
        start_ns = 0
        for _ in range(count):
            source, destination = draw.sample(range(HOSTS), 2)
            lines.append(f"{source} {destination} 3 100 {int(10 ** draw.uniform(0, 6.3))} {start_ns / 1e9:.11f}")
            start_ns += gap_ns()
        (self.folder / "flows.txt").write_text("\n".join(lines) + "\n")
        settings = {"flow.mtu": draw.choice(["1024B", "1500B", "4096B", "9000B"]), "flow.network_efficiency": draw.choice(["1", "0.97", "0.93"]),
                    "packet.pacing": draw.choice(["way", "card"]), **settings}
        if draw.random() < 0.3:
            settings["flow.queue_pair_rate_max"] = "13Gbps"
        arguments = ["run", "--mode=packet", "--topology=net.txt:hpcc", "--flows=flows.txt:hpcc", "--no-flow-comparison", "--out=results"]
        self.weft(*arguments, *[f"--set={name}={value}" for name, value in settings.items()])
        rows = list(csv.DictReader((self.folder / "results" / "flows.csv").read_text().splitlines()))
        self.assertEqual(len(rows), count)
        return [(float(row["fct_ns"]), float(row["ideal_fct_ns"]), f"{row} {nic} {fabric} {settings}") for row in rows]

    def test_nothing_is_faster(self):
        for seed in range(SCENARIOS):
            draw = random.Random(seed)
            settings = {"flow.routing": draw.choice(["ecmp", "spray", "adaptive"]), "flow.queue_pairs": draw.choice(["1", "2", "4"]),
                        "packet.congestion_control": draw.choice(["dcqcn", "dctcp", "swift", "none"])}
            for fct_ns, ideal_ns, which in self.transfers(draw, settings, lambda: draw.choice([0, 0, draw.randrange(1000), draw.randrange(100_000)])):
                self.assertGreaterEqual(fct_ns, ideal_ns, f"seed {seed}: {which}")

    def test_nothing_is_faster_over_ways_that_differ(self):
        # Two leafs with a host each, and three spines of different speeds and distances between
        # them.
        lines = ["7 5 8", "2 3 4 5 6", "0 2 400Gbps 0.001ms 0", "1 3 400Gbps 0.001ms 0"]
        for spine, (rate, delay) in enumerate([("400Gbps", "0.02ms"), ("100Gbps", "0.001ms"), ("10Gbps", "0.0005ms")], 4):
            lines += [f"2 {spine} {rate} {delay} 0", f"3 {spine} {rate} {delay} 0"]
        (self.folder / "net.txt").write_text("\n".join(lines) + "\n")
        sizes = [1, 1000, 4096, 4097, 8193, 100_000, 1_000_000]
        flows = [f"{i % 2} {1 - i % 2} 3 100 {size} {i / 100:.2f}" for i, size in enumerate(size for size in sizes for _ in range(8))]
        (self.folder / "flows.txt").write_text(f"{len(flows)}\n" + "\n".join(flows) + "\n")
        for routing in ("spray", "adaptive", "ecmp"):
            arguments = ["--mode=packet", "--topology=net.txt:hpcc", "--flows=flows.txt:hpcc", "--no-flow-comparison", "--out=results"]
            self.weft("run", *arguments, f"--set=flow.routing={routing}", "--set=packet.congestion_control=none")
            for row in csv.DictReader((self.folder / "results" / "flows.csv").read_text().splitlines()):
                self.assertGreaterEqual(float(row["slowdown"]), 1, f"{routing}: {row}")

    def test_alone_it_is_exact(self):
        for seed in range(SCENARIOS):
            draw = random.Random(seed)
            settings = {"flow.routing": "ecmp", "flow.queue_pairs": "1", "packet.congestion_control": "none"}
            for fct_ns, ideal_ns, which in self.transfers(draw, settings, lambda: APART_NS):
                self.assertGreaterEqual(fct_ns, ideal_ns, f"seed {seed}: {which}")
                # Each link rounds up; the ideal rounds down, and at one link the first packet, the
                # last and those between them apart.
                self.assertLess(fct_ns, ideal_ns + TICK_NS * (2 * LINKS_MAX + 2.5), f"seed {seed}: {which}")


if __name__ == "__main__":
    count = int(sys.argv.pop())
    SCENARIOS = 1000 if os.environ.get("WEFT_LONG_TESTS") else count
    WEFT = sys.argv.pop()
    unittest.main()
