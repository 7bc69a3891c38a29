# SPDX-License-Identifier: Apache-2.0
"""The Python module: tables, inputs, mistakes, threads and Ctrl-C.

usage: module_test.py WEFT
"""
import ast
import csv
import inspect
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path

import weft_calls

weft_calls.require("numpy", "pandas")
import numpy  # noqa: E402
import pandas  # noqa: E402

import weft  # noqa: E402
import weft._native  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
QUICKSTART = "tools/examples/quickstart.textproto"
PACKETS = {"topology": "topologies/presets/fat_tree_k8.textproto", "workload": "workloads/examples/expert_parallel_16.textproto",
           "mode": "packet", "flow_comparison": False}

#: Two ranks that compute for 1 us, with far more iterations than anyone waits for.
ENDLESS = """
    import weft
    work = weft.Workload.of_ops(ranks=2, role=[{"name": "all", "op": [{"name": "c", "compute": {"duration": "1us"}}]}])
    endless = weft.Scenario(topology=weft.Topology("single_switch", hosts=2),
                            job=[{"name": "endless", "iterations": 1000000000, "workload": work}])
"""


def transfer():
    """1 MB from one rank to another."""
    def side(name, rank, kind):
        return {"name": name, "ranks": rank, "op": [{"name": kind, kind: {"communicator": "all", "peer": 1 - int(rank), "size": "1MB"}}]}

    return weft.Workload.of_ops(ranks=2, communicator=[{"name": "all", "size": 2}],
                                role=[side("sender", "0", "send"), side("receiver", "1", "receive")])


def two_ranks():
    """The same between two hosts of one GPU."""
    return weft.Scenario(topology=weft.Topology("single_switch", hosts=2, gpus_per_host=1), job={"name": "a", "workload": transfer()})


class FromTheRoot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.chdir(weft_calls.ROOT)


class Tables(FromTheRoot):
    def same_as_csv(self, result, folder, name):
        """Every cell of the frame is that of the CSV file that the same run wrote."""
        frame = result.table(name)
        with open(Path(folder) / f"{name}.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(frame), len(rows), name)
        with open(Path(folder) / f"{name}.csv", encoding="utf-8") as file:
            self.assertEqual(list(frame.columns), file.readline().strip().split(","), name)
        for column in frame.columns:
            for value, row in zip(frame[column], rows):
                text = row[column]
                if isinstance(value, str):
                    self.assertEqual(value, text, (name, column))
                elif text == "":
                    self.assertTrue(value is None or pandas.isna(value), (name, column, value))
                else:
                    # Files have real numbers with a limited number of digits.
                    self.assertTrue(math.isclose(float(value), float(text), rel_tol=1e-5, abs_tol=1e-9), (name, column, value, text))
        return len(rows)

    def test_are_those_of_the_files(self):
        cases = [({"scenario": QUICKSTART}, ("jobs", "attempts", "cluster", "iterations", "communicators", "links")),
                 ({**PACKETS, "sample": "100us", "set": {"packet.watchdog": "1ms"}},
                  ("jobs", "collectives", "flows", "links", "link_samples", "pause_storms")),
                 ({"scenario": "tests/golden/cases/congestion_found/scenario.textproto",
                   "set": {"flow.detect_congestion": "on", "flow.congestion_gap": "500ms"}}, ("congestion", "congested_jobs"))]
        for arguments, tables in cases:
            with tempfile.TemporaryDirectory() as folder:
                result = weft.run(**arguments, out=folder)
                rows = sum(self.same_as_csv(result, folder, name) for name in tables)
                self.assertGreater(rows, 0)
                self.assertEqual(result.out, folder)

    def test_have_units_and_numbers_that_are_not_copied(self):
        result = weft.run(two_ranks())
        flows = result.flows
        self.assertEqual(int((flows["size_bytes"] * flows["multiplicity"]).sum()), 1_000_000)
        self.assertEqual(flows.attrs["units"]["fct_ns"], "ns")
        self.assertIn("fct_ns", flows.attrs["meanings"])
        arrays = result.arrays("flows")
        self.assertEqual(set(arrays), set(flows.columns))
        self.assertTrue(numpy.array_equal(arrays["fct_ns"], flows["fct_ns"].to_numpy()))
        self.assertIsNotNone(arrays["fct_ns"].base, "the array lies in memory that the module has made")
        self.assertEqual(flows["size_bytes"].dtype, numpy.int64)
        self.assertIs(result.flows, flows)

    def test_have_links_over_time_with_a_report(self):
        with tempfile.TemporaryDirectory() as folder:
            result = weft.run(two_ranks(), out=folder, report=True)
            self.assertGreater(self.same_as_csv(result, folder, "tier_samples"), 0)
            # What goes over the hosts' own cables is what was sent, and headers.
            samples = result.tier_samples
            self.assertGreaterEqual(samples[samples["tier"].str.startswith("host->")]["bytes"].sum(), 1_000_000)
            page = Path(folder) / "report.html"
            page_of_run = page.read_text(encoding="utf-8")
            page.unlink()
            self.assertEqual(weft.report(folder), str(page))
            self.assertEqual(page.read_text(encoding="utf-8"), page_of_run)

    def test_list_many_transfers_by_class_or_not_at_all(self):
        self.assertEqual(len(weft.run(two_ranks(), flow_rows="off").flows), 0)
        self.assertGreater(len(weft.run(two_ranks(), flow_rows="whole").flows), 0)

    def test_become_arrow_tables_where_arrow_is(self):
        result = weft.run(two_ranks())
        try:
            import pyarrow
        except ImportError:
            with self.assertRaisesRegex(ImportError, "pyarrow"):
                result.to_arrow("flows")
            return
        table = result.to_arrow("flows")
        self.assertIsInstance(table, pyarrow.Table)
        self.assertEqual(table.schema.field("fct_ns").metadata[b"unit"], b"ns")

    def test_are_all_described(self):
        for name, (meaning, _, columns) in weft.TABLES.items():
            self.assertTrue(meaning and columns, name)
            self.assertTrue(getattr(weft.RunResult, name).__doc__, name)


class Inputs(FromTheRoot):
    def test_from_python_are_those_of_files(self):
        topology = weft.Topology("rail_optimized", hosts=16)
        work = weft.Workload.from_file("tools/examples/data_parallel_64.textproto")
        scenario = weft.Scenario(
            name="quickstart", topology=topology,
            job=[{"name": "dense", "gpus": 64, "iterations": 3, "workload": work},
                 {"name": "late", "gpus": 64, "iterations": 2, "submit": "5ms",
                  "workload": {"file": Path("tools/examples/data_parallel_64.textproto")}}],
            set={"flow.queue_pairs": 4})
        from_file = weft.run(QUICKSTART)
        self.assertEqual(weft.run(scenario).fingerprint, from_file.fingerprint)
        with tempfile.TemporaryDirectory() as folder:
            scenario.save(f"{folder}/scenario.textproto")
            self.assertEqual(weft.run(f"{folder}/scenario.textproto").fingerprint, from_file.fingerprint)
            os.chdir(folder)
            try:
                self.assertEqual(weft.run(scenario).fingerprint, from_file.fingerprint)
            finally:
                os.chdir(weft_calls.ROOT)

    def test_stand_for_files_of_a_run(self):
        topology = weft.Topology("fat_tree", k=8, gpus_per_host=1, nic_rate="100Gbps", fabric_rate="100Gbps",
                                 host_fibre="200m", leaf_fibre="200m", agg_fibre="200m")
        made = weft.run(topology=topology, workload=weft.Workload.from_file(PACKETS["workload"]), mode="packet",
                        flow_comparison=False)
        self.assertEqual(made.fingerprint, weft.run(**PACKETS).fingerprint)

    def test_may_be_part_by_part(self):
        def fabric(end):
            return weft.Topology.of_parts(name="two hosts", host=[{"port": "a"}, {"port": "b"}], switch={"name": "leaf", "level": "leaf"},
                                          link=[{"a": port, "b": end, "rate": "100Gbps", "delay": "0ns"} for port in ("a", "b")])

        result = weft.run(topology=fabric("leaf"), workload=transfer())
        # 8 Mb at 100 Gb/s are 80 us, headers and latencies come on top.
        self.assertEqual(len(result.flows), 1)
        self.assertGreater(result.flows["fct_ns"][0], 80_000)
        self.assertLess(result.flows["fct_ns"][0], 90_000)
        with self.assertRaisesRegex(weft.InputError, "nowhere"):
            weft.check(topology=fabric("nowhere"), workload=transfer())

    def test_are_checked_without_a_run(self):
        told = weft.check(QUICKSTART)
        self.assertEqual((told["name"], told["mode"], told["hosts"], told["jobs"]), ("quickstart", "flow", 16, 2))

    def test_have_a_manifest(self):
        manifest = weft.run(two_ranks(), seed=7).manifest
        self.assertEqual(manifest["seed"], 7)
        self.assertTrue(manifest["inputs"][0]["sha256"])


class Mistakes(FromTheRoot):
    def refused(self, code, text, call):
        with self.assertRaises(weft.InputError) as raised:
            call()
        self.assertEqual(raised.exception.code, code)
        self.assertIn(text, str(raised.exception))
        return raised.exception

    def test_have_the_text_of_the_command(self):
        error = self.refused("no-file", "there is no such file", lambda: weft.run("missing.textproto"))
        done = subprocess.run([PROGRAM, "run", "missing.textproto"], capture_output=True, text=True, check=False)
        self.assertEqual(str(error) + "\n", done.stderr)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(error.file, "missing.textproto")

    def test_of_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refused("no-results", "no results of weft", lambda: weft.report(folder))
        self.refused("missing-flag", "no folder", lambda: weft.run(two_ranks(), report=True))

    def test_in_files_have_their_place(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "wrong.textproto"
            path.write_text('name: "wrong"\ntopology { bulider: "clos" }\n', encoding="utf-8")
            error = self.refused("unknown-field", 'did you mean "builder"?', lambda: weft.run(path))
            self.assertEqual((error.file, error.line, error.column), (str(path), 2, 12))
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((str(again), again.code, again.line), (str(error), error.code, 2))

    def test_in_units(self):
        topology = weft.Topology("clos", nic_rate="400Gbsp")
        self.refused("bad-value", '"Gbsp" is not a unit of bandwidth', lambda: weft.run(
            weft.Scenario(topology=topology, job={"name": "a", "workload": weft.Workload("dlrm", ranks=16)})))
        self.refused("bad-value", "400Gbsp", lambda: weft.run(QUICKSTART, set={"flow.wqe_latency": "400Gbsp"}))
        self.refused("bad-value", "--until", lambda: weft.run(QUICKSTART, until="soon"))

    def test_in_names(self):
        self.refused("unknown-field", 'did you mean "topology"?', lambda: weft.Scenario(topolgy={}))
        error = self.refused("unknown-field", 'did you mean "builder"?', lambda: weft.Scenario(topology={"bulider": "x"}, mode="fow"))
        self.assertEqual([one["code"] for one in error.diagnostics], ["unknown-field", "bad-value"])
        self.refused("unknown-param", 'did you mean "buffer"?', lambda: weft.run(QUICKSTART, set={"packet.bufer": "1MB"}))
        self.refused("bad-value", 'did you mean "flow"?', lambda: weft.run(QUICKSTART, mode="fow"))
        self.refused("bad-value", 'did you mean "jobs"?', lambda: weft.run(two_ranks()).table("job"))
        self.refused("unknown-metric", 'did you mean "mean_iteration_s"?', lambda: weft.study(
            weft.Study(QUICKSTART, axes={"flow.queue_pairs": [1]}, metrics=["mean_iteratoin_s"])))
        self.refused("unknown-param", "flow.queue_pair", lambda: weft.study(
            weft.Study(QUICKSTART, axes={"flow.queue_pair": [1]}, metrics=["makespan_s"])))
        with self.assertRaisesRegex(TypeError, "thread"):
            weft.run(QUICKSTART, thread=2)

    def test_in_types(self):
        self.refused("bad-value", "a whole number from 0 up", lambda: weft.Scenario(seed=-1))
        self.refused("bad-value", "a whole number from 0 up", lambda: weft.Scenario(seed=1.5))
        self.refused("bad-value", "a dictionary of its fields", lambda: weft.Scenario(job=["a"]))
        self.refused("bad-value", "a dictionary", lambda: weft.run(QUICKSTART, set=["flow.queue_pairs=4"]))

    def test_in_numbers(self):
        self.refused("out-of-range", "a whole number from 1 to 1024", lambda: weft.run(QUICKSTART, threads=0))
        self.refused("out-of-range", "a whole number from 0 up", lambda: weft.run(QUICKSTART, seed=-1))
        self.refused("out-of-range", "a whole number from 0 up", lambda: weft.run(QUICKSTART, seed=2**64))
        self.refused("out-of-range", "a whole number from 1 up", lambda: weft.run(QUICKSTART, iterations=2.5))
        self.refused("out-of-range", "a whole number from 1 up", lambda: weft.run(QUICKSTART, iterations=2**70))
        self.refused("out-of-range", "a whole number from 0 up", lambda: weft.run(QUICKSTART, fast_forward=2**70))
        self.refused("bad-value", 'a time has a unit: "5s"', lambda: weft.run(QUICKSTART, until=5))
        self.refused("out-of-range", "a number from 0 to 0.9", lambda: weft.calibrate(
            QUICKSTART, measured="measured.csv", fit=["flow.wqe_latency"], hold_out=1))

    def test_in_questions(self):
        self.refused("missing-flag", "nothing to run", weft.run)
        self.refused("missing-flag", "one question at a time", lambda: weft.predict("snapshot.textproto"))
        self.refused("no-snapshot", "has no snapshot", lambda: weft.predict(weft.run(two_ranks()), drain="host0"))
        self.refused("missing-flag", "one cluster at a time", lambda: weft.predict(drain="host0"))
        self.refused("unused-flag", "at says something about nodes", lambda: weft.predict("s.textproto", drain="host0", at="2026-01-01"))
        self.refused("missing-flag", "no folder", lambda: weft.run(two_ranks(), trace=True))
        with self.assertRaisesRegex(weft.InputError, "no_such_model"):
            weft.project.memory("no_such_model", "llama3_8b_nemo")
        self.refused("unused-setting", "add --simulate", lambda: weft.project.decentralized(set={"exchange": "ring"}))
        self.refused("out-of-range", "a whole number from 1 up", lambda: weft.project.search("llama3_8b", "hgx_h100", gpus=0))
        self.refused("missing-flag", "nothing to fit to", lambda: weft.calibrate(QUICKSTART, fit=["flow.wqe_latency"]))
        self.refused("missing-flag", "nothing to fit to",
                     lambda: weft.calibrate(QUICKSTART, measured=[], fit=["flow.wqe_latency"]))
        self.refused("missing-flag", "there is no cluster",
                     lambda: weft.project.training("llama3_8b", "llama3_8b_nemo", [], gpus=8))


class Threads(FromTheRoot):
    def test_run_beside_each_other(self):
        alone = [weft.run(QUICKSTART, seed=seed).fingerprint for seed in range(1, 5)]
        found = {}

        def work(seed):
            found[seed] = weft.run(QUICKSTART, seed=seed).fingerprint

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([found[seed] for seed in range(1, 5)], alone)

    def test_leave_the_interpreter_to_others(self):
        """While a run goes on, this thread counts."""
        thread = threading.Thread(target=weft.run, kwargs={**PACKETS, "iterations": 3})
        thread.start()
        counted = 0
        while thread.is_alive():
            counted += 1
            time.sleep(0.001)
        thread.join()
        self.assertGreater(counted, 20)

    def test_tell_how_far_they_are(self):
        told = []
        weft.study(weft.Study(QUICKSTART, axes={"flow.queue_pairs": [1, 2, 4, 8]}, metrics=["makespan_s"]), threads=1,
                   progress=lambda what, done, total: told.append((what, done, total)))
        self.assertTrue(told)
        self.assertTrue(all(what == "runs" and 0 <= done <= 4 and total == 4 for what, done, total in told))

    def test_end_with_what_a_progress_function_raises(self):
        def refuse(what, done, total):
            raise RuntimeError("enough")

        space = {}
        exec(textwrap.dedent(ENDLESS), space)  # pylint: disable=exec-used
        started = time.monotonic()
        with self.assertRaisesRegex(RuntimeError, "enough"):
            weft.run(space["endless"], progress=refuse)
        self.assertLess(time.monotonic() - started, 60)


class Interrupts(FromTheRoot):
    """Ctrl-C in the middle of the work of another process."""

    def interrupted(self, call):
        script = textwrap.dedent(ENDLESS) + textwrap.dedent(f"""
            import sys, threading, time
            print("begins", flush=True)
            try:
                {call}
            except KeyboardInterrupt:
                print("interrupted", flush=True)
                sys.exit(5)
        """)
        child = subprocess.Popen([sys.executable, "-B", "-c", script], stdout=subprocess.PIPE, text=True, cwd=weft_calls.ROOT)
        self.assertEqual(child.stdout.readline(), "begins\n")
        time.sleep(0.6)
        self.assertIsNone(child.poll(), "the work is under way")
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        rest = child.communicate(timeout=60)[0]
        self.assertEqual((rest, child.returncode), ("interrupted\n", 5))
        return time.monotonic() - sent

    def test_runs(self):
        self.assertLess(self.interrupted("weft.run(endless)"), 2)

    def test_studies(self):
        self.interrupted("weft.study(weft.Study(endless, axes={'flow.queue_pairs': [1, 2, 4]}, metrics=['makespan_s']))")

    def test_searches(self):
        self.interrupted("weft.project.search('llama3_70b', 'hgx_h100', gpus=512)")

    def test_projections(self):
        self.interrupted("weft.project.training('llama3_8b', 'llama3_8b_nemo', 'hgx_h100', gpus=8, iterations=100000)")

    def test_calibrations(self):
        self.interrupted("weft.calibrate('tools/examples/quickstart.textproto', measured=weft.run('tools/examples/quickstart.textproto', "
                         "set={'flow.wqe_latency': '2us'}).iterations, fit=['flow.wqe_latency', 'flow.switching_delay'])")


class Studies(FromTheRoot):
    def test_of_a_hundred_points(self):
        """The time of 1 MB over a cable of r Gb/s is a / r + b, which the study's points lie on."""
        rates = [str(rate) + "Gbps" for rate in range(10, 60)]
        study = weft.Study(two_ranks(), axes={"topology.nic_rate": rates, "flow.wqe_latency": ["1us", "5us"]},
                           metrics=["makespan_s", {"name": "longest_ns", "column": "flows.fct_ns", "statistic": "max"}])
        result = weft.study(study)
        frame = result.frame
        self.assertEqual((len(frame), result.failed, result.missing), (100, 0, 0))
        self.assertEqual(list(frame.columns), ["run", "point", "replicate", "seed", "topology.nic_rate", "flow.wqe_latency",
                                               "makespan_s", "longest_ns", "fingerprint", "error"])
        self.assertEqual(frame.attrs["units"], {"longest_ns": "ns"})
        one = frame[frame["flow.wqe_latency"] == "1us"]
        inverse = [1 / float(rate.removesuffix("Gbps")) for rate in one["topology.nic_rate"]]
        slope, ahead = numpy.polyfit(inverse, one["makespan_s"], 1)
        self.assertTrue(numpy.allclose(one["makespan_s"], numpy.array(inverse) * slope + ahead, rtol=0.01))
        self.assertGreater(slope, 0)
        point = frame.iloc[37]
        alone = weft.run(two_ranks(), seed=int(point["seed"]), set={name: point[name] for name in result.names})
        self.assertEqual(alone.fingerprint, point["fingerprint"])
        self.assertEqual(len(result.means()), 100)

    def test_go_on_and_note_what_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            study = weft.Study(QUICKSTART, axes={"flow.queue_pairs": [1, 2]}, metrics=["makespan_s"], replicates=2)
            first = weft.study(study, out=f"{folder}/out", share=(1, 2))
            self.assertEqual(first.missing, 2)
            whole = weft.study(study, out=f"{folder}/out", resume=True)
            self.assertEqual(whole.missing, 0)
            table = pandas.read_csv(f"{folder}/out/study.csv", keep_default_na=False)
            self.assertEqual(list(table["fingerprint"]), list(whole.frame["fingerprint"]))
            with self.assertRaises(weft.InputError) as raised:
                weft.study(study, out=f"{folder}/out")
            self.assertEqual(raised.exception.code, "study-there")

    def test_measure_the_machine_in_processes_of_their_own(self):
        study = weft.Study(QUICKSTART, axes={"flow.queue_pairs": [1, 2]}, measure_machine=True,
                           metrics=["makespan_s", "machine.peak_memory_bytes"])
        frame = weft.study(study).frame
        self.assertEqual(list(frame["error"]), ["", ""])
        # An interpreter takes a few MB, and this run nothing near a GB.
        self.assertTrue(((frame["machine.peak_memory_bytes"] > 4e6) & (frame["machine.peak_memory_bytes"] < 1e9)).all())
        self.assertEqual(frame["fingerprint"][1], weft.run(QUICKSTART, set={"flow.queue_pairs": 2}).fingerprint)

    def test_stop_when_they_know_enough(self):
        """Hashed paths do not collide here, so that all seeds give the same: the least number of runs is enough."""
        study = weft.Study(two_ranks(), axes={"flow.queue_pairs": [1, 2]}, replicates=20, stop={"precision": 0.01},
                           metrics=["makespan_s"])
        self.assertEqual(list(weft.study(study).frame["replicate"]), [0, 1, 2, 0, 1, 2])

    def test_have_prices_by_a_path_from_the_current_folder(self):
        study = weft.Study("tools/examples/studies/oversubscription_price/scenario.textproto", axes={"rail_optimized.spines": [2]},
                           prices="tools/examples/studies/oversubscription_price/prices.textproto", metrics=["prices.fabric_cost"])
        self.assertGreater(weft.study(study).frame["prices.fabric_cost"][0], 0)

    def test_may_have_ranges_and_points(self):
        one = weft.Study(two_ranks(), axes={"flow.queue_pairs": [1]}, metrics="makespan_s", seed=2**64 - 4, replicates=2)
        frame = weft.study(one).frame
        self.assertEqual([int(seed) for seed in frame["seed"]], [2**64 - 4, 2**64 - 3])
        self.assertGreater(frame["makespan_s"][0], 0)
        ranged = weft.Study(QUICKSTART, axes={"flow.wqe_latency": weft.Range(1, 4, "us", values=3, scale="log")},
                            metrics=["makespan_s"], sampling="one_at_a_time")
        self.assertEqual(list(weft.study(ranged).frame["flow.wqe_latency"]), ["1us", "2us", "4us"])
        listed = weft.Study(QUICKSTART, points=[{"flow.queue_pairs": 1}, {"flow.wqe_latency": "2us"}], metrics=["makespan_s"])
        self.assertEqual(list(weft.study(listed).frame["flow.queue_pairs"]), ["1", ""])


class Forecasts(FromTheRoot):
    def test_of_a_cluster_under_slurm_are_those_of_the_command(self):
        cases = Path("tests/golden/cases/predict_slurm_start").resolve()
        nodes, jobs = str(cases / "nodes.txt"), f"{cases / 'queue.json'}:squeue"
        told = weft.predict(nodes=nodes, jobs=jobs, start="5", limit_share=0.7)
        self.assertEqual(told.data, weft_calls.command_json(
            PROGRAM, "predict", f"--nodes={nodes}", f"--jobs={jobs}", "--start=5", "--limit-share=0.7"))
        self.assertTrue(any(note.startswith("the instant is") for note in told.notes))


class Documentation(unittest.TestCase):
    def test_types_of_the_compiled_part_are_those_that_it_has(self):
        """Names and attributes of _native.pyi, and nothing else."""
        def public(names):
            return {name for name in names if not name.startswith("__")}

        stub = ast.parse(Path(weft.__file__).with_name("_native.pyi").read_text(encoding="utf-8"))
        found = {}
        for node in stub.body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = public(one.target.id if isinstance(one, ast.AnnAssign) else one.name for one in node.body)
            elif isinstance(node, ast.FunctionDef):
                found[node.name] = None
            elif isinstance(node, ast.AnnAssign):
                found[node.target.id] = None
        self.assertEqual(set(found), public(dir(weft._native)))
        for name, members in found.items():
            if members is not None:
                self.assertEqual(members, public(dir(getattr(weft._native, name))), name)

    def test_is_there_for_every_name(self):
        for name in weft.__all__:
            thing = getattr(weft, name)
            if name != "TABLES":
                self.assertTrue(inspect.getdoc(thing), name)
        for name in weft.project.__all__:
            self.assertTrue(inspect.getdoc(getattr(weft.project, name)), name)

    def test_explains_every_keyword(self):
        for call in (weft.run, weft.study, weft.calibrate, weft.predict, weft.project.memory, weft.project.training,
                     weft.project.search, weft.project.decentralized, weft.Study):
            text = inspect.getdoc(call)
            for name, parameter in inspect.signature(call).parameters.items():
                self.assertIn(name, text, call)
                self.assertIsNot(parameter.annotation, inspect.Parameter.empty, (call, name))


if __name__ == "__main__":
    unittest.main()
