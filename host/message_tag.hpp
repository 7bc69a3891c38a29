// Message tag: the 64 bits of a transfer by which the receiving rank knows what has arrived.
//
// A collective message names the collective (communicator, ordinal among its collectives) and the receiving step. A point-to-point message
// names the communicator, the user's tag (as an index into the run's sorted tags) and the ordinal among equal sends. Both carry the
// iteration modulo 8,192, so that a rank that runs ahead is told apart from one that does not.
// The limits are checked before a run starts (check_tag_limits), so packing never loses bits.
// Thread safety: values; a TagIndex is immutable after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/diagnostics.hpp"
#include "workloads/dag.hpp"

namespace weft {

struct MessageTag {
  static constexpr int iteration_bits = 13;
  static constexpr int communicator_bits = 8;
  static constexpr int ordinal_bits = 20;
  static constexpr int detail_bits = 22;

  bool point_to_point = false;
  std::uint32_t iteration = 0;  ///< modulo 2^iteration_bits
  std::uint32_t communicator = 0;
  std::uint32_t ordinal = 0;  ///< RoleDag::match_ordinal
  std::uint32_t detail = 0;   ///< collective: step of the receiver's program; point to point: index of the user's tag

  std::uint64_t pack() const;
  static MessageTag unpack(std::uint64_t packed);
  /// The same message stream without `detail` for collectives: what an arrival is collected under.
  std::uint64_t pack_without_step() const;
};

/// The distinct user tags of all workloads of a run, sorted.
class TagIndex {
 public:
  explicit TagIndex(std::span<const Workload* const> workloads);
  std::uint32_t index_of(std::uint32_t user_tag) const;
  std::size_t size() const { return tags_.size(); }

 private:
  std::vector<std::uint32_t> tags_;
};

/// Adds [too-many-...] errors where a workload exceeds what a tag can hold: 256 communicators, 1,048,576 collectives per communicator and
/// role, 4,194,304 distinct point-to-point tags.
void check_tag_limits(const Workload& workload, const SourcePlace& place, Diagnostics& diagnostics);

}  // namespace weft
