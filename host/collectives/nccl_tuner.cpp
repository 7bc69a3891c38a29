// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/nccl_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "core/text/param_rows.hpp"
#include "host/collectives/nccl_constants.hpp"
#include "host/collectives/nccl_cost_model.hpp"

namespace weft {

namespace {

std::string time_text(double us) { return us < 1e3 ? fmt::format("{:.3g} us", us) : fmt::format("{:.3g} ms", us * 1e-3); }

}  // namespace

std::string NcclTuner::machine_of(const GroupLayout& layout) const {
  const std::string machine = filled<NcclConstants>(params_).machine;
  if (machine != auto_machine) return machine;
  const HostHardware& hardware = layout.hardware();
  if (std::ranges::count(nccl_machines(), hardware.machine, &ModuleInfo::name) > 0) return hardware.machine;
  // By the links: Hopper and Blackwell have 900 and 1,800 GB/s of NVLink in both directions
  // together, Ampere 600.
  const double gbytes_per_s = static_cast<double>(hardware.nvlink_bps) / 8e9;
  if (layout.inside() == InsideLinks::full_mesh && gbytes_per_s > 400) return gbytes_per_s > 500 ? "mi355x_8" : "mi300x";
  if (gbytes_per_s == 0) return "hgx_h100";
  if (gbytes_per_s < 350) return "hgx_a100";
  if (gbytes_per_s < 700) return "hgx_h100";
  return hardware.gpus == 8 ? "hgx_b200" : "gb200_nvl72";
}

std::vector<NcclChoice> NcclTuner::choices(const CollectiveRequest& request, std::string_view algorithm,
                                           std::string_view protocol) const {
  std::vector<NcclChoice> all = nccl_timed_choices(request, nccl_constants_of(params_, machine_of(*request.layout)));
  std::erase_if(all, [&](const NcclChoice& choice) {
    const bool goes_by = choice.algorithm == algorithm || (choice.module == algorithm && choice.algorithm != "nvls");
    return (!algorithm.empty() && !goes_by) || (!protocol.empty() && choice.protocol.name != protocol);
  });
  return all;
}

std::string to_text(std::span<const NcclChoice> choices) {
  const auto name = [](const NcclChoice& choice) { return fmt::format("{}/{}", choice.algorithm, choice.protocol.name); };
  if (choices.empty()) return "";
  const NcclChoice& best = choices[0];
  std::string text = fmt::format("{}, {} {}: {} predicted", name(best), best.channels, best.channels == 1 ? "channel" : "channels",
                                 time_text(best.time_us));
  if (std::abs(best.weighed_us - best.time_us) > 0.01 * best.time_us)
    text += fmt::format(", {} by NCCL's tuner", time_text(best.weighed_us));
  if (choices.size() > 1) text += fmt::format("; next {} {}", name(choices[1]), time_text(choices[1].time_us));
  return text;
}

}  // namespace weft
