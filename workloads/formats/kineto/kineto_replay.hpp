// Kineto replay: the dependencies that a profiler trace does not write down, rebuilt from what it
// does - one rank as ops and edges.
//
// Where it sits: between formats/kineto_trace (the file) and formats/kineto (the workload). Times
// are still the measured ones: started as soon as its predecessors are done, every op begins
// exactly when the trace says it did (if the calls of a thread nest, as they should). Make one
// longer, and what waited for it moves.
//
// CPU threads
//   - Nested calls are flattened: a thread is a chain of stretches without overlap, each named
//     after the outermost call. It is cut where it launches GPU ops and where it waits. The time
//     between outermost calls (Python, mostly) is real and stays, as stretches "host".
//   - Waiting for the GPU: *DeviceSynchronize waits for what was launched before on every stream.
//     *StreamSynchronize and *EventSynchronize wait for what cuda_sync events name; without those,
//     for the op that ended last while the call lasted. A copy from the GPU to pageable memory and
//     a copy call without Async wait for their own copy. What remains of the call after the awaited
//     end is CPU time.
//   - Handing over between threads (forward -> autograd -> optimizer): a thread that was idle while
//     another worked, and goes on within the last tenth of the gap after the other has become idle,
//     has waited for it. Gaps below 50 us are taken to be the thread's own.
// GPU streams
//   - Ops of one stream run in order. An op starts after the beginning of the call that launched it
//     (same correlation).
//   - Streams wait for streams: by cuda_sync events where they are recorded. Otherwise
//     cudaStreamWaitEvent makes the next op that its thread launches wait; inside a c10d call for
//     the work that feeds the communication, elsewhere for the thread's oldest communication not
//     yet waited for (c10d's Work.wait()). Communication always waits for the op that its thread
//     launched before it.
//   - An op that starts more than 20 us later than all that explains, within 10 us after the end of
//     an op of another stream, has waited for that op.
//   - What is left between an op and the latest of its predecessors is an op of its own beside the
//     stream: "launch latency" after a launch, "stream gap" behind another kernel, "event wait"
//     behind another stream.
//
// Invariants: 1. every edge runs from an op that ended no later than the other began; 2. ops are
// sorted by begin; 3. acyclic by 1 and 2.
// What evidence could not decide is counted in KinetoReplay, to be told. Not modelled: GPU ops that
// share the GPU slow each other down (measured times hold what happened); waits on locks between
// threads; contention of launches.
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
