// SPDX-License-Identifier: Apache-2.0
// Host defects: hosts that take what arrives more slowly than their ports bring it, and hosts whose
// cards pause their switches for good.
//
// Where it sits: host/transport/packet_settings reads `packet.slow_hosts` and
// `packet.pausing_hosts`, host/transport/packet_network asks by host, host/transport/nic does it.
//
// Text: hosts, a colon and a value, separated by commas: host3:40Gbps, host1?:10Gbps. A host is
// named by its number, host3, or as one of its endpoints; * and ? stand for what they do in
// patterns. Where several name a host, the last one stands.
// Threads: values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

class Topology;

struct HostDefect {
  std::string hosts;                    ///< which
  std::optional<Bandwidth> drain_rate;  ///< of each port
  std::optional<Time> pauses_from;

  bool operator==(const HostDefect&) const = default;
};

/// `text` is "none" or names hosts. Throws InputError [bad-value].
std::vector<HostDefect> read_slow_hosts(std::string_view text, const std::string& param);
std::vector<HostDefect> read_pausing_hosts(std::string_view text, const std::string& param);

bool concerns(const HostDefect& defect, const Topology& topology, HostId host);

/// Reports [unknown-host] for those that concern no host.
void check_defects(const std::vector<HostDefect>& defects, const Topology& topology, const std::string& param,
                   Diagnostics& diagnostics);

}  // namespace weft
