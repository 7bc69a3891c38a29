// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/gpu_presets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

template <std::size_t A, std::size_t B>
constexpr std::array<NamedValue, A + B> join_values(const std::array<NamedValue, A>& a, const std::array<NamedValue, B>& b) {
  std::array<NamedValue, A + B> all{};
  for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

// Where fitted numbers come from: bench/operator_times.cpp --fit finds them, from rows of which it
// scores none.
constexpr std::string_view fitted_to_perlmutter =
    "fitted to a tenth of estimate-train-time's rows of A100 SXM 80 GB, Perlmutter, which is not scored";
constexpr std::string_view fitted_to_vista = "fitted to a tenth of estimate-train-time's rows of GH200, Vista, which is not scored";
constexpr std::string_view fitted_to_neusight =
    "fitted to a tenth of NeuSight's products in FP32 on this generation, which is not scored";
constexpr std::string_view main_loop = "assumption: barriers and addresses take 2 % of the issue slots of a main loop";
constexpr std::string_view fitted_to_a100_iterations =
    "fitted to iterations that bench/projection_errors draws of vTrain's, Megatron-LM's and Korthikanti's, which are not scored";
constexpr std::string_view unaligned_vtrain =
    "vTrain's iterations at TP 1, whose output layer has 50,257 columns: 78 TFLOP/s, where aligned ones reach 270";
constexpr std::string_view fitted_to_h100_iterations =
    "fitted to iterations that bench/projection_errors draws of Megatron-Core's and NVIDIA's, which are not scored";
constexpr std::string_view like_ampere = "assumption: as A100, where it is fitted to measurements";
constexpr std::string_view like_hopper = "assumption: as Hopper, where it is fitted to measurements";
constexpr std::string_view like_a100_share = "assumption: the share of the boost clock that A100 sustains";
constexpr std::string_view achieved_h100 =
    "S. Bekman, Machine Learning Engineering, maximum achievable matmul FLOPS: 795 of 989 on H100, which this clock gives";
constexpr std::string_view achieved_b200 =
    "S. Bekman, Machine Learning Engineering, maximum achievable matmul FLOPS: 1,745 of 2,250 on B200, which this clock gives";
constexpr std::string_view like_b200_share = "assumption: the share of the peak clock that B200 sustains";
constexpr std::string_view achieved_mi300x =
    "S. Bekman, Machine Learning Engineering, maximum achievable matmul FLOPS: 668 of 1,300, which this clock gives";
constexpr std::string_view achieved_mi355x =
    "S. Bekman, Machine Learning Engineering, maximum achievable matmul FLOPS: 1,565 of 2,300 TFLOP/s, which this clock gives";
constexpr std::string_view exponentials_origin = "CUDA C++ programming guide, throughput of exp2 per clock and multiprocessor";
constexpr std::string_view overhead_origin = "assumption: a kernel of no work takes a few microseconds";
constexpr std::string_view results_once = "assumption: results are written once";
constexpr std::string_view amd_exponentials = "assumption: a quarter of the 64 lanes";

constexpr std::array<NamedValue, 8> volta_fit = {{
    {"matmul_efficiency", "0.98", main_loop},
    {"training_share", "0.88", like_ampere},
    {"unaligned_efficiency", "0.3", like_ampere},
    {"vector_efficiency", "0.98", fitted_to_neusight},
    {"memory_efficiency", "0.85", like_ampere},
    {"result_traffic", "2", like_ampere},
    {"tile_latency", "1.4us", like_ampere},
    {"kernel_overhead", "3us", overhead_origin},
}};
constexpr std::array<NamedValue, 8> ampere_fit = {{
    {"matmul_efficiency", "0.98", main_loop},
    {"training_share", "0.88", fitted_to_a100_iterations},
    {"unaligned_efficiency", "0.3", unaligned_vtrain},
    {"vector_efficiency", "0.92", fitted_to_neusight},
    {"memory_efficiency", "0.85", fitted_to_perlmutter},
    {"result_traffic", "2", fitted_to_perlmutter},
    {"tile_latency", "1.4us", fitted_to_perlmutter},
    {"kernel_overhead", "3us", overhead_origin},
}};
constexpr std::array<NamedValue, 8> hopper_fit = {{
    {"matmul_efficiency", "0.98", main_loop},
    {"training_share", "0.82", fitted_to_h100_iterations},
    {"unaligned_efficiency", "0.3", like_ampere},
    {"vector_efficiency", "0.755", fitted_to_neusight},
    {"memory_efficiency", "0.92", fitted_to_vista},
    {"result_traffic", "1.29", fitted_to_vista},
    {"tile_latency", "0ns", fitted_to_vista},
    {"kernel_overhead", "3us", overhead_origin},
}};
constexpr std::array<NamedValue, 8> blackwell_fit = {{
    {"matmul_efficiency", "0.98", main_loop},
    {"training_share", "0.82", like_hopper},
    {"unaligned_efficiency", "0.3", like_ampere},
    {"vector_efficiency", "0.755", like_hopper},
    {"memory_efficiency", "0.92", like_hopper},
    {"result_traffic", "1.29", like_hopper},
    {"tile_latency", "0ns", like_hopper},
    {"kernel_overhead", "3us", overhead_origin},
}};
constexpr std::array<NamedValue, 8> cdna_fit = {{
    {"matmul_efficiency", "0.98", main_loop},
    {"training_share", "0.88", like_ampere},
    {"unaligned_efficiency", "0.3", like_ampere},
    {"vector_efficiency", "0.9", like_ampere},
    {"memory_efficiency", "0.85", like_ampere},
    {"result_traffic", "1", results_once},
    {"tile_latency", "1.4us", like_ampere},
    {"kernel_overhead", "3us", overhead_origin},
}};
constexpr std::array<NamedValue, 12> gv100 = {{
    {"generation", "volta", "V100 white paper"},
    {"multiprocessors", "80", "V100 white paper: SMs"},
    {"tf32", "none", "V100 white paper: there is none"},
    {"bf16", "none", "V100 white paper: there is none"},
    {"fp8", "none", "V100 white paper: there is none"},
    {"fp4", "none", "V100 white paper: there is none"},
    {"int8", "none", "V100 white paper: no matrix units for it"},
    {"exponentials", "16", exponentials_origin},
    {"memory_bandwidth", "7200Gbps", "V100 data sheet: 900 GB/s"},
    {"l2", "6MB", "V100 white paper"},
    {"memory_side_cache", "0B", "V100 white paper: there is none"},
    {"shared_memory", "96KiB", "V100 white paper"},
}};
constexpr std::array<NamedValue, 6> v100_sxm2_numbers = {{
    {"peak_clock", "1530MHz", "V100 white paper: boost clock"},
    {"sustained_clock", "1379MHz", like_a100_share},
    {"fp32", "15.7TFLOPS", "V100 data sheet, SXM2"},
    {"fp16", "125TFLOPS", "V100 data sheet"},
    {"memory", "32GiB", "V100 data sheet, whose GB are GiB: nvidia-smi shows 32,768 MiB"},
    {"l2_bandwidth", "25067Gbps", "A100 white paper: 2,048 B per clock"},
}};
constexpr std::array<NamedValue, 6> v100_pcie_numbers = {{
    {"peak_clock", "1380MHz", "V100 data sheet: 112 TFLOP/s over 640 tensor cores of 128 operations per clock, rounded"},
    {"sustained_clock", "1244MHz", like_a100_share},
    {"fp32", "14TFLOPS", "V100 data sheet, PCIe"},
    {"fp16", "112TFLOPS", "V100 data sheet"},
    {"memory", "32GiB", "V100 data sheet, whose GB are GiB: nvidia-smi shows 32,768 MiB"},
    {"l2_bandwidth", "22610Gbps", "A100 white paper: 2,048 B per clock"},
}};
constexpr std::array<NamedValue, 15> ga100 = {{
    {"generation", "ampere", "A100 white paper"},
    {"multiprocessors", "108", "A100 white paper: SMs"},
    {"peak_clock", "1410MHz", "A100 white paper: boost clock"},
    {"fp32", "19.5TFLOPS", "A100 data sheet"},
    {"tf32", "156TFLOPS", "A100 data sheet"},
    {"fp16", "312TFLOPS", "A100 data sheet"},
    {"bf16", "312TFLOPS", "A100 data sheet"},
    {"fp8", "none", "A100 data sheet: there is none"},
    {"fp4", "none", "A100 data sheet: there is none"},
    {"int8", "624TOPS", "A100 data sheet"},
    {"exponentials", "16", exponentials_origin},
    {"l2", "40MB", "A100 white paper"},
    {"memory_side_cache", "0B", "A100 white paper: there is none"},
    {"l2_bandwidth", "57754Gbps", "A100 white paper: 5,120 B per clock"},
    {"shared_memory", "164KiB", "A100 white paper"},
}};
constexpr std::array<NamedValue, 1> a100_sxm_clock = {{
    {"sustained_clock", "1271MHz", fitted_to_perlmutter},
}};
constexpr std::array<NamedValue, 1> a100_pcie_clock = {{
    {"sustained_clock", "1080MHz", "assumption: 300 W of 400 W leave 0.85 of the clock of SXM"},
}};
constexpr std::array<NamedValue, 2> a100_80gb_sxm_memory = {{
    {"memory", "80GiB", "A100 data sheet, whose GB are GiB: nvidia-smi shows 81,920 MiB"},
    {"memory_bandwidth", "16312Gbps", "A100 data sheet: 2,039 GB/s"},
}};
constexpr std::array<NamedValue, 2> a100_40gb_memory = {{
    {"memory", "40GiB", "A100 data sheet, whose GB are GiB: nvidia-smi shows 40,960 MiB"},
    {"memory_bandwidth", "12440Gbps", "A100 data sheet: 1,555 GB/s"},
}};
constexpr std::array<NamedValue, 2> a100_80gb_pcie_memory = {{
    {"memory", "80GiB", "A100 data sheet, whose GB are GiB: nvidia-smi shows 81,920 MiB"},
    {"memory_bandwidth", "15480Gbps", "A100 data sheet: 1,935 GB/s"},
}};
constexpr std::array<NamedValue, 15> gh100 = {{
    {"generation", "hopper", "H100 white paper"},
    {"multiprocessors", "132", "H100 white paper: SMs of SXM5"},
    {"peak_clock", "1830MHz", "H100 white paper: boost clock of tensor cores; FP32 has its peak at 1,980 MHz"},
    {"fp32", "66.9TFLOPS", "H100 white paper"},
    {"tf32", "494.7TFLOPS", "H100 white paper, dense"},
    {"fp16", "989.4TFLOPS", "H100 white paper, dense"},
    {"bf16", "989.4TFLOPS", "H100 white paper, dense"},
    {"fp8", "1978.9TFLOPS", "H100 white paper, dense"},
    {"fp4", "none", "H100 white paper: there is none"},
    {"int8", "1978.9TOPS", "H100 white paper, dense"},
    {"exponentials", "16", exponentials_origin},
    {"l2", "50MB", "H100 white paper"},
    {"memory_side_cache", "0B", "H100 white paper: there is none"},
    {"l2_bandwidth", "74957Gbps", "assumption: 5,120 B per clock, as A100"},
    {"shared_memory", "228KiB", "H100 white paper"},
}};
constexpr std::array<NamedValue, 3> h100_sxm_numbers = {{
    {"sustained_clock", "1530MHz", achieved_h100},
    {"memory", "81559MiB", "nvidia-smi on H100 SXM; data sheet: 80 GB"},
    {"memory_bandwidth", "26816Gbps", "H100 data sheet: 3,352 GB/s"},
}};
constexpr std::array<NamedValue, 3> h200_numbers = {{
    {"sustained_clock", "1530MHz", achieved_h100},
    {"memory", "143771MiB", "nvidia-smi on H200 SXM; data sheet: 141 GB"},
    {"memory_bandwidth", "38400Gbps", "H200 data sheet: 4.8 TB/s"},
}};
constexpr std::array<NamedValue, 3> gh200_numbers = {{
    {"sustained_clock", "1678MHz", fitted_to_vista},
    {"memory", "97871MiB", "nvidia-smi on GH200 with HBM3; data sheet: 96 GB, with HBM3e 144 GB"},
    {"memory_bandwidth", "32000Gbps", "GH200 data sheet: 4 TB/s; with HBM3e 4.9"},
}};
constexpr std::array<NamedValue, 18> b200_numbers = {{
    {"generation", "blackwell", "NVIDIA, Blackwell technical brief"},
    {"multiprocessors", "148", "18,944 FP32 lanes of 128 per SM, as third-party tables list them; not in the data sheet"},
    {"peak_clock", "1856MHz", "2,250 TFLOP/s over 148 SMs of 8,192 operations per clock"},
    {"sustained_clock", "1480MHz", achieved_b200},
    {"fp32", "75TFLOPS", "HGX B200 data sheet, an eighth"},
    {"tf32", "1125TFLOPS", "HGX B200 data sheet, dense"},
    {"fp16", "2250TFLOPS", "HGX B200 data sheet, dense"},
    {"bf16", "2250TFLOPS", "HGX B200 data sheet, dense"},
    {"fp8", "4500TFLOPS", "HGX B200 data sheet, dense"},
    {"fp4", "9PFLOPS", "HGX B200 data sheet, dense"},
    {"int8", "4500TOPS", "HGX B200 data sheet, dense"},
    {"exponentials", "16", exponentials_origin},
    {"memory", "183359MiB", "nvidia-smi on HGX B200; data sheet: 1.44 TB over 8"},
    {"memory_bandwidth", "64000Gbps", "HGX B200 data sheet: 64 TB/s over 8"},
    {"l2", "126MB", "assumption: 126 MB of two dies, as users report; not in the data sheet"},
    {"memory_side_cache", "0B", "there is none"},
    {"l2_bandwidth", "152044Gbps", "assumption: 5,120 B per clock and die, as A100"},
    {"shared_memory", "228KiB", "CUDA C++ programming guide, compute capability 10.0"},
}};
constexpr std::array<NamedValue, 18> gb200_numbers = {{
    {"generation", "blackwell", "NVIDIA, Blackwell technical brief"},
    {"multiprocessors", "148", "18,944 FP32 lanes of 128 per SM, as third-party tables list them; not in the data sheet"},
    {"peak_clock", "2062MHz", "2,500 TFLOP/s over 148 SMs of 8,192 operations per clock"},
    {"sustained_clock", "1644MHz", like_b200_share},
    {"fp32", "80TFLOPS", "GB200 NVL72 data sheet, a share of 72"},
    {"tf32", "1250TFLOPS", "GB200 NVL72 data sheet, dense"},
    {"fp16", "2500TFLOPS", "GB200 NVL72 data sheet, dense"},
    {"bf16", "2500TFLOPS", "GB200 NVL72 data sheet, dense"},
    {"fp8", "5PFLOPS", "GB200 NVL72 data sheet, dense"},
    {"fp4", "10PFLOPS", "GB200 NVL72 data sheet, dense"},
    {"int8", "5000TOPS", "GB200 NVL72 data sheet, dense"},
    {"exponentials", "16", exponentials_origin},
    {"memory", "189471MiB", "nvidia-smi on GB200; GB200 NVL72 data sheet: 13.4 TB over 72"},
    {"memory_bandwidth", "64000Gbps", "GB200 NVL72 data sheet: 576 TB/s over 72"},
    {"l2", "126MB", "assumption: 126 MB of two dies, as users report; not in the data sheet"},
    {"memory_side_cache", "0B", "there is none"},
    {"l2_bandwidth", "168919Gbps", "assumption: 5,120 B per clock and die, as A100"},
    {"shared_memory", "228KiB", "CUDA C++ programming guide, compute capability 10.0"},
}};
constexpr std::array<NamedValue, 18> gb300_numbers = {{
    {"generation", "blackwell", "NVIDIA, Blackwell technical brief"},
    {"multiprocessors", "148", "assumption: as B200"},
    {"peak_clock", "2062MHz", "2,500 TFLOP/s over 148 SMs of 8,192 operations per clock"},
    {"sustained_clock", "1644MHz", like_b200_share},
    {"fp32", "83TFLOPS", "GB300 NVL72 data sheet, a share of 72"},
    {"tf32", "1250TFLOPS", "GB300 NVL72 data sheet, dense"},
    {"fp16", "2500TFLOPS", "GB300 NVL72 data sheet, dense"},
    {"bf16", "2500TFLOPS", "GB300 NVL72 data sheet, dense"},
    {"fp8", "5PFLOPS", "GB300 NVL72 data sheet, dense"},
    {"fp4", "15PFLOPS", "GB300 NVL72 data sheet, dense"},
    {"int8", "167TOPS", "GB300 NVL72 data sheet: 24 POPS, sparse, over 72"},
    {"exponentials", "32", "NVIDIA on Blackwell Ultra: twice the exponentials of Blackwell"},
    {"memory", "284208MiB", "nvidia-smi on GB300; GB300 NVL72 data sheet: 20 TB over 72"},
    {"memory_bandwidth", "64000Gbps", "GB300 NVL72 data sheet: 576 TB/s over 72"},
    {"l2", "126MB", "assumption: 126 MB of two dies, as users report; not in the data sheet"},
    {"memory_side_cache", "0B", "there is none"},
    {"l2_bandwidth", "168919Gbps", "assumption: 5,120 B per clock and die, as A100"},
    {"shared_memory", "228KiB", "CUDA C++ programming guide, compute capability 10.0"},
}};
constexpr std::array<NamedValue, 18> mi300x_numbers = {{
    {"generation", "cdna", "AMD, CDNA 3 white paper"},
    {"multiprocessors", "304", "MI300X data sheet: compute units"},
    {"peak_clock", "2100MHz", "MI300X data sheet: peak engine clock"},
    {"sustained_clock", "1105MHz", achieved_mi300x},
    {"fp32", "163.4TFLOPS", "MI300X data sheet"},
    {"tf32", "653.7TFLOPS", "MI300X data sheet, dense"},
    {"fp16", "1307.4TFLOPS", "MI300X data sheet, dense"},
    {"bf16", "1307.4TFLOPS", "MI300X data sheet, dense"},
    {"fp8", "2614.9TFLOPS", "MI300X data sheet, dense"},
    {"fp4", "none", "MI300X data sheet: there is none"},
    {"int8", "2614.9TOPS", "MI300X data sheet, dense"},
    {"exponentials", "16", amd_exponentials},
    {"memory", "192GiB", "MI300X data sheet, whose GB are GiB: 8 stacks of 24 GiB"},
    {"memory_bandwidth", "42400Gbps", "MI300X data sheet: 5.3 TB/s"},
    {"l2", "32MB", "CDNA 3 white paper: 4 MB for each of 8 XCDs"},
    {"memory_side_cache", "256MB", "CDNA 3 white paper: Infinity Cache"},
    {"l2_bandwidth", "275251Gbps", "CDNA 3 white paper: 2,048 B per clock and XCD"},
    {"shared_memory", "64KiB", "CDNA 3 white paper: local data share"},
}};
constexpr std::array<NamedValue, 18> mi355x_numbers = {{
    {"generation", "cdna", "AMD, CDNA 4 white paper"},
    {"multiprocessors", "256", "MI355X data sheet: compute units"},
    {"peak_clock", "2400MHz", "MI355X data sheet: peak engine clock"},
    {"sustained_clock", "1555MHz", achieved_mi355x},
    {"fp32", "157.3TFLOPS", "MI355X data sheet"},
    {"tf32", "none", "CDNA 4 white paper: no matrix units for it"},
    {"fp16", "2516.6TFLOPS", "MI355X data sheet, dense"},
    {"bf16", "2516.6TFLOPS", "MI355X data sheet, dense"},
    {"fp8", "5033.2TFLOPS", "MI355X data sheet, dense"},
    {"fp4", "10066.3TFLOPS", "MI355X data sheet, dense"},
    {"int8", "5033.2TOPS", "MI355X data sheet, dense"},
    {"exponentials", "32", "CDNA 4 white paper: twice the transcendental rate of CDNA 3"},
    {"memory", "288GiB", "MI355X data sheet, whose GB are GiB: 8 stacks of 36 GiB"},
    {"memory_bandwidth", "64000Gbps", "MI355X data sheet: 8 TB/s"},
    {"l2", "32MB", "CDNA 4 white paper: 4 MB for each of 8 XCDs"},
    {"memory_side_cache", "256MB", "CDNA 4 white paper: Infinity Cache"},
    {"l2_bandwidth", "314573Gbps", "CDNA 4 white paper: 2,048 B per clock and XCD"},
    {"shared_memory", "160KiB", "CDNA 4 white paper: local data share"},
}};

constexpr auto v100_sxm2_values = join_values(join_values(gv100, v100_sxm2_numbers), volta_fit);
constexpr auto v100_pcie_values = join_values(join_values(gv100, v100_pcie_numbers), volta_fit);
constexpr auto a100_sxm_80gb_values =
    join_values(join_values(join_values(ga100, a100_sxm_clock), a100_80gb_sxm_memory), ampere_fit);
constexpr auto a100_sxm_40gb_values = join_values(join_values(join_values(ga100, a100_sxm_clock), a100_40gb_memory), ampere_fit);
constexpr auto a100_pcie_80gb_values =
    join_values(join_values(join_values(ga100, a100_pcie_clock), a100_80gb_pcie_memory), ampere_fit);
constexpr auto a100_pcie_40gb_values = join_values(join_values(join_values(ga100, a100_pcie_clock), a100_40gb_memory), ampere_fit);
constexpr auto h100_sxm_values = join_values(join_values(gh100, h100_sxm_numbers), hopper_fit);
constexpr auto h200_values = join_values(join_values(gh100, h200_numbers), hopper_fit);
constexpr auto gh200_values = join_values(join_values(gh100, gh200_numbers), hopper_fit);
constexpr auto b200_values = join_values(b200_numbers, blackwell_fit);
constexpr auto gb200_values = join_values(gb200_numbers, blackwell_fit);
constexpr auto gb300_values = join_values(gb300_numbers, blackwell_fit);
constexpr auto mi300x_values = join_values(mi300x_numbers, cdna_fit);
constexpr auto mi355x_values = join_values(mi355x_numbers, cdna_fit);

constexpr std::array<ModuleInfo, 14> gpu_list = {{
    {"gpu", "v100_sxm2", "NVIDIA V100 SXM2 of 32 GB.", {}, v100_sxm2_values},
    {"gpu", "v100_pcie", "NVIDIA V100 PCIe of 32 GB.", {}, v100_pcie_values},
    {"gpu", "a100_sxm_80gb", "NVIDIA A100 SXM4 of 80 GB.", {}, a100_sxm_80gb_values},
    {"gpu", "a100_sxm_40gb", "NVIDIA A100 SXM4 of 40 GB.", {}, a100_sxm_40gb_values},
    {"gpu", "a100_pcie_80gb", "NVIDIA A100 PCIe of 80 GB.", {}, a100_pcie_80gb_values},
    {"gpu", "a100_pcie_40gb", "NVIDIA A100 PCIe of 40 GB.", {}, a100_pcie_40gb_values},
    {"gpu", "h100_sxm", "NVIDIA H100 SXM5 of 80 GB.", {}, h100_sxm_values},
    {"gpu", "h200", "NVIDIA H200 SXM5 of 141 GB.", {}, h200_values},
    {"gpu", "gh200", "The GPU of NVIDIA GH200, with 96 GB of HBM3.", {}, gh200_values},
    {"gpu", "b200", "NVIDIA B200 SXM of HGX B200, 180 GB.", {}, b200_values},
    {"gpu", "gb200", "A GPU of NVIDIA GB200 NVL72, 186 GB.", {}, gb200_values},
    {"gpu", "gb300", "A GPU of NVIDIA GB300 NVL72, 279 GB.", {}, gb300_values},
    {"gpu", "mi300x", "AMD Instinct MI300X of 192 GB.", {}, mi300x_values},
    {"gpu", "mi355x", "AMD Instinct MI355X of 288 GB.", {}, mi355x_values},
}};

}  // namespace

std::span<const ModuleInfo> gpu_presets() { return gpu_list; }

ParamSet with_named_gpu(ParamSet params, const SourcePlace& place) {
  const std::string name = params.text("preset");
  const auto preset = std::ranges::find(gpu_list, name, &ModuleInfo::name);
  WEFT_CHECK(preset != gpu_list.end(), "every choice of the parameter preset is a GPU");
  for (const NamedValue& value : preset->values) {
    if (!params.is_given(value.name)) params.set(value.name, value.value, place);
  }
  return params;
}

}  // namespace weft
