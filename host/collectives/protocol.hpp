// SPDX-License-Identifier: Apache-2.0
// Protocol: what a collective library's way of moving data costs on top of the network.
//
// Where it sits: the collective library gives every plan one; rank runners add its latencies, and
// transfers carry its flags.
//
// Model: a collective takes base_latency once; every receive takes hop_latency_inside or
// hop_latency_network on top of the message's arrival, by whether sender and receiver share a host;
// B bytes of data take B / efficiency on the way, rounded up, because flags travel with the data,
// and, as the tuner of NCCL's rules (nccl_tuner) sets it, because copying kernels do not keep the
// links busy. Where NVSwitches add up and multiply, a link carries fewer bytes than an exchange of
// messages would put on it: then the share inside is above 1. NCCL has three (its tuning model is
// where the defaults come from): Simple signals by memory fences and moves data alone; LL stores a
// 4-byte flag with every 4 bytes of data, which needs no fence; LL128 stores 8 bytes of flags with
// every 120 of data where NVLink keeps 128 bytes together.
// Thread safety: values.
#pragma once

#include <span>
#include <string>

#include "core/text/params.hpp"
#include "core/values/units.hpp"

namespace weft {

// What a message without bytes takes by itself, inside a host and with the defaults of the table
// `flow` across one packet switch.
constexpr double empty_message_inside_us = 0.85;
constexpr double empty_message_network_us = 2.3;

struct CollectiveProtocol {
  std::string name = "ideal";
  Duration base_latency;
  Duration hop_latency_inside;
  Duration hop_latency_network;
  /// Data's share of the bytes moved between members of one host, above 0.
  double efficiency_inside = 1;
  double efficiency_network = 1;  ///< likewise between hosts

  /// Bytes moved for so much data.
  Bytes moved_bytes(Bytes data, bool inside_host) const;
};

using CollectiveProtocolFactory = CollectiveProtocol (*)(const ParamSet& params);
/// ideal, simple, ll, ll128.
std::span<const Module<CollectiveProtocolFactory>> collective_protocols();

}  // namespace weft
