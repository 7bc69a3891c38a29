// SPDX-License-Identifier: Apache-2.0
// Critical paths, blame and what-ifs against closed forms.
#include "tools/explain/explanation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/error_code.hpp"
#include "tests/validation/scenario_run.hpp"
#include "tools/results/memory_sink.hpp"
#include "tools/simulation/run_recording.hpp"

namespace weft::explanation_test {
namespace {

constexpr const char* four_hosts = "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } }\n";

RunFlags flags_of(const ScratchFolder& folder, const std::string& text) {
  RunFlags flags;
  flags.scenario_file = folder.write("s.textproto", text);
  return flags;
}

/// Rank 0 computes and sends, rank 1 receives and computes.
std::string chain(const ScratchFolder& folder) {
  return folder.write("chain.textproto",
                      "ranks: 2\n"
                      "role { name: \"first\" ranks: \"0\"\n"
                      "  op { name: \"make\" compute { duration: \"5ms\" } }\n"
                      "  op { name: \"down\" send { peer: 1 size: \"50MB\" } deps: \"make\" }\n"
                      "}\n"
                      "role { name: \"second\" ranks: \"1\"\n"
                      "  op { name: \"aside\" compute { duration: \"1ms\" } }\n"
                      "  op { name: \"take\" receive { peer: 0 size: \"50MB\" } }\n"
                      "  op { name: \"use\" compute { duration: \"3ms\" } deps: \"take\" deps: \"aside\" }\n"
                      "}\n");
}

double seconds_of(const std::vector<PathShare>& shares, const std::string& kind) {
  const auto found = std::ranges::find(shares, kind, &PathShare::kind);
  return found == shares.end() ? 0 : found->seconds;
}

/// Of one job, in flow or packet mode.
Explanation explain_in(const ScratchFolder& folder, const std::string& mode, const std::string& workload) {
  ExplainOptions options;
  options.what_ifs_max = 0;
  RunFlags flags =
      flags_of(folder, std::string(four_hosts) + "job { name: \"chain\" gpus: 2 workload { file: \"" + workload + "\" } }\n");
  flags.mode = mode;
  return explain(flags, options);
}

class ExplanationInMode : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Modes, ExplanationInMode, testing::Values("flow", "packet"),
                         [](const testing::TestParamInfo<std::string>& mode) { return mode.param; });

// Expectation: 5 ms, the transfer of 50 MB at 400 Gb/s, which is 1 ms and headers, 3 ms; "aside"
// is not on the path. Of each rank's time the rest is waiting for the message.
TEST_P(ExplanationInMode, TheCriticalPathOfAChain) {
  const ScratchFolder folder;
  const Explanation explanation = explain_in(folder, GetParam(), chain(folder));
  ASSERT_EQ(explanation.times.size(), 1U);
  ASSERT_TRUE(explanation.times[0].path.has_value());
  const CriticalPath& path = *explanation.times[0].path;
  EXPECT_EQ(path.iteration, 0U);
  const std::vector<PathShare> shares = shares_of(path);
  EXPECT_NEAR(seconds_of(shares, "compute"), 8e-3, 1e-12);
  EXPECT_GT(seconds_of(shares, "send"), 1e-3);
  EXPECT_LT(seconds_of(shares, "send"), 1.2e-3);
  double sum = 0;
  for (std::size_t i = 0; i < path.pieces.size(); ++i) {
    sum += path.pieces[i].seconds();
    if (i > 0) {
      EXPECT_EQ(path.pieces[i].begin, path.pieces[i - 1].end);
    }
    EXPECT_NE(path.pieces[i].what, "aside");
  }
  EXPECT_NEAR(sum, (path.end - path.begin).in_s(), 1e-12);
  EXPECT_NEAR(path.ranks.computing_s, (5e-3 + 4e-3) / 2, 1e-5);
}

// Expectation: both messages of one connection are on the path, one after the other, though they
// were handed over together: 10 MB take 0.2 ms and headers each.
TEST_P(ExplanationInMode, AMessageWaitsForTheOneBeforeIt) {
  const ScratchFolder folder;
  const std::string pair = folder.write("pair.textproto",
                                        "ranks: 2\n"
                                        "role { name: \"first\" ranks: \"0\"\n"
                                        "  op { name: \"a\" send { peer: 1 size: \"10MB\" } stream: 1 }\n"
                                        "  op { name: \"b\" send { peer: 1 size: \"10MB\" tag: 1 } stream: 2 }\n"
                                        "}\n"
                                        "role { name: \"second\" ranks: \"1\"\n"
                                        "  op { name: \"a\" receive { peer: 0 size: \"10MB\" } stream: 1 }\n"
                                        "  op { name: \"b\" receive { peer: 0 size: \"10MB\" tag: 1 } stream: 2 }\n"
                                        "}\n");
  const Explanation explanation = explain_in(folder, GetParam(), pair);
  ASSERT_EQ(explanation.times.size(), 1U);
  ASSERT_TRUE(explanation.times[0].path.has_value());
  std::vector<PathPiece> sends;
  std::ranges::copy_if(explanation.times[0].path->pieces, std::back_inserter(sends),
                       [](const PathPiece& piece) { return piece.kind == "send"; });
  ASSERT_EQ(sends.size(), 2U);
  EXPECT_EQ(sends[0].end, sends[1].begin);
  for (const PathPiece& send : sends) {
    EXPECT_GT(send.seconds(), 0.2e-3);
    EXPECT_LT(send.seconds(), 0.23e-3);
  }
}

// Expectation: where nothing collides, a ring in packet mode has the path that it has in flow mode.
TEST(Explanation, PathsAreAlikeInBothModesWhereNothingCollides) {
  const ScratchFolder folder;
  const std::string ring =
      folder.write("ring.textproto",
                   "ranks: 2\nrole { name: \"all\"\n  op { name: \"work\" compute { duration: \"1ms\" } }\n"
                   "  op { name: \"sum\" collective { type: ALL_REDUCE size: \"20MB\" } deps: \"work\" }\n}\n");
  const std::vector<PathShare> flow = shares_of(*explain_in(folder, "flow", ring).times.at(0).path);
  const std::vector<PathShare> packet = shares_of(*explain_in(folder, "packet", ring).times.at(0).path);
  ASSERT_EQ(flow.size(), packet.size());
  for (std::size_t i = 0; i < flow.size(); ++i) {
    EXPECT_EQ(flow[i].kind, packet[i].kind);
    EXPECT_EQ(flow[i].pieces, packet[i].pieces);
    EXPECT_NEAR(flow[i].seconds, packet[i].seconds, 0.01 * flow[i].seconds) << flow[i].kind;
  }
}

// Expectation: two flows of equal size to one host, begun together, take twice what one takes, and
// each blames the other's bytes at the link to that host: half of its time.
TEST(Explanation, TwoFlowsIntoOneHostWaitForEachOther) {
  const ScratchFolder folder;
  RunFlags flags = flags_of(folder, four_hosts);
  flags.flows = folder.write("flows.txt", "2\n0 2 3 100 100000000 0\n1 2 3 101 100000000 0\n") + ":hpcc";
  const Explanation explanation = explain(flags, {});
  ASSERT_EQ(explanation.blame.size(), 1U);
  EXPECT_EQ(explanation.blame[0].link, "leaf0->host2/gpu0");
  EXPECT_NEAR(explanation.blame[0].lost_s, explanation.moving_s, 1e-6 * explanation.moving_s);
  ASSERT_FALSE(explanation.times.empty());
  ASSERT_FALSE(explanation.times[0].links.empty());
  EXPECT_EQ(explanation.times[0].links[0].what, "leaf0->host2/gpu0");
  // 10 % faster is 1 / 1.1 of the time; the derivative says 10 %.
  ASSERT_TRUE(explanation.times[0].links[0].tried_s.has_value());
  EXPECT_NEAR(explanation.times[0].links[0].gain_s, 0.1 * explanation.times[0].seconds, 1e-3 * explanation.times[0].seconds);
  EXPECT_NEAR(*explanation.times[0].links[0].tried_s, (1 - 1 / 1.1) * explanation.times[0].seconds,
              1e-3 * explanation.times[0].seconds);
  // With that link out of the way both move at the rate of their own hosts: twice as fast.
  const auto ideal = std::ranges::find(explanation.what_ifs, "link", &WhatIfRow::kind);
  ASSERT_NE(ideal, explanation.what_ifs.end());
  EXPECT_EQ(ideal->what, "leaf0->host2/gpu0");
  EXPECT_NEAR(ideal->gains_s[0], explanation.times[0].seconds / 2, 1e-3 * explanation.times[0].seconds);
}

// Expectation: in packet mode, too, the link at which packets wait is found, and without it two
// flows of 4 MB to one host end in about half the time.
TEST(Explanation, TheLinkAtWhichPacketsWaitIsWhatWouldHelp) {
  const ScratchFolder folder;
  RunFlags flags = flags_of(folder, four_hosts);
  flags.flows = folder.write("flows.txt", "2\n0 2 3 100 4000000 0\n1 2 3 101 4000000 0\n") + ":hpcc";
  flags.mode = "packet";
  const Explanation explanation = explain(flags, {});
  const auto ideal = std::ranges::find(explanation.what_ifs, "link", &WhatIfRow::kind);
  ASSERT_NE(ideal, explanation.what_ifs.end());
  EXPECT_EQ(ideal->what, "leaf0->host2/gpu0");
  EXPECT_NEAR(ideal->gains_s[0], explanation.times[0].seconds / 2, 0.1 * explanation.times[0].seconds);
}

/// What transfers of a run without a record take longer than alone.
double waiting_in(const RunFlags& flags) {
  MemorySink rows;
  run(load_scenario(flags), rows, {});
  double sum_s = 0;
  for (const FlowRow& flow : rows.flows) sum_s += (flow.completion - flow.ideal).in_s() * static_cast<double>(flow.multiplicity);
  return sum_s;
}

double blamed_in(const Explanation& explanation) {
  return std::accumulate(explanation.blame.begin(), explanation.blame.end(), 0.0,
                         [](double sum_s, const NamedBlame& blame) { return sum_s + blame.lost_s; });
}

/// To a share of the waiting, which there is.
void expect_blame_is_the_waiting(const RunFlags& flags, double share) {
  ExplainOptions options;
  options.what_ifs_max = 0;
  const Explanation explanation = explain(flags, options);
  const double waiting_s = waiting_in(flags);
  ASSERT_GT(waiting_s, 1e-4);
  EXPECT_NEAR(blamed_in(explanation), waiting_s, share * waiting_s);
}

/// Two jobs of 16 ranks that sum, with GPUs of every host each; `more` of four hosts on rails.
RunFlags two_jobs_that_sum(const ScratchFolder& folder, const std::string& more) {
  const std::string sums = folder.write(
      "sums.textproto", "ranks: 16\nrole { name: \"all\" op { name: \"sum\" collective { type: ALL_REDUCE size: \"8MB\" } } }\n");
  const std::string job = "gpus: 16 workload { file: \"" + sums + "\" } }\n";
  RunFlags flags = flags_of(folder,
                            "topology { builder: \"rail_optimized\" set { name: \"hosts\" value: \"4\" } "
                            "set { name: \"server\" value: \"hgx_h100\" } " +
                                more + "}\njob { name: \"a\" " + job + "job { name: \"b\" " + job);
  flags.placement = "spread";
  return flags;
}

// Expectation: what flows lose, by link and job, is what they take beyond what they would alone, as
// the rows of a run without a record say.
class BlameOfQueuePairs : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Counts, BlameOfQueuePairs, testing::Values(1, 4));

TEST_P(BlameOfQueuePairs, AddsUpToTheWaiting) {
  const ScratchFolder folder;
  std::string list = "60\n";
  for (int i = 0; i < 60; ++i) {
    const int from = i * 7 % 4;
    const int to = (from + 1 + i % 3) % 4;
    list += fmt::format("{} {} 3 {} {} {:.6f}\n", from, to, 100 + i, 1'000'000 + i * 77'777, i * 2e-6);
  }
  RunFlags flags = flags_of(folder, four_hosts);
  flags.flows = folder.write("flows.txt", list) + ":hpcc";
  flags.settings = {fmt::format("flow.queue_pairs={}", GetParam())};
  expect_blame_is_the_waiting(flags, 1e-7);
}

// Expectation: likewise of two jobs whose rings share leaves' uplinks, inside hosts and between
// them, and what the longest iteration's path lost is within it.
TEST(Explanation, BlameOfJobsAddsUpToTheWaiting) {
  const ScratchFolder folder;
  expect_blame_is_the_waiting(two_jobs_that_sum(folder, ""), 1e-5);
}

// Expectation: likewise where flows of one transfer take several ways, and the last goes on faster
// than alone once the others have ended.
TEST(Explanation, BlameAddsUpToTheWaitingOfTransfersOnSeveralWays) {
  const ScratchFolder folder;
  RunFlags flags = two_jobs_that_sum(folder,
                                     "set { name: \"hosts_per_leaf_group\" value: \"1\" } set { name: \"spines\" value: \"3\" } "
                                     "set { name: \"leaf_uplink_rate\" value: \"100Gbps\" } ");
  flags.settings = {"flow.queue_pairs=4"};
  expect_blame_is_the_waiting(flags, 1e-5);
}

/// Two jobs with a GPU of every host each: one sends from the first to the third, the other from
/// the second.
RunFlags two_senders_to_one_host(const ScratchFolder& folder) {
  const auto send = [&](const std::string& name, int from) {
    std::string text = "ranks: 3\n";
    for (int rank = 0; rank < 3; ++rank) {
      const std::string op = rank == 2      ? fmt::format("receive {{ peer: {} size: \"2MB\" }}", from)
                             : rank == from ? "send { peer: 2 size: \"2MB\" }"
                                            : "compute { duration: \"1us\" }";
      text += fmt::format("role {{ name: \"r{0}\" ranks: \"{0}\" op {{ name: \"o\" {1} }} }}\n", rank, op);
    }
    return fmt::format("job {{ name: \"{}\" gpus: 3 workload {{ file: \"{}\" }} }}\n", name,
                       folder.write(name + ".textproto", text));
  };
  RunFlags flags = flags_of(folder,
                            "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"3\" } "
                            "set { name: \"gpus_per_host\" value: \"2\" } }\n" +
                                send("one", 0) + send("two", 1));
  flags.placement = "spread";
  return flags;
}

// Expectation: data packets' waiting in switches, as the summary has it, is blamed in full, and on
// the other job where both send to one host.
TEST(Explanation, PacketsBlameThoseBeforeThem) {
  const ScratchFolder folder;
  RunFlags flags = two_senders_to_one_host(folder);
  flags.mode = "packet";
  const Scenario scenario = load_scenario(flags);
  std::vector<JobQueueBlame> blame;
  RunOptions options;
  options.queue_blame = &blame;
  ResultSink nobody;
  const RunSummary summary = run(scenario, nobody, options).summary;
  ASSERT_TRUE(summary.packets.has_value());
  double blamed_s = 0;
  bool has_met = false;
  for (const JobQueueBlame& one : blame) {
    blamed_s += one.lost_s;
    has_met = has_met || one.waits != one.blamed;
  }
  ASSERT_GT(blamed_s, 1e-4);
  EXPECT_TRUE(has_met);
  EXPECT_NEAR(blamed_s, summary.packets->waiting.in_s(), 1e-9 + 1e-6 * blamed_s);
}

// Expectation: a job after another on the same GPUs has queue pairs, and waits, of its own.
TEST(Explanation, PacketsOfALaterJobOnTheSameGpusAreItsOwn) {
  const ScratchFolder folder;
  const std::string workload =
      folder.write("two_to_one.textproto",
                   "ranks: 3\n"
                   "role { name: \"send\" ranks: \"0-1\" op { name: \"o\" send { peer: 2 size: \"2MB\" } } }\n"
                   "role { name: \"take\" ranks: \"2\" op { name: \"a\" receive { peer: 0 size: \"2MB\" } stream: 1 }\n"
                   "  op { name: \"b\" receive { peer: 1 size: \"2MB\" } stream: 2 } }\n");
  const std::string job = "gpus: 3 workload { file: \"" + workload + "\" } }\n";
  RunFlags flags = flags_of(folder, std::string("topology { builder: \"single_switch\" set { name: \"hosts\" value: \"3\" } "
                                                "set { name: \"gpus_per_host\" value: \"1\" } }\njob { name: \"first\" ") +
                                        job + "job { name: \"second\" " + job);
  flags.mode = "packet";
  ExplainOptions options;
  options.what_ifs_max = 0;
  const Explanation explanation = explain(flags, options);
  std::map<std::string, double> lost_s;
  for (const NamedBlame& blame : explanation.blame) {
    lost_s[blame.waits] += blame.lost_s;
    EXPECT_EQ(blame.blamed, blame.waits);
  }
  ASSERT_EQ(lost_s.size(), 2U);
  EXPECT_GT(lost_s["first"], 0);
  EXPECT_NEAR(lost_s["second"], lost_s["first"], 1e-9);
}

// Expectation: a job without a workload has no links to raise, and is in nobody's way.
TEST(Explanation, JobsOfADurationStandBesideOthers) {
  const ScratchFolder folder;
  const std::string pair = chain(folder);
  const Explanation explanation = explain(flags_of(folder, std::string(four_hosts) +
                                                               "job { name: \"fixed\" gpus: 1 duration: \"1ms\" mode: JOB }\n"
                                                               "job { name: \"chain\" gpus: 2 workload { file: \"" +
                                                               pair + "\" } }\n"),
                                          {});
  ASSERT_EQ(explanation.times.size(), 2U);
  EXPECT_TRUE(explanation.times[0].links.empty());
  EXPECT_FALSE(explanation.times[1].links.empty());
}

// Expectation: a host at half speed doubles the 5 ms of rank 0; nominal, they come back.
TEST(Explanation, ASlowHostIsWhatWouldHelp) {
  const ScratchFolder folder;
  const Explanation explanation =
      explain(flags_of(folder, std::string(four_hosts) + "job { name: \"chain\" gpus: 2 workload { file: \"" + chain(folder) +
                                   "\" } }\nhost_speed { hosts: \"0\" factor: 0.5 }\n"),
              {});
  const auto host = std::ranges::find(explanation.what_ifs, "host 0", &WhatIfRow::what);
  ASSERT_NE(host, explanation.what_ifs.end());
  ASSERT_EQ(host->gains_s.size(), 1U);
  EXPECT_NEAR(host->gains_s[0], 5e-3, 1e-9);
  // All computation on the path is 10 + 3 ms.
  const auto compute = std::ranges::find(explanation.what_ifs, "compute", &WhatIfRow::what);
  ASSERT_NE(compute, explanation.what_ifs.end());
  EXPECT_NEAR(compute->gains_s[0], 13e-3, 1e-5);
}

const WhatIfRow* without_job(const Explanation& explanation, const std::string& job) {
  const auto found =
      std::ranges::find_if(explanation.what_ifs, [&](const WhatIfRow& row) { return row.kind == "job" && row.what == job; });
  return found == explanation.what_ifs.end() ? nullptr : &*found;
}

// Expectation: of two jobs whose transfers of equal size meet all the way, each would take half as
// long without the other: 2 MB at 400 Gb/s less, 40 us. What a job would gain by itself is not
// told.
TEST(Explanation, WithoutAnotherJobItsTransfersAreGone) {
  const ScratchFolder folder;
  const Explanation explanation = explain(two_senders_to_one_host(folder), {});
  ASSERT_EQ(explanation.times.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const WhatIfRow* const row = without_job(explanation, explanation.times[1 - i].job);
    ASSERT_NE(row, nullptr);
    ASSERT_EQ(row->gains_s.size(), 2U);
    EXPECT_NEAR(row->gains_s[i], 40e-6, 4e-6);
    EXPECT_TRUE(std::isnan(row->gains_s[1 - i]));
  }
}

// Expectation: a job that shares no link with another gains nothing without it, though there would
// be faster hosts for it: the first job keeps those it has.
TEST(Explanation, WithoutAnotherJobTheOthersStayWhereTheyWere) {
  const ScratchFolder folder;
  const std::string workload = chain(folder);
  const std::string job = "gpus: 2 workload { file: \"" + workload + "\" } }\n";
  const Explanation explanation =
      explain(flags_of(folder, std::string(four_hosts) + "job { name: \"first\" " + job + "job { name: \"second\" " + job +
                                   "host_speed { hosts: \"2-3\" factor: 0.5 }\n"),
              {});
  ASSERT_EQ(explanation.times.size(), 2U);
  // On hosts 2 and 3 it computes for 16 ms, elsewhere for 8.
  EXPECT_NEAR(explanation.times[1].seconds - explanation.times[0].seconds, 8e-3, 1e-5);
  const WhatIfRow* const without_first = without_job(explanation, "first");
  ASSERT_NE(without_first, nullptr);
  EXPECT_EQ(without_first->gains_s[1], 0);
}

TEST(Explanation, RefusesWhatItCannotExplain) {
  const ScratchFolder folder;
  const std::string job = "job { name: \"a\" gpus: 2 workload { file: \"" + chain(folder) + "\" } }\n";
  ExplainOptions options;
  options.what_ifs_max = 0;
  EXPECT_EQ(error_code_of([&] {
              explain(flags_of(folder, "cluster { hosts: 2 gpus_per_host: 1 }\njob { gpus: 2 duration: \"1s\" }\n"), options);
            }),
            "job-mode");
  options.job = "b";
  EXPECT_EQ(error_code_of([&] { explain(flags_of(folder, four_hosts + job), options); }), "unknown-job");
  options.job = "a";
  options.iteration = 7;
  EXPECT_EQ(error_code_of([&] { explain(flags_of(folder, four_hosts + job), options); }), "no-such-iteration");
}

}  // namespace
}  // namespace weft::explanation_test
