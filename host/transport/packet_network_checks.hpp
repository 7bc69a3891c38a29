// SPDX-License-Identifier: Apache-2.0
// Packet network checks: settings of the user's that packet mode cannot simulate.
//
// Where it sits: the constructor of PacketNetwork (host/transport/packet_network) calls them in
// this order, and throws what they report.
// Threads: pure functions.
#pragma once

#include "core/text/diagnostics_fwd.hpp"
#include "host/transport/packet_model.hpp"
#include "host/transport/packet_node_settings.hpp"

namespace weft {

/// Reports settings that exclude each other: [not-in-packet-mode], [needs-one-way],
/// [zero-lookahead]. `hosts_start`: hosts hand over transfers during the run.
void check_packet_choices(const PacketModel& model, bool hosts_start, Diagnostics& diagnostics);
/// Reports what is wrong for all nodes alike: [bad-threshold], [unknown-switch],
/// [unknown-priority], [unknown-host], [zero-lookahead].
void check_packet_nodes(const PacketModel& model, const PacketNodeSettings& settings, Diagnostics& diagnostics);
/// Reports the first thing that is wrong with any switch: [headroom-above-buffer],
/// [mtu-above-queue], [bad-threshold], [short-pause]. Requires: the other checks found nothing.
void check_packet_switches(const PacketModel& model, const PacketNodeSettings& settings, Diagnostics& diagnostics);

}  // namespace weft
