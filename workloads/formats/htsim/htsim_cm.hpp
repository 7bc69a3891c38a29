// htsim import: a connection matrix (formats/htsim_matrix) -> Workload.
//
// Where it sits: format "htsim" of workload_reader.
//
// Model
//   - Each node is a rank; a connection is a send at its source and a receive at its destination,
//     which waits from the beginning. Equal ranks share a role, with peers as offsets.
//   - start: an op of that duration comes before the send. htsim's picoseconds are rounded to ticks
//     of 10 ps. They count from when the ranks start, as everything in a workload does: in a run
//     that is scheduler.control_delay after the job was submitted.
//   - A trigger is activated when the send (send_done_trigger) or the receive (recv_done_trigger)
//     of a connection is done. oneshot starts all its targets when it is activated, which happens
//     once; barrier when it was activated `count` times; multishot starts one target per
//     activation, in file order.
//   - In htsim a trigger acts at once at any node. Here the node where it is activated must tell
//     the node where a connection starts: with an empty message unless they are the same, which
//     takes the network's latency. A barrier gathers at the node of its first target and goes out
//     from there.
//   - Which activation of a multishot comes first shows only while running. The order is that of a
//     run in which each connection has 100 Gb/s, htsim's default link speed, to itself and ends
//     size / rate after its start; ends of one instant are in file order. For matrices that keep N
//     connections under way this gives N chains.
//   - prio: a smaller number goes first, and none is 0, as when htsim's NDP receivers pull. Here
//     that holds on every link: the largest number of the file is priority 0 of its sends, each
//     smaller one a higher one, and numbers above 7 count as 7.
// Assumptions are written into Workload::assumptions. Errors: see htsim_matrix.hpp, and
// [rank-conflict], [never-starts], [fires-twice], [trigger-count], [too-many-roles].
// Not modelled: failure lines (break the links in the topology), connections without end (size 0).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

/// `ranks` must agree with the file. Throws InputError.
Workload import_htsim(const std::string& path, std::optional<std::uint32_t> ranks, const OptionNames& names = {});

}  // namespace weft
