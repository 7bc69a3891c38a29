// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim and SimAI text workloads: one table of layers -> Workload. All ranks share one role.
//
// Where it sits: formats "astrasim-text" and "simai" of workload_reader; formats/layer_rows reads
// the table itself. layer_text.cpp states the order of each kind of parallelism.
//
// One iteration is one pass over the rows, in the order of ASTRA-sim's Workload.cc. A collective
// that takes part in the network is followed by its row's update time before anybody goes on.
// Collectives of one communicator run one after the other, as on a GPU's communication stream.
// Groups: without a suffix, forward and input-gradient collectives run among the ranks of "tp",
// those of weight gradients among the ranks of "dp". DATA, DLRM, MICRO, MODEL and
// DISTRIBUTED_INFERENCE use all ranks. See strided_groups for who is in which group.
// Sizes are the input of one rank. SimAI's ALLGATHER gives what a rank holds afterwards, so a
// rank's part is the group's share of it, rounded up. ASTRA-sim's gives a rank's own part
// (Ring.cc).
// Pipelines: SimAI's rows are one rank's work for all ga micro-batches, each beginning with the row
// embedding_layer. With pp_comm a rank passes vpp messages of that size to the next stage after
// each micro-batch, forward and backward, and waits for as many from the stage before.
//
// What the format leaves open is written into Workload::assumptions. Errors: see layer_rows, and
// [rank-conflict], [ranks-needed], [bad-groups], [bad-checkpoint], [missing-key], [out-of-range].
// Not modelled: pipeline bubbles, the queueing discipline (LIFO, FIFO) of ASTRA-sim's scheduler,
// passes that overlap.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag_fwd.hpp"
#include "workloads/formats/layer_text/layer_rows.hpp"

namespace weft {

struct LayerTextOptions {
  /// Needed where the file has no all_gpus, must agree where it has.
  std::optional<std::uint32_t> ranks;
  std::string time_unit;   ///< "ns", "us" or "ms"; empty: ns
  OptionNames names = {};  ///< as the user gave them
};

/// Throws InputError.
Workload import_layer_text(const SourceText& source, LayerDialect dialect, const LayerTextOptions& options);

}  // namespace weft
