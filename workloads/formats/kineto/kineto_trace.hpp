// SPDX-License-Identifier: Apache-2.0
// Kineto trace: one rank's file of PyTorch's profiler (Chrome JSON, plain or gzip) as arrays.
//
// Where it sits: formats/kineto reads one per rank; formats/kineto_replay rebuilds from it who
// waited for whom. The format is what pytorch/kineto's libkineto/src/output_json.cpp and PyTorch's
// torch/csrc/profiler write.
//
// Read are traceEvents of phase X (calls of CPU threads, GPU ops, what synchronisation calls waited
// for), the arguments of communication, and distributedInfo; docs/internals/workload_readers.md
// lists them. Times are microseconds with up to three decimals in the file; here they are whole
// nanoseconds since the first event, so that nothing is lost to rounding however large the epoch.
// Categories that this reader has never heard of are counted in `unknown_categories`.
//
// Errors, placed by line and column: [empty-file], [not-utf8], [bad-json], [truncated-file],
// [not-kineto], [missing-attribute], [bad-value], [negative-duration], [out-of-range], [no-ops],
// [too-large].
// Memory: about twice the unpacked file while reading, then about 50 bytes per event.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/formats/rank_set.hpp"

namespace weft {

/// "None" of the indices below.
constexpr std::uint32_t kineto_none = UINT32_MAX;

/// A stretch of a CPU thread.
struct KinetoCall {
  enum class Kind : std::uint8_t { op, annotation, runtime };

  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t correlation = -1;              ///< of runtime calls
  std::int64_t external_id = -1;              ///< of ops
  std::uint32_t thread = 0;                   ///< index of KinetoTrace::threads
  std::uint32_t name = 0;                     ///< index of KinetoTrace::names
  std::uint32_t communication = kineto_none;  ///< index of KinetoTrace::communications
  Kind kind = Kind::op;
};

/// A kernel, copy or fill on a GPU.
struct KinetoKernel {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t correlation = -1;
  std::int64_t external_id = -1;
  std::uint32_t stream = 0;  ///< index of KinetoTrace::streams
  std::uint32_t name = 0;
  std::uint32_t communication = kineto_none;
  /// Index of KinetoTrace::calls: the call of the same correlation.
  std::uint32_t launch = kineto_none;
};

/// What a synchronisation call waited for, by the call's correlation.
struct KinetoSync {
  std::int64_t correlation = -1;
  std::int64_t record_correlation = -1;  ///< of the cudaEventRecord whose event was waited for
  /// The stream that waited, or was waited for if there is no event.
  std::uint32_t stream = kineto_none;
  std::uint32_t wait_on_stream = kineto_none;
};

/// Arguments of a communication as the file gives them; -1 and "" where it does not.
struct KinetoCommunication {
  /// "allreduce", "_allgather_base", or what follows "nccl:" in an annotation.
  std::string collective;
  std::string type;  ///< "Float", "BFloat16", or "float", "c10::Half"
  std::string group_name;
  std::string group_description;
  std::string group_ranks;  ///< "[0, 1]"
  std::string splits_in;    ///< "In split size": "[4, 12]"
  std::string splits_out;   ///< "Out split size"
  std::int64_t elements_in = -1;
  std::int64_t elements_out = -1;
  std::int64_t group_size = -1;
  std::int64_t rank_start = -1;
  std::int64_t rank_stride = -1;
  /// "Rank": position of the root; of collectives without one, of the rank itself.
  std::int64_t root = -1;
  std::int64_t source = -1;                ///< "Src Rank": a rank of the world
  std::int64_t destination = -1;           ///< "Dst Rank": a rank of the world
  std::int64_t source_position = -1;       ///< of an annotation's name: a position in the group
  std::int64_t destination_position = -1;  ///< of an annotation's name: a position in the group
  /// Byte of the unpacked file where the name of the collective stands.
  std::uint64_t offset = 0;
};

struct KinetoTrace {
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> world_size;
  /// Of distributedInfo; none that hold everyone without listing them.
  std::vector<ProcessGroup> groups;

  std::vector<KinetoCall> calls;      ///< by thread, then begin, the enclosing ones first
  std::vector<KinetoKernel> kernels;  ///< by begin, then end, then place in the file
  std::vector<KinetoSync> syncs;      ///< in the order of the file
  std::vector<KinetoCommunication> communications;

  std::vector<std::string> names;
  /// "pid/tid", in order of appearance.
  std::vector<std::string> threads;
  /// (device, stream), in order of appearance.
  std::vector<std::pair<std::int64_t, std::int64_t>> streams;
  std::map<std::string, std::uint64_t> unknown_categories;  ///< category -> events left out
};

/// Reads one file. Throws InputError.
KinetoTrace read_kineto_trace(const std::string& path);

/// The ranks of "[0, 1, 2]"; none if the text is something else, such as a list cut short by "...".
std::optional<std::vector<std::uint32_t>> parse_kineto_ranks(std::string_view text);

/// All ranks of a group of `size` of which PyTorch listed the first only, "[0, 2, 4, ...]" (it
/// stops after 30), if the others go on at the distance of these. None if the text is something
/// else, or the ranks listed do not ascend evenly.
std::optional<std::vector<std::uint32_t>> complete_kineto_ranks(std::string_view text, std::int64_t size);

}  // namespace weft
