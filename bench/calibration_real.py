#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well weft calibrate predicts real collectives that it was not shown.

Usage: bench/calibration_real.py [--data=../shared/data] [--weft=build/weft] [--out=FOLDER] [--tables=NAME,...] [--threads=2]

Real tables of NCCL's times become what a user would have: a CSV of measured times, and a scenario with a job per number of ranks, which
runs all kinds and sizes one after the other on a preset of that machine. `weft calibrate --hold-out=0.5` fits a few parameters of
`weft modules nccl` to half of the sizes. The other half is what the tables printed are about, in Markdown:

  MAPE          mean absolute percentage error, of all sizes, and of 16 MB and more: with today's defaults, and fitted
  in order      share of pairs of times of which the simulation, too, has the longer one longer: with defaults, and fitted; and fitted, of
                16 MB and more
  smooth        the same share, of the best function that only grows with size, found from the held-out times themselves for each kind and
                number of ranks (isotonic regression of logarithms): what the measurements' own noise leaves
  again         the same share, of a second measurement of the same, where there is one: in place, or int8 instead of half
  misses        what is not below 5 % from 16 MB on or not above 0.99 in order

A second table has the parameters with their 95 % intervals. --out keeps all files: `weft calibrate` is given to run again by hand.

Tables:
  a100          all_reduce, 2 and 4 A100 on NVSwitches, 1 MiB to 1 GiB (vTrain)
  a100_mesh     all_reduce, 2 and 4 A100 cabled to each other, 42 MB to 2.4 GB (estimate-train-time, Perlmutter); some times are up to
                75 % off, so that outliers are dropped
  gh200         all_reduce, 2 and 4 hosts of one GH200 with NDR400, 42 MB to 2.4 GB (estimate-train-time, Vista)
  h100, gb200   all four kinds, 2 to 8 H100 or 2 and 4 GB200, NCCL 2.29.2, 512 B to 512 MiB (aiconfigurator); and h100_all_reduce,
                h100_all_gather, h100_reduce_scatter, h100_all_to_all, gb200_...: one kind by itself
Of sums, for which half and int8 differ, half counts (NVLS cannot add int8, for one); where something was measured twice, the shorter of
both, since what disturbs a measurement makes it longer. Searches look within ranges narrower than the parameters' own (RANGES).
Exit status 1 if a table misses.
"""

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

LARGE = 16_000_000
REDUCING = ("all_reduce", "reduce_scatter")
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
LL128 = "nccl.ll_base,nccl.ll128_base,nccl.ll128_hop,nccl.ll128_rate"
COPY = "nccl.copy_efficiency,nccl.own_copy_rate"
PAIRS = "nccl.p2p_ll_base,nccl.p2p_base,nccl.p2p_fill,nccl.p2p_fill_bytes,nccl.p2p_efficiency,nccl.p2p_own_copy_rate"
# On Hopper Simple takes time to fill and large all_reduces go by NVLS; on Blackwell steps hide behind data.
HOPPER = "nccl.simple_base,nccl.fill_latency,nccl.fill_bytes"
BLACKWELL = "nccl.simple_hop,nccl.simple_full_hop,nccl.full_step_bytes"
FIT = {
    "h100": {
        "all_reduce": f"{LL128},{HOPPER},nccl.reduce_efficiency,nccl.nvls_base,nccl.nvls_efficiency",
        "all_gather": f"{LL128},{HOPPER},{COPY}",
        "reduce_scatter": f"{LL128},{HOPPER},{COPY}",
        "all_to_all": PAIRS,
    },
    "gb200": {
        "all_reduce": f"{LL128},{BLACKWELL},nccl.reduce_efficiency",
        "all_gather": f"{LL128},{BLACKWELL},{COPY}",
        "reduce_scatter": f"{LL128},{BLACKWELL},{COPY}",
        "all_to_all": PAIRS,
    },
}


def lone_server(settings):
    return 'topology { builder: "lone_server" ' + settings + " }"


def setting(name, value):
    return f'set {{ name: "{name}" value: "{value}" }} '


# Where the search looks, narrower than the parameters' own ranges: with a base of 100 us a protocol is never taken, and one that others
# stand in for fits a few sizes as well.
RANGES = {
    "nccl.ll_base": "1us..30us",
    "nccl.ll128_base": "1us..30us",
    "nccl.ll128_hop": "0us..5us",
    "nccl.ll128_rate": "500Gbps..5Tbps",
    "nccl.simple_base": "1us..60us",
    "nccl.simple_hop": "0us..30us",
    "nccl.simple_full_hop": "0us..30us",
    "nccl.nvls_base": "5us..100us",
    "nccl.own_copy_rate": "1Tbps..100Tbps",
    "nccl.p2p_own_copy_rate": "1Tbps..100Tbps",
}


class Table:
    """Times of a machine by (kind, ranks) and size, and what is fitted to them."""

    def __init__(self, topology, fit, options=()):
        self.topology = topology
        self.fit = fit
        self.options = options  # of weft calibrate
        self.times = defaultdict(dict)  # (kind, ranks) -> size -> times in us, the one that counts first

    def add(self, kind, ranks, size, times_us):
        self.times[kind, ranks].setdefault(size, times_us)

    def rows(self):
        return [(kind, ranks, size, times) for (kind, ranks), by in sorted(self.times.items()) for size, times in sorted(by.items())]


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def a100(data, every):
    fit = "nccl.simple_base,nccl.simple_hop,nccl.simple_full_hop,nccl.fill_latency,nccl.fill_bytes,nccl.reduce_efficiency"
    table = Table(lone_server(setting("server", "hgx_a100")), fit)
    for ranks in (2, 4):
        # The columns are headed "ns" and hold microseconds times 1,000: out of place, then in place.
        for row in read_rows(data / f"kernels/vtrain/trace/a100_AR_GPU{ranks}_1M_1024M.csv")[1::every]:
            table.add("all_reduce", ranks, int(row[0]), [float(row[3]) / 1e3, float(row[5]) / 1e3])
    return table


def train_time(table, folder, names, every):
    """Tables of estimate-train-time, of fp16 elements."""
    for ranks, name in names:
        for size in ("", "_large"):
            for row in read_rows(folder / name.format(size))[1::every]:
                table.add("all_reduce", ranks, 2 * int(float(row[0])), [float(row[3])])
    return table


def a100_mesh(data, every):
    # Four A100 per node, every two joined by 4 of their 12 NVLinks.
    topology = lone_server(setting("gpus_per_host", 4) + setting("inside", "full_mesh") + setting("nvlink_rate", "2400Gbps"))
    table = Table(topology, "nccl.fill_latency,nccl.fill_bytes,nccl.reduce_efficiency", ["--outliers=drop"])
    names = [(ranks, f"NVIDIAA100-SXM4-80GB_allreduce{{}}_fp16_1_{ranks}.csv") for ranks in (2, 4)]
    return train_time(table, data / "kernels/estimate_train_time/Perlmutter/nccl", names, every)


def gh200(data, every):
    topology = 'topology { builder: "single_switch" ' + setting("server", "gh200") + setting("hosts", 4) + "}"
    table = Table(topology, "nccl.between_simple_base,nccl.fill_latency,nccl.network_efficiency")
    names = [(ranks, f"NVIDIAGH200120GB_allreduce{{}}_fp16_{ranks}_1.csv") for ranks in (2, 4)]
    return train_time(table, data / "kernels/estimate_train_time/Vista/nccl", names, every)


def nccl_perf(machine, server, file, kinds):
    def read(data, _):
        fit = ",".join(dict.fromkeys(",".join(FIT[machine][kind] for kind in kinds).split(",")))
        table = Table(lone_server(setting("server", server)), fit)
        found = defaultdict(dict)
        with open(data / "network/nccl_perf" / file, newline="") as lines:
            for row in csv.DictReader(lines):
                kind = row["collective"].replace("alltoall", "all_to_all")
                size = int(row["message_elements"]) * {"half": 2, "int8": 1}[row["dtype"]]
                if kind in kinds:
                    found[kind, int(row["gpus"]), size][row["dtype"]] = float(row["latency_ms"]) * 1e3
        for (kind, ranks, size), by_type in found.items():
            if len(by_type) == 2:
                table.add(kind, ranks, size, [by_type["half"]] if kind in REDUCING else [by_type["half"], by_type["int8"]])
        return table

    return read


TABLES = {"a100": a100, "a100_mesh": a100_mesh, "gh200": gh200}
for machine, preset, source in (("h100", "hgx_h100", "h100_sxm_nccl_2.29.2.csv"), ("gb200", "gb200_nvl72", "gb200_nccl_2.29.2.csv")):
    TABLES[machine] = nccl_perf(machine, preset, source, KINDS)
    for one_kind in KINDS:
        TABLES[f"{machine}_{one_kind}"] = nccl_perf(machine, preset, source, (one_kind,))


def write_inputs(table, folder):
    """measured.csv, and scenario.textproto with a job and a workload per number of ranks."""
    jobs = ""
    with open(folder / "measured.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "ranks", "size_bytes", "time_us"])
        for ranks in sorted({ranks for _, ranks in table.times}):
            text = f'ranks: {ranks}\nrole {{ name: "all"\n'
            before = ""
            for kind, members, size, times in table.rows():
                if members != ranks:
                    continue
                # Tables count the whole buffer; a workload what a rank brings, which of an all_gather is its share.
                own = size // ranks if kind == "all_gather" else size
                name = f"{kind}.{size}"
                text += f'  op {{ name: "{name}" collective {{ type: {kind.upper()} size: "{own}B" }}{before} }}\n'
                before = f' deps: "{name}"'
                writer.writerow([kind, ranks, own, f"{min(times):.9g}"])
            (folder / f"sweep_{ranks}.textproto").write_text(text + "}\n")
            jobs += f'job {{ name: "ranks_{ranks}" gpus: {ranks} workload {{ file: "sweep_{ranks}.textproto" }} }}\n'
    (folder / "scenario.textproto").write_text(table.topology + "\n" + jobs)


def calibrate(program, folder, table, options):
    names = (options.fit or table.fit).split(",")
    fit = ",".join(f"{name}={RANGES[name]}" if name in RANGES else name for name in names)
    command = [program, "calibrate", "--scenario=scenario.textproto", "--measured=measured.csv", "--hold-out=0.5", f"--fit={fit}",
               "--table=times.csv", "--out=profile.textproto", f"--threads={options.threads}", "--quiet", "--anew", "--json",
               *table.options, *options.calibrate]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"calibration_real.py: error: {' '.join(command)} in {folder} ended with status {done.returncode}\n{done.stderr}")
    (folder / "found.json").write_text(done.stdout)
    return json.loads(done.stdout)


def mean_error(times, measured):
    return sum(abs(time / real - 1) for time, real in zip(times, measured)) / len(measured) if measured else math.nan


def in_order(times, measured):
    """Share of pairs whose measured times differ; equal simulated ones count half."""
    right = pairs = 0
    for i, one in enumerate(measured):
        for j, other in enumerate(measured):
            if one < other:
                pairs += 1
                right += 1 if times[i] < times[j] else 0.5 if times[i] == times[j] else 0
    return right / pairs if pairs else math.nan


def isotonic(values):
    """The nearest values, by least squares, that never fall; equal ones are then told apart by their place."""
    blocks = []  # [mean, count]
    for value in values:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, count = blocks.pop()
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + mean * count) / (blocks[-1][1] + count), blocks[-1][1] + count]
    return [mean + 1e-12 * place for mean, count in blocks for place in range(count)]


class HeldOut:
    """Lines of a calibration's table that the search did not see."""

    def __init__(self, folder, table):
        with open(folder / "times.csv", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["part"] == "held_out"]
        self.measured = [float(row["measured_s"]) for row in rows]
        self.before = [float(row["before_s"]) for row in rows]
        self.after = [float(row["fitted_s"]) for row in rows]
        self.series = []
        self.large = []
        again = []
        for row in rows:
            kind = row["what"].split(",")[0]
            ranks = int(row["ranks"])
            size = int(row["size_bytes"]) * (ranks if kind == "all_gather" else 1)
            self.series.append((kind, ranks, size))
            self.large.append(size >= LARGE)
            again.append(table.times[kind, ranks][size])
        self.again = None
        if all(len(times) == 2 for times in again):
            self.again = in_order([times[1] for times in again], [times[0] for times in again])

    def of_large(self, times):
        return [time for time, is_large in zip(times, self.large) if is_large]

    def smooth(self):
        best = [0.0] * len(self.measured)
        for series in {key[:2] for key in self.series}:
            places = sorted((i for i, key in enumerate(self.series) if key[:2] == series), key=lambda i: self.series[i][2])
            for i, value in zip(places, isotonic([math.log(self.measured[i]) for i in places])):
                best[i] = value
        return in_order(best, self.measured)


def result_line(name, held, fitted):
    measured = held.measured
    before, after = (mean_error(held.of_large(times), held.of_large(measured)) for times in (held.before, held.after))
    order = in_order(held.after, measured)
    order_of_large = in_order(held.of_large(held.after), held.of_large(measured))
    checks = {"error >= 16 MB": after < 0.05, "order >= 16 MB": order_of_large > 0.99, "order of all": order > 0.99}
    misses = [text for text, is_met in checks.items() if not is_met]
    cells = [
        name, fitted, len(measured), f"{mean_error(held.before, measured):.1%}", f"{mean_error(held.after, measured):.1%}",
        sum(held.large), f"{before:.1%}", f"{after:.1%}", f"{in_order(held.before, measured):.4f}", f"{order:.4f}",
        f"{order_of_large:.4f}", f"{held.smooth():.4f}", "" if held.again is None else f"{held.again:.4f}", ", ".join(misses),
    ]  # fmt: skip
    return "| " + " | ".join(str(cell) for cell in cells) + " |", not misses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the real tables; default %(default)s")
    parser.add_argument("--weft", default="build/weft", help="the program; default %(default)s")
    parser.add_argument("--out", type=Path, help="folder to keep all files in; default: none are kept")
    parser.add_argument("--tables", default=",".join(TABLES), help="which; default: all")
    parser.add_argument("--every", type=int, default=8, help="of a100, a100_mesh and gh200, every so many lines; default %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="of each calibration; default %(default)s")
    parser.add_argument("--fit", help="fit these parameters instead, to every table")
    parser.add_argument("--calibrate", action="append", default=[], metavar="OPTION", help="one more option of weft calibrate")
    options = parser.parse_args()
    names = options.tables.split(",")
    if unknown := [name for name in names if name not in TABLES]:
        parser.error(f"there is no table {unknown[0]}; there are {', '.join(TABLES)}")
    if not options.data.is_dir():
        parser.error(f"there is no folder {options.data}; --data says where the tables are")
    program = str(Path(options.weft).resolve())

    is_good = True
    parameters = []
    print("| table | parameters | held out | MAPE, defaults | fitted | >= 16 MB | MAPE, defaults | fitted | in order, defaults | fitted "
          "| fitted, >= 16 MB | smooth | again | misses |\n|" + "---|" * 14, flush=True)  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            folder = (options.out or Path(scratch)) / name
            folder.mkdir(parents=True, exist_ok=True)
            table = TABLES[name](options.data, options.every)
            write_inputs(table, folder)
            found = calibrate(program, folder, table, options)
            line, is_met = result_line(name, HeldOut(folder, table), len(found["parameters"]))
            is_good = is_good and is_met
            print(line, flush=True)
            parameters += [(name, one) for one in found["parameters"]]
    print("\n| table | parameter | before | fitted | 95 % interval | |\n|" + "---|" * 6)
    for name, one in parameters:
        knowledge = "" if one["knowledge"] == "identified" else one["knowledge"]
        print(f"| {name} | {one['name']} | {one['before']} | {one['fitted']} | {one['low']} .. {one['high']} | {knowledge} |")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
