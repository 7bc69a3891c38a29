#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How close flow mode comes to packet mode and to ns-3 once it is calibrated to them.

Usage: bench/calibration_production.py [--weft=build/weft] [--ns3=build/bench/ns3_flows] [--out=FOLDER] [--jobs=2]

Another simulator stands for a production cluster. 20 scenarios, in which jobs of 8 to 256 GPUs share fabrics of three kinds, run there;
`weft calibrate --cases` fits flow mode to the flow completion times of every second scenario, all together, and the others are held
out. Productions:
  packet        packet mode as it is
  packet, slow  packet mode with latencies, headers and an efficiency that the calibration is not told
  ns-3          what flows between hosts in the first, at the same times, through ns3_flows (with --ns3): TCP with DCTCP, 350 ns per
                switch, 2.4 us per host and 42 B of headers, none of which the calibration is told. Flow mode gets the same list of
                flows, each a connection by itself as there.
Each is fitted without the ordering constraint (--lambda=0) and with it (--lambda=auto). Prints, as Markdown and with a CSV file each in
the folder:
  errors.csv        mean absolute percentage error (MAPE) and pairs in order before and after, training and held out
  parameters.csv    what was found for each parameter, and what production has
  by_size.csv       MAPE by size of message (figure 5 of the paper), of flows, and of collectives, which no fit was shown
  by_job_size.csv   MAPE by size of job (figure 6), of flows, and of iterations, which no fit was shown
  by_host.csv       mean error of each sending host: the CDF of figure 7
  by_scenario.csv   MAPE of each scenario
Errors by size, job and host are those of held-out scenarios. Before is flow mode with its defaults; after, with what was fitted.
"""

import argparse
import collections
import csv
import json
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FIT = ["flow.wqe_latency", "flow.switching_delay", "flow.extra_header", "flow.network_efficiency"]
LAMBDAS = {"off": "0", "on": "auto"}
# One climb, to a thousandth of the ranges: 20 ns and 0.07 % here.
SEARCH = ["--set=hill_climbing.restarts=0", "--set=hill_climbing.tolerance=0.001"]
SLOW = {"flow.wqe_latency": "2.3us", "flow.switching_delay": "800ns", "flow.extra_header": "50B", "flow.network_efficiency": "0.93"}
NS3_HOST_LATENCY = "2.4us"
NS3_SWITCHING_DELAY = "350ns"
NS3_TRUTH = {
    "flow.wqe_latency": "1.9us",  # with receive_latency's 500 ns what a host takes there
    "flow.switching_delay": NS3_SWITCHING_DELAY,
    "flow.extra_header": "42B",
    "flow.network_efficiency": "1 less acknowledgements",
}
# Flows of the ns-3 production are told apart by their ends alone: so both sides hash the same paths.
NS3_SETTINGS = {"flow.source_ports": "1", "flow.protocol": "none"}
KEY = ["job", "op", "iteration", "communicator", "src", "dst", "size_bytes"]
COLLECTIVE_KEY = ["job", "iteration", "op", "communicator", "group"]
PERCENTILES = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]

# --- Scenarios ------------------------------------------------------------------------------------


def fat_tree(k):
    """Hosts of one GPU with 100 Gb/s each, as packet simulators are compared on."""
    return "fat_tree", {"k": k, "nic_rate": "100Gbps", "fabric_rate": "100Gbps"}


def rails(hosts, group, spines):
    """Hosts of 8 H100 with 400 Gb/s each, a leaf per rail and group."""
    return "rail_optimized", {"hosts": hosts, "hosts_per_leaf_group": group, "spines": spines}


def leaf_spine(hosts, per_leaf, spines):
    """Hosts of 8 H100 with 400 Gb/s each, all of them at one leaf."""
    tier = {"hosts_per_leaf": per_leaf, "leafs_per_pod": hosts // per_leaf, "aggs_per_pod": spines, "spines": 0}
    return "clos", {"hosts": hosts, "nics_per_host": 8, **tier}


def collective(kind, ranks, size, count=2, gap="20us"):
    return "collectives", {"collective": kind, "ranks": ranks, "size": size, "count": count, "gap": gap}


def data_parallel(ranks, parameters, buckets):
    times = {"forward_time": "100us", "backward_time": "200us", "optimizer_time": "20us"}
    return "data_parallel", {"ranks": ranks, "parameters": parameters, "buckets": buckets, **times}


def transformer(template, tp, pp, dp, layers=2, **more):
    shape = {"layers": layers, "hidden": 1024, "heads": 16, "ffn": 4096, "seq": 512, "vocab": 8192, "microbatches": 2}
    return template, {"tp": tp, "pp": pp, "dp": dp, **shape, "optimizer_time": "20us", **more}


# Name, topology, placement, jobs. Neighbours are of one kind: the first is fitted to, the second
# held out.
SCENARIOS = [
    ("tree16_reduce", fat_tree(4), "first_fit", [collective("all_reduce", 8, "4MiB"), collective("all_reduce", 8, "1MiB", 4)]),
    ("tree16_mix", fat_tree(4), "spread", [collective("all_to_all", 8, "1MiB"), collective("all_gather", 8, "256KiB", 4)]),
    ("tree128_mix", fat_tree(8), "spread",
     [collective("all_reduce", 32, "1MiB"), collective("all_to_all", 32, "1MiB"), collective("all_gather", 16, "128KiB"),
      collective("all_reduce", 8, "8MiB")]),
    ("tree128_apart", fat_tree(8), "first_fit",
     [collective("all_reduce", 64, "2MiB", 1), collective("all_to_all", 32, "2MiB", 1), collective("all_reduce", 16, "4MiB"),
      collective("reduce_scatter", 8, "2MiB")]),
    ("tree128_training", fat_tree(8), "spread", [data_parallel(32, 500000, 2), transformer("llm", 2, 2, 8, hidden=256, ffn=1024), collective("all_to_all", 16, "4MiB", 1)]),
    ("tree128_experts", fat_tree(8), "spread", [transformer("moe", 1, 2, 8, ep=8, hidden=256, ffn=1024), data_parallel(64, 500000, 2), collective("all_gather", 8, "1MiB")]),
    ("rail64_reduce", rails(8, 4, 4), "first_fit", [collective("all_reduce", 32, "16MiB"), collective("all_reduce", 32, "2MiB", 4)]),
    ("rail64_mix", rails(8, 4, 4), "spread", [collective("all_reduce", 32, "8MiB"), collective("all_gather", 32, "256KiB")]),
    ("rail64_exchange", rails(8, 4, 4), "first_fit", [collective("all_to_all", 32, "4MiB", 1), collective("all_to_all", 32, "1MiB")]),
    ("rail64_exchange_spread", rails(8, 4, 4), "spread", [collective("all_to_all", 32, "2MiB", 1), collective("all_reduce", 16, "8MiB")]),
    ("rail128_mix", rails(16, 4, 4), "first_fit",
     [collective("all_reduce", 64, "8MiB"), collective("all_reduce", 32, "8MiB"), collective("all_gather", 16, "1MiB")]),
    ("rail128_spread", rails(16, 4, 4), "spread",
     [collective("all_reduce", 64, "16MiB", 1), collective("all_to_all", 16, "4MiB"), collective("all_gather", 16, "256KiB", 1)]),
    ("rail64_llm", rails(8, 4, 2), "first_fit", [transformer("llm", 8, 2, 2), transformer("llm", 4, 2, 4)]),
    ("rail64_moe", rails(8, 4, 2), "first_fit", [transformer("moe", 2, 2, 8, ep=8), data_parallel(32, 4000000, 4)]),
    ("leaf64_mix", leaf_spine(8, 2, 8), "first_fit", [collective("all_reduce", 32, "16MiB", 1), collective("all_to_all", 32, "1MiB")]),
    ("leaf64_spread", leaf_spine(8, 2, 8), "spread", [collective("all_reduce", 32, "8MiB", 1), collective("all_to_all", 16, "4MiB"), collective("all_reduce", 16, "4MiB")]),
    ("leaf128_training", leaf_spine(16, 2, 8), "first_fit", [transformer("llm", 8, 2, 2), data_parallel(64, 2000000, 2)]),
    ("leaf128_mix", leaf_spine(16, 2, 8), "spread", [collective("all_reduce", 64, "8MiB", 1), data_parallel(32, 1000000, 2), collective("all_gather", 16, "512KiB", 1)]),
    ("rail256_reduce", rails(32, 8, 8), "first_fit", [collective("all_reduce", 256, "16MiB", 1)]),
    ("rail256_two", rails(32, 8, 8), "first_fit", [collective("all_reduce", 128, "16MiB", 1), collective("all_reduce", 64, "8MiB", 1)]),
]  # fmt: skip


HELD_OUT = {scenario[0] for scenario in SCENARIOS[1::2]}


def is_held_out(name):
    return name in HELD_OUT


def settings_text(values):
    return " ".join(f'set {{ name: "{name}" value: "{value}" }}' for name, value in values.items())


def write_scenario(folder, name, topology, placement, jobs):
    builder, values = topology
    weft(folder, "topology", "build", builder, *[f"--set={key}={value}" for key, value in values.items()], f"--out={name}.net.textproto")
    lines = [f'topology {{ file: "{name}.net.textproto" }}', f'scheduler {{ placement: "{placement}" }}']
    for number, (template, parameters) in enumerate(jobs):
        lines.append(f'job {{ name: "{number}" workload {{ template: "{template}" {settings_text(parameters)} }} }}')
    (folder / f"{name}.textproto").write_text("\n".join(lines) + "\n")


# --- Runs -----------------------------------------------------------------------------------------


def call(folder, program, *arguments):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(arguments)} ended with status {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    return done.stdout


def weft(folder, *arguments):
    return call(folder, OPTIONS.weft, *arguments)


def simulate(folder, scenario, out, *more):
    weft(folder, "run", f"{scenario}.textproto", "--quiet", "--flows-csv=whole", f"--out={out}", *more)


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path, columns, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def host_of(endpoint):
    return endpoint.split("/")[0]


def flows_between_hosts(folder):
    rows = [row for row in read_rows(folder / "flows.csv") if host_of(row["src"]) != host_of(row["dst"])]
    return sorted(rows, key=lambda row: (float(row["start_ns"]), int(row["flow_id"])))


def drawn(rows, key, seed):
    """At most --flows rows, whole groups of those that agree in the key, so that simulated ones are paired as measured."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[tuple(row[column] for column in key)].append(row)
    order = sorted(groups)
    random.Random(seed).shuffle(order)
    taken = []
    for group in order:
        if len(taken) >= OPTIONS.flows:
            break
        taken += groups[group]
    return taken


def measure_packet(folder, name, settings):
    """Packet mode as production: its folder has the scenario's measured times."""
    simulate(folder, name, f"{name}.run", "--mode=packet", *[f"--set={key}={value}" for key, value in settings.items()])
    rows = flows_between_hosts(folder / f"{name}.run")
    write_rows(folder / f"{name}.csv", [*KEY, "start_ns", "fct_ns"], drawn(rows, KEY, name))


def node_numbers(path):
    """Numbers of nodes by name: the order in which the topology file lists them."""
    names = re.findall(r'"([^"]+)"', "\n".join(line for line in path.read_text().splitlines() if line.startswith("host ")))
    return {name: number for number, name in enumerate(names)}


def measure_ns3(folder, name, packet_folder):
    """What flows between hosts in packet mode, through ns-3; flow mode gets the same list."""
    (folder / f"{name}.net.textproto").write_text((packet_folder / f"{name}.net.textproto").read_text())
    flows = flows_between_hosts(packet_folder / f"{name}.run")
    numbers = node_numbers(folder / f"{name}.net.textproto")
    lines = [str(len(flows))]
    lines += [f"{numbers[row['src']]} {numbers[row['dst']]} 3 100 {row['size_bytes']} {float(row['start_ns']) / 1e9:.11f}" for row in flows]
    (folder / f"{name}.flows").write_text("\n".join(lines) + "\n")
    ports = [f"--source-ports={NS3_SETTINGS['flow.source_ports']}"]
    delays = [f"--host-latency={NS3_HOST_LATENCY}", f"--switching-delay={NS3_SWITCHING_DELAY}"]
    call(folder, OPTIONS.ns3, f"--topology={name}.net.textproto", f"--flows={name}.flows", f"--out={name}.fct.csv", *ports, *delays)
    measured = []
    for number, (row, fct) in enumerate(zip(flows, read_rows(folder / f"{name}.fct.csv"), strict=True)):
        assert (row["src"], row["dst"], row["size_bytes"]) == (fct["src"], fct["dst"], fct["size_bytes"])
        measured.append({"input_row": number, "src": row["src"], "dst": row["dst"], "size_bytes": row["size_bytes"],
                         "of_job": row["job"], "fct_us": fct["fct_us"]})  # fmt: skip
    write_rows(folder / f"{name}.csv", ["input_row", "src", "dst", "size_bytes", "fct_us", "of_job"], drawn(measured, ["input_row"], name))


def calibrate(folder, is_constrained, settings):
    """Returns what was found, and a row per measured flow: error before and after, and what it is an error of."""
    name = "lambda_" + is_constrained
    found = json.loads(
        weft(folder, "calibrate", "--cases=cases.textproto", f"--fit={','.join(FIT)}", f"--lambda={LAMBDAS[is_constrained]}", "--quiet",
             "--anew", "--json", f"--out={name}.profile.textproto", f"--table={name}.csv", *SEARCH, *settings, *OPTIONS.calibrate)
    )  # fmt: skip
    rows = []
    lines = {}
    for row in read_rows(folder / f"{name}.csv"):
        case = row["case"]
        if case not in lines:
            lines[case] = read_rows(folder / f"{case}.csv")
        if not row["before_s"] or not row["fitted_s"]:
            continue
        measured = lines[case][int(row["line"]) - 2]
        one = {"scenario": case, "host": host_of(measured["src"]), "size_bytes": int(row["size_bytes"]), "is_held_out": is_held_out(case)}
        one["ranks"] = ranks_of(case, measured.get("of_job", measured.get("job")))
        one |= {when: float(row[f"{when}_s"]) for when in ("measured", "before", "fitted")}
        rows.append(one)
    return found, rows


def ranks_of(scenario, job):
    parameters = next(jobs for name, _, _, jobs in SCENARIOS if name == scenario)[int(job)][1]
    return parameters.get("ranks") or parameters["tp"] * parameters["pp"] * parameters["dp"]


def not_fitted(folder, profiles):
    """Errors of collectives and iterations, which no fit was shown, on the held-out scenarios: a row per time and profile."""
    rows = []
    for name, *_ in SCENARIOS:
        if not is_held_out(name):
            continue
        for kind, key, column in [("collectives", COLLECTIVE_KEY, "duration_ns"), ("iterations", ["job", "iteration"], "duration_s")]:
            times = {tuple(row[k] for k in key): row for row in read_rows(folder / f"{name}.run" / f"{kind}.csv")}
            for when, profile in profiles.items():
                simulated = read_rows(folder / f"{name}.{profile or 'before'}.run" / f"{kind}.csv")
                for row in simulated:
                    measured = times[tuple(row[k] for k in key)]
                    if float(measured[column]) == 0:
                        continue
                    rows.append({"of": kind, "when": when, "ranks": ranks_of(name, row["job"]), "size_bytes": int(row.get("size_bytes") or 0),
                                 "error": abs(float(row[column]) / float(measured[column]) - 1)})  # fmt: skip
    return rows


# --- Figures --------------------------------------------------------------------------------------


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def mape(rows, when):
    return mean(abs(row[when] / row["measured"] - 1) for row in rows)


def bias(rows, when):
    return mean(row[when] / row["measured"] - 1 for row in rows)


def pairs_in_order(rows, when):
    """Share of pairs of measured times of which the simulation, too, has the longer one longer; of equal ones half."""
    ranks = {value: rank for rank, value in enumerate(sorted({row[when] for row in rows}), 1)}
    counts = [0] * (len(ranks) + 1)

    def up_to(rank):
        total = 0
        while rank > 0:
            total += counts[rank]
            rank -= rank & -rank
        return total

    by_measured = collections.defaultdict(list)
    for row in rows:
        by_measured[row["measured"]].append(ranks[row[when]])
    in_order, pairs, before = 0.0, 0, 0
    for measured in sorted(by_measured):
        for rank in by_measured[measured]:
            in_order += (up_to(rank - 1) + up_to(rank)) / 2
        pairs += before * len(by_measured[measured])
        before += len(by_measured[measured])
        for rank in by_measured[measured]:
            while rank < len(counts):
                counts[rank] += 1
                rank += rank & -rank
    return in_order / pairs if pairs else 1.0


def size_class(size):
    limit = 4096
    while limit < size:
        limit *= 4
    return limit


def size_text(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def percent(value):
    return "-" if value != value else f"{value:.2%}".replace("%", " %")


class Report:
    """Tables on stdout as Markdown, and as CSV files in the folder."""

    def __init__(self, folder):
        self.folder = folder
        self.rows = collections.defaultdict(list)

    def add(self, file, **row):
        self.rows[file].append(row)

    def write(self, file, title):
        rows = self.rows[file]
        if not rows:
            return
        columns = list(rows[0])
        write_rows(self.folder / f"{file}.csv", columns, rows)
        print(f"\n{title}\n\n| {' | '.join(column.replace('_', ' ') for column in columns)} |\n|{'---|' * len(columns)}")
        for row in rows:
            print("| " + " | ".join(percent(value) if isinstance(value, float) else str(value) for value in row.values()) + " |")


def report_production(report, production, truth, fits, unseen):
    rows = {constraint: rows for constraint, (_, rows) in fits.items()}
    for constraint, (found, all_rows) in fits.items():
        for part in ("training", "held out"):
            some = [row for row in all_rows if row["is_held_out"] == (part == "held out")]
            report.add("errors", production=production, ordering_constraint=constraint, part=part, flows=len(some),
                       MAPE_before=mape(some, "before"), MAPE_after=mape(some, "fitted"), bias_before=bias(some, "before"),
                       bias_after=bias(some, "fitted"), in_order_before=pairs_in_order(some, "before"),
                       in_order_after=pairs_in_order(some, "fitted"))  # fmt: skip
        for one in found["parameters"]:
            report.add("parameters", production=production, ordering_constraint=constraint, parameter=one["name"], before=one["before"],
                       fitted=one["fitted"], interval=f"{one['low']} .. {one['high']}", knowledge=one["knowledge"],
                       production_has=truth[one["name"]])  # fmt: skip
    held_out = {constraint: [row for row in some if row["is_held_out"]] for constraint, some in rows.items()}

    def add(file, of, column, group, text):
        for value in sorted({group(row) for row in held_out["off"]}):
            some = {constraint: [row for row in part if group(row) == value] for constraint, part in held_out.items()}
            report.add(file, production=production, of=of, **{column: text(value)}, times=len(some["off"]), before=mape(some["off"], "before"),
                       after_off=mape(some["off"], "fitted"), after_on=mape(some["on"], "fitted"))  # fmt: skip

    def add_unseen(file, of, column, group, text):
        of_kind = [row for row in unseen if row["of"] == of]
        for value in sorted({group(row) for row in of_kind}):
            some = {when: [row["error"] for row in of_kind if row["when"] == when and group(row) == value] for when in ("before", "off", "on")}
            report.add(file, production=production, of=of, **{column: text(value)}, times=len(some["off"]), before=mean(some["before"]),
                       after_off=mean(some["off"]), after_on=mean(some["on"]))  # fmt: skip

    add("by_size", "flows", "up_to", lambda row: size_class(row["size_bytes"]), size_text)
    add_unseen("by_size", "collectives", "up_to", lambda row: size_class(row["size_bytes"]), size_text)
    add("by_job_size", "flows", "GPUs", lambda row: row["ranks"], str)
    add_unseen("by_job_size", "iterations", "GPUs", lambda row: row["ranks"], str)
    for name, *_ in SCENARIOS:
        some = {constraint: [row for row in part if row["scenario"] == name] for constraint, part in rows.items()}
        report.add("by_scenario", production=production, scenario=name, part="held out" if is_held_out(name) else "training",
                   flows=len(some["off"]), before=mape(some["off"], "before"), after_off=mape(some["off"], "fitted"),
                   after_on=mape(some["on"], "fitted"))  # fmt: skip
    errors = {}
    for column, constraint, when in (("before", "off", "before"), ("after_off", "off", "fitted"), ("after_on", "on", "fitted")):
        by_host = collections.defaultdict(list)
        for row in held_out[constraint]:
            by_host[row["scenario"], row["host"]].append(row)
        errors[column] = sorted(mape(some, when) for some in by_host.values())
    for number, values in enumerate(zip(*errors.values(), strict=True), 1):
        report.add("by_host_cdf", production=production, share_of_hosts=number / len(errors["before"]), **dict(zip(errors, values, strict=True)))
    for share in PERCENTILES:
        place = max(0, -(-share * len(errors["before"]) // 100) - 1)
        report.add("by_host", production=production, hosts=f"{share} %", **{column: values[place] for column, values in errors.items()})


# --- The experiment -------------------------------------------------------------------------------


def in_parallel(jobs):
    """Calls without arguments, --jobs at a time; their results in order."""
    with ThreadPoolExecutor(OPTIONS.jobs) as pool:
        return [future.result() for future in [pool.submit(job) for job in jobs]]


def fit(folder, inputs_of, settings=()):
    """`inputs_of`: what a case of that name simulates."""
    cases = [f'case {{ name: "{name}" {inputs_of(name)} measured: "{name}.csv"{" held_out: true" if is_held_out(name) else ""} }}'
             for name, *_ in SCENARIOS]  # fmt: skip
    (folder / "cases.textproto").write_text("\n".join(cases) + "\n")
    results = in_parallel([lambda constraint=constraint: calibrate(folder, constraint, settings) for constraint in LAMBDAS])
    return dict(zip(LAMBDAS, results, strict=True))


def run_packet(report, folder, production, settings):
    folder.mkdir(parents=True, exist_ok=True)

    def measure(scenario):
        write_scenario(folder, *scenario)
        measure_packet(folder, scenario[0], settings)

    in_parallel([lambda scenario=scenario: measure(scenario) for scenario in SCENARIOS])
    fits = fit(folder, lambda name: f'scenario: "{name}.textproto"')
    profiles = {"before": None, "off": "lambda_off", "on": "lambda_on"}
    runs = [(name, profile) for name, *_ in SCENARIOS if is_held_out(name) for profile in profiles.values()]
    in_parallel([lambda name=name, profile=profile: simulate(folder, name, f"{name}.{profile or 'before'}.run", "--mode=flow",
                                                             *([f"--profile={profile}.profile.textproto"] if profile else []))
                 for name, profile in runs])  # fmt: skip
    truth = {parameter: settings.get(parameter, "the default") for parameter in FIT}
    report_production(report, production, truth, fits, not_fitted(folder, profiles))


def run_ns3(report, folder, packet_folder):
    folder.mkdir(parents=True, exist_ok=True)
    in_parallel([lambda name=name: measure_ns3(folder, name, packet_folder) for name, *_ in SCENARIOS])
    fits = fit(folder, lambda name: f'topology: "{name}.net.textproto" flows: "{name}.flows:hpcc" mode: "flow"',
               [f"--set={key}={value}" for key, value in NS3_SETTINGS.items()])  # fmt: skip
    report_production(report, "ns-3", NS3_TRUTH, fits, [])


def experiment(folder):
    report = Report(folder)
    run_packet(report, folder / "packet", "packet", {})
    run_packet(report, folder / "packet_slow", "packet, slow", SLOW)
    if OPTIONS.ns3:
        run_ns3(report, folder / "ns3", folder / "packet")
    report.write("errors", "Flow completion times, before and after")
    report.write("parameters", "What was found")
    report.write("by_size", "MAPE by size of message (figure 5), held-out scenarios, without and with the ordering constraint")
    report.write("by_job_size", "MAPE by size of job (figure 6), held-out scenarios, without and with the ordering constraint")
    report.write("by_host", "Mean error of hosts (figure 7), held-out scenarios: so many hosts have at most")
    report.write("by_scenario", "MAPE by scenario")
    write_rows(folder / "by_host_cdf.csv", list(report.rows["by_host_cdf"][0]), report.rows["by_host_cdf"])


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default="build/weft", help="the program; default %(default)s")
    parser.add_argument("--ns3", help="ns3_flows, such as build/bench/ns3_flows; default: no ns-3")
    parser.add_argument("--out", help="folder for all that is made, tables included; default: none is kept")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time; default %(default)s")
    parser.add_argument("--flows", type=int, default=600, help="flows measured of each scenario, about; default %(default)s")
    parser.add_argument("--scenarios", default="", help="regular expression: only those whose names it is found in; default: all")
    parser.add_argument("--calibrate", action="append", default=[], metavar="OPTION", help="also given to weft calibrate, such as --outliers=drop")
    OPTIONS = parser.parse_args()
    SCENARIOS[:] = [scenario for scenario in SCENARIOS if re.search(OPTIONS.scenarios, scenario[0])]
    if not any(is_held_out(name) for name, *_ in SCENARIOS) or all(is_held_out(name) for name, *_ in SCENARIOS):
        sys.exit("calibration_production.py: error: --scenarios leaves none to fit to, or none to hold out")
    OPTIONS.weft = str(Path(OPTIONS.weft).resolve())
    OPTIONS.ns3 = OPTIONS.ns3 and str(Path(OPTIONS.ns3).resolve())
    try:
        if OPTIONS.out:
            Path(OPTIONS.out).mkdir(parents=True, exist_ok=True)
            experiment(Path(OPTIONS.out).resolve())
        else:
            with tempfile.TemporaryDirectory() as name:
                experiment(Path(name))
    except RuntimeError as error:
        sys.exit(f"calibration_production.py: error: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
