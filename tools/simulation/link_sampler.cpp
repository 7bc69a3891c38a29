// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/link_sampler.hpp"

#include "core/check.hpp"

namespace weft {

LinkSampler::LinkSampler(const Topology& topology, const PacketNetwork& network, Duration interval, ResultSink& sink)
    : topology_(topology),
      network_(network),
      interval_(interval),
      sink_(sink),
      end_(Time::zero() + interval),
      before_(topology.link_count()),
      now_(topology.link_count()) {
  WEFT_CHECK(interval > Duration::zero(), "an interval of samples takes time");
}

void LinkSampler::sample(const Engine& engine, const FlowFabric* flows) {
  now_.assign(now_.size(), {});
  if (flows != nullptr) {
    now_ = flows->link_usage(Time::zero(), end_, end_);
    for (std::uint32_t i = 0; i < now_.size(); ++i) {
      const Link& link = topology_.link(LinkId(i));
      const HostId host = topology_.node(link.source).host;
      if (!host.is_none() && host == topology_.node(link.destination).host) now_[i] = {};
    }
  }
  network_.results().add_usage(engine, Time::zero(), end_, end_, now_);
  was_empty_ = true;
  for (std::uint32_t i = 0; i < now_.size(); ++i) {
    const LinkUsage& now = now_[i];
    const LinkUsage& before = before_[i];
    const Bytes sent = now.bytes - before.bytes;
    const Duration paused = now.paused - before.paused;
    const std::uint64_t drops = now.drops - before.drops;
    if (sent == Bytes::zero() && now.queue == Bytes::zero() && paused == Duration::zero() && drops == 0) continue;
    was_empty_ = false;
    const double rate_bps = sent.in_bits() * Duration::ticks_per_s / static_cast<double>(interval_.in_ticks());
    const std::string name = topology_.link_name(LinkId(i));
    sink_.add_link_sample({end_ - interval_, end_, name, rate_bps, now.queue, paused, now.ecn_marks - before.ecn_marks, drops});
  }
  before_.swap(now_);
  end_ += interval_;
}

void LinkSampler::skip_to(Time time) {
  if (!was_empty_ || time < end_ || time == Time::max()) return;
  end_ += interval_ * ((time - end_).in_ticks() / interval_.in_ticks());
}

}  // namespace weft
