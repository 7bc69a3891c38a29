// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/nightly.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/search.hpp"
#include "core/text/diagnostics.hpp"
#include "tests/error_code.hpp"
#include "tests/validation/scenario_run.hpp"
#include "tools/calibrate/night_date.hpp"

namespace weft::nightly_test {

namespace {

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

  /// What the cluster takes with this efficiency; no noise, but every `slow_every`-th a quarter
  /// longer.
  void measure(const std::string& date, double efficiency, int slow_every = 1'000) const {
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
      simulate_case(all, 0, scenario, matchers_of(all.measured, MatchBy::automatic), times_s);
      text += fmt::format("o{},{}\n", i, (i % slow_every == slow_every - 1 ? 1.25e6 : 1e6) * times_s[0]);
    }
    folder_.write(fmt::format("fct-{}.csv", date), text);
  }

  static NightOptions options(const std::string& date) {
    const auto& module = find_module(searches(), "hill_climbing", SourcePlace::named("test"));
    NightOptions how{date, false, {ParamSet(std::string(module.info.name), module.info.params)}};
    how.fit.search.set("restarts", "0", {});
    how.fit.lambda = 0;
    how.fit.drops_outliers = true;
    return how;
  }

  NightResult night(const NightOptions& how) const { return run_night(NightlyConfig::read(path("nightly.textproto")), how); }
  NightResult night(const std::string& date, bool accepts_drift = false) const {
    NightOptions how = options(date);
    how.accepts_drift = accepts_drift;
    return night(how);
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

// The first night, whose profile is the reference, does not count.
TEST_F(Nights, AlarmWhereTheMedianOfTheLastDaysIsFarOff) {
  write_config("drift_days: 5");
  const auto made = [&](int day, double efficiency) {
    const std::string date = fmt::format("2026-01-{:02}", day);
    measure(date, efficiency);
    return night(date);
  };
  EXPECT_TRUE(std::isnan(made(1, 0.9).record.drift_median));
  for (const int day : {2, 3}) EXPECT_TRUE(made(day, 0.9).record.alarms.empty()) << day;
  const NightResult outlier = made(4, 0.6);
  EXPECT_GT(outlier.record.drift, 0.05);
  EXPECT_LT(outlier.record.drift_median, 1e-3);
  EXPECT_TRUE(outlier.record.alarms.empty());
  EXPECT_EQ(outlier.record.reference, "2026-01-01");
  ASSERT_FALSE(outlier.notes.empty());
  EXPECT_NE(outlier.notes.back().find("in the median of the last 3 nights: no alarm"), std::string::npos) << outlier.notes.back();
  EXPECT_TRUE(made(5, 0.9).record.alarms.empty());
  // It lasts, but for a night that was not measured: three of the nights of 4, 5, 7 and 8 are off.
  const NightRecord seventh = made(7, 0.6).record;
  EXPECT_NEAR(seventh.drift_median, seventh.drift / 2, 1e-3);  // of 3, 4, 5 and 7
  const NightRecord eighth = made(8, 0.6).record;
  EXPECT_NEAR(eighth.drift_median, eighth.drift, 1e-3);
  ASSERT_EQ(eighth.alarms.size(), 1U);
  EXPECT_NE(eighth.alarms[0].find("in the median of the last 4 nights, more than 5.00 %"), std::string::npos) << eighth.alarms[0];
  // Ten days later there are no others.
  const NightRecord later = made(18, 0.9).record;
  EXPECT_EQ(later.drift_median, later.drift);
  EXPECT_TRUE(later.alarms.empty());
}

TEST_F(Nights, CountOnlyThoseHeldAgainstTheSameReference) {
  for (const char* date : {"2026-01-01", "2026-01-02", "2026-01-03"}) {
    measure(date, std::string(date) == "2026-01-01" ? 0.9 : 0.6);
    night(date);
  }
  measure("2026-01-04", 0.6);
  const NightRecord accepted = night("2026-01-04", true).record;
  EXPECT_EQ(accepted.reference, "");
  measure("2026-01-05", 0.9);
  const NightRecord first = night("2026-01-05").record;
  EXPECT_EQ(first.reference, "2026-01-04");
  EXPECT_EQ(first.drift_median, first.drift);
  EXPECT_EQ(first.alarms.size(), 1U);
  // Made again, it counts once; made late, nights after it do not count.
  measure("2026-01-06", 0.6);
  const NightRecord second = night("2026-01-06").record;
  EXPECT_DOUBLE_EQ(second.drift_median, (first.drift + second.drift) / 2);
  EXPECT_EQ(night("2026-01-06").record.drift_median, second.drift_median);
  const NightRecord again = night("2026-01-05").record;
  EXPECT_EQ(again.drift_median, again.drift);
}

TEST_F(Nights, OfOneDayAlarmByThemselves) {
  for (const char* date : {"2026-01-01", "2026-01-02", "2026-01-03"}) {
    measure(date, 0.9);
    night(date);
  }
  measure("2026-01-04", 0.6);
  EXPECT_TRUE(night("2026-01-04").record.alarms.empty());
  write_config("drift_days: 1");
  const NightRecord alone = night("2026-01-04").record;
  EXPECT_EQ(alone.drift_median, alone.drift);
  EXPECT_EQ(alone.alarms.size(), 1U);
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
  EXPECT_EQ(error_code_of([&] { night("2026-01-01"); }), "night-in-progress");
  close(held);
  EXPECT_EQ(night("2026-01-01").record.status, NightStatus::published);
}

TEST_F(Nights, StoppedByTheUserPublishNothing) {
  measure("2026-01-01", 0.9);
  NightOptions how = options("2026-01-01");
  int batches = 0;
  how.fit.stop = [&] { return ++batches > 3; };
  how.is_interrupted = [] { return true; };
  EXPECT_TRUE(night(how).stopped);
  EXPECT_FALSE(std::filesystem::exists(path("profile.textproto")));
  EXPECT_TRUE(read_nights(path("nights")).empty());
  EXPECT_TRUE(std::filesystem::exists(path("nights/2026-01-01/candidates")));
  // Measurements that were corrected meanwhile begin anew.
  measure("2026-01-01", 0.8);
  EXPECT_EQ(night("2026-01-01").record.status, NightStatus::published);
  EXPECT_NEAR(published(), 0.8, 1e-3);
  EXPECT_FALSE(std::filesystem::exists(path("nights/2026-01-01/candidates")));
}

TEST_F(Nights, EndedByTheClockAreNotVerifiedAndNotPublished) {
  measure("2026-01-01", 0.9);
  NightOptions how = options("2026-01-01");
  int batches = 0;
  how.fit.stop = [&] { return ++batches > 3; };
  const NightRecord kept = night(how).record;
  EXPECT_EQ(kept.status, NightStatus::kept);
  EXPECT_NE(kept.reasons.at(0).find("--minutes"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("profile.textproto")));
}

// Outliers do not pull the fit, but the error of what is in force is that of all times.
TEST_F(Nights, TellOfPartOfAClusterThatBecameSlow) {
  measure("2026-01-01", 0.9);
  night("2026-01-01");
  measure("2026-01-02", 0.9, 12);
  const NightRecord slow = night("2026-01-02").record;
  EXPECT_EQ(slow.outliers, 1U);
  EXPECT_NEAR(published(), 0.9, 1e-3);
  // One time of twelve is predicted 1 - 1 / 1.25 = 20 % too short.
  EXPECT_NEAR(slow.published_mape, 0.2 / 12, 1e-3);
  EXPECT_NEAR(slow.drift, 0, 1e-3);
  write_config("drift_max: 0.015");
  EXPECT_EQ(night("2026-01-02").record.alarms.size(), 1U);
}

TEST_F(Nights, BeforeTheOneInForceAreRecordedButNotPublished) {
  measure("2026-01-02", 0.9);
  night("2026-01-02");
  measure("2026-01-01", 0.6);
  const NightRecord older = night("2026-01-01").record;
  EXPECT_EQ(older.status, NightStatus::kept);
  EXPECT_NE(older.reasons.at(0).find("2026-01-02"), std::string::npos);
  EXPECT_NEAR(published(), 0.9, 1e-3);
  EXPECT_EQ(read_nights(path("nights")).size(), 2U);
}

TEST_F(Nights, ThatWerePublishedStaySoWhereASecondAttemptIsNot) {
  folder_.write("nightly.textproto",
                "case { scenario: \"cluster.textproto\" measured: \"fct-{date}.csv\" } fit: \"flow.network_efficiency=0.7..1\" "
                "profile: \"profile.textproto\" history: \"nights\"");
  measure("2026-01-01", 0.9);
  night("2026-01-01");
  // What would leave its range.
  measure("2026-01-01", 0.6);
  EXPECT_FALSE(night("2026-01-01").record.reasons.empty());
  EXPECT_NEAR(published(), 0.9, 1e-3);
  EXPECT_EQ(read_nights(path("nights")).at(0).status, NightStatus::published);
  folder_.write("fct-2026-01-01.csv", "");
  EXPECT_EQ(night("2026-01-01").record.status, NightStatus::refused);
  EXPECT_EQ(read_nights(path("nights")).at(0).status, NightStatus::published);
}

TEST_F(Nights, GoOnWhereTheProfileWasTakenAway) {
  measure("2026-01-01", 0.9);
  night("2026-01-01");
  std::filesystem::remove(path("profile.textproto"));
  folder_.write("nightly.textproto",
                "case { scenario: \"cluster.textproto\" measured: \"fct-{date}.csv\" } fit: \"flow.network_efficiency=0.7..1\" "
                "profile: \"profile.textproto\" history: \"nights\"");
  measure("2026-01-02", 0.6);
  EXPECT_EQ(night("2026-01-02").record.status, NightStatus::kept);
  EXPECT_FALSE(std::filesystem::exists(path("profile.textproto")));
}

TEST_F(Nights, TakeSettingsOfTheirScenarios) {
  measure("2026-01-01", 0.9);
  NightOptions how = options("2026-01-01");
  how.settings = {"flow.wqe_latency=5us"};
  const double longer = night(how).record.uncalibrated_mape;
  EXPECT_GT(longer, 2 * night("2026-01-01").record.uncalibrated_mape);
  how.settings = {"nosuch.param=3"};
  EXPECT_EQ(error_code_of([&] { night(how); }), "unknown-module");
}

TEST_F(Nights, ConfigurationsThatLackSomethingAreRefused) {
  folder_.write("bad.textproto", "case { scenario: \"cluster.textproto\" measured: \"m.csv\" } drift_max: 5 drift_days: 0");
  try {
    NightlyConfig::read(path("bad.textproto"));
    FAIL() << "no error";
  } catch (const InputError& error) {
    std::vector<std::string> codes;
    for (const Diagnostic& found : error.diagnostics()) codes.push_back(found.code);
    EXPECT_EQ(codes, (std::vector<std::string>{"missing-field", "missing-field", "missing-field", "out-of-range", "out-of-range"}));
  }
}

TEST_F(Nights, TheExampleOfTheTimerCanBeRead) {
  const NightlyConfig config = NightlyConfig::read(WEFT_SOURCE_DIR "/tools/nightly/nightly.textproto");
  EXPECT_EQ(config.cases.at(0).measured.at(0), "/var/lib/weft/measured/fct-{date}.csv");
  EXPECT_EQ(config.fit.size(), 3U);
  EXPECT_EQ(config.drift_max, 0.05);
  EXPECT_EQ(config.drift_days, NightlyConfig().drift_days);
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
  night.drift_median = 0.125;
  night.reference = "2026-01-01";
  night.alarms = {"far"};
  night.parameters.emplace_back();
  night.parameters[0].name = "flow.wqe_latency";
  night.parameters[0].value = "2us";
  night.parameters[0].knowledge = CalibrationProfile::Knowledge::loose;
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / night.date);
  const std::string file = folder.write(night.date + "/night.json", night.to_json());
  const NightRecord read = NightRecord::read(file);
  EXPECT_EQ(read.to_json(), night.to_json());
  EXPECT_EQ(read.uncalibrated_mape, 0.25);
  EXPECT_TRUE(std::isnan(read.drift));
  EXPECT_EQ(read.drift_median, 0.125);
  EXPECT_EQ(read.reference, "2026-01-01");
  const auto code_with = [&](const std::string& from, const std::string& to) {
    std::string text = night.to_json();
    text.replace(text.find(from), from.size(), to);
    folder.write(night.date + "/night.json", text);
    return error_code_of([&] { NightRecord::read(file); });
  };
  EXPECT_EQ(code_with("kept", "cept"), "bad-night");
  EXPECT_EQ(code_with("\"rows\": 5", "\"rows\": -5"), "bad-night");
  EXPECT_EQ(code_with("2026-01-31", "2026-01-30"), "bad-night");
  EXPECT_EQ(code_with("{", ""), "bad-night");
}

TEST(CheckDate, TakesDaysThatThereAre) {
  for (const char* good : {"2026-01-31", "2024-02-29"}) EXPECT_EQ(error_code_of([&] { check_date(good, {}); }), "") << good;
  for (const char* bad : {"2026-02-29", "2026-1-31", "abcd-01-01", "31.1.2026", "2026-13-01", "2026-01-01x", "2026- 1- 1",
                          "-026-01-01", "2026-+1-01", ""})
    EXPECT_EQ(error_code_of([&] { check_date(bad, {}); }), "bad-value") << bad;
}

}  // namespace weft::nightly_test
