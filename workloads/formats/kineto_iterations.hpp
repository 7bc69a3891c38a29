// Kineto iterations: where the iterations of a profiler trace begin and end, and which of them are alike.
//
// Where it sits: between formats/kineto_trace and formats/kineto.
//
// Model
//   - Marked by annotations: ProfilerStep#N (profiler.step()) if there are any; else from the end of one optimizer step
//     (Optimizer.step#...) to the end of the next, when there are at least two.
//   - Else by repetition: the sequence of GPU ops in launch order, read from its end, is tested for the shortest period that covers
//     at least two repetitions and four fifths of it, and holds at least 16 ops (Z-function, linear time).
//   - Iterations are alike when they launch the same kernels (by name) on the same streams in the same order.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/formats/kineto_replay.hpp"

namespace weft {

struct KinetoIterations {
  enum class Source : std::uint8_t { none, profiler_steps, optimizer_steps, repetition };

  Source source = Source::none;
  KinetoBoundaries boundaries;                      ///< count() + 1 of them, or none
  std::uint32_t main_thread = kineto_none;          ///< that carries the annotations
  std::vector<std::vector<std::uint32_t>> kernels;  ///< per iteration, in launch order
  std::uint32_t typical = 0;                        ///< of the most frequent kind, the one of median length
  std::vector<std::uint32_t> alike;                 ///< those of the typical one's kind, itself included

  std::uint32_t count() const { return static_cast<std::uint32_t>(kernels.size()); }
};

KinetoIterations find_kineto_iterations(const KinetoTrace& trace);

/// Whether two iterations launch the same kernels.
bool are_alike(const KinetoTrace& trace, const KinetoIterations& iterations, std::uint32_t a, std::uint32_t b);

}  // namespace weft
