# SPDX-License-Identifier: Apache-2.0
"""What the scripts of figures 12, 15 and 16 share: DLRM jobs that train together on the paper's three-level Clos, in flow mode with fast forward.

The cluster is `topologies/presets/paper_clos_32k.textproto`, with fewer pods where fewer hosts are asked for: 32 leafs with a host each and 8 aggregation
switches a pod, 128 spines. The model is the template's, MLPerf's DLRM, with more and wider dense layers: the paper does not say how its models weigh computation
against communication. Their number was chosen once, such that at 400 Gb/s a job waits for communication for a quarter of its time, in the middle of the 14 to 32 % of
GPU hours that arXiv 2310.02784 reports of training at Meta; it was not changed when the figures were seen.

Gradients are reduced by halving and doubling, of which NICs carry as little as of rings between hosts, and of which all GPUs of a job do the same: with
packets sprayed over all paths and `host.fold_tolerance` one GPU of many is simulated. All-to-alls are hierarchical for the same reason: a GPU sends to one GPU
per host what is for all of that host. If it sent to each GPU, as NCCL does (`-- collective.all_to_all=auto`), jobs would take up to 2 % less time, and some fifty
times as many transfers would have to be simulated. Without the tolerance (`--hosts=64 -- host.fold_tolerance=0ns`) figure 15
differs by 0.05 % at most and takes 50 times as long.
"""

import csv
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

from job_mode import ROOT, add_options as add_program

BATCH = 4096  # samples of a GPU in an iteration
DENSE_LAYERS = 10
# GPUs of a job: how many of a hundred have that.
SIZES = {64: 10, 128: 20, 256: 25, 512: 25, 1024: 15, 2048: 5}
SETTINGS = {"flow.routing": "spray", "host.fold_tolerance": "5us", "collective.all_reduce": "halving_doubling",
            "collective.all_to_all": "hierarchical"}
ITERATIONS_A_DAY = 1_000_000  # at ten per second, about


def add_options(parser, hosts, quick_hosts):
    add_program(parser)
    parser.add_argument("--hosts", type=int, default=hosts, help="hosts of 8 GPUs")
    parser.add_argument("--load", type=float, default=1.5, help="GPUs of all jobs, which wait at the start, over GPUs there are")
    parser.add_argument("--dense-layers", type=int, default=DENSE_LAYERS, help="top layers of 4,096, by which computation weighs more or less")
    parser.add_argument("--gradients", default="FP32", metavar="TYPE", help="in which gradients are reduced; see `weft modules dlrm`")
    parser.add_argument("--fast-forward", type=int, default=2, metavar="N", help="iterations that are simulated whenever jobs start or end")
    parser.add_argument("--seed", type=int, default=1, help="of sizes and lengths of jobs")
    parser.add_argument("--quick", action="store_true", help=f"only {quick_hosts} hosts: takes seconds")
    parser.set_defaults(quick_hosts=quick_hosts)
    parser.add_argument("set", nargs="*", help="parameters, such as host.fold_tolerance=0ns; after --")


def settings_of(parser, options):
    """What is set, by name; --quick is applied to the options."""
    if options.quick:
        options.hosts = options.quick_hosts
    wrong = [setting for setting in options.set if "=" not in setting]
    if wrong:
        parser.error(f"{wrong[0]} is no NAME=VALUE")
    return {**SETTINGS, **dict(setting.split("=", 1) for setting in options.set)}


def drawn_jobs(options, sizes):
    """Sizes by their weights, none above half of the cluster, until --load is reached; iterations log-normal around a day's."""
    draw = random.Random(options.seed)
    jobs = []
    missing = options.load * options.hosts * 8
    while missing > 0:
        gpus = min(draw.choices(list(sizes), weights=list(sizes.values()))[0], options.hosts * 4)
        jobs.append((gpus, round(ITERATIONS_A_DAY * draw.lognormvariate(-0.125, 0.5))))
        missing -= gpus
    return jobs


class Result:
    """What a run found."""

    def __init__(self, rows, summary):
        self.speeds = [(int(row["gpus"]), float(row["goodput_samples_per_s"]) / int(row["gpus"])) for row in rows]
        self.jobs = len(rows)
        self.mean_gpus = sum(gpus for gpus, _ in self.speeds) / len(rows)
        self.samples_per_s = self.of_sizes(1, math.inf)
        self.exposed = summary["exposed_comm_share"]

    def of_sizes(self, least, most):
        """Samples per second of a GPU, mean over jobs of so many GPUs; 0 if there are none."""
        speeds = [speed for gpus, speed in self.speeds if least <= gpus <= most]
        return sum(speeds) / len(speeds) if speeds else 0


class Weft:
    """Runs of one `weft`, whose files go where nobody has to clean up."""

    def __init__(self, options, settings):
        self.options = options
        self.settings = settings
        self.folder = tempfile.TemporaryDirectory()

    def run(self, jobs, topology=None, placement="packed"):
        """All jobs wait at the start; each begins as soon as there is room for it (fcfs_fill). `topology`: parameters beside the preset's."""
        path = pathlib.Path(self.folder.name)
        parameters = {"hosts": self.options.hosts, **(topology or {})}
        preset = (ROOT / "topologies" / "presets" / "paper_clos_32k.textproto").read_text(encoding="utf-8").splitlines()
        lines = [line for line in preset if not any(f'name: "{name}"' in line for name in parameters)]
        (path / "topology.textproto").write_text("\n".join(lines + [_setting(*item) for item in parameters.items()]) + "\n", encoding="utf-8")
        scenario = 'topology { file: "topology.textproto" }\n' + f'scheduler {{ policy: "fcfs_fill" placement: "{placement}" }}\n'
        for number, (gpus, iterations) in enumerate(jobs):
            samples = f"samples_per_iteration: {gpus * BATCH}"
            scenario += f'job {{ name: "job{number}" gpus: {gpus} iterations: {iterations} {samples} {self._workload(gpus)} }}\n'
        (path / "scenario.textproto").write_text(scenario, encoding="utf-8")
        command = [self.options.weft, "run", f"{path}/scenario.textproto", f"--fast-forward={self.options.fast_forward}", f"--out={path}/out", "--quiet", "--json"]
        command += [f"--set={name}={value}" for name, value in self.settings.items()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            sys.exit(f"{self.options.weft}: {error.strerror}; --weft=PATH says where the program is")
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        with open(path / "out" / "jobs.csv", newline="", encoding="utf-8") as file:
            return Result(list(csv.DictReader(file)), json.loads(done.stdout))

    def _workload(self, gpus):
        top = "-".join(["4096"] * self.options.dense_layers + ["1"])
        values = {"ranks": gpus, "batch": BATCH, "top": top, "grad_dtype": self.options.gradients}
        return f'workload {{ template: "dlrm" {" ".join(_setting(*item) for item in values.items())} }}'


def _setting(name, value):
    return f'set {{ name: "{name}" value: "{value}" }}'
