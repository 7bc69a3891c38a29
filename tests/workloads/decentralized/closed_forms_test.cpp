// SPDX-License-Identifier: Apache-2.0
// Closed forms of training across sites against numbers that others worked out: those of their
// source, and a table that a script in another language makes of the source's text.
#include "workloads/decentralized/closed_forms.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/text/param_rows.hpp"
#include "tests/error_code.hpp"

namespace weft::decentralized_test {
namespace {

DecentralizedForecast forecast(const std::vector<std::string>& settings, bool as_seed = false) {
  ParamSet params("decentralized", decentralized_params());
  for (const std::string& text : settings) {
    const std::size_t equals = text.find('=');
    params.set(text.substr(0, equals), text.substr(equals + 1), {});
  }
  return forecast_decentralized(filled<DecentralizedSettings>(params), as_seed, SourcePlace::named("test"));
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// To nine digits, as they are printed.
void expect_digits(double value, double expected) { EXPECT_NEAR(value, expected, std::abs(expected) * 1e-9); }

TEST(DecentralizedForecasts, AreThoseOfAScriptInAnotherLanguage) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/tests/workloads/decentralized/configurations.csv");
  std::string line;
  std::getline(file, line);
  ASSERT_EQ(line, "settings,quantities");
  // Names that differ by mode here and not there.
  const std::map<std::string, std::vector<std::string>> names = {{"M", {"M_node", "M_req"}}, {"T_step", {"T_step", "T_PP_step"}}};
  std::map<std::string, int> modes;
  while (std::getline(file, line)) {
    SCOPED_TRACE(line);
    const std::size_t comma = line.find(',');
    const DecentralizedForecast found = forecast(words_of(line.substr(0, comma)));
    for (const std::string& quantity : words_of(line.substr(comma + 1))) {
      const std::string name = quantity.substr(0, quantity.find('='));
      const std::string value = quantity.substr(quantity.find('=') + 1);
      if (name == "mode") {
        EXPECT_EQ(letter_of(found.mode), value);
        ++modes[value];
        continue;
      }
      double ours = found.of(name);
      if (const auto known = names.find(name); known != names.end()) {
        for (const std::string& one : known->second) ours = std::isnan(ours) ? found.of(one) : ours;
      }
      expect_digits(ours, std::stod(value));
    }
  }
  EXPECT_EQ(modes.size(), 4U);
  for (const auto& [mode, count] : modes) EXPECT_GE(count, 9) << mode;
}

// The numbers that the source's defaults and neighbours come to, worked out by hand.
TEST(DecentralizedForecasts, HaveTheDigitsOfTheSourcesDefaults) {
  const DecentralizedForecast defaults = forecast({});
  EXPECT_NEAR(defaults.of("T_comp"), 8.84736, 5e-6);
  EXPECT_NEAR(defaults.of("T_sync"), 3768.60005, 5e-6);
  EXPECT_NEAR(defaults.of("T_total"), 433.306457, 5e-7);
  EXPECT_NEAR(defaults.of("T_effective"), 491.136924, 5e-7);
  EXPECT_NEAR(defaults.of("efficiency"), 0.882251843, 5e-10);
  EXPECT_NEAR(defaults.of("alpha"), 0.0558787014, 5e-11);
  EXPECT_NEAR(defaults.of("L"), 0.375038413, 5e-10);

  const DecentralizedForecast regional = forecast({"hierarchicalEnabled=true", "streamingEnabled=false"});
  EXPECT_NEAR(regional.of("T_regional_cycle"), 1463.68508, 5e-6);
  EXPECT_NEAR(regional.of("T_global_cycle"), 26755.5463, 5e-5);
  EXPECT_NEAR(regional.of("T_total"), 192.268860, 5e-7);
  EXPECT_NEAR(regional.of("T_effective"), 226.569296, 5e-7);

  const DecentralizedForecast every_step = forecast({"innerSteps=1"});
  EXPECT_NEAR(every_step.of("T_total"), 55463.2265, 5e-5);
  EXPECT_EQ(every_step.of("efficiency"), 1);

  const DecentralizedForecast beyond = forecast({"parameters=144.000001"});
  EXPECT_EQ(beyond.mode, DecentralizedMode::pipeline_groups);
  EXPECT_EQ(beyond.of("S"), 2);
  EXPECT_NEAR(beyond.of("T_PP_step"), 287.937955, 5e-7);
  EXPECT_NEAR(beyond.of("T_total"), 8475.27876, 5e-6);

  const DecentralizedForecast few = forecast({"parameters=300", "numNodes=5"});
  EXPECT_EQ(few.mode, DecentralizedMode::pipeline);
  EXPECT_NEAR(few.of("T_step"), 473.641651, 5e-7);
  EXPECT_NEAR(few.of("T_total"), 501888.753, 5e-4);

  const DecentralizedForecast experts = forecast(
      {"isMoE=true", "parameters=600", "activeParams=100", "expertParallel=true", "hierarchicalEnabled=true", "moeLayers=60"});
  EXPECT_NEAR(experts.of("M_node"), 2600, 1e-9);
  EXPECT_EQ(experts.of("S"), 2);
  EXPECT_NEAR(experts.of("T_comp"), 8.544, 1e-12);
  EXPECT_NEAR(experts.of("T_total"), 3472.81699, 5e-6);

  const DecentralizedForecast small = forecast({"parameters=0.124", "innerSteps=10000"});
  EXPECT_NEAR(small.of("alpha"), 0.0977177605, 5e-11);
  EXPECT_NEAR(small.of("efficiency"), 0.609128958, 5e-10);
}

// INTELLECT-1: 10 billion parameters, a hundred inner steps in 38 min, then an all-reduce of 103,
// 382 or 469 s, as its nodes lie in the USA, in Europe too, or in Asia too. Values of eight bits
// are exchanged; the rate is the one that takes so long.
TEST(DecentralizedForecasts, HaveTheUtilisationOfIntellect1) {
  constexpr double inner_s = 38 * 60;
  for (const double all_reduce_s : {103.0, 382.0, 469.0}) {
    SCOPED_TRACE(all_reduce_s);
    // 6 P B / rate is a hundredth of the inner phase where the rate is 6 P B over that.
    const double pflops = 6 * 10e9 * 131072 / (inner_s / 100) / 1e15;
    const double mbps = 2 * 10e9 * 8 / all_reduce_s / 1e6;
    const DecentralizedForecast found =
        forecast({"parameters=10", "mfu=1", fmt::format("pflopsPerNode={}", pflops), "innerSteps=100", "compression=2",
                  fmt::format("bandwidthMbps={}", mbps), "latencyMs=0", "stragglerCoefficient=0", "streamingEnabled=false"});
    EXPECT_NEAR(found.of("T_sync"), all_reduce_s, 1e-6);
    EXPECT_NEAR(found.of("utilisation"), inner_s / (inner_s + all_reduce_s), 1e-9);
  }
}

// What a dense model is not made of has no say in it.
TEST(DecentralizedForecasts, OfDenseModelsDoNotLookAtActiveParameters) {
  for (const SiteQuantity& quantity :
       forecast({"activeParams=7", "sharedParams=3", "moeLayers=60", "expertParallel=true"}).quantities)
    EXPECT_EQ(quantity.value, forecast({}).of(quantity.name)) << quantity.name;
}

TEST(DecentralizedForecasts, TellWhereTheSourceContradictsItself) {
  const std::vector<std::string> three_stages = {"parameters=300"};
  EXPECT_DOUBLE_EQ(forecast(three_stages).of("bubble"), 2.0 / 10);
  EXPECT_DOUBLE_EQ(forecast(three_stages, true).of("bubble"), 2.0 / 9);
  const std::vector<std::string> no_bubble = {"parameters=300", "zeroBubble=true"};
  EXPECT_NEAR(forecast(no_bubble).of("zero_bubble_speedup"), 10.0 / 8 * 0.97, 1e-12);
  EXPECT_EQ(forecast(no_bubble, true).of("zero_bubble_speedup"), 1.25);
  EXPECT_EQ(forecast({"parameters=20000", "numNodes=500", "zeroBubble=true"}).of("zero_bubble_speedup"), 1);
  const std::vector<std::string> one_pipeline = {"parameters=300", "numNodes=5"};
  EXPECT_EQ(forecast(one_pipeline).of("nodes_used"), 3);
  EXPECT_DOUBLE_EQ(forecast(one_pipeline, true).of("nodes_used"), 5.0 / 3);
  const std::vector<std::string> all_again = {"recompute=full"};
  const auto ratio = [&](bool as_seed) {
    const DecentralizedForecast found = forecast(all_again, as_seed);
    return found.of("global_MFU") / found.of("HFU");
  };
  EXPECT_NEAR(ratio(false), 0.75, 1e-12);
  EXPECT_NEAR(ratio(true), 0.67, 1e-12);
  // Nodes that stand by do not take part in a synchronization.
  const std::vector<std::string> backup = {"stragglerStrategy=backup"};
  EXPECT_NEAR(forecast(backup).of("f_straggler"), 1 + 0.3 * 0.05 * std::log2(72 / 1.1), 1e-12);
  EXPECT_NEAR(forecast(backup, true).of("f_straggler"), 1 + 0.3 * 0.05 * std::log2(72), 1e-12);
}

TEST(DecentralizedForecasts, WarnOfWhatIsOutOfTheOrdinary) {
  const auto warns = [](const std::vector<std::string>& settings, const std::string& of) {
    for (const std::string& warning : forecast(settings).warnings) {
      if (warning.find(of) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(warns({"mfu=0.61"}, "mfu"));
  EXPECT_FALSE(warns({"mfu=0.6"}, "mfu"));
  EXPECT_TRUE(warns({"parameters=300", "numNodes=5"}, "last resort"));
  EXPECT_TRUE(warns({}, "takes longer than"));
  EXPECT_FALSE(warns({"tokens=1"}, "takes longer than"));
  EXPECT_TRUE(warns({"parameters=1500", "hierarchicalEnabled=true"}, "leave their region"));
  EXPECT_TRUE(warns({"parameters=0.5"}, "pole"));
  EXPECT_FALSE(warns({"parameters=1"}, "pole"));
}

TEST(DecentralizedForecasts, LiftLimitsOfTheSource) {
  const auto step_s = [](std::vector<std::string> more) {
    more.emplace_back("parameters=300");
    return forecast(more).of("T_PP_step");
  };
  // Ten slots, in each of which the same goes back.
  const DecentralizedForecast plain = forecast({"parameters=300"});
  const double sends_s = 10 * (plain.of("T_micro_comm") + 0.1) * plain.of("f_straggler_pipeline");
  EXPECT_NEAR(step_s({"backwardActivations=true"}), plain.of("T_PP_step") + sends_s, 1e-9);
  // 144 billion parameters fill a node, and 66 % more do not fit.
  EXPECT_EQ(forecast({"streamingMemory=true"}).mode, DecentralizedMode::pipeline_groups);
  EXPECT_EQ(forecast({"streamingMemory=true", "streamingEnabled=false"}).mode, DecentralizedMode::data_parallel);
  EXPECT_NEAR(forecast({"precision=FP8", "precisionSpeedup=true"}).of("T_comp"), 8.84736 / 2, 1e-9);
  EXPECT_NEAR(forecast({"slowestNode=0.5"}).of("T_comp"), 8.84736 * 2, 1e-9);
  const std::vector<std::string> regional = {"hierarchicalEnabled=true", "regionalCompression=4"};
  EXPECT_DOUBLE_EQ(forecast(regional).of("V_regional_bits"), 4 * forecast(regional).of("V_bits"));
}

TEST(DecentralizedForecasts, RefuseWhatCannotBe) {
  const auto code = [](const std::vector<std::string>& settings) { return error_code_of([&] { forecast(settings); }); };
  EXPECT_EQ(code({"numNodes=0"}), "out-of-range");
  EXPECT_EQ(code({"innerSteps=0.5"}), "out-of-range");
  EXPECT_EQ(code({"bandwidthMbps=-1"}), "out-of-range");
  EXPECT_EQ(code({"hierarchicalEnabled=true", "nodesPerGroup=73"}), "out-of-range");
  EXPECT_EQ(code({"isMoE=true", "activeParams=145"}), "out-of-range");
  EXPECT_EQ(code({"parameters=2000", "numNodes=5"}), "does-not-fit");
  EXPECT_EQ(code({"precision=FP12"}), "bad-value");
  EXPECT_EQ(code({"nodes=5"}), "unknown-param");
}

}  // namespace
}  // namespace weft::decentralized_test
