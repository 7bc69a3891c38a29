#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is left to do and in which order, the layouts of a launch, and what the command says about both without PyTorch."""

import tempfile
import unittest
from pathlib import Path

from sampler_testing import run
from kernel_sampler.element_types import element_type
from kernel_sampler.faults import UseError
from kernel_sampler.grid import Grid
from kernel_sampler.journal import Journal
from kernel_sampler.launch import Launch, Layout, read_launch, read_layouts
from kernel_sampler.plan import RATES, Estimate, finished_keys, make_estimate, make_plan
from kernel_sampler.refinement import axis_levels
from kernel_sampler.shapes import FUNCTIONS
from kernel_sampler.tables import TableName, append_line, header, row
from kernel_sampler.timing import TimingSettings

FP16 = element_type("fp16")


def grid_of(*assignments):
    grid = Grid()
    for assignment in assignments:
        grid.set(assignment)
    return grid


class Order(unittest.TestCase):
    def test_levels_halve(self):
        self.assertEqual(axis_levels(0), [])
        self.assertEqual(axis_levels(1), [0])
        self.assertEqual(axis_levels(2), [0, 0])
        self.assertEqual(axis_levels(5), [0, 2, 1, 2, 0])
        self.assertEqual(axis_levels(9), [0, 3, 2, 3, 1, 3, 2, 3, 0])
        for count in range(3, 70):
            self.assertEqual(axis_levels(count).count(0), 2, count)

    def test_corners_come_first_of_all_functions(self):
        grid = grid_of("b=1..16*2", "l=64..320:64", "dim=64..320:64")
        plan = make_plan(["layernorm", "res_add"], grid, [], set())
        corners = {(sizes["l"], sizes["dim"]) for sizes in (point.sizes for point in plan.points[:16])}
        self.assertEqual(corners, {(64, 64), (64, 320), (320, 64), (320, 320)})
        self.assertEqual({point.function.name for point in plan.points[:16]}, {"layernorm", "res_add"})
        levels = [point.rank[0] for point in plan.points]
        self.assertEqual(levels, sorted(levels))

    def test_the_order_is_always_the_same(self):
        grid = grid_of("b=1,2,4", "l=64..320:64", "dim=64..320:64")
        first, second = (make_plan(["gelu", "softmax"], grid, [], set()) for _ in range(2))
        self.assertEqual([str(point) for point in first.points], [str(point) for point in second.points])

    def test_equal_kernels_are_one_point(self):
        # b l is 128, 256 (twice) and 512: three kernels of four points.
        plan = make_plan(["layernorm"], grid_of("b=1,2", "l=128,256", "dim=64"), [], set())
        self.assertEqual(plan.grid_points["layernorm"], 4)
        self.assertEqual(sorted(point.kernel[0] for point in plan.points), [128, 256, 512])
        # Every point of dim is the same mask.
        plan = make_plan(["fillmask"], grid_of("mp=1", "b=1", "h=16", "l=64", "dim=64,128,256"), [], set())
        self.assertEqual(len(plan.points), 1)


class Resume(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.grid = grid_of("b=1,2", "l=128,256", "dim=64")

    def measured(self, name, sizes, suffix="fp16"):
        function = FUNCTIONS[name]
        append_line(self.folder / TableName("A100", name, suffix).path, row(function, sizes, None, [10, 20]), header(function))

    def left(self):
        plan = make_plan(["layernorm"], self.grid, [], finished_keys(self.folder, "A100", "fp16"))
        return sorted(point.kernel[0] for point in plan.points)

    def test_kernels_in_tables_are_done(self):
        self.assertEqual(self.left(), [128, 256, 512])
        self.measured("layernorm", {"b": 4, "l": 64, "dim": 64})  # 256 rows, of other sizes
        self.assertEqual(self.left(), [128, 512])

    def test_points_left_out_are_not_tried_again(self):
        Journal(self.folder).note({"function": "layernorm", "sizes": {"b": 2, "l": 256, "dim": 64}, "left_out": "out of memory"})
        self.assertEqual(self.left(), [128, 256])

    def test_other_types_are_refused(self):
        self.measured("layernorm", {"b": 1, "l": 64, "dim": 64}, "bf16")
        with self.assertRaisesRegex(UseError, "is of type bf16"):
            self.left()

    def test_broken_tables_are_refused(self):
        self.measured("layernorm", {"b": 1, "l": 64, "dim": 64})
        with (self.folder / "operator" / "A100_layernorm_fp16.csv").open("a", encoding="utf-8") as file:
            file.write("1,2\n")
        with self.assertRaisesRegex(UseError, ":3: 2 fields instead of 5"):
            self.left()

    def test_estimates_learn_from_points(self):
        settings = TimingSettings()
        rough = make_estimate(Journal(self.folder), "gpu", FP16, settings)
        points = make_plan(["layernorm"], self.grid, [], set()).points
        slow_s = 3 * rough.seconds(points[:1])
        Journal(self.folder).note({"function": "layernorm", "sizes": dict(points[0].sizes), "wall_s": slow_s})
        learnt = make_estimate(Journal(self.folder), "gpu", FP16, settings)
        self.assertAlmostEqual(learnt.seconds(points), 3 * rough.seconds(points))
        self.assertEqual(learnt.measured_points, 1)

    def test_a_budget_has_a_part_of_the_points(self):
        estimate = Estimate(RATES["gpu"], FP16, TimingSettings())
        points = make_plan(["layernorm"], self.grid, [], set()).points
        each_s = [estimate.seconds([point]) for point in points]
        self.assertEqual(estimate.points_within(points, sum(each_s) + 1e-9), 3)
        self.assertEqual(estimate.points_within(points, each_s[0] + each_s[1] * 0.9), 1)
        self.assertEqual(estimate.points_within(points, 0), 0)


class Launches(unittest.TestCase):
    def test_torchrun_and_slurm(self):
        self.assertEqual(read_launch({}), Launch(0, 1, 0, 1))
        torchrun = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
        self.assertEqual(read_launch(torchrun), Launch(5, 8, 1, 4))
        slurm = {"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_LOCALID": "1", "SLURM_TASKS_PER_NODE": "2(x2)"}
        self.assertEqual(read_launch(slurm), Launch(3, 4, 1, 2))
        self.assertEqual(read_launch({**slurm, **torchrun}), Launch(5, 8, 1, 4))
        # An allocation of one task, in which the sampler is started without srun.
        self.assertEqual(read_launch({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}), Launch())

    def test_uneven_nodes_are_refused(self):
        slurm = {"SLURM_PROCID": "3", "SLURM_NTASKS": "5", "SLURM_LOCALID": "1"}
        for variables in (
            {**slurm, "SLURM_TASKS_PER_NODE": "3,2"}, {**slurm, "SLURM_TASKS_PER_NODE": "2(x2)"},
            {"RANK": "x", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"},
        ):  # fmt: skip
            with self.assertRaises(UseError):
                read_launch(variables)

    def test_layouts(self):
        self.assertEqual(read_layouts("1x2, 2x4,1x2"), [Layout(1, 2), Layout(2, 4)])
        for text in ("1x1", "2", "0x2", "2x", "axb", ""):
            with self.assertRaises(UseError):
                read_layouts(text)
        two_nodes = Launch(0, 16, 0, 8)
        self.assertEqual(Layout(2, 2).ranks(two_nodes), [0, 1, 8, 9])
        self.assertTrue(two_nodes.has(Layout(1, 8)))
        self.assertFalse(two_nodes.has(Layout(4, 1)))

    def test_collectives_are_on_every_layout_that_they_can_be_on(self):
        layouts = [Layout(1, 2), Layout(3, 1)]
        plan = make_plan(["allreduce", "alltoall", "p2p"], grid_of("shape=1024"), layouts, set())
        # 1,024 elements are not shared out among 3 ranks, which are no pairs.
        self.assertEqual(
            sorted((point.function.name, str(point.layout)) for point in plan.points),
            [("allreduce", "1x2"), ("allreduce", "3x1"), ("alltoall", "1x2"), ("p2p", "1x2")],
        )


class Command(unittest.TestCase):
    def test_a_dry_run_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--dry-run", f"--out={folder}", "--functions=layernorm,allreduce", "--set=b=1,2", "--set=l=128,256", "--set=dim=64"]
            answer = run(*flags, "--set=shape=1024,4096", "--layouts=1x2,2x4", "--budget=60")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertIn("layernorm: 4 points, 3 kernels, 0 done, 3 left, about 0 s\n    b 1,2  l 128,256  dim 64\n", answer.stdout)
        self.assertIn("allreduce: 4 points, 4 kernels", answer.stdout)
        self.assertIn("layouts: 1x2 2x4", answer.stdout)
        self.assertIn("in all 7 kernels left, about 0 s (by rough rates of a GPU)", answer.stdout)
        self.assertIn("within 60 min: 7 of them, all", answer.stdout)

    def test_the_default_grid_covers_estimate_train_time(self):
        # Its tables of linear layers have 5 x 3 x 9 x 13 points.
        plan = make_plan(["linear1"], grid_of("b=2,4,8", "l=1024..5120:512", "dim=2048..8192:512"), [], set())
        self.assertEqual(plan.grid_points["linear1"], 1755)
        kernels = {point.key for point in make_plan(["linear1"], Grid(), [], set()).points}
        self.assertLessEqual({point.key for point in plan.points}, kernels)

    def test_help_and_list(self):
        answer = run("--help")
        self.assertEqual(answer.returncode, 0)
        for text in ("--budget=120", "torchrun --nproc-per-node=8", "--set=l=1024..8192:1024", "exit status"):
            self.assertIn(text, answer.stdout)
        answer = run("--list")
        for name, function in FUNCTIONS.items():
            self.assertIn(f"{name}\n    {function.meaning}\n    {header(function)}\n", answer.stdout)

    def test_wrong_use_ends_with_2(self):
        torchrun = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        for flags, variables, message in (
            (["--functions=linear9"], {}, 'there is no function "linear9"'),
            (["--type=fp12"], {}, 'there is no type "fp12"'),
            (["--set=x=1"], {}, 'there is no axis "x"'),
            (["--functions=allreduce"], {}, "collectives need a process for each GPU"),
            (["--functions=linear1,allreduce"], {}, "operators are sampled by one process"),
            (["--functions=linear1"], torchrun, "operators are sampled by one process"),
            (["--layouts=1x8"], torchrun, "none of the layouts fits into 1 nodes x 2 GPUs"),
            (["--type=tf32"], torchrun, "collectives move tf32 as fp32"),
            (["--type=fp8"], torchrun, "there is nothing to sample"),
            (["--type=fp8", "--functions=gelu"], {}, "gelu is not computed in fp8"),
            (["--check=nowhere"], {}, "there are no tables in nowhere"),
            (["--samples=0"], {}, "invalid number above 0 value: '0'"),
        ):
            with self.subTest(flags=flags):
                answer = run(*flags, **variables)
                self.assertEqual(answer.returncode, 2)
                self.assertIn(message, answer.stderr)


if __name__ == "__main__":
    unittest.main()
