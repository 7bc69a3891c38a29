// SPDX-License-Identifier: Apache-2.0
// What NCCL's tuner says of a collective and what its simulation takes agree, over machines,
// numbers of hosts, kinds and sizes: so that no plan leaves links idle that the tuner counts on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "host/collectives/nccl_tuner.hpp"
#include "tests/long_runs.hpp"
#include "tests/validation/scenario_run.hpp"
#include "topologies/builders.hpp"

namespace weft::nccl_times_test {
namespace {

struct Group {
  std::string name;
  std::string builder;
  std::vector<std::pair<std::string, std::string>> settings;
  std::uint32_t ranks;
};

std::string text_of(const Group& group) {
  std::string text = "builder: \"" + group.builder + "\"";
  for (const auto& [name, value] : group.settings) text += " set { name: \"" + name + "\" value: \"" + value + "\" }";
  return text;
}

std::vector<std::pair<std::string, std::string>> hosts_of(const std::string& server, std::uint32_t hosts) {
  return {{"server", server}, {"hosts", std::to_string(hosts)}};
}

struct Timed {
  CollectiveType type;
  long long bytes;
};

std::vector<Timed> asked() {
  std::vector<Timed> all;
  for (const CollectiveType type : {CollectiveType::all_reduce, CollectiveType::all_gather, CollectiveType::reduce_scatter,
                                    CollectiveType::broadcast, CollectiveType::reduce, CollectiveType::all_to_all}) {
    for (const long long bytes : {4LL << 10, 1LL << 20, 256LL << 20}) all.push_back({type, bytes});
    if (!long_runs()) continue;
    for (const long long bytes : {64LL << 10, 16LL << 20}) all.push_back({type, bytes});
  }
  return all;
}

/// One after the other, with barriers between; of all_gather the gathered buffer has the size.
std::string ops_of(const std::vector<Timed>& asked, std::uint32_t ranks) {
  std::string ops;
  std::string before;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::string type(to_text(asked[i].type));
    std::transform(type.begin(), type.end(), type.begin(), [](char c) { return c == '_' ? c : static_cast<char>(c - 'a' + 'A'); });
    const long long size = asked[i].type == CollectiveType::all_gather ? std::max(1LL, asked[i].bytes / ranks) : asked[i].bytes;
    const std::string name = std::to_string(i);
    ops += fmt::format("op {{ name: \"{}\" {}collective {{ type: {} size: \"{}B\" }} }}\n", name,
                       before.empty() ? "" : "deps: \"" + before + "\" ", type, size);
    ops += "op { name: \"after " + name + "\" deps: \"" + name + "\" collective { type: BARRIER } }\n";
    before = "after " + name;
  }
  return ops;
}

TEST(NcclTimes, OfTheSimulationAreThoseOfTheTuner) {
  const std::vector<Group> groups = {
      {"8 H100", "rail_optimized", hosts_of("hgx_h100", 1), 8},
      {"2 x 8 H100", "rail_optimized", hosts_of("hgx_h100", 2), 16},
      {"8 x 8 H100", "rail_optimized", hosts_of("hgx_h100", 8), 64},
      {"3 x 8 H100, of which 23", "rail_optimized", hosts_of("hgx_h100", 3), 23},
      {"4 x 8 H100 on a switch", "single_switch", hosts_of("hgx_h100", 4), 32},
      {"4 x 8 A100", "rail_optimized", hosts_of("hgx_a100", 4), 32},
      {"4 x 8 B200", "rail_optimized", hosts_of("hgx_b200", 4), 32},
      {"2 x 8 MI300X", "rail_optimized", hosts_of("mi300x", 2), 16},
      {"8 MI355X", "rail_optimized", hosts_of("mi355x_8", 1), 8},
      {"16 GH200", "single_switch", hosts_of("gh200", 16), 16},
      {"72 GB200, of which 36", "rail_optimized", hosts_of("gb200_nvl72", 1), 36},
  };
  const std::vector<Timed> all = asked();
  for (const Group& group : groups) {
    const ScratchFolder folder;
    RunFlags flags;
    flags.topology = folder.write("topology.textproto", text_of(group));
    flags.workload =
        folder.write("work.textproto", fmt::format("ranks: {}\nrole {{\n{}}}\n", group.ranks, ops_of(all, group.ranks)));
    flags.settings = {"flow.routing=spray", "host.fold_ranks=on"};
    std::map<std::string, double> simulated_us;
    ScenarioRunOptions options;
    options.collectives_by_rules = true;
    for (const auto& row : run_scenario(flags, options).collectives) {
      double& time = simulated_us[row.at("op")];
      time = std::max(time, std::stod(row.at("duration_ns")) * 1e-3);
    }
    const auto& module = find_module(topology_builders(), group.builder, {});
    ParamSet params(group.builder, module.info.params);
    for (const auto& [name, value] : group.settings) params.set(name, value, {});
    const std::shared_ptr<const Topology> topology = module.make(params, {});
    const GroupLayout layout(*topology, topology->endpoints().first(group.ranks));
    const NcclTuner tuner(ParamSet("nccl", nccl_params()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [type, bytes] = all[i];
      const long long size = type == CollectiveType::all_gather ? std::max(1LL, bytes / group.ranks) : bytes;
      const NcclChoice best = tuner.choices({type, 0, Bytes::of(size), &layout, nullptr}).front();
      const double ratio = simulated_us.at(std::to_string(i)) / best.time_us;
      // Chains of pieces that are passed on whole fill slowly, of which the tuner knows nothing;
      // and it rounds the depth of trees down.
      const double most = has_root(type) ? 2.5 : 1.6;
      EXPECT_LT(ratio, most) << group.name << ", " << to_text(type) << " of " << bytes << " B by " << best.algorithm << "/"
                             << best.protocol.name << ": " << simulated_us.at(std::to_string(i)) << " us, tuner " << best.time_us;
      EXPECT_GT(ratio, 1 / 1.5) << group.name << ", " << to_text(type) << " of " << bytes << " B by " << best.algorithm << "/"
                                << best.protocol.name << ": " << simulated_us.at(std::to_string(i)) << " us, tuner "
                                << best.time_us;
    }
  }
}

}  // namespace
}  // namespace weft::nccl_times_test
