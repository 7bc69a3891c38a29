// SPDX-License-Identifier: Apache-2.0
// Kineto replay: the dependencies that a profiler trace does not write down, rebuilt from what it
// does - one rank as ops and edges.
//
// Where it sits: between formats/kineto_trace (the file) and formats/kineto (the workload). Times
// are still the measured ones: started as soon as its predecessors are done, every op begins
// exactly when the trace says it did (if the calls of a thread nest, as they should). Make one
// longer, and what waited for it moves.
//
// A CPU thread is a chain of stretches without overlap, cut where it launches GPU ops and where it
// waits for the GPU or for another thread. GPU ops run in the order of their stream, after the call
// that launched them and after what their stream was made to wait for; what remains unexplained is
// an op of its own beside the stream. docs/internals/workload_readers.md has each rule and its
// evidence.
//
// Invariants: 1. every edge runs from an op that ended no later than the other began; 2. ops are
// sorted by begin; 3. acyclic by 1 and 2.
// What evidence could not decide is counted in KinetoReplay, to be told. Not modelled: GPU ops that
// share the GPU slow each other down; waits on locks between threads; contention of launches.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "workloads/formats/kineto/kineto_trace.hpp"

namespace weft {

/// One op of the replay.
struct KinetoOp {
  enum class Kind : std::uint8_t { call, host, delay, kernel };
  enum class Delay : std::uint8_t { launch_latency, stream_gap, event_wait };

  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t name = kineto_none;    ///< of calls and kernels: index of KinetoTrace::names
  std::uint32_t kernel = kineto_none;  ///< of kernels and delays: index of KinetoTrace::kernels
  /// Of kernels and delays: the op behind which the launching call begins.
  std::uint32_t launch = kineto_none;
  /// Of what runs in order: index below lane_count; of delays: kineto_none.
  std::uint32_t lane = 0;
  /// Index of the boundaries given; none before the first and after the last.
  std::uint32_t iteration = kineto_none;
  Kind kind = Kind::call;
  Delay delay = Delay::launch_latency;
};

struct KinetoReplay {
  std::vector<KinetoOp> ops;
  /// (dependency, op); those along lanes are not listed.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  /// First the threads of the trace, then its streams.
  std::uint32_t lane_count = 0;
  /// Per thread: launches GPU ops, or others wait for it. Threads that do neither only watch.
  std::vector<bool> thread_matters;

  std::uint64_t unlaunched = 0;     ///< GPU ops without a launching call
  std::uint64_t guessed_syncs = 0;  ///< synchronisation calls that do not say what they wait for
  std::uint64_t guessed_waits = 0;  ///< waits between streams that are not recorded
  std::uint64_t handovers = 0;      ///< waits between threads
  std::uint64_t overlapping = 0;    ///< GPU ops that overlap one of their own stream
};

/// Where iteration i begins on the CPU; the last entry is where the last one ends. Sorted. Empty:
/// no iterations.
using KinetoBoundaries = std::vector<std::int64_t>;

/// `main_thread`: the one that marks the iterations, whose time counts to the last boundary;
/// kineto_none if there is none.
KinetoReplay rebuild_kineto(const KinetoTrace& trace, const KinetoBoundaries& boundaries, std::uint32_t main_thread);

/// Whether a kernel moves data between ranks.
bool is_kineto_communication(const KinetoTrace& trace, const KinetoKernel& kernel);

}  // namespace weft
