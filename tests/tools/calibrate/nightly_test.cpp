// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/nightly.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "calibration/search.hpp"
#include "core/text/diagnostics.hpp"
#include "tests/validation/scenario_run.hpp"

namespace weft::nightly_test {

namespace {

std::string code_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const InputError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

class Nights : public testing::Test {
 protected:
  void SetUp() override {
    std::string ops;
    for (int i = 0; i < 12; ++i) {
      const std::string after = i == 0 ? "" : fmt::format(" deps: \"o{}\"", i - 1);
      ops += fmt::format("op {{ name: \"o{}\" collective {{ type: ALL_GATHER size: \"{}kB\" }}{} }} ", i, 1 << i, after);
    }
    folder_.write("ops.textproto", "ranks: 4 role { name: \"all\" " + ops + "}");
    folder_.write("cluster.textproto",
                  "topology { builder: \"fat_tree\" set { name: \"k\" value: \"4\" } } "
                  "job { name: \"a\" gpus: 4 workload { file: \"ops.textproto\" } } "
                  "set { name: \"collective.protocol\" value: \"ideal\" }");
    write_config("");
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  void write_config(const std::string& more) const {
    folder_.write("nightly.textproto",
                  "case { scenario: \"cluster.textproto\" measured: \"fct-{date}.csv\" } fit: \"flow.network_efficiency\" "
                  "profile: \"profile.textproto\" history: \"nights\" " +
                      more);
  }

  /// What the cluster takes with this efficiency; no noise.
  void measure(const std::string& date, double efficiency) const {
    RunFlags flags;
    flags.scenario_file = path("cluster.textproto");
    flags.settings = {fmt::format("flow.network_efficiency={}", efficiency)};
    const Scenario scenario = load_scenario(flags);
    folder_.write(fmt::format("fct-{}.csv", date), "op,duration_us\no0,1\n");
    CalibrationCases all = one_case(scenario, {read_measured_file(path(fmt::format("fct-{}.csv", date)))});
    std::string text = "op,duration_us\n";
    for (int i = 0; i < 12; ++i) {
      all.measured = MeasuredTables({read_measured_times(SourceText("m.csv", fmt::format("op,duration_us\no{},1\n", i)))});
      std::vector<double> times_s(1);
      simulate_case(all, 0, scenario, MatchBy::automatic, times_s);
      text += fmt::format("o{},{}\n", i, 1e6 * times_s[0]);
    }
    folder_.write(fmt::format("fct-{}.csv", date), text);
  }

  NightResult night(const std::string& date, bool accepts_drift = false) const {
    const auto& module = find_module(searches(), "hill_climbing", SourcePlace::named("test"));
    CalibrationOptions fit{ParamSet(std::string(module.info.name), module.info.params)};
    fit.search.set("restarts", "0", {});
    fit.lambda = 0;
    return run_night(NightlyConfig::read(path("nightly.textproto")), {date, accepts_drift, fit});
  }

  double published() const {
    const CalibrationProfile profile = CalibrationProfile::read(SourceText::read(path("profile.textproto")));
    return std::stod(profile.parameters.at(0).value);
  }

  ScratchFolder folder_;
};

}  // namespace

TEST_F(Nights, PublishWhatPredictsBetterAndTellHowFarTheFirstProfileIsOff) {
  measure("2026-01-01", 0.9);
  const NightRecord first = night("2026-01-01").record;
  EXPECT_EQ(first.status, NightStatus::published);
  EXPECT_NEAR(published(), 0.9, 1e-3);
  EXPECT_EQ(first.drift, 0);
  EXPECT_LT(first.published_mape, 1e-3);
  EXPECT_GT(first.uncalibrated_mape, 0.01);

  measure("2026-02-01", 0.6);
  const NightRecord second = night("2026-02-01").record;
  EXPECT_EQ(second.status, NightStatus::published);
  EXPECT_NEAR(published(), 0.6, 1e-3);
  // The same machine as the reference but for the efficiency: errors are those of predictions.
  EXPECT_NEAR(second.drift, second.reference_mape, 1e-3);
  ASSERT_EQ(second.alarms.size(), 1U);
  EXPECT_NE(second.alarms[0].find("2026-01-01"), std::string::npos);

  // Known, and not to be told of again.
  EXPECT_EQ(night("2026-02-01", true).record.alarms.size(), 0U);
  measure("2026-03-01", 0.6);
  const NightRecord third = night("2026-03-01").record;
  EXPECT_NEAR(third.drift, 0, 1e-3);
  EXPECT_TRUE(third.alarms.empty());
  const std::vector<NightRecord> all = read_nights(path("nights"));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].date, "2026-02-01");
  EXPECT_EQ(read_table(path("nights/nights.csv")).size(), 3U);
  EXPECT_EQ(read_table(path("nights/parameters.csv")).at(2).at("parameter"), "flow.network_efficiency");
}

TEST_F(Nights, KeepWhatIsInForceWhereAValueWouldLeaveItsRange) {
  measure("2026-01-01", 0.9);
  night("2026-01-01");
  folder_.write("nightly.textproto",
                "case { scenario: \"cluster.textproto\" measured: \"fct-{date}.csv\" } fit: \"flow.network_efficiency=0.7..1\" "
                "profile: \"profile.textproto\" history: \"nights\"");
  measure("2026-01-02", 0.6);
  const NightRecord kept = night("2026-01-02").record;
  EXPECT_EQ(kept.status, NightStatus::kept);
  ASSERT_FALSE(kept.reasons.empty());
  EXPECT_NE(kept.reasons[0].find("an end of what is looked at"), std::string::npos);
  EXPECT_NEAR(published(), 0.9, 1e-3);
  // The fit, at the end of its range, is away from the reference, and the error of 0.9 has grown.
  EXPECT_EQ(kept.alarms.size(), 2U);
}

TEST_F(Nights, RefuseFarFewerRowsThanBefore) {
  for (const char* date : {"2026-01-01", "2026-01-02"}) {
    measure(date, 0.9);
    EXPECT_NE(night(date).record.status, NightStatus::refused);
  }
  folder_.write("fct-2026-01-03.csv", "op,duration_us\no1,20\n");
  const NightRecord refused = night("2026-01-03").record;
  EXPECT_EQ(refused.status, NightStatus::refused);
  ASSERT_EQ(refused.reasons.size(), 1U);
  EXPECT_EQ(refused.reasons[0], "1 row came in, less than 70.00 % of the 12 of a night before");
  write_config("rows_min: 0.01");
  EXPECT_NE(night("2026-01-03").record.reasons.at(0).find("too few"), std::string::npos);
}

TEST_F(Nights, OfOneHistoryAreMadeOneAtATime) {
  measure("2026-01-01", 0.9);
  std::filesystem::create_directories(path("nights"));
  const int held = open(path("nights/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(code_of([&] { night("2026-01-01"); }), "night-in-progress");
  close(held);
  EXPECT_EQ(night("2026-01-01").record.status, NightStatus::published);
}

TEST_F(Nights, StoppedByTheUserPublishNothing) {
  measure("2026-01-01", 0.9);
  const auto& module = find_module(searches(), "hill_climbing", SourcePlace::named("test"));
  NightOptions how{"2026-01-01", false, {ParamSet(std::string(module.info.name), module.info.params)}};
  how.fit.stop = [] { return true; };
  how.is_interrupted = [] { return true; };
  EXPECT_TRUE(run_night(NightlyConfig::read(path("nightly.textproto")), how).stopped);
  EXPECT_FALSE(std::filesystem::exists(path("profile.textproto")));
  EXPECT_TRUE(read_nights(path("nights")).empty());
}

TEST_F(Nights, ConfigurationsThatLackSomethingAreRefused) {
  folder_.write("bad.textproto", "case { scenario: \"cluster.textproto\" measured: \"m.csv\" } drift_max: 5");
  try {
    NightlyConfig::read(path("bad.textproto"));
    FAIL() << "no error";
  } catch (const InputError& error) {
    std::vector<std::string> codes;
    for (const Diagnostic& found : error.diagnostics()) codes.push_back(found.code);
    EXPECT_EQ(codes, (std::vector<std::string>{"missing-field", "missing-field", "missing-field", "out-of-range"}));
  }
}

TEST_F(Nights, TheExampleOfTheTimerCanBeRead) {
  const NightlyConfig config = NightlyConfig::read("tools/nightly/nightly.textproto");
  EXPECT_EQ(config.cases.at(0).measured.at(0), "/var/lib/weft/measured/fct-{date}.csv");
  EXPECT_EQ(config.fit.size(), 3U);
  EXPECT_EQ(config.drift_max, 0.05);
}

TEST(NightRecord, IsReadAsItWasWritten) {
  NightRecord night;
  night.date = "2026-01-31";
  night.status = NightStatus::kept;
  night.reasons = {"a \"quoted\" reason"};
  night.rows = 5;
  night.matched = 4;
  night.outliers = 1;
  night.uncalibrated_mape = 0.25;
  night.alarms = {"far"};
  night.parameters.emplace_back();
  night.parameters[0].name = "flow.wqe_latency";
  night.parameters[0].value = "2us";
  night.parameters[0].knowledge = CalibrationProfile::Knowledge::loose;
  const ScratchFolder folder;
  folder.write("night.json", night.to_json());
  const NightRecord read = NightRecord::read((folder.path() / "night.json").string());
  EXPECT_EQ(read.to_json(), night.to_json());
  EXPECT_EQ(read.uncalibrated_mape, 0.25);
  EXPECT_TRUE(std::isnan(read.drift));
  folder.write("other.json", "{\"date\": 5}");
  EXPECT_EQ(code_of([&] { NightRecord::read((folder.path() / "other.json").string()); }), "bad-night");
}

TEST(CheckDate, TakesDaysThatThereAre) {
  for (const char* good : {"2026-01-31", "2024-02-29"}) EXPECT_EQ(code_of([&] { check_date(good, {}); }), "") << good;
  for (const char* bad : {"2026-02-29", "2026-1-31", "31.1.2026", "2026-13-01", "2026-01-01x", ""})
    EXPECT_EQ(code_of([&] { check_date(bad, {}); }), "bad-value") << bad;
}

}  // namespace weft::nightly_test
