#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables: what is written passes the checker, what the checker finds, what is left after a write that was cut off."""

import tempfile
import unittest
from pathlib import Path

from sampler_testing import ROOT
from kernel_sampler.faults import UseError
from kernel_sampler.journal import Identity, Journal
from kernel_sampler.launch import Layout
from kernel_sampler.shapes import FUNCTIONS
from kernel_sampler.tables import TableName, append_line, gpu_in_names, header, read_name, read_rows, row, table_faults, tables_below

REAL = ROOT / ".." / "shared" / "data" / "kernels" / "estimate_train_time"
# Of theirs, what is sampled here under another name or in another form: sizes of collectives in two tables, tables of all layouts
# together, an optimizer by counts of parameters.
OTHER_NAMES = ("_large_", "_optimizer_fp16.csv", "allreduce_fp16.csv")
STAGES = ("firstStage", "middleStage", "lastStage")


class Names(unittest.TestCase):
    def test_there_and_back(self):
        for name in (
            TableName("NVIDIAA100-SXM4-80GB", "linear_final", "fp16"),
            TableName("AMDInstinctMI300X", "linear1", "fp8_e4m3"),
            TableName("X", "allreduce", "bf16", Layout(2, 4)),
        ):
            self.assertEqual(read_name(name.path.name), name)
        self.assertEqual(str(TableName("X", "p2p", "bf16", Layout(1, 2)).path), "nccl/X_p2p_bf16_1_2.csv")

    def test_gpus_have_no_underscore(self):
        self.assertEqual(gpu_in_names("NVIDIA A100-SXM4-80GB"), "NVIDIAA100-SXM4-80GB")
        self.assertEqual(gpu_in_names("AMD Instinct_MI300X (OAM)"), "AMDInstinct-MI300XOAM")
        self.assertEqual(gpu_in_names("()"), "unnamed")

    def test_what_is_no_table(self):
        for name in ("A100.csv", "A100_linear1.csv", "A100_linear1_fp16.txt", "A100_linear1_fp16_1.csv", "A100_linear1_fp16_0_2.csv", "_a_fp16.csv"):
            self.assertIsNone(read_name(name), name)


class Tables(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name) / "operator" / "A100_linear2_fp16.csv"

    def write(self, text):
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(text, encoding="utf-8")

    def test_what_is_written_is_right(self):
        for function in FUNCTIONS.values():
            layout = Layout(2, 2) if function.is_collective else None
            sizes = {"mp": 2, "b": 2, "h": 16, "l": 64, "dim": 1024, "ffn": 256, "vocab": 512, "encoders": 2, "experts": 8, "topk": 2}
            sizes |= {"groups": 4, "rows": 64, "skew": 1.5, "columns": 64, "inner": 64, "shape": 4096}
            times_us = [12.34567, 0.00001] if function.has_backward else [12.34567]
            path = Path(self.folder.name) / TableName("A100", function.name, "fp16", layout).path
            append_line(path, row(function, sizes, layout, times_us), header(function))
            self.assertEqual(table_faults(path), [], function.name)
            (read,) = read_rows(path)
            self.assertEqual({column: read[column] for column in function.columns}, {column: sizes[column] for column in function.columns})
            # What took no time is not 0: readers refuse that.
            self.assertEqual(list(read.values())[-len(times_us) :], [12.3457, 0.0001][: len(times_us)])
        self.assertEqual(len(tables_below(Path(self.folder.name))), len(FUNCTIONS))

    def test_a_row_that_was_cut_off_goes(self):
        line = "1,2,64,256,10.0000,20.0000"
        head = header(FUNCTIONS["linear2"])
        for left in ("", head[:5], head + "\n", f"{head}\n{line}\n", f"{head}\n{line}\n{line[:7]}", f"{head}\n{line}\n" + "7" * 10000):
            self.write(left)
            append_line(self.path, line, head)
            self.assertEqual(table_faults(self.path), [], left)
            self.assertEqual(len(list(read_rows(self.path))), 2 if left.count("\n") == 2 else 1)

    def test_what_the_checker_finds(self):
        head = header(FUNCTIONS["linear2"])
        for text, fault in (
            ("", ":1: the columns are not"),
            ("mp,b,l,F_dur(us),B_dur(us)\n1,1,1,1,1\n", ":1: the columns are not"),
            (f"{head}\n", "no rows"),
            (f"{head}\n1,2,64,256,10\n", ":2: 5 fields instead of 6"),
            (f"{head}\n1,2,64,256,10,20\n1,2,64,256,0,20\n", ':3: F_dur(us) is "0"'),
            (f"{head}\n1,2,64,256,10,nan\n", ':2: B_dur(us) is "nan"'),
            (f"{head}\n1,2,64,256,10,1e3\n", ':2: B_dur(us) is "1e3"'),
            (f"{head}\n3,2,64,256,10,20\n", ":2: linear2 has no kernel"),
        ):
            self.write(text)
            faults = table_faults(self.path)
            self.assertEqual(len(faults), 1, text)
            self.assertIn(fault, faults[0])

    def test_layouts_of_name_and_rows_agree(self):
        path = Path(self.folder.name) / "A100_allreduce_fp16_1_2.csv"
        path.write_text("shape,nodes,GPUsPerNode,dur(us)\n1024,1,2,10\n1024,1,4,10\n", encoding="utf-8")
        self.assertEqual(len(table_faults(path)), 1)
        for name in ("A100_allreduce_fp16.csv", "A100_linear2_fp16_1_2.csv", "A100_linear7_fp16.csv", "other.csv"):
            self.assertEqual(len(table_faults(path.with_name(name))), 1, name)

    def test_the_checker_takes_real_tables(self):
        if not REAL.is_dir():
            self.skipTest(f"{REAL} is not there")
        tables = [
            path for path in REAL.rglob("*_fp16*.csv")
            if not any(name in path.name for name in OTHER_NAMES) or any(stage in path.name for stage in STAGES)
        ]  # fmt: skip
        self.assertGreater(len(tables), 40)
        for path in tables:
            self.assertEqual(table_faults(path), [], path)


class Journals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_machines_and_types_are_not_mixed(self):
        first = Identity("A100", "fp16", "2.6", "CUDA 12.4", "warm")
        for _ in range(2):
            with Journal(self.folder).claimed(first):
                pass
        for other in (
            Identity("H100", "fp16", "2.6", "CUDA 12.4", "warm"), Identity("A100", "bf16", "2.6", "CUDA 12.4", "warm"),
            Identity("A100", "fp16", "2.7", "CUDA 12.4", "warm"), Identity("A100", "fp16", "2.6", "CUDA 12.4", "cold"),
        ):  # fmt: skip
            with self.assertRaisesRegex(UseError, "has samples of"), Journal(self.folder).claimed(other):
                pass

    def test_one_sampler_at_a_time(self):
        identity = Identity("A100", "fp16", "2.6", "CUDA 12.4", "warm")
        with Journal(self.folder).claimed(identity):
            with self.assertRaisesRegex(UseError, "another sampler"), Journal(self.folder).claimed(identity):
                pass

    def test_half_an_entry_does_not_count(self):
        journal = Journal(self.folder)
        journal.note({"function": "gelu"})
        with (self.folder / "measurements.jsonl").open("a", encoding="utf-8") as file:
            file.write('{"function": "ge')
        self.assertEqual(list(journal.entries()), [{"function": "gelu"}])
        journal.note({"function": "swiglu"})
        self.assertEqual(list(journal.entries()), [{"function": "gelu"}, {"function": "swiglu"}])


if __name__ == "__main__":
    unittest.main()
