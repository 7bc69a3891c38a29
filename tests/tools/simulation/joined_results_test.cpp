// SPDX-License-Identifier: Apache-2.0
// Tables that can be joined: transfers with their collectives, iterations and list rows, links with
// their tiers, percentiles with the rows that they are of. Every new column is computed once more.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/validation/scenario_run.hpp"
#include "tools/results/memory_sink.hpp"
#include "tools/simulation/run.hpp"

namespace weft::joined_results_test {
namespace {

struct Told {
  MemorySink rows;
  RunSummary summary;
};

void tell(const RunFlags& flags, Told& told) {
  Scenario scenario = load_scenario(flags);
  state_collectives(scenario);
  told.summary = run(scenario, told.rows, {}).summary;
}

/// Four ranks on four hosts: in each of three iterations a ring all-reduce of 4 MB over all,
/// all-gathers over pairs, and 1 MB from rank 0 to rank 1 and from rank 1 to rank 2 under one tag.
std::string mixed_workload(const ScratchFolder& folder) {
  return folder.write(
      "mixed.textproto",
      "ranks: 4\n"
      "communicator { name: \"pair\" group { ranks: \"0-1\" } group { ranks: \"2-3\" } }\n"
      "role { name: \"first\" ranks: \"0\"\n"
      "  op { name: \"sum\" collective { type: ALL_REDUCE size: \"4MB\" } }\n"
      "  op { name: \"gather\" collective { communicator: \"pair\" type: ALL_GATHER size: \"1MB\" } deps: \"sum\" }\n"
      "  op { name: \"down\" send { peer: 1 tag: 7 size: \"1MB\" } deps: \"gather\" }\n"
      "}\n"
      "role { name: \"second\" ranks: \"1\"\n"
      "  op { name: \"sum\" collective { type: ALL_REDUCE size: \"4MB\" } }\n"
      "  op { name: \"gather\" collective { communicator: \"pair\" type: ALL_GATHER size: \"1MB\" } deps: \"sum\" }\n"
      "  op { name: \"take\" receive { peer: 0 tag: 7 size: \"1MB\" } deps: \"gather\" }\n"
      "  op { name: \"on\" send { peer: 2 tag: 7 size: \"1MB\" } deps: \"take\" }\n"
      "}\n"
      "role { name: \"third\" ranks: \"2\"\n"
      "  op { name: \"sum\" collective { type: ALL_REDUCE size: \"4MB\" } }\n"
      "  op { name: \"gather\" collective { communicator: \"pair\" type: ALL_GATHER size: \"1MB\" } deps: \"sum\" }\n"
      "  op { name: \"end\" receive { peer: 1 tag: 7 size: \"1MB\" } deps: \"gather\" }\n"
      "}\n"
      "role { name: \"last\" ranks: \"3\"\n"
      "  op { name: \"sum\" collective { type: ALL_REDUCE size: \"4MB\" } }\n"
      "  op { name: \"gather\" collective { communicator: \"pair\" type: ALL_GATHER size: \"1MB\" } deps: \"sum\" }\n"
      "}\n");
}

class JoinedResults : public testing::TestWithParam<const char*> {};

// Expectation, per iteration: the ring sends 2 x 3 times a quarter of 4 MB from each of 4 ranks;
// each pair gathers 1 MB from each to the other; two sends of 1 MB.
TEST_P(JoinedResults, TransfersNameTheirOps) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.mode = GetParam();
  flags.scenario_file = folder.write("s.textproto",
                                     "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } }\n"
                                     "job { name: \"mixed\" iterations: 3 workload { file: \"" +
                                         mixed_workload(folder) + "\" } }\n");
  Told told;
  tell(flags, told);
  using Key = std::tuple<std::uint64_t, std::string_view, std::string_view, std::string_view>;
  std::map<Key, std::pair<int, std::int64_t>> sent;  // transfers, bytes
  for (const FlowRow& flow : told.rows.flows) {
    EXPECT_EQ(flow.job, "mixed");
    EXPECT_FALSE(flow.input_row.has_value());
    auto& [transfers, bytes] = sent[{flow.iteration.value(), flow.communicator, flow.op, flow.collective}];
    ++transfers;
    bytes += flow.size.count();
    // The collective that it names was under way, and its iteration.
    const auto is_under_way = [&](const auto& row) { return row.start <= flow.start && flow.end <= row.end; };
    if (flow.collective != "send") {
      EXPECT_TRUE(std::ranges::any_of(told.rows.collectives, [&](const CollectiveRow& row) {
        return row.iteration == flow.iteration && row.op == flow.op && row.kind == flow.collective &&
               row.communicator == flow.communicator && is_under_way(row);
      })) << flow.op;
    }
    EXPECT_TRUE(std::ranges::any_of(told.rows.iterations,
                                    [&](const IterationRow& row) { return row.iteration == flow.iteration && is_under_way(row); }));
  }
  std::map<Key, std::pair<int, std::int64_t>> expected;
  for (std::uint64_t iteration = 0; iteration < 3; ++iteration) {
    expected[{iteration, "world", "sum", "all_reduce"}] = {24, 24'000'000};
    expected[{iteration, "pair", "gather", "all_gather"}] = {4, 4'000'000};
    expected[{iteration, "world", "down", "send"}] = {1, 1'000'000};
    expected[{iteration, "world", "on", "send"}] = {1, 1'000'000};
  }
  EXPECT_EQ(sent, expected);
  // Four ops have numbers of their own, whatever role sends them.
  std::map<std::uint32_t, std::set<std::string>> ops_of_number;
  for (const FlowRow& flow : told.rows.flows)
    ops_of_number[flow.origin].insert(fmt::format("{} {} {}", flow.op, flow.collective, flow.communicator));
  EXPECT_EQ(ops_of_number.size(), 4U);
  for (const auto& [number, ops] : ops_of_number) EXPECT_EQ(ops.size(), 1U) << number;
}

// A list in which rows are not in order of their starts: each row of the table has the endpoints
// and the size of the row of the list that it names.
TEST_P(JoinedResults, FlowsNameTheirRowOfTheList) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.mode = GetParam();
  flags.topology = folder.write("net.textproto", "builder: \"single_switch\" set { name: \"hosts\" value: \"4\" }\n");
  flags.flows =
      folder.write("flow.txt", "4\n3 1 3 100 4000 0.001\n0 1 3 100 1000 0\n2 0 3 100 3000 0.0005\n1 3 3 100 2000 0\n") + ":hpcc";
  Told told;
  tell(flags, told);
  const std::vector<std::tuple<std::string, std::string, std::int64_t>> list = {
      {"host3", "host1", 4000}, {"host0", "host1", 1000}, {"host2", "host0", 3000}, {"host1", "host3", 2000}};
  ASSERT_EQ(told.rows.flows.size(), list.size());
  std::set<std::uint64_t> rows;
  for (const FlowRow& flow : told.rows.flows) {
    const std::uint64_t row = flow.input_row.value();
    rows.insert(row);
    const auto& [source, destination, size] = list.at(row);
    EXPECT_TRUE(flow.source.starts_with(source)) << flow.source;
    EXPECT_TRUE(flow.destination.starts_with(destination)) << flow.destination;
    EXPECT_EQ(flow.size.count(), size);
    EXPECT_FALSE(flow.iteration.has_value());
  }
  EXPECT_EQ(rows.size(), list.size());
}

TEST_P(JoinedResults, LinksNameTheirTier) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.mode = GetParam();
  flags.topology = folder.write("net.textproto", "builder: \"fat_tree\" set { name: \"k\" value: \"4\" }\n");
  flags.flows = folder.write("flow.txt", "1\n0 15 3 100 4000 0\n") + ":hpcc";
  Told told;
  tell(flags, told);
  const auto level = [](std::string_view name) -> std::string {
    for (const char* const of : {"host", "leaf", "agg", "spine"}) {
      if (name.starts_with(of)) return of;
    }
    return "?";
  };
  std::map<std::string, int> links;
  for (const LinkRow& link : told.rows.links) {
    const auto host_of = [](std::string_view node) { return node.substr(0, node.find('/')); };
    const bool is_inside = level(link.source) == "host" && host_of(link.source) == host_of(link.destination);
    EXPECT_EQ(link.tier, is_inside ? "host" : level(link.source) + "->" + level(link.destination)) << link.link;
    ++links[std::string(link.tier)];
  }
  // A fat tree of k = 4: 16 hosts below 8 leafs, 8 aggregation switches and 4 spines, 16 cables a
  // tier.
  for (const char* const tier : {"host->leaf", "leaf->host", "leaf->agg", "agg->leaf", "agg->spine", "spine->agg"})
    EXPECT_EQ(links[tier], 16) << tier;
}

/// Type 7 of Hyndman and Fan, by sorting.
double percentile(std::vector<double> values, double percent) {
  std::ranges::sort(values);
  const double rank = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const double high = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (high - values[below]) * (rank - static_cast<double>(below));
}

void expect_percentiles(const std::optional<Percentiles>& told, const std::vector<double>& values) {
  ASSERT_TRUE(told.has_value());
  EXPECT_DOUBLE_EQ(told->p50, percentile(values, 50));
  EXPECT_DOUBLE_EQ(told->p90, percentile(values, 90));
  EXPECT_DOUBLE_EQ(told->p99, percentile(values, 99));
  EXPECT_DOUBLE_EQ(told->max, *std::ranges::max_element(values));
}

TEST_P(JoinedResults, PercentilesAreThoseOfTheRows) {
  const ScratchFolder folder;
  std::string scenario = "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"8\" } }\n";
  for (int i = 0; i < 6; ++i) {
    scenario += fmt::format("job {{ name: \"j{}\" iterations: {} submit: \"{}us\" workload {{ file: \"{}\" }} }}\n", i, 1 + i,
                            300 * i, mixed_workload(folder));
  }
  RunFlags flags;
  flags.mode = GetParam();
  flags.scenario_file = folder.write("s.textproto", scenario);
  Told told;
  tell(flags, told);
  std::vector<double> fct_s, slowdown, jct_s, wait_s, iteration_s;
  for (const FlowRow& row : told.rows.flows) {
    fct_s.push_back(row.completion.in_s());
    slowdown.push_back(row.slowdown);
  }
  for (const JobRow& row : told.rows.jobs) {
    jct_s.push_back(row.completion.value().in_s());
    wait_s.push_back(row.wait.value().in_s());
  }
  for (const IterationRow& row : told.rows.iterations) iteration_s.push_back((row.end - row.start).in_s());
  expect_percentiles(told.summary.fct_s, fct_s);
  expect_percentiles(told.summary.slowdown, slowdown);
  expect_percentiles(told.summary.jct_s, jct_s);
  expect_percentiles(told.summary.wait_s, wait_s);
  expect_percentiles(told.summary.iteration_s, iteration_s);
  EXPECT_GT(told.summary.wait_s->max, 0) << "two jobs of four ranks fit at a time";
}

/// Jobs of three priorities on a small cluster whose GPUs fail; one is cancelled, a host is
/// drained.
std::string troubled_cluster() {
  std::string text =
      "cluster { hosts: 4 gpus_per_host: 4 }\nscheduler { policy: \"priority\" }\n"
      "set { name: \"failure.gpu_mtbf_hours\" value: \"2\" }\nset { name: \"failure.repair\" value: \"30s\" }\n"
      "set { name: \"checkpoint.interval\" value: \"10s\" }\n"
      "event { at: \"200s\" drain { hosts: \"1\" for: \"100s\" } }\n"
      "event { at: \"260s\" cancel { job: \"j30\" } }\n";
  for (int i = 0; i < 40; ++i) {
    text += fmt::format("job {{ name: \"j{}\" gpus: {} submit: \"{}s\" priority: {} group: \"g{}\" duration: \"{}s\" }}\n", i,
                        1 + i % 6, 9 * i, i % 3, i % 2, 40 + 17 * (i % 5));
  }
  return text;
}

// Attempts of a job follow each other, add up to its time on GPUs, and end for the reasons that its
// row counts.
TEST(AttemptRows, AddUpToTheirJobs) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.scenario_file = folder.write("s.textproto", troubled_cluster());
  Told told;
  tell(flags, told);
  std::map<std::string_view, std::vector<AttemptRow>> by_job;
  for (const AttemptRow& row : told.rows.attempts) by_job[row.job].push_back(row);
  std::map<std::string, int> reasons;
  for (const JobRow& job : told.rows.jobs) {
    const std::vector<AttemptRow>& attempts = by_job[job.job];
    const auto ends_by = [&](std::string_view reason) {
      return static_cast<std::uint32_t>(std::ranges::count(attempts, reason, &AttemptRow::reason));
    };
    ASSERT_EQ(attempts.size(), job.start ? job.restarts + 1 : 0) << job.job;
    Duration run;
    Duration waited;
    Time free_since = job.submit;
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      const AttemptRow& attempt = attempts[i];
      EXPECT_EQ(attempt.attempt, i);
      EXPECT_EQ(attempt.gpus, job.gpus);
      EXPECT_GE(attempt.start, free_since);
      waited += attempt.start - free_since;
      run += attempt.end - attempt.start;
      free_since = attempt.end;
      ++reasons[std::string(attempt.reason)];
    }
    if (!job.start) continue;
    EXPECT_EQ(attempts.front().start, *job.start);
    EXPECT_EQ(attempts.back().hosts, job.placement);
    EXPECT_EQ(run, *job.run) << job.job;
    EXPECT_EQ(ends_by("preempted"), job.preemptions) << job.job;
    EXPECT_EQ(ends_by("moved"), job.moves) << job.job;
    EXPECT_EQ(ends_by("failed"), job.failures) << job.job;
    EXPECT_EQ(ends_by("ended"), job.end ? 1U : 0U) << job.job;
    if (job.end) {
      EXPECT_EQ(attempts.back().end, *job.end);
      EXPECT_EQ(waited, *job.wait) << job.job;
    }
  }
  for (const char* const reason : {"ended", "preempted", "failed"}) EXPECT_GT(reasons[reason], 0) << reason;
  EXPECT_EQ(told.summary.jobs_finished, 39U);
}

// What a trace says of its jobs stays with their rows.
TEST(JobRows, KeepTheColumnsOfTheirTrace) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.jobs =
      folder.write("jobs.csv", "job,submit_s,gpus,run_s,group,priority,model,user\na,0,1,5,vc1,3,bert,ann\nb,0,1,5,vc2,0,,bob\n") +
      ":weft";
  flags.hosts = 1;
  Told told;
  tell(flags, told);
  ASSERT_EQ(told.rows.jobs.size(), 2U);
  for (const JobRow& job : told.rows.jobs) {
    const bool is_a = job.job == "a";
    EXPECT_EQ(job.user, is_a ? "ann" : "bob");
    EXPECT_EQ(job.group, is_a ? "vc1" : "vc2");
    EXPECT_EQ(job.model, is_a ? "bert" : "");
    EXPECT_EQ(job.priority, is_a ? 3 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, JoinedResults, testing::Values("flow", "packet"));

}  // namespace
}  // namespace weft::joined_results_test
