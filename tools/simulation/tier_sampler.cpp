// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/tier_sampler.hpp"

#include <algorithm>

#include "tools/simulation/link_tier.hpp"

namespace weft {

namespace {

const Duration interval_at_first = Duration::us(10);
/// Of all links and intervals together.
constexpr std::size_t numbers_max = 6'000'000;
constexpr std::size_t intervals_least = 40;

}  // namespace

TierSampler::TierSampler(const Topology& topology, const PacketNetwork* network)
    : topology_(topology),
      network_(network),
      interval_(interval_at_first),
      end_(Time::zero() + interval_),
      before_(topology.link_count()) {
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const LinkId link(i);
    if (is_inside_host(topology, link)) continue;
    const std::string tier = link_tier(topology, link);
    auto found = std::ranges::find(tiers_, tier);
    if (found == tiers_.end()) found = tiers_.insert(tiers_.end(), tier);
    links_.push_back(link);
    tier_of_.push_back(static_cast<std::uint32_t>(found - tiers_.begin()));
  }
  const std::size_t affordable = numbers_max / std::max<std::size_t>(links_.size(), 1);
  // Even, so that two by two leave none over.
  intervals_max_ = std::clamp(affordable, intervals_least, intervals_most) / 2 * 2;
}

void TierSampler::sample_at(Time time, const Engine& engine, const FlowFabric* flows) {
  std::vector<LinkUsage> now(topology_.link_count());
  if (flows != nullptr) now = flows->link_usage(Time::zero(), std::max(time, Time::zero() + Duration::ticks(1)), time);
  if (network_ != nullptr)
    network_->results().add_usage(engine, Time::zero(), std::max(time, Time::zero() + Duration::ticks(1)), time, now);
  std::vector<Bytes> moved(links_.size());
  std::vector<Counters> counters(tiers_.size());
  bool has_moved = false;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const LinkUsage& usage = now[links_[i].index()];
    const LinkUsage& before = before_[links_[i].index()];
    moved[i] = usage.bytes - before.bytes;
    has_moved = has_moved || moved[i] > Bytes::zero();
    Counters& of_tier = counters[tier_of_[i]];
    of_tier.queue_peak = std::max(of_tier.queue_peak, usage.queue);
    of_tier.paused += usage.paused - before.paused;
    of_tier.ecn_marks += usage.ecn_marks - before.ecn_marks;
    of_tier.drops += usage.drops - before.drops;
  }
  if (!has_moved) moved.clear();
  bytes_.push_back(std::move(moved));
  counters_.push_back(std::move(counters));
  before_ = std::move(now);
  if (bytes_.size() == intervals_max_) merge();
  end_ = Time::zero() + interval_ * static_cast<std::int64_t>(bytes_.size() + 1);
}

void TierSampler::merge() {
  for (std::size_t i = 0; i < bytes_.size() / 2; ++i) {
    std::vector<Bytes> first = std::move(bytes_[2 * i]);
    const std::vector<Bytes>& second = bytes_[2 * i + 1];
    if (first.empty()) {
      first = second;
    } else {
      for (std::size_t link = 0; link < second.size(); ++link) first[link] += second[link];
    }
    bytes_[i] = std::move(first);
    std::vector<Counters> counters = std::move(counters_[2 * i]);
    for (std::size_t tier = 0; tier < counters.size(); ++tier) {
      const Counters& other = counters_[2 * i + 1][tier];
      counters[tier].queue_peak = std::max(counters[tier].queue_peak, other.queue_peak);
      counters[tier].paused += other.paused;
      counters[tier].ecn_marks += other.ecn_marks;
      counters[tier].drops += other.drops;
    }
    counters_[i] = std::move(counters);
  }
  bytes_.resize(bytes_.size() / 2);
  counters_.resize(counters_.size() / 2);
  interval_ += interval_;
}

void TierSampler::skip_to(Time time) {
  // Flows that go on without events move bytes meanwhile.
  const bool is_idle = !bytes_.empty() && bytes_.back().empty();
  while (is_idle && time != Time::max() && end_ <= time) {
    bytes_.emplace_back();
    counters_.emplace_back(tiers_.size());
    if (bytes_.size() == intervals_max_) merge();
    end_ = Time::zero() + interval_ * static_cast<std::int64_t>(bytes_.size() + 1);
  }
}

void TierSampler::add_rows(std::size_t interval, Time end, ResultSink& sink) const {
  const Time begin = Time::zero() + interval_ * static_cast<std::int64_t>(interval);
  struct OfTier {
    std::uint64_t links = 0;
    Bytes bytes;
    double sum = 0;
    double most = 0;
    LinkId busiest = LinkId::none();
  };
  std::vector<OfTier> of_tier(tiers_.size());
  const double length_s = (end - begin).in_s();
  for (std::size_t i = 0; i < links_.size(); ++i) {
    OfTier& tier = of_tier[tier_of_[i]];
    ++tier.links;
    if (bytes_[interval].empty()) continue;
    const Bytes bytes = bytes_[interval][i];
    const double utilization = bytes.in_bits() / (topology_.link(links_[i]).rate.in_bps() * length_s);
    tier.bytes += bytes;
    tier.sum += utilization;
    if (utilization > tier.most) {
      tier.most = utilization;
      tier.busiest = links_[i];
    }
  }
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    const OfTier& tier = of_tier[i];
    const Counters& counters = counters_[interval][i];
    const std::string busiest = tier.busiest.is_none() ? "" : topology_.link_name(tier.busiest);
    sink.add_tier_sample({begin, end, tiers_[i], tier.links, tier.bytes, tier.sum / static_cast<double>(tier.links), tier.most,
                          busiest, counters.queue_peak, counters.paused, counters.ecn_marks, counters.drops});
  }
}

void TierSampler::finish(Time now, const Engine& engine, const FlowFabric* flows, ResultSink& sink) {
  const Time begin = end_ - interval_;
  if (now > begin) sample_at(now, engine, flows);
  // The last one ends with the run.
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    add_rows(i, std::min(Time::zero() + interval_ * static_cast<std::int64_t>(i + 1), now), sink);
}

}  // namespace weft
