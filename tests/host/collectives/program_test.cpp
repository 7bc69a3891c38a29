// SPDX-License-Identifier: Apache-2.0
// Collective programs from files: what was read moves the right data, as a machine of its own
// finds; what is wrong is found.
#include "host/collectives/program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "core/text/diagnostics.hpp"
#include "host/collectives/data_flow.hpp"
#include "tests/host/collectives/collective_machine.hpp"

namespace weft::program_test {
namespace {

struct GoodProgram {
  CollectiveType type = CollectiveType::all_reduce;
  std::uint32_t ranks = 4;
  std::string text;  ///< but for collective and ranks
  std::uint32_t root = 0;
};

std::unique_ptr<CollectiveAlgorithm> read(CollectiveType type, std::uint32_t ranks, const std::string& rest) {
  return read_collective_program(
      SourceText("algorithm", fmt::format("collective: \"{}\"\nranks: {}\n{}", to_text(type), ranks, rest)));
}

// Rings of 3 ranks, trees of 4: every type at least once.
const std::vector<GoodProgram> kGoodPrograms = {
    {CollectiveType::all_reduce, 3,
     "parts: 6 role { in_order: true"
     " step { send { peer_offset: 1 share_offset: 0 } } step { receive_reduce { peer_offset: -1 share_offset: -1 } }"
     " step { send { peer_offset: 1 share_offset: -1 } } step { receive_reduce { peer_offset: -1 share_offset: -2 } }"
     " step { send { peer_offset: 1 share_offset: 1 } } step { receive { peer_offset: -1 share_offset: 0 } }"
     " step { send { peer_offset: 1 share_offset: 0 } } step { receive { peer_offset: -1 share_offset: -1 } } }"},
    {CollectiveType::reduce_scatter, 3,
     "parts: 3 role { in_order: true"
     " step { send { peer_offset: 1 share_offset: -1 } } step { receive_reduce { peer_offset: -1 share_offset: -2 } }"
     " step { send { peer_offset: 1 share_offset: -2 } } step { receive_reduce { peer_offset: -1 share_offset: 0 } } }"},
    {CollectiveType::all_gather, 2,
     "parts: 4 role { step { send { peer_xor: 1 share_offset: 0 } } step { receive { peer_xor: 1 share_offset: 1 } } }"},
    {CollectiveType::all_to_all, 3,
     "parts: 3 role {"
     " step { send { peer_offset: 1 share_offset: 1 } } step { receive { peer_offset: -1 share_offset: 0 } }"
     " step { send { peer_offset: 2 share_offset: 2 } } step { receive { peer_offset: -2 share_offset: 0 } } }"},
    {CollectiveType::broadcast, 4,
     "parts: 1 root: 2"
     " role { ranks: \"2\" step { send { peer: 0 parts: \"0\" } } step { send { peer: 3 parts: \"0\" } } }"
     " role { ranks: \"0\" in_order: true step { receive { peer: 2 parts: \"0\" } } step { send { peer: 1 parts: \"0\" } } }"
     " role { ranks: \"1,3\" step { receive { peer_xor: 1 parts: \"0\" } } }",
     2},
    {CollectiveType::reduce, 3,
     "parts: 2 role { ranks: \"0\" step { receive_reduce { peer: 1 parts: \"0-1\" } } step { receive_reduce { peer: 2 parts: "
     "\"0-1\" } } }"
     " role { ranks: \"1-2\" step { send { peer: 0 parts: \"0-1\" } } }"},
    {CollectiveType::gather, 3,
     "parts: 3 role { ranks: \"0\" step { receive { peer: 1 parts: \"1\" } } step { receive { peer: 2 parts: \"2\" } } }"
     " role { ranks: \"1-2\" step { send { peer: 0 share_offset: 0 } } }"},
    {CollectiveType::scatter, 3,
     "parts: 3 role { ranks: \"0\" step { send { peer: 1 parts: \"1\" } } step { send { peer: 2 parts: \"2\" } } }"
     " role { ranks: \"1-2\" step { receive { peer: 0 share_offset: 0 } } }"},
};

TEST(CollectiveProgramFiles, MoveTheRightData) {
  for (const GoodProgram& good : kGoodPrograms) {
    SCOPED_TRACE(to_text(good.type));
    const auto algorithm = read(good.type, good.ranks, good.text);
    const GroupLayout layout = GroupLayout::one_per_host(good.ranks);
    const CollectiveRequest request{good.type, good.root, Bytes::of(1001), &layout, nullptr};
    EXPECT_EQ(algorithm->objection(request), "");
    const CollectivePlan plan = algorithm->compile(request);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) expect_carried_out(plan, seed);
  }
}

TEST(CollectiveProgramFiles, ShareProgramsAmongRanksThatDoAlike) {
  const auto algorithm = read_collective_program(
      SourceText::read(std::string(WEFT_SOURCE_DIR) + "/host/collectives/examples/recursive_doubling_4.textproto"));
  const GroupLayout layout = GroupLayout::blocks(2, 2);
  const CollectivePlan plan = algorithm->compile({CollectiveType::all_reduce, 0, Bytes::of(1000), &layout, nullptr});
  EXPECT_EQ(plan.programs.size(), 1U);
  // Two rounds in which every one of four ranks sends all it has.
  EXPECT_EQ(expect_carried_out(plan).bytes_sent(), Bytes::of(2 * 4 * 1000));
}

TEST(CollectiveProgramFiles, AreForOneGroupAndOneType) {
  const auto algorithm = read(CollectiveType::all_gather, 2, kGoodPrograms[2].text);
  const GroupLayout two = GroupLayout::one_per_host(2);
  const GroupLayout three = GroupLayout::one_per_host(3);
  EXPECT_EQ(algorithm->objection({CollectiveType::all_gather, 0, Bytes::of(8), &two, nullptr}), "");
  EXPECT_EQ(algorithm->objection({CollectiveType::all_gather, 0, Bytes::of(8), &three, nullptr}),
            "algorithm is an algorithm for 2 ranks");
  EXPECT_EQ(algorithm->objection({CollectiveType::all_reduce, 0, Bytes::of(8), &two, nullptr}),
            "algorithm is an algorithm of all_gather");
}

// Every program without one of its steps is refused, whichever it is, by one check or another.
TEST(CollectiveProgramFiles, AreRefusedWithoutAnyOfTheirSteps) {
  for (const GoodProgram& good : kGoodPrograms) {
    for (std::size_t at = good.text.find("step"); at != std::string::npos; at = good.text.find("step", at + 1)) {
      std::string text = good.text;
      text.erase(at, text.find("} }", at) + 3 - at);
      EXPECT_THROW(read(good.type, good.ranks, text), InputError) << text;
    }
  }
}

TEST(DataFlow, FindsNothingWrongWithDirectExchanges) {
  const GroupLayout layout = GroupLayout::blocks(3, 2);
  for (const std::string name : {"direct", "hierarchical"}) {
    const auto algorithm = name == "direct" ? make_algorithm(name)
                                            : make_algorithm(name, {{"inside", "direct"}, {"between", "direct"}, {"pieces", "2"}});
    for (const CollectiveType type :
         {CollectiveType::all_reduce, CollectiveType::all_gather, CollectiveType::reduce_scatter, CollectiveType::all_to_all}) {
      const CollectivePlan plan = algorithm->compile({type, 0, Bytes::of(600), &layout, nullptr});
      for (const DataFlowFault& fault : find_data_flow_faults(plan, 5))
        ADD_FAILURE() << name << " " << to_text(type) << ": " << fault.message;
    }
  }
}

}  // namespace
}  // namespace weft::program_test
