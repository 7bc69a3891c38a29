#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A study on two nodes of Slurm, one of which dies in between, is the study of one machine.

  slurm_test.py WEFT

Starts a controller and two node daemons of Slurm on loopback, with a configuration, a key and ports of their own. Carried out:
  - 50 runs over both nodes; one daemon and all that it started is killed (kill -9) once some runs have ended. All 50 records are
    there, each is written once, and study.csv is that of a run without Slurm.
  - what users get wrong: arguments that sbatch refuses, a folder that tasks do not see, a program that is not installed.
  - an interrupt, which takes the array out of the queue.
Says that it is skipped, with status 77, where Slurm or munge is not installed or the user is not root, as slurmd demands.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

RUNS = 50
NODES = ("w1", "w2")
SECONDS_MAX = 200
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "munged")

FILES = {
    "ops.textproto":
        'ranks: 16\nrole { name: "all" op { name: "gather" collective { type: ALL_GATHER size: "4MB" } } }\n',
    "cluster.textproto":
        'topology { builder: "fat_tree" set { name: "k" value: "4" } }\n'
        'job { name: "a" gpus: 16 iterations: 1 workload { file: "ops.textproto" } }\n',
    "study.textproto":
        'name: "latency"\n'
        'base { scenario: "cluster.textproto" mode: "packet" }\n'
        'axis { name: "flow.wqe_latency" range { from: 1 to: 25 unit: "us" values: 25 } }\n'
        "replicates: 2\n"
        'metric { name: "mean_iteration_s" }\n',
}


def fail(message):
    sys.exit(f"slurm_test.py: {message}")


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for(what, condition, seconds=SECONDS_MAX):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            fail(f"waited {seconds} s for {what}")
        time.sleep(0.1)


class Cluster:
    """A controller and two nodes, which end with it."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"))
        self.daemons = {}
        host = socket.gethostname().split(".")[0]
        ports = free_ports(1 + len(NODES))
        for name in ("state", "log", "munge"):
            (folder / name).mkdir()
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        nodes = "\n".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 State=UNKNOWN"
                          for node, port in zip(NODES, ports[1:]))
        (folder / "slurm.conf").write_text(f"""ClusterName=study
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool_%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd_%n.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/slurmd_%n
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=0
SlurmdTimeout=5
SlurmctldTimeout=10
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
""")

    def begin(self):
        folder, key = self.folder, self.folder / "munge" / "key"
        self.start("munged", "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge/socket",
                   f"--pid-file={folder}/munge/pid", f"--log-file={folder}/munge/log", f"--seed-file={folder}/munge/seed")
        wait_for("munged", (folder / "munge" / "socket").exists)
        self.start("slurmctld", "slurmctld", "-D", "-c")
        for node in NODES:
            self.start(node, "slurmd", "-D", "-N", node, "-c")
        wait_for("nodes", lambda: self.ask("sinfo", "-h", "-N", "-o", "%t").split() == ["idle"] * len(NODES))

    def start(self, name, *command):
        with open(self.folder / "log" / f"{name}.out", "w", encoding="utf-8") as log:
            self.daemons[name] = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                                  stderr=subprocess.STDOUT)

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False).stdout

    def children_of_node(self, node):
        """Processes that belong to a node's daemon: those that name its spool, and what they started."""
        parents, mine = {}, {self.daemons[node].pid}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"SLURMD_NODENAME={node}".encode() in environment and f"SLURM_CONF={self.folder}/slurm.conf".encode() in environment:
                mine.add(int(entry.name))
        # A step's daemon is the parent of what it started.
        steps = {parents[pid] for pid in mine if pid in parents and self.is_step(parents[pid])}
        return mine | steps

    @staticmethod
    def is_step(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("slurmstepd")
        except OSError:
            return False

    def kill_node(self, node):
        killed = self.children_of_node(node)
        for pid in killed:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.daemons[node].wait()
        return len(killed)

    def stop(self):
        self.ask("scancel", "--user=root")
        for node in NODES:
            if self.daemons.get(node) is not None and self.daemons[node].poll() is None:
                self.kill_node(node)
        for name in ("slurmctld", "munged"):
            daemon = self.daemons.get(name)
            if daemon is not None and daemon.poll() is None:
                daemon.terminate()
                try:
                    daemon.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    daemon.kill()


def records(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (folder / "points").glob("*.json")}


def run_study(cluster, weft, folder, *flags):
    return subprocess.Popen([weft, "study", "study.textproto", "--backend=slurm", *flags], cwd=folder, env=cluster.environment,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def check_node_that_dies(cluster, weft, folder):
    study = run_study(cluster, weft, folder, "--out=shared", "--slurm-tasks=10")
    shared = folder / "shared"
    wait_for("runs", lambda: len(records(shared)) >= 8 or study.poll() is not None)
    running = cluster.ask("squeue", "-h", "-t", "R", "-o", "%N").split()
    if set(running) != set(NODES):
        fail(f"tasks run on {sorted(set(running))} and not on both nodes")
    killed = cluster.kill_node("w2")
    before = records(shared)
    if len(before) >= RUNS:
        fail("the study was done when the node was killed")
    _, errors = study.communicate(timeout=SECONDS_MAX)
    if study.returncode != 0:
        fail(f"the study ended with {study.returncode}: {errors}")
    after = records(shared)
    if len(after) != RUNS:
        fail(f"{len(after)} records instead of {RUNS}")
    for name, content in before.items():
        if after[name] != content:
            fail(f"{name} was written again")
    whole = subprocess.run([weft, "study", "study.textproto", "--out=whole", "--quiet"], cwd=folder, stdout=subprocess.DEVNULL,
                           check=False)
    if whole.returncode != 0:
        fail("the study without Slurm failed")
    if (shared / "study.csv").read_bytes() != (folder / "whole" / "study.csv").read_bytes():
        fail("study.csv differs from that of a study without Slurm")
    rows = (shared / "study.csv").read_text().count("\n") - 1
    if rows != RUNS:
        fail(f"{rows} rows instead of {RUNS}")
    submissions = errors.count("array ")
    if submissions < 2:
        fail(f"nothing was submitted again: {errors}")
    print(f"node killed with {killed} processes after {len(before)} of {RUNS} runs; {rows} rows after {submissions} submissions, "
          "study.csv as without Slurm")


def check_mistakes(cluster, weft, folder):
    def expect(code, process, environment=None):
        _, errors = process.communicate(timeout=SECONDS_MAX)
        if process.returncode != 2 or f"[{code}]" not in errors:
            fail(f"expected [{code}], got status {process.returncode}: {errors}")

    expect("slurm-refused", run_study(cluster, weft, folder, "--out=refused", "--slurm-args=--partition=nowhere"))
    hidden = folder / "bin"
    hidden.mkdir()
    nobody = subprocess.Popen([weft, "study", "study.textproto", "--backend=slurm", "--out=nobody"], cwd=folder,
                              env=dict(cluster.environment, PATH=str(hidden)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True)
    expect("program-failed", nobody)
    # Nodes of a folder that is not shared: a mount of this process alone hides it from them.
    unshared = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", f"mkdir -p far && mount -t tmpfs none far && exec '{weft}' study study.textproto "
         "--backend=slurm --out=far/out --slurm-tasks=1"], cwd=folder, env=cluster.environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True)
    expect("folder-not-shared", unshared)
    print("mistakes are told: slurm-refused, program-failed, folder-not-shared")


def check_interrupt(cluster, weft, folder):
    study = run_study(cluster, weft, folder, "--out=cut", "--slurm-tasks=4")
    wait_for("tasks", lambda: cluster.ask("squeue", "-h", "-t", "R", "-o", "%i") != "")
    study.send_signal(signal.SIGINT)
    _, errors = study.communicate(timeout=SECONDS_MAX)
    if study.returncode != 130 or "--resume goes on" not in errors:
        fail(f"an interrupted study ended with {study.returncode}: {errors}")
    wait_for("an empty queue", lambda: cluster.ask("squeue", "-h", "-t", "PD,R", "-o", "%i") == "")
    print("an interrupt takes the array out of the queue")


def main():
    weft = pathlib.Path(sys.argv[1]).resolve()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent or os.geteuid() != 0:
        print(f"skipped: {'not installed: ' + ', '.join(absent) if absent else 'slurmd runs as root only'}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="weft_slurm_") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "cluster").mkdir()
        for file, text in FILES.items():
            (folder / file).write_text(text)
        cluster = Cluster(folder / "cluster")
        try:
            cluster.begin()
            check_mistakes(cluster, weft, folder)
            check_interrupt(cluster, weft, folder)
            check_node_that_dies(cluster, weft, folder)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
