// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/run_notes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "host/ranks/message_tag.hpp"
#include "network/routing/unloaded_paths.hpp"

namespace weft {

namespace {

constexpr double told_from = 0.1;
constexpr std::uint64_t slots_allowed_max = 65536;

std::string bytes_text(double bytes) {
  char buffer[48];
  constexpr std::pair<double, const char*> units[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  for (const auto& [unit, name] : units) {
    if (bytes < unit) continue;
    std::snprintf(buffer, sizeof buffer, "%.3g %s", bytes / unit, name);
    return buffer;
  }
  std::snprintf(buffer, sizeof buffer, "%.0f B", bytes);
  return buffer;
}

std::string rate_text(double bps) {
  char buffer[48];
  constexpr std::pair<double, const char*> units[] = {{1e9, "Gb/s"}, {1e6, "Mb/s"}, {1e3, "kb/s"}, {0, "b/s"}};
  for (const auto& [unit, name] : units) {
    if (bps < unit) continue;
    std::snprintf(buffer, sizeof buffer, "%.4g %s", bps / std::max(1.0, unit), name);
    break;
  }
  return buffer;
}

/// What slots do to one connection.
struct SlotLimit {
  const SlotHoldup* holdup = nullptr;
  std::uint32_t messages = 0;  ///< that may be under way
  /// from a message's first byte until its sender knows that its slots are free
  Duration round_trip;
  double rate_bps = 0;
  LinkId slowest;
  double share = 0;  ///< of the collectives' time, in which sends waited
  std::uint64_t slots_needed = 0;

  double let_through() const { return messages * static_cast<double>(holdup->message.count()); }
  double path_bytes() const { return rate_bps / 8 * round_trip.in_s(); }
};

SlotLimit limit_of(const SlotHoldup& holdup, UnloadedPaths& paths) {
  const CollectiveSlots& slots = holdup.plan->slots;
  const UnloadedPath there = paths.path(holdup.source, holdup.peer, connection_number(holdup.communicator, holdup.channel));
  const UnloadedPath back =
      paths.path(holdup.peer, holdup.source, slots_connection(holdup.communicator, holdup.channel, holdup.plan->request.type));
  const Duration leaving = there.leave_time(holdup.message);
  const Duration beyond = there.message_time(holdup.message) - leaving + holdup.take_over + back.message_time(Bytes::zero());
  SlotLimit limit;
  limit.holdup = &holdup;
  limit.messages = slots.count() / holdup.message_slots;
  // A receiver tells of several messages at a time.
  const std::uint32_t told = (slots.told_from(holdup.connection) + holdup.message_slots - 1) / holdup.message_slots;
  limit.round_trip = leaving * told + beyond;
  limit.rate_bps = there.rate_bps();
  limit.slowest = there.slowest();
  const Duration waited = std::min(holdup.held, limit.round_trip * static_cast<std::int64_t>(holdup.times));
  limit.share = waited.in_s() / holdup.under_way.in_s();
  // With more slots a message may take more of them. Half of all are free again before the receiver
  // tells of them.
  const std::int64_t size = std::max<std::int64_t>(1, (holdup.message.count() + slots.size().count() - 1) / slots.size().count());
  const std::int64_t half = beyond.in_ticks() / std::max<std::int64_t>(1, leaving.in_ticks()) + 1;
  const std::int64_t all = (holdup.connection.slots + holdup.message_slots - 1) / holdup.message_slots;
  limit.slots_needed = static_cast<std::uint64_t>(std::min(2 * half, all) * size);
  return limit;
}

/// What slots let through of all connections of a plan that share a link which sets their rate.
class SharedLinks {
 public:
  explicit SharedLinks(const std::vector<SlotLimit>& limits) {
    for (const SlotLimit& limit : limits) let_through_[key(limit)] += limit.let_through();
  }
  /// Whether slots are the limit, and neither the link nor what happens to be slow at the receiver.
  bool are_held_back(const SlotLimit& limit) const {
    const double let_through = limit.slowest.is_none() ? limit.let_through() : let_through_.at(key(limit));
    return limit.share >= told_from && let_through < limit.path_bytes();
  }

 private:
  using Key = std::tuple<LinkId, AttemptId, const CollectivePlan*>;
  static Key key(const SlotLimit& limit) { return {limit.slowest, limit.holdup->attempt, limit.holdup->plan}; }
  std::map<Key, double> let_through_;
};

}  // namespace

std::vector<std::string> slot_notes(std::span<const SlotHoldup> holdups, const JobTable& jobs, const Topology& topology,
                                    const FlowSettings& settings, std::uint32_t slots) {
  struct Found {
    SlotLimit worst;
    std::uint64_t connections = 0;
  };
  std::map<std::pair<std::string, std::string>, Found> by_kind;
  std::optional<UnloadedPaths> paths;
  const auto is_worse = [](const SlotLimit& a, const SlotLimit& b) {
    if (a.share != b.share) return a.share > b.share;
    const auto place = [](const SlotHoldup& of) { return std::tuple(of.attempt, of.rank, of.peer, of.channel, of.op); };
    return place(*a.holdup) < place(*b.holdup);
  };
  std::vector<SlotLimit> limits;
  for (const SlotHoldup& holdup : holdups) {
    // Looking for paths takes longer.
    if (holdup.held.in_s() < told_from * holdup.under_way.in_s()) continue;
    if (!paths) paths.emplace(topology, settings);
    limits.push_back(limit_of(holdup, *paths));
  }
  const SharedLinks links(limits);
  for (const SlotLimit& limit : limits) {
    if (!links.are_held_back(limit)) continue;
    const SlotHoldup& holdup = *limit.holdup;
    const RunningJob& job = jobs.at(holdup.attempt);
    Found& found = by_kind[{std::string(to_text(holdup.plan->request.type)), holdup.plan->algorithm}];
    if (found.connections == 0 || is_worse(limit, found.worst)) found.worst = limit;
    found.connections += job.folding == nullptr ? 1 : job.folding->alike(holdup.rank);
  }
  std::vector<std::string> notes;
  for (const auto& [kind, found] : by_kind) {
    const SlotLimit& worst = found.worst;
    const SlotHoldup& at = *worst.holdup;
    const std::uint64_t count = at.plan->slots.count();
    const std::uint64_t needed = std::min<std::uint64_t>(slots_allowed_max, (worst.slots_needed * slots + count - 1) / count);
    notes.push_back(fmt::format(
        "slots hold {} ({}) back on {}, most from {} to {}: {} in {} go per round trip of {}, in which the path carries {}; sends "
        "waited for {} of the time with nothing else leaving. collective.slots = {}, now {}, would fill it",
        kind.first, kind.second, counted(found.connections, "connection", "connections"), topology.node_name(at.source),
        topology.node_name(at.peer), bytes_text(worst.let_through()), counted(worst.messages, "message", "messages"),
        readable(worst.round_trip.in_s()), bytes_text(worst.path_bytes()), readable_share(worst.share), needed, slots));
  }
  return notes;
}

std::string window_note(const NarrowWindow& narrowest, const Topology& topology) {
  const Transfer& transfer = narrowest.transfer;
  return fmt::format(
      "packet.window lets {} be under way from {} to {}, whose bandwidth-delay product is {}, {} times a round trip of {}: larger "
      "transfers do not fill that path. packet.window = auto gives every queue pair what its path holds",
      bytes_text(static_cast<double>(narrowest.window.count())), topology.node_name(transfer.source),
      topology.node_name(transfer.destination), bytes_text(static_cast<double>(narrowest.held.count())), to_text(narrowest.rate),
      readable(narrowest.round_trip.in_s()));
}

std::string wide_area_note(const WideAreaUse& use, std::uint32_t queue_pairs, const Topology& topology) {
  const std::string crossed = counted(use.transfers, "transfer between sites", "transfers between sites");
  if (use.slowed == 0) {
    return fmt::format("TCP slowed down none of {}: their links are slower than what loss and round trips leave them", crossed);
  }
  constexpr std::array<std::string_view, 5> names = {"auto", "none", "reno", "cubic", "bbr"};
  const WideAreaRate& slowest = use.slowest;
  constexpr double windows_hold = 0.05;
  const bool times_out = slowest.control != WideAreaControl::bbr && slowest.path.loss > windows_hold;
  return fmt::format(
      "TCP ({}) slowed down {} of {}: from \"{}\" to \"{}\" {} got at most {}, where links have {} (round trip {}, loss {:.3g} "
      "%); more parallel streams (flow.queue_pairs) or another wan.congestion_control change that{}",
      names[static_cast<std::size_t>(slowest.control)], use.slowed, crossed, topology.node_name(use.source),
      topology.node_name(use.destination), queue_pairs == 1 ? "a transfer" : fmt::format("each of {} streams", queue_pairs),
      rate_text(slowest.cap_bps), rate_text(slowest.path.slowest_bps), readable(slowest.path.round_trip.in_s()),
      slowest.path.loss * 100,
      times_out ? ". Beyond 5 % of loss connections get less than told here, since timeouts are not modelled" : "");
}

std::string packets_on_lines_note(const Topology& topology, std::span<const LinkUsage> usage) {
  const auto has = [&](const auto& predicate) {
    return std::ranges::any_of(topology.wide_area_lines(), [&](const auto& line) {
      return usage[line.first.index()].bytes > Bytes::zero() && predicate(line);
    });
  };
  const bool loses = has([](const auto& line) { return line.second.loss > 0; });
  const bool varies = has([](const auto& line) { return line.second.jitter > Duration::zero(); });
  if (!loses && !varies) return "";
  return fmt::format(
      "packet mode does not simulate the {} of lines between sites packet by packet: queue pairs are paced to what TCP "
      "gets there{}",
      loses && varies ? "loss and the jitter"
      : loses         ? "loss"
                      : "jitter",
      varies ? ", and messages are not late" : "");
}

std::string headroom_note(const ShortHeadroom& shortest, const Topology& topology) {
  return fmt::format(
      "packet.headroom = {} is less than what can come by {} after a pause was asked for, {}{}: what finds no room is dropped. "
      "packet.headroom = auto gives every port what it needs",
      to_text(shortest.headroom), topology.link_name(shortest.link), to_text(shortest.needed),
      shortest.more_links > 0 ? fmt::format(", and by {}", counted(shortest.more_links, "more link", "more links")) : "");
}

}  // namespace weft
