// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/bucket_solve.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "core/check.hpp"
#include "core/containers/cache.hpp"

namespace weft {

namespace {

constexpr double infinite_share = std::numeric_limits<double>::infinity();
constexpr double unfixed_flow = -1.0;     // marks a flow whose rate is not known yet
constexpr std::size_t members_ahead = 8;  // flows of a link whose paths are fetched ahead
constexpr std::uint32_t no_link = UINT32_MAX;
constexpr std::uint64_t buckets_max = 4096;
constexpr int dropped_bits = 52 - 7;  // of a double's fraction, 7 bits tell buckets apart

std::uint64_t leading_bits(double share) { return std::bit_cast<std::uint64_t>(share) >> dropped_bits; }

}  // namespace

void BucketSolveState::resize(const FlowLinkGraph& graph) {
  if (rates.size() < graph.slot_count()) rates.resize(graph.slot_count(), 0.0);
  if (levels.size() < graph.link_count()) {
    levels.resize(graph.link_count(), infinite_share);
    work.resize(graph.link_count());
  }
}

void BucketSolve::run(const FlowLinkGraph& graph, std::span<const LinkId> links, BucketSolveState& state) {
  graph_ = &graph;
  state_ = &state;
  begin(links);
  // A link without capacity would spread the shares over every bucket there is, and needs no
  // search: its flows stand still.
  for (const LinkId link : links) {
    if (state.work[link.index()].unfixed > 0 && graph.capacity(link) == 0) fix_link(link, 0.0);
  }
  lay_buckets(links);
  for (std::uint32_t bucket = 0; bucket < heads_.size(); ++bucket) {
    if (heads_[bucket] != no_link) empty_bucket(bucket);
  }
}

void BucketSolve::begin(std::span<const LinkId> links) {
  capped_.clear();
  next_capped_ = 0;
  for (const LinkId link : links) {
    const FlowLinkGraph::MemberList members = graph_->members(link);
    for (const FlowLinkGraph::Member member : members) {
      if (member.is_first) state_->rates[member.flow.index()] = unfixed_flow;
    }
    const double weight = graph_->weights_are_one() ? static_cast<double>(members.size()) : weight_of(members);
    state_->levels[link.index()] = infinite_share;
    state_->work[link.index()] = {
        graph_->capacity(link), 0.0, weight, weight, 0.0, static_cast<std::uint32_t>(members.size()), no_link};
  }
  if (graph_->has_caps()) list_capped(links);
}

double BucketSolve::weight_of(FlowLinkGraph::MemberList members) const {
  double weight = 0;
  for (const FlowLinkGraph::Member member : members) weight += graph_->weight(member.flow) * graph_->load(member);
  return weight;
}

void BucketSolve::list_capped(std::span<const LinkId> links) {
  for (const LinkId link : links) {
    for (const FlowLinkGraph::Member member : graph_->members(link)) {
      const double cap = graph_->cap(member.flow);
      if (member.is_first && cap < infinite_share) capped_.emplace_back(cap / graph_->weight(member.flow), member.flow);
    }
  }
  std::sort(capped_.begin(), capped_.end());
}

void BucketSolve::lay_buckets(std::span<const LinkId> links) {
  double share_min = infinite_share;
  double share_max = 0;
  std::uint64_t waiting = 0;
  for (const LinkId link : links) {
    if (state_->work[link.index()].unfixed == 0) continue;
    const double s = share(link);
    share_min = std::min(share_min, s);
    share_max = std::max(share_max, s);
    ++waiting;
  }
  heads_.clear();
  if (waiting == 0) return;
  // Shares rise later; what rises past the last bucket stays in it and is ordered by its heap
  // alone. Few links need few buckets.
  key_min_ = leading_bits(share_min);
  const std::uint64_t octaves_above = 8 * 128;
  const std::uint64_t range = leading_bits(share_max) - key_min_ + 1 + octaves_above;
  heads_.assign(std::min({range, buckets_max, 2 * waiting}), no_link);
  for (const LinkId link : links) {
    if (state_->work[link.index()].unfixed > 0) put(link, bucket_of(share(link)));
  }
}

void BucketSolve::empty_bucket(std::uint32_t bucket) {
  heap_.clear();
  for (std::uint32_t i = heads_[bucket]; i != no_link;) {
    const LinkId link(i);
    i = state_->work[i].next;
    if (state_->work[link.index()].unfixed == 0) continue;
    const double s = share(link);
    if (const std::uint32_t now_in = bucket_of(s); now_in > bucket) {
      put(link, now_in);
    } else {
      heap_.emplace_back(s, link);
    }
  }
  const auto push = [this](double s, LinkId link) {
    heap_.emplace_back(s, link);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  };
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const LinkId link = heap_.back().second;
    heap_.pop_back();
    if (state_->work[link.index()].unfixed == 0) continue;
    double s = share(link);
    const auto is_least = [&] { return heap_.empty() || Entry(s, link) < heap_.front(); };
    if (const std::uint32_t now_in = bucket_of(s); now_in > bucket) {
      put(link, now_in);
      continue;
    }
    if (!is_least() || fix_capped(s)) {
      push(s, link);
      continue;
    }
    sum_weight(link);
    s = share(link);
    if (const std::uint32_t now_in = bucket_of(s); now_in > bucket) {
      put(link, now_in);
    } else if (!is_least()) {
      push(s, link);
    } else {
      fix_link(link, s);
    }
  }
}

double BucketSolve::share(LinkId link) {
  const BucketSolveState::LinkWork& work = state_->work[link.index()];
  if (!(work.weight > 0.5 * work.weight_summed)) sum_weight(link);
  return std::max(work.floor, (work.remaining + work.correction) / work.weight);
}

void BucketSolve::sum_weight(LinkId link) {
  BucketSolveState::LinkWork& work = state_->work[link.index()];
  if (graph_->weights_are_one() || work.weight == work.weight_summed) return;
  double weight = 0;
  for (const FlowLinkGraph::Member member : graph_->members(link)) {
    if (state_->rates[member.flow.index()] == unfixed_flow) weight += graph_->weight(member.flow) * graph_->load(member);
  }
  work.weight = weight;
  work.weight_summed = weight;
}

std::uint32_t BucketSolve::bucket_of(double share) const {
  const std::uint64_t key = leading_bits(share);
  if (key <= key_min_) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(key - key_min_, heads_.size() - 1));
}

void BucketSolve::put(LinkId link, std::uint32_t bucket) {
  state_->work[link.index()].next = heads_[bucket];
  heads_[bucket] = link.index();
}

void BucketSolve::fix_link(LinkId link, double level) {
  state_->levels[link.index()] = level;
  const FlowLinkGraph::MemberList members = graph_->members(link);
  const auto fetch = [&](std::size_t i) {
    cache::fetch(&state_->rates[members[i].flow.index()], sizeof(double));
    graph_->fetch_flow(members[i].flow);
  };
  cache::visit_ahead(members.size(), 2 * members_ahead, fetch, [&](std::size_t i) {
    if (i + members_ahead < members.size()) graph_->fetch_hops(members[i + members_ahead].flow);
    const FlowSlot flow = members[i].flow;
    if (state_->rates[flow.index()] != unfixed_flow) return;
    fix_flow(flow, std::min(graph_->cap(flow), graph_->weight(flow) * level), level);
  });
}

bool BucketSolve::fix_capped(double level) {
  bool any = false;
  for (; next_capped_ < capped_.size() && capped_[next_capped_].first <= level; ++next_capped_) {
    const auto [cap_level, flow] = capped_[next_capped_];
    if (state_->rates[flow.index()] != unfixed_flow) continue;
    fix_flow(flow, graph_->cap(flow), cap_level);
    any = true;
  }
  return any;
}

void BucketSolve::fix_flow(FlowSlot flow, double rate, double level) {
  state_->rates[flow.index()] = rate;
  const double weight = graph_->weight(flow);
  const std::span<const FlowLinkGraph::Hop> hops = graph_->hops(flow);
  const std::span<const double> loads = graph_->loads(flow);
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const double load = loads.empty() ? 1.0 : loads[i];
    const double taken = rate * load;
    BucketSolveState::LinkWork& work = state_->work[hops[i].link.index()];
    const double remaining = work.remaining - taken;
    work.correction +=
        std::abs(work.remaining) >= taken ? (work.remaining - remaining) - taken : work.remaining - (remaining + taken);
    work.remaining = remaining;
    work.weight -= weight * load;
    work.floor = std::max(work.floor, level);
    --work.unfixed;
  }
}

}  // namespace weft
