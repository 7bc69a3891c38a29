// SPDX-License-Identifier: Apache-2.0
// Collective formulas: closed forms of how long communication takes that has its links to itself.
//
// Where it sits: projections onto more nodes than were measured (node_projection.hpp) add these.
// What contention does to them is what simulations are for.
//
// Model: a message of S bytes takes a + S b (Hockney, Parallel Computing 20(3), 1994), a rank sends
// and receives at the same time, adding up takes no time, o is the overhead of a further message.
// All-reduce of S bytes among N ranks:
//   ring         2 (N - 1) a + 2 (N - 1) / N S b         Patarasuk, Yuan, JPDC 69(2), 2009
//   hypercube    2 lg N a + 2 (N - 1) / N S b            recursive halving and doubling: Thakur,
//                N a power of two                        Rabenseifner, Gropp, IJHPCA 19(1), 2005
//   bruck        ceil(lg N) a + (N - 1) S b              all inputs gathered as in Bruck et al.,
//                                                        IEEE TPDS 8(11), 1997, and added up
//   single shot  a + (N - 2) o + (N - 1) S b             all inputs are sent to all at once
// Across nodes, with g ranks in each: ring reduce-scatter and all-gather inside, 2 (g - 1) a + 2 (g
// - 1) / g S b, and the best of these between nodes for S / g.
// All-to-all of S bytes per rank, its own part included: pairwise exchange, N - 1 messages of S / N
// one after the other (Thakur et al., section 4), each at the rate of its link.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/values/units.hpp"
#include "host/projections/hardware_config.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

enum class AllReduceFormula : std::uint8_t { ring, hypercube, bruck, single_shot };
std::string_view to_text(AllReduceFormula formula);

/// Ranks that communicate, and how many of them share a node.
struct GroupSpread {
  std::uint64_t ranks = 1;
  std::uint64_t ranks_per_node = 1;

  std::uint64_t nodes() const { return (ranks + ranks_per_node - 1) / ranks_per_node; }

  friend bool operator==(const GroupSpread&, const GroupSpread&) = default;
};

/// Of an axis, where ranks are numbered as parallel_plan.hpp says and fill node by node.
GroupSpread spread_of(PlanAxis axis, const ParallelPlan& plan, std::uint32_t gpus_per_node);

/// Among ranks that are all alike; none where the formula is not for so many.
std::optional<Duration> all_reduce_time(AllReduceFormula formula, const AlphaBeta& link, Duration message_overhead,
                                        std::uint64_t ranks, Bytes size);

struct BestAllReduce {
  AllReduceFormula formula = AllReduceFormula::ring;  ///< between nodes, where there are several
  Duration time;
};

/// The fastest; of equal ones the first.
BestAllReduce best_all_reduce(const HardwareConfig& hardware, const GroupSpread& group, Bytes size);

/// All-gather or reduce-scatter of `whole` bytes on every rank together: half of an all-reduce by
/// ring or hypercube.
Duration gather_time(const HardwareConfig& hardware, const GroupSpread& group, Bytes whole);

Duration all_to_all_time(const HardwareConfig& hardware, const GroupSpread& group, Bytes size);

Duration send_time(const HardwareConfig& hardware, bool between_nodes, Bytes size);

}  // namespace weft
