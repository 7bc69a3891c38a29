// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/calibrator.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "calibration/search.hpp"
#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "host/collectives/nccl_constants.hpp"
#include "tests/error_code.hpp"
#include "tests/validation/scenario_run.hpp"
#include "tools/calibrate/candidate_journal.hpp"
#include "tools/calibrate/profile_use.hpp"
#include "tools/calibrate/simulated_times.hpp"

namespace weft::calibrator_test {

namespace {

constexpr std::size_t flow_count = 300;

class Calibration : public testing::Test {
 protected:
  void SetUp() override {
    write("fat_tree.textproto",
          "builder: \"fat_tree\" set { name: \"k\" value: \"4\" } set { name: \"nic_rate\" value: \"100Gbps\" } "
          "set { name: \"fabric_rate\" value: \"100Gbps\" }");
    RandomStream random(1, 0, 0);
    std::string flows = fmt::format("{}\n", flow_count);
    double at_s = 0;
    for (std::size_t i = 0; i < flow_count; ++i) {
      at_s += random.exponential(40e-6);
      const auto source = random.below(16);
      const auto destination = (source + 1 + random.below(15)) % 16;
      flows += fmt::format("{} {} 3 100 {} {:.9f}\n", source, destination, 1000 << (2 * random.below(6)), at_s);
    }
    write("flows.txt", flows);
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }

  Scenario scenario(const std::vector<std::string>& settings = {}) const {
    RunFlags flags;
    flags.topology = path("fat_tree.textproto");
    flags.flows = path("flows.txt") + ":hpcc";
    flags.settings = settings;
    return load_scenario(flags);
  }

  /// What the flows take with some settings, with noise.
  MeasuredTimes measured(const std::vector<std::string>& truth, double noise) const {
    RandomStream random(2, 0, 0);
    std::string text = "input_row,size_bytes,fct_ns\n";
    const std::vector<TimedKind> flows = {TimedKind::flow};
    for (const TimedEntity& flow : simulate_times(scenario(truth), flows))
      text +=
          fmt::format("{},{},{:.3f}\n", *flow.input_row, *flow.size_bytes, 1e9 * flow.time_s * (1 + noise * random.normal(0, 1)));
    return read_measured_times(SourceText("measured.csv", text));
  }

  static CalibrationOptions options() {
    const auto& module = find_module(searches(), "hill_climbing", SourcePlace::named("test"));
    CalibrationOptions how{ParamSet(std::string(module.info.name), module.info.params)};
    how.search.set("restarts", "0", {});
    how.search.set("tolerance", "0.0005", {});
    how.lambda = 0;
    return how;
  }

  ScratchFolder folder_;
};

const std::vector<std::string> truth = {"flow.wqe_latency=2.3us", "flow.switching_delay=800ns", "flow.network_efficiency=0.93"};
const std::vector<std::string> names = {"flow.wqe_latency", "flow.switching_delay", "flow.network_efficiency"};
const std::vector<double> values = {230'000, 80'000, 0.93};  // in ticks of 10 ps

}  // namespace

TEST_F(Calibration, FindsWhatTheTimesWereMadeWith) {
  const Scenario own = scenario();
  const FitSpace space({&own}, names, "--fit");
  CalibrationOptions how = options();
  how.confidence.level = 0.999;  // so that a miss is no bad luck
  const CalibrationResult found = calibrate(one_case(own, {measured(truth, 0.02)}), space, how);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(found.best[i], values[i], 0.05 * values[i]) << names[i];
    EXPECT_LE(found.confidence[i].low, values[i]) << names[i];
    EXPECT_GE(found.confidence[i].high, values[i]) << names[i];
  }
  EXPECT_GT(found.before.mape, 0.1);
  // The mean of the absolute value of noise of 2 % is 2 % x sqrt(2 / pi) = 1.6 %.
  EXPECT_NEAR(found.training.mape, 0.016, 0.002);
  EXPECT_NEAR(found.hold_out.mape, 0.016, 0.004);
  EXPECT_EQ(found.hold_out.count, flow_count / 4);
  EXPECT_EQ(found.training.count, flow_count - flow_count / 4);
  EXPECT_TRUE(found.unmatched.empty());
}

// Two machines, one of which counts three times: as if it were there three times.
TEST_F(Calibration, ACaseCountsByItsWeight) {
  const std::vector<std::string> slow = {"flow.network_efficiency=0.7"};
  const std::vector<std::string> fast = {"flow.network_efficiency=0.9"};
  const auto cases_of = [&](const std::vector<std::vector<std::string>>& machines) {
    std::vector<MeasuredTimes> tables;
    for (const std::vector<std::string>& machine : machines) tables.push_back(measured(machine, 0));
    CalibrationCases all{{}, MeasuredTables(std::move(tables)), {}};
    for (std::size_t i = 0; i < machines.size(); ++i) all.cases.push_back({fmt::format("c{}", i), scenario(), {i}});
    return all;
  };
  CalibrationOptions how = options();
  how.hold_out = 0;
  how.lambda = 0.5;
  const Scenario own = scenario();
  const std::vector<std::string> efficiency = {"flow.network_efficiency"};
  const FitSpace space({&own}, efficiency, "--fit");
  const CalibrationResult alike = calibrate(cases_of({slow, fast}), space, how);
  CalibrationCases all = cases_of({slow, fast});
  all.cases[1].weight = 3;
  const CalibrationResult weighted = calibrate(all, space, how);
  const CalibrationResult repeated = calibrate(cases_of({slow, fast, fast, fast}), space, how);
  EXPECT_GT(weighted.best[0], alike.best[0] + 0.01);
  EXPECT_NEAR(weighted.best[0], repeated.best[0], 1e-3);
  EXPECT_NEAR(weighted.before.mape, repeated.before.mape, 1e-12);
  EXPECT_NEAR(weighted.before.ordering_accuracy, repeated.before.ordering_accuracy, 1e-12);
  how.weights[static_cast<std::size_t>(TimedKind::iteration)] = 2;
  EXPECT_EQ(error_code_of([&] { calibrate(all, space, how); }), "unused-weight");
}

TEST_F(Calibration, WeightsOfKindAndCaseMultiply) {
  const auto table = [](const char* text) { return read_measured_times(SourceText("m.csv", text)); };
  CalibrationCases all{{},
                       MeasuredTables({table("input_row,fct_us\n0,1\n1,2\n"), table("iteration,duration_s\n0,1\n"),
                                       table("input_row,fct_us\n0,3\n")}),
                       {}};
  all.cases.push_back({"a", scenario(), {0, 1}, false, 3});
  all.cases.push_back({"b", scenario(), {2}});
  EXPECT_EQ(weights_of(all, {2, 7, 5}), (std::vector<double>{6, 6, 15, 2}));
  EXPECT_EQ(weights_of(all, kinds_alike), (std::vector<double>{3, 3, 3, 1}));
}

// The machine is in packet mode; flow mode, in which a flow that meets nobody takes as long, comes
// near it, so that packet mode has to be run less often.
TEST_F(Calibration, FlowModeProposesAndPacketModeDecides) {
  Scenario own = scenario();
  own.mode = Mode::packet;
  Scenario machine = scenario({"flow.wqe_latency=2.3us", "flow.switching_delay=800ns"});
  machine.mode = Mode::packet;
  std::string text = "input_row,fct_ns\n";
  const std::vector<TimedKind> flows = {TimedKind::flow};
  for (const TimedEntity& flow : simulate_times(machine, flows))
    text += fmt::format("{},{:.3f}\n", *flow.input_row, 1e9 * flow.time_s);
  const CalibrationCases all = one_case(own, {read_measured_times(SourceText("m.csv", text))});
  const FitSpace space({&own}, std::vector<std::string>{"flow.wqe_latency", "flow.switching_delay"}, "--fit");
  CalibrationOptions how = options();
  const CalibrationResult alone = calibrate(all, space, how);
  how.flow_mode_proposes = true;
  const CalibrationResult both = calibrate(all, space, how);
  for (const CalibrationResult& found : {alone, both}) {
    EXPECT_NEAR(found.best[0], 230'000, 0.01 * 230'000);
    EXPECT_NEAR(found.best[1], 80'000, 0.01 * 80'000);
  }
  EXPECT_EQ(alone.proposing_runs, 0U);
  EXPECT_GT(both.proposing_runs, 0U);
  EXPECT_LT(both.runs, alone.runs);
}

TEST_F(Calibration, IsTheSameOnAnyNumberOfThreads) {
  const Scenario own = scenario();
  const FitSpace space({&own}, names, "--fit");
  const MeasuredTimes tables = measured(truth, 0.02);
  CalibrationOptions how = options();
  const CalibrationResult one = calibrate(one_case(own, {tables}), space, how);
  how.threads = 3;
  const CalibrationResult three = calibrate(one_case(own, {tables}), space, how);
  EXPECT_EQ(one.best, three.best);
  EXPECT_EQ(one.lambda, three.lambda);
  EXPECT_EQ(one.runs, three.runs);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(one.confidence[i].low, three.confidence[i].low);
    EXPECT_EQ(one.confidence[i].high, three.confidence[i].high);
  }
}

// A calibration that is stopped keeps the best so far, and goes on from its journal to the same
// end.
TEST_F(Calibration, GoesOnWhereItWasCutOff) {
  const Scenario own = scenario();
  const FitSpace space({&own}, names, "--fit");
  const MeasuredTimes tables = measured(truth, 0.02);
  const CalibrationResult whole = calibrate(one_case(own, {tables}), space, options());
  CalibrationOptions how = options();
  how.journal = path("journal");
  int asked = 0;
  how.stop = [&] { return ++asked > 20; };
  const CalibrationResult cut = calibrate(one_case(own, {tables}), space, how);
  EXPECT_TRUE(cut.stopped);
  EXPECT_TRUE(cut.confidence.empty());
  EXPECT_LT(cut.training.mape, cut.before.mape);
  // What is no such line, and a kill in the middle of one.
  std::ofstream(path("journal"), std::ios::app) << "junk\nnan nan nan nan nan nan\n0x1p+3 0x1";
  how.stop = nullptr;
  const CalibrationResult resumed = calibrate(one_case(own, {tables}), space, how);
  EXPECT_EQ(resumed.best, whole.best);
  EXPECT_LT(resumed.runs + 40, whole.runs);
}

TEST_F(Calibration, AJournalOfOtherCandidatesIsRefused) {
  const Scenario own = scenario();
  CalibrationOptions how = options();
  how.journal = path("journal");
  how.stop = [] { return true; };
  const MeasuredTimes tables = measured(truth, 0.02);
  calibrate(one_case(own, {tables}), FitSpace({&own}, names, "--fit"), how);
  const FitSpace other({&own}, std::vector<std::string>{"flow.receive_latency"}, "--fit");
  EXPECT_EQ(error_code_of([&] { calibrate(one_case(own, {tables}), other, how); }), "other-journal");
  Scenario packets = own;
  packets.mode = Mode::packet;
  EXPECT_EQ(error_code_of([&] { calibrate(one_case(packets, {tables}), FitSpace({&own}, names, "--fit"), how); }), "other-journal");
}

TEST_F(Calibration, TimesThatAreFarOffAreNamedAndMayBeDropped) {
  const Scenario own = scenario();
  const FitSpace space({&own}, names, "--fit");
  const MeasuredTimes clean = measured(truth, 0.01);
  MeasuredTimes dirty = clean;
  for (std::size_t i = 0; i < dirty.times.size(); i += 30) dirty.times[i].time_s *= 3;
  CalibrationOptions how = options();
  how.hold_out = 0;
  how.drops_outliers = true;
  const CalibrationResult found = calibrate(one_case(own, {dirty}), space, how);
  std::vector<std::size_t> tripled;
  for (std::size_t i = 0; i < dirty.times.size(); i += 30) tripled.push_back(i);
  EXPECT_EQ(found.dropped, tripled);
  EXPECT_EQ(found.outliers, tripled);
  EXPECT_EQ(found.training.count, flow_count - flow_count / 30);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(found.best[i], values[i], 0.05 * values[i]) << names[i];
}

TEST_F(Calibration, WhatCannotBeHeldAgainstAnythingIsAnError) {
  const Scenario own = scenario();
  const FitSpace space({&own}, names, "--fit");
  const auto of = [](const std::string& text) { return read_measured_times(SourceText("m.csv", text)); };
  EXPECT_EQ(error_code_of([&] { calibrate(one_case(own, {of("src,dst,fct_ns\nhost98,host99,5\n")}), space, options()); }),
            "nothing-matches");
  EXPECT_EQ(error_code_of([&] { calibrate(one_case(own, {of("input_row,fct_ns\n0,5\n1,6\n2,7\n")}), space, options()); }),
            "too-few-measurements");
}

// With a weight of the order that outweighs everything, another point is the best.
TEST_F(Calibration, LambdaCounts) {
  const Scenario own = scenario();
  const FitSpace space({&own}, names, "--fit");
  const MeasuredTimes tables = measured(truth, 0.05);
  CalibrationOptions how = options();
  const CalibrationResult without = calibrate(one_case(own, {tables}), space, how);
  how.lambda = 1e4;
  const CalibrationResult with = calibrate(one_case(own, {tables}), space, how);
  EXPECT_NE(with.best, without.best);
  EXPECT_GE(with.training.ordering_accuracy, without.training.ordering_accuracy);
  how.lambda = std::nullopt;
  const CalibrationResult found = calibrate(one_case(own, {tables}), space, how);
  // Errors of 5 %, as logarithms.
  EXPECT_NEAR(found.sigma, 0.05, 0.01);
  EXPECT_LE(found.lambda, 5 * found.sigma);
}

// Four repetitions of each size are held out together or not at all, and of every four sizes one
// is, not always the slowest.
TEST_F(Calibration, RepetitionsAreHeldOutTogether) {
  const std::string workload = folder_.write("sweep.textproto",
                                             "ranks: 16 role { name: \"all\" "
                                             "op { name: \"a\" collective { type: ALL_REDUCE size: \"10kB\" } } "
                                             "op { name: \"b\" collective { type: ALL_REDUCE size: \"40kB\" } deps: \"a\" } "
                                             "op { name: \"c\" collective { type: ALL_REDUCE size: \"160kB\" } deps: \"b\" } "
                                             "op { name: \"d\" collective { type: ALL_REDUCE size: \"640kB\" } deps: \"c\" } }");
  RunFlags flags;
  flags.topology = path("fat_tree.textproto");
  flags.workload = workload;
  const Scenario own = load_scenario(flags);
  std::string text = "kind,ranks,size_bytes,time_us\n";
  for (const int size : {10'000, 40'000, 160'000, 640'000}) {
    for (int i = 0; i < 4; ++i) text += fmt::format("all_reduce,16,{},{}\n", size, 200 + size / 1000 + i);
  }
  const FitSpace space({&own}, std::vector<std::string>{"flow.wqe_latency"}, "--fit");
  const CalibrationResult found = calibrate(one_case(own, {read_measured_times(SourceText("m.csv", text))}), space, options());
  EXPECT_EQ(found.hold_out.count, 4U);
  for (std::size_t size = 0; size < 4; ++size) {
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(found.is_held_out[4 * size + i], found.is_held_out[4 * size]);
  }
}

TEST_F(Calibration, DroppingMayLeaveTooLittle) {
  const Scenario own = scenario();
  const FitSpace space({&own}, std::vector<std::string>{"flow.nvlink_latency", "flow.staging_latency"}, "--fit");
  MeasuredTimes few = measured(truth, 0.001);
  few.times.resize(3);
  few.times[2].time_s *= 50;
  CalibrationOptions how = options();
  how.hold_out = 0;
  how.drops_outliers = true;
  EXPECT_EQ(error_code_of([&] { calibrate(one_case(own, {few}), space, how); }), "too-few-measurements");
}

// Told to stop while intervals are found, it ends without them.
TEST_F(Calibration, StopsBetweenIntervals) {
  const Scenario own = scenario();
  const FitSpace space({&own}, names, "--fit");
  CalibrationOptions how = options();
  bool finds_intervals = false;
  how.progress = [&](const CalibrationOptions::Progress& now) { finds_intervals = std::string(now.doing) == "finding intervals"; };
  how.stop = [&] { return finds_intervals; };
  const CalibrationResult found = calibrate(one_case(own, {measured(truth, 0.02)}), space, how);
  EXPECT_TRUE(found.stopped);
  EXPECT_TRUE(found.confidence.empty());
  EXPECT_LT(found.training.mape, 0.02);
}

// Without noise the times tell a real number to as many digits as it is told.
TEST_F(Calibration, RealsAreKnownWithoutNoise) {
  const Scenario own = scenario();
  const FitSpace space({&own}, std::vector<std::string>{"flow.network_efficiency"}, "--fit");
  const CalibrationResult found = calibrate(one_case(own, {measured({truth[2]}, 0)}), space, options());
  EXPECT_NEAR(found.best[0], 0.93, 1e-5);
  EXPECT_TRUE(found.confidence[0].is_identified);
}

// Times of another unit end at an end of the range, which is not knowledge.
TEST_F(Calibration, AnEndThatIsNotTheEndIsNoKnowledge) {
  const Scenario own = scenario();
  const FitSpace space({&own}, std::vector<std::string>{"flow.wqe_latency"}, "--fit");
  MeasuredTimes late = measured(truth, 0.02);
  for (TimedEntity& time : late.times) time.time_s += 1e-3;
  const CalibrationResult found = calibrate(one_case(own, {late}), space, options());
  EXPECT_EQ(found.best[0], space.parameters()[0].maximum);
  EXPECT_TRUE(found.confidence[0].is_outside);
  EXPECT_FALSE(found.confidence[0].is_identified);
}

TEST_F(Calibration, UnmatchedTimesAreLeftOutAndTold) {
  const Scenario own = scenario();
  const FitSpace space({&own}, names, "--fit");
  MeasuredTimes table = measured(truth, 0.02);
  table.times[7].input_row = 4000;
  const CalibrationResult found = calibrate(one_case(own, {table}), space, options());
  EXPECT_EQ(found.unmatched, std::vector<std::size_t>{7});
  EXPECT_TRUE(std::isnan(found.after_s[7]));
  EXPECT_EQ(found.before.count, flow_count - 1);
}

// What nobody gave is not the table's default, H100's, where the machine has constants of its own.
TEST_F(Calibration, ConstantsOfNcclStartFromThoseOfTheMachine) {
  write("sweep.textproto",
        "topology { builder: \"lone_server\" set { name: \"server\" value: \"gb200_nvl72\" } } "
        "job { name: \"sweep\" gpus: 4 workload { template: \"collectives\" set { name: \"ranks\" value: \"4\" } } }");
  RunFlags flags;
  flags.scenario_file = path("sweep.textproto");
  const std::vector<std::string> fit = {"nccl.simple_base"};
  const auto start = [&](const std::vector<std::string>& settings) {
    flags.settings = settings;
    const Scenario gb200 = load_scenario(flags);
    return std::pair(FitSpace({&gb200}, fit, "--fit").start().front(), gb200.parameters.of("nccl"));
  };
  const auto [own, nccl] = start({});
  const ParamSpec& row = *std::ranges::find(nccl.table(), "simple_base", &ParamSpec::name);
  EXPECT_EQ(own, param_number(row, nccl_constant_text(nccl, "gb200_nvl72", "simple_base")));
  EXPECT_NE(own, param_number(row, nccl_constant_text(nccl, "hgx_h100", "simple_base")));
  EXPECT_EQ(start({"nccl.simple_base=7us"}).first, param_number(row, "7us"));
}

TEST_F(Calibration, FitSpacesAreRangesOfRealHardwareOrTheUsersOwn) {
  const Scenario own = scenario({"flow.wqe_latency=30us"});
  const FitSpace space({&own}, std::vector<std::string>{"flow.wqe_latency", "flow.switching_delay=100ns..2us"}, "--fit");
  EXPECT_EQ(space.parameters()[0].maximum, 2'000'000);  // 20 us
  EXPECT_EQ(space.start(), (FitPoint{2'000'000, 50'000}));
  ASSERT_EQ(space.notes().size(), 1U);
  EXPECT_EQ(space.parameters()[1].minimum, 10'000);
  EXPECT_EQ(space.text(1, 12'345), "123.45ns");
  EXPECT_EQ(space.scenario_at(own, {100'000, 12'345}).parameters.of("flow").duration("switching_delay"), Duration::ticks(12'345));
  const auto code = [&](const std::string& text) {
    return error_code_of([&] { FitSpace({&own}, std::vector<std::string>{text}, "--fit"); });
  };
  EXPECT_EQ(code("flow.wqe"), "unknown-param");
  EXPECT_EQ(code("flow.routing"), "not-fittable");
  EXPECT_EQ(code("packet.card_delay"), "unused-param");
  EXPECT_EQ(code("flow.wqe_latency=1us"), "bad-value");
  EXPECT_EQ(code("flow.wqe_latency=2us..1us"), "out-of-range");
  EXPECT_EQ(code("flow.wqe_latency=1us..2h"), "out-of-range");
  EXPECT_EQ(error_code_of([&] {
              FitSpace({&own}, std::vector<std::string>{"flow.mtu", "flow.wqe_latency", "flow.wqe_latency"}, "--fit");
            }),
            "not-fittable");
}

TEST_F(Calibration, RunsTakeProfiles) {
  CalibrationProfile profile;
  profile.date = "2026-01-31T02:15:00Z";
  profile.parameters.push_back({"flow.wqe_latency", "2.3us", "1us", "0ns", "20us", "2.2us", "2.4us"});
  profile.parameters.push_back({"flow.mtu", "1024B", "4096B", "1B", "4096B", "1B", "4096B"});
  profile.parameters[0].knowledge = CalibrationProfile::Knowledge::identified;
  profile.weights = {{"iteration", 400}, {"case b", 0.1}};
  write("profile.textproto", profile.to_text());
  std::vector<std::string> settings = {"flow.mtu=2048B"};
  const CalibrationProfile taken = take_profile(path("profile.textproto"), settings);
  EXPECT_EQ(settings, (std::vector<std::string>{"flow.mtu=2048B", "flow.wqe_latency=2.3us"}));
  EXPECT_EQ(taken.parameters[0].high, "2.4us");
  EXPECT_EQ(to_text(taken.weights), "iteration 400, case b 0.1; else 1");
  Scenario own = scenario(settings);
  note_profile(taken, path("profile.textproto"), false, own);
  EXPECT_NE(own.assumptions.back().find("flow.mtu no better than to 5 %"), std::string::npos) << own.assumptions.back();
}

TEST_F(Calibration, ProfilesOfOtherMachinesAreRefusedUnlessTaken) {
  CalibrationProfile profile;
  profile.machine = "hgx_h100";
  profile.parameters.push_back({"flow.wqe_latency", "2.3us", "1us", "0ns", "20us", "2.2us", "2.4us"});
  write("profile.textproto", profile.to_text());
  Scenario own = scenario();
  EXPECT_EQ(error_code_of([&] { note_profile(profile, path("profile.textproto"), false, own); }), "transferred-profile");
  note_profile(profile, path("profile.textproto"), true, own);
  EXPECT_NE(own.assumptions.front().find("transferred"), std::string::npos);
  profile.machine = "";
  profile.parameters[0].stamp = CalibrationProfile::Stamp::transferred;
  EXPECT_EQ(error_code_of([&] { note_profile(profile, path("profile.textproto"), false, own); }), "transferred-profile");
}

TEST_F(Calibration, ProfilesAreChecked) {
  const auto code = [&](const std::string& text) {
    write("profile.textproto", text);
    std::vector<std::string> settings;
    return error_code_of([&] { take_profile(path("profile.textproto"), settings); });
  };
  EXPECT_EQ(code("date: \"2026-01-31T02:15:00Z\""), "missing-field");
  EXPECT_EQ(code("parameter { name: \"flow.mtu\" value: \"1kB\" } parameter { name: \"flow.mtu\" value: \"2kB\" }"),
            "duplicate-setting");
  EXPECT_EQ(code("parameter { name: \"flow.wqe_latency\" }"), "missing-field");
  EXPECT_EQ(code("parameter { name: \"flow.wqe_latency\" value: \"2\" }"), "bad-value");
  EXPECT_EQ(code("parameter { name: \"flow.wqe_latenzy\" value: \"2us\" }"), "unknown-param");
}

}  // namespace weft::calibrator_test
