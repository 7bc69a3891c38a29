// SPDX-License-Identifier: Apache-2.0
// A topology and its flows in ns-3: hosts and switches of Weft's packet mode as nodes, a TCP
// connection with DCTCP per flow along the paths that Weft hashes for it.
//
// Where it sits: ns3_peer and ns3_flows make one and run it.
//
// Model: links have the rate and delay of the topology's. Switches have a RED queue disc at every
// port, which marks by the queue of the moment and has room for all. All connections are open
// before the clock of the flows starts; flows then start at their listed times, and end when the
// last byte is with the receiver.
//
// ns-3 3.37 has no ECMP by flow: its global routing takes one path for all flows to a host, or a
// random one for each packet, which TCP mistakes for losses. So every flow has a port number of its
// own, by which nodes look up where its packets go on. A card has one address: ns-3 compares what
// arrives with all addresses of a node's interface, for every socket of the node.
//
// Left out: what lies between a GPU and its network card but for its delay, priorities, pauses.
// Threads: ns-3 has global state, so there is one network at a time.
#pragma once

#include <ns3/callback.h>
#include <ns3/ipv4-address.h>
#include <ns3/net-device.h>
#include <ns3/node-container.h>
#include <ns3/nstime.h>
#include <ns3/queue-disc-container.h>
#include <ns3/socket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/values/units.hpp"
#include "host/transport/packet_settings.hpp"
#include "network/packet/packet_topology.hpp"
#include "topologies/topology.hpp"
#include "workloads/formats/flow_list.hpp"

namespace weft {

struct Ns3Settings {
  Bytes payload;  ///< of a full packet
  /// own: TCP's own slow start, ten packets at first, and one queue per card. round_trip: as cards
  /// of RDMA, what fits into a round trip when nothing else is under way, from the first packet on
  /// and never more, and flows take turns at the card (FQ-CoDel, RFC 8290).
  enum class Window : std::uint8_t { own, round_trip };
  Window window = Window::own;
  Duration switching_delay;  ///< of every switch
  Duration host_latency;     ///< from a flow's start until its first packet may leave
};

struct Ns3Result {
  double cpu_s = 0;                          ///< of the run alone
  std::vector<std::optional<Duration>> fct;  ///< by place in the list; none: still under way
  std::uint64_t marks = 0;
  std::uint64_t drops = 0;
};

class Ns3Paths;

class Ns3Network {
 public:
  static constexpr std::uint32_t flows_max = 64'000;

  /// `packet` says from which queues on switches mark. The others outlive the network. Requires: at
  /// most flows_max flows, between endpoints of different hosts, and of less than 4 GiB.
  Ns3Network(const Topology& topology, const PacketTopology& nodes, const FlowList& flows, const PacketSettings& packet,
             const Ns3Settings& settings);
  ~Ns3Network();
  Ns3Network(const Ns3Network&) = delete;
  Ns3Network& operator=(const Ns3Network&) = delete;

  /// Once.
  Ns3Result run();

 private:
  void set_defaults() const;
  Duration cable_delay(std::uint32_t node, const PacketTopology::Port& to) const;
  void add_cables();
  void add_stacks(const PacketSettings& packet);
  void add_flow(std::uint32_t i);
  ns3::Ipv4Address address(std::uint32_t node, std::uint32_t port) const;
  Duration round_trip(const PacketTopology::Route& there, const PacketTopology::Route& back) const;
  std::uint32_t window_packets(const PacketTopology::Route& there, const PacketTopology::Route& back) const;
  void receive(std::uint32_t i, const ns3::Ptr<ns3::Socket>& socket);
  void start_when_all_are_open();

  const Topology& topology_;
  const PacketTopology& peers_;
  const FlowList& flows_;
  Ns3Settings settings_;
  std::unique_ptr<Ns3Paths> paths_;
  ns3::NodeContainer nodes_;
  std::vector<std::vector<ns3::Ptr<ns3::NetDevice>>> devices_;  ///< by node and port
  std::vector<ns3::QueueDiscContainer> discs_;
  std::vector<ns3::Ptr<ns3::Socket>> senders_;
  std::vector<Duration> latencies_;  ///< by flow, before its first packet
  std::size_t open_ = 0;
  ns3::Time start_;
  std::vector<std::optional<Duration>> fct_;
};

}  // namespace weft
