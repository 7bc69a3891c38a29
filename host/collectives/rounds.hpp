// SPDX-License-Identifier: Apache-2.0
// Rounds: exchanges that follow one another; in each a rank sends one message and receives one.
//
// Where it sits: halving_doubling and bruck add steps to their programs with it.
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <optional>

#include "host/collectives/collective_program.hpp"

namespace weft {

/// A send waits for the send and the receive of the round before. A round has two steps, of which
/// either may be a join instead.
class Rounds {
 public:
  explicit Rounds(CollectiveProgramBuilder& builder) : builder_(builder) {}

  void add(const CollectiveStep& send, const CollectiveStep& receive) {
    const std::uint32_t step = builder_.add(send);
    builder_.add(receive);
    if (last_) {
      builder_.after(step, *last_);
      builder_.after(step, *last_ + 1);
    }
    last_ = step;
  }
  /// A round in which everybody's send goes to the receive of the same round.
  void add_exchange(CollectiveStep send, const CollectiveStep& receive) {
    send.remote_step = builder_.size() + 1;
    add(send, receive);
  }

 private:
  CollectiveProgramBuilder& builder_;
  std::optional<std::uint32_t> last_;  ///< send of the last round; its receive is the next step
};

}  // namespace weft
