// SPDX-License-Identifier: Apache-2.0
// Flow comparison: what a run in packet mode comes to in flow mode, or why that is not known,
// whatever the machine is busy with.
#include "tools/simulation/flow_comparison.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "tests/validation/scenario_run.hpp"

namespace weft::flow_comparison_test {
namespace {

Scenario two_flows(const ScratchFolder& folder) {
  RunFlags flags;
  flags.mode = "packet";
  flags.topology = folder.write("net.txt", "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n") + ":hpcc";
  flags.flows = folder.write("flow.txt", "2\n0 1 3 100 1000000 0\n1 0 3 100 1000000 0\n") + ":hpcc";
  return load_scenario(flags);
}

// Expectation: 1 MB and headers take 82 us at 100 Gb/s.
TEST(FlowComparison, TellsWhatFlowModeComesTo) {
  const ScratchFolder folder;
  const FlowComparison comparison = compare_with_flow_mode(two_flows(folder), {}, 1'000'000);
  ASSERT_TRUE(comparison.figures.has_value());
  EXPECT_NEAR(comparison.figures->mean_fct_s, 82e-6, 10e-6);
  EXPECT_EQ(comparison.left_out_because, "");
}

TEST(FlowComparison, SaysWhyItIsLeftOut) {
  const ScratchFolder folder;
  const FlowComparison comparison = compare_with_flow_mode(two_flows(folder), {}, 1);
  EXPECT_FALSE(comparison.figures.has_value());
  EXPECT_EQ(comparison.left_out_because, "it takes more events than packets did, 1");
}

}  // namespace
}  // namespace weft::flow_comparison_test
