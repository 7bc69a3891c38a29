// SPDX-License-Identifier: Apache-2.0
// How far the analytical model of operator times is from kernels that others measured.
//
// Usage: build/bench/operator_times_bench [--data=../shared/data]
//            [--rows=scored|calibration] [--fit]
//
// Prints a table in Markdown: per machine, operator and pass the number of rows scored, the mean
// absolute percentage error (MAPE), its median, the mean error with its sign and the worst.
// Large products are those of 10^11 operations and more, counted by themselves.
//
// Every tenth row, by a hash of its number, is for calibration and not scored: --fit finds the
// constants of a GPU that have the least error on those, and prints them beside what its preset
// has (host/op_times/gpu_presets.cpp). Rows that no GPU can have measured are left out of both,
// and counted: operations above the peak, or bytes above the memory's bandwidth. Where they are
// more than a tenth, the whole column is left out.
//
// Exit status 1 if large products of a machine have a MAPE of 20 % or more, 77 without data.
//
// Data: estimate-train-time's operators on A100 (Perlmutter) and GH200 (Vista), FP16, eager
// PyTorch with GPT-NeoX (host/op_times/sampled_kernel.hpp says what their columns mean); NeuSight's
// FP32 products, layer norms and softmaxes on V100, A100 and H100, and its FP16 products on H100.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/source_text.hpp"
#include "host/op_times/analytical_matmul.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/sampled_kernel.hpp"
#include "host/op_times/sampled_tables.hpp"

namespace weft {
namespace {

constexpr double large_operations = 1e11;
constexpr std::uint64_t calibration_share = 10;
constexpr double impossible_share_max = 0.1;
constexpr double large_error_max = 0.2;
constexpr int exit_missed = 1;
constexpr int exit_wrong_use = 2;
constexpr int exit_no_data = 77;

/// A measured time.
struct Sample {
  Operator op;
  OperatorPass pass = OperatorPass::forward;
  double measured_s = 0;
  std::size_t row = 0;

  bool is_for_calibration() const {
    std::uint64_t hash = (row + 1) * 0x9E3779B97F4A7C15ULL;  // SplitMix64's increment and mixing
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
    return (hash ^ (hash >> 31)) % calibration_share == 0;
  }
  double operations() const { return product_operations(op.shape, pass); }
};

struct Group {
  std::string machine;
  std::string gpu;
  std::string name;  ///< of the operator
  KernelFusion kernels = KernelFusion::eager;
  std::vector<Sample> samples;
  std::map<OperatorPass, std::size_t> impossible;
  bool has_calibration = true;  ///< a tenth of the rows is not scored

  std::size_t impossible_of(OperatorPass pass) const {
    const auto found = impossible.find(pass);
    return found == impossible.end() ? 0 : found->second;
  }
  /// Where many rows are impossible, the others cannot be trusted either.
  void drop_what_was_not_measured() {
    for (const auto& [pass, count] : impossible) {
      const auto is_of_pass = [&, one = pass](const Sample& sample) { return sample.pass == one; };
      const auto rest = static_cast<std::size_t>(std::ranges::count_if(samples, is_of_pass));
      if (impossible_share_max * static_cast<double>(rest + count) < static_cast<double>(count)) std::erase_if(samples, is_of_pass);
    }
  }
  bool is_for_calibration(const Sample& sample) const { return has_calibration && sample.is_for_calibration(); }
};

ElementType type(std::string_view name) { return element_type_named(name).value(); }

/// Calls `call` for each row of a table with its numbers by column.
void for_each_row(const std::string& path, const std::vector<CsvColumn>& columns,
                  const std::function<void(const CsvReader&)>& call) {
  const SourceText source = SourceText::read(path);
  Diagnostics diagnostics;
  CsvReader reader(source, columns, OtherColumns::allowed, diagnostics);
  while (reader.next()) call(reader);
  diagnostics.throw_if_errors();
}

/// Whether a time is below what the peak and the memory's bandwidth allow, by more than a clock
/// above the peak's explains: then it was not measured.
bool is_impossible(const Gpu& gpu, const Sample& sample) {
  Gpu ideal = gpu;
  ideal.sustained_clock_hz = ideal.peak_clock_hz;
  ideal.matmul_efficiency = ideal.vector_efficiency = ideal.memory_efficiency = 1.0;
  const double operations_s = sample.operations() / ideal.product_rate(*matrix_type_of(sample.op.type)).value();
  double bytes = 0;
  const double element = sample.op.type.bytes();
  if (const auto* rows = std::get_if<RowWise>(&sample.op.shape)) {
    bytes = traffic_of(*rows, element, sample.pass, KernelFusion::fused).bytes;
  } else if (const auto* step = std::get_if<OptimizerStep>(&sample.op.shape)) {
    bytes = traffic_of(*step, element, 2.0, KernelFusion::fused).bytes;
  } else if (const auto* lookup = std::get_if<EmbeddingLookup>(&sample.op.shape)) {
    bytes = static_cast<double>(lookup->rows) * static_cast<double>(lookup->width) * element;
  }
  // Tensors that fit the cache need not pass the memory.
  const double memory_s = bytes <= ideal.reuse_bytes() ? 0.0 : (bytes - ideal.reuse_bytes()) / ideal.memory_bytes_per_s();
  return sample.measured_s < 0.95 * std::max(operations_s, memory_s);
}

constexpr std::string_view perlmutter = "A100 SXM, Perlmutter";
constexpr std::string_view vista = "GH200, Vista";

/// estimate-train-time's functions that operators have, in the order in which they are printed.
constexpr std::array<std::string_view, 20> sampled_functions = {"linear1",
                                                                "linear2",
                                                                "linear3",
                                                                "linear4",
                                                                "linear_final",
                                                                "baddbmm",
                                                                "bmm",
                                                                "flash_atten",
                                                                "layernorm",
                                                                "RMSlayernorm",
                                                                "res_add",
                                                                "gelu",
                                                                "softmax",
                                                                "RoPE",
                                                                "embedding",
                                                                "parallel_cross_entropy_128",
                                                                "middleStage_optimizer",
                                                                "firstStage_optimizer",
                                                                "lastStage_optimizer",
                                                                "ScaledUpperTriangMaskedSoftmax"};

/// Masked softmax is Megatron-LM's fused kernel, measured beside eager operators.
KernelFusion fusion_of(std::string_view function) {
  return function == "ScaledUpperTriangMaskedSoftmax" ? KernelFusion::fused : KernelFusion::eager;
}

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(value + 0.5); }

OperatorShape row_wise(RowOperator what, double rows, double width) {
  return RowWise{.what = what, .rows = whole(rows), .width = whole(width)};
}

void add_sample(Group& group, const Gpu& gpu, Sample sample) {
  if (is_impossible(gpu, sample)) {
    ++group.impossible[sample.pass];
  } else {
    group.samples.push_back(std::move(sample));
  }
}

void read_sampled(std::vector<Group>& groups, const std::string& data, std::string_view machine, const std::string& gpu_name,
                  const std::string& prefix, std::string_view function) {
  const std::string path = fmt::format("{}/kernels/estimate_train_time/{}_{}_fp16.csv", data, prefix, function);
  if (!std::filesystem::exists(path)) return;
  const Gpu gpu = gpu_named(gpu_name, SourcePlace::named("preset"));
  const std::string file = std::filesystem::path(path).filename().string();
  const SampledTable table = read_sampled_table(SourceText::read(path), parse_sampled_name(file).value());
  const KernelId kernel = kernel_of_function(function, table.columns);
  Group group{std::string(machine), gpu_name, std::string(function), fusion_of(function), {}, {}};
  std::size_t row = 0;
  for (const SampledRow& sampled : table.rows) {
    const std::vector<double> sizes = kernel_sizes(function, kernel, table.name.type, {table.columns, sampled.sizes});
    const Operator op{group.name, operator_of(kernel, sizes).value(), operator_type(kernel, table.name.type)};
    ++row;
    add_sample(group, gpu, {op, OperatorPass::forward, sampled.forward_us * 1e-6, row});
    if (table.has_backward) add_sample(group, gpu, {op, OperatorPass::backward, sampled.backward_us * 1e-6, row});
  }
  groups.push_back(std::move(group));
}

struct NeuSightGpu {
  std::string_view device;
  std::string gpu;
};
const std::vector<NeuSightGpu>& neusight_gpus() {
  static const std::vector<NeuSightGpu> all = {{"Tesla V100-PCIE-32GB", "v100_pcie"},
                                               {"NVIDIA A100-PCIE-40GB", "a100_pcie_40gb"},
                                               {"NVIDIA A100 80GB PCIe", "a100_pcie_80gb"},
                                               {"NVIDIA H100 80GB HBM3", "h100_sxm"}};
  return all;
}

void read_neusight(std::vector<Group>& groups, const std::string& data) {
  const std::string folder = data + "/kernels/neusight/";
  const auto number = [](const CsvReader& reader, std::size_t column) {
    return plain_number<double>(reader.field(column)).value();
  };
  const auto read = [&](const std::string& file, const std::string& name, std::vector<CsvColumn> columns,
                        const std::function<OperatorShape(const CsvReader&)>& shape_of) {
    columns.push_back({"Latency", true});
    columns.push_back({"Device", true});
    for (const NeuSightGpu& device : neusight_gpus()) {
      const Gpu gpu = gpu_named(device.gpu, SourcePlace::named("preset"));
      Group group{fmt::format("{}, NeuSight", device.gpu), device.gpu, name, KernelFusion::eager, {}, {}};
      std::size_t row = 0;
      for_each_row(folder + file, columns, [&](const CsvReader& reader) {
        ++row;
        if (reader.field(columns.size() - 1) != device.device) return;
        add_sample(group, gpu,
                   {{name, shape_of(reader), type("FP32")}, OperatorPass::forward, number(reader, columns.size() - 2) * 1e-3, row});
      });
      groups.push_back(std::move(group));
    }
  };
  if (!std::filesystem::exists(folder)) return;
  read("linear_test.csv.gz", "linear FP32", {{"B"}, {"M"}, {"N"}, {"K"}}, [&](const CsvReader& r) {
    return Matmul{
        .rows = whole(number(r, 1)), .columns = whole(number(r, 2)), .inner = whole(number(r, 3)), .groups = whole(number(r, 0))};
  });
  read("ln_test.csv", "layer norm FP32", {{"B"}, {"H"}},
       [&](const CsvReader& r) { return row_wise(RowOperator::layer_norm, number(r, 0), number(r, 1)); });
  read("softmax_test.csv", "softmax FP32", {{"B"}, {"H"}},
       [&](const CsvReader& r) { return row_wise(RowOperator::softmax, number(r, 0), number(r, 1)); });
  Group half{"h100_sxm, NeuSight", "h100_sxm", "bmm FP16 (fp16mm.csv)", KernelFusion::eager, {}, {}, false};
  std::size_t row = 0;
  const Gpu gpu = gpu_named("h100_sxm", SourcePlace::named("preset"));
  for_each_row(folder + "fp16mm.csv", {{"B"}, {"M"}, {"N"}, {"K"}, {"Latency"}}, [&](const CsvReader& r) {
    const Matmul shape{
        .rows = whole(number(r, 1)), .columns = whole(number(r, 2)), .inner = whole(number(r, 3)), .groups = whole(number(r, 0))};
    add_sample(half, gpu, {{"bmm", shape, type("FP16")}, OperatorPass::forward, number(r, 4) * 1e-3, ++row});
  });
  groups.push_back(std::move(half));
}

std::vector<Group> read_all(const std::string& data) {
  std::vector<Group> groups;
  struct Site {
    std::string_view machine;
    std::string gpu;
    std::string prefix;
  };
  for (const Site& site : {Site{perlmutter, "a100_sxm_80gb", "Perlmutter/operator/NVIDIAA100-SXM4-80GB"},
                           Site{vista, "gh200", "Vista/operator/NVIDIAGH200120GB"}}) {
    for (const std::string_view function : sampled_functions)
      read_sampled(groups, data, site.machine, site.gpu, site.prefix, function);
  }
  read_neusight(groups, data);
  for (Group& group : groups) group.drop_what_was_not_measured();
  return groups;
}

/// Whoever measured on GH200 had FlashAttention-2.
AnalyticalSettings settings_for(const Group& group) {
  AnalyticalSettings settings = default_settings<AnalyticalSettings>(analytical_params());
  settings.load = GpuLoad::kernels;
  settings.kernels = group.kernels;
  settings.attention = AttentionVersion::flash_attention_2;
  return settings;
}

double relative_error(const Gpu& gpu, const AnalyticalSettings& settings, const Sample& sample) {
  const auto time = AnalyticalTimes(gpu, settings).time_of(sample.op, sample.pass);
  return time ? time->in_s() / sample.measured_s - 1.0 : 1.0;
}

struct Errors {
  std::vector<double> all;

  double mean_absolute() const {
    double sum = 0;
    for (const double error : all) sum += std::abs(error);
    return all.empty() ? 0.0 : sum / static_cast<double>(all.size());
  }
  double mean() const {
    double sum = 0;
    for (const double error : all) sum += error;
    return all.empty() ? 0.0 : sum / static_cast<double>(all.size());
  }
  double median() const {
    std::vector<double> sorted;
    for (const double error : all) sorted.push_back(std::abs(error));
    std::ranges::sort(sorted);
    return sorted.empty() ? 0.0 : sorted[sorted.size() / 2];
  }
  double worst() const {
    double worst = 0;
    for (const double error : all) worst = std::abs(error) > std::abs(worst) ? error : worst;
    return worst;
  }
};

bool is_product(const Sample& sample) { return std::holds_alternative<Matmul>(sample.op.shape); }

void print_line(const std::string& machine, const std::string& name, const Errors& errors, std::size_t impossible) {
  if (errors.all.empty() && impossible == 0) return;
  if (errors.all.empty()) {
    fmt::print("| {} | {} | 0 | {} | | | | |\n", machine, name, impossible);
    return;
  }
  fmt::print("| {} | {} | {} | {} | {:.1f} % | {:.1f} % | {:+.1f} % | {:+.0f} % |\n", machine, name, errors.all.size(), impossible,
             100 * errors.mean_absolute(), 100 * errors.median(), 100 * errors.mean(), 100 * errors.worst());
}

/// Whether large products of all machines are as close as they should be.
bool print_table(const std::vector<Group>& groups, bool calibration) {
  fmt::print("| machine | operator | rows | impossible | MAPE | median | mean | worst |\n|---|---|---|---|---|---|---|---|\n");
  std::map<std::string, Errors> large;
  for (const Group& group : groups) {
    const Gpu gpu = gpu_named(group.gpu, SourcePlace::named("preset"));
    const AnalyticalSettings settings = settings_for(group);
    for (const OperatorPass pass : {OperatorPass::forward, OperatorPass::backward}) {
      Errors errors;
      Errors large_errors;
      for (const Sample& sample : group.samples) {
        if (sample.pass != pass || group.is_for_calibration(sample) != calibration) continue;
        const double error = relative_error(gpu, settings, sample);
        errors.all.push_back(error);
        if (!is_product(sample) || sample.operations() < large_operations) continue;
        large_errors.all.push_back(error);
        large[group.machine].all.push_back(error);
      }
      const std::string name = group.name + (pass == OperatorPass::forward ? "" : ", backward");
      print_line(group.machine, name, errors, group.impossible_of(pass));
      if (large_errors.all.size() < errors.all.size()) print_line(group.machine, name + ", large", large_errors, 0);
    }
  }
  bool is_close = true;
  for (const auto& [machine, errors] : large) {
    print_line(machine, "**all large products**", errors, 0);
    is_close = is_close && errors.mean_absolute() < large_error_max;
  }
  return is_close;
}

// --- Fit ---

struct Constant {
  std::string_view name;
  double least;
  double most;
  std::function<double(const Gpu&, const AttentionKernel&)> get;
  std::function<void(Gpu&, AttentionKernel&, double)> set;
};

/// Mean absolute percentage error of calibration rows of some operators.
double calibration_error(const std::vector<const Group*>& groups, const std::vector<OperatorPass>& passes, const Gpu& gpu,
                         const AttentionKernel& kernel) {
  double sum = 0;
  std::size_t count = 0;
  for (const Group* group : groups) {
    const AnalyticalSettings settings = settings_for(*group);
    for (const Sample& sample : group->samples) {
      if (!group->is_for_calibration(sample) || std::ranges::find(passes, sample.pass) == passes.end()) continue;
      double error = 0;
      if (const auto* attention = std::get_if<FusedAttention>(&sample.op.shape)) {
        error =
            plan_attention(gpu, *matrix_type_of(sample.op.type), sample.op.type.bytes(), *attention, sample.pass, kernel).time_s /
                sample.measured_s -
            1.0;
      } else {
        error = relative_error(gpu, settings, sample);
      }
      sum += std::abs(error);
      ++count;
    }
  }
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

/// Goes through the constants one by one, with steps that halve.
void fit(const std::string& title, const std::vector<const Group*>& groups, Gpu& gpu, AttentionKernel& kernel,
         const std::vector<Constant>& constants,
         const std::vector<OperatorPass>& passes = {OperatorPass::forward, OperatorPass::backward}) {
  const Gpu before_gpu = gpu;
  const AttentionKernel before_kernel = kernel;
  double best = calibration_error(groups, passes, gpu, kernel);
  const double start = best;
  for (double step = 0.125; step > 0.002; step /= 2) {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (const Constant& constant : constants) {
        for (const double sign : {1.0, -1.0}) {
          const double before = constant.get(gpu, kernel);
          const double next = before + sign * step * (constant.most - constant.least);
          constant.set(gpu, kernel, std::clamp(next, constant.least, constant.most));
          const double error = calibration_error(groups, passes, gpu, kernel);
          if (error < best) {
            best = error;
            has_moved = true;
            break;
          }
          constant.set(gpu, kernel, before);
        }
      }
    }
  }
  fmt::print("\n{}: error of calibration rows {:.1f} %, with the constants of the preset {:.1f} %\n", title, 100 * best,
             100 * start);
  for (const Constant& constant : constants)
    fmt::print("  {} = {:.4g}, was {:.4g}\n", constant.name, constant.get(gpu, kernel), constant.get(before_gpu, before_kernel));
}

/// Everything that is fitted, in the order in which it is needed.
void fit_all(const std::vector<Group>& groups) {
  const auto chosen = [&](std::string_view machine, const std::vector<std::string_view>& names) {
    std::vector<const Group*> found;
    for (const Group& group : groups) {
      if (group.machine == machine && std::ranges::find(names, group.name) != names.end()) found.push_back(&group);
    }
    return found;
  };
  const auto real = [](auto member) { return [member](const Gpu& gpu, const AttentionKernel&) { return gpu.*member; }; };
  const Constant memory_efficiency{"memory_efficiency", 0.3, 1, real(&Gpu::memory_efficiency),
                                   [](Gpu& gpu, AttentionKernel&, double value) { gpu.memory_efficiency = value; }};
  const Constant result_traffic{"result_traffic", 1, 3, real(&Gpu::result_traffic),
                                [](Gpu& gpu, AttentionKernel&, double value) { gpu.result_traffic = value; }};
  const Constant vector_efficiency{"vector_efficiency", 0.3, 1, real(&Gpu::vector_efficiency),
                                   [](Gpu& gpu, AttentionKernel&, double value) { gpu.vector_efficiency = value; }};
  const Constant tile_latency{"tile_latency, us", 0, 10,
                              [](const Gpu& gpu, const AttentionKernel&) { return gpu.tile_latency.in_us(); },
                              [](Gpu& gpu, AttentionKernel&, double us) { gpu.tile_latency = Duration::from_us(us); }};
  const Constant sustained_clock{"sustained_clock, MHz", 900, 1830,
                                 [](const Gpu& gpu, const AttentionKernel&) { return gpu.sustained_clock_hz / 1e6; },
                                 [](Gpu& gpu, AttentionKernel&, double mhz) { gpu.sustained_clock_hz = mhz * 1e6; }};
  const Constant forward_products{"attention: forward_products", 0.2, 1,
                                  [](const Gpu&, const AttentionKernel& kernel) { return kernel.forward_products; },
                                  [](Gpu&, AttentionKernel& kernel, double value) { kernel.forward_products = value; }};
  const Constant backward_products{"attention: backward_products", 0.2, 1,
                                   [](const Gpu&, const AttentionKernel& kernel) { return kernel.backward_products; },
                                   [](Gpu&, AttentionKernel& kernel, double value) { kernel.backward_products = value; }};
  const Constant wide_products{"attention: wide_products", 0.3, 1,
                               [](const Gpu&, const AttentionKernel& kernel) { return kernel.wide_products; },
                               [](Gpu&, AttentionKernel& kernel, double value) { kernel.wide_products = value; }};
  const Constant uneven{"attention: uneven", 0.3, 1, [](const Gpu&, const AttentionKernel& kernel) { return kernel.uneven; },
                        [](Gpu&, AttentionKernel& kernel, double value) { kernel.uneven = value; }};
  const Constant serial{"attention: serial", 0, 1, [](const Gpu&, const AttentionKernel& kernel) { return kernel.serial; },
                        [](Gpu&, AttentionKernel& kernel, double value) { kernel.serial = value; }};

  for (const auto& [machine, gpu_name] : {std::pair{perlmutter, "a100_sxm_80gb"}, std::pair{vista, "gh200"}}) {
    Gpu gpu = gpu_named(gpu_name, SourcePlace::named("preset"));
    AttentionKernel kernel = attention_kernel(gpu.generation, AttentionVersion::flash_attention_2);
    const std::string name(machine);
    fit(name + ", res_add", chosen(machine, {"res_add"}), gpu, kernel, {memory_efficiency});
    fit(name + ", linear layers forward", chosen(machine, {"linear1", "linear2", "linear3", "linear4", "linear_final"}), gpu,
        kernel, {sustained_clock, tile_latency}, {OperatorPass::forward});
    fit(name + ", products of attention", chosen(machine, {"baddbmm", "bmm"}), gpu, kernel, {result_traffic});
    fit(name + ", attention", chosen(machine, {"flash_atten"}), gpu, kernel,
        {forward_products, backward_products, wide_products, serial, uneven});
  }
  for (const auto& [machine, gpu_name] :
       {std::pair{"v100_pcie, NeuSight", "v100_pcie"}, std::pair{"a100_pcie_80gb, NeuSight", "a100_pcie_80gb"},
        std::pair{"h100_sxm, NeuSight", "h100_sxm"}}) {
    Gpu gpu = gpu_named(gpu_name, SourcePlace::named("preset"));
    AttentionKernel kernel;
    fit(std::string(machine) + ", linear FP32", chosen(machine, {"linear FP32"}), gpu, kernel, {vector_efficiency});
  }
}

int run(const std::vector<std::string>& arguments) {
  std::string data = "../shared/data";
  bool calibration = false;
  bool fits = false;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--data=")) {
      data = argument.substr(7);
    } else if (argument == "--rows=calibration" || argument == "--rows=scored") {
      calibration = argument.ends_with("calibration");
    } else if (argument == "--fit") {
      fits = true;
    } else {
      std::cerr << "usage: operator_times_bench [--data=FOLDER] [--rows=scored|calibration] [--fit]\n";
      return exit_wrong_use;
    }
  }
  const std::vector<Group> groups = read_all(data);
  if (groups.empty()) {
    std::cerr << "no kernels/estimate_train_time or kernels/neusight in " << data << "\n";
    return exit_no_data;
  }
  if (fits) {
    fit_all(groups);
    return 0;
  }
  return print_table(groups, calibration) ? 0 : exit_missed;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  try {
    return weft::run({argv + 1, argv + argc});
  } catch (const weft::InputError& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
