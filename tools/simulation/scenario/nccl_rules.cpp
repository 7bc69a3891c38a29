// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/nccl_rules.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "host/collectives/nccl_tuning_table.hpp"
#include "topologies/builders.hpp"

namespace weft {

namespace {

constexpr std::string_view probed_fabric = "rail_optimized";
constexpr std::array<std::uint32_t, 5> probed_hosts = {1, 2, 4, 16, 64};
constexpr std::array<CollectiveType, 5> probed_types = {CollectiveType::all_reduce, CollectiveType::all_gather,
                                                        CollectiveType::reduce_scatter, CollectiveType::broadcast,
                                                        CollectiveType::all_to_all};

/// Three digits.
std::string size_text(Bytes size) {
  double value = static_cast<double>(size.count());
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB"}) {
    if (value < 1023.5) break;
    value /= 1024;
    unit = larger;
  }
  return fmt::format("{:.3g}{}", value, unit);
}

Bytes smallest() { return Bytes::kib(1); }
Bytes largest() { return Bytes::mib(16 * 1024); }

struct Group {
  std::string name;  ///< hosts x GPUs of each
  GroupLayout layout;
};

/// Whole hosts, and of one host also fewer GPUs.
std::vector<Group> groups_of(const Topology& topology) {
  const std::span<const NodeId> all = topology.endpoints();
  const std::size_t per_host = topology.endpoints_of(topology.node(all.front()).host).size();
  std::vector<Group> groups;
  const auto add = [&](std::size_t hosts, std::size_t gpus) {
    groups.push_back({fmt::format("{} x {}", hosts, gpus), GroupLayout(topology, all.first(hosts * gpus))});
  };
  for (std::size_t gpus = 2; gpus < per_host && gpus <= 8; gpus *= 2) add(1, gpus);
  for (const std::uint32_t hosts : probed_hosts) {
    if (hosts * per_host > 1) add(hosts, per_host);
  }
  return groups;
}

std::string channels_text(const NcclTunedRange& range) {
  return range.channels_min == range.channels_max ? fmt::to_string(range.channels_max)
                                                  : fmt::format("{}-{}", range.channels_min, range.channels_max);
}

/// "ring/ll (2-16) to 24KiB, ring/simple (16)".
std::string ranges_text(const std::vector<NcclTunedRange>& ranges) {
  std::string text;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    text += fmt::format("{}{}/{} ({})", i > 0 ? ", " : "", ranges[i].algorithm, ranges[i].protocol, channels_text(ranges[i]));
    if (i + 1 < ranges.size()) text += fmt::format(" to {}", size_text(ranges[i + 1].from));
  }
  return text;
}

/// The lines of every type under its name, equal ones under several.
void append_by_type(std::string& text, const std::vector<std::pair<std::string_view, std::vector<std::string>>>& lines_of_type) {
  std::vector<std::pair<std::string, std::vector<std::string>>> merged;
  for (const auto& of_type : lines_of_type) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const auto& one) { return one.second == of_type.second; });
    if (same == merged.end()) {
      merged.emplace_back(of_type.first, of_type.second);
    } else {
      same->first += fmt::format(", {}", of_type.first);
    }
  }
  for (const auto& [types, lines] : merged) {
    text += fmt::format("#   {}\n", types);
    for (const std::string& line : lines) text += fmt::format("#     {}\n", line);
  }
}

std::vector<std::string> range_lines(const NcclTuner& tuner, const std::vector<Group>& groups, CollectiveType type) {
  std::vector<std::string> lines;
  for (const Group& group : groups) {
    lines.push_back(
        fmt::format("{:<8}{}", group.name, ranges_text(nccl_tuned_ranges(tuner, group.layout, type, smallest(), largest()))));
  }
  return lines;
}

std::vector<std::string> cost_lines(const NcclTuner& tuner, const std::vector<Group>& groups, CollectiveType type) {
  std::string head = fmt::format("{:<18}", "us, GB/s");
  std::map<std::string, std::vector<std::string>> cells;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    head += fmt::format(" {:>15}", groups[i].name);
    for (const NcclTunedCost& cost : nccl_tuned_costs(tuner, groups[i].layout, type, smallest(), largest())) {
      std::vector<std::string>& row = cells[fmt::format("{}/{}", cost.algorithm, cost.protocol)];
      row.resize(groups.size());
      row[i] = fmt::format("{:.3g}, {:.3g}", cost.latency_us, cost.bus_gbytes_per_s);
    }
  }
  std::vector<std::string> lines = {head};
  for (const auto& [name, row] : cells) {
    std::string line = fmt::format("{:<18}", name);
    for (const std::string& cell : row) line += fmt::format(" {:>15}", cell.empty() ? "-" : cell);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::shared_ptr<const Topology> hosts_of(std::string_view machine) {
  const SourcePlace place = SourcePlace::named("weft modules --rules");
  const auto& builder = find_module(topology_builders(), probed_fabric, place);
  ParamSet params(std::string(probed_fabric), builder.info.params);
  params.set("server", machine, place);
  params.set("hosts", fmt::to_string(probed_hosts.back()), place);
  return builder.make(params, place);
}

std::string machine_text(const ModuleInfo& machine, const ParamSet& nccl) {
  const std::shared_ptr<const Topology> topology = hosts_of(machine.name);
  const std::vector<Group> groups = groups_of(*topology);
  const HostHardware& hardware = groups.back().layout.hardware();
  ParamSet params = nccl;
  if (!params.is_given("machine")) params.set("machine", machine.name, SourcePlace::named("weft modules --rules"));
  const NcclTuner tuner(params);
  std::string text = fmt::format("#\n# {}: {} Per host {} GPUs with NVLinks of {:.4g} GB/s, {} NICs of {:.4g} GB/s.\n",
                                 machine.name, machine.summary, hardware.gpus, static_cast<double>(hardware.nvlink_bps) / 8e9,
                                 hardware.nics, static_cast<double>(hardware.nic_bps) / 8e9);
  std::vector<std::pair<std::string_view, std::vector<std::string>>> ranges;
  std::vector<std::pair<std::string_view, std::vector<std::string>>> costs;
  for (const CollectiveType type : probed_types) {
    ranges.emplace_back(to_text(type), range_lines(tuner, groups, type));
    costs.emplace_back(to_text(type), cost_lines(tuner, groups, type));
  }
  append_by_type(text, ranges);
  text += "#   weighed\n";
  append_by_type(text, costs);
  return text;
}

}  // namespace

std::string nccl_rules_text(std::span<const ModuleInfo> machines, const ParamSet& nccl) {
  std::string text =
      "# Rule set nccl (collective.rule_set = nccl, the default): what NCCL's tuner takes on idle links, for groups of hosts x "
      "GPUs of each in a\n"
      "# rail_optimized fabric: algorithm/protocol (channels) up to which size of the whole buffer. Below it what was weighed: "
      "latency in us, bus\n"
      "# bandwidth in GB/s as nccl-tests counts it. All of it is worked out here by the tuner that runs use, not written down; "
      "`weft modules nccl` and\n"
      "# `weft modules machine` print the constants, --set=nccl.PARAM=VALUE changes them.\n";
  for (const ModuleInfo& machine : machines) text += machine_text(machine, nccl);
  return text;
}

}  // namespace weft
