// SPDX-License-Identifier: Apache-2.0
// PortMessage: the small record that batch nodes - switches and network cards - send each other by
// the million.
//
// Where it sits: what an Event is to hosts, schedulers and other general entities, a port message
// is to the nodes of core/engine/batch_node: 24 bytes instead of 64, no key of its own, no queue. A
// node gets all port messages of a window at once, sorted.
//
// Order: (time, port). Two port messages never reach one port of a node at one instant, as what a
// link carries takes time; so the order is total, and depends neither on threads nor on partitions.
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/values/units.hpp"

namespace weft {

struct PortMessage {
  PortMessage() = default;
  template <class T>
  PortMessage(Time arrival, std::uint32_t at_port, const T& value) : time(arrival), port(at_port) {
    set_payload(value);
  }

  Time time;  ///< of arrival
  /// Of the receiver at which it arrives; < message_ports_max.
  std::uint32_t port = 0;
  std::array<std::uint32_t, 3> payload{};  ///< meaning belongs to the nodes

  /// Stores a plain value of at most 12 bytes in the payload.
  template <class T>
  void set_payload(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(payload));
    std::memcpy(payload.data(), &value, sizeof(T));
  }
  /// Reads back what set_payload stored.
  template <class T>
  T payload_as() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(payload));
    T value;
    std::memcpy(static_cast<void*>(&value), payload.data(), sizeof(T));
    return value;
  }
};
static_assert(sizeof(PortMessage) == 24);

/// A node has fewer ports than this.
inline constexpr int message_port_bits = 14;
inline constexpr std::uint32_t message_ports_max = 1U << message_port_bits;

/// A port message on its way to another logical process.
struct PortMessageTo {
  PortMessage port_message;
  std::uint32_t local = 0;  ///< place of the receiver in that process
};
static_assert(sizeof(PortMessageTo) == 32);

}  // namespace weft
