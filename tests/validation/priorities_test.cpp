// SPDX-License-Identifier: Apache-2.0
// Priorities, from the workload's text to the end of its collectives: two that meet on a link,
// whose times follow from a line of arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "scenario_run.hpp"
#include "workloads/dag/dag.hpp"

namespace weft::priorities_test {
namespace {

/// Two ranks, each with its own cable to a switch, all-gather twice at the same time: each sends 50
/// MB of either collective to the other. What goes first has the 400 Gb/s to itself, for the time
/// of its bytes on the wire: 4,096 B of content and 82 B of overhead per packet.
constexpr double kBytes = 50e6;
const double kWire_s = (kBytes + 16 + std::ceil((kBytes + 16) / 4096) * 82) * 8 / 400e9;

/// Durations by the name of the op, in units of kWire_s.
std::map<std::string, double> durations(const std::string& communicator, const std::string& fields,
                                        const std::vector<std::string>& settings = {}) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("topology.textproto", "builder: \"single_switch\" set { name: \"hosts\" value: \"2\" }");
  flags.workload =
      folder.write("workload.textproto",
                   "ranks: 2 communicator { name: \"both\" size: 2 " + communicator +
                       " }\nrole { op { name: \"first\" collective { type: ALL_GATHER size: \"50MB\" communicator: \"both\" " +
                       fields + " } } op { name: \"other\" collective { type: ALL_GATHER size: \"50MB\" } } }");
  flags.settings = settings;
  std::map<std::string, double> found;
  for (const auto& row : run_scenario(flags).collectives) found[row.at("op")] = std::stod(row.at("duration_ns")) * 1e-9 / kWire_s;
  return found;
}

void expect(const std::map<std::string, double>& found, double first, double other) {
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(found.at("first"), first, 5e-3);
  EXPECT_NEAR(found.at("other"), other, 5e-3);
}

TEST(Priorities, AreAllAlikeUnlessGiven) { expect(durations("", ""), 2, 2); }

TEST(Priorities, OfAnOpGoFirst) { expect(durations("", "priority: 1"), 1, 2); }

TEST(Priorities, OfACommunicatorGoFirst) { expect(durations("priority: 7", ""), 1, 2); }

TEST(Priorities, OfAnOpComeBeforeThatOfItsCommunicator) { expect(durations("priority: 7", "priority: 0"), 2, 2); }

TEST(Priorities, CanBeSwitchedOff) { expect(durations("priority: 7", "", {"flow.priorities=none"}), 2, 2); }

// Group 0 of an hpcc flow list goes before the others: 50 MB each from two hosts to a third.
TEST(Priorities, OfFlowListsGoFirst) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("net.txt", "4 1 3\n3\n0 3 400Gbps 0ms 0\n1 3 400Gbps 0ms 0\n2 3 400Gbps 0ms 0\n") + ":hpcc";
  const auto ends_of = [&](const std::string& groups) {
    const ScenarioRun run = [&] {
      flags.flows = folder.write("flow.txt", groups) + ":hpcc";
      return run_scenario(flags);
    }();
    std::vector<double> fct;
    for (const auto& row : run.flows) fct.push_back(std::stod(row.at("fct_ns")) * 1e-9 / kWire_s);
    return fct;
  };
  const std::vector<double> alike = ends_of("2\n0 2 3 100 50000000 0\n1 2 7 100 50000000 0\n");
  ASSERT_EQ(alike.size(), 2U);
  EXPECT_NEAR(alike[0], 2, 5e-3);
  EXPECT_NEAR(alike[1], 2, 5e-3);
  const std::vector<double> ordered = ends_of("2\n0 2 3 100 50000000 0\n1 2 0 100 50000000 0\n");
  ASSERT_EQ(ordered.size(), 2U);
  EXPECT_NEAR(ordered[0], 1, 5e-3) << "flows.csv has them in order of leaving";
  EXPECT_NEAR(ordered[1], 2, 5e-3);
}

}  // namespace
}  // namespace weft::priorities_test
