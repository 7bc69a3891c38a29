// SPDX-License-Identifier: Apache-2.0
// Flows that share a link in packet mode: how evenly, and how much of the link they use,
// millisecond by millisecond.
//
// Where it sits: shared_link_test holds the numbers to their bounds, and the program `shared_link`
// prints them for README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/units.hpp"
#include "network/transfer_records.hpp"

namespace weft {

struct SharedLink {
  std::string congestion_control;
  Bandwidth rate;
  std::uint32_t flows = 2;
  Duration apart = Duration::us(100);  ///< from one flow's start to the next
  Duration length = Duration::ms(8);
  std::vector<std::pair<std::string, std::string>> settings = {};  ///< "module.param", value
};

struct SharedLinkShares {
  struct Bin {
    double utilization = 0;  ///< of what the link can carry of messages
    double jain = 0;         ///< (sum x)^2 / (n sum x^2) over the bytes of all flows in it
  };
  std::vector<Bin> bins;  ///< of a millisecond
  PacketCounters counters;
  std::uint64_t queue_peak = 0;  ///< bytes, of all ports
  std::uint64_t delivered = 0;   ///< bytes
  std::uint64_t fingerprint = 0;
};

/// Hosts of a k = 8 fat tree, all links alike, send to host 0 without end from one other pod after
/// the other.
SharedLinkShares share_link(const SharedLink& link, std::uint32_t threads = 1);

}  // namespace weft
