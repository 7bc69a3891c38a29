// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/dlrm.hpp"

#include <array>
#include <charconv>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/plans/block_workload.hpp"
#include "workloads/templates/rated_clock.hpp"
#include "workloads/templates/replica_plan.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

namespace {

constexpr std::string_view mlperf_origin = "MLPerf's DLRM (Criteo terabyte)";

struct DlrmSettings {
  std::uint32_t ranks;
  std::uint32_t batch;
  std::uint32_t tables;
  std::uint32_t dimension;
  std::uint32_t lookups;
  std::string bottom;
  std::string top;
  ElementType dtype;
  ElementType grad_dtype;
  Bandwidth memory_bandwidth;
  Duration optimizer_time;
};

constexpr std::array dlrm_params = {
    param<&DlrmSettings::ranks>({.name = "ranks",
                                 .default_text = "16",
                                 .minimum = "1",
                                 .maximum = "16777216",
                                 .meaning = "Ranks; each trains its samples and holds its part of the tables.",
                                 .origin = "assumption: two servers"}),
    param<&DlrmSettings::batch>({.name = "batch",
                                 .default_text = "4096",
                                 .minimum = "1",
                                 .maximum = "1073741824",
                                 .meaning = "Samples per rank.",
                                 .origin = "65,536 in all, MLPerf's closed division"}),
    param<&DlrmSettings::tables>({.name = "tables",
                                  .default_text = "26",
                                  .minimum = "1",
                                  .maximum = "1000000",
                                  .meaning = "Embedding tables.",
                                  .origin = mlperf_origin}),
    param<&DlrmSettings::dimension>({.name = "dimension",
                                     .default_text = "128",
                                     .minimum = "1",
                                     .maximum = "1048576",
                                     .meaning = "Elements of an embedding.",
                                     .origin = mlperf_origin}),
    param<&DlrmSettings::lookups>({.name = "lookups",
                                   .default_text = "1",
                                   .minimum = "1",
                                   .maximum = "1000000",
                                   .meaning = "Lookups per table and sample, pooled into one embedding.",
                                   .origin = mlperf_origin}),
    param<&DlrmSettings::bottom>({.name = "bottom",
                                  .default_text = "13-512-256-128",
                                  .meaning = "Widths of the bottom layers, from the dense features to the dimension.",
                                  .origin = mlperf_origin}),
    param<&DlrmSettings::top>({.name = "top",
                               .default_text = "1024-1024-512-256-1",
                               .meaning = "Widths of the top layers; the first reads the concatenation.",
                               .origin = mlperf_origin}),
    param_read<tensor_dtype, &DlrmSettings::dtype>({.name = "dtype",
                                                    .default_text = "FP32",
                                                    .choices = tensor_dtypes,
                                                    .meaning = "Type of embeddings and activations.",
                                                    .origin = "the reference code"}),
    param_read<tensor_dtype, &DlrmSettings::grad_dtype>({.name = "grad_dtype",
                                                         .default_text = "FP32",
                                                         .choices = tensor_dtypes,
                                                         .meaning = "Type in which gradients are reduced.",
                                                         .origin = "the reference code"}),
    param<&DlrmSettings::memory_bandwidth>({.name = "memory_bandwidth",
                                            .default_text = "26.8Tbps",
                                            .minimum = "1Gbps",
                                            .maximum = "1000000Tbps",
                                            .meaning = "Of a GPU's memory; lookups are bound by it.",
                                            .origin = "3.35 TB/s of an H100 SXM"}),
    param<&TensorRate::tflops>({.name = "tflops",
                                .default_text = "50",
                                .minimum = "0.001",
                                .maximum = "1e9",
                                .meaning = tensor_rate_meaning,
                                .origin = "assumption: narrow layers in TF32"}),
    param<&DlrmSettings::optimizer_time>({.name = "optimizer_time",
                                          .default_text = "100us",
                                          .minimum = "0s",
                                          .meaning = "The dense optimizer's step.",
                                          .origin = "assumption: small layers"}),
};

constexpr std::uint64_t width_max = 1ULL << 24;
constexpr std::size_t layers_max = 1000;

/// "13-512-256": widths, at least `least` of them.
std::vector<std::uint64_t> widths_of(const TensorMath& math, const char* parameter, const std::string& text, std::size_t least) {
  std::vector<std::uint64_t> widths;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::uint64_t width = 0;
    const auto [stop, error] = std::from_chars(at, end, width);
    const bool valid = error == std::errc{} && width > 0 && width <= width_max && (stop == end || *stop == '-');
    if (!valid || widths.size() == layers_max) {
      math.fail("bad-value", fmt::format("{} = \"{}\" is no list of widths", parameter, text),
                fmt::format("widths from 1 to {} joined by -, as in \"512-256-128\"", width_max));
    }
    widths.push_back(width);
    if (stop == end) break;
    at = stop + 1;
  }
  if (widths.size() < least) {
    math.fail("bad-value", fmt::format("{} = \"{}\" has no layer", parameter, text), fmt::format("give at least {} widths", least));
  }
  return widths;
}

RecommenderModel model_of(const TensorMath& math, const DlrmSettings& settings) {
  RecommenderModel model;
  // How many rows tables have does not matter: those that are looked up are read and updated.
  model.table_rows.assign(settings.tables, 1);
  model.width = settings.dimension;
  model.pooled = settings.lookups;
  model.bottom = widths_of(math, "bottom", settings.bottom, 2);
  model.top = widths_of(math, "top", settings.top, 1);
  if (model.bottom.back() != model.width) {
    math.fail("bad-plan", fmt::format("the last width of bottom is {}, the dimension {}", model.bottom.back(), model.width),
              "the dense branch is combined with the embeddings: both have the same width");
  }
  return model;
}

Workload make_dlrm(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  const auto settings = filled<DlrmSettings>(params);
  ParallelPlan plan = replica_plan(settings.ranks, settings.batch, settings.grad_dtype);
  plan.precision.parameters = settings.dtype;
  plan.precision.own_activations = settings.dtype;
  const OperatorClock products = rated_clock(math, math.checked(settings.optimizer_time));
  const auto clock = [&](const Operator& op, OperatorPass pass) {
    const auto* lookup = std::get_if<EmbeddingLookup>(&op.shape);
    if (lookup == nullptr) return products(op, pass);
    const std::uint64_t looked_up = math.product({lookup->rows, lookup->pooled, lookup->width});
    const Duration once = transmit_time(math.bytes(looked_up, op.type), settings.memory_bandwidth);
    return pass == OperatorPass::forward ? once : math.checked(once * 2);
  };
  Workload workload = make_training_workload("dlrm", model_of(math, settings), plan, clock, place);
  workload.assumptions.insert(workload.assumptions.begin(), math.rate_note());
  return workload;
}

}  // namespace

Module<WorkloadFactory> dlrm_module() {
  return {{"template", "dlrm",
           "A recommendation model: embeddings are exchanged by all-to-alls forward and backward, the dense layers' gradients are "
           "all-reduced while backward goes on.",
           dlrm_params},
          make_dlrm};
}

}  // namespace weft
