// SPDX-License-Identifier: Apache-2.0
// Transfers that hosts moved by themselves: counted before the run, listed each, or sharing rows.
#include "tools/simulation/inside_rows.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/results/rows_as_text.hpp"
#include "tests/validation/scenario_run.hpp"
#include "tools/results/flow_classes.hpp"

namespace weft::inside_rows_test {
namespace {

/// Takes transfers as they come, or lets them share rows.
class Listing final : public ResultSink {
 public:
  explicit Listing(std::uint64_t listed_max) : listed_max_(listed_max) {}
  Needs needs() const override { return {.origins = true, .flows_listed_max = listed_max_}; }
  void expect_many_flows() override { expects_many = true; }
  void add_flow(const FlowRow& row) override {
    ++rows;
    transfers += row.multiplicity;
    classes.add(row);
  }
  std::string classes_text() const {
    std::string text;
    classes.each([&](const FlowRow& row) {
      FlowRow one = row;
      one.flow = 0;
      text += rows_text<FlowRow>({one});
    });
    return text;
  }

  FlowClasses classes;
  std::uint64_t rows = 0;
  std::uint64_t transfers = 0;
  bool expects_many = false;

 private:
  std::uint64_t listed_max_;
};

/// Two stages of 16 ranks on two hosts each, that all-gather inside hosts and sum up across them.
RunFlags flags_of(const ScratchFolder& folder) {
  RunFlags flags;
  flags.topology = folder.write("net.textproto", "builder: \"rail_optimized\" set { name: \"hosts\" value: \"4\" }\n");
  flags.workload = folder.write("work.textproto", R"(ranks: 32
communicator { name: "tp" size: 8 }
communicator { name: "dp" size: 2 stride: 8 }
role { name: "first" ranks: "0-15"
  op { name: "early" collective { type: ALL_GATHER communicator: "tp" size: "1MB" } }
  op { name: "sum" collective { type: ALL_REDUCE communicator: "dp" size: "4MB" } deps: "early" }
}
role { name: "second" ranks: "16-31"
  op { name: "late" collective { type: ALL_GATHER communicator: "tp" size: "1MB" } }
  op { name: "sum" collective { type: ALL_REDUCE communicator: "dp" size: "4MB" } deps: "late" }
}
)");
  flags.iterations = 3;
  flags.settings = {"host.private_links=on", "host.fold_ranks=off"};
  return flags;
}

void fill(const ScratchFolder& folder, Listing& sink) { run(load_scenario(flags_of(folder)), sink, {}); }

// Expectation: rings of 8 send 7 messages a rank, rings of 2 send 2: 3 iterations of 32 ranks make
// 3 x 32 x 9 = 864 transfers, if no message is cut. One fewer may be listed: then the 3 x 32 x 7
// inside hosts, all alike in each iteration and stage, share 3 x 2 rows.
TEST(InsideRows, AreSharedAboveTheLimitAndComeToTheSame) {
  const ScratchFolder folder;
  Listing each(864);
  fill(folder, each);
  EXPECT_FALSE(each.expects_many);
  EXPECT_EQ(each.transfers, 864U);
  EXPECT_EQ(each.rows, 864U);
  Listing shared(863);
  fill(folder, shared);
  EXPECT_TRUE(shared.expects_many);
  EXPECT_EQ(shared.transfers, 864U);
  EXPECT_EQ(shared.rows, 3U * 32 * 2 + 3 * 2);
  EXPECT_EQ(shared.classes_text(), each.classes_text());
}

}  // namespace
}  // namespace weft::inside_rows_test
