// SPDX-License-Identifier: Apache-2.0
// Path delay: what the way of a message takes beside the time in which the message leaves its
// source.
//
// Where it sits: flow_fabric adds up the delays of links along paths, network/routing/spray and
// host/symmetry/folding_paths as well; switch_operations what is fixed.
//
// Model: a message whose bits leave at the rate that its slowest link gives them has arrived after
// that time and
//   fixed     propagation of every cable, and switching where a cable ends at a packet switch
//   packets   every cable of the network carries whole packets, since switches store a packet
//             before they forward it (Forwarding): the last packet, behind a full one if there are
//             several, crosses each but the slowest once more. With N full packets of F bytes,
//             cables of rates r and the slowest m, the time of N packets in a pipeline is
//             N F / m + sum over cables of F / r - F / m
// A cable that carries a share of the message only (network/routing/spray) counts as so much faster
// when the slowest is looked for. Links inside hosts store nothing, but may be the slowest. So a
// message that meets nobody takes as long as packet by packet (host/transport/packet_network).
// Threads: values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/wire_format.hpp"

namespace weft {

class Topology;

/// What packet switches do with a packet.
enum class Forwarding : std::uint8_t {
  store_and_forward,  ///< send it on when all of it is here
  cut_through,        ///< as soon as its header is
};

/// Of a path, or of a part of one.
struct PathDelay {
  Duration fixed;
  std::int64_t per_byte = 0;      ///< on all cables of the network, in 2^-16 ticks
  std::int64_t slowest_byte = 0;  ///< on the slowest link, likewise

  /// What a message that leaves as these packets takes more than its time to leave, rounded up.
  Duration of(const PacketTrain& train) const;
  /// Of a message without bytes: its packet leaves in no time.
  Duration of_empty(const PacketTrain& train) const;

  /// The message leaves at no more than `rate`, whatever the links can do.
  void limit_to(double rate_bps);
  /// The path goes on.
  PathDelay& operator+=(const PathDelay& other) {
    fixed += other.fixed;
    per_byte += other.per_byte;
    slowest_byte = std::max(slowest_byte, other.slowest_byte);
    return *this;
  }
  friend PathDelay operator+(PathDelay a, const PathDelay& b) { return a += b; }
  friend bool operator==(const PathDelay&, const PathDelay&) = default;
};

/// What crossing each link takes, by LinkId.
class LinkDelays {
 public:
  LinkDelays(const Topology& topology, Duration switching_delay, Forwarding forwarding);
  PathDelay of(LinkId link) const { return links_[link.index()]; }
  /// Of a link that carries `load` of a message, > 0.
  PathDelay of(LinkId link, double load) const;
  std::size_t size() const { return links_.size(); }

 private:
  std::vector<PathDelay> links_;
};

}  // namespace weft
