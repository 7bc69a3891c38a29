// SPDX-License-Identifier: Apache-2.0
// Made workloads compute as fast as the GPUs of the cluster's servers.
#include "tools/simulation/scenario/workload_gpu.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/op_times/gpu.hpp"
#include "tests/tools/weft/weft_process.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft::workload_gpu_test {
namespace {

/// Of the job's first op that computes.
double first_compute_s(const std::string& server, const std::string& workload, const std::vector<std::string>& settings = {}) {
  const TestFolder folder;
  folder.write("s.textproto",
               "topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"8\" } set { name: \"server\" value: \"" +
                   server + "\" } }\njob { name: \"a\" workload { " + workload + " } }\n");
  RunFlags flags;
  flags.scenario_file = (folder / "s.textproto").string();
  flags.settings = settings;
  const Scenario scenario = load_scenario(flags);
  const RoleDag& dag = scenario.jobs.at(0).workload->roles.at(0);
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (dag.kind(OpId(i)) == OpKind::compute) return dag.op(OpId(i)).duration.in_s();
  }
  return 0;
}

double peak_of(const std::string& gpu) { return gpu_named(gpu, {}).peak(MatrixType::bf16).value(); }

constexpr const char* llm = "template: \"llm\" set { name: \"layers\" value: \"4\" } set { name: \"dp\" value: \"1\" }";

}  // namespace

// Expectation: the template's rate is for an H100; of other servers' GPUs it is as much of their
// peak, to the four digits that it is set with, unless the user says a rate.
TEST(WorkloadGpu, TemplatesAreScaledByThePeakOfTheServersGpus) {
  const double on_h100 = first_compute_s("hgx_h100", llm);
  ASSERT_GT(on_h100, 0);
  EXPECT_NEAR(first_compute_s("hgx_b200", llm), on_h100 * peak_of("h100_sxm") / peak_of("b200"), 1e-3 * on_h100);
  EXPECT_NEAR(first_compute_s("hgx_a100", llm), on_h100 * peak_of("h100_sxm") / peak_of("a100_sxm_80gb"), 3e-3 * on_h100);
  EXPECT_EQ(first_compute_s("hgx_b200", llm, {"llm.tflops=400"}), on_h100);
}

// Expectation: a plan that names no GPU takes that of the servers, and one that does keeps it.
TEST(WorkloadGpu, PlansAreForTheServersGpus) {
  const std::string plan = "model: \"llama3_8b\" plan: \"llama3_8b_nemo\" ranks: 64";
  const double on_h100 = first_compute_s("hgx_h100", plan);
  const double on_b200 = first_compute_s("hgx_b200", plan);
  ASSERT_GT(on_b200, 0);
  EXPECT_LT(on_b200, on_h100);
  EXPECT_EQ(first_compute_s("hgx_b200", plan + " gpu: \"h100_sxm\""), on_h100);
}

}  // namespace weft::workload_gpu_test
