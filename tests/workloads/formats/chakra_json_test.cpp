// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/formats/chakra/chakra.hpp"
#include "workloads/formats/chakra/chakra_trace.hpp"

namespace weft::chakra_json_test {
namespace {

// As chakra_jsonizer writes it: objects one after the other, camelCase, 64-bit numbers as texts,
// zeros left out.
const std::string kTrace = R"({
  "version": "0.0.4"
}{
  "name": "first",
  "type": "COMP_NODE",
  "durationMicros": "30",
  "attr": [
    {
      "name": "is_cpu_op",
      "boolVal": true
    }
  ]
}{
  "id": "5",
  "name": "ring {\"}",
  "type": "COMM_COLL_NODE",
  "dataDeps": ["0"],
  "attr": [
    {"name": "comm_type", "int64Val": "0"},
    {"name": "comm_size", "uint64Val": "1024"},
    {"name": "pg_name", "stringVal": "7"},
    {"name": "involved_dim", "boolList": {"values": [true, false]}}
  ]
}
)";

class JsonFiles {
 public:
  Workload import(const std::vector<std::string>& files, const ChakraOptions& options = {}) const {
    for (std::size_t rank = 0; rank < files.size(); ++rank) folder_.write(fmt::format("t.{}.json", rank), files[rank]);
    return import_chakra(folder_.path("t"), options);
  }
  std::string errors(const std::vector<std::string>& files) const {
    return errors_of([&] { import(files); });
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

TEST(ChakraJson, ReadsWhatTheJsonizerWrites) {
  const TemporaryFolder folder;
  const ChakraTrace trace = read_chakra_json(folder.write("t.0.json", kTrace));
  ASSERT_EQ(trace.nodes.size(), 2U);
  EXPECT_EQ(trace.name(0), "first");
  EXPECT_EQ(trace.name(1), "ring {\"}");
  EXPECT_EQ(trace.nodes[0].op.duration, Duration::us(30));
  EXPECT_EQ(trace.nodes[0].op.processor, Processor::cpu);
  EXPECT_EQ(trace.nodes[1].op.kind, OpKind::collective);
  EXPECT_EQ(trace.nodes[1].op.bytes, Bytes::of(1024));
  EXPECT_EQ(trace.group_names, std::vector<std::string>{"7"});
  EXPECT_EQ(trace.partial_dimensions, 1U);
  EXPECT_EQ(trace.edges, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}}));
}

TEST(ChakraJson, ReadsAListOfNodesSnakeCaseAndPlainNumbers) {
  const TemporaryFolder folder;
  const ChakraTrace trace = read_chakra_json(
      folder.write("t.0.json",
                   R"({"global_metadata": {"version": "1", "attr": [{"name": "schema", "string_val": "1.0.1"}]}, "nodes": [
           {"id": 1, "type": 4, "duration_micros": 3},
           {"id": 2, "name": "s", "type": "COMM_SEND_NODE", "data_deps": [1], "attr": [{"name": "comm_dst", "int32_val": 1},
            {"name": "comm_size", "uint64_val": 8}, {"name": "comm_tag", "sint64Val": 4}]}]})"));
  EXPECT_TRUE(trace.from_pytorch);
  ASSERT_EQ(trace.nodes.size(), 2U);
  EXPECT_EQ(trace.nodes[1].op.kind, OpKind::send);
  EXPECT_EQ(trace.nodes[1].op.tag, 4U);
  EXPECT_EQ(trace.nodes[1].peer_rank, 1U);
}

TEST(ChakraJson, ProcessGroupsComeFromMetadataNodesOrFromAFile) {
  const std::string node =
      R"({"id": 2, "name": "c", "type": "COMM_COLL_NODE", "attr": [{"name": "comm_type", "int64Val": 0},
         {"name": "comm_size", "int64Val": 64}, {"name": "pg_name", "stringVal": "7"}]})";
  const std::string groups = R"({"id": 1, "name": "pg", "type": "METADATA_NODE",
                                 "inputs": {"values": "['[{\"pg_name\": \"7\", \"ranks\": [1, 0]}]']"}})";
  const JsonFiles files;
  const Workload own = files.import({R"({"version": "1"})" + groups + node, R"({"version": "1"})" + groups + node});
  ASSERT_EQ(own.communicators.size(), 2U);
  EXPECT_EQ(own.communicators[1].position_of(RankId(0)), 1U);
  ChakraOptions options;
  options.process_groups_path = files.folder().write("groups.json", R"({"7": [0, 1]})");
  const Workload given = files.import({R"({"version": "1"})" + node, R"({"version": "1"})" + node}, options);
  EXPECT_EQ(given.communicators[1].position_of(RankId(1)), 1U);
}

TEST(ChakraJson, TracesInBinaryFormComeFirst) {
  const JsonFiles files;
  files.import({kTrace + "", kTrace}, [&] {
    ChakraOptions options;
    options.process_groups_path = files.folder().write("groups.json", R"({"7": [0, 1]})");
    return options;
  }());
  EXPECT_EQ(chakra_files(files.folder().path("t")).size(), 2U);
  files.folder().write("t.0.et", "x");
  EXPECT_EQ(chakra_files(files.folder().path("t")), std::vector<std::string>{files.folder().path("t.0.et")});
}

TEST(ChakraJson, FaultsAreReportedWithTheirLine) {
  const std::string head = "{\"version\": \"1\"}\n";
  const JsonFiles files;
  EXPECT_HAS(files.errors({" "}), "[empty-file]");
  EXPECT_HAS(files.errors({"hello"}), "a Chakra trace in JSON form begins with an object [not-json]");
  EXPECT_HAS(files.errors({head}), "[no-ops]");
  EXPECT_HAS(files.errors({R"({"id": 1, "type": "COMP_NODE"})"}), "the first object has a field \"id\"");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"type\": \"COMP_NODE\""}),
             "t.0.json:2:1: error: the file ends inside the object that starts here");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"name\": \"abc"}), "the file ends inside the text that starts here");
  EXPECT_HAS(files.errors({"{\"nodes\": [{\"type\": 4}"}), "the file ends inside the list that starts here");
  EXPECT_HAS(files.errors({"{\"nodes\": [{\"type\": 4} {\"type\": 4}]}"}), "there is no comma between two nodes");
  EXPECT_HAS(files.errors({head + "{\"id\": 1 \"type\": 4}"}), "t.0.json:2:1: error: the object that starts here is no JSON");
  EXPECT_HAS(files.errors({head + "[1]"}), "a node is expected here");
  EXPECT_HAS(files.errors({head + "{\"id\": -1, \"type\": 4}"}), "the value of \"id\" is no number of 0 or more");
  EXPECT_HAS(files.errors({head + "{\"id\": \"x\", \"type\": 4}"}), "the value of \"id\" is no whole number");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"type\": \"COMP_NOD\"}"}), "did you mean \"COMP_NODE\"?");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"type\": 9}"}),
             "t.0.json:2:1: error: node 1 \"\" has unknown type 9 [unknown-node-type]");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"type\": 4, \"dataDep\": [0]}"}), "did you mean \"dataDeps\"?");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"type\": 4, \"attr\": [{\"name\": \"x\", \"int46Val\": 0}]}"}),
             "did you mean \"int64Val\"?");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"type\": 4, \"attr\": 5}"}), "the value of \"attr\" is no list");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"type\": 4}\n\n{\"id\": 1, \"type\": 4}"}),
             "t.0.json:4:1: error: node 1 \"\" has the id of the node at line 2 [duplicate-id]");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"type\": 4, \"dataDeps\": [8]}"}),
             "node 1 has a data dependency on node 8, which is not in the file [unknown-dependency]");
  EXPECT_HAS(files.errors({head + "{\"id\": 1, \"type\": 4, \"dataDeps\": [1]}"}), "wait for each other: 1 -> 1 (first at line 2)");
}

// A cut is between two objects, and the rest a whole trace, only behind the first node, before or
// after the line end.
TEST(ChakraJson, CutOffFilesAreRefused) {
  const JsonFiles files;
  std::size_t refused = 0;
  for (std::size_t length = 0; length < kTrace.size(); ++length) {
    if (!files.errors({kTrace.substr(0, length)}).empty()) ++refused;
  }
  EXPECT_EQ(refused, kTrace.size() - 1);
  EXPECT_EQ(files.errors({kTrace.substr(0, kTrace.find("{\n  \"id\": \"5\""))}), "");
}

// The JSON of Chakra's feeder (src/feeder/JSONNode.cpp) was refused as a trace without metadata.
TEST(ChakraJson, ReadsAWorkloadGraph) {
  const TemporaryFolder folder;
  const ChakraTrace trace = read_chakra_json(folder.write("t.0.json", R"({"workload_graph": [
      {"Id": 0, "Name": "forward", "NodeType": 4, "is_cpu_op": false, "runtime": 30, "data_deps": []},
      {"Id": 1, "Name": "gradients", "NodeType": 7, "is_cpu_op": 0, "data_deps": [0], "tensor_size": 64, "comm_type": 0,
       "comm_priority": 0, "comm_size": 1024},
      {"Id": 2, "Name": "to_next", "NodeType": 5, "is_cpu_op": true, "data_deps": [1], "comm_src": 0, "comm_dst": 1, "comm_tag": 3,
       "comm_size": 8}]})"));
  ASSERT_EQ(trace.nodes.size(), 3U);
  EXPECT_EQ(trace.name(0), "forward");
  EXPECT_EQ(trace.nodes[0].op.duration, Duration::us(30));
  EXPECT_EQ(trace.nodes[0].op.processor, Processor::gpu);
  EXPECT_EQ(trace.nodes[1].op.kind, OpKind::collective);
  EXPECT_EQ(trace.nodes[1].op.bytes, Bytes::of(1024));
  EXPECT_EQ(trace.nodes[2].op.kind, OpKind::send);
  EXPECT_EQ(trace.nodes[2].peer_rank, 1U);
  EXPECT_EQ(trace.edges, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {1, 2}}));
  const JsonFiles files;
  EXPECT_HAS(files.errors({R"({"workload_graph": [{"Id": 0, "NodeTyp": 4}]})"}), "did you mean \"NodeType\"?");
}

// "the value of "ctrl_deps" is no list: the file is damaged; write it with chakra_jsonizer" sent
// people looking for damage.
TEST(ChakraJson, SaysThatATraceOfPytorchHasToBeConverted) {
  const JsonFiles files;
  const std::string node = R"("nodes": [{"id": 2, "name": "aten::add", "ctrl_deps": 1, "attrs": []}])";
  const std::string error = files.errors({"{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 7, " + node + "}"});
  EXPECT_HAS(
      error,
      "t.0.json:2:3: error: this is an execution trace of PyTorch (ExecutionTraceObserver), not yet a Chakra trace [not-chakra]");
  EXPECT_HAS(error, "(chakra_trace_link)");
  EXPECT_HAS(files.errors({"{" + node + "}"}), "this is an execution trace of PyTorch");
}

}  // namespace
}  // namespace weft::chakra_json_test
