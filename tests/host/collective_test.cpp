// Collective programs, executed without a network: every algorithm moves the right data and the right number of bytes for any group size.
#include "host/collectives/collective.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include "host/collective_library.hpp"

namespace weft {
namespace {

/// Executes the programs of all positions with messages that arrive in an arbitrary but fixed order, and follows the data: which ranks'
/// contributions each part of each buffer holds.
class Machine {
 public:
  using Contributors = std::set<std::uint32_t>;

  Machine(const CollectiveAlgorithm& algorithm, const CollectiveRequest& request, std::uint32_t parts)
      : request_(request), parts_(parts), bytes_sent_(request.ranks), buffers_(request.ranks, std::vector<Contributors>(parts)) {
    for (std::uint32_t role = 0; role < algorithm.role_count(request); ++role)
      programs_.push_back(algorithm.compile(request, role));
    for (std::uint32_t p = 0; p < request.ranks; ++p) {
      role_of_.push_back(algorithm.role_of(request, p));
      const CollectiveProgram& program = program_of(p);
      pending_.emplace_back(program.predecessor_counts().begin(), program.predecessor_counts().end());
      for (std::uint32_t s = 0; s < program.size(); ++s) {
        if (is_receive(program.step(s).kind)) ++pending_[p][s];
      }
    }
  }

  Contributors& part(std::uint32_t position, std::uint32_t index) { return buffers_[position][index]; }
  Bytes bytes_sent(std::uint32_t position) const { return bytes_sent_[position]; }

  void run() {
    for (std::uint32_t p = 0; p < request_.ranks; ++p) {
      std::vector<std::uint32_t> startable;
      for (std::uint32_t s = 0; s < program_of(p).size(); ++s) {
        if (pending_[p][s] == 0) startable.push_back(s);
      }
      for (const std::uint32_t s : startable) execute(p, s);
    }
    while (!wire_.empty()) {
      const Message message = wire_.front();
      wire_.pop_front();
      arrived_[{message.to, message.step}] = message;
      release(message.to, message.step);
    }
    for (std::uint32_t p = 0; p < request_.ranks; ++p) {
      EXPECT_EQ(steps_done_[p], program_of(p).size()) << "position " << p << " ran every step once";
    }
  }

 private:
  struct Message {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t step = 0;
    std::uint32_t first_part = 0;
    std::vector<Contributors> content;
  };
  static bool is_receive(StepKind kind) { return kind == StepKind::receive || kind == StepKind::receive_reduce; }
  const CollectiveProgram& program_of(std::uint32_t p) const { return programs_[role_of_[p]]; }

  void release(std::uint32_t p, std::uint32_t s) {
    ASSERT_GT(pending_[p][s], 0u);
    if (--pending_[p][s] == 0) execute(p, s);
  }

  void execute(std::uint32_t p, std::uint32_t s) {
    const CollectiveProgram& program = program_of(p);
    const CollectiveStep& step = program.step(s);
    const std::uint32_t first = (step.part_begin + (step.absolute_parts ? 0 : p)) % parts_;
    if (step.kind == StepKind::send) {
      const std::uint32_t to = program.peer(s, p);
      const CollectiveStep& receive = program_of(to).step(step.remote_step);
      EXPECT_TRUE(is_receive(receive.kind));
      EXPECT_EQ(program_of(to).peer(step.remote_step, to), p) << "the receiver expects this sender";
      EXPECT_EQ(program_of(to).message_bytes(step.remote_step, to), program.message_bytes(s, p)) << "both sides agree on the size";
      Message message{p, to, step.remote_step, first, {}};
      for (std::uint32_t i = 0; i < step.part_count; ++i) message.content.push_back(buffers_[p][(first + i) % parts_]);
      bytes_sent_[p] += program.message_bytes(s, p);
      wire_.push_back(std::move(message));
    } else if (is_receive(step.kind)) {
      const Message& message = arrived_.at({p, s});
      for (std::uint32_t i = 0; i < step.part_count; ++i) {
        Contributors& target = buffers_[p][(message.first_part + i) % parts_];
        if (step.kind == StepKind::receive) target.clear();
        for (const std::uint32_t c : message.content[i]) {
          EXPECT_TRUE(target.insert(c).second) << "no contribution is added twice";
        }
      }
    }
    ++steps_done_[p];
    for (const std::uint32_t next : program.successors(s)) release(p, next);
  }

  CollectiveRequest request_;
  std::uint32_t parts_;
  std::vector<CollectiveProgram> programs_;
  std::vector<std::uint32_t> role_of_;
  std::vector<std::vector<std::uint32_t>> pending_;
  std::map<std::uint32_t, std::uint32_t> steps_done_;
  std::vector<Bytes> bytes_sent_;
  std::vector<std::vector<Contributors>> buffers_;
  std::deque<Message> wire_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Message> arrived_;
};

std::unique_ptr<CollectiveAlgorithm> make(const std::string& name) {
  const auto& module = find_module(collective_algorithms(), name, {});
  return module.make(ParamSet(name, module.info.params));
}

/// All ranks' contributions.
Machine::Contributors everyone(std::uint32_t ranks) {
  Machine::Contributors all;
  for (std::uint32_t r = 0; r < ranks; ++r) all.insert(r);
  return all;
}

class CollectivePrograms : public testing::TestWithParam<std::tuple<std::string, std::uint32_t, std::int64_t>> {
 protected:
  std::string name() const { return std::get<0>(GetParam()); }
  std::uint32_t ranks() const { return std::get<1>(GetParam()); }
  Bytes size() const { return Bytes::of(std::get<2>(GetParam())); }
};

TEST_P(CollectivePrograms, AllReduceLeavesEverySumEverywhere) {
  const CollectiveRequest request{CollectiveType::all_reduce, ranks(), 0, size()};
  const auto algorithm = make(name());
  Machine machine(*algorithm, request, ranks());
  for (std::uint32_t p = 0; p < ranks(); ++p) {
    for (std::uint32_t i = 0; i < ranks(); ++i) machine.part(p, i) = {p};
  }
  machine.run();
  Bytes total;
  for (std::uint32_t p = 0; p < ranks(); ++p) {
    for (std::uint32_t i = 0; i < ranks(); ++i) EXPECT_EQ(machine.part(p, i), everyone(ranks()));
    total += machine.bytes_sent(p);
  }
  // Each rank sends 2 (n-1)/n B; over all ranks that is 2 (n-1) B whatever the remainder of B/n.
  EXPECT_EQ(total, size() * (2 * (static_cast<std::int64_t>(ranks()) - 1)));
}

TEST_P(CollectivePrograms, ReduceScatterLeavesPartPAtRankP) {
  const CollectiveRequest request{CollectiveType::reduce_scatter, ranks(), 0, size()};
  const auto algorithm = make(name());
  Machine machine(*algorithm, request, ranks());
  for (std::uint32_t p = 0; p < ranks(); ++p) {
    for (std::uint32_t i = 0; i < ranks(); ++i) machine.part(p, i) = {p};
  }
  machine.run();
  Bytes total;
  for (std::uint32_t p = 0; p < ranks(); ++p) {
    EXPECT_EQ(machine.part(p, p), everyone(ranks()));
    total += machine.bytes_sent(p);
  }
  EXPECT_EQ(total, size() * (static_cast<std::int64_t>(ranks()) - 1));
}

TEST_P(CollectivePrograms, AllGatherLeavesEveryShardEverywhere) {
  const CollectiveRequest request{CollectiveType::all_gather, ranks(), 0, size()};
  const auto algorithm = make(name());
  Machine machine(*algorithm, request, ranks());
  for (std::uint32_t p = 0; p < ranks(); ++p) machine.part(p, p) = {p};
  machine.run();
  for (std::uint32_t p = 0; p < ranks(); ++p) {
    for (std::uint32_t i = 0; i < ranks(); ++i) EXPECT_EQ(machine.part(p, i), Machine::Contributors{i});
    // Every rank passes on or sends n-1 shards of the given size.
    EXPECT_EQ(machine.bytes_sent(p), size() * (static_cast<std::int64_t>(ranks()) - 1));
  }
}

TEST_P(CollectivePrograms, AllToAllMovesEveryBlockAsFarAsItsAlgorithmSays) {
  const CollectiveRequest request{CollectiveType::all_to_all, ranks(), 0, size()};
  const auto algorithm = make(name());
  Machine machine(*algorithm, request, ranks());
  machine.run();
  Bytes total;
  for (std::uint32_t p = 0; p < ranks(); ++p) total += machine.bytes_sent(p);
  const std::int64_t n = ranks();
  if (name() == "direct") {
    // Block i of every buffer goes to rank i in one message; the rank's own block stays: (n-1) B in all.
    EXPECT_EQ(total, size() * (n - 1));
  } else {
    // On a ring a block for the rank k places on takes k hops: sum over k of k * (sum of all blocks) = B n (n-1) / 2.
    EXPECT_EQ(total, size() * (n * (n - 1) / 2));
  }
}

TEST_P(CollectivePrograms, BroadcastReachesAllFromEveryRoot) {
  const std::int64_t piece = Bytes::kib(512).count();
  const auto pieces =
      name() == "ring" ? static_cast<std::uint32_t>(std::max<std::int64_t>(1, (size().count() + piece - 1) / piece)) : 1U;
  for (std::uint32_t root = 0; root < ranks(); ++root) {
    const CollectiveRequest request{CollectiveType::broadcast, ranks(), root, size()};
    const auto algorithm = make(name());
    Machine machine(*algorithm, request, pieces);
    for (std::uint32_t i = 0; i < pieces; ++i) machine.part(root, i) = {root};
    machine.run();
    Bytes total;
    for (std::uint32_t p = 0; p < ranks(); ++p) {
      for (std::uint32_t i = 0; i < pieces; ++i) EXPECT_EQ(machine.part(p, i), Machine::Contributors{root});
      total += machine.bytes_sent(p);
    }
    EXPECT_EQ(total, size() * (static_cast<std::int64_t>(ranks()) - 1));
  }
}

INSTANTIATE_TEST_SUITE_P(AllSizes, CollectivePrograms,
                         testing::Combine(testing::Values("ring", "direct"), testing::Values(2u, 3u, 4u, 5u, 8u, 13u),
                                          testing::Values<std::int64_t>(0, 1, 7, 1000, 1 << 20, 3'000'001)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param)) + "_ranks_" +
                                  std::to_string(std::get<2>(test.param)) + "_bytes";
                         });

TEST(PartBytes, AddUpToTheBufferAndDifferByAtMostOne) {
  for (const std::int64_t buffer : {0LL, 1LL, 6LL, 7LL, 1000LL, 999'999'999'999LL}) {
    for (const std::uint32_t parts : {1u, 2u, 3u, 7u, 128u, 65'535u}) {
      Bytes sum;
      for (std::uint32_t i = 0; i < parts; ++i) {
        const Bytes part = part_bytes(Bytes::of(buffer), parts, i);
        EXPECT_GE(part.count(), buffer / parts);
        EXPECT_LE(part.count(), buffer / parts + 1);
        sum += part;
      }
      EXPECT_EQ(sum, Bytes::of(buffer));
    }
  }
}

// A misspelt algorithm used to be found once the library was made, when nobody knew any more where it had been set:
// "collective.all_reduce: error: there is no collective ...".
TEST(CollectiveAlgorithms, AreTheChoicesOfTheirTypes) {
  ParamSet selection("collective", CollectiveLibrary::selection_params());
  const SourcePlace place = SourcePlace::named("--set=collective.all_reduce=rign");
  try {
    selection.set("all_reduce", "rign", place);
    FAIL() << "a misspelt algorithm must be refused";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].place.file, place.file);
    EXPECT_EQ(error.diagnostics()[0].help, "did you mean \"ring\"?");
  }
  for (std::size_t type = 0; type < selection.table().size(); ++type) {
    EXPECT_EQ(selection.table()[type].name, to_text(static_cast<CollectiveType>(type)));
    for (const auto& module : collective_algorithms()) {
      const auto algorithm = module.make(ParamSet(std::string(module.info.name), module.info.params));
      if (algorithm->supports(static_cast<CollectiveType>(type))) {
        EXPECT_NO_THROW(selection.set(selection.table()[type].name, module.info.name, place));
      } else {
        EXPECT_THROW(selection.set(selection.table()[type].name, module.info.name, place), InputError);
      }
    }
  }
}

TEST(CollectiveAlgorithms, AreChosenByNameAndAMisspeltNameGetsASuggestion) {
  EXPECT_EQ(find_module(collective_algorithms(), "ring", {}).info.name, "ring");
  try {
    find_module(collective_algorithms(), "rnig", {});
    FAIL() << "a misspelt name is refused";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "unknown-module");
    EXPECT_EQ(error.diagnostics().front().help, "did you mean \"ring\"?");
  }
}

}  // namespace
}  // namespace weft
