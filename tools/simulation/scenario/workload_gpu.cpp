// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/workload_gpu.hpp"

#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "host/op_times/cluster_gpu.hpp"
#include "host/op_times/gpu.hpp"
#include "topologies/topology_file.hpp"

namespace weft {

namespace {

constexpr std::string_view gpu_of_defaults = "h100_sxm";

std::string server_of(const Loading& loading) {
  if (loading.scenario.topology != nullptr) return loading.scenario.topology->machine();
  const auto* const read = std::get_if<TopologyOrBuilder>(&loading.topology_file);
  if (read == nullptr) return "";
  if (const auto* const topology = std::get_if<std::shared_ptr<const Topology>>(read)) return (*topology)->machine();
  const ParamSet& builder = loading.scenario.parameters.of(std::get<BuilderOfFile>(*read).module->info.name);
  return builder.has("server") ? builder.text("server") : "";
}

}  // namespace

std::string workload_gpu(const Loading& loading) {
  const std::string_view gpu = gpu_of_server(server_of(loading));
  return std::string(gpu.empty() ? gpu_of_defaults : gpu);
}

void take_rates_of(const std::string& gpu, ParamSet& of_template) {
  if (gpu == gpu_of_defaults) return;
  const SourcePlace place = SourcePlace::named(gpu);
  const Gpu other = gpu_named(gpu, place);
  const Gpu usual = gpu_named(std::string(gpu_of_defaults), place);
  const std::optional<double> peak = other.peak(MatrixType::bf16);
  if (peak && of_template.has("tflops") && !of_template.is_given("tflops")) {
    const double rate = of_template.real("tflops") * *peak / usual.peak(MatrixType::bf16).value();
    of_template.set("tflops", fmt::format("{:.4g}", rate), place);
  }
  if (of_template.has("memory_bandwidth") && !of_template.is_given("memory_bandwidth"))
    of_template.set("memory_bandwidth", to_text(other.memory_bandwidth), place);
}

}  // namespace weft
