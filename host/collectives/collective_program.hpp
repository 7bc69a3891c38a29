// SPDX-License-Identifier: Apache-2.0
// Collective programs: what each rank of a collective does, as send, receive and reduce steps with
// dependencies.
//
// Where it sits: an algorithm (one file each) compiles a request into a CollectivePlan; each rank's
// runner executes its program step by step. No global collective state exists, so a collective runs
// in parallel like everything else, in flow and in packet mode alike.
//
// Model
//   - Positions of the group that do the same play one role and share its program. A program names
//     peers and parts relative to the executing position: by its index in a division of the group
//     into subgroups (subgroups.hpp), of which a plan has several: rings, hosts, rails, trees.
//   - The buffer of B bytes is cut into `parts`; part i holds floor((i+1)B/parts) - floor(iB/parts)
//     bytes, so sizes add up to B exactly.
//   - A step runs when its predecessors are done, a send also waits for slots of its connection
//     (slots.hpp). A send is done when its last byte left the source; a receive when the message is
//     here; a reducing receive when it has also been added up; a join at once.
//   - A send names the receiving step in the receiver's program (`remote_step`), so arrivals need
//     no search.
// docs/internals/collectives.md, "Programs", says how phases overlap and what steps in switches do.
//
// Invariant: for every peer rule that a program sends by, no position receives from two senders by
// the same pair of rules (the sender's and the receiver's); folding ranks relies on it.
// Thread safety: plans are immutable and shared by all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/values/units.hpp"
#include "host/collectives/collective_request.hpp"
#include "host/collectives/protocol.hpp"
#include "host/collectives/slots.hpp"
#include "host/collectives/subgroups.hpp"
#include "network/in_network/switch_operations.hpp"

namespace weft {

enum class StepKind : std::uint8_t { send, receive, receive_reduce, join, in_network };

/// Who the other side of a step is, by the executing position's index i in its subgroup of n.
struct PeerRule {
  enum class Kind : std::uint8_t {
    offset,        ///< index (i + operand) mod n
    exclusive_or,  ///< index i xor operand
    member,        ///< index operand
    tree_parent,   ///< neighbours in binary_tree
    tree_left,
    tree_right,
  };
  Kind kind = Kind::offset;
  std::uint8_t division = 0;  ///< of the plan; 0 is the whole group in order of position
  std::int32_t operand = 0;

  friend bool operator==(const PeerRule&, const PeerRule&) = default;
};

/// A number of parts that depends on an index i in a subgroup of n.
struct PartIndex {
  enum class Kind : std::uint8_t {
    zero,         ///< 0
    offset,       ///< (i + operand) mod n
    position,     ///< position in the group of the member with that index
    own_block,    ///< i with its `operand` lowest bits cleared
    other_block,  ///< the same of i with bit `operand` flipped
  };
  Kind kind = Kind::zero;
  std::uint8_t division = 0;
  std::int32_t operand = 0;
  std::uint32_t stride = 0;  ///< parts per unit of the index
};

/// Which parts a message carries: `count` from base + outer + inner on. If `inner` is an offset,
/// parts wrap round after its n x stride. With a `run`, for blocks of an all-to-all that are
/// forwarded: `run` blocks, of as many sources, of every (2 run)-th part; `count` in all. `inner`
/// is an offset then.
struct PartRange {
  std::uint32_t base = 0;
  std::uint32_t count = 0;
  PartIndex outer;
  PartIndex inner;
  std::uint32_t run = 0;
  /// all_to_all: every part holds blocks of so many senders, which travel together.
  std::uint32_t blocks = 1;
};

struct CollectiveStep {
  StepKind kind = StepKind::join;
  std::uint8_t channel = 0;
  /// Carries what the request's split table says for (source, destination), instead of parts.
  bool from_splits = false;
  /// in_network: the division whose subgroup takes part; of reduce and broadcast, the root as a
  /// member.
  PeerRule peer;
  std::uint32_t remote_step = 0;  ///< send: index of the receive in the receiver's program
  PartRange parts;
  SwitchOperationKind operation = SwitchOperationKind::all_reduce;  ///< of in_network
  /// That the message stands for, with the latencies of all.
  std::uint32_t rounds = 1;
};

/// The steps of one role.
class CollectiveProgram {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(steps_.size()); }
  const CollectiveStep& step(std::uint32_t index) const { return steps_[index]; }
  std::span<const std::uint32_t> successors(std::uint32_t index) const;
  std::span<const std::uint32_t> predecessor_counts() const { return predecessor_counts_; }
  /// Steps without predecessors, ascending.
  std::span<const std::uint32_t> first_steps() const { return first_steps_; }
  /// Sends whose messages the receivers take by a step of that number, which go to different
  /// positions.
  std::span<const std::uint32_t> sends_to(std::uint32_t remote_step) const;

 private:
  friend class CollectiveProgramBuilder;
  std::vector<CollectiveStep> steps_;
  std::vector<std::uint32_t> predecessor_counts_;
  std::vector<std::uint32_t> successors_begin_;
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> sends_;  ///< by remote_step
  std::vector<std::uint32_t> first_steps_;
};

class CollectiveProgramBuilder {
 public:
  /// Index of the new step.
  std::uint32_t add(const CollectiveStep& step);
  /// Index of a new join.
  std::uint32_t add_join() { return add({}); }
  std::uint32_t size() const { return program_.size(); }
  /// `step` waits for `earlier`. Requires: earlier < step (WEFT_CHECK).
  void after(std::uint32_t step, std::uint32_t earlier);
  CollectiveProgram build() &&;

 private:
  CollectiveProgram program_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  ///< (earlier, step)
};

/// A PartRange as seen by a position; after part `wrap_begin + wrap_size - 1` comes `wrap_begin`.
struct PartSpan {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t wrap_begin = 0;
  std::uint32_t wrap_size = 0;
  std::uint32_t run = 0;

  /// The i-th part; with a run, the one of the i-th block. Requires: i < count.
  std::uint32_t part(std::uint32_t i) const {
    const std::uint32_t beyond_first = run == 0 ? i : i / run * 2 * run;
    return wrap_begin + (first - wrap_begin + beyond_first) % wrap_size;
  }
};

/// A collective, ready to run: the programs of all roles and what they refer to.
struct CollectivePlan {
  /// A plan in which all positions play role 0 and the whole group is the only division.
  CollectivePlan(const CollectiveRequest& asked, std::uint32_t part_count, Bytes whole_buffer);

  CollectiveRequest request;
  std::string algorithm;       ///< as it is called in results
  std::uint32_t channels = 1;  ///< that the algorithm would use; those that are alike travel as one
  std::string reason;          ///< why the rules chose it; "" where the user did
  CollectiveProtocol protocol;
  CollectiveSlots slots;
  /// From the start of the op to that of its first step, the protocol's base latency included.
  Duration launch_latency;
  bool uses_switches = false;  ///< has in_network steps
  std::uint32_t parts = 1;
  std::uint32_t pieces = 1;  ///< of every share; divides `parts`
  Bytes buffer;              ///< what is cut into parts
  /// The division whose members own the shares in turn, where results are tied to positions.
  std::uint8_t share_order = 0;
  std::vector<std::shared_ptr<const Subgroups>> divisions;  ///< [0] is the whole group
  /// Per position; empty if all play role 0.
  std::vector<std::uint32_t> role_of;
  std::vector<CollectiveProgram> programs;  ///< per role

  /// Number of the new division.
  std::uint8_t add_division(std::shared_ptr<const Subgroups> division);
  std::uint32_t role_at(std::uint32_t position) const { return role_of.empty() ? 0 : role_of[position]; }
  const CollectiveProgram& program_of(std::uint32_t position) const { return programs[role_at(position)]; }
  std::uint32_t program_size_max() const;

  /// Positions that take part in an in_network step of `position`, in the subgroup's order.
  std::vector<std::uint32_t> members_of(const CollectiveStep& step, std::uint32_t position) const;
  /// Position of the other side of a send or receive as seen by `position`; of the root of an
  /// in_network step that has one.
  std::uint32_t peer(const CollectiveStep& step, std::uint32_t position) const;
  PartSpan span(const CollectiveStep& step, std::uint32_t position) const;
  /// What a send or receive moves; of an in_network step, what `position` contributes.
  Bytes message_bytes(const CollectiveStep& step, std::uint32_t position) const;
  /// Bytes of message_bytes() in the network, with the overhead of the protocol.
  Bytes moved_bytes(const CollectiveStep& step, std::uint32_t position) const;
  /// What a receive of `position` takes after the message's arrival, but for the adding up; and an
  /// in_network step after the result's.
  Duration hop_latency(const CollectiveStep& step, std::uint32_t position) const;
  /// Whether a message of an all_to_all_v is not sent because it has no bytes.
  bool is_left_out(const CollectiveStep& step, std::uint32_t position) const {
    return step.from_splits && message_bytes(step, position) == Bytes::zero();
  }
  bool awaits_message(const CollectiveStep& step, std::uint32_t position) const {
    return (step.kind == StepKind::receive || step.kind == StepKind::receive_reduce) && !is_left_out(step, position);
  }
  /// Whether messages have the same sizes at every position of a role, because all shares do.
  bool sizes_are_equal() const;
  /// Sizes of the parts of a piece repeat after so many parts.
  std::uint32_t size_period() const;

 private:
  /// Whether all who take part in a step share the host of `position`.
  bool is_inside(const CollectiveStep& step, std::uint32_t position) const;
  /// Of all parts of a step.
  Bytes parts_bytes(const CollectiveStep& step, std::uint32_t position) const;
  /// Of the parts first..end-1 of one piece.
  Bytes bytes_of(std::uint32_t first, std::uint32_t end) const;
};

/// Size of part `index` of `buffer` cut into `parts`.
Bytes part_bytes(Bytes buffer, std::uint32_t parts, std::uint32_t index);

}  // namespace weft
