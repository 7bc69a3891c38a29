#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole way on a CPU, with PyTorch: kernels run, tables come, runs that were cut off go on. Ends with 77 where there is no PyTorch.

Nothing here rests on how long a kernel took.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path
from unittest import mock

import sampler_testing
from sampler_testing import command, environment, run

PYTHON = sampler_testing.python_with_torch()
if PYTHON is None:
    print("skipped: no Python here has PyTorch (Debian's package python3-torch)")
    sys.exit(77)
if PYTHON != sys.executable:
    os.execv(PYTHON, [PYTHON, "-B", *sys.argv])

import torch

from kernel_sampler import devices
from kernel_sampler.faults import Unavailable, UseError
from kernel_sampler.operators import MAKERS, Maker, SplitCrossEntropy, make_calls
from kernel_sampler.sampling import LeftOut, attempt, settle
from kernel_sampler.shapes import FUNCTIONS, OPERATORS, optimizer_parameters
from kernel_sampler.tables import read_rows, table_faults, tables_below

# A kernel of each function, or two.
SMALL = """
mp = 1,2
b = 1
h = 2
l = 16
dim = 64
ffn = 64
vocab = 128
encoders = 1
experts = 4
topk = 2
groups = 4
rows = 32
skew = 1,2
columns = 16
inner = 16
shape = 1024,4096
linear_final.mp = 2
parallel_cross_entropy_128.mp = 2
embedding.mp = 2
firstStage_optimizer.mp = 2
lastStage_optimizer.mp = 2
"""
QUICK = ["--device=cpu", "--type=fp32", "--warm-up=1", "--samples=3", "--window=0.01"]
HAS_ATTENTION = hasattr(torch.nn.functional, "scaled_dot_product_attention")
NEW = {"flash_atten": HAS_ATTENTION, "causal_flash_atten": HAS_ATTENTION, "grouped_gemm": hasattr(torch.nn.functional, "grouped_mm")}


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "out"
        self.grid = Path(folder.name) / "grid"
        self.grid.write_text(SMALL, encoding="utf-8")

    def sample(self, *flags, **variables):
        answer = run(*QUICK, f"--out={self.out}", f"--grid={self.grid}", *flags, **variables)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return answer

    def rows(self):
        """Of each function. All tables are right."""
        tables = tables_below(self.out)
        self.assertEqual([fault for path in tables for fault in table_faults(path)], [])
        return {path.name.split("_", 1)[1].removesuffix("_fp32.csv"): len(list(read_rows(path))) for path in tables}

    def entries(self):
        return [json.loads(line) for line in (self.out / "measurements.jsonl").read_text(encoding="utf-8").splitlines()]


class Operators(Folder):
    def test_every_operator_has_its_table(self):
        answer = self.sample()
        rows = self.rows()
        self.assertEqual(set(rows), {name for name in OPERATORS if NEW.get(name, True)})
        for name, is_there in NEW.items():
            self.assertEqual(f"note: {name} is left out: PyTorch" in answer.stderr, not is_there)
        self.assertEqual((rows["layernorm"], rows["linear1"], rows["expert_gemm"], rows["moe_router"]), (1, 2, 2, 1))
        for entry in self.entries():
            self.assertEqual(len(entry["passes"]), 2 if FUNCTIONS[entry["function"]].has_backward else 1)
            for measured in entry["passes"]:
                self.assertGreaterEqual(measured["samples"], 3)
        # The same again has nothing to do; a finer grid adds what it has more.
        self.assertIn(f"{sum(rows.values())} done before\ntables", self.sample("--functions=" + ",".join(rows)).stdout)
        self.assertIn("2 kernels to sample, 2 done before", self.sample("--functions=linear1", "--set=l=16,32").stdout)
        self.assertEqual(self.rows(), {**rows, "linear1": 4})
        check = run(f"--check={self.out}")
        self.assertEqual((check.returncode, check.stdout), (0, f"{len(rows)} tables, no faults\n"))

    def test_sampling_that_was_killed_goes_on(self):
        # Points of many sizes, and a process that is killed as soon as some are in the table.
        flags = [*QUICK, f"--out={self.out}", "--functions=res_add", "--set=b=1,2,4,8", "--set=l=64..512:64", "--set=dim=64..1024:64"]
        process = subprocess.Popen(command(*flags), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        table = None
        for _ in range(3000):
            table = next(iter(self.out.glob("operator/*_res_add_fp32.csv")), None)
            if process.poll() is not None or (table and table.stat().st_size > 300):
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = self.rows()["res_add"]
        # A machine that lost power may have left half a row.
        with table.open("a", encoding="utf-8") as file:
            file.write("1,2,")
        answer = run(*flags)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn(f" {before} done before", answer.stdout)
        # b l = 64 times 1 to 8 and their 2-, 4- and 8-fold: 1..8, 10, 12, 14, 16, 20, 24, ... 32, 40, 48, 56, 64 are 20; of 16 widths.
        self.assertEqual(self.rows()["res_add"], 20 * 16)

    def test_a_budget_ends_a_run_in_time(self):
        answer = self.sample("--functions=res_add", "--set=dim=64,128", "--budget=1e-9")
        self.assertIn("2 remain; the same command goes on", answer.stdout)
        self.assertEqual(tables_below(self.out), [])

    def test_what_does_not_fit_is_left_out_once(self):
        flags = ["--functions=res_add", "--set=b=1000000", "--set=l=1000000", "--set=dim=64"]
        self.assertIn("1 left out: out of memory", self.sample(*flags).stdout)
        self.assertEqual([entry["left_out"] for entry in self.entries()], ["out of memory"])
        self.assertIn("0 kernels to sample, 1 done before", self.sample(*flags).stdout)

    def test_types_and_caches_are_not_mixed(self):
        self.sample("--functions=res_add")
        for flag, message in (("--type=bf16", "has samples of type fp32, not bf16"), ("--flush-caches", "has samples of caches warm, not cold")):
            answer = run(*QUICK, flag, f"--out={self.out}", "--functions=res_add")
            self.assertEqual(answer.returncode, 2)
            self.assertIn(message, answer.stderr)

    def test_cold_calls_are_alone(self):
        self.sample("--functions=gelu", "--flush-caches")
        self.assertEqual({measured["calls"] for entry in self.entries() for measured in entry["passes"]}, {1})

    def test_a_cpu_has_no_tf32_and_this_machine_no_gpu(self):
        answer = run(*QUICK, "--type=tf32", f"--out={self.out}")
        self.assertEqual((answer.returncode, "has no tf32" in answer.stderr), (2, True))
        if not torch.cuda.is_available():
            answer = run(f"--out={self.out}")
            self.assertEqual((answer.returncode, "PyTorch sees no GPU" in answer.stderr), (2, True))


class Collectives(Folder):
    def test_two_processes(self):
        """As torchrun and srun start them: one writes, both measure."""
        flags = [*QUICK, f"--out={self.out}", f"--grid={self.grid}"]
        with tempfile.TemporaryDirectory() as folder:
            port = str(20000 + os.getpid() % 20000)
            for _ in range(2):
                processes = []
                for rank in ("0", "1"):
                    variables = {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "2"}
                    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo"}
                    log = open(Path(folder) / rank, "w", encoding="utf-8")
                    processes.append(subprocess.Popen(command(*flags), stdout=log, stderr=subprocess.STDOUT, env=environment(**variables, **place)))
                    log.close()
                self.assertEqual([process.wait(200) for process in processes], [0, 0], (Path(folder) / "0").read_text(encoding="utf-8"))
            first, second = ((Path(folder) / rank).read_text(encoding="utf-8") for rank in ("0", "1"))
        rows = self.rows()
        # Gloo gathers into one tensor in newer versions only.
        self.assertLessEqual({"allreduce_fp32_1_2.csv", "alltoall_fp32_1_2.csv", "p2p_fp32_1_2.csv"}, set(rows))
        self.assertEqual(set(rows.values()), {2})
        self.assertIn(f" {sum(rows.values())} done before", first)
        self.assertNotIn("done before", second)


class Kernels(unittest.TestCase):
    """What is timed computes what it should."""

    def setUp(self):
        torch.manual_seed(1)
        self.make = Maker(torch.float32, torch.device("cpu"))

    def test_every_operator_can_be_made(self):
        self.assertEqual(set(MAKERS), set(OPERATORS))

    def test_the_loss_of_one_rank_is_the_whole_loss(self):
        logits, targets = torch.randn(20, 100, requires_grad=True), torch.randint(100, (20,))
        found = SplitCrossEntropy.apply(logits, targets)
        expected = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
        self.assertTrue(torch.allclose(found, expected, atol=1e-5))
        weights = torch.randn(20)
        gradients = [torch.autograd.grad(loss, logits, weights)[0] for loss in (found, expected)]
        self.assertTrue(torch.allclose(*gradients, atol=1e-5))

    def test_experts_have_products_of_their_rows(self):
        # 32 rows in 4 groups, the largest 16: the others share 16.
        calls = make_calls("expert_gemm", (32, 16, 8, 4, 4), self.make)
        self.assertEqual([tuple(output.shape) for output in calls.forward()], [(16, 8), (6, 8), (5, 8), (5, 8)])
        self.assertEqual(len(calls.backward()), 8)

    def test_backward_has_all_gradients(self):
        for name, kernel, shapes in (
            ("linear1", (8, 12, 4), [(8, 4), (12, 4)]),
            ("layernorm", (8, 4), [(8, 4), (4,), (4,)]),
            ("RoPE", (8, 2, 3, 4), [(8, 2, 3, 4), (8, 2, 3, 4)]),
            ("baddbmm", (2, 8, 8, 4), [(2, 8, 4), (2, 8, 4)]),
            ("bmm", (2, 8, 4, 8), [(2, 8, 8), (2, 8, 4)]),
            ("swiglu", (8, 4), [(8, 8)]),
        ):
            calls = make_calls(name, kernel, self.make)
            for _ in range(2):  # the graph is kept
                self.assertEqual([tuple(gradient.shape) for gradient in calls.backward()], shapes, name)

    def test_adam_updates_weights_in_16_bits(self):
        make = Maker(torch.bfloat16, torch.device("cpu"))
        kernel = (16, 2, 1, 64, 1)
        step = make_calls("lastStage_optimizer", kernel, make).forward
        # 12 dim^2 / mp of matrices, 3 + 1 + 4 + 1 vectors of dim / mp, 4 of dim, two more of the last norm, and the table.
        parameters = 12 * 16 * 8 + 9 * 8 + 4 * 16 + 2 * 16 + 64 * 16
        self.assertEqual((step.weights.dtype, step.weights.numel()), (torch.bfloat16, parameters))
        self.assertEqual(optimizer_parameters(kernel), parameters)
        before = step.weights.clone()
        for _ in range(20):
            step()
        self.assertFalse(torch.equal(before, step.weights))


class GpuStopwatch(unittest.TestCase):
    """A GPU's way through a torch.cuda that writes down what it is asked; it has no name that the real one lacks."""

    def setUp(self):
        self.asked = []
        cuda = mock.MagicMock(spec=dir(torch.cuda))
        cuda.is_available.return_value = True
        cuda.device_count.return_value = 2
        cuda.get_device_name.return_value = "NVIDIA A100-SXM4-80GB"
        cuda.Event.side_effect = self.event
        buffer = mock.Mock()
        buffer.fill_.side_effect = lambda value: self.asked.append("fill")
        fake = types.SimpleNamespace(cuda=cuda, empty=lambda *shape, **where: buffer, device=torch.device, uint8=torch.uint8, version=torch.version)
        for patch in (mock.patch.object(devices, "torch", fake), mock.patch.object(devices.time, "perf_counter", self.clock)):
            patch.start()
            self.addCleanup(patch.stop)
        self.cuda = cuda
        self.host_s = 0.0

    def event(self, enable_timing):
        self.assertTrue(enable_timing)
        event = mock.Mock()
        event.record.side_effect = lambda: self.asked.append("event")
        event.elapsed_time.return_value = 2.0  # ms, whatever is between
        return event

    def clock(self):
        return self.host_s

    def launch(self):
        """A call whose launch takes the host 3 ms."""
        self.asked.append("call")
        self.host_s += 3e-3

    def test_the_stream_is_busy_while_calls_are_launched(self):
        gpu = devices.Gpu(1)
        self.cuda.set_device.assert_called_once_with(1)
        self.assertEqual(gpu.name, "NVIDIA A100-SXM4-80GB")
        self.asked.clear()
        # Nothing is known of launches yet; two calls in 2 ms.
        self.assertAlmostEqual(gpu.seconds_per_call(self.launch, 2, False), 1e-3)
        self.assertEqual(self.asked, ["event", "call", "call", "event"])
        self.asked.clear()
        # Two launches take 6 ms, which three fills of 2 ms bridge. Ranks meet behind them.
        gpu.seconds_per_call(self.launch, 2, False, lambda: self.asked.append("align"))
        self.assertEqual(self.asked, ["fill"] * 3 + ["align", "event", "call", "call", "event"])

    def test_cold_calls_come_after_a_fill(self):
        gpu = devices.Gpu(0)
        self.asked.clear()
        gpu.seconds_per_call(lambda: self.asked.append("call"), 1, True)
        self.assertEqual(self.asked, ["fill", "event", "call", "event"])

    def test_a_clock_that_cannot_be_asked_is_not_known(self):
        gpu = devices.Gpu(0)
        self.cuda.clock_rate = mock.Mock(side_effect=ModuleNotFoundError("pynvml"))
        self.assertIsNone(gpu.clock_mhz())
        self.cuda.clock_rate = mock.Mock(return_value=1410)
        self.assertEqual(gpu.clock_mhz(), 1410.0)

    def test_more_processes_than_gpus_are_refused(self):
        with self.assertRaisesRegex(UseError, "there are 2 GPUs, fewer than processes"):
            devices.Gpu(2)
        self.cuda.is_available.return_value = False
        with self.assertRaisesRegex(UseError, "PyTorch sees no GPU"):
            devices.Gpu(0)


class Failures(unittest.TestCase):
    """What a device throws, as PyTorch words it."""

    def test_they_are_told_apart(self):
        for text, expected in (
            ("CUDA out of memory. Tried to allocate 20.00 GiB", LeftOut),
            ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes", LeftOut),
            ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)", LeftOut),
            ('"addmm_impl_cpu_" not implemented for \'Half\'', Unavailable),
            ("no support for _allgather_base in Gloo process group", Unavailable),
            ("CUDA error: an illegal memory access was encountered\nmore", LeftOut),
        ):
            runner = mock.Mock()
            runner.measure.side_effect = RuntimeError(text)
            with self.assertRaises(expected) as raised:
                attempt(runner, mock.Mock())
            self.assertNotIn("\n", str(raised.exception))

    def test_a_gpu_that_failed_ends_the_run(self):
        device = mock.Mock()
        device.settle.side_effect = RuntimeError("CUDA error: an illegal memory access was encountered\nmore")
        device.name = "A100"
        with self.assertRaisesRegex(UseError, "^A100 failed at linear1: CUDA error: an illegal memory access was encountered$"):
            settle(device, "linear1")


if __name__ == "__main__":
    unittest.main()
