// SPDX-License-Identifier: Apache-2.0
// Transfers that are alone on their links, or meet others there, take as long as those that are all
// flows of one model, wherever they are handed on in between.
#include "network/flow/private_flows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/values/random.hpp"
#include "tests/long_runs.hpp"
#include "tests/network/flow/scripted_transfers.hpp"

namespace weft::private_flows_test {
namespace {

using namespace scripted_transfers;

constexpr std::size_t links_count = 8;

struct Drawn {
  std::vector<double> capacities_bps;
  std::vector<PrivateWay> ways;
  struct Start {
    Time at;
    std::size_t way = 0;
    Transfer transfer;
  };
  std::vector<Start> starts;
};

/// Of different sizes and priorities, one to three links each, some of them of odd rates; many
/// meet, and many do not.
Drawn drawn(RandomStream& random) {
  Drawn all;
  for (std::size_t link = 0; link < links_count; ++link)
    all.capacities_bps.push_back(random.below(2) == 0 ? 400e9 : 1e9 * static_cast<double>(1 + random.below(700)));
  for (int way = 0; way < 12; ++way) {
    PrivateWay& added = all.ways.emplace_back();
    added.slowest_bps = 1e18;
    for (std::uint64_t hops = 1 + random.below(3); hops > 0; --hops) {
      const LinkId link(static_cast<std::uint32_t>(random.below(links_count)));
      if (std::ranges::count(added.links, link) > 0) continue;
      added.links.push_back(link);
      added.slowest_bps = std::min(added.slowest_bps, all.capacities_bps[link.index()]);
    }
  }
  Time at = Time::zero() + Duration::us(5);
  for (std::uint64_t place = 0; place < 60; ++place) {
    const std::uint64_t tag = place ^ 3;  // those told of first do not come first
    if (random.below(3) > 0) at += Duration::ns(static_cast<std::int64_t>(random.below(20'000)));
    const auto bytes = random.below(10) == 0 ? 0 : static_cast<std::int64_t>(1 + random.below(1'000'000));
    const std::size_t way = random.below(all.ways.size());
    const auto connection = static_cast<std::uint32_t>(2 * way + random.below(2));
    all.starts.push_back(
        {at, way, transfer(NodeId(0), NodeId(1), bytes, tag, connection, static_cast<std::uint8_t>(random.below(2)))});
  }
  return all;
}

class Told final : public PrivateFlowsObserver {
 public:
  void on_left(const Transfer& transfer, Time sent, Time) override { left[transfer.tag] = sent; }
  void on_transfer_finished(const FinishedTransfer& one) override { finished.push_back(one); }
  std::map<std::uint64_t, Time> left;
  std::vector<FinishedTransfer> finished;
};

struct Outcome {
  Told told;
  std::vector<Bytes> bytes;       ///< by link, at the end
  std::vector<Bytes> bytes_half;  ///< at an instant on the way
};

/// With all that move as flows of one model. Of each connection and priority the first of those
/// that are not done moves, and one without bytes is done as soon as it is the first. Those of an
/// instant come by tag.
Outcome by_model(const Drawn& drawn, const FlowSettings& settings, Time half) {
  FlowModel model(policy_called("max_min", drawn.capacities_bps));
  Outcome outcome;
  std::size_t next = 0;
  // Places among the starts.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::size_t>> lines;
  const auto line_of = [&](std::size_t place) -> std::deque<std::size_t>& {
    const Transfer& transfer = drawn.starts[place].transfer;
    return lines[{transfer.connection, transfer.priority}];
  };
  const auto move_first = [&](std::deque<std::size_t>& line, Time at) {
    for (; !line.empty(); line.pop_front()) {
      const Drawn::Start& start = drawn.starts[line.front()];
      if (start.transfer.size == Bytes::zero()) {
        outcome.told.left[start.transfer.tag] = at + settings.completion_latency;
        continue;
      }
      FlowRequest request;
      request.path = drawn.ways[start.way].links;
      request.wire_bytes = settings.wire_bytes(start.transfer.size, false);
      request.cap_bps = settings.queue_pair_cap_bps(false);
      request.owner = static_cast<std::uint32_t>(line.front());
      request.priority = static_cast<std::uint8_t>(start.transfer.priority);
      model.start(request);
      return;
    }
  };
  std::vector<FlowCompletion> done;
  while (next < drawn.starts.size() || model.active_flows() > 0) {
    const Time at = std::min(model.next_completion(), next < drawn.starts.size() ? drawn.starts[next].at : Time::max());
    if (outcome.bytes_half.empty() && at > half) outcome.bytes_half = model.link_bytes(half).by_link;
    done.clear();
    model.take_completions(at, done);
    for (const FlowCompletion& one : done) {
      outcome.told.left[drawn.starts[one.owner].transfer.tag] = at + settings.completion_latency;
      line_of(one.owner).pop_front();
      move_first(line_of(one.owner), at);
    }
    std::vector<std::size_t> entering;
    for (; next < drawn.starts.size() && drawn.starts[next].at == at; ++next) entering.push_back(next);
    std::ranges::sort(entering, {}, [&](std::size_t place) { return drawn.starts[place].transfer.tag; });
    for (const std::size_t place : entering) {
      std::deque<std::size_t>& line = line_of(place);
      line.push_back(place);
      if (line.size() == 1) move_first(line, at);
    }
    model.settle(at);
  }
  outcome.bytes = model.link_bytes(Time::max() - Duration::ticks(1)).by_link;
  return outcome;
}

/// Handed on to another one after each `handed_on`.
Outcome by_private_flows(const Drawn& drawn, const FlowSettings& settings, Time half, std::optional<Duration> handed_on) {
  auto flows = std::make_unique<PrivateFlows>(settings, policy_called("max_min", drawn.capacities_bps));
  Outcome outcome;
  outcome.bytes.resize(links_count);
  std::size_t next = 0;
  Time handed_on_at = handed_on ? Time::zero() + *handed_on : Time::max();
  while (true) {
    const Time at = std::min(flows->next(), next < drawn.starts.size() ? drawn.starts[next].at : Time::max());
    if (outcome.bytes_half.empty() && !handed_on && at > half) outcome.bytes_half = flows->link_bytes(half);
    if (at == Time::max()) break;
    if (at > handed_on_at) {
      auto other = std::make_unique<PrivateFlows>(settings, policy_called("max_min", drawn.capacities_bps));
      for (const auto& [one, progress] : flows->under_way()) other->adopt(one, progress);
      other->settle(handed_on_at, outcome.told);
      for (std::size_t link = 0; link < links_count; ++link) outcome.bytes[link] += flows->bytes_of_left()[link];
      flows = std::move(other);
      handed_on_at += *handed_on;
      continue;
    }
    flows->take_left(at, outcome.told);
    for (; next < drawn.starts.size() && drawn.starts[next].at == at; ++next)
      flows->begin(drawn.starts[next].transfer, drawn.ways[drawn.starts[next].way], at, outcome.told);
    flows->settle(at, outcome.told);
  }
  for (std::size_t link = 0; link < links_count; ++link) outcome.bytes[link] += flows->bytes_of_left()[link];
  EXPECT_FALSE(flows->is_moving());
  return outcome;
}

TEST(PrivateFlows, TakeAsLongAsFlowsOfOneModel) {
  RandomStream random(33, 4, 0);
  const FlowSettings settings = settings_with({});
  const Time half = Time::zero() + Duration::us(300);
  for (int round = 0; round < (short_sanitized_runs() ? 20 : 100); ++round) {
    SCOPED_TRACE(round);
    const Drawn script = drawn(random);
    const Outcome expected = by_model(script, settings, half);
    ASSERT_EQ(expected.told.left.size(), script.starts.size());
    const Outcome outcome = by_private_flows(script, settings, half, std::nullopt);
    EXPECT_EQ(outcome.told.left, expected.told.left);
    EXPECT_EQ(outcome.bytes, expected.bytes);
    EXPECT_EQ(outcome.bytes_half, expected.bytes_half);
    for (const Duration handed_on : {Duration::us(7), Duration::us(130)}) {
      const Outcome by_several = by_private_flows(script, settings, half, handed_on);
      EXPECT_EQ(by_several.told.left, expected.told.left);
      EXPECT_EQ(by_several.bytes, expected.bytes);
    }
    for (const FinishedTransfer& one : outcome.told.finished) EXPECT_GE(one.end - one.start, one.ideal);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::private_flows_test
