// SPDX-License-Identifier: Apache-2.0
// Run notes: where a limit of the model's own settings, not the network, has set the pace of a
// finished run.
//
// Where it sits: tools/simulation/simulation asks when a run is over; `weft run` prints the notes,
// and summary.json has them.
//
// Model: a note names the worst place and the parameter that would lift the limit.
//   slots    sends of collectives waited for slots (host/ranks/slot_holdups), and what slots let
//            through per round trip is less than the path carries in that time, so that a receiver
//            that is late is not mistaken for it, all connections of a plan together where they
//            share the slowest link. A round trip is that of a message and of the news that it was
//            taken over, while nothing else is under way; of every wait no more counts than that.
//            Told from 10 % of the time of the collectives on: rings hide less than that elsewhere.
//   window   packet.window is below the bandwidth-delay product of a way on which larger transfers
//            were under way
//   TCP      what lines between sites let a connection have (network/wide_area) is less than their
//            links have
//   headroom packet.headroom is below what a cable may bring after a pause was asked for
//            (packet.unsafe)
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/ranks/job.hpp"
#include "host/ranks/slot_holdups.hpp"
#include "host/transport/packet_network.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/wide_area/wide_area_paths.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// One note for each type and algorithm of collectives. `slots` is the parameter collective.slots.
std::vector<std::string> slot_notes(std::span<const SlotHoldup> holdups, const JobTable& jobs, const Topology& topology,
                                    const FlowSettings& settings, std::uint32_t slots);
std::string window_note(const NarrowWindow& narrowest, const Topology& topology);
/// Of transfers over lines between sites, slowed down or not.
std::string wide_area_note(const WideAreaUse& use, std::uint32_t queue_pairs, const Topology& topology);
/// What packet mode leaves out of lines between sites that have carried something; "" where it
/// leaves out nothing.
std::string packets_on_lines_note(const Topology& topology, std::span<const LinkUsage> usage);
std::string headroom_note(const ShortHeadroom& shortest, const Topology& topology);

}  // namespace weft
