// SPDX-License-Identifier: Apache-2.0
#include "network/wide_area/wide_area_paths.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/values/fingerprint.hpp"
#include "core/values/random.hpp"
#include "network/flow/flow_settings.hpp"

namespace weft {

namespace {

constexpr std::uint32_t jitter_draw = 0x6a697474;  ///< purpose of the random stream

/// (1 - loss)^load
double kept(double loss, double load) { return load == 1 ? 1 - loss : portable_exp(load * portable_log(1 - loss)); }

}  // namespace

void WideAreaUse::count(const WideAreaRate& rate, std::uint32_t queue_pairs, const Transfer& transfer, std::uint32_t multiplicity) {
  if (rate.cap_bps == std::numeric_limits<double>::infinity()) return;
  transfers += multiplicity;
  if (rate.cap_bps * queue_pairs >= rate.path.slowest_bps) return;
  slowed += multiplicity;
  // Of equals the first by place: what begins at one instant has no order.
  const auto is_before = [&] {
    if (rate.cap_bps != slowest.cap_bps) return rate.cap_bps < slowest.cap_bps;
    return std::pair(transfer.source, transfer.destination) < std::pair(source, destination);
  };
  if (!source.is_none() && !is_before()) return;
  slowest = rate;
  source = transfer.source;
  destination = transfer.destination;
}

WideAreaPaths::WideAreaPaths(const Topology& topology, const WideAreaSettings& settings, Duration switching_delay,
                             double wire_per_payload)
    : topology_(topology), settings_(settings), switching_delay_(switching_delay), wire_per_payload_(wire_per_payload) {
  if (!topology.has_wide_area() || settings.congestion_control == WideAreaControl::none) {
    has_caps_ = false;
  } else if (settings.congestion_control == WideAreaControl::bbr ||
             (settings.congestion_control != WideAreaControl::automatic && settings.window)) {
    has_caps_ = true;
  } else {
    has_caps_ = std::ranges::any_of(topology.wide_area_lines(), [](const auto& line) { return line.second.loss > 0; });
  }
  has_jitter_ =
      std::ranges::any_of(topology.wide_area_lines(), [](const auto& line) { return line.second.jitter > Duration::zero(); });
}

WideAreaPaths::WideAreaPaths(const Topology& topology, const FlowSettings& settings)
    : WideAreaPaths(topology, settings.wide_area, settings.switching_delay, settings.wire_format.wire_per_content()) {}

bool WideAreaPaths::limit(std::span<const LinkId> links) const {
  return std::ranges::any_of(links, [this](const LinkId& link) {
    const std::optional<WideAreaRate> alone = rate({&link, 1}, {});
    return alone &&
           (alone->cap_bps < std::numeric_limits<double>::infinity() || topology_.wide_area(link)->jitter > Duration::zero());
  });
}

std::optional<WideAreaRate> WideAreaPaths::rate(std::span<const LinkId> links, std::span<const double> loads) const {
  if (!act()) return std::nullopt;
  const auto is_line = [this](LinkId link) { return topology_.wide_area(link) != nullptr; };
  if (std::ranges::none_of(links, is_line)) return std::nullopt;
  WideAreaRate rate;
  rate.path.wire_per_payload = wire_per_payload_;
  double all_kept = 1;
  bool is_lossy = false;
  double round_trip_s = 0;
  rate.path.slowest_bps = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < links.size(); ++i) {
    const double load = loads.empty() ? 1.0 : loads[i];
    const Link& link = topology_.link(links[i]);
    Duration there_and_back = link.propagation_delay * 2;
    if (topology_.node(link.destination).kind == NodeKind::packet_switch) there_and_back += switching_delay_ * 2;
    if (const WideAreaLine* const line = topology_.wide_area(links[i])) {
      const WideAreaLine& back = *topology_.wide_area(topology_.reverse(links[i]));
      all_kept *= kept(line->loss, load);
      is_lossy = is_lossy || line->loss > 0 || back.loss > 0;
      there_and_back += line->jitter + back.jitter;
    }
    round_trip_s += load * there_and_back.in_s();
    rate.path.slowest_bps = std::min(rate.path.slowest_bps, static_cast<double>(link.rate.in_bps()) / load);
  }
  // Of many lines that lose nearly everything, too, something comes through.
  rate.path.loss = std::min(1 - all_kept, std::nextafter(1.0, 0.0));
  rate.path.round_trip = Duration::from_seconds(round_trip_s);
  rate.control = settings_.congestion_control;
  if (rate.control == WideAreaControl::automatic) {
    rate.control = is_lossy ? WideAreaControl::cubic : WideAreaControl::none;
  }
  rate.cap_bps = tcp_rate_bps({rate.control, settings_.segment, settings_.window}, rate.path) * wire_per_payload_;
  return rate;
}

Duration WideAreaPaths::jitter(std::span<const LinkId> links, std::span<const double> loads, const Transfer& transfer,
                               std::uint32_t queue_pair, Time start) const {
  if (!has_jitter_) return Duration::zero();
  std::optional<RandomStream> stream;
  double all_s = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const WideAreaLine* const line = topology_.wide_area(links[i]);
    if (line == nullptr || line->jitter == Duration::zero()) continue;
    if (!stream) {
      std::uint64_t name = mix64(std::uint64_t{transfer.source.index()} << 32 | transfer.destination.index());
      name = mix64(name ^ (std::uint64_t{transfer.connection} << 32 | queue_pair));
      name = mix64(name ^ transfer.tag);
      name = mix64(name ^ static_cast<std::uint64_t>(start.in_ticks()));
      stream.emplace(settings_.seed, static_cast<std::uint32_t>(name), jitter_draw, static_cast<std::uint32_t>(name >> 32));
    }
    all_s += (loads.empty() ? 1.0 : loads[i]) * stream->exponential(line->jitter.in_s());
  }
  return Duration::from_seconds(all_s);
}

}  // namespace weft
