// SPDX-License-Identifier: Apache-2.0
// Kineto iterations: where the iterations of a profiler trace begin and end, which of them are
// alike, and which one stands for all.
//
// Where it sits: between formats/kineto_trace and formats/kineto.
//
// Model
//   - Marked by annotations: ProfilerStep#N (profiler.step()) if there are any; else from the end
//     of one optimizer step (Optimizer.step#...) to the end of the next, when there are at least
//     two.
//   - Else by repetition: the sequence of GPU ops in launch order, read from its end, is tested for
//     the shortest period that covers at least two repetitions and four fifths of it, and holds at
//     least 16 ops (Z-function, linear time).
//   - Iterations are alike when they launch the same kernels (by name) on the same streams in the
//     same order, and their communication moves the same: verb, elements, type. All-to-alls may
//     differ in elements, which a mixture of experts routes anew every time.
//   - Iterations of a set's ranks belong together by the N of ProfilerStep#N where every rank that
//     has iterations numbers them so, in ascending order; else, or where no number is on all ranks,
//     by their position in the file. Ranks without iterations have no say.
//   - The typical iteration is one for all ranks of a set, since collectives must match between
//     them: of the most frequent kind (alike on every rank), the one of median length, where an
//     iteration lasts as long as on its slowest rank. Iterations that some rank does not have do
//     not count.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "workloads/formats/kineto/kineto_replay.hpp"

namespace weft {

struct KinetoIterations {
  enum class Source : std::uint8_t { none, profiler_steps, optimizer_steps, repetition };

  Source source = Source::none;
  KinetoBoundaries boundaries;              ///< count() + 1 of them, or none
  std::uint32_t main_thread = kineto_none;  ///< that carries the annotations
  /// Per iteration the N of its ProfilerStep#N, ascending; empty: no numbers.
  std::vector<std::uint64_t> steps;
  std::vector<std::vector<std::uint32_t>> kernels;  ///< per iteration, in launch order
  /// Per kernel of the trace: equal for equal communication; kineto_none for others.
  std::vector<std::uint32_t> messages;

  std::uint32_t count() const { return static_cast<std::uint32_t>(kernels.size()); }
};

KinetoIterations find_kineto_iterations(const KinetoTrace& trace);

/// Whether two iterations launch the same kernels with the same communication.
bool are_alike(const KinetoTrace& trace, const KinetoIterations& iterations, std::uint32_t a, std::uint32_t b);

/// One rank's trace with its iterations.
struct KinetoRecording {
  KinetoTrace trace;
  KinetoIterations iterations;
};

/// What matching the iterations of a set needs to know of one rank.
struct KinetoSteps {
  std::uint32_t count = 0;             ///< of iterations
  std::vector<std::uint64_t> numbers;  ///< KinetoIterations::steps
};

/// The iterations that all ranks of a set have.
struct KinetoAlignment {
  std::uint32_t count = 0;
  /// Per rank `count` of its own iterations, ascending; none if it has none.
  std::vector<std::vector<std::uint32_t>> of_rank;
  /// Every rank that has iterations has these and no others.
  bool is_plain = true;
  /// All ranks number their iterations, but no number is on all of them.
  bool shares_no_number = false;

  /// Of one rank; 0 where it has none.
  std::uint32_t iteration(std::size_t rank, std::uint32_t shared) const {
    return shared < of_rank[rank].size() ? of_rank[rank][shared] : 0;
  }
};

KinetoAlignment align_kineto_iterations(std::span<const KinetoSteps> ranks);

/// The one of a set's shared iterations that stands for all; 0 if there is none.
std::uint32_t typical_kineto_iteration(std::span<const KinetoRecording> ranks, const KinetoAlignment& alignment);

}  // namespace weft
