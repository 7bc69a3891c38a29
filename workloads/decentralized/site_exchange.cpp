// SPDX-License-Identifier: Apache-2.0
#include "workloads/decentralized/site_exchange.hpp"

#include <numeric>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"

namespace weft {

namespace {

/// Ops of all roles together: 80 bytes each while they are built.
constexpr std::uint64_t ops_max = 1ULL << 24;
constexpr std::uint32_t gossip_draw = 3;

Bytes share_of(Bytes whole, std::size_t parts) {
  const auto count = static_cast<std::int64_t>(parts);
  return Bytes::of((whole.count() + count - 1) / count);
}

SiteScript::After around_ring(SiteScript& script, const SiteParty& party, Bytes bytes, SiteTags tags,
                              const SiteScript::After& after) {
  const std::size_t n = party.ranks.size();
  const SiteAddress next = party.member((party.self + 1) % n);
  const SiteAddress previous = party.member((party.self + n - 1) % n);
  const Bytes part = share_of(bytes, n);
  SiteScript::After ready = after;
  for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
    script.send("ring.send", next, part, tags.up, ready);
    ready = {script.receive("ring.receive", previous, part, tags.up)};
    // What comes before the node has anything of its own waits to be added to it.
    if (step == 0) ready.insert(ready.end(), after.begin(), after.end());
  }
  return ready;
}

SiteScript::After by_butterfly(SiteScript& script, const SiteParty& party, Bytes bytes, SiteTags tags,
                               const SiteScript::After& after) {
  const std::size_t n = party.ranks.size();
  const Bytes part = share_of(bytes, n);
  SiteScript::After parts = after;
  for (std::size_t i = 1; i < n; ++i) {
    script.send("part.send", party.member((party.self + i) % n), part, tags.up, after);
    parts.push_back(script.receive("part.receive", party.member((party.self + n - i) % n), part, tags.up));
  }
  const SiteScript::After average = script.join("average", parts);
  SiteScript::After done = average;
  for (std::size_t i = 1; i < n; ++i) {
    script.send("average.send", party.member((party.self + i) % n), part, tags.down, average);
    done.push_back(script.receive("average.receive", party.member((party.self + n - i) % n), part, tags.down));
  }
  return script.join("averaged", done);
}

}  // namespace

void SiteOpBudget::take() { check(++ops_); }

void SiteOpBudget::expect(std::size_t ops) {
  expected_ += ops;
  check(expected_);
}

void SiteOpBudget::check(std::uint64_t ops) const {
  if (ops <= ops_max) return;
  fail("too-large", fmt::format("{}: the roles would have more than {} ops", name_, ops_max), place_,
       "lower outer_steps, inner_steps of pipelines, or nodes; a star takes the fewest messages");
}

std::string SiteScript::numbered(std::string_view name) {
  auto found = names_.find(name);
  if (found == names_.end()) found = names_.emplace(std::string(name), 0).first;
  return fmt::format("{}.{}", name, found->second++);
}

std::uint32_t SiteScript::add(const Op& op, std::string_view name, const After& after) {
  budget_.take();
  return script_.add(op, numbered(name), after);
}

std::uint32_t SiteScript::compute(std::string_view name, Duration duration, const After& after) {
  budget_.take();
  return script_.compute(numbered(name), duration, after);
}

std::uint32_t SiteScript::wait(std::string_view name, Duration duration, const After& after) {
  Op op;
  op.processor = Processor::cpu;
  op.duration = duration;
  return add(op, name, after);
}

std::uint32_t SiteScript::send(std::string_view name, const SiteAddress& to, Bytes bytes, std::uint32_t tag, const After& after) {
  Op op;
  op.kind = OpKind::send;
  op.communicator = to.communicator;
  op.addressing = to.addressing;
  op.peer = to.peer;
  op.bytes = bytes;
  op.tag = tag;
  return add(op, name, after);
}

std::uint32_t SiteScript::receive(std::string_view name, const SiteAddress& from, Bytes bytes, std::uint32_t tag) {
  Op op;
  op.kind = OpKind::receive;
  op.communicator = from.communicator;
  op.addressing = from.addressing;
  op.peer = from.peer;
  op.bytes = bytes;
  op.tag = tag;
  return add(op, name, {});
}

SiteAddress SiteParty::member(std::size_t index) const {
  if (communicator == 0) return {0, PeerAddressing::absolute, static_cast<std::int32_t>(ranks[index])};
  if (is_server) return {communicator, PeerAddressing::absolute, static_cast<std::int32_t>(index)};
  const std::int64_t offset = static_cast<std::int64_t>(index) - self;
  return {communicator, PeerAddressing::relative, static_cast<std::int32_t>(offset < 0 ? offset + communicator_size : offset)};
}

SiteScript::After exchange_as_member(SiteScript& script, SiteExchange how, const SiteParty& party,
                                     std::optional<std::uint32_t> partner, Bytes bytes, SiteTags tags,
                                     const SiteScript::After& after) {
  if (how == SiteExchange::star) {
    script.send("up", party.server, bytes, tags.up, after);
    return {script.receive("down", party.server, bytes, tags.down)};
  }
  if (party.ranks.size() < 2) return after;
  if (how == SiteExchange::ring) return around_ring(script, party, bytes, tags, after);
  if (how == SiteExchange::butterfly) return by_butterfly(script, party, bytes, tags, after);
  if (!partner) return after;
  script.send("gossip.send", party.member(*partner), bytes, tags.up, after);
  SiteScript::After done = after;
  done.push_back(script.receive("gossip.receive", party.member(*partner), bytes, tags.up));
  return done;
}

SiteScript::After gather_as_server(SiteScript& script, const SiteParty& party, Bytes bytes, std::uint32_t tag) {
  SiteScript::After all;
  for (std::size_t i = 0; i < party.ranks.size(); ++i) all.push_back(script.receive("gather", party.member(i), bytes, tag));
  return script.join("average", all);
}

void send_to_members(SiteScript& script, const SiteParty& party, Bytes bytes, std::uint32_t tag, const SiteScript::After& after) {
  for (std::size_t i = 0; i < party.ranks.size(); ++i) script.send("scatter", party.member(i), bytes, tag, after);
}

SiteScript::After broadcast_along_chain(SiteScript& script, const SiteParty& party, Bytes bytes, std::uint32_t tag,
                                        const SiteScript::After& after) {
  const std::size_t n = party.ranks.size();
  if (n < 2) return after;
  const Bytes part = share_of(bytes, n);
  const bool is_first = party.self == 0;
  const bool is_last = party.self + 1 == n;
  SiteScript::After all = is_first ? after : SiteScript::After{};
  for (std::size_t i = 0; i < n; ++i) {
    SiteScript::After ready = after;
    if (!is_first) {
      const std::uint32_t here = script.receive("broadcast.receive", party.member(party.self - 1), part, tag);
      ready = {here};
      all.push_back(here);
    }
    if (!is_last) script.send("broadcast.send", party.member(party.self + 1), part, tag, ready);
  }
  return script.join("broadcast", all);
}

std::vector<std::optional<std::uint32_t>> gossip_partners(std::size_t members, std::uint64_t seed, std::uint32_t exchange) {
  std::vector<std::uint32_t> order(members);
  std::iota(order.begin(), order.end(), 0U);
  RandomStream stream(seed, exchange, gossip_draw);
  for (std::size_t i = members; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  std::vector<std::optional<std::uint32_t>> partners(members);
  for (std::size_t i = 0; i + 1 < members; i += 2) {
    partners[order[i]] = order[i + 1];
    partners[order[i + 1]] = order[i];
  }
  return partners;
}

}  // namespace weft
