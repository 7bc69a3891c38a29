// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/chakra/chakra.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/formats/chakra/chakra_trace.hpp"
#include "workloads/formats/workload_reader.hpp"

namespace weft::chakra_test {
namespace {

// Traces are encoded by hand here, from the wire layout alone, so that a mistake in the schema
// cannot cancel out.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number_field(int field, std::uint64_t value) { return varint(static_cast<std::uint64_t>(field) << 3) + varint(value); }
std::string bytes_field(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string framed(const std::string& message) { return varint(message.size()) + message; }

struct Node {
  std::uint64_t id = 0;
  std::uint64_t type = 4;
  std::string name = {};
  std::uint64_t duration_us = 0;
  std::vector<std::uint64_t> data_deps = {};
  std::vector<std::uint64_t> ctrl_deps = {};
  std::map<std::string, std::int64_t> numbers = {};  ///< int64 attributes
  std::map<std::string, std::string> texts = {};     ///< string attributes
  bool cpu = false;
  std::string inputs = {};
  std::uint64_t start_us = 0;
};

std::string encode(const Node& node) {
  std::string message = number_field(1, node.id) + bytes_field(2, node.name) + number_field(3, node.type);
  // One kind packed, the other not: both are legal.
  std::string packed;
  for (const std::uint64_t dependency : node.data_deps) packed += varint(dependency);
  if (!packed.empty()) message += bytes_field(5, packed);
  for (const std::uint64_t dependency : node.ctrl_deps) message += number_field(4, dependency);
  message += number_field(6, node.start_us) + number_field(7, node.duration_us);
  if (!node.inputs.empty()) message += bytes_field(8, bytes_field(1, node.inputs));
  message += bytes_field(10, bytes_field(1, "is_cpu_op") + number_field(27, node.cpu ? 1 : 0));
  for (const auto& [name, value] : node.numbers) {
    message += bytes_field(10, bytes_field(1, name) + number_field(9, static_cast<std::uint64_t>(value)));
  }
  for (const auto& [name, value] : node.texts) message += bytes_field(10, bytes_field(1, name) + bytes_field(29, value));
  return framed(message);
}

const std::string kMetadata = framed(bytes_field(1, "0.0.4"));
const std::string kPytorchMetadata = framed(bytes_field(2, bytes_field(1, "schema") + bytes_field(29, "1.0.1")));

std::string trace(const std::vector<Node>& nodes, const std::string& metadata = kMetadata) {
  std::string bytes = metadata;
  for (const Node& node : nodes) bytes += encode(node);
  return bytes;
}

Node compute(std::uint64_t id, std::uint64_t us, std::vector<std::uint64_t> deps = {}) {
  Node node;
  node.id = id;
  node.name = "n" + std::to_string(id);
  node.duration_us = us;
  node.data_deps = std::move(deps);
  return node;
}

Node collective(std::uint64_t id, std::int64_t type, std::int64_t size, std::vector<std::uint64_t> deps = {}) {
  Node node = compute(id, 77, std::move(deps));
  node.type = 7;
  node.numbers = {{"comm_type", type}, {"comm_size", size}};
  return node;
}

Node message(std::uint64_t id, bool send, std::int64_t source, std::int64_t destination, std::int64_t tag = 0) {
  Node node = compute(id, 0);
  node.name = send ? "send" : "receive";
  node.type = send ? 5 : 6;
  node.numbers = {{"comm_src", source}, {"comm_dst", destination}, {"comm_tag", tag}, {"comm_size", 64}};
  return node;
}

Node without(Node node, const std::string& attribute) {
  node.numbers.erase(attribute);
  return node;
}
Node of_type(Node node, std::uint64_t type) {
  node.type = type;
  return node;
}

class ChakraFiles {
 public:
  std::string write(const std::vector<std::string>& files) const {
    for (std::size_t rank = 0; rank < files.size(); ++rank) folder_.write(fmt::format("t.{}.et", rank), files[rank]);
    return folder_.path("t");
  }
  const TemporaryFolder& folder() const { return folder_; }
  Workload import(const std::vector<std::string>& files, ChakraOptions options = {}) const {
    return import_chakra(write(files), options);
  }
  std::string errors(const std::vector<std::string>& files, const ChakraOptions& options = {}) const {
    return errors_of([&] { import(files, options); });
  }

 private:
  TemporaryFolder folder_;
};

bool has_assumption(const Workload& workload, const std::string& part) {
  return std::any_of(workload.assumptions.begin(), workload.assumptions.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

TEST(ImportChakra, ReadsSparseIdsAndLaterNodesAndBothKindsOfDependency) {
  // 900 waits for 17 (data), which stands later, and for 5 (control): the last op ends after 30 +
  // 10 us.
  Node last = compute(900, 10, {17});
  last.ctrl_deps = {5};
  const ChakraFiles files;
  const Workload workload = files.import({trace({last, compute(17, 30), compute(5, 20)})});
  ASSERT_EQ(workload.roles[0].size(), 3U);
  EXPECT_EQ(workload.roles[0].edge_count(), 2U);
  EXPECT_EQ(workload.roles[0].name(OpId(2)), "n900");
  EXPECT_EQ(longest_path(workload.roles[0]), Duration::us(40));
}

TEST(ImportChakra, EqualRanksShareARole) {
  const std::string same = trace({compute(1, 10), collective(2, 0, 1024, {1})});
  const std::string slower = trace({compute(1, 11), collective(2, 0, 1024, {1})});
  const ChakraFiles files;
  const Workload workload = files.import({same, slower, same, same});
  EXPECT_EQ(workload.roles.size(), 2U);
  EXPECT_EQ(workload.role_of, (std::vector<std::uint16_t>{0, 1, 0, 0}));
}

// In 0 to 7 as they are, others the nearest of these; a receive has none, and neither has a
// collective that takes its recorded time.
TEST(ImportChakra, CommPriorityIsThatOfTheNetwork) {
  const auto with_priority = [](Node node, std::int64_t priority) {
    node.numbers["comm_priority"] = priority;
    return node;
  };
  const ChakraFiles files;
  const std::string first =
      trace({with_priority(collective(0, 0, 1), 3), with_priority(collective(1, 0, 1), 9), with_priority(collective(2, 0, 1), -1),
             collective(3, 0, 1), with_priority(message(4, true, 0, 1), 7)});
  const std::string second =
      trace({with_priority(collective(0, 0, 1), 3), with_priority(collective(1, 0, 1), 9), with_priority(collective(2, 0, 1), -1),
             collective(3, 0, 1), with_priority(message(4, false, 0, 1), 7)});
  const Workload workload = files.import({first, second});
  const std::vector<std::vector<int>> wanted = {{3, 7, 0, 0, 7}, {3, 7, 0, 0, 0}};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    for (std::uint32_t i = 0; i < 5; ++i)
      EXPECT_EQ(workload.dag_of(RankId(rank)).op(OpId(i)).priority, wanted[rank][i]) << rank << " " << i;
  }
  EXPECT_TRUE(has_assumption(workload, "4 comm_priorities are not in 0 to 7 and taken to be the nearest of these"));
}

TEST(ImportChakra, ReadsEveryCollective) {
  const ChakraFiles files;
  const Workload workload =
      files.import({trace({collective(0, 0, 1), collective(1, 1, 2), collective(2, 2, 3), collective(3, 5, 4), collective(4, 6, 5),
                           collective(5, 7, 6), collective(6, 8, 7), collective(7, 3, 8), collective(8, 4, 9),
                           without(collective(9, 9, 0), "comm_size"), collective(10, 9, 4)})});
  const RoleDag& dag = workload.roles[0];
  const std::vector<CollectiveType> wanted = {
      CollectiveType::all_reduce, CollectiveType::reduce,         CollectiveType::all_gather,     CollectiveType::broadcast,
      CollectiveType::all_to_all, CollectiveType::reduce_scatter, CollectiveType::reduce_scatter, CollectiveType::gather,
      CollectiveType::scatter,    CollectiveType::barrier,        CollectiveType::barrier};
  ASSERT_EQ(dag.size(), wanted.size());
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    EXPECT_EQ(dag.op(OpId(i)).kind, OpKind::collective);
    EXPECT_EQ(dag.op(OpId(i)).collective, wanted[i]);
    EXPECT_EQ(dag.op(OpId(i)).bytes, wanted[i] == CollectiveType::barrier ? Bytes::zero() : Bytes::of(i + 1));
  }
  EXPECT_TRUE(has_assumption(workload, "1 broadcast starts at position 0 of the group"));
  EXPECT_TRUE(has_assumption(workload, "3 reduces, gathers and scatters have position 0 of the group as root"));
  EXPECT_TRUE(has_assumption(workload, "1 barrier has a comm_size, which is ignored"));
  EXPECT_TRUE(has_assumption(workload, "single rank take no time"));
}

TEST(ImportChakra, PutsDisjointGroupsIntoOneCommunicator) {
  // Tensor groups {0,1} {2,3}, data groups {0,2} {1,3}: two communicators, and all ranks play one
  // role.
  const ChakraFiles files;
  const std::string json = files.folder().write("groups.json", R"({"1": [0, 1], "2": [2, 3], "3": [0, 2], "4": [1, 3]})");
  const auto rank = [](const std::string& tensor, const std::string& data) {
    Node first = collective(1, 0, 100);
    first.texts = {{"pg_name", tensor}};
    Node second = collective(2, 2, 200, {1});
    second.texts = {{"pg_name", data}};
    Node everyone = collective(3, 0, 4, {2});
    everyone.texts = {{"pg_name", "0"}};
    return trace({first, second, everyone});
  };
  ChakraOptions options;
  options.process_groups_path = json;
  const Workload workload = files.import({rank("1", "3"), rank("1", "4"), rank("2", "3"), rank("2", "4")}, options);
  ASSERT_EQ(workload.communicators.size(), 3U);
  EXPECT_EQ(workload.roles.size(), 1U);
  EXPECT_EQ(workload.roles[0].op(OpId(0)).communicator, 1);
  EXPECT_EQ(workload.roles[0].op(OpId(1)).communicator, 2);
  EXPECT_EQ(workload.roles[0].op(OpId(2)).communicator, 0);
  EXPECT_EQ(workload.communicators[1].group_of(RankId(3)), workload.communicators[1].group_of(RankId(2)));
  EXPECT_EQ(workload.communicators[2].group_of(RankId(3)), workload.communicators[2].group_of(RankId(1)));
}

TEST(ImportChakra, ReadsProcessGroupsFromMetadataNodes) {
  Node groups = compute(1, 0);
  groups.type = 1;
  groups.name = "## process_group:init ##";
  groups.inputs = R"(['[{\"pg_name\": \"7\", \"ranks\": [1, 0]}, {\"pg_name\": \"8\", \"ranks\": []}]'])";
  Node pair = collective(2, 0, 100);
  pair.texts = {{"pg_name", "7"}};
  Node all = collective(3, 0, 100);
  all.texts = {{"pg_name", "8"}};
  const ChakraFiles files;
  const Workload workload = files.import({trace({groups, pair, all}), trace({groups, pair, all})});
  ASSERT_EQ(workload.communicators.size(), 2U);
  EXPECT_EQ(workload.communicators[1].position_of(RankId(0)), 1U);
  EXPECT_EQ(workload.roles[0].op(OpId(2)).communicator, 0);
}

TEST(ImportChakra, MatchesSendsWithReceives) {
  const ChakraFiles files;
  const Workload workload = files.import({trace({message(1, true, 0, 1, 5), message(2, false, 1, 0, 6)}),
                                          trace({message(1, false, 0, 1, 5), message(2, true, 1, 0, 6)})});
  EXPECT_EQ(workload.rank_count, 2U);
  EXPECT_EQ(workload.dag_of(RankId(0)).op(OpId(0)).tag, 5U);
}

TEST(ImportChakra, ARingOfNeighboursIsOneRole) {
  const auto rank = [](std::int64_t r) { return trace({message(1, true, r, (r + 1) % 4), message(2, false, (r + 3) % 4, r)}); };
  const ChakraFiles files;
  EXPECT_EQ(files.import({rank(0), rank(1), rank(2), rank(3)}).roles.size(), 1U);
}

TEST(ImportChakra, ThreadsAndGpuStreamsRunInOrder) {
  // Without dependencies: thread 1 runs 10 + 20 us, GPU stream 1 (another lane) 5 + 7 us, and a
  // node without a lane 40 us.
  const auto lane = [](Node node, const char* kind, bool cpu) {
    node.numbers[kind] = 1;
    node.cpu = cpu;
    return node;
  };
  const ChakraFiles files;
  const Workload workload = files.import({trace({lane(compute(1, 10), "tid", true), lane(compute(2, 20), "tid", true),
                                                 lane(compute(3, 5), "stream", false), lane(compute(4, 7), "stream", false)})});
  EXPECT_EQ(longest_path(workload.roles[0]), Duration::us(30));
  EXPECT_EQ(workload.roles[0].edge_count(), 2U);
  EXPECT_NE(workload.roles[0].op(OpId(0)).stream, workload.roles[0].op(OpId(2)).stream);
}

TEST(ImportChakra, StreamsFollowStartTimes) {
  Node late = compute(1, 10);
  late.start_us = 500;
  Node early = compute(2, 10);
  early.start_us = 100;
  for (Node* node : {&late, &early}) node->numbers["tid"] = 1;
  const ChakraFiles files;
  const Workload workload = files.import({trace({late, early})});
  EXPECT_EQ(workload.roles[0].name(OpId(0)), "n2");
}

TEST(ImportChakra, NodesWithoutStartTimesFollowTheirIds) {
  // Free nodes were ordered by their place in the file, so a set in which one rank lists the same
  // collectives in another order was refused. ASTRA-sim issues free nodes by id.
  const ChakraFiles files;
  const Workload workload = files.import(
      {trace({collective(1, 0, 1000), collective(2, 0, 2000)}), trace({collective(2, 0, 2000), collective(1, 0, 1000)})});
  EXPECT_EQ(workload.roles.size(), 1U);
  EXPECT_EQ(workload.roles[0].op(OpId(0)).bytes, Bytes::of(1000));
}

TEST(ImportChakra, SaysWhichNodesTakeNoTime) {
  // Memory nodes and compute nodes that give a tensor size alone took no time without a word. A
  // compute node that gives nothing may have been measured at 0 us, so nothing is said of it.
  Node load = of_type(compute(1, 0), 2);
  load.numbers = {{"tensor_size", 1'000'000'000}};
  const Node store = of_type(compute(2, 0), 3);
  const Node timed = of_type(compute(3, 5), 3);
  Node ops = compute(4, 0);
  ops.numbers = {{"num_ops", 1000}, {"tensor_size", 8}};
  Node tensor = compute(5, 0);
  tensor.numbers = {{"tensor_size", 8}};
  const ChakraFiles files;
  const Workload workload = files.import({trace({load, store, timed, ops, tensor, compute(6, 0)})});
  EXPECT_EQ(workload.assumptions,
            (std::vector<std::string>{"2 memory nodes give no duration and take no time: memory bandwidth is not modelled",
                                      "1 compute node gives a number of operations but no duration and takes no time",
                                      "1 compute node gives a tensor size but no duration and takes no time"}));
}

TEST(ImportChakra, SaysWhichComputeNodesMayOverlap) {
  // Three independent nodes of 100 us without a lane ran at the same time without a word; ASTRA-sim
  // runs one GPU and one CPU node at a time. Per processor in order of id: 2 and 3 overlap with the
  // one before, 4 (CPU) is the first of its processor, 5 waits for 3, and 6 comes after 5 by way of
  // thread 1. Nodes of no duration (8) and of lanes (9) overlap with nothing.
  const auto on_thread = [](Node node) {
    node.numbers["tid"] = 1;
    node.cpu = true;
    return node;
  };
  Node cpu = compute(4, 100);
  cpu.cpu = true;
  const std::string file =
      trace({compute(1, 100), compute(2, 100), compute(3, 100), cpu, compute(5, 100, {3}), on_thread(compute(9, 10, {5})),
             on_thread(compute(10, 10)), compute(11, 100, {10}), compute(8, 0)});
  const ChakraFiles files;
  EXPECT_TRUE(has_assumption(files.import({file}), "2 compute nodes without stream or thread may overlap with the one before"));
  EXPECT_TRUE(has_assumption(files.import({file, file}), "4 compute nodes without stream or thread may overlap"));
  const std::string chain = trace({compute(1, 100), compute(2, 100, {1}), compute(3, 100, {2})});
  EXPECT_FALSE(has_assumption(ChakraFiles().import({chain}), "overlap"));
}

TEST(ImportChakra, InvalidNodesForWhichNothingWaitsTakeNoTime) {
  const ChakraFiles files;
  const Workload workload = files.import({trace({compute(1, 10), of_type(compute(2, 500, {1}), 0)})});
  EXPECT_EQ(longest_path(workload.roles[0]), Duration::us(10));
  EXPECT_TRUE(has_assumption(workload, "1 node has type 0 (INVALID_NODE) and takes no time"));
}

TEST(ImportChakra, SaysThatCommunicationOfCpuOpsIsSimulated) {
  // A collective with a comm_type was simulated without a word although it is marked as a CPU op,
  // which ASTRA-sim refuses.
  Node node = collective(1, 0, 4096);
  node.cpu = true;
  const ChakraFiles files;
  const Workload workload = files.import({trace({node}), trace({node})});
  EXPECT_EQ(workload.roles[0].op(OpId(0)).kind, OpKind::collective);
  EXPECT_TRUE(has_assumption(workload, "2 communication nodes are marked as CPU ops and run on the network"));
}

TEST(ImportChakra, PytorchCallersAreNoDependencies) {
  // Node 1 names node 2 as its caller, which in turn waits for node 1; and a caller that does not
  // exist.
  Node first = compute(1, 10);
  first.ctrl_deps = {2, 999};
  const ChakraFiles files;
  const Workload workload = files.import({trace({first, compute(2, 10, {1})}, kPytorchMetadata)});
  EXPECT_EQ(workload.roles[0].edge_count(), 1U);
  EXPECT_TRUE(has_assumption(workload, "2 control dependencies name callers"));
}

TEST(ImportChakra, CpuSideOfACollectiveCostsItsLaunch) {
  Node wrapper = compute(1, 85);
  wrapper.type = 7;
  wrapper.name = "c10d::allreduce_(0)";
  wrapper.cpu = true;
  const ChakraFiles files;
  const Workload workload = files.import({trace({wrapper, collective(2, 0, 4096, {1})})}, {});
  EXPECT_EQ(workload.roles[0].op(OpId(0)).kind, OpKind::compute);
  EXPECT_EQ(workload.roles[0].op(OpId(0)).duration, Duration::us(85));
  EXPECT_EQ(workload.roles[0].processor(OpId(0)), Processor::cpu);
  EXPECT_EQ(workload.roles[0].op(OpId(1)).kind, OpKind::collective);
}

TEST(ImportChakra, StreamsThatShareATensorWaitForEachOther) {
  // Compute stream 7: a (100 us) writes storage 31; all-reduce on stream 14 reads it; b (5 us) does
  // not touch it; c (10 us) copies it back.
  const auto kernel = [](Node node, std::int64_t stream, const std::string& inputs) {
    node.numbers["tid"] = stream;
    node.inputs = inputs;
    return node;
  };
  const ChakraFiles files;
  const std::string tensor = "[[430, 31, 0, 53120, 4, 'cuda:0'], [1, 2], 'text']";
  const std::vector<Node> nodes = {kernel(compute(1, 100), 7, tensor), kernel(collective(2, 0, 4096), 14, tensor),
                                   kernel(compute(3, 5), 7, "[[9, 32, 0, 1, 4, 'cuda:0']]"), kernel(compute(4, 10), 7, tensor)};
  ChakraOptions as_recorded;
  as_recorded.collectives_as_recorded = true;
  const Workload workload = files.import({trace(nodes, kPytorchMetadata)}, as_recorded);
  // a 100, then the collective's recorded 77 (b runs beside it), then c 10.
  EXPECT_EQ(longest_path(workload.roles[0]), Duration::us(187));
  EXPECT_TRUE(has_assumption(workload, "2 waits were added between GPU streams"));
}

TEST(ImportChakra, OneTraceCanBeReplayedOnManyRanks) {
  Node tensor = collective(1, 0, 100);
  tensor.texts = {{"pg_name", "12"}};
  const ChakraFiles files;
  ChakraOptions options;
  options.ranks = 64;
  const Workload workload = files.import({trace({tensor, message(2, true, 0, 1), message(3, false, 63, 0)})}, options);
  EXPECT_EQ(workload.rank_count, 64U);
  EXPECT_EQ(workload.roles.size(), 1U);
  EXPECT_EQ(workload.role_of.size(), 64U);
  EXPECT_TRUE(has_assumption(workload, "replayed on 64 ranks"));
  EXPECT_TRUE(has_assumption(workload, "1 process group of the trace is not defined in it and is taken to be all ranks"));
  EXPECT_TRUE(has_assumption(workload, "same offset"));
}

TEST(ImportChakra, GroupsOfAReplayedRankAreRepeatedOverAllRanks) {
  // Every group of a replayed rank became everyone, so tensor-parallel collectives of 2 ranks ran
  // among all 16. Recorded on 8 ranks: tensor parallel {0, 1}, data parallel {0, 2, 4, 6}, "all"
  // without a list and "world" with one, a group without stride, and one that is none of {0, 1},
  // {2, 3}, ..., which it once became.
  Node groups = compute(1, 0);
  groups.type = 1;
  groups.name = "## process_group:init ##";
  groups.inputs = R"(['[{\"pg_name\": \"tp\", \"ranks\": [0, 1], \"group_size\": 2}, )"
                  R"({\"pg_name\": \"dp\", \"ranks\": [0, 2, 4, 6], \"group_size\": 4}, )"
                  R"({\"pg_name\": \"all\", \"ranks\": [], \"group_size\": 8}, )"
                  R"({\"pg_name\": \"world\", \"ranks\": [0, 1, 2, 3, 4, 5, 6, 7], \"group_size\": 8}, )"
                  R"({\"pg_name\": \"odd\", \"ranks\": [0, 1, 5], \"group_size\": 3}, )"
                  R"({\"pg_name\": \"late\", \"ranks\": [1, 2], \"group_size\": 2}]'])";
  std::vector<Node> nodes = {groups};
  for (const char* name : {"tp", "dp", "all", "world", "odd", "late"}) {
    Node node = collective(nodes.size() + 1, 0, 100);
    node.texts = {{"pg_name", name}};
    nodes.push_back(node);
  }
  const ChakraFiles files;
  ChakraOptions options;
  options.ranks = 16;
  const Workload workload = files.import({trace(nodes)}, options);
  ASSERT_EQ(workload.communicators.size(), 3U);
  const Communicator& tensor = workload.communicators[1];
  const Communicator& data = workload.communicators[2];
  EXPECT_EQ(tensor.group_count(), 8U);
  EXPECT_EQ(tensor.group_of(RankId(14)), tensor.group_of(RankId(15)));
  EXPECT_NE(tensor.group_of(RankId(13)), tensor.group_of(RankId(14)));
  EXPECT_EQ(data.group_count(), 4U);
  EXPECT_EQ(data.group_of(RankId(9)), data.group_of(RankId(15)));
  const std::vector<std::uint16_t> wanted = {1, 2, 0, 0, 0, 0};
  for (std::uint32_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(workload.roles[0].op(OpId(i + 1)).communicator, wanted[i]) << i;
  EXPECT_TRUE(
      has_assumption(workload, "2 process groups of the trace are repeated over all ranks with the recorded size and stride"));
  EXPECT_TRUE(has_assumption(workload, "2 process groups of the trace cannot be repeated so as to fill all ranks"));
}

// Recorded with tp = 2, dp = 4 and a peer 8 apart, in another stage: dp = 8 makes 2 x 8 = 16 ranks
// of a stage, so that the peer is 16 apart. 32 ranks have 4 such groups.
TEST(ImportChakra, GroupsOfAReplayedRankGrow) {
  Node groups = compute(1, 0);
  groups.type = 1;
  groups.name = "## process_group:init ##";
  groups.inputs = R"(['[{\"pg_name\": \"1\", \"ranks\": [0, 1], \"group_size\": 2, \"pg_desc\": \"tp\"}, )"
                  R"({\"pg_name\": \"2\", \"ranks\": [0, 2, 4, 6], \"group_size\": 4, \"pg_desc\": \"dp\"}]'])";
  std::vector<Node> nodes = {groups};
  for (const char* name : {"1", "2"}) {
    Node node = collective(nodes.size() + 1, 0, 100);
    node.texts = {{"pg_name", name}};
    nodes.push_back(node);
  }
  nodes.push_back(message(4, true, 0, 8));
  nodes.push_back(message(5, false, 8, 0));
  const ChakraFiles files;
  ChakraOptions options;
  options.ranks = 32;
  options.group_sizes = {{"dp", 8}};
  const Workload workload = files.import({trace(nodes)}, options);
  const Communicator& dp = workload.communicators.at(workload.roles[0].op(OpId(2)).communicator);
  ASSERT_EQ(dp.group_count(), 4U);
  std::vector<int> memberships(32, 0);
  for (std::uint32_t g = 0; g < 4; ++g) {
    EXPECT_EQ(dp.ranks(GroupId(g)).size(), 8U);
    for (const RankId rank : dp.ranks(GroupId(g))) ++memberships[rank.index()];
  }
  EXPECT_EQ(memberships, std::vector<int>(32, 1));
  EXPECT_EQ(dp.group_of(RankId(1)), dp.group_of(RankId(15)));
  EXPECT_EQ(workload.communicators.at(workload.roles[0].op(OpId(1)).communicator).group_count(), 16U);
  EXPECT_EQ(workload.roles[0].op(OpId(3)).peer, 16);
  EXPECT_TRUE(
      has_assumption(workload, "of process groups recorded among 8 ranks, dp (4 ranks) became 8 ranks; tp (2 ranks) stays"));

  options.group_sizes.clear();
  nodes.resize(3);  // On 32 ranks there is no peer 8 apart both ways.
  EXPECT_TRUE(has_assumption(files.import({trace(nodes)}, options), "--scale-group=NAME=SIZE makes a group grow"));
  options.group_sizes = {{"dp", 5}};
  // 2 apart, 32 ranks hold 16 in a row.
  EXPECT_HAS(files.errors({trace(nodes)}, options), "[bad-group-size]\n  help: sizes that work: 4, 8, 16");
}

TEST(ImportChakra, RanksMustAgreeWithTheFiles) {
  const std::string file = trace({compute(1, 1)});
  const ChakraFiles files;
  ChakraOptions options;
  options.ranks = 3;
  EXPECT_HAS(files.errors({file, file}, options), "--ranks=3 contradicts the 2 files of the set");
  options.ranks = 2;
  EXPECT_EQ(files.errors({file, file}, options), "");
}

TEST(ImportChakra, NamesMissingRanks) {
  const ChakraFiles files;
  const std::string prefix =
      files.write({trace({compute(1, 1)}), trace({compute(1, 1)}), trace({compute(1, 1)}), trace({compute(1, 1)})});
  std::filesystem::remove(prefix + ".2.et");
  const std::string text = errors_of([&] { import_chakra(prefix, {}); });
  EXPECT_HAS(text, "the set has 3 files up to rank 3, but not " + prefix + ".2.et");
  EXPECT_HAS(text, "[missing-rank]");
}

TEST(ImportChakra, NamesOtherPrefixes) {
  const ChakraFiles files;
  files.folder().write("train.0.et", trace({compute(1, 1)}));
  const std::string text = errors_of([&] { import_chakra(files.folder().path("trian"), {}); });
  EXPECT_HAS(text, "[no-file]");
  EXPECT_HAS(text, "did you mean \"train\"?");
  EXPECT_HAS(errors_of([&] { import_chakra(files.folder().path("train.0.et"), {}); }), "[prefix-expected]");
}

TEST(ImportChakra, ReadsCompressedFiles) {
  const TemporaryFolder folder;
  const std::string bytes = trace({compute(1, 10), compute(2, 20, {1})});
  gzFile file = gzopen(folder.path("z.0.et.gz").c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  EXPECT_EQ(longest_path(import_chakra(folder.path("z"), {}).roles[0]), Duration::us(30));
}

struct Fault {
  const char* title;
  std::string file;
  const char* expected;
};
class ChakraFault : public testing::TestWithParam<Fault> {};

TEST_P(ChakraFault, IsNamed) {
  const ChakraFiles files;
  const std::string text = files.errors({GetParam().file});
  EXPECT_HAS(text, GetParam().expected);
  EXPECT_HAS(text, "t.0.et: error: ");
}

INSTANTIATE_TEST_SUITE_P(
    Faults, ChakraFault,
    testing::Values(
        Fault{"empty", "", "[empty-file]"}, Fault{"text", "num_ranks 2\nrank 0 { calc 100 }\n", "[not-chakra]"},
        Fault{"json", "{\"nodes\": []}", "[not-chakra]"}, Fault{"no_nodes", kMetadata, "the trace has no nodes [no-ops]"},
        Fault{"absurd_length", kMetadata + varint(UINT64_MAX / 2),
              "the length of the message at byte 8 makes no sense [not-chakra]"},
        Fault{"absurd_length_later", trace({compute(1, 1)}) + varint(1ULL << 40), "[bad-length]"},
        Fault{"long_varint", trace({compute(1, 1)}) + std::string(11, '\xFF'), "[bad-length]"},
        Fault{"damaged_node", kMetadata + framed("\x0A\xFF"), "is no Chakra node"},
        Fault{"unknown_type", trace({of_type(compute(1, 1), 9)}), "node 1 \"n1\" has unknown type 9 (byte 8) [unknown-node-type]"},
        Fault{"invalid_type", trace({of_type(compute(1, 1), 0), compute(2, 1, {1})}),
              "node 2 waits for node 1, which has type 0, INVALID_NODE (byte 8) [unknown-node-type]"},
        Fault{"foreign_send", trace({message(1, true, 3, 0)}),
              "node 1 \"send\" sends from rank 3 (comm_src), but this is the file of rank 0 (byte 8) [wrong-rank]"},
        Fault{"foreign_receive", trace({message(1, false, 0, 7)}),
              "node 1 \"receive\" receives at rank 7 (comm_dst), but this is the file of rank 0 (byte 8) [wrong-rank]"},
        Fault{"unknown_dependency", trace({compute(1, 1, {42})}),
              "node 1 has a data dependency on node 42, which is not in the file (byte 8) [unknown-dependency]"},
        Fault{"duplicate_id", trace({compute(1, 1), compute(1, 2)}), "[duplicate-id]"},
        Fault{"cycle", trace({compute(5, 1, {7}), compute(6, 1, {5}), compute(7, 1, {6})}),
              "nodes wait for each other: 5 -> 6 -> 7 -> 5"},
        Fault{"self_dependency", trace({compute(5, 1, {5})}), "nodes wait for each other: 5 -> 5"},
        Fault{"negative_size", trace({collective(1, 0, -5)}), "comm_size of node 1 \"n1\" is negative (byte 8) [negative-size]"},
        Fault{"huge_size", trace({collective(1, 0, INT64_MAX)}), "comm_size of node 1 \"n1\" is too large"},
        Fault{"no_size", trace({without(collective(1, 0, 5), "comm_size")}), "has no comm_size"},
        Fault{"no_type", trace({without(collective(1, 0, 5), "comm_type")}), "is a collective without comm_type"},
        Fault{"gather_without_size", trace({without(collective(1, 3, 5), "comm_size")}), "has no comm_size"},
        Fault{"first_unknown_collective", trace({collective(1, 10, 5)}),
              "node 1 \"n1\" is a collective of unknown type 10 (byte 8) [unsupported-collective]"},
        Fault{"unknown_collective", trace({collective(1, 33, 5)}), "collective of unknown type 33"},
        Fault{"no_peer", trace({without(message(1, true, 0, 1), "comm_dst")}), "has no comm_dst"},
        Fault{"negative_peer", trace({message(1, true, 0, -1)}), "[peer-out-of-range]"},
        Fault{"peer_outside", trace({message(1, true, 0, 1)}), "talks to rank 1, but the set has 1 rank"},
        Fault{"endless_op", trace({compute(1, UINT64_MAX)}), "is more than a year"}),
    [](const testing::TestParamInfo<Fault>& fault) { return fault.param.title; });

TEST(ImportChakra, TruncatedFilesTellTheByte) {
  const std::string whole = trace({compute(1, 1), compute(2, 2, {1})});
  const std::size_t second = kMetadata.size() + encode(compute(1, 1)).size();
  const ChakraFiles files;
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const std::string text = files.errors({whole.substr(0, length)});
    if (length == second) {
      EXPECT_EQ(text, "");  // a whole trace of one node: nothing tells that there was another
    } else if (length == kMetadata.size()) {
      EXPECT_HAS(text, "[no-ops]");
    } else {
      EXPECT_HAS(text, "the file ends at byte " + std::to_string(length));
    }
  }
}

TEST(ImportChakra, CollectivesNeedAllTheirMembers) {
  const ChakraFiles files;
  const std::string text = files.errors({trace({collective(1, 0, 64), collective(2, 2, 64)}), trace({collective(1, 0, 64)})});
  EXPECT_HAS(text, "rank 1 does not join all_gather of 64B (op \"n2\")");
  EXPECT_HAS(text, "[group-mismatch]");
}

TEST(ImportChakra, SendsNeedTheirReceive) {
  const ChakraFiles files;
  EXPECT_HAS(files.errors({trace({message(1, true, 0, 1)}), trace({compute(1, 1)})}), "[unmatched-send]");
  EXPECT_HAS(files.errors({trace({message(1, false, 1, 0)}), trace({compute(1, 1)})}), "[unmatched-receive]");
}

TEST(ImportChakra, GroupsMustBeKnownAndHoldTheirUsers) {
  Node node = collective(1, 0, 100);
  node.texts = {{"pg_name", "9"}};
  const ChakraFiles files;
  EXPECT_HAS(files.errors({trace({node}), trace({node})}), "uses process group \"9\", which nothing defines");
  ChakraOptions options;
  options.process_groups_path = files.folder().write("groups.json", R"({"9": [0]})");
  EXPECT_HAS(files.errors({trace({node}), trace({node})}, options), "rank 1 uses process group \"9\" without being in it");
  options.process_groups_path = files.folder().write("groups.json", R"({"9": [0, 5]})");
  EXPECT_HAS(files.errors({trace({node}), trace({node})}, options), "holds rank 5, but the set has 2 ranks");
  options.process_groups_path = files.folder().write("groups.json", "{]");
  EXPECT_HAS(files.errors({trace({node}), trace({node})}, options), "[bad-process-groups]");
}

TEST(ImportChakra, GroupZeroIsAllRanks) {
  // A list of other ranks for group "0" was dropped without a word; in ASTRA-sim "0" is all ranks
  // whatever the file of groups says.
  Node node = collective(1, 0, 100);
  node.texts = {{"pg_name", "0"}};
  const std::string file = trace({node});
  const ChakraFiles files;
  ChakraOptions options;
  for (const char* wrong : {R"({"0": [0, 1]})", R"({"0": [0, 2, 1]})", R"({"": [1]})"}) {
    options.process_groups_path = files.folder().write("groups.json", wrong);
    const std::string text = files.errors({file, file, file}, options);
    EXPECT_HAS(text, "of a Chakra trace is all ranks in order, here 0 to 2, but another list is given [bad-process-groups]");
    EXPECT_HAS(text, "groups.json: error: ");
  }
  options.process_groups_path = files.folder().write("groups.json", R"({"0": [0, 1, 2], "1": [0, 1]})");
  EXPECT_EQ(files.errors({file, file, file}, options), "");
  // A recorded trace cannot be mended by hand: there it is said.
  Node groups = compute(2, 0);
  groups.type = 1;
  groups.inputs = R"(['[{\"pg_name\": \"0\", \"ranks\": [], \"group_size\": 8}]'])";
  EXPECT_TRUE(has_assumption(files.import({trace({groups, node}), file, file}),
                             "1 process group \"0\" of a trace lists other ranks than this set has and is taken to be all ranks"));
}

TEST(ImportChakra, DamagedFilesAreReadOrRefused) {
  std::mt19937_64 random(21);
  Node grouped = collective(3, 2, 64, {2});
  grouped.numbers["tid"] = 14;
  grouped.inputs = "[[430, 31, 0, 53120, 4, 'cuda:0']]";
  const std::string whole =
      trace({compute(1, 10), compute(2, 5, {1}), grouped, message(4, true, 0, 1), message(5, false, 1, 0)}, kPytorchMetadata);
  const ChakraFiles files;
  ChakraOptions options;
  options.ranks = 2;
  ASSERT_EQ(files.errors({whole}, options), "");
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (std::uint64_t k = 0; k < 1 + random() % 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (!files.errors({damaged}, options).empty()) ++refused;
  }
  EXPECT_EQ(refused, 2190) << "of 3000";
}

TEST(ImportChakra, ProcessGroupTextsThatAreDamagedAreNone) {
  EXPECT_FALSE(parse_process_groups("[]"));
  EXPECT_FALSE(parse_process_groups("}] [{"));
  EXPECT_FALSE(parse_process_groups("[{\"pg_name\": {}}]"));
  EXPECT_FALSE(parse_process_groups("[{\"pg_name\": \"1\", \"ranks\": [-1]}]"));
  ASSERT_TRUE(parse_process_groups("x[{\"pg_name\": 3, \"ranks\": [4]}]x"));
}

class RealChakra : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_path("workloads/chakra"))) GTEST_SKIP() << "the folder of real data is not there";
  }
  static std::string path(const std::string& name) { return data_path("workloads/chakra/" + name); }
};

TEST_F(RealChakra, ReadsTheFourCollectiveSets) {
  const std::vector<std::pair<std::string, CollectiveType>> sets = {{"all_reduce", CollectiveType::all_reduce},
                                                                    {"all_gather", CollectiveType::all_gather},
                                                                    {"reduce_scatter", CollectiveType::reduce_scatter},
                                                                    {"all_to_all", CollectiveType::all_to_all}};
  for (const auto& [name, type] : sets) {
    const Workload workload = load_workload(path(name + "/" + name), "chakra");
    EXPECT_EQ(workload.rank_count, 16U);
    ASSERT_EQ(workload.roles.size(), 1U) << name;
    ASSERT_EQ(workload.roles[0].size(), 1U);
    EXPECT_EQ(workload.roles[0].op(OpId(0)).collective, type);
    EXPECT_EQ(workload.roles[0].op(OpId(0)).bytes, Bytes::mib(1));
  }
}

// One rank of a real data-parallel ResNet-50 iteration. Facts from the data's description: 3,664
// nodes (3,643 compute, 21 collectives, of which 14 are CPU calls), 181,878 data dependencies, 2
// broadcasts and 5 all-reduces of 8.2, 31.5, 26.3, 26.6 and 9.7 MB.
TEST_F(RealChakra, ReadsThePytorchRank) {
  WorkloadOptions options;
  options.ranks = 128;
  const Workload workload = load_workload(path("pytorch_rank0"), "chakra", options);
  EXPECT_EQ(workload.rank_count, 128U);
  ASSERT_EQ(workload.roles.size(), 1U);
  const RoleDag& dag = workload.roles[0];
  EXPECT_EQ(dag.size(), 3664U);
  EXPECT_GE(dag.edge_count(), 181'878U);
  std::vector<std::int64_t> reduced;
  int broadcasts = 0;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const Op op = dag.op(OpId(i));
    if (op.kind != OpKind::collective) continue;
    if (op.collective == CollectiveType::broadcast) ++broadcasts;
    if (op.collective == CollectiveType::all_reduce) reduced.push_back(op.bytes.count());
  }
  EXPECT_EQ(broadcasts, 2);
  EXPECT_EQ(reduced, (std::vector<std::int64_t>{8'196'000, 31'502'336, 26'255'360, 26'550'272, 9'724'160}));
  EXPECT_TRUE(has_assumption(workload, "14 collective nodes are CPU calls"));
  EXPECT_TRUE(has_assumption(workload, "7 collectives of a recorded trace name no process group"));
}

// The trace has no start times, so the yardstick is its busiest lane: the compute stream's kernels
// alone take 292,828 us (sum of their durations), and an iteration cannot be shorter. With
// collectives at their recorded time the DAG must come out a little longer: the launches before the
// first kernel and the wait for the last all-reduce, which nothing can hide.
TEST_F(RealChakra, PytorchRankTakesItsMeasuredTime) {
  WorkloadOptions options;
  options.collectives_as_recorded = true;
  const Workload workload = load_workload(path("pytorch_rank0"), "chakra", options);
  const RoleDag& dag = workload.roles[0];
  std::map<std::uint16_t, Duration> busy;
  for (std::uint32_t i = 0; i < dag.size(); ++i) busy[dag.op(OpId(i)).stream] += dag.op(OpId(i)).duration;
  Duration busiest;
  for (const auto& [stream, duration] : busy) busiest = std::max(busiest, duration);
  EXPECT_EQ(busiest, Duration::us(292'828));
  const Duration path_length = longest_path(dag);
  RecordProperty("busiest_stream_us", std::to_string(busiest.in_us()));
  RecordProperty("critical_path_us", std::to_string(path_length.in_us()));
  EXPECT_GE(path_length, busiest);
  EXPECT_LE(path_length.in_us(), busiest.in_us() * 1.03);
  // The last all-reduce (9.7 MB, 5,327 us recorded) is waited for: without collectives the path is
  // shorter.
  WorkloadOptions one;
  const Workload without = load_workload(path("pytorch_rank0"), "chakra", one);
  EXPECT_LT(longest_path(without.roles[0]), path_length);
  EXPECT_GT(longest_path(without.roles[0]) + Duration::us(5'327), path_length);
}

}  // namespace
}  // namespace weft::chakra_test
