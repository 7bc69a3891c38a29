#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Axes as users write them, and points that are kernels."""

import tempfile
import unittest
from pathlib import Path

import sampler_testing  # noqa: F401  (puts the package on the path)
from kernel_sampler.faults import UseError
from kernel_sampler.grid import DEFAULT_AXES, Grid, read_values
from kernel_sampler.shapes import FUNCTIONS, group_rows, words


class Values(unittest.TestCase):
    def test_numbers_and_ranges(self):
        self.assertEqual(read_values("4,1,2,1"), [1, 2, 4])
        self.assertEqual(read_values("1024..2048:512"), [1024, 1536, 2048])
        self.assertEqual(read_values("1024..2000:512"), [1024, 1536])
        self.assertEqual(read_values("1..64*2, 100"), [1, 2, 4, 8, 16, 32, 64, 100])
        self.assertEqual(read_values("1,1.5"), [1, 1.5])

    def test_products_end_where_they_say(self):
        # 1024 * 2^20; logarithms of it are a little off.
        values = read_values(DEFAULT_AXES["shape"])
        self.assertEqual((values[0], values[-1]), (1024, 2**30))
        self.assertEqual({value % 256 for value in values}, {0})

    def test_what_is_refused(self):
        for text in ("", "x", "0", "-1", "nan", "1e99", "1..2", "2..1:1", "1..4*1", "1..4:0", "1..1000000:1", "1..2..3:1"):
            with self.subTest(text), self.assertRaises(UseError):
                read_values(text)


class Points(unittest.TestCase):
    def test_every_column_has_an_axis(self):
        for function in FUNCTIONS.values():
            self.assertLessEqual(set(function.columns), set(DEFAULT_AXES), function.name)
            self.assertTrue(any(True for _ in Grid().points(function)), function.name)

    def test_an_axis_of_one_function(self):
        grid = Grid()
        grid.set("dim=512")
        grid.set("linear1.dim = 64, 128")
        self.assertEqual(grid.values(FUNCTIONS["linear1"], "dim"), [64, 128])
        self.assertEqual(grid.values(FUNCTIONS["linear2"], "dim"), [512])

    def test_what_is_no_axis(self):
        for assignment in ("x=1", "linear9.dim=1", "linear1.h=16", "dim", "dim=", "b=1.5"):
            with self.subTest(assignment), self.assertRaises(UseError):
                Grid().set(assignment)

    def test_a_file_says_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "grid"
            path.write_text("# widths\ndim = 64  # one\n\nl = 8,\n", encoding="utf-8")
            with self.assertRaisesRegex(UseError, r"grid:4: "):
                Grid().read(path)
            with self.assertRaisesRegex(UseError, "cannot be read"):
                Grid().read(Path(folder) / "none")

    def test_heads_are_whole(self):
        grid = Grid()
        for assignment in ("mp=1,2,4", "b=1", "l=64", "h=6", "dim=384,768,1020,1536"):
            grid.set(assignment)
        # 6 heads do not go into 4; 1020 / 6 = 170 is no multiple of 8; fused attention has 256 at most.
        points = [(sizes["mp"], sizes["dim"]) for _, sizes in grid.points(FUNCTIONS["flash_atten"])]
        self.assertEqual(points, [(1, 384), (1, 768), (1, 1536), (2, 384), (2, 768), (2, 1536)])
        grid.set("dim=3072")
        self.assertEqual(list(grid.points(FUNCTIONS["flash_atten"])), [])
        self.assertEqual(len(list(grid.points(FUNCTIONS["bmm"]))), 2)


class Shapes(unittest.TestCase):
    def test_words_are_those_of_llemma(self):
        # estimate-train-time prints [16384 25216 4096] for its output layer on 2 ranks.
        self.assertEqual(words(2), 25216)
        self.assertEqual(FUNCTIONS["linear_final"].kernel({"mp": 2, "b": 4, "l": 4096, "dim": 4096}), (16384, 25216, 4096))
        self.assertEqual(FUNCTIONS["linear1"].kernel({"mp": 2, "b": 4, "l": 4096, "dim": 4096}), (16384, 6144, 4096))
        self.assertEqual(FUNCTIONS["linear4"].kernel({"mp": 2, "b": 4, "l": 4096, "dim": 4096}), (16384, 4096, 8192))
        self.assertEqual(FUNCTIONS["RoPE"].kernel({"mp": 2, "b": 4, "h": 32, "l": 4096, "dim": 4096}), (4096, 4, 16, 128))

    def test_rows_of_experts_add_up(self):
        expert = FUNCTIONS["expert_gemm"]
        for rows, skew, groups in ((64, 1, 4), (65, 1, 4), (64, 2, 4), (1000, 1.5, 7), (8, 1, 8), (8, 1, 1)):
            kernel = expert.kernel({"rows": rows, "skew": skew, "columns": 8, "inner": 8, "groups": groups})
            counts = group_rows(rows, kernel[1], groups)
            self.assertEqual((sum(counts), len(counts), max(counts)), (rows, groups, kernel[1]))
            self.assertGreaterEqual(min(counts), 0)
        # All of four groups' rows in one would be a skew of 4: no kernel of 4 groups.
        self.assertFalse(expert.is_kernel({"rows": 64, "skew": 4, "columns": 8, "inner": 8, "groups": 4}))


if __name__ == "__main__":
    unittest.main()
