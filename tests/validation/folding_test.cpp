// SPDX-License-Identifier: Apache-2.0
// Folding ranks that behave alike (host/symmetry/rank_folding) changes how long a run takes, not
// what it says: the same runs with and without.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/values/random.hpp"
#include "tests/long_runs.hpp"
#include "tests/validation/scenario_run.hpp"

namespace weft::folding_test {
namespace {

double number(const std::map<std::string, std::string>& row, const std::string& column) { return std::stod(row.at(column)); }

/// One fold of 10 ps ticks: sums of equal rates round differently when they are counted instead of
/// added, and a ring passes that on.
constexpr double kTickNs = 0.01;

struct FoldingCase {
  std::string name;
  std::string topology;
  std::string workload;
  std::vector<std::string> settings;
  std::uint64_t ranks_simulated = 0;  ///< 0 = not said
};

RunFlags flags_of(const ScratchFolder& folder, const FoldingCase& given, const std::string& fold) {
  RunFlags flags;
  flags.topology = folder.write("topology.textproto", given.topology);
  flags.workload = folder.write("workload.textproto", given.workload);
  flags.iterations = 2;
  flags.settings = given.settings;
  flags.settings.push_back("host.fold_ranks=" + fold);
  return flags;
}

/// Durations of collectives with how often they occur, to the tick.
std::map<std::tuple<std::string, std::string, long long>, std::uint64_t> durations(const Table& collectives) {
  std::map<std::tuple<std::string, std::string, long long>, std::uint64_t> counts;
  for (const auto& row : collectives) {
    // Rounded to 100 ticks, so that a tick of rounding does not tell two alike apart.
    const long long rounded = std::llround(number(row, "duration_ns") / (100 * kTickNs));
    counts[{row.at("op"), row.at("iteration"), rounded}] += std::stoull(row.at("multiplicity"));
  }
  return counts;
}

void expect_alike(const ScenarioRun& folded, const ScenarioRun& whole, std::uint64_t rounds) {
  const double tolerance_ns = kTickNs * static_cast<double>(rounds);
  EXPECT_NEAR(folded.summary.makespan.in_ns(), whole.summary.makespan.in_ns(), tolerance_ns);
  EXPECT_EQ(folded.summary.flows_finished, whole.summary.flows_finished);
  EXPECT_DOUBLE_EQ(folded.summary.payload_bytes, whole.summary.payload_bytes);
  EXPECT_NEAR(folded.summary.mean_fct_s, whole.summary.mean_fct_s, tolerance_ns * 1e-9);
  EXPECT_NEAR(folded.summary.mean_slowdown, whole.summary.mean_slowdown, 1e-6);
  // Of iterations whose times may differ by so much.
  EXPECT_NEAR(folded.summary.exposed_comm_share, whole.summary.exposed_comm_share,
              tolerance_ns * 1e-9 / whole.summary.mean_iteration_s);
  ASSERT_EQ(folded.iterations.size(), whole.iterations.size());
  for (std::size_t i = 0; i < whole.iterations.size(); ++i) {
    EXPECT_NEAR(number(folded.iterations[i], "duration_s"), number(whole.iterations[i], "duration_s"), tolerance_ns * 1e-9);
    EXPECT_NEAR(number(folded.iterations[i], "exposed_comm_s"), number(whole.iterations[i], "exposed_comm_s"), tolerance_ns * 1e-9);
  }
  ASSERT_EQ(folded.links.size(), whole.links.size());
  for (std::size_t i = 0; i < whole.links.size(); ++i) {
    // Sprayed bytes are rounded per flow and link.
    const double bytes = number(whole.links[i], "bytes");
    EXPECT_NEAR(number(folded.links[i], "bytes"), bytes, 1e-6 * bytes + 2) << whole.links[i].at("link");
  }
}

class Folding : public testing::TestWithParam<FoldingCase> {};

TEST_P(Folding, ChangesNoResult) {
  const ScratchFolder folder;
  const ScenarioRun folded = run_scenario(flags_of(folder, GetParam(), "on"));
  const ScenarioRun whole = run_scenario(flags_of(folder, GetParam(), "off"), ScenarioRunOptions{});
  EXPECT_EQ(whole.summary.ranks_simulated, 0U);
  EXPECT_EQ(folded.summary.ranks_simulated, GetParam().ranks_simulated);
  EXPECT_LT(folded.flows.size(), whole.flows.size());
  expect_alike(folded, whole, 200);
  EXPECT_EQ(durations(folded.collectives), durations(whole.collectives));
}

const std::vector<FoldingCase>& folding_cases() {
  static const std::vector<FoldingCase> cases = {
      // Every rank of a ring on one switch is like every other.
      {"RingOnOneSwitch",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"12\" }",
       "ranks: 12 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"1200kB\" } } }",
       {},
       1},
      // What receivers tell of their slots is folded as well: every message waits for that of the
      // one before.
      {"RingWithOneSlot",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"12\" }",
       "ranks: 12 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"1200kB\" } } }",
       {"collective.slots=1"},
       1},
      {"RingInChunks",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"12\" }",
       "ranks: 12 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"1200kB\" } } }",
       {"collective.chunk=15kB", "collective.slots=4", "collective.slot_size=10kB"},
       1},
      {"HierarchyWithTwoSlots",
       "builder: \"rail_optimized\" set { name: \"hosts\" value: \"4\" }",
       "ranks: 32 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"64MiB\" } } }",
       {"flow.routing=spray", "collective.all_reduce=hierarchical", "hierarchical.pieces=4", "collective.slots=2"},
       1},
      // Two collectives of one communicator find the same peer by different rules, and each is told
      // of its slots by its own.
      {"TwoRulesWithTwoSlots",
       "builder: \"rail_optimized\" set { name: \"hosts\" value: \"4\" }",
       "ranks: 32 role { op { name: \"aa\" collective { type: ALL_TO_ALL size: \"64MiB\" } } "
       "op { name: \"ar\" deps: \"aa\" collective { type: ALL_REDUCE size: \"64MiB\" } } }",
       {"flow.routing=spray", "collective.all_reduce=halving_doubling", "collective.all_to_all=hierarchical", "collective.slots=2",
        "collective.chunk=256KiB"},
       1},
      // Two collectives at once: an even rank's partner at distance 1 is its next in the ring as
      // well, where messages of both go one after another; an odd rank's is not.
      {"TwoRulesToOnePeerAtOnce",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"16\" }",
       "ranks: 16 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"8MB\" } } "
       "op { name: \"ag\" collective { type: ALL_GATHER size: \"8MB\" } } }",
       {"collective.all_reduce=halving_doubling", "collective.all_gather=ring"},
       2},
      // 1,000,000 bytes over 12 ranks: part i ends at floor((i + 1) x 250,000 / 3), so sizes repeat
      // every three positions.
      {"PartsThatDifferByAByte",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"24\" }",
       "ranks: 24 communicator { name: \"half\" size: 12 } role { op { name: \"ar\" collective { type: ALL_REDUCE communicator: "
       "\"half\" "
       "size: \"1MB\" } } }",
       {},
       3},
      // Staged in host memory, messages cross the cables of their GPUs twice.
      {"WithoutGpuDirect",
       "builder: \"rail_optimized\" set { name: \"hosts\" value: \"4\" } set { name: \"gpus_per_host\" value: \"4\" } set { name: "
       "\"nics_per_host\" value: \"4\" }",
       "ranks: 16 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"1600kB\" } } }",
       {"flow.gpudirect=off", "flow.routing=spray", "collective.all_reduce=hierarchical", "collective.protocol=auto"},
       1},
      // Roots, ends and middles of four broadcast chains.
      {"Broadcast",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"16\" }",
       "ranks: 16 communicator { name: \"quad\" size: 4 } role { op { name: \"b\" collective { type: BROADCAST communicator: "
       "\"quad\" "
       "size: \"3MB\" } } }",
       {},
       4},
      // Pipeline stages of 4 ranks: first, two in between, last; messages to the next and back.
      {"SendAndReceive",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"16\" }",
       "ranks: 16 communicator { name: \"pp\" size: 4 }\n"
       "role { name: \"first\" ranks: \"0-15:4\" op { name: \"f\" compute { duration: \"50us\" } } "
       "op { name: \"s\" send { communicator: \"pp\" peer_offset: 1 size: \"2MB\" } deps: \"f\" } }\n"
       "role { name: \"last\" ranks: \"3-15:4\" op { name: \"r\" receive { communicator: \"pp\" peer_offset: -1 size: \"2MB\" } } "
       "op { name: \"f\" compute { duration: \"50us\" } deps: \"r\" } }\n"
       "role { name: \"middle\" ranks: \"1-15:4,2-15:4\" op { name: \"r\" receive { communicator: \"pp\" peer_offset: -1 size: "
       "\"2MB\" } } "
       "op { name: \"f\" compute { duration: \"50us\" } deps: \"r\" } "
       "op { name: \"s\" send { communicator: \"pp\" peer_offset: 1 size: \"2MB\" } deps: \"f\" } }\n",
       {},
       4},
      // Four groups of six hosts; in a group the second tree leaves no two ranks alike.
      {"DoubleBinaryTrees",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"24\" }",
       "ranks: 24 communicator { name: \"six\" size: 6 } role { op { name: \"ar\" collective { type: ALL_REDUCE communicator: "
       "\"six\" "
       "size: \"6MB\" } } op { name: \"b\" collective { type: BROADCAST communicator: \"six\" root: 2 size: \"3MB\" } deps: \"ar\" "
       "} "
       "op { name: \"r\" collective { type: REDUCE communicator: \"six\" root: 1 size: \"3MB\" } deps: \"b\" } }",
       {"collective.all_reduce=double_binary_tree", "collective.broadcast=double_binary_tree",
        "collective.reduce=double_binary_tree"},
       6},
      // Two groups of four hosts of four ranks: heads on the first and the last rail, chains in
      // between.
      {"DoubleBinaryTreesWithChains",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"8\" } set { name: \"gpus_per_host\" value: \"4\" } set { name: "
       "\"nics_per_host\" value: \"4\" }",
       "ranks: 32 communicator { name: \"half\" size: 16 } role { op { name: \"ar\" collective { type: ALL_REDUCE communicator: "
       "\"half\" size: \"6MB\" } } }",
       {"collective.all_reduce=double_binary_tree"},
       16},
      // Exchanges with a partner look the same from everywhere.
      {"HalvingDoubling",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"16\" }",
       "ranks: 16 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"16MB\" } } op { name: \"rs\" collective { type: "
       "REDUCE_SCATTER size: \"16MB\" } deps: \"ar\" } op { name: \"ag\" collective { type: ALL_GATHER size: \"1MB\" } deps: "
       "\"rs\" } }",
       {"collective.all_reduce=halving_doubling", "collective.reduce_scatter=halving_doubling",
        "collective.all_gather=halving_doubling"},
       1},
      // 8 + 4 ranks: four hand in what they have, four take it, four have nobody who does.
      {"HalvingDoublingWithExtraRanks",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"12\" }",
       "ranks: 12 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"24MB\" } } op { name: \"rs\" collective { type: "
       "REDUCE_SCATTER size: \"24MB\" } deps: \"ar\" } op { name: \"ag\" collective { type: ALL_GATHER size: \"1MB\" } deps: "
       "\"rs\" } }",
       {"collective.all_reduce=halving_doubling", "collective.reduce_scatter=halving_doubling",
        "collective.all_gather=halving_doubling"},
       3},
      // 1,000,000 bytes over 12 ranks: sizes repeat every three positions, as in
      // PartsThatDifferByAByte.
      {"Bruck",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"24\" }",
       "ranks: 24 communicator { name: \"half\" size: 12 } role { op { name: \"aa\" collective { type: ALL_TO_ALL communicator: "
       "\"half\" size: \"1MB\" } } op { name: \"ag\" collective { type: ALL_GATHER communicator: \"half\" size: \"1MB\" } deps: "
       "\"aa\" } "
       "op { name: \"b\" collective { type: BARRIER communicator: \"half\" } deps: \"ag\" } }",
       {"collective.all_to_all=bruck", "collective.all_gather=bruck", "collective.barrier=bruck"},
       3},
      {"Pairwise",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"12\" }",
       "ranks: 12 communicator { name: \"trio\" size: 3 }\n"
       "splits { name: \"turns\" row { size: \"0B\" size: \"1MB\" size: \"2MB\" } row { size: \"2MB\" size: \"0B\" size: \"1MB\" } "
       "row { "
       "size: \"1MB\" size: \"2MB\" size: \"0B\" } }\n"
       "role { op { name: \"aa\" collective { type: ALL_TO_ALL size: \"12MB\" } } op { name: \"rs\" collective { type: "
       "REDUCE_SCATTER "
       "size: \"12MB\" } deps: \"aa\" } op { name: \"ag\" collective { type: ALL_GATHER size: \"1MB\" } deps: \"rs\" } "
       "op { name: \"av\" collective { type: ALL_TO_ALL_V communicator: \"trio\" splits: \"turns\" } deps: \"ag\" } }",
       {"collective.all_to_all=pairwise", "collective.reduce_scatter=pairwise", "collective.all_gather=pairwise",
        "collective.all_to_all_v=pairwise"},
       1},
      // Two hosts per leaf and sprayed spines: rings over hosts cross a leaf at every other host; a
      // rank is told from others by its pair (four in a host) and by whether its host is the first
      // or the second of its leaf.
      {"TensorExpertDataParallel",
       "builder: \"clos\" set { name: \"hosts\" value: \"16\" } set { name: \"gpus_per_host\" value: \"8\" } set { name: "
       "\"hosts_per_leaf\" "
       "value: \"2\" }",
       "ranks: 128 communicator { name: \"tp\" size: 2 } communicator { name: \"ep\" size: 8 stride: 2 } communicator { name: "
       "\"dp\" size: 64 "
       "stride: 2 }\n"
       "role { op { name: \"c\" compute { duration: \"100us\" } }\n"
       "op { name: \"t\" collective { type: ALL_GATHER communicator: \"tp\" size: \"1MB\" } deps: \"c\" }\n"
       "op { name: \"e\" collective { type: ALL_TO_ALL communicator: \"ep\" size: \"8MB\" } deps: \"t\" }\n"
       "op { name: \"d\" collective { type: REDUCE_SCATTER communicator: \"dp\" size: \"64MB\" } deps: \"e\" } }\n",
       {"flow.routing=spray", "flow.queue_pairs=2"},
       8},
      // Collectives that meet on the links in three priorities, two of them of one communicator.
      {"Priorities",
       "builder: \"single_switch\" set { name: \"hosts\" value: \"16\" }",
       "ranks: 16 communicator { name: \"pair\" size: 2 stride: 8 priority: 3 }\n"
       "role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"16MB\" } }\n"
       "op { name: \"aa\" collective { type: ALL_TO_ALL size: \"16MB\" priority: 1 } }\n"
       "op { name: \"p\" collective { type: ALL_GATHER communicator: \"pair\" size: \"4MB\" } }\n"
       "op { name: \"q\" collective { type: ALL_GATHER communicator: \"pair\" size: \"4MB\" priority: 0 } } }\n",
       {},
       1},
      // Queue pairs that do not get to their share of the links; a rank is told from others by its
      // host's place at its leaf.
      {"RateLimitedQueuePairs",
       "builder: \"clos\" set { name: \"hosts\" value: \"16\" } set { name: \"gpus_per_host\" value: \"1\" } set { name: "
       "\"hosts_per_leaf\" value: "
       "\"4\" }",
       "ranks: 16 role { op { name: \"aa\" collective { type: ALL_TO_ALL size: \"16MB\" } } }",
       {"flow.routing=spray", "flow.queue_pairs=2", "flow.queue_pair_rate_max=10Gbps"},
       4},
      // Rings along the rails cross leaf groups at every fourth host: a rank is told from others by
      // its host's place in its group.
      {"HierarchicalAllReduce",
       "builder: \"rail_optimized\" set { name: \"hosts\" value: \"16\" } set { name: \"hosts_per_leaf_group\" value: \"4\" }",
       "ranks: 128 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"1MiB\" } } }",
       {"flow.routing=spray", "collective.all_reduce=hierarchical", "hierarchical.pieces=3"},
       4},
      // Hashed: a leaf has one host, whose NIC fills no more than one uplink, so that it does not
      // matter which way a message goes. Ranks are told apart by their place in the host.
      {"HashedPastLinksThatNobodyFills",
       "builder: \"clos\" set { name: \"hosts\" value: \"16\" } set { name: \"gpus_per_host\" value: \"4\" } set { name: "
       "\"nics_per_host\" value: \"1\" } set { name: \"hosts_per_leaf\" value: \"1\" } set { name: \"leafs_per_pod\" value: "
       "\"8\" } set { name: \"aggs_per_pod\" value: \"2\" } set { name: \"spines\" value: \"4\" }",
       "ranks: 64 communicator { name: \"pod\" size: 16 } role { op { name: \"aa\" collective { type: ALL_TO_ALL communicator: "
       "\"pod\" size: \"4MB\" } } op { name: \"c\" compute { duration: \"20us\" } deps: \"aa\" } op { name: \"ar\" collective { "
       "type: ALL_REDUCE communicator: \"pod\" size: \"3MB\" } deps: \"c\" } }",
       {"collective.all_reduce=hierarchical"},
       4},
      {"HierarchicalAllToAll",
       "builder: \"rail_optimized\" set { name: \"hosts\" value: \"8\" } set { name: \"hosts_per_leaf_group\" value: \"4\" }",
       "ranks: 64 role { op { name: \"a2a\" collective { type: ALL_TO_ALL size: \"640kB\" } } }",
       {"flow.routing=spray", "collective.all_to_all=hierarchical"},
       4},
  };
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, Folding, testing::ValuesIn(folding_cases()),
                         [](const testing::TestParamInfo<FoldingCase>& given) { return given.param.name; });

// Random groups, collectives, sizes and fabrics: whatever folds must say what the whole run says.
TEST(Folding, AgreesOnRandomWorkloads) {
  const std::uint32_t workloads = WEFT_SANITIZED ? 12 : long_runs() ? 1000 : 40;
  std::uint32_t folded_runs = 0;
  for (std::uint32_t i = 0; i < workloads; ++i) {
    RandomStream random(77, i, 1);
    const std::uint64_t gpus = std::uint64_t{1} << random.below(3);
    const std::uint64_t hosts = std::uint64_t{2} << random.below(4);
    const std::uint64_t ranks = gpus * hosts;
    FoldingCase given;
    const char* builders[] = {"single_switch", "clos", "rail_optimized"};
    const char* builder = builders[random.below(3)];
    given.topology = std::string("builder: \"") + builder + "\" set { name: \"hosts\" value: \"" + std::to_string(hosts) + "\" }" +
                     " set { name: \"gpus_per_host\" value: \"" + std::to_string(gpus) + "\" }" +
                     " set { name: \"nics_per_host\" value: \"" + std::to_string(random.below(2) == 0 ? 1 : gpus) + "\" }";
    if (gpus > 1 && random.below(4) == 0) {
      // Cables inside and outside of a host that look alike: only headers and latencies tell them
      // apart.
      given.topology = std::string("builder: \"") + builder + "\" set { name: \"hosts\" value: \"" + std::to_string(hosts) +
                       "\" }" + " set { name: \"gpus_per_host\" value: \"" + std::to_string(gpus) + "\" }" +
                       " set { name: \"nics_per_host\" value: \"" + std::to_string(gpus) + "\" }" +
                       " set { name: \"nic_model\" value: \"port\" } set { name: \"nvlink_rate\" value: \"400Gbps\" }" +
                       " set { name: \"nvlink_delay\" value: \"10ns\" }";
      given.settings.push_back("flow.switching_delay=0ns");
    }
    if (std::string(builder) == "clos" && hosts >= 4)
      given.topology += fmt::format(" set {{ name: \"hosts_per_leaf\" value: \"{}\" }}", 1 + random.below(2));
    given.workload = fmt::format("ranks: {}\n", ranks);
    std::vector<std::string> groups = {"world"};
    for (std::uint64_t size = 2; size < ranks; size *= 2) {
      if (random.below(2) == 0) continue;
      const std::uint64_t stride = random.below(2) == 0 ? 1 : ranks / size;
      groups.push_back("g" + std::to_string(size));
      given.workload += fmt::format("communicator {{ name: \"g{}\" size: {} stride: {} }}\n", size, size, stride);
    }
    given.workload += "role {\n";
    const char* types[] = {"ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER", "ALL_TO_ALL", "BROADCAST"};
    const std::uint64_t ops = 1 + random.below(5);
    for (std::uint64_t op = 0; op < ops; ++op) {
      const std::string& group = groups[random.below(groups.size())];
      given.workload += "op { name: \"c" + std::to_string(op) + "\" compute { duration: \"" + std::to_string(1 + random.below(40)) +
                        "us\" }" + (op > 0 && random.below(2) == 0 ? " deps: \"o" + std::to_string(op - 1) + "\"" : "") + " }\n";
      if (random.below(4) == 0 && group != "world") {
        const std::string size = std::to_string(1 + random.below(500)) + "kB";
        given.workload += fmt::format(
            "op {{ name: \"s{}\" send {{ communicator: \"{}\" peer_offset: 1 tag: {} size: \"{}\" }} deps: \"c{}\" }}\n", op, group,
            op, size, op);
        given.workload += fmt::format(
            "op {{ name: \"o{}\" receive {{ communicator: \"{}\" peer_offset: -1 tag: {} size: \"{}\" }} deps: \"c{}\" }}\n", op,
            group, op, size, op);
        continue;
      }
      given.workload += "op { name: \"o" + std::to_string(op) + "\" collective { type: " + types[random.below(5)] +
                        " communicator: \"" + group + "\" size: \"" + std::to_string(1 + random.below(3000)) + "kB\" } deps: \"c" +
                        std::to_string(op) + "\" }\n";
    }
    given.workload += "}\n";
    if (random.below(2) != 0) given.settings.push_back("flow.routing=spray");
    if (random.below(3) == 0) given.settings.push_back("flow.queue_pairs=3");
    // Exchanges find the same peers as rings do from some places only.
    for (const char* type : {"all_reduce", "all_gather", "reduce_scatter"}) {
      if (random.below(3) == 0) given.settings.push_back(fmt::format("collective.{}=halving_doubling", type));
    }
    SCOPED_TRACE(fmt::format("{}\n{}\n{}", given.topology, given.workload, fmt::join(given.settings, "\n")));
    const ScratchFolder folder;
    const ScenarioRun folded = run_scenario(flags_of(folder, given, "on"), ScenarioRunOptions{});
    if (folded.summary.ranks_simulated == 0) continue;
    ++folded_runs;
    const ScenarioRun whole = run_scenario(flags_of(folder, given, "off"), ScenarioRunOptions{});
    expect_alike(folded, whole, 400);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(folded_runs, workloads / 3) << "the generator makes ranks that are alike";
}

// Both find the same peer by two rules from rank 0, the next one and that whose number differs in
// the last bit, and different ones from rank 1: what each moved cannot be told apart by what the
// representative has sent.
TEST(Folding, CountsNoBytesOnWaysOfAnotherRule) {
  const ScratchFolder folder;
  FoldingCase given;
  given.topology =
      "builder: \"clos\" set { name: \"hosts\" value: \"8\" } set { name: \"gpus_per_host\" value: \"1\" } set { name: "
      "\"hosts_per_leaf\" value: \"1\" } set { name: \"leafs_per_pod\" value: \"8\" } set { name: \"aggs_per_pod\" value: \"4\" } "
      "set { name: \"spines\" value: \"0\" }";
  given.workload =
      "ranks: 8 role { op { name: \"aa\" collective { type: ALL_TO_ALL size: \"16MB\" } } "
      "op { name: \"ar\" deps: \"aa\" collective { type: ALL_REDUCE size: \"8MB\" } } }";
  given.settings = {"collective.all_to_all=direct", "collective.all_reduce=halving_doubling"};
  const ScenarioRun folded = run_scenario(flags_of(folder, given, "on"), ScenarioRunOptions{});
  const ScenarioRun whole = run_scenario(flags_of(folder, given, "off"), ScenarioRunOptions{});
  expect_alike(folded, whole, 200);
  given.settings = {"collective.all_to_all=direct"};
  given.workload = "ranks: 8 role { op { name: \"aa\" collective { type: ALL_TO_ALL size: \"16MB\" } } }";
  EXPECT_EQ(run_scenario(flags_of(folder, given, "on"), ScenarioRunOptions{}).summary.ranks_simulated, 1U);
}

// Cut off, messages are counted as far as they have come.
TEST(Folding, CountsHashedBytesUntilTheEnd) {
  const ScratchFolder folder;
  FoldingCase given;
  given.topology =
      "builder: \"clos\" set { name: \"hosts\" value: \"8\" } set { name: \"gpus_per_host\" value: \"2\" } set { name: "
      "\"nics_per_host\" value: \"1\" } set { name: \"hosts_per_leaf\" value: \"1\" } set { name: \"leafs_per_pod\" value: \"4\" } "
      "set { name: \"aggs_per_pod\" value: \"2\" }";
  given.workload =
      "ranks: 16 communicator { name: \"pod\" size: 8 } role { op { name: \"aa\" collective { type: ALL_TO_ALL communicator: "
      "\"pod\" size: \"4MB\" } } }";
  ScenarioRunOptions cut;
  cut.until = Time::zero() + Duration::us(100);
  const ScenarioRun folded = run_scenario(flags_of(folder, given, "on"), cut);
  const ScenarioRun whole = run_scenario(flags_of(folder, given, "off"), cut);
  EXPECT_EQ(folded.summary.ranks_simulated, 2U);
  ASSERT_EQ(folded.links.size(), whole.links.size());
  double carried = 0;
  for (std::size_t i = 0; i < whole.links.size(); ++i) {
    EXPECT_NEAR(number(folded.links[i], "bytes"), number(whole.links[i], "bytes"), 100) << whole.links[i].at("link");
    carried += number(whole.links[i], "bytes");
  }
  EXPECT_GT(carried, 1e6);
}

// In a group of four hosts of one leaf and four of the other, the four uplinks of a leaf may be
// hashed onto one: 4 x 400 Gb/s do not fit, and some messages are slower than others.
TEST(Folding, TellsRanksApartWhereHashedPathsMayCollide) {
  const ScratchFolder folder;
  FoldingCase given;
  given.topology =
      "builder: \"clos\" set { name: \"hosts\" value: \"8\" } set { name: \"gpus_per_host\" value: \"1\" } set { name: "
      "\"hosts_per_leaf\" value: \"4\" }";
  given.workload = "ranks: 8 role { op { name: \"aa\" collective { type: ALL_TO_ALL size: \"16MB\" } } }";
  const ScenarioRun folded = run_scenario(flags_of(folder, given, "on"), ScenarioRunOptions{});
  EXPECT_EQ(folded.summary.ranks_simulated, 0U);
  EXPECT_GT(folded.summary.ranks_simulated_if_sprayed, 0U);
}

// Folding once took messages inside and between hosts for alike where cables have one rate and
// delay and switches take no time, though only the latter have headers and a NIC's latencies: the
// pairs {2, 4} and {3, 5} are in two hosts each, {0, 1} and {6, 7} in one.
TEST(Folding, TellsHostsFromFabric) {
  const ScratchFolder folder;
  FoldingCase given;
  given.topology =
      "builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } set { name: \"gpus_per_host\" value: \"2\" }"
      " set { name: \"nics_per_host\" value: \"2\" } set { name: \"nic_model\" value: \"port\" }"
      " set { name: \"nvlink_rate\" value: \"400Gbps\" } set { name: \"nvlink_delay\" value: \"10ns\" }";
  given.workload =
      "ranks: 8 communicator { name: \"pair\" group { ranks: \"2,4\" } group { ranks: \"0,1\" } group { ranks: \"3,5\" } group { "
      "ranks: "
      "\"6,7\" } } role { op { name: \"ar\" collective { type: ALL_REDUCE communicator: \"pair\" size: \"64MB\" } } }";
  given.settings = {"flow.switching_delay=0ns"};
  const ScenarioRun folded = run_scenario(flags_of(folder, given, "on"), ScenarioRunOptions{});
  const ScenarioRun whole = run_scenario(flags_of(folder, given, "off"), ScenarioRunOptions{});
  EXPECT_EQ(folded.summary.ranks_simulated, 2U);
  expect_alike(folded, whole, 200);
}

RunFlags jobs_of(const ScratchFolder& folder, const std::string& jobs, const std::string& fold) {
  const std::string ring = "ranks: 16\nrole { op { name: \"r\" collective { type: ALL_REDUCE size: \"16MB\" } } }\n";
  const std::string exchange =
      "ranks: 16\ncommunicator { name: \"half\" size: 8 }\nrole {\n"
      "  op { name: \"c\" compute { duration: \"13us\" } }\n"
      "  op { name: \"x\" collective { type: ALL_TO_ALL communicator: \"half\" size: \"8MB\" } deps: \"c\" }\n}\n";
  const std::string pair = "ranks: 2\nrole { op { name: \"p\" collective { type: ALL_REDUCE size: \"64MB\" } } }\n";
  folder.write("ring.textproto", ring);
  folder.write("exchange.textproto", exchange);
  folder.write("pair.textproto", pair);
  RunFlags flags;
  // One pod of leafs and two aggregation switches, oversubscribed so that jobs meet on the leafs'
  // uplinks.
  std::string topology = "topology { builder: \"clos\"";
  for (const auto& [name, value] : std::map<std::string, std::string>{{"hosts", "12"},
                                                                      {"gpus_per_host", "4"},
                                                                      {"nics_per_host", "4"},
                                                                      {"hosts_per_leaf", "2"},
                                                                      {"leafs_per_pod", "6"},
                                                                      {"aggs_per_pod", "2"},
                                                                      {"spines", "0"},
                                                                      {"leaf_uplink_rate", "300Gbps"}}) {
    topology += " set { name: \"" + name + "\" value: \"" + value + "\" }";
  }
  flags.scenario_file = folder.write("scenario_" + fold + ".textproto", topology + " }\n" + jobs +
                                                                            "set { name: \"flow.routing\" value: \"spray\" }\n"
                                                                            "set { name: \"host.fold_ranks\" value: \"" +
                                                                            fold + "\" }\n");
  return flags;
}

void expect_same_jobs(const ScenarioRun& folded, const ScenarioRun& whole) {
  ASSERT_EQ(folded.jobs.size(), whole.jobs.size());
  for (std::size_t i = 0; i < whole.jobs.size(); ++i) {
    EXPECT_EQ(folded.jobs[i].at("job"), whole.jobs[i].at("job"));
    EXPECT_EQ(folded.jobs[i].at("placement"), whole.jobs[i].at("placement"));
    for (const char* column : {"submit_s", "start_s", "end_s"})
      EXPECT_NEAR(number(folded.jobs[i], column), number(whole.jobs[i], column), 1e-9) << column << " of job " << i;
  }
}

// A job alone has ranks that are alike; a second one, which comes while the first runs and loads
// some of its links and not others, tells them apart. What the first did before must be what it
// would have done, and both must go on as every rank simulated does.
TEST(Folding, StartsAgainWhenAJobTellsRanksApart) {
  const ScratchFolder folder;
  // Two hosts share a leaf. The pair takes half of the first host, "first" the ranks from there on
  // to half of the fifth host, "second" from there to half of the ninth: it loads the uplinks of
  // the leaf that it shares with "first". "third" comes while all run.
  const std::string alone =
      "job { name: \"pair\" iterations: 1 workload { file: \"pair.textproto\" } }\n"
      "job { name: \"first\" iterations: 4 workload { file: \"exchange.textproto\" } }\n";
  const std::string more = alone +
                           "job { name: \"second\" submit: \"90us\" iterations: 3 workload { file: \"ring.textproto\" } }\n"
                           "job { name: \"third\" submit: \"95us\" iterations: 1 workload { file: \"exchange.textproto\" } }\n";
  const ScenarioRun one = run_scenario(jobs_of(folder, alone, "on"), ScenarioRunOptions{});
  const ScenarioRun folded = run_scenario(jobs_of(folder, more, "on"), ScenarioRunOptions{});
  const ScenarioRun whole = run_scenario(jobs_of(folder, more, "off"), ScenarioRunOptions{});
  EXPECT_LT(one.summary.ranks_simulated, 18U);
  EXPECT_EQ(folded.summary.ranks_total, 50U) << "2 + 3 x 16 ranks";
  EXPECT_GT(folded.summary.ranks_simulated, one.summary.ranks_simulated);
  EXPECT_LT(folded.summary.ranks_simulated, 50U);
  EXPECT_LT(folded.summary.flows_simulated, folded.summary.flows_finished);
  EXPECT_EQ(whole.summary.flows_simulated, whole.summary.flows_finished);
  expect_same_jobs(folded, whole);
  expect_alike(folded, whole, 800);
}

// A run that starts again for each of many jobs would take long: after 16 times all ranks are
// simulated, unless folding was asked for.
TEST(Folding, GivesUpWhereJobsComeAllTheTime) {
  const ScratchFolder folder;
  folder.write("large.textproto", "ranks: 512\nrole { op { name: \"b\" collective { type: BROADCAST size: \"1MB\" } } }\n");
  folder.write("pair.textproto", "ranks: 2\nrole { op { name: \"p\" collective { type: ALL_REDUCE size: \"1MB\" } } }\n");
  const auto scenario = [&](const std::string& fold, int pairs) {
    std::string text =
        "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"74\" } set { name: \"gpus_per_host\" value: \"8\" }"
        " set { name: \"nics_per_host\" value: \"8\" } }\n"
        "set { name: \"collective.broadcast\" value: \"direct\" }\nset { name: \"host.fold_ranks\" value: \"" +
        fold + "\" }\njob { name: \"large\" workload { file: \"large.textproto\" } }\n";
    for (int i = 0; i < pairs; ++i) {
      text += fmt::format("job {{ name: \"p{}\" submit: \"{}us\" workload {{ file: \"pair.textproto\" }} }}\n", i, 1 + i);
    }
    RunFlags flags;
    flags.scenario_file = folder.write(fmt::format("scenario_{}{}.textproto", fold, pairs), text);
    return run_scenario(flags, ScenarioRunOptions{});
  };
  // No two ranks of the large job are alike, so that the first pair is the first reason to start
  // again.
  const ScenarioRun few = scenario("auto", 16);
  EXPECT_EQ(few.summary.ranks_total, 512U + 2 * 16);
  EXPECT_GT(few.summary.ranks_simulated, 0U);
  const ScenarioRun many = scenario("auto", 17);
  EXPECT_EQ(many.summary.ranks_simulated, 0U);
  const ScenarioRun asked = scenario("on", 17);
  EXPECT_EQ(asked.summary.ranks_total, 512U + 2 * 17);
  expect_same_jobs(asked, many);
}

// Jobs of random shapes at random times, by several schedulers' queues: folded or not, they end at
// the same times.
TEST(Folding, AgreesOnRandomListsOfJobs) {
  std::uint32_t folded_runs = 0;
  for (std::uint32_t round = 0; round < (WEFT_SANITIZED ? 4 : 12); ++round) {
    const ScratchFolder folder;
    RandomStream random(71, round, 0);
    std::string jobs;
    const std::uint64_t count = 2 + random.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::vector<std::string> files = {"ring", "exchange", "pair"};
      jobs += "job { name: \"j" + std::to_string(i) + "\" submit: \"" + std::to_string(random.below(300)) +
              "us\" iterations: " + std::to_string(1 + random.below(3)) + " workload { file: \"" + files[random.below(3)] +
              ".textproto\" } }\n";
    }
    SCOPED_TRACE(jobs);
    const ScenarioRun folded = run_scenario(jobs_of(folder, jobs, "on"), ScenarioRunOptions{});
    const ScenarioRun whole = run_scenario(jobs_of(folder, jobs, "off"), ScenarioRunOptions{});
    if (folded.summary.ranks_simulated > 0) ++folded_runs;
    expect_same_jobs(folded, whole);
    expect_alike(folded, whole, 800);
  }
  EXPECT_GT(folded_runs, 3U);
}

// A ring over hosts of three pods, of which the last one is half used: neighbours in other pods are
// farther away, and no two ranks are alike. With a tolerance all are, and the ring, whose 78 steps
// wait for each other, is off by no more than 78 times that. Each GPU still sends as many bytes.
TEST(Folding, IsLooseWithATolerance) {
  const ScratchFolder folder;
  FoldingCase given;
  given.topology =
      "builder: \"clos\" set { name: \"hosts\" value: \"48\" } set { name: \"gpus_per_host\" value: \"1\" } set { name: "
      "\"hosts_per_leaf\" value: "
      "\"4\" } set { name: \"leafs_per_pod\" value: \"4\" } set { name: \"aggs_per_pod\" value: \"4\" } set { name: \"spines\" "
      "value: \"16\" }";
  given.workload = "ranks: 40 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"400MB\" } } }";
  given.settings = {"flow.routing=spray"};
  const ScenarioRun whole = run_scenario(flags_of(folder, given, "off"), ScenarioRunOptions{});
  given.settings.push_back("host.fold_tolerance=6us");
  const ScenarioRun loose = run_scenario(flags_of(folder, given, "auto"), ScenarioRunOptions{});
  EXPECT_EQ(loose.summary.ranks_simulated, 1U);
  EXPECT_NEAR(loose.summary.makespan.in_us(), whole.summary.makespan.in_us(), 2 * 78 * 6);
  EXPECT_NEAR(loose.summary.makespan.in_us() / whole.summary.makespan.in_us(), 1, 0.01);
  EXPECT_EQ(loose.summary.flows_finished, whole.summary.flows_finished);
  double whole_bytes = 0;
  double loose_bytes = 0;
  for (std::size_t i = 0; i < whole.links.size(); ++i) {
    whole_bytes += number(whole.links[i], "bytes");
    loose_bytes += number(loose.links[i], "bytes");
  }
  EXPECT_NEAR(loose_bytes / whole_bytes, 1, 1e-6);
}

// 64 MiB and a byte do not divide by 64, so that parts differ by a byte, and no two ranks are quite
// alike. A byte at 400 Gb/s is 20 ps, 64 of them are within a tolerance of 10 ns and not within one
// of 1 ns.
TEST(Folding, CountsPartsOfUnevenBuffersAsEqualWithATolerance) {
  const ScratchFolder folder;
  FoldingCase given;
  given.topology =
      "builder: \"clos\" set { name: \"hosts\" value: \"8\" } set { name: \"gpus_per_host\" value: \"8\" } set { name: "
      "\"nics_per_host\" value: \"1\" } set { name: \"hosts_per_leaf\" value: \"1\" } set { name: \"leafs_per_pod\" value: "
      "\"8\" } set { name: \"aggs_per_pod\" value: \"8\" } set { name: \"spines\" value: \"8\" }";
  given.workload = "ranks: 64 role { op { name: \"ar\" collective { type: ALL_REDUCE size: \"67108865B\" } } }";
  given.settings = {"flow.routing=spray", "collective.all_reduce=halving_doubling"};
  const ScenarioRun whole = run_scenario(flags_of(folder, given, "off"), ScenarioRunOptions{});
  given.settings.push_back("host.fold_tolerance=1ns");
  EXPECT_EQ(run_scenario(flags_of(folder, given, "auto"), ScenarioRunOptions{}).summary.ranks_simulated, 0U);
  given.settings.back() = "host.fold_tolerance=10ns";
  const ScenarioRun loose = run_scenario(flags_of(folder, given, "auto"), ScenarioRunOptions{});
  EXPECT_EQ(loose.summary.ranks_simulated, 1U);
  // Halving and doubling takes 12 steps, which wait for each other.
  EXPECT_NEAR(loose.summary.makespan.in_ns(), whole.summary.makespan.in_ns(), 12 * 10);
  EXPECT_EQ(loose.summary.flows_finished, whole.summary.flows_finished);
}

// Another allocation may tell flows apart that are alike, and must not be folded.
TEST(Folding, NeedsMaxMinRates) {
  const ScratchFolder folder;
  FoldingCase given = folding_cases().front();
  given.settings = {"flow.allocation=quantum_filling"};
  EXPECT_THROW(run_scenario(flags_of(folder, given, "on"), ScenarioRunOptions{}), InputError);
  EXPECT_EQ(run_scenario(flags_of(folder, given, "auto"), ScenarioRunOptions{}).summary.ranks_simulated, 0U);
}

// Hashed paths collide here and not there: such ranks are not alike, and are all simulated.
TEST(Folding, LeavesHashedCollisionsAlone) {
  const ScratchFolder folder;
  const auto& cases = folding_cases();
  FoldingCase given =
      *std::find_if(cases.begin(), cases.end(), [](const FoldingCase& one) { return one.name == "TensorExpertDataParallel"; });
  given.settings = {"flow.queue_pairs=2"};
  const ScenarioRun run = run_scenario(flags_of(folder, given, "on"), ScenarioRunOptions{});
  EXPECT_EQ(run.summary.ranks_simulated, 0U);
  EXPECT_EQ(run.summary.ranks_simulated_if_sprayed, 8U);
}

// Adaptive paths depend on what is under way: where there is a choice between paths, all ranks are
// simulated, where there is none, they fold.
TEST(Folding, LeavesAdaptiveChoicesAlone) {
  const ScratchFolder folder;
  const auto& cases = folding_cases();
  FoldingCase given =
      *std::find_if(cases.begin(), cases.end(), [](const FoldingCase& one) { return one.name == "TensorExpertDataParallel"; });
  for (const char* routing : {"flow.routing=adaptive", "flow.routing=adaptive_global"}) {
    given.settings = {routing};
    EXPECT_EQ(run_scenario(flags_of(folder, given, "on")).summary.ranks_simulated, 0U);
  }
  given = cases.front();
  given.settings = {"flow.routing=adaptive"};
  const ScenarioRun folded = run_scenario(flags_of(folder, given, "on"), ScenarioRunOptions{});
  EXPECT_EQ(folded.summary.ranks_simulated, 1U);
  expect_alike(folded, run_scenario(flags_of(folder, given, "off"), ScenarioRunOptions{}), 200);
}

}  // namespace
}  // namespace weft::folding_test
