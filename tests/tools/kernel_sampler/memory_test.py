#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of layers on a CPU, with PyTorch: what autograd keeps is what Weft calculates. Ends with 77 where there is no PyTorch.

On a GPU bytes are those of its allocator; a torch.cuda that is made up stands for it here.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import sampler_testing
from sampler_testing import run

WEFT = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
PYTHON = sampler_testing.python_with_torch()
if PYTHON is None:
    print("skipped: no Python here has PyTorch (Debian's package python3-torch)")
    sys.exit(77)
if PYTHON != sys.executable:
    os.execv(PYTHON, [PYTHON, "-B", sys.argv[0], *([str(WEFT)] if WEFT else []), *sys.argv[1:]])

import torch

from kernel_sampler import memory_bench
from kernel_sampler.layers import ActivationFunction, CausalSoftmax, RmsNormFunction, ScatterRows, activated
from kernel_sampler.memory_bench import MemoryBench

SHAPE = ["--hidden=64", "--heads=8", "--key-value-heads=4", "--activation=swiglu", "--vocabulary=1000", "--padded-vocabulary=1024", "--sequence=128"]
DENSE = ["--mlp-width=192"]
EXPERTS = ["--experts=4", "--top-k=2", "--expert-width=96"]
QUICK = ["--device=cpu", "--precision=all_fp32", "--unfused-attention", "--samples=1"]
TOKENS, WORDS, FP32 = 128, 1024, 4

# Bytes of a token in FP32: norms' inputs with a number each, the input of queries, keys and values and their outputs, scores of 8 heads
# after softmax, the input of the projection.
NORMS = 2 * (64 * FP32 + FP32)
ATTENTION = (64 + 64 + 2 * 32 + 8 * 128 + 64) * FP32
# The input, gate and up, their product.
MLP = (64 + 2 * 192 + 192) * FP32
# The router's input and shares of 4 experts; of each of two copies its index, its weight and the same for the expert. Indices stand in
# the order of tokens, of experts and of rows.
ROUTER = 64 * FP32 + 4 * FP32 + 2 * (FP32 + 3 * 8)
COPIES = 2 * (64 + 2 * 96 + 96) * FP32

MODEL = """
name: "small"
transformer {
  layers: 12 hidden: 64 vocabulary: 1000 sequence: 128
  attention { heads: 8 key_value_heads: 4 } mlp { width: 192 activation: SWIGLU }
  norm: RMS_NORM positions { kind: ROTARY }
}
"""
PLAN = """
name: "small plan"
pipeline_parallel: 4 global_batch: 16 fused_attention: false
precision { kind: ALL_FP32 }
vocabulary_multiple: 1024
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "bench.textproto"


class Bench(Folder):
    def kept(self, *flags):
        answer = run("memory", *QUICK, *SHAPE, *flags, f"--out={self.out}")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        rows = re.findall(r"layer { kind: (\w+) layers: (\d+) forward_us: ([\d.]+) backward_us: ([\d.]+) activation_bytes: (\d+) }", self.out.read_text())
        for row in rows:
            self.assertGreater(float(row[2]), 0)
            self.assertGreater(float(row[3]), 0)
        return {row[0]: int(row[4]) for row in rows}

    def test_a_dense_layer_keeps_what_is_calculated(self):
        kept = self.kept(*DENSE)
        self.assertEqual(kept["DENSE"], TOKENS * (NORMS + ATTENTION + MLP))
        self.assertEqual(kept["EMBEDDING"], TOKENS * 8)
        # The norm, its output, softmax of the logits; of each token its target and whether it is elsewhere.
        self.assertEqual(kept["OUTPUT"], TOKENS * (64 * FP32 + FP32 + 64 * FP32 + WORDS * FP32 + 8 + 1))

    def test_experts_keep_what_is_calculated(self):
        self.assertEqual(self.kept(*DENSE, *EXPERTS)["EXPERT"], TOKENS * (NORMS + ATTENTION + ROUTER + COPIES))

    def test_types_are_those_of_the_precision(self):
        answer = run("memory", *QUICK, *SHAPE, *DENSE, "--precision=megatron_bf16", f"--out={self.out}")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        peak = int(re.search(r"peak_allocated_bytes: (\d+)", self.out.read_text()).group(1))
        table = 1024 * 64
        layer = 2 * 64 + 64 * 64 * 2 + 64 * 2 * 32 + 3 * 64 * 192
        self.assertGreater(peak, 18 * (2 * table + layer + 64))

    def test_wrong_use_is_told(self):
        for flags, message in (
            ([*SHAPE], "there is no layer"),
            ([*SHAPE, "--experts=4"], "experts have a number and a width"),
            ([*SHAPE, *EXPERTS, "--top-k=5"], "a token has 5 experts of 4"),
            ([*SHAPE, *DENSE, "--key-value-heads=3"], "8 heads are no multiple of 3"),
        ):
            answer = run("memory", *QUICK, *flags)
            self.assertEqual((answer.returncode, message in answer.stderr), (2, True), answer.stderr)
        if not torch.cuda.is_available():
            answer = run("memory", "--unfused-attention", *SHAPE, *DENSE)
            self.assertEqual((answer.returncode, "PyTorch sees no GPU" in answer.stderr), (2, True), answer.stderr)


@unittest.skipIf(WEFT is None, "no weft is given")
class WithWeft(Folder):
    """Weft asks for a benchmark, the sampler makes it, Weft anchors on it."""

    def setUp(self):
        super().setUp()
        (self.folder / "model.textproto").write_text(MODEL)
        (self.folder / "plan.textproto").write_text(PLAN)

    def project(self, *flags):
        command = [str(WEFT), "project", "memory", "./model.textproto", "./plan.textproto", *flags]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder, timeout=300)

    def test_there_and_back(self):
        sampler = f"{PYTHON} -B {sampler_testing.SAMPLER}"
        asked = self.project("--mode=benchmark")
        self.assertEqual(asked.returncode, 2)
        self.assertIn("tools/kernel_sampler memory --model=small --hidden=64 --heads=8", asked.stderr)
        # The same flags as Weft would give, on a CPU.
        wrapper = self.folder / "sampler.py"
        wrapper.write_text(f"import subprocess, sys\nsys.exit(subprocess.call([*{sampler.split()!r}, *sys.argv[1:], '--device=cpu', '--samples=1']))\n")
        made = self.project("--mode=both", "--save-benchmark=made.textproto", f"--sampler={PYTHON} -B {wrapper}")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("activations of dense layers, measured / calculated  1.000", re.sub(r"  +", "  ", made.stdout))
        loaded = self.project("--mode=both", "--load-benchmark=made.textproto")
        self.assertEqual((loaded.returncode, loaded.stdout), (0, made.stdout))


class GpuBytes(unittest.TestCase):
    """A GPU's bytes, by a torch.cuda that says what it is told; it has no name that the real one lacks."""

    def setUp(self):
        self.cuda = mock.MagicMock(spec=dir(torch.cuda))
        patch = mock.patch.object(memory_bench.torch, "cuda", self.cuda)
        patch.start()
        self.addCleanup(patch.stop)
        self.bench = MemoryBench.__new__(MemoryBench)
        self.bench.is_gpu = True

    def test_a_part_keeps_its_input_and_not_its_output(self):
        # 5,000 B more, of which the output has 400; the input of 80 was there before.
        self.cuda.memory_allocated.side_effect = [1000, 6000]
        kept = self.bench.kept_bytes(lambda: torch.zeros(100), torch.zeros(20))
        self.assertEqual(kept, 5000 - 400 + 80)

    def test_reserved_is_all_that_the_process_has(self):
        self.bench.step = lambda: self.cuda.reset_peak_memory_stats.assert_called_once_with()
        self.cuda.max_memory_allocated.return_value = 700
        self.cuda.max_memory_reserved.return_value = 900
        self.cuda.memory_reserved.return_value = 800
        self.cuda.mem_get_info.return_value = (4000, 5000)
        # 1,000 B are taken, 800 of them by the allocator: 200 beside its peak of 900.
        self.assertEqual(self.bench.peaks([]), (700, 1100))


class Functions(unittest.TestCase):
    """Functions with a backward pass of their own have the gradients of autograd."""

    def setUp(self):
        torch.manual_seed(1)

    def same(self, own, plain, *shapes):
        inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
        outputs, expected = own(*inputs), plain(*inputs)
        self.assertTrue(torch.allclose(outputs, expected, atol=1e-6))
        weights = torch.randn_like(outputs)
        for found, right in zip(torch.autograd.grad(outputs, inputs, weights), torch.autograd.grad(expected, inputs, weights)):
            self.assertTrue(torch.allclose(found, right, atol=1e-5))

    def test_gradients(self):
        self.same(RmsNormFunction.apply, lambda x, w: w * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5), (5, 8), (8,))
        for kind in ("gelu", "relu", "swiglu"):
            self.same(lambda x, k=kind: ActivationFunction.apply(x, None, k), lambda x, k=kind: activated(x, k), (5, 8))
            self.same(lambda x, w, k=kind: ActivationFunction.apply(x, w, k), lambda x, w, k=kind: activated(x, k) * w, (5, 8), (5, 1))
        mask = torch.ones(6, 6, dtype=torch.bool).triu(1)
        self.same(
            lambda x: CausalSoftmax.apply(x, 0.25), lambda x: torch.softmax((x * 0.25).masked_fill(mask, float("-inf")), dim=-1), (2, 6, 6)
        )
        places = torch.tensor([2, 0, 2, 1])
        self.same(
            lambda x: ScatterRows.apply(x, places, 3), lambda x: torch.zeros(3, 5, dtype=x.dtype).index_add(0, places, x), (4, 5)
        )


if __name__ == "__main__":
    unittest.main()
