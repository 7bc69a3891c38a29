// Collectives are programs: what a collective asks of each rank, compiled into send, receive and reduce steps.
//
// Where it sits: an algorithm (one file each: ring, direct) compiles a `CollectiveRequest` into one `CollectiveProgram` per role; the
// collective library keeps the programs of a run; each rank's DAG runner executes its own program step by step. No global
// collective state exists, so a collective runs in parallel like everything else, in flow and in packet mode alike.
//
// Model
//   - The n members of the group have positions 0..n-1. A program is written relative to the executing position p, so that all
//     positions of a role share it: peer = (p + peer_offset) mod n.
//   - The buffer of B bytes is cut into `parts`; part i holds floor((i+1)B/parts) - floor(iB/parts) bytes, so sizes add up to B
//     exactly. A message carries `part_count` consecutive parts from `part_begin` (relative to p, or absolute), modulo `parts`.
//   - A step runs when its predecessors are done. A send is done when its last byte left the source; a receive when the message is
//     here; a reducing receive when it has also been added up; a join at once.
//   - A send names the receiving step in the receiver's program (`remote_step`), so arrivals need no search.
//
// Adding an algorithm: one file that implements CollectiveAlgorithm, one line in collective_algorithms().
// Thread safety: programs are immutable and shared by all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/params.hpp"
#include "core/units.hpp"
#include "workloads/dag.hpp"

namespace weft {

/// What is asked for. `bytes` as in workloads/dag.hpp: the input buffer of one rank.
struct CollectiveRequest {
  CollectiveType type = CollectiveType::all_reduce;
  std::uint32_t ranks = 1;  ///< size of the group
  std::uint32_t root = 0;   ///< position; broadcast only, 0 otherwise
  Bytes bytes;

  friend bool operator==(const CollectiveRequest&, const CollectiveRequest&) = default;
};

enum class StepKind : std::uint8_t { send, receive, receive_reduce, join };

struct CollectiveStep {
  StepKind kind = StepKind::join;
  bool absolute_parts = false;  ///< part_begin counts from part 0 instead of from the executing position
  std::int32_t peer_offset = 0;
  std::uint32_t part_begin = 0;
  std::uint32_t part_count = 0;
  std::uint32_t remote_step = 0;  ///< send: index of the receive in the receiver's program
};

/// The steps of one role.
class CollectiveProgram {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(steps_.size()); }
  const CollectiveStep& step(std::uint32_t index) const { return steps_[index]; }
  std::span<const std::uint32_t> successors(std::uint32_t index) const;
  std::span<const std::uint32_t> predecessor_counts() const { return predecessor_counts_; }

  /// Whether all parts have one size, so that every position sends messages of the same sizes.
  bool parts_are_equal() const { return buffer_.count() % parts_ == 0; }
  /// Position of the step's peer.
  std::uint32_t peer(std::uint32_t index, std::uint32_t position) const;
  /// Bytes of the step's message as seen by `position`.
  Bytes message_bytes(std::uint32_t index, std::uint32_t position) const;

 private:
  friend class CollectiveProgramBuilder;
  std::uint32_t ranks_ = 1;
  std::uint32_t parts_ = 1;
  Bytes buffer_;
  std::vector<CollectiveStep> steps_;
  std::vector<std::uint32_t> predecessor_counts_;
  std::vector<std::uint32_t> successors_begin_;
  std::vector<std::uint32_t> successors_;
};

class CollectiveProgramBuilder {
 public:
  /// `buffer` is cut into `parts`. Requires: ranks, parts >= 1.
  CollectiveProgramBuilder(std::uint32_t ranks, std::uint32_t parts, Bytes buffer);
  /// Index of the new step.
  std::uint32_t add(const CollectiveStep& step);
  std::uint32_t size() const { return program_.size(); }
  /// `step` waits for `earlier`. Requires: earlier < step.
  void after(std::uint32_t step, std::uint32_t earlier);
  CollectiveProgram build() &&;

 private:
  CollectiveProgram program_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  ///< (earlier, step)
};

/// A way to carry out collectives.
class CollectiveAlgorithm {
 public:
  virtual ~CollectiveAlgorithm() = default;
  virtual bool supports(CollectiveType type) const = 0;
  /// Positions with the same role share a program. Roles are numbered from 0.
  virtual std::uint32_t role_count(const CollectiveRequest& request) const = 0;
  virtual std::uint32_t role_of(const CollectiveRequest& request, std::uint32_t position) const = 0;
  /// Requires: request.ranks >= 2 and supports(request.type).
  virtual CollectiveProgram compile(const CollectiveRequest& request, std::uint32_t role) const = 0;
};

using CollectiveAlgorithmFactory = std::unique_ptr<CollectiveAlgorithm> (*)(const ParamSet& params);
/// All algorithms, by name.
std::span<const Module<CollectiveAlgorithmFactory>> collective_algorithms();

/// Size of part `index` of `buffer` cut into `parts`.
Bytes part_bytes(Bytes buffer, std::uint32_t parts, std::uint32_t index);

}  // namespace weft
