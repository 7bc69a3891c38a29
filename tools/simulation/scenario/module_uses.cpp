// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/module_uses.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "host/collectives/collective.hpp"
#include "host/transport/congestion_control.hpp"
#include "network/max_min/allocation_policy.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

namespace {

constexpr std::string_view collectives_run = "traffic = jobs and network = simulated";

/// `chosen_by` ends in "=": the module's name follows, and then `or_else`.
template <class List>
void add_each(std::vector<ModuleUse>& uses, const List& modules, std::string_view chosen_by, std::string_view or_else = {}) {
  for (const auto& module : modules) {
    const std::string condition = fmt::format("{} {}{}", chosen_by, module.info.name, or_else);
    uses.push_back({module.info.kind, module.info.name, condition});
  }
}

std::vector<ModuleUse> all_uses() {
  const std::string collectives(collectives_run);
  std::vector<ModuleUse> uses = {
      {"network", "flow", "network = simulated"},
      {"network", "wan", "network = simulated and wide_area = some"},
      {"network", "packet", "mode = packet"},
      {"host", "host", "traffic = jobs"},
      {"host", "collective", collectives},
      {"host", "nccl", fmt::format("{} and collective.rule_set = nccl and algorithm = auto", collectives)},
      {"host", "nccl", fmt::format("{} and collective.rule_set = nccl and collective.protocol = auto", collectives)},
      {"control", "scheduler", "traffic = jobs"},
      {"control", "checkpoint", "traffic = jobs"},
      {"control", "failure", "traffic = jobs"},
      {"control", "storage", "traffic = jobs"},
      {"control", "maintenance", "traffic = jobs"},
      // Rules of the user's own may name a program of the user's own; those built in do not.
      {"collective", "program", fmt::format("{} and algorithm = auto and own_rules = some", collectives)},
  };
  add_each(uses, congestion_algorithms(), "mode = packet and packet.congestion_control =");
  add_each(uses, allocation_policies(), "network = simulated and flow.allocation =");
  add_each(uses, collective_protocols(), fmt::format("{} and collective.protocol =", collectives), "|auto");
  for (const auto& module : collective_algorithms()) {
    const std::string or_auto = module.info.name == "program" ? "" : "|auto";
    uses.push_back(
        {module.info.kind, module.info.name, fmt::format("{} and algorithm = {}{}", collectives, module.info.name, or_auto)});
  }
  add_each(uses, scheduling_policies(), "traffic = jobs and policy =");
  add_each(uses, placers(), "traffic = jobs and placement =");
  return uses;
}

/// What a table does not say itself.
struct RowUse {
  std::string_view module;
  std::string_view name;
  UnusedList unused;
};

constexpr std::array row_uses = {
    RowUse{"scheduler", "fast_forward", {{"workloads = none", "no job runs a workload"}}},
    RowUse{"checkpoint", "every", {{"declared_iterations = none", "no job declares iterations"}}},
    RowUse{"checkpoint", "interval", {{"declared_iterations = all", "all jobs declare iterations, and go by checkpoint.every"}}},
    RowUse{
        "storage",
        "rate",
        {{"stored_data = none", "no job has data or checkpoints of a size"}, {"workloads = all", "data travels over the network"}}},
};

}  // namespace

std::span<const ModuleUse> module_uses() {
  static const std::vector<ModuleUse> uses = all_uses();
  return uses;
}

const UnusedList& unused_of(std::string_view module, const ParamSpec& row) {
  const auto found =
      std::ranges::find_if(row_uses, [&](const RowUse& use) { return use.module == module && use.name == row.name; });
  return found == row_uses.end() ? row.unused : found->unused;
}

}  // namespace weft
