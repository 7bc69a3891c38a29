// SPDX-License-Identifier: Apache-2.0
// Workloads from text tables and templates, run as a whole: the same all-reduce from every source
// ends at the same tick, passes and pipelines take the time that a line of arithmetic gives.
#include <gtest/gtest.h>

#include <cmath>

#include "core/text/diagnostics.hpp"
#include "scenario_run.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/dag/dag_writer.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft::layer_text_runs_test {
namespace {

/// Seconds of an empty message over one switch with 2 m of fibre on each side, and of a message's
/// bytes on the wire; derived in closed_forms_test.
constexpr double kAlpha_s = 1e-6 + 20e-9 + 500e-9 + 500e-9;
double wire_s(double bytes) { return (bytes + 16 + std::ceil((bytes + 16) / 4096) * 82) * 8 / 400e9; }
double ring_s(int ranks, double bytes) { return 2 * (ranks - 1) * (kAlpha_s + wire_s(bytes / ranks)); }

std::string made(const std::string& name, const std::vector<std::pair<std::string, std::string>>& settings) {
  const SourcePlace place = SourcePlace::named("test");
  const auto& module = find_module(workload_templates(), name, place);
  ParamSet params(name, module.info.params);
  for (const auto& [key, value] : settings) params.set(key, value, place);
  return to_workload_text(module.make(params, place));
}

ScenarioRun run_on_one_switch(const std::string& workload, const std::string& fields, int hosts) {
  const ScratchFolder folder;
  folder.write("work.textproto", workload);
  RunFlags flags;
  flags.scenario_file = folder.write(
      "scenario.textproto", "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"" + std::to_string(hosts) +
                                "\" } }\njob { workload { file: \"work.textproto\" " + fields + " } }\n");
  flags.settings = {"collective.all_reduce=ring", "flow.forwarding=cut_through"};
  return run_scenario(flags);
}

double iteration_s(const ScenarioRun& run) {
  EXPECT_EQ(run.iterations.size(), 1U);
  return std::stod(run.iterations.at(0).at("duration_s"));
}

TEST(LayerTextRuns, OneAllReduceEndsAtTheSameTickFromEverySource) {
  const std::string row = "all_reduce -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 64000000 0\n";
  const ScenarioRun own = run_on_one_switch(
      "ranks: 64\nrole { name: \"all\" op { name: \"c\" collective { type: ALL_REDUCE size: \"64MB\" } } }\n", "", 64);
  const ScenarioRun simai = run_on_one_switch("MICRO all_gpus: 64\n1\n" + row, "format: \"simai\"", 64);
  const ScenarioRun astra = run_on_one_switch("MICRO\n1\n" + row, "format: \"astrasim-text\" ranks: 64", 64);
  const ScenarioRun templ = run_on_one_switch(made("collectives", {{"ranks", "64"}, {"size", "64MB"}}), "", 64);
  EXPECT_EQ(simai.summary.makespan, own.summary.makespan);
  EXPECT_EQ(astra.summary.makespan, own.summary.makespan);
  EXPECT_EQ(templ.summary.makespan, own.summary.makespan);
  EXPECT_NEAR(iteration_s(simai), ring_s(64, 64e6), ring_s(64, 64e6) * 1e-3);
}

TEST(LayerTextRuns, ATransformerPassIsItsChain) {
  // Two ranks, tp 2: F 1 ms, f, update 1 us, I 2 ms, i, update, W 3 ms; nothing overlaps, and dp
  // groups of one do not communicate.
  const ScenarioRun run = run_on_one_switch(
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 2\n1\n"
      "layer -1 1000000 ALLREDUCE 8000000 2000000 ALLREDUCE 16000000 3000000 ALLREDUCE 8000000 1000\n",
      "format: \"simai\"", 2);
  const double expected_s = 6e-3 + 2e-6 + ring_s(2, 8e6) + ring_s(2, 16e6);
  EXPECT_NEAR(iteration_s(run), expected_s, expected_s * 1e-3);
}

TEST(LayerTextRuns, WeightGradientsHideBehindBackward) {
  // DATA on 4 ranks: F 1 + 1 ms; W of b 1 ms, then its all-reduce of 4 MB (about 0.13 ms) beside I
  // of b (5 ms) and W of a (1 ms); what shows is a's.
  const ScenarioRun run = run_on_one_switch(
      "DATA\n2\n"
      "a -1 1000000 NONE 0 0 NONE 0 1000000 ALLREDUCE 4000000 0\n"
      "b -1 1000000 NONE 0 5000000 NONE 0 1000000 ALLREDUCE 4000000 0\n",
      "format: \"astrasim-text\" ranks: 4", 4);
  const double expected_s = 9e-3 + ring_s(4, 4e6);
  EXPECT_NEAR(iteration_s(run), expected_s, expected_s * 1e-3);
}

TEST(LayerTextRuns, OneForwardOneBackwardFillsThePipeline) {
  // 4 stages of one layer, 6 micro-batches, forward 10 ms and backward 20 ms: (6 + 4 - 1) x 30 ms,
  // and little for messages of 8 kB and the head.
  const ScenarioRun run = run_on_one_switch(made("llm", {{"tp", "1"},
                                                         {"dp", "1"},
                                                         {"pp", "4"},
                                                         {"layers", "4"},
                                                         {"vocab", "1"},
                                                         {"seq", "1"},
                                                         {"microbatches", "6"},
                                                         {"forward_time", "10ms"},
                                                         {"optimizer_time", "0s"}}),
                                            "", 4);
  EXPECT_NEAR(iteration_s(run), 0.270, 0.270 * 1e-3);
}

}  // namespace
}  // namespace weft::layer_text_runs_test
