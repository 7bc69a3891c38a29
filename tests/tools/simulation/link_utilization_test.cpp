// SPDX-License-Identifier: Apache-2.0
// Utilization of links is over the makespan, whatever the clock goes on for after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/weft/weft_process.hpp"

namespace weft::link_utilization_test {
namespace {

// Three iterations of some milliseconds each, on half of the fabric. Meanwhile a switch of the
// other half fails and a cable becomes slower; the network leaves the one, and both are repaired,
// long after they have ended.
const std::string cables_text =
    "name: \"cables\"\n"
    "topology { builder: \"fat_tree\" set { name: \"k\" value: \"4\" } }\n"
    "job { name: \"a\" iterations: 3 workload { template: \"data_parallel\" set { name: \"ranks\" value: \"8\" }\n"
    "  set { name: \"parameters\" value: \"1000000\" } set { name: \"buckets\" value: \"1\" }\n"
    "  set { name: \"forward_time\" value: \"1ms\" } set { name: \"backward_time\" value: \"2ms\" } } }\n"
    "set { name: \"failure.reroute\" value: \"100s\" }\n"
    "set { name: \"failure.detection\" value: \"0s\" }\n"
    "event { at: \"5ms\" fail { part: \"agg7\" repair: \"200s\" } }\n"
    "event { at: \"12ms\" fail { part: \"leaf0->agg1\" factor: 0.5 repair: \"200s\" } }\n";

// Three cards on a switch. Two flows into one card; what is acknowledged last comes after what is
// delivered last.
const std::string network_text = "4 1 3\n3\n0 3 100Gbps 0.001ms 0\n1 3 100Gbps 0.001ms 0\n2 3 100Gbps 0.001ms 0\n";
const std::string flows_text = "2\n0 2 3 100 200000 0.0\n1 2 3 100 100000 0.000001\n";

struct Outcome {
  double makespan_s = 0;
  double over_s = 0;
  int used = 0;            ///< links that carried something
  double worst_error = 0;  ///< of utilization against bytes over the makespan, relative
  double utilization_max = 0;
};

Outcome run(const TestFolder& folder, std::vector<std::string> words) {
  words.insert(words.end(), {"--out=out", "--quiet"});
  const WeftAnswer answer = run_weft({.folder = folder.path()}, words);
  EXPECT_EQ(answer.status, 0) << answer.errors;
  const auto summary = nlohmann::json::parse(content(folder / "out" / "summary.json"));
  Outcome outcome{summary["makespan_s"], summary["link_utilization_over_s"]};
  std::istringstream rows(content(folder / "out" / "links.csv"));
  std::string row;
  std::getline(rows, row);
  while (std::getline(rows, row)) {
    std::vector<std::string> cells;
    std::istringstream in_row(row);
    for (std::string cell; std::getline(in_row, cell, ',');) cells.push_back(cell);
    const double rate_bps = std::stod(cells.at(3));
    const double bytes = std::stod(cells.at(4));
    const double utilization = std::stod(cells.at(5));
    outcome.utilization_max = std::max(outcome.utilization_max, utilization);
    if (bytes == 0) continue;
    ++outcome.used;
    outcome.worst_error = std::max(outcome.worst_error, std::abs(utilization * rate_bps * outcome.makespan_s / (8 * bytes) - 1));
  }
  return outcome;
}

class LinkUtilization : public testing::TestWithParam<std::string> {
 protected:
  LinkUtilization() {
    folder_.write("cables.textproto", "mode: " + GetParam() + "\n" + cables_text);
    folder_.write("net.txt", network_text);
    folder_.write("flow.txt", flows_text);
  }
  std::string mode() const { return GetParam() == "FLOW" ? "flow" : "packet"; }
  void expect_over_makespan(const Outcome& outcome) {
    EXPECT_GT(outcome.used, 0);
    EXPECT_EQ(outcome.over_s, outcome.makespan_s);
    EXPECT_LT(outcome.worst_error, 1e-9);
    EXPECT_LE(outcome.utilization_max, 1);
  }
  TestFolder folder_;
};

TEST_P(LinkUtilization, EndsWithTheLastJob) {
  const Outcome outcome = run(folder_, {"run", "cables.textproto"});
  EXPECT_LT(outcome.makespan_s, 1);
  expect_over_makespan(outcome);
}

// While rates are shared and packets are on their way; then with nothing left but the repair.
TEST_P(LinkUtilization, EndsWhereTheRunWasCutOff) {
  const Outcome cut_off = run(folder_, {"run", "cables.textproto", "--until=10ms"});
  EXPECT_EQ(cut_off.makespan_s, 0.01);
  expect_over_makespan(cut_off);
  const Outcome after_the_end = run(folder_, {"run", "cables.textproto", "--until=50s"});
  EXPECT_LT(after_the_end.makespan_s, 1);
  expect_over_makespan(after_the_end);
}

TEST_P(LinkUtilization, EndsWithTheLastDelivery) {
  const std::vector<std::string> words = {"run", "--topology=net.txt:hpcc", "--flows=flow.txt:hpcc", "--mode=" + mode()};
  const Outcome outcome = run(folder_, words);
  // 300 kB at 100 Gb/s take 24 us, with headers and latencies more.
  EXPECT_GT(outcome.makespan_s, 24e-6);
  EXPECT_LT(outcome.makespan_s, 40e-6);
  expect_over_makespan(outcome);
  std::vector<std::string> until = words;
  until.emplace_back("--until=10us");
  const Outcome cut_off = run(folder_, until);
  EXPECT_EQ(cut_off.makespan_s, 1e-5);
  expect_over_makespan(cut_off);
}

INSTANTIATE_TEST_SUITE_P(Modes, LinkUtilization, testing::Values("FLOW", "PACKET"), [](const auto& mode) { return mode.param; });

}  // namespace
}  // namespace weft::link_utilization_test
