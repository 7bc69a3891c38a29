// Kineto import: traces of PyTorch's profiler, one file per rank -> Workload.
//
// Where it sits: format "kineto" of workload_reader. formats/kineto_trace reads a file, formats/kineto_iterations finds its
// iterations, formats/kineto_replay rebuilds who waited for whom.
//
// Which files: PATH is one file, a folder (all its .json and .json.gz files), or the beginning of the names of several files
// (sampled_rank- for sampled_rank-0.json.gz and sampled_rank-1.json.gz). A file's rank is distributedInfo's; without it, the last
// number in the file's name; of a single file 0.
//
// Model
//   - One iteration is cut out, the same on all ranks (by the N of ProfilerStep#N where all have them, else by position): the one asked
//     for, by its position among those that all ranks have, else a typical one (of the most frequent sequence of kernels, the one of
//     median length; see kineto_iterations.hpp). Its kernels take the mean over all iterations of the rank that
//     launch the same sequence; CPU time is its own. A trace without iterations is taken whole. What its GPU ops waited for in earlier
//     iterations is dropped.
//   - Collectives are simulated: their recorded durations are dropped. Bytes are "In msg nelems" times dtype: the whole buffer, for
//     an all-gather or a gather the own shard. "Out msg nelems" is only compared with it, for what gathers or scatters; where they
//     contradict the group's size, a note counts it. A barrier moves nothing. A root is "Rank", a position in the group, or position 0.
//   - All-to-alls of uneven sizes divide as the "In split size" of all members say (formats/kineto_splits). Where one does not say it,
//     they are even ones of the group's mean size. A replayed rank stands for all: each divides its input as that one does.
//   - As recorded: nothing is simulated and nothing averaged; without an iteration asked for, the file is replayed whole, from its
//     first event to its last. Missing ranks do not matter then.
//   - Sends and receives match by order. The peer is "Dst Rank" or "Src Rank", a rank of the world; else the other rank of a group of
//     two, or what the annotation says ("nccl:send 0->1"), a position in the group.
//   - Process groups: a given JSON file, "Process Group Ranks", distributedInfo's pg_config, "Global rank start" and "stride",
//     everyone if the size is the world's, or a list that PyTorch cut short, continued evenly to "Group size", in this order. The
//     last is not done where there is a start but no stride: PyTorch leaves the stride out of groups that have none.
//   - A set must hold every rank of the world. With `ranks`, one file is replayed on that many ranks, all alike: a group of the
//     world's size is everyone, a regular one (start, stride) is repeated over the ranks, one of which only the size is known is so many
//     neighbours, any other is taken to be everyone; peers become offsets. With a single peer
//     (a pipeline's first or last stage) the ranks are instead divided into pairs of that distance, if these fill the ranks: one does
//     what was recorded, the other sends what it receives and receives what it sends, at the same points.
//   - Memory: a set is kept as arrays (about 50 bytes per event) until its typical iteration is known; with an iteration asked for, or
//     as recorded, one rank at a time is (and a set is read twice where its ranks have different iterations).
//   - Threads that launch nothing and that nobody waits for (watchdogs) are left out, unless the whole file is replayed as
//     recorded.
// What the format leaves open is written into Workload::assumptions. Errors: see kineto_trace.hpp, and [no-file], [missing-rank],
// [duplicate-rank], [unknown-rank], [rank-conflict], [out-of-range], [no-such-iteration], [unknown-collective],
// [unknown-type], [unknown-process-group], [bad-process-groups], [not-a-member], [unknown-peer],
// [too-many-streams], [contradictory-times] and those of check_workload().
// Not modelled: several processes in one file; other accelerators than CUDA and HIP devices.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/text/option_names.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

struct KinetoOptions {
  std::optional<std::uint32_t> ranks;      ///< replay a single file on so many ranks; otherwise must be the number of files
  std::optional<std::uint32_t> iteration;  ///< from 0, among those that all ranks have
  std::string process_groups_path;         ///< JSON; empty if there is none
  bool as_recorded = false;
  OptionNames names = {};  ///< as the user gave them
};

/// Throws InputError.
Workload import_kineto(const std::string& path, const KinetoOptions& options);

}  // namespace weft
