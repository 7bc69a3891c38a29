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
      stride_(interval_),
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
  intervals_max_ = std::clamp(affordable, intervals_least, intervals_most);
}

void TierSampler::sample_at(Time time, const Engine& engine, const FlowFabric* flows) {
  const Time some_span_end = std::max(time, Time::zero() + Duration::ticks(1));
  std::vector<LinkUsage> now(topology_.link_count());
  if (flows != nullptr) now = flows->link_usage(Time::zero(), some_span_end, time);
  if (network_ != nullptr) network_->results().add_usage(engine, Time::zero(), some_span_end, time, now);
  std::vector<Bytes> moved(links_.size());
  std::vector<Counters> counters(tiers_.size());
  bool is_idle = true;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const LinkUsage& usage = now[links_[i].index()];
    const LinkUsage& before = before_[links_[i].index()];
    moved[i] = usage.bytes - before.bytes;
    Counters& of_tier = counters[tier_of_[i]];
    of_tier.queue_peak = std::max(of_tier.queue_peak, usage.queue);
    of_tier.paused += usage.paused - before.paused;
    of_tier.ecn_marks += usage.ecn_marks - before.ecn_marks;
    of_tier.drops += usage.drops - before.drops;
    is_idle = is_idle && moved[i] == Bytes::zero() && usage.queue == Bytes::zero() && usage.paused == before.paused;
  }
  before_ = std::move(now);
  if (is_idle) {
    // Seldom looked at, whatever else goes on; then intervals become as long as what is not known
    // in parts.
    if (++idle_samples_ % intervals_max_ == 0) stride_ += stride_;
  } else {
    idle_samples_ = 0;
    while (interval_ < stride_) merge();
    const std::size_t interval = cover(time);
    std::vector<Bytes>& bytes = bytes_[interval];
    bytes.resize(links_.size());
    for (std::size_t i = 0; i < moved.size(); ++i) bytes[i] += moved[i];
    add(counters, counters_[interval]);
    last_moved_ = time;
    stride_ = interval_;
  }
  begin_ = time;
  end_ = Time::zero() + stride_ * ((time - Time::zero()).in_ticks() / stride_.in_ticks() + 1);
}

void TierSampler::add(const std::vector<Counters>& more, std::vector<Counters>& counters) {
  counters.resize(more.size());
  for (std::size_t tier = 0; tier < more.size(); ++tier) {
    counters[tier].queue_peak = std::max(counters[tier].queue_peak, more[tier].queue_peak);
    counters[tier].paused += more[tier].paused;
    counters[tier].ecn_marks += more[tier].ecn_marks;
    counters[tier].drops += more[tier].drops;
  }
}

std::size_t TierSampler::cover(Time time) {
  const auto number = [&] { return static_cast<std::size_t>(((time - Time::zero()).in_ticks() - 1) / interval_.in_ticks()); };
  while (number() >= intervals_max_) merge();
  if (number() >= bytes_.size()) {
    bytes_.resize(number() + 1);
    counters_.resize(number() + 1);
  }
  return number();
}

void TierSampler::merge() {
  const std::size_t count = (bytes_.size() + 1) / 2;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (i % 2 == 0) {
      if (i == 0) continue;
      bytes_[i / 2] = std::move(bytes_[i]);
      counters_[i / 2] = std::move(counters_[i]);
      continue;
    }
    std::vector<Bytes>& sum = bytes_[i / 2];
    if (sum.size() < bytes_[i].size()) sum.resize(bytes_[i].size());
    for (std::size_t link = 0; link < bytes_[i].size(); ++link) sum[link] += bytes_[i][link];
    add(counters_[i], counters_[i / 2]);
  }
  bytes_.resize(count);
  counters_.resize(count);
  interval_ += interval_;
}

void TierSampler::skip_to(Time time) {
  if (idle_samples_ == 0 || time < end_ || time == Time::max()) return;
  end_ += stride_ * ((time - end_).in_ticks() / stride_.in_ticks());
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
    const Counters counters = counters_[interval].empty() ? Counters() : counters_[interval][i];
    const std::string busiest = tier.busiest.is_none() ? "" : topology_.link_name(tier.busiest);
    sink.add_tier_sample({begin, end, tiers_[i], tier.links, tier.bytes, tier.sum / static_cast<double>(tier.links), tier.most,
                          busiest, counters.queue_peak, counters.paused, counters.ecn_marks, counters.drops});
  }
}

void TierSampler::finish(Time now, Time until, const Engine& engine, const FlowFabric* flows, ResultSink& sink) {
  if (now > begin_) sample_at(now, engine, flows);
  const Time end = std::max(last_moved_, until);
  if (end == Time::zero()) return;
  cover(end);
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    add_rows(i, std::min(Time::zero() + interval_ * static_cast<std::int64_t>(i + 1), end), sink);
}

}  // namespace weft
