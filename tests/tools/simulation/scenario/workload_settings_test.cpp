// SPDX-License-Identifier: Apache-2.0
// Settings of workloads: --set on what a scenario makes is what the scenario could have said
// itself.
#include "tools/simulation/scenario/workload_settings.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/error_code.hpp"
#include "tests/tools/weft/weft_process.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft::workload_settings_test {
namespace {

constexpr const char* cluster =
    "topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"8\" } set { name: \"server\" value: \"hgx_h100\" } }\n";

std::string fingerprint_of(const std::string& jobs, const std::vector<std::string>& settings) {
  const TestFolder folder;
  folder.write("s.textproto", cluster + jobs);
  RunFlags flags;
  flags.scenario_file = (folder / "s.textproto").string();
  flags.settings = settings;
  ResultSink sink;
  return finish_run(load_scenario(flags), sink, {}).summary.fingerprint;
}

std::string code_of(const std::string& jobs, const std::vector<std::string>& settings) {
  return error_code_of([&] { fingerprint_of(jobs, settings); });
}

std::string job_of(const std::string& name, const std::string& workload) {
  return "job { name: \"" + name + "\" workload { " + workload + " } }\n";
}

const std::string small = "set { name: \"layers\" value: \"4\" } set { name: \"microbatches\" value: \"2\" } ";

}  // namespace

TEST(WorkloadSettings, ATemplatesParameterIsThatOfTheScenario) {
  const std::string made = job_of("a", "template: \"llm\" " + small + "set { name: \"dp\" value: \"1\" }");
  const std::string said =
      job_of("a", "template: \"llm\" " + small + "set { name: \"dp\" value: \"1\" } set { name: \"pp\" value: \"2\" }");
  EXPECT_EQ(fingerprint_of(made, {"llm.pp=2"}), fingerprint_of(said, {}));
  // It stands before what the scenario says.
  EXPECT_EQ(fingerprint_of(said, {"llm.pp=2"}), fingerprint_of(said, {}));
  EXPECT_NE(fingerprint_of(said, {"llm.pp=4"}), fingerprint_of(said, {}));
}

TEST(WorkloadSettings, EveryWorkloadOfTheTemplateHasIt) {
  const std::string one = "template: \"llm\" " + small + "set { name: \"dp\" value: \"1\" } set { name: \"pp\" value: \"1\" }";
  const std::string two = "template: \"llm\" " + small + "set { name: \"dp\" value: \"1\" } set { name: \"pp\" value: \"2\" }";
  EXPECT_EQ(fingerprint_of(job_of("a", one) + job_of("b", one), {"llm.pp=2"}),
            fingerprint_of(job_of("a", two) + job_of("b", two), {}));
}

TEST(WorkloadSettings, APlansFieldIsThatOfTheScenario) {
  const std::string plan = "model: \"llama3_8b\" plan: \"llama3_8b_nemo\" ranks: 8 set { name: \"global_batch\" value: \"8\" }";
  const std::string said = plan + " set { name: \"microbatch\" value: \"2\" }";
  EXPECT_EQ(fingerprint_of(job_of("a", plan), {"plan.microbatch=2"}), fingerprint_of(job_of("a", said), {}));
  EXPECT_NE(fingerprint_of(job_of("a", plan), {"plan.microbatch=2"}), fingerprint_of(job_of("a", plan), {}));
}

TEST(WorkloadSettings, WhatNoWorkloadTakesIsRefused) {
  const std::string llm = job_of("a", "template: \"llm\" " + small + "set { name: \"dp\" value: \"1\" }");
  EXPECT_EQ(code_of(llm, {"dlrm.batch=64"}), "unused-setting");
  EXPECT_EQ(code_of(llm, {"plan.zero_stage=1"}), "unused-setting");
  EXPECT_EQ(code_of(llm, {"llm.pp=2", "llm.pp=4"}), "duplicate-setting");
  EXPECT_EQ(code_of(llm, {"llm.ppp=2"}), "unknown-param");
  EXPECT_EQ(code_of(llm, {"llm.pp=0"}), "out-of-range");
  EXPECT_EQ(code_of(job_of("a", "model: \"llama3_8b\" plan: \"llama3_8b_nemo\" ranks: 8"), {"plan.zero_stages=1"}),
            "unknown-field");
}

// Names of templates are no names of other modules with parameters, which --set would then mean.
TEST(WorkloadSettings, NamesAreNoOtherModules) {
  const Parameters parameters;
  for (const ParamSet& set : parameters.all()) EXPECT_FALSE(WorkloadSettings::is_of_workload(set.module() + ".x")) << set.module();
}

}  // namespace weft::workload_settings_test
