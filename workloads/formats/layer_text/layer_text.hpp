// ASTRA-sim and SimAI text workloads: one table of layers -> Workload. All ranks share one role.
//
// Where it sits: formats "astrasim-text" and "simai" of workload_reader; formats/layer_rows reads the table itself.
//
// Model: one iteration is one pass over the rows, in the order of ASTRA-sim's Workload.cc. F, I, W are a row's forward, input-gradient and
// weight-gradient compute, f, i, w its collectives; capitals follow each other without gap, a collective in [ ] is waited for before the
// next capital, one in ( ) runs beside them.
//   transformers          per row F [f]; then rows backwards: I [i] W (w)
//     _FWD_IN_BCKWD       before I of a row in checkpoint_initiates: F [f] again of the rows from the checkpoint before it
//   HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, HYBRID_CUSTOMIZED
//                         F [f]; backwards: I (i) W (w), then i is waited for; the first row has no i
//   MODEL                 as these, without w
//   DATA                  F; backwards: W (w) I; the first row has no I
//   HYBRID_DLRM[_ENHANCED] n   F, (f) if it is an all-to-all; after row n (the last bottom layer) f of row 0 is waited for; backwards:
//                         W (w) I, with i of row 0 issued after I of row n + 1 and waited for at the end
//   DISTRIBUTED_INFERENCE F [f]
//   MICRO                 (w) of all rows
// A collective that takes part in the network is followed by its row's update time before anybody goes on. Collectives of one
// communicator run one after the other, as on a GPU's communication stream.
//
// Groups: without a suffix f and i run among the ranks of "tp", w among those of "dp", except that DATA, DLRM, MICRO, MODEL and
// DISTRIBUTED_INFERENCE use all ranks. See strided_groups for who is in which; HYBRID_MODEL_DATA turns it round: "dp_inner" are
// neighbours, "tp_outer" are strided.
// Sizes: SimAI's ALLGATHER gives what a rank holds afterwards (its generator writes parameters at 2 bytes for the all-gather and
// gradients at 4 for the reduce-scatter of the same weights, in the ratio 1 : 2), so a rank's part is the group's share of it, rounded up;
// ASTRA-sim's gives a rank's own part (Ring.cc sends messages of that size). Other types: the input of one rank.
// Pipelines: SimAI's rows are one rank's work for all ga micro-batches without gaps, each beginning with the row embedding_layer. With
// pp_comm a rank passes vpp messages of that size to the next stage after each micro-batch, forward and backward, and waits
// for as many from the stage before: the exposed time that SimAI adds in closed form, on the simulated network.
//
// What the format leaves open is written into Workload::assumptions. Errors: see layer_rows, and [rank-conflict], [ranks-needed],
// [bad-groups], [bad-checkpoint], [missing-key], [out-of-range].
// Not modelled: pipeline bubbles, the queueing discipline (LIFO, FIFO) of ASTRA-sim's scheduler, passes that overlap.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/formats/layer_text/layer_rows.hpp"

namespace weft {

struct LayerTextOptions {
  std::optional<std::uint32_t> ranks;  ///< needed where the file has no all_gpus, must agree where it has
  std::string time_unit;               ///< "ns", "us" or "ms"; empty: ns
  OptionNames names = {};              ///< as the user gave them
};

/// Throws InputError.
Workload import_layer_text(const SourceText& source, LayerDialect dialect, const LayerTextOptions& options);

}  // namespace weft
