#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nights of a cluster that drifts: `weft calibrate --nightly` for ten months.

  nights_test.py WEFT months|kills [--nights-per-month=N] [--sizes=N]

A run with hidden values of three parameters is the machine, its times with 1 % of noise are what is measured. Each month
its times are 0.8 % of those at first longer. Checked by months:
  - whoever takes the published profile is never 2 % off on average;
  - the error of scenarios as they stand grows from month to month, and so does that of the first profile;
  - the alarm comes in the month in which the machine itself is further from the first than the threshold says;
  - a night whose measurements are broken changes nothing that was published, and says what is wrong.
By kills:
  - a night that is killed at any moment leaves the profile of before or the one that it would have published, whole, and
    the next attempt publishes that.
WEFT_LONG_TESTS makes 30 nights a month of messages of 13 sizes each, with searches to the default tolerance, and kills
searches at 12 moments; otherwise it is one night a month of 7 sizes, with a tolerance of 0.5 % of a parameter's range, and 4 moments.
"""

import argparse
import csv
import datetime
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MONTHS = 10
DRIFT = 0.008  # a month
THRESHOLD = 0.028
NOISE = 0.01

TOPOLOGY = 'builder: "fat_tree" set { name: "k" value: "4" }\n'
KINDS = ["ALL_TO_ALL", "ALL_GATHER"]
SIZE_MAX_LOG2_KB = 13
CONFIG = f"""case {{ scenario: "cluster.textproto" measured: "fct-{{date}}.csv" }}
fit: "flow.wqe_latency" fit: "flow.switching_delay" fit: "flow.network_efficiency"
profile: "profile.textproto"
history: "nights"
drift_max: {THRESHOLD}
"""


def fail(message):
    sys.exit(f"nights_test.py: {message}")


def mean_difference(times, of):
    return sum(abs(a[1] / b[1] - 1) for a, b in zip(times, of)) / len(of)


class Cluster:
    def __init__(self, weft, folder, sizes, tolerance):
        self.weft = weft
        # Two searches a night instead of nine.
        self.flags = ["--lambda=0", "--set=hill_climbing.restarts=1", f"--set=hill_climbing.tolerance={tolerance}"]
        self.slope = None
        self.folder = folder
        ops, before = [], ""
        for kind in KINDS:
            for size in (2 ** round(1 + i * (SIZE_MAX_LOG2_KB - 1) / (sizes - 1)) for i in range(sizes)):
                name = f"{kind}_{size}".lower()
                ops.append(f'  op {{ name: "{name}" collective {{ type: {kind} size: "{size}kB" }} {before}}}')
                before = f'deps: "{name}" '
        self.write("ops.textproto", 'ranks: 8\nrole { name: "all"\n' + "\n".join(ops) + "\n}\n")
        self.write("net.textproto", TOPOLOGY)
        self.write("cluster.textproto",
                   'topology { file: "net.textproto" }\n'
                   'job { name: "train" gpus: 8 workload { file: "ops.textproto" } }\n'
                   # Nothing but the network, so that all times drift alike.
                   'set { name: "collective.protocol" value: "ideal" }\n'
                   'set { name: "flow.receive_latency" value: "0ns" }\n'
                   'set { name: "flow.completion_latency" value: "0ns" }\n')
        self.write("nightly.textproto", CONFIG)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def times(self, factor):
        """Durations in us of the machine with parameters that are `factor` times as slow."""
        values = [f"flow.wqe_latency={2 * factor:.5f}us", f"flow.switching_delay={0.6 * factor:.5f}us",
                  f"flow.network_efficiency={0.95 / factor:.7f}"]
        subprocess.run([self.weft, "run", "cluster.textproto", "--out=machine", "--quiet"] + [f"--set={v}" for v in values],
                       cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        with open(self.folder / "machine" / "collectives.csv") as file:
            return [((r["job"], r["op"], r["iteration"]), float(r["duration_ns"]) / 1e3) for r in csv.DictReader(file)]

    def factor(self, month):
        """With which times are DRIFT longer a month, on average: light in fibres stays as fast as it is."""
        if self.slope is None:
            step = 1.04
            self.slope = mean_difference(self.times(step), self.times(1)) / (step - 1)
        return 1 + DRIFT * month / self.slope

    def measure(self, date, month):
        factor = self.factor(month)
        draw = random.Random(date)
        rows = ["job,op,iteration,duration_us"]
        rows += [",".join(key) + f",{time * (1 + draw.gauss(0, NOISE)):.4f}" for key, time in self.times(factor)]
        text = "\n".join(rows) + "\n"
        self.write(f"fct-{date}.csv", text)
        return text

    def command(self, date):
        return [self.weft, "calibrate", "--nightly=nightly.textproto", f"--night={date}", "--quiet"] + self.flags

    def night(self, date):
        return subprocess.run(self.command(date), cwd=self.folder, capture_output=True, text=True)

    def profile(self):
        return (self.folder / "profile.textproto").read_text()

    def nights(self):
        with open(self.folder / "nights" / "nights.csv") as file:
            return list(csv.DictReader(file))


def values_of(profile):
    """What the profile says but for when it was made."""
    return [line for line in profile.splitlines() if not line.startswith(("date:", "runs:"))]


def date_of(month, night=0):
    """Months of 30 days."""
    return str(datetime.date(2026, 1, 1) + datetime.timedelta(days=30 * month + night))


def check_months(cluster, nights_per_month):
    first = cluster.times(1)
    # Month and date: the machine itself, without noise, is beyond the threshold; the first alarm.
    due = alarm = None
    for month in range(MONTHS + 1):
        for night in range(nights_per_month if month < MONTHS else 1):
            date = date_of(month, night)
            months = month + night / nights_per_month
            if due is None and mean_difference(first, cluster.times(cluster.factor(months))) > THRESHOLD:
                due = (month, date)
            cluster.measure(date, months)
            done = cluster.night(date)
            if done.returncode not in (0, 1):
                fail(f"the night of {date} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
            if done.returncode == 1 and alarm is None:
                alarm = (month, date)
    nights = cluster.nights()
    worst = max(float(n["published_mape"]) for n in nights)
    print(f"{len(nights)} nights, {sum(n['status'] == 'published' for n in nights)} published")
    print("month  as scenarios stand  first profile  in force  drift  alarm")
    for month in range(MONTHS + 1):
        n = [n for n in nights if n["date"] == date_of(month)][0]
        share = lambda name: f"{100 * float(n[name]):.2f} %" if n[name] else "-"
        print(f"{month:5}  {share('uncalibrated_mape'):>18}  {share('reference_mape'):>13}  {share('published_mape'):>8}  "
              f"{share('drift'):>6}  {'yes' if n['alarm'] == '1' else ''}".rstrip())
    if worst >= 0.02:
        fail(f"a published profile is {worst} off")
    for name in ("uncalibrated_mape", "reference_mape"):
        curve = [float(n[name]) for n in nights if n[name]]
        if not curve[-1] > curve[0] + 0.5 * DRIFT * MONTHS:
            fail(f"{name} does not show the drift: {curve}")
    says = f"the machine passed {100 * THRESHOLD:g} % in month {due[0]}, {due[1]}; first alarm: {alarm[1] if alarm else 'none'}"
    if not alarm or alarm[0] != due[0]:
        fail(says)
    print(says)


def check_broken_nights(cluster, date):
    good = cluster.measure(date, MONTHS)
    lines = good.splitlines()
    header, rows = lines[0], lines[1:]
    cells = [row.split(",") for row in rows]
    table = lambda changed: "\n".join([header] + [",".join(c) for c in changed]) + "\n"
    broken = {
        "missing column": "\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n",
        "NaN": table([c[:3] + ["NaN" if i % 10 == 0 else c[3]] for i, c in enumerate(cells)]),
        "negative times": table([c[:3] + ["-" + c[3] if i % 10 == 0 else c[3]] for i, c in enumerate(cells)]),
        "half the file": good[:len(good) // 2],
        "half the rows": table(cells[:len(cells) // 2]),
        "units swapped": good.replace("duration_us", "duration_ms"),
        "units swapped in some rows": table([c[:3] + [f"{float(c[3]) * 1000}" if i % 10 == 0 else c[3]] for i, c in enumerate(cells)]),
        "other jobs": good.replace("train,", "serve,"),
        "nothing": "",
    }
    before = cluster.profile()
    reference = (cluster.folder / "nights" / "reference.textproto").read_text()
    for what, text in broken.items():
        cluster.write(f"fct-{date}.csv", text)
        done = cluster.night(date)
        if done.returncode != 2 or "refused" not in done.stdout:
            fail(f"{what}: the night ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        if cluster.profile() != before or (cluster.folder / "nights" / "reference.textproto").read_text() != reference:
            fail(f"{what}: something was published")
        reasons = [line.strip() for line in done.stdout.split("refused\n")[1].splitlines()]
        print(f"{what}: {'; '.join(reasons)}")


def wait_for(path, process):
    """Until there is such a file, or the process has ended."""
    while process.poll() is None and not path.exists():
        time.sleep(0.0002)


def check_kills(cluster, search_moments):
    first, date = date_of(0), date_of(MONTHS)
    cluster.measure(first, 0)
    if cluster.night(first).returncode != 0:
        fail("the first night failed")
    cluster.measure(date, MONTHS)
    night = cluster.folder / "nights" / date
    old = cluster.profile()
    start = time.monotonic()
    done = cluster.night(date)
    took = time.monotonic() - start
    new = cluster.profile()
    if done.returncode != 1 or values_of(new) == values_of(old):
        fail(f"the night of {date} published nothing:\n{done.stdout}{done.stderr}")
    # While it searches, and when it writes: each file as it is begun or done.
    moments = [took * (i + 0.5) / search_moments for i in range(search_moments)]
    moments += [night / "times.csv.partial", night / "times.csv", night / "profile.textproto",
                cluster.folder / "profile.textproto.partial", night / "night.json.partial", night / "night.json",
                cluster.folder / "nights" / "nights.csv.partial", cluster.folder / "nights" / "parameters.csv.partial"]
    left = {"old": 0, "new": 0}
    for number, moment in enumerate(moments):
        cluster.write("profile.textproto", old)
        shutil.rmtree(night, ignore_errors=True)
        for rest in cluster.folder.glob("**/*.partial"):
            rest.unlink()
        process = subprocess.Popen(cluster.command(date), cwd=cluster.folder, stdout=subprocess.DEVNULL)
        if isinstance(moment, float):
            time.sleep(moment)
        else:
            wait_for(moment, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        values = values_of(cluster.profile())
        if values not in (values_of(old), values_of(new)):
            fail(f"killed at {moment}, the profile is neither the old nor the new one")
        left["old" if values == values_of(old) else "new"] += 1
        if number % 5 != 0:
            continue
        again = cluster.night(date)
        if again.returncode != 1:
            fail(f"the night after a kill ended with {again.returncode}:\n{again.stdout}{again.stderr}")
        if values == values_of(old) and values_of(cluster.profile()) != values_of(new):
            fail("the night after a kill published something else")
    print(f"killed at {len(moments)} moments: {left['old']} left the old profile, {left['new']} the new one")
    if 0 in left.values():
        fail("no kill came before, or none after the profile was published")


def main():
    is_long = bool(os.environ.get("WEFT_LONG_TESTS"))
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("weft")
    arguments.add_argument("part", choices=["months", "kills"])
    arguments.add_argument("--nights-per-month", type=int, default=30 if is_long else 1)
    arguments.add_argument("--sizes", type=int, default=13 if is_long else 7)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="weft_nights_") as folder:
        # Noise of 1 % tells parameters no better than to some thousandths of their ranges.
        cluster = Cluster(os.path.abspath(options.weft), pathlib.Path(folder), options.sizes, 0.0001 if is_long else 0.005)
        if options.part == "months":
            check_months(cluster, options.nights_per_month)
            check_broken_nights(cluster, "2026-12-01")
        else:
            check_kills(cluster, 12 if is_long else 4)


if __name__ == "__main__":
    main()
