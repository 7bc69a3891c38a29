// SPDX-License-Identifier: Apache-2.0
// Flow mode against packet mode where nobody meets anybody: any difference comes from queues,
// marks, pauses or losses, and here there are none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "host/collectives/collective.hpp"
#include "scenario_run.hpp"
#include "tests/long_runs.hpp"
#include "tools/results/memory_sink.hpp"
#include "topologies/topology.hpp"
#include "topologies/topology_reader.hpp"

namespace weft::modes_agree_test {
namespace {

struct Fabric {
  std::string name;
  std::string builder;
  int ranks = 0;
};

/// How long a collective took, and how the transfer fared that others held up most.
struct Outcome {
  double us = 0;
  double slowdown_max = 1;
};

/// One job of one collective in both modes.
class BothModes {
 public:
  BothModes(const Fabric& fabric, CollectiveType type, const std::string& size) {
    std::string what = "type: ";
    for (const char c : to_text(type)) what += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string splits;
    if (type == CollectiveType::all_to_all_v) {
      what += " splits: \"even\"";
      splits = "splits { name: \"even\"";
      for (int from = 0; from < fabric.ranks; ++from) {
        splits += " row {";
        for (int to = 0; to < fabric.ranks; ++to) splits += " size: \"" + size + "\"";
        splits += " }";
      }
      splits += " }\n";
    } else if (type != CollectiveType::barrier) {
      what += " size: \"" + size + "\"";
    }
    folder_.write("work.textproto", "ranks: " + std::to_string(fabric.ranks) + "\n" + splits +
                                        "role { name: \"all\" op { name: \"c\" collective { " + what + " } } }\n");
    flags_.scenario_file =
        folder_.write("scenario.textproto", "topology { " + fabric.builder + " }\njob { workload { file: \"work.textproto\" } }\n");
  }
  Outcome run(const std::string& mode, const std::vector<std::string>& settings) const {
    RunFlags flags = flags_;
    flags.mode = mode;
    flags.settings = settings;
    if (mode == "packet") flags.settings.emplace_back("packet.congestion_control=none");
    Scenario scenario = load_scenario(flags);
    state_collectives(scenario);
    ResultSink nowhere;
    const RunSummary summary = weft::run(scenario, nowhere, {}).summary;
    // Without the 20 us that starting and ending the job take, which would hide what differs in
    // short runs.
    return {summary.mean_iteration_s * 1e6, summary.slowdown ? summary.slowdown->max : 1};
  }

 private:
  ScratchFolder folder_;
  RunFlags flags_;
};

std::string set(const std::string& name, const std::string& value) {
  return " set { name: \"" + name + "\" value: \"" + value + "\" }";
}

/// As fast between sites as inside, so that a ring is alone on all its links; truth.py has rings
/// over sites of rails with their defaults.
Fabric two_sites(const std::string& round_trip) {
  return {"two sites, " + round_trip,
          "builder: \"multi_site\"" + set("wan_rtt", round_trip) + set("wan_rate", "400Gbps") + set("fabric", "single_switch") +
              set("fabric_params", "hosts=4"),
          8};
}

std::vector<Fabric> fabrics() {
  return {{"single switch", "builder: \"single_switch\"" + set("hosts", "8"), 8},
          {"fat tree", "builder: \"fat_tree\"" + set("k", "4"), 16},
          {"rails", "builder: \"rail_optimized\"" + set("hosts", "2") + set("spines", "16"), 16},
          {"dual plane", "builder: \"dual_plane_rail\"" + set("hosts", "2"), 16}};
}

// Expectation: a ring sends to its neighbours only, one message at a time, whose paths meet nowhere
// on one switch and between neighbours of these fabrics. So both modes take the same, but for the
// acknowledgements that share the cables with data: 86 B for every 16 packets, below 1 %.
TEST(ModesAgree, OnRingsOfAnySize) {
  for (const Fabric& fabric : fabrics()) {
    for (const char* size : {"1B", "1KiB", "64KiB", "1MiB", "64MiB", "256MiB"}) {
      for (const CollectiveType type :
           {CollectiveType::all_reduce, CollectiveType::all_gather, CollectiveType::reduce_scatter, CollectiveType::broadcast}) {
        if (std::string(size) == "256MiB" && type != CollectiveType::all_reduce) continue;
        const BothModes modes(fabric, type, size);
        const std::vector<std::string> settings = {"collective." + std::string(to_text(type)) + "=ring"};
        const double flow_us = modes.run("flow", settings).us;
        EXPECT_NEAR(modes.run("packet", settings).us / flow_us, 1, 0.02)
            << fabric.name << " " << to_text(type) << " " << size << ": flow " << flow_us << " us";
      }
    }
  }
}

/// Cases of one fabric: how many there were in which no transfer shared a link with another, how
/// many others, and how far these were apart on average.
struct Tally {
  int alone = 0;
  int shared = 0;
  double apart_mean = 0;
};

/// Whether a gathered buffer of so many shards of this size is more than packet mode moves in
/// seconds.
bool is_too_much(CollectiveType type, const std::string& size) {
  return size == "256MiB" && (type == CollectiveType::all_gather || type == CollectiveType::gather ||
                              type == CollectiveType::scatter || type == CollectiveType::all_to_all_v);
}

/// Every algorithm that is registered, for every collective that it serves, at these sizes.
Tally compare_all_algorithms(const Fabric& fabric, const std::vector<std::string>& sizes) {
  Tally tally;
  for (const auto& module : collective_algorithms()) {
    const auto algorithm = module.make(ParamSet(std::string(module.info.name), module.info.params));
    for (std::size_t i = 0; i < collective_types; ++i) {
      const auto type = static_cast<CollectiveType>(i);
      if (!algorithm->supports(type)) continue;
      for (const std::string& size : sizes) {
        if (is_too_much(type, size)) continue;
        const std::vector<std::string> settings = {"collective." + std::string(to_text(type)) + "=" +
                                                   std::string(module.info.name)};
        const std::string what = fabric.name + ", " + settings.front() + ", " + size;
        const BothModes modes(fabric, type, size);
        Outcome packet;
        try {
          packet = modes.run("packet", settings);
        } catch (const InputError& error) {
          // nvls between hosts and sharp, whose operations packet switches have in flow mode only;
          // program, for want of a file.
          EXPECT_EQ(error.diagnostics().front().code, "algorithm-objects") << what;
          break;
        }
        const Outcome flow = modes.run("flow", settings);
        const double apart = packet.us / flow.us - 1;
        if (flow.slowdown_max < 1.001) {
          ++tally.alone;
          EXPECT_NEAR(apart, 0, 0.02) << what << ": flow " << flow.us << " us";
        } else {
          ++tally.shared;
          tally.apart_mean += std::abs(apart);
          EXPECT_NEAR(apart, 0, 0.3) << what << ": flow " << flow.us << " us";
        }
        if (type == CollectiveType::barrier) break;
      }
    }
  }
  if (tally.shared > 0) tally.apart_mean /= tally.shared;
  return tally;
}

// Expectation: where flow mode has no transfer that takes longer than it would by itself, no two
// were on a link at a time. Nothing collides, and packets take the same within 2 %, whatever the
// algorithm. Others share links by their nature: many to one, two children of a tree, ranks of
// other rails, hashed paths. There the modes differ in what fluid flows leave out: transfers that
// start together come to their common link as far apart as their ways are long, and a card is done
// with a message while its packets still wait in a switch. That comes to 4 % on average of a fabric
// at most, and to 30 % where most of the time is the latency of the longest way (a gather over
// sites).
TEST(ModesAgree, OnEveryAlgorithmWhereNothingCollides) {
  std::vector<Fabric> all = fabrics();
  all.push_back({"one host", "builder: \"lone_server\"", 8});
  std::vector<const char*> round_trips = {"1ms", "50ms"};
  std::vector<std::string> sizes = {"1B", "1MiB"};
  if (long_runs()) {
    round_trips.insert(round_trips.end(), {"0.1ms", "10ms"});
    sizes.insert(sizes.end(), {"1KiB", "64KiB", "16MiB", "256MiB"});
  }
  for (const char* round_trip : round_trips) all.push_back(two_sites(round_trip));
  for (const Fabric& fabric : all) {
    const Tally tally = compare_all_algorithms(fabric, sizes);
    EXPECT_LE(tally.apart_mean, 0.04) << fabric.name;
    EXPECT_GE(tally.alone, tally.shared / 2) << fabric.name;
  }
}

// A queue pair alone was as slow as the cables between its GPU and the card, several together were
// not.
// Expectation: two flows of 10 MB of a GPU whose PCIe does 200 Gb/s, half of what its card does,
// take as long as 20 MB at that rate, headers included.
TEST(ModesAgree, WhereTheWayToTheCardIsSlowerThanTheCard) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("net.textproto", "builder: \"rail_optimized\"" + set("hosts", "2") + set("pcie_rate", "200Gbps"));
  // GPU 0 of the first host to two of the second: a host is eight GPUs, an NVSwitch and eight NICs.
  flags.flows = folder.write("flow.txt", "2\n0 17 3 100 10000000 0\n0 18 3 100 10000000 0\n") + ":hpcc";
  const double busy_us = 2 * 10e6 * 8 / 200e3 * (4178.0 / 4096);
  for (const char* mode : {"flow", "packet"}) {
    flags.mode = mode;
    EXPECT_NEAR(run_scenario(flags, ScenarioRunOptions{}).summary.makespan.in_s() * 1e6 / busy_us, 1, 0.01) << mode;
  }
}

// Four pairs of hosts of one switch, each with 24 messages of one connection, most of which are
// handed over while others are under way, some at one instant and some without bytes. Cards send
// them one after the other, and so does flow mode. Expectation: each takes the same in both within
// 1 %, and 100 ns for acknowledgements on the way. Parts on several queue pairs share a card by
// turns of packets.
TEST(ModesAgree, OnMessagesOfOneConnection) {
  const ScratchFolder folder;
  std::string roles;
  RandomStream random(34, 0, 0);
  for (int pair = 0; pair < 4; ++pair) {
    std::string sends;
    std::string receives;
    for (int i = 0; i < 24; ++i) {
      if (i % 2 == 0) {
        sends += fmt::format("op {{ name: \"c{}\" compute {{ duration: \"{}us\" }}{} }}\n", i, 1 + random.below(100),
                             i == 0 ? "" : fmt::format(" deps: \"c{}\"", i - 2));
      }
      const std::uint64_t kilobytes = random.below(4) == 0 ? 0 : 1 + random.below(3000);
      const std::string message = fmt::format("tag: {} size: \"{}kB\"", i ^ 1, kilobytes);
      sends += fmt::format("op {{ name: \"s{}\" send {{ peer: {} {} }} deps: \"c{}\" }}\n", i, 2 * pair + 1, message, i / 2 * 2);
      receives += fmt::format("op {{ name: \"r{}\" receive {{ peer: {} {} }} }}\n", i, 2 * pair, message);
    }
    roles += fmt::format("role {{ name: \"from{0}\" ranks: \"{1}\"\n{2}}}\nrole {{ name: \"to{0}\" ranks: \"{3}\"\n{4}}}\n", pair,
                         2 * pair, sends, 2 * pair + 1, receives);
  }
  RunFlags flags;
  flags.topology = folder.write("net.textproto", "builder: \"single_switch\" set { name: \"hosts\" value: \"8\" }");
  flags.workload = folder.write("work.textproto", "ranks: 8\n" + roles);
  for (const auto& [queue_pairs, apart] : {std::pair("1", 0.01), std::pair("4", 0.05)}) {
    std::map<std::string, std::map<std::string, double>> fct_us;
    int waiting = 0;
    for (const char* mode : {"flow", "packet"}) {
      flags.mode = mode;
      flags.settings = {std::string("flow.queue_pairs=") + queue_pairs};
      MemorySink sink;
      weft::run(load_scenario(flags), sink, {});
      for (const FlowRow& row : sink.flows) {
        fct_us[mode][fmt::format("{} {}", row.source, row.op)] = row.completion.in_s() * 1e6;
        if (mode == std::string("flow") && row.slowdown > 1.5) ++waiting;
      }
    }
    ASSERT_EQ(fct_us["flow"].size(), 96U);
    EXPECT_GT(waiting, 48);
    for (const auto& [message, us] : fct_us["flow"])
      EXPECT_NEAR(fct_us["packet"].at(message), us, apart * us + 0.1) << message << ", " << queue_pairs << " queue pairs";
  }
}

// Expectation: hashed paths of 16 flows of a fat tree collide now here, now there; every seed of
// the run has its own, and ecmp_seed keeps them.
TEST(ModesAgree, PathsFollowTheSeedOfTheRun) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("net.textproto", "builder: \"fat_tree\" set { name: \"k\" value: \"4\" }");
  std::string rows = "16\n";
  for (int i = 0; i < 16; ++i) rows += fmt::format("{} {} 3 100 1000000 0\n", i, (i + 5) % 16);
  flags.flows = folder.write("flow.txt", rows) + ":hpcc";
  std::map<std::string, int> fingerprints;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    flags.seed = seed;
    flags.settings = {};
    ++fingerprints[run_scenario(flags, ScenarioRunOptions{}).summary.fingerprint];
    flags.settings = {"flow.ecmp_seed=1"};
    ++fingerprints[run_scenario(flags, ScenarioRunOptions{}).summary.fingerprint];
  }
  // Seed 1 once by itself and three times by ecmp_seed; 2 and 3 once.
  EXPECT_EQ(fingerprints.size(), 3U);
}

}  // namespace
}  // namespace weft::modes_agree_test
