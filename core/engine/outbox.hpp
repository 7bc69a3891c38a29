// SPDX-License-Identifier: Apache-2.0
// Outbox: where a logical process leaves its messages to entities of other logical processes.
//
// Where it sits: the engine keeps one per worker and passes it to run_window(); it knows which
// channel leads to a target.
// Invariant: a message leaves for an instant at or after the end of the window in which it was sent
// (WEFT_CHECK), which is what makes conservative windows correct.
// Threads: belongs to one worker; the tables it reads change only while no window runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/engine/channel.hpp"
#include "core/engine/entity_directory.hpp"

namespace weft {

class Outbox {
 public:
  /// `worker_of_lp` is indexed by LpId, `channel_to` by worker; all three outlive the outbox.
  Outbox(const EntityDirectory& directory, const std::vector<std::uint32_t>& worker_of_lp, std::vector<Channel*> channel_to)
      : directory_(&directory), worker_of_lp_(&worker_of_lp), channel_to_(std::move(channel_to)) {}

  /// Delivers the message to its target's logical process at the end of this window.
  void send(const Event& event) { channel_to(directory_->place(event.target).lp, event.key.time).write(event); }
  void send(const PortMessageTo& port_message, LpId lp) { channel_to(lp, port_message.port_message.time).write(port_message, lp); }

  void open_window(Time window_end) {
    window_end_ = window_end;
    earliest_ = Time::max();
    for (Channel* channel : channel_to_) channel->open_window();
  }
  void close_window() {
    for (Channel* channel : channel_to_) channel->close_window();
  }
  /// Earliest message sent in this window; Time::max() if none.
  Time earliest() const { return earliest_; }
  std::uint64_t message_count() const { return message_count_; }

 private:
  Channel& channel_to(LpId lp, Time arrival) {
    WEFT_CHECK(arrival >= window_end_, "a message between logical processes travels at least one lookahead");
    if (arrival < earliest_) earliest_ = arrival;
    ++message_count_;
    return *channel_to_[(*worker_of_lp_)[lp.index()]];
  }

  const EntityDirectory* directory_;
  const std::vector<std::uint32_t>* worker_of_lp_;
  std::vector<Channel*> channel_to_;
  Time window_end_;
  Time earliest_ = Time::max();
  std::uint64_t message_count_ = 0;
};

}  // namespace weft
