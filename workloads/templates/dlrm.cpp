// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/dlrm.hpp"

#include <array>
#include <charconv>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/templates/role_script.hpp"
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

constexpr std::uint64_t index_bytes = 8;
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

struct Layer {
  std::string name;
  Duration forward;
  Bytes gradients;
};

/// Fully connected layers from one width to the next.
std::vector<Layer> layers_of(const TensorMath& math, const DlrmSettings& settings, const std::string& name,
                             const std::vector<std::uint64_t>& widths) {
  std::vector<Layer> layers;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const std::uint64_t weights = math.product({widths[i], widths[i + 1]});
    const double operations = 2.0 * settings.batch * static_cast<double>(weights);
    layers.push_back({fmt::format("{}_{}", name, i), math.time(operations), math.bytes(weights, settings.grad_dtype)});
  }
  return layers;
}

class DlrmBuilder {
 public:
  DlrmBuilder(const TensorMath& math, const DlrmSettings& settings) : math_(math), settings_(settings) {
    const std::uint64_t batch = settings.batch;
    const std::uint64_t tables = settings.tables;
    const std::uint64_t dimension = settings.dimension;
    const std::vector<std::uint64_t> bottom = widths_of(math, "bottom", settings.bottom, 2);
    if (bottom.back() != dimension) {
      math.fail("bad-plan", fmt::format("the last width of bottom is {}, the dimension {}", bottom.back(), dimension),
                "the dense branch is combined with the embeddings: both have the same width");
    }
    // Dot products of all pairs of the tables + 1 vectors, and the dense vector itself.
    std::vector<std::uint64_t> top = widths_of(math, "top", settings.top, 1);
    top.insert(top.begin(), math.product({tables + 1, tables}) / 2 + dimension);
    bottom_ = layers_of(math, settings, "fc_bottom", bottom);
    top_ = layers_of(math, settings, "fc_top", top);
    concat_ = math.time(2.0 * static_cast<double>(batch) * static_cast<double>(tables + 1) * static_cast<double>(tables + 1) *
                        static_cast<double>(dimension));
    const std::uint64_t lookups = math.product({batch, tables, settings.lookups});
    indices_ = math.checked(Bytes::of(static_cast<std::int64_t>(math.product({lookups, index_bytes}))));
    embeddings_ = math.bytes(math.product({batch, tables, dimension}), settings.dtype);
    rows_ = math.bytes(math.product({lookups, dimension}), settings.dtype);
    dense_ = math.bytes(math.product({batch, bottom.front()}), settings.dtype);
  }

  Workload build() {
    Workload workload = start_workload("dlrm", settings_.ranks);
    forward();
    backward();
    add_role_of_all(workload, script_.finish());
    workload.assumptions.push_back(math_.rate_note());
    workload.assumptions.emplace_back("tables are spread evenly over the ranks and their lookups over the tables");
    return workload;
  }

 private:
  Duration in_memory(Bytes size) const { return transmit_time(size, settings_.memory_bandwidth); }

  void forward() {
    const std::uint32_t sparse = script_.compute("sparse", in_memory(indices_));
    const std::uint32_t index = script_.collective("a2a_index", CollectiveType::all_to_all, 0, indices_, {sparse});
    const std::uint32_t lookup = script_.unordered_compute("emb", in_memory(rows_), {index});
    const std::uint32_t exchange = script_.collective("a2a_emb", CollectiveType::all_to_all, 0, embeddings_, {lookup});
    last_ = {script_.compute("dense", in_memory(dense_))};
    for (const Layer& layer : bottom_) last_ = {script_.compute(layer.name, layer.forward, last_)};
    last_ = {script_.compute("concat", concat_, {last_[0], exchange})};
    for (const Layer& layer : top_) last_ = {script_.compute(layer.name, layer.forward, last_)};
  }

  void backward() {
    RoleScript::After done;
    const auto layers_back = [&](const std::vector<Layer>& layers) {
      for (std::size_t i = layers.size(); i-- > 0;) {
        last_ = {script_.compute(fmt::format("{}_bwd", layers[i].name), math_.checked(layers[i].forward * 2), last_)};
        done.push_back(
            script_.collective(fmt::format("ar_{}", layers[i].name), CollectiveType::all_reduce, 0, layers[i].gradients, last_));
      }
    };
    layers_back(top_);
    last_ = {script_.compute("concat_bwd", math_.checked(concat_ * 2), last_)};
    const std::uint32_t exchange = script_.collective("a2a_grad", CollectiveType::all_to_all, 0, embeddings_, last_);
    done.push_back(script_.unordered_compute("emb_update", in_memory(rows_) * 2, {exchange}));
    layers_back(bottom_);
    done.push_back(last_[0]);
    script_.compute("step", math_.checked(settings_.optimizer_time), done);
  }

  const TensorMath& math_;
  const DlrmSettings& settings_;
  std::vector<Layer> bottom_;
  std::vector<Layer> top_;
  Duration concat_;
  Bytes indices_;
  Bytes embeddings_;
  Bytes rows_;
  Bytes dense_;
  RoleScript script_;
  RoleScript::After last_;
};

Workload make_dlrm(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  const auto settings = filled<DlrmSettings>(params);
  return DlrmBuilder(math, settings).build();
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
