#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each of the three alignments of the paper's section 7.3 gives, as figure 8 has it: data type, packet overhead, and overhead that
nothing simulates.

Usage: bench/calibration_ablation.py [--weft=build/weft] [--threads=2] [--out=FOLDER]

Production is packet mode on 16 servers of 8 H100 with 400 Gb/s rails and an Ethernet MTU of 1,500 B, of which RoCEv2 over IPv4 leaves
1,456: data-parallel training of models of 10 to 200 million parameters on 16 and 64 GPUs, gradients in BF16, with latencies and an
efficiency that nobody tells the simulation, and 1 % of noise in what is measured. Flow mode predicts the iterations,
  from nothing          gradients in FP32, as the number of parameters suggests, no packet headers
  + data type           gradients in BF16
  + packet overhead     headers of RoCEv2, packets of 1,456 B
  + fitted overhead     latencies and efficiency fitted with weft calibrate to half of the jobs
Prints the mean absolute percentage error of all jobs, and of those that the fit did not see. Exit status 1 if a step makes it worse.
"""

import argparse
import csv
import random
import subprocess
import sys
import tempfile
from pathlib import Path

GPUS = (16, 64)
MILLIONS = (10, 30, 100, 200)
NOISE = 0.01
HIDDEN = {
    "flow.wqe_latency": "1.8us",
    "flow.switching_delay": "750ns",
    "flow.network_efficiency": "0.95",
    "host.kernel_launch_latency": "9us",
}
PACKETS = {"flow.mtu": "1456B", "flow.protocol": "rocev2_ipv4"}
NO_PACKETS = {"flow.protocol": "none"}
TOPOLOGY = Path(__file__).resolve().parent.parent / "topologies/presets/rail_128_h100.textproto"


def settings(values):
    return "".join(f'set {{ name: "{name}" value: "{value}" }}\n' for name, value in values.items())


def write_scenario(folder, step, name, gpus, millions, dtype, values):
    template = {"ranks": gpus, "parameters": millions * 1_000_000, "grad_dtype": dtype, "buckets": 4,
                "forward_time": f"{20 * millions}us", "backward_time": f"{40 * millions}us", "optimizer_time": "50us"}
    path = folder / f"{step}_{name}.textproto"
    path.write_text(f'topology {{ file: "{TOPOLOGY}" }}\njob {{ name: "{name}" gpus: {gpus} iterations: 2 workload {{ template: '
                    f'"data_parallel" {settings(template)} }} }}\n' + settings(values))
    return path


def mean_iterations(weft, folder, scenario, *flags):
    out = folder / "run"
    done = subprocess.run([weft, "run", str(scenario), f"--out={out}", "--quiet", *flags], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    with open(out / "iterations.csv") as file:
        return [float(row["duration_s"]) for row in csv.DictReader(file)]


def measure(weft, folder, jobs):
    """Tables of production, by job."""
    measured = {}
    for name, (gpus, millions) in jobs.items():
        draw = random.Random(name)
        scenario = write_scenario(folder, "production", name, gpus, millions, "BF16", PACKETS | HIDDEN)
        times = [t * (1 + draw.gauss(0, NOISE)) for t in mean_iterations(weft, folder, scenario, "--mode=packet", "--no-flow-comparison")]
        rows = "".join(f"{i},{t!r}\n" for i, t in enumerate(times))
        (folder / f"{name}.csv").write_text("iteration,duration_s\n" + rows)
        measured[name] = times
    return measured


def error(measured, predicted, names):
    shares = [abs(p / m - 1) for name in names for p, m in zip(predicted[name], measured[name])]
    return sum(shares) / len(shares)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--weft", default="build/weft")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--out", help="folder for the scenarios, the measurements and the profile; default: one that goes away")
    options = arguments.parse_args()
    jobs = {f"dp_{millions}M_{gpus}": (gpus, millions) for millions in MILLIONS for gpus in GPUS}
    held_out = [name for i, name in enumerate(jobs) if (i + i // len(GPUS)) % 2]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.out or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        measured = measure(options.weft, folder, jobs)
        steps = {"from nothing": ("FP32", NO_PACKETS), "+ data type": ("BF16", NO_PACKETS), "+ packet overhead": ("BF16", PACKETS)}
        print("| step | mean error of all jobs | of jobs held out |\n|---|---|---|")
        errors = []

        def show(step, predicted):
            errors.append(error(measured, predicted, jobs))
            print(f"| {step} | {100 * errors[-1]:.2f} % | {100 * error(measured, predicted, held_out):.2f} % |", flush=True)

        for number, (step, (dtype, values)) in enumerate(steps.items()):
            scenarios = {name: write_scenario(folder, f"step{number}", name, *job, dtype, values) for name, job in jobs.items()}
            show(step, {name: mean_iterations(options.weft, folder, scenarios[name]) for name in jobs})
        cases = "".join(f'case {{ scenario: "{scenarios[name].name}" measured: "{name}.csv" held_out: {str(name in held_out).lower()} }}\n'
                        for name in jobs)
        (folder / "cases.textproto").write_text(cases)
        profile = folder / "profile.textproto"
        done = subprocess.run([options.weft, "calibrate", f"--cases={folder / 'cases.textproto'}", f"--fit={','.join(HIDDEN)}",
                               f"--out={profile}", "--lambda=0", "--set=hill_climbing.restarts=0", f"--threads={options.threads}", "--quiet"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        show("+ fitted overhead",
             {name: mean_iterations(options.weft, folder, scenarios[name], f"--profile={profile}") for name in jobs})
        print("\n" + done.stdout.split("\n\n")[0])
    sys.exit(0 if errors == sorted(errors, reverse=True) else 1)


if __name__ == "__main__":
    main()
