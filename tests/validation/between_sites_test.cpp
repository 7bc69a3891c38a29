// SPDX-License-Identifier: Apache-2.0
// Runs between sites: what TCP has of their lines, in flow and packet mode, and that nothing that
// makes runs faster changes it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "scenario_run.hpp"

namespace weft::between_sites_test {
namespace {

/// Two sites of two hosts, and a line of 1 Gb/s with a round trip of 100 ms; what is added to its
/// parameters.
RunFlags two_sites(const ScratchFolder& folder, const std::vector<std::pair<std::string, std::string>>& params,
                   const std::vector<std::string>& flows) {
  std::string net =
      "builder: \"multi_site\" set { name: \"fabric\" value: \"single_switch\" } set { name: \"fabric_params\" value: \"hosts=2\" "
      "} set { name: \"wan_rtt\" value: \"100ms\" } ";
  bool has_rate = false;
  for (const auto& [name, value] : params) {
    net += fmt::format("set {{ name: \"{}\" value: \"{}\" }} ", name, value);
    has_rate = has_rate || name == "wan_rate";
  }
  if (!has_rate) net += "set { name: \"wan_rate\" value: \"1Gbps\" } ";
  RunFlags flags;
  flags.topology = folder.write("net.textproto", net);
  std::string list = fmt::format("{}\n", flows.size());
  for (const std::string& flow : flows) list += flow + "\n";
  flags.flows = folder.write("flow.txt", list) + ":hpcc";
  return flags;
}

/// Of a row of the list.
double fct_s(const ScenarioRun& run, std::size_t row) {
  for (const auto& flow : run.flows) {
    if (flow.at("input_row") == std::to_string(row)) return std::stod(flow.at("fct_ns")) / 1e9;
  }
  ADD_FAILURE() << "no flow of row " << row;
  return 0;
}

/// By hosts: 0 and 1 are at one site, 2 and 3 at the other. A site has two switches, too.
std::string flow(int from, int to, std::int64_t bytes, double start_s = 0) {
  const auto node = [](int host) { return host / 2 * 4 + host % 2; };
  return fmt::format("{} {} 3 100 {} {:.3f}", node(from), node(to), bytes, start_s);
}

// Reno, 1e-4 and 100 ms: 1,448 x 8 / 0.1 x sqrt(1.5) / 0.01 = 14.1875 Mb/s, so 1 GB takes 563.88 s
// and 50 ms on its way.
TEST(BetweenSites, AGigabyteTakesWhatTheFormulaSays) {
  const ScratchFolder folder;
  RunFlags flags = two_sites(folder, {{"wan_loss", "0.0001"}}, {flow(0, 2, 1'000'000'000)});
  flags.settings = {"wan.congestion_control=reno"};
  const ScenarioRun one = run_scenario(flags);
  EXPECT_NEAR(fct_s(one, 0), 563.88 + 0.05, 0.1);
  EXPECT_NEAR(std::stod(one.flows.at(0).at("slowdown")), 1, 1e-6);
  // Two streams are twice as fast.
  flags.settings.emplace_back("flow.queue_pairs=2");
  EXPECT_NEAR(fct_s(run_scenario(flags), 0), 563.88 / 2 + 0.05, 0.1);
}

// auto is cubic, where lines lose packets: 187.4 segments of 1,448 B in 100 ms are 21.708 Mb/s.
// Without loss, and inside a site, nothing slows transfers down.
TEST(BetweenSites, OnlyLossyPathsAreSlowedDown) {
  const ScratchFolder folder;
  const ScenarioRun lossy =
      run_scenario(two_sites(folder, {{"wan_loss", "0.0001"}}, {flow(0, 2, 10'000'000), flow(0, 1, 10'000'000)}));
  EXPECT_NEAR(fct_s(lossy, 0), 80 / 21.708 + 0.05, 0.004);
  EXPECT_LT(fct_s(lossy, 1), 0.001);
  const ScenarioRun quiet = run_scenario(two_sites(folder, {}, {flow(0, 2, 10'000'000)}));
  // 2 % of headers.
  EXPECT_NEAR(fct_s(quiet, 0), 0.08 * 1.02 + 0.05, 0.001);
}

// 200 Mb/s from site 0 to 1 and 800 Mb/s back.
TEST(BetweenSites, ALineMayBeFasterOneWay) {
  const ScratchFolder folder;
  const ScenarioRun run =
      run_scenario(two_sites(folder, {{"pair_rate", "0-1=200Mbps/800Mbps"}}, {flow(0, 2, 10'000'000), flow(3, 1, 10'000'000)}));
  EXPECT_NEAR(fct_s(run, 0), 0.4 * 1.02 + 0.05, 0.002);
  EXPECT_NEAR(fct_s(run, 1), 0.1 * 1.02 + 0.05, 0.002);
}

// Two hosts of a site share its line of 100 Mb/s, which is less than what TCP would have for each.
TEST(BetweenSites, HostsOfASiteShareItsLine) {
  const ScratchFolder folder;
  const ScenarioRun run = run_scenario(
      two_sites(folder, {{"wan_rate", "30Mbps"}, {"wan_loss", "0.0001"}}, {flow(0, 2, 10'000'000), flow(1, 3, 10'000'000)}));
  for (std::size_t row : {0U, 1U}) EXPECT_NEAR(fct_s(run, row), 80 / 15.0 * 1.02 + 0.05, 0.02);
}

// Expectation: packets are paced to the same rate, and pass the same cables: within 1 %.
TEST(BetweenSites, BothModesAgree) {
  const ScratchFolder folder;
  for (const char* control : {"cubic", "bbr", "none"}) {
    RunFlags flags = two_sites(folder, {{"wan_loss", "0.001"}, {"wan_rate", "50Mbps"}}, {flow(0, 2, 3'000'000)});
    flags.settings = {fmt::format("wan.congestion_control={}", control)};
    const double flow_s = fct_s(run_scenario(flags), 0);
    flags.mode = "packet";
    EXPECT_NEAR(fct_s(run_scenario(flags), 0) / flow_s, 1, 0.01) << control << ": " << flow_s << " s";
  }
}

/// here - a - {way0, way1} - d - there: ways of 100 Mb/s and 10 ms that lose packets.
RunFlags two_ways(const ScratchFolder& folder, const std::vector<std::string>& losses) {
  std::string net = "host { port: \"here\" } host { port: \"there\" } switch { name: \"a\" } switch { name: \"d\" } ";
  const auto link = [&](std::string_view ends, std::string_view rate, std::string_view delay, const std::string& more) {
    const std::size_t dash = ends.find('-');
    net += fmt::format("link {{ a: \"{}\" b: \"{}\" rate: \"{}\" delay: \"{}\" {} }} ", ends.substr(0, dash), ends.substr(dash + 1),
                       rate, delay, more);
  };
  link("here-a", "10Gbps", "1us", "");
  link("there-d", "10Gbps", "1us", "");
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::string way = fmt::format("way{}", i);
    net += fmt::format("switch {{ name: \"{}\" }} ", way);
    link("a-" + way, "100Mbps", "10ms", fmt::format("wide_area {{ loss: {} }}", losses[i]));
    link(way + "-d", "10Gbps", "1us", "");
  }
  RunFlags flags;
  flags.topology = folder.write("net.textproto", net);
  return flags;
}

// Two ways of 100 Mb/s with round trips of 20 ms, which lose 1 and 2 %: sprayed evenly, BBR has
// 10 / 10.2 of 200 Mb/s, of which 98.5 % come through, so that 1 MB and 2 % of headers take 42.3 ms
// and 10 ms on their way. Expectation: packets take lines at random, and those of one that gets too
// many wait: within 10 %.
TEST(BetweenSites, SprayedPacketsHaveBothLines) {
  const ScratchFolder folder;
  RunFlags flags = two_ways(folder, {"0.02", "0.01"});
  flags.flows = folder.write("flow.txt", "1\n0 1 3 100 1000000 0\n") + ":hpcc";
  flags.settings = {"flow.routing=spray", "wan.congestion_control=bbr"};
  const double flow_s = fct_s(run_scenario(flags), 0);
  EXPECT_NEAR(flow_s, 0.0523, 0.0005);
  flags.mode = "packet";
  flags.settings.emplace_back("packet.congestion_control=none");
  EXPECT_NEAR(fct_s(run_scenario(flags), 0) / flow_s, 1.05, 0.05);
}

// Half of the packets of every queue pair are lost at 5 %, whichever way its hash would be:
// 1 - sqrt(0.95) = 2.53 % of all, so that CUBIC has 1,448 x 8 / 0.02 x sqrt(1.5 / 0.0253) = 4.46
// Mb/s of payload, of which 97.5 % come through. 100 kB take 0.184 s and 10 ms on their way.
TEST(BetweenSites, SprayedPacketsHaveTheLossOfBothLines) {
  const ScratchFolder folder;
  RunFlags flags = two_ways(folder, {"0.05", "0"});
  std::string list = "8\n";
  for (int i = 0; i < 8; ++i) list += fmt::format("0 1 3 {} 100000 {}\n", 100 + i, i);
  flags.flows = folder.write("flow.txt", list) + ":hpcc";
  flags.settings = {"flow.routing=spray", "wan.congestion_control=cubic"};
  const ScenarioRun flow = run_scenario(flags);
  flags.mode = "packet";
  const ScenarioRun packets = run_scenario(flags);
  for (std::size_t row = 0; row < 8; ++row) {
    EXPECT_NEAR(fct_s(flow, row), 0.1943, 0.001) << row;
    EXPECT_NEAR(fct_s(packets, row) / fct_s(flow, row), 1, 0.05) << row;
  }
}

// 1,000 messages with a mean delay of 20 ms on top: their mean is within four standard errors, 4 x
// 20 / sqrt(1000) ms.
TEST(BetweenSites, JitterDelaysMessages) {
  const ScratchFolder folder;
  std::vector<std::string> flows;
  for (int i = 0; i < 1000; ++i) flows.push_back(flow(0, 2, 1, 0.3 * i));
  const RunFlags flags = two_sites(folder, {{"wan_jitter", "20ms"}}, flows);
  const ScenarioRun run = run_scenario(flags);
  double sum_s = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    EXPECT_GE(fct_s(run, i), 0.05);
    sum_s += fct_s(run, i) - 0.05;
  }
  EXPECT_NEAR(sum_s / 1000, 0.02, 0.0026);
  RunFlags other = flags;
  other.seed = 2;
  EXPECT_NE(fct_s(run_scenario(other), 0), fct_s(run, 0));
}

/// A ring over all hosts of three sites at a hub, and one inside each site.
RunFlags rings(const ScratchFolder& folder) {
  folder.write("work.textproto",
               "ranks: 12\ncommunicator { name: \"site\" size: 4 }\nrole { name: \"all\"\n"
               "  op { name: \"c\" compute { duration: \"3ms\" } }\n"
               "  op { name: \"s\" collective { type: ALL_REDUCE communicator: \"site\" size: \"40MB\" } deps: \"c\" }\n"
               "  op { name: \"w\" collective { type: ALL_REDUCE size: \"3MB\" } deps: \"s\" }\n}\n");
  RunFlags flags;
  flags.scenario_file =
      folder.write("scenario.textproto",
                   "topology { builder: \"multi_site\" set { name: \"sites\" value: \"3\" } set { name: \"wan\" value: \"hub\" } "
                   "set { name: \"fabric\" value: \"single_switch\" } set { name: \"fabric_params\" value: \"hosts=4\" } "
                   "set { name: \"wan_rate\" value: \"200Mbps\" } set { name: \"wan_rate_down\" value: \"1Gbps\" } "
                   "set { name: \"site_loss\" value: \"0=0.001 2=0.0001\" } set { name: \"site_jitter\" value: \"1=3ms\" } }\n"
                   "job { iterations: 2 workload { file: \"work.textproto\" } }\n");
  flags.settings = {"host.fold_ranks=auto"};
  return flags;
}

TEST(BetweenSites, ThreadsAndPrivateLinksChangeNothing) {
  const ScratchFolder folder;
  RunFlags flags = rings(folder);
  flags.settings.emplace_back("host.private_links=off");
  const ScenarioRun without = run_scenario(flags);
  flags.settings.back() = "host.private_links=on";
  const ScenarioRun with = run_scenario(flags);
  EXPECT_EQ(with.summary.makespan, without.summary.makespan);
  EXPECT_EQ(with.iterations, without.iterations);
  EXPECT_EQ(with.collectives, without.collectives);
  EXPECT_EQ(with.links, without.links);
}

// Lines that lose nothing and have no jitter leave folding alone, also where a line is faster one
// way: classes take as long as ranks.
TEST(BetweenSites, RanksAreFoldedWhereLinesDoNotAct) {
  const ScratchFolder folder;
  folder.write("work.textproto",
               "ranks: 12\nrole { name: \"all\"\n"
               "  op { name: \"c\" compute { duration: \"3ms\" } }\n"
               "  op { name: \"w\" collective { type: ALL_TO_ALL size: \"12MB\" } deps: \"c\" }\n}\n");
  RunFlags flags;
  flags.scenario_file =
      folder.write("scenario.textproto",
                   "topology { builder: \"multi_site\" set { name: \"sites\" value: \"3\" } set { name: \"wan\" value: \"hub\" } "
                   "set { name: \"fabric\" value: \"single_switch\" } set { name: \"fabric_params\" value: \"hosts=4\" } "
                   "set { name: \"wan_rate\" value: \"200Mbps\" } set { name: \"wan_rate_down\" value: \"1Gbps\" } }\n"
                   "job { workload { file: \"work.textproto\" } }\n");
  flags.settings = {"host.fold_ranks=off"};
  const ScenarioRun whole = run_scenario(flags);
  flags.settings = {"host.fold_ranks=on"};
  const ScenarioRun folded = run_scenario(flags);
  EXPECT_LT(folded.summary.ranks_simulated, 12U);
  EXPECT_NEAR(folded.summary.makespan.in_s() / whole.summary.makespan.in_s(), 1, 1e-6);
  // Each site sends 4 x 8 of the 144 blocks of 1 MB at 200 Mb/s: 1.28 s and 2 % of headers.
  EXPECT_NEAR(whole.summary.makespan.in_s(), 1.28 * 1.02 + 0.03, 0.02);
}

TEST(BetweenSites, RanksAreNotFoldedWhereLinesAct) {
  const ScratchFolder folder;
  RunFlags flags = rings(folder);
  flags.settings = {"host.fold_ranks=on"};
  try {
    run_scenario(flags, ScenarioRunOptions{});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "cannot-fold");
  }
}

TEST(BetweenSites, ANoteTellsWhomTcpSlowedDown) {
  const ScratchFolder folder;
  RunFlags flags = two_sites(folder, {{"wan_loss", "0.0001"}}, {flow(0, 2, 1'000'000), flow(0, 1, 1'000'000)});
  const auto note_of = [](const ScenarioRun& run, const std::string& begin) {
    for (const std::string& note : run.summary.notes) {
      if (note.starts_with(begin)) return note;
    }
    return std::string();
  };
  const std::string slowed = note_of(run_scenario(flags), "TCP (cubic) slowed down 1 of 1 transfer between sites");
  EXPECT_NE(slowed.find("loss 0.01 %"), std::string::npos) << slowed;
  flags.mode = "packet";
  const ScenarioRun packets = run_scenario(flags);
  EXPECT_EQ(note_of(packets, "TCP"), slowed);
  EXPECT_NE(note_of(packets, "packet mode does not simulate the loss of lines"), "");
  EXPECT_EQ(slowed.find("timeouts"), std::string::npos) << slowed;
  // One that loses 6 % has its formula beyond where it holds.
  const RunFlags bad = two_sites(folder, {{"wan_loss", "0.06"}}, {flow(0, 2, 100'000)});
  EXPECT_NE(note_of(run_scenario(bad), "TCP (cubic)").find("timeouts are not modelled"), std::string::npos);
  // A quiet line needs no note.
  const ScenarioRun quiet = run_scenario(two_sites(folder, {}, {flow(0, 2, 1'000'000)}));
  EXPECT_EQ(note_of(quiet, "TCP"), "");
}

}  // namespace
}  // namespace weft::between_sites_test
