// SPDX-License-Identifier: Apache-2.0
// Channel: how messages get from one worker to another, and from there to the logical process they
// are for.
//
// Where it sits: a logical process sends through an Outbox (core/engine/outbox.hpp), which writes
// to the channel that leads to the worker that runs the target. A worker is a thread today; a
// channel to a worker on another machine implements the same functions, and neither models nor
// logical processes notice. There is one channel per pair of workers rather than per pair of
// logical processes, so that a run with many thousand logical processes scans a handful of channels
// per window.
//
// Model: single writer, single reader, conservative windows. What is written during a window is
// read after the barrier that ends it. The minimum delay from logical process to logical process -
// the lookahead - guarantees that this is early enough.
//
// Threads: per window the writer calls open_window(), write() any number of times, close_window();
// then comes the barrier; then the reader calls read() once and is done with the answer before the
// next barrier. LocalChannel keeps two buffers, so that the reader of one window and the writer of
// the next are at work at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/engine/event.hpp"
#include "core/engine/port_message.hpp"
#include "core/values/ids.hpp"

namespace weft {

class Channel {
 public:
  virtual ~Channel() = default;
  /// Begins a window for the writer, after the barrier.
  virtual void open_window() = 0;
  /// Adds a message to the current window.
  virtual void write(const Event& event) = 0;
  /// Requires: the reader runs the logical process.
  virtual void write(const PortMessageTo& port_message, LpId lp) = 0;
  /// Ends the window for the writer, before the barrier.
  virtual void close_window() = 0;
  /// What was written in the window that ended.
  struct Contents {
    std::span<const Event> events;  ///< in the order written
    /// To which port messages were written, each once.
    std::span<const LpId> lps;
    /// By LpId, each in the order written.
    std::span<const std::vector<PortMessageTo>> port_messages_to;
  };
  /// Call once per window; valid until the next barrier.
  virtual Contents read() = 0;
};

/// A channel inside one process.
class LocalChannel final : public Channel {
 public:
  void open_window() override;
  void write(const Event& event) override;
  void write(const PortMessageTo& port_message, LpId lp) override;
  void close_window() override;
  Contents read() override;

 private:
  struct alignas(64) Buffer {
    std::vector<Event> events;
    std::vector<LpId> lps;
    std::vector<std::vector<PortMessageTo>> port_messages_to;
  };
  struct alignas(64) Side {
    std::size_t parity = 0;
  };
  Buffer buffers_[2];
  Side writer_;
  Side reader_;
};

}  // namespace weft
