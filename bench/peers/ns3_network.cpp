// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/ns3_network.hpp"

#include <ns3/boolean.h>
#include <ns3/channel.h>
#include <ns3/config.h>
#include <ns3/double.h>
#include <ns3/global-value.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-route.h>
#include <ns3/ipv4-routing-helper.h>
#include <ns3/ipv4-routing-protocol.h>
#include <ns3/ipv4.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/point-to-point-net-device.h>
#include <ns3/red-queue-disc.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/tcp-dctcp.h>
#include <ns3/tcp-header.h>
#include <ns3/tcp-socket-base.h>
#include <ns3/tcp-socket-factory.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/cpu_time.hpp"
#include "core/check.hpp"

namespace weft {

namespace {

constexpr std::uint32_t packets_max = 1'000'000;  // in any queue: more than there ever are
constexpr std::int64_t header_bytes = 42;         // of a packet: TCP, IPv4 and PPP
constexpr std::int64_t mtu_least = 1500;
constexpr std::int64_t marking_rate_bps = 100'000'000'000;  // for which thresholds are given
constexpr std::int64_t ps_per_tick = 1000 / Duration::ticks_per_ns;

ns3::Time time_of(Duration duration) { return ns3::PicoSeconds(static_cast<std::uint64_t>(duration.in_ticks() * ps_per_tick)); }

}  // namespace

/// Where packets of every flow go on, by node.
class Ns3Paths {
 public:
  /// Of both ends of a flow's connection.
  static std::uint16_t port_of(std::uint32_t flow) { return static_cast<std::uint16_t>(first_port + flow); }

  struct Way {
    ns3::Ipv4Address from;
    ns3::Ipv4Address to;
    /// A node, and by what packets leave it.
    std::vector<std::pair<std::uint32_t, ns3::Ptr<ns3::NetDevice>>> hops;
  };
  /// Flows are added in order of their numbers.
  void add(Way there, Way back) { ways_.push_back({std::move(there), std::move(back)}); }
  /// Whose connection is being opened: the one packet that has no port yet.
  void open(std::uint32_t flow) { opening_ = flow; }

  ns3::Ptr<ns3::Ipv4Route> route(std::uint32_t node, const ns3::Ptr<const ns3::Packet>& packet, ns3::Ipv4Address to) const {
    std::uint32_t flow = opening_;
    if (packet) {
      ns3::TcpHeader header;
      packet->PeekHeader(header);
      flow = header.GetDestinationPort() - first_port;
    }
    const auto way = std::ranges::find(ways_[flow], to, &Way::to);
    WEFT_CHECK(way != ways_[flow].end(), "packets are on their way to an end of their flow");
    const auto hop = std::ranges::find(way->hops, node, &std::pair<std::uint32_t, ns3::Ptr<ns3::NetDevice>>::first);
    WEFT_CHECK(hop != way->hops.end(), "packets keep to their flow's path");
    auto route = ns3::Create<ns3::Ipv4Route>();
    route->SetSource(way->from);
    route->SetDestination(to);
    route->SetGateway(ns3::Ipv4Address::GetZero());
    route->SetOutputDevice(hop->second);
    return route;
  }

 private:
  static constexpr std::uint32_t first_port = 1024;

  std::vector<std::array<Way, 2>> ways_;
  std::uint32_t opening_ = 0;
};

namespace {

class PathRouting final : public ns3::Ipv4RoutingProtocol {
 public:
  PathRouting(const Ns3Paths& paths, std::uint32_t node) : paths_(paths), node_(node) {}

  ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet> packet, const ns3::Ipv4Header& header,
                                       ns3::Ptr<ns3::NetDevice> /*device*/, ns3::Socket::SocketErrno& error) override {
    error = ns3::Socket::ERROR_NOTERROR;
    return paths_.route(node_, packet, header.GetDestination());
  }
  bool RouteInput(ns3::Ptr<const ns3::Packet> packet, const ns3::Ipv4Header& header, ns3::Ptr<const ns3::NetDevice> device,
                  UnicastForwardCallback forward, MulticastForwardCallback /*multicast*/, LocalDeliverCallback deliver,
                  ErrorCallback /*error*/) override {
    const auto interface = static_cast<std::uint32_t>(ipv4_->GetInterfaceForDevice(device));
    if (ipv4_->IsDestinationAddress(header.GetDestination(), interface)) {
      deliver(packet, header, interface);
    } else {
      forward(paths_.route(node_, packet, header.GetDestination()), packet, header);
    }
    return true;
  }
  void NotifyInterfaceUp(std::uint32_t /*interface*/) override {}
  void NotifyInterfaceDown(std::uint32_t /*interface*/) override {}
  void NotifyAddAddress(std::uint32_t /*interface*/, ns3::Ipv4InterfaceAddress /*address*/) override {}
  void NotifyRemoveAddress(std::uint32_t /*interface*/, ns3::Ipv4InterfaceAddress /*address*/) override {}
  void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override { ipv4_ = ipv4; }
  void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper> /*stream*/, ns3::Time::Unit /*unit*/) const override {}

 private:
  void DoDispose() override {
    ipv4_ = nullptr;
    Ipv4RoutingProtocol::DoDispose();
  }

  const Ns3Paths& paths_;
  std::uint32_t node_;
  ns3::Ptr<ns3::Ipv4> ipv4_;
};

class PathRoutingHelper final : public ns3::Ipv4RoutingHelper {
 public:
  explicit PathRoutingHelper(const Ns3Paths& paths) : paths_(paths) {}
  PathRoutingHelper* Copy() const override { return std::make_unique<PathRoutingHelper>(*this).release(); }
  ns3::Ptr<ns3::Ipv4RoutingProtocol> Create(ns3::Ptr<ns3::Node> node) const override {
    return ns3::CreateObject<PathRouting>(paths_, node->GetId());
  }

 private:
  const Ns3Paths& paths_;
};

}  // namespace

Ns3Network::Ns3Network(const Topology& topology, const PacketTopology& nodes, const FlowList& flows, const PacketSettings& packet,
                       const Ns3Settings& settings)
    : topology_(topology),
      peers_(nodes),
      flows_(flows),
      settings_(settings),
      paths_(std::make_unique<Ns3Paths>()),
      fct_(flows.flows.size()) {
  WEFT_CHECK(flows.flows.size() <= flows_max, "every flow has a port of its own");
  set_defaults();
  nodes_.Create(nodes.node_count());
  devices_.resize(nodes.node_count());
  add_cables();
  add_stacks(packet);
  for (std::uint32_t i = 0; i < flows.flows.size(); ++i) add_flow(i);
}

Ns3Network::~Ns3Network() { ns3::Simulator::Destroy(); }

Ns3Result Ns3Network::run() {
  Ns3Result result;
  const double begin_s = process_cpu_s();
  ns3::Simulator::Run();
  result.cpu_s = process_cpu_s() - begin_s;
  result.fct = fct_;
  for (const ns3::QueueDiscContainer& disc : discs_) {
    result.marks += disc.Get(0)->GetStats().nTotalMarkedPackets;
    result.drops += disc.Get(0)->GetStats().nTotalDroppedPackets;
  }
  return result;
}

void Ns3Network::set_defaults() const {
  const auto set = [](const char* name, const ns3::AttributeValue& value) { ns3::Config::SetDefault(name, value); };
  ns3::GlobalValue::Bind("SchedulerType", ns3::StringValue("ns3::CalendarScheduler"));
  std::int64_t buffer = 0;
  for (const ListedFlow& flow : flows_.flows) buffer = std::max(buffer, flow.size.count());
  const ns3::UintegerValue all_of_a_flow(static_cast<std::uint64_t>(buffer));
  set("ns3::TcpL4Protocol::SocketType", ns3::TypeIdValue(ns3::TcpDctcp::GetTypeId()));
  set("ns3::TcpSocketBase::UseEcn", ns3::StringValue("On"));
  set("ns3::TcpSocketBase::Timestamp", ns3::BooleanValue(false));
  set("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(static_cast<std::uint64_t>(settings_.payload.count())));
  set("ns3::TcpSocket::DelAckCount", ns3::UintegerValue(1));
  set("ns3::TcpSocket::SndBufSize", all_of_a_flow);
  set("ns3::TcpSocket::RcvBufSize", all_of_a_flow);
}

/// Half of a switch's own delay on either side of it, since a cable has the same delay both ways.
Duration Ns3Network::cable_delay(std::uint32_t node, const PacketTopology::Port& to) const {
  const std::int64_t switches = (peers_.is_host(node) ? 0 : 1) + (peers_.is_host(to.peer_node) ? 0 : 1);
  const Duration inside = Duration::ticks(settings_.switching_delay.in_ticks() * switches / 2);
  return topology_.link(to.out).propagation_delay + inside;
}

void Ns3Network::add_cables() {
  ns3::PointToPointHelper cable;
  const std::int64_t mtu = std::max(mtu_least, settings_.payload.count() + header_bytes);
  cable.SetDeviceAttribute("Mtu", ns3::UintegerValue(static_cast<std::uint64_t>(mtu)));
  for (std::uint32_t node = 0; node < peers_.node_count(); ++node) {
    for (const PacketTopology::Port& to : peers_.ports(node)) {
      const Link& link = topology_.link(to.out);
      const ns3::DataRateValue rate(ns3::DataRate(static_cast<std::uint64_t>(link.rate.in_bps())));
      if (to.peer_node < node) {
        devices_[node].push_back(devices_[to.peer_node][to.peer_port]->GetChannel()->GetDevice(1));
        devices_[node].back()->SetAttribute("DataRate", rate);
        continue;
      }
      cable.SetDeviceAttribute("DataRate", rate);
      cable.SetChannelAttribute("Delay", ns3::TimeValue(time_of(cable_delay(node, to))));
      devices_[node].push_back(cable.Install(nodes_.Get(node), nodes_.Get(to.peer_node)).Get(0));
    }
  }
}

void Ns3Network::add_stacks(const PacketSettings& packet) {
  ns3::InternetStackHelper stack;
  stack.SetIpv6StackInstall(false);
  stack.SetRoutingHelper(PathRoutingHelper(*paths_));
  stack.Install(nodes_);
  std::uint32_t addresses = 0;
  for (std::uint32_t node = 0; node < nodes_.GetN(); ++node) {
    const bool is_host = peers_.is_host(node);
    for (std::uint32_t i = 0; i < devices_[node].size(); ++i) {
      const auto device = ns3::DynamicCast<ns3::PointToPointNetDevice>(devices_[node][i]);
      const bool has_disc = !is_host || settings_.window == Ns3Settings::Window::round_trip;
      device->GetQueue()->SetMaxSize({ns3::QueueSizeUnit::PACKETS, has_disc ? 1 : packets_max});
      const auto ipv4 = nodes_.Get(node)->GetObject<ns3::Ipv4>();
      if (!is_host) {
        // Marks by the queue of the moment and in proportion to the rate, as in Weft's switches.
        const double rate = static_cast<double>(topology_.link(peers_.ports(node)[i].out).rate.in_bps()) / marking_rate_bps;
        const auto queue = [&](Bytes bytes) { return ns3::DoubleValue(static_cast<double>(bytes.count()) * rate); };
        ns3::TrafficControlHelper red;
        red.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", queue(packet.ecn_kmin), "MaxTh", queue(packet.ecn_kmax), "LInterm",
                             ns3::DoubleValue(1 / packet.ecn_pmax), "QW", ns3::DoubleValue(1), "Gentle", ns3::BooleanValue(false),
                             "UseEcn", ns3::BooleanValue(true), "UseHardDrop", ns3::BooleanValue(false), "MeanPktSize",
                             ns3::UintegerValue(static_cast<std::uint64_t>(settings_.payload.count())), "MaxSize",
                             ns3::QueueSizeValue(ns3::QueueSize(ns3::QueueSizeUnit::BYTES, packets_max * 1000)));
        discs_.push_back(red.Install(devices_[node][i]));
      }
      if (is_host && has_disc) {
        ns3::TrafficControlHelper fair;
        fair.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize",
                              ns3::QueueSizeValue(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, packets_max)));
        fair.Install(device);
      }
      const std::uint32_t interface = ipv4->AddInterface(device);
      const ns3::Ipv4Address own(10U << 24U | addresses++);
      ipv4->AddAddress(interface, ns3::Ipv4InterfaceAddress(own, ns3::Ipv4Mask::GetOnes()));
      ipv4->SetUp(interface);
    }
  }
}

ns3::Ipv4Address Ns3Network::address(std::uint32_t node, std::uint32_t port) const {
  const auto ipv4 = nodes_.Get(node)->GetObject<ns3::Ipv4>();
  return ipv4->GetAddress(static_cast<std::uint32_t>(ipv4->GetInterfaceForDevice(devices_[node][port])), 0).GetLocal();
}

Duration Ns3Network::round_trip(const PacketTopology::Route& there, const PacketTopology::Route& back) const {
  Duration all;
  const Bytes full = Bytes::of(settings_.payload.count() + header_bytes);
  for (const PacketTopology::Route* route : {&there, &back}) {
    all += settings_.switching_delay * (static_cast<std::int64_t>(route->links.size()) - 1);
    // An acknowledgement waits for the packet that is on its way into the cable.
    for (const LinkId id : route->links) all += topology_.link(id).propagation_delay + transmit_time(full, topology_.link(id).rate);
  }
  return all;
}

std::uint32_t Ns3Network::window_packets(const PacketTopology::Route& there, const PacketTopology::Route& back) const {
  Bandwidth rate = topology_.link(there.links.front()).rate;
  for (const LinkId id : there.links) rate = std::min(rate, topology_.link(id).rate);
  const double held_bytes = static_cast<double>(rate.in_bps()) / 8 * round_trip(there, back).in_s();
  return static_cast<std::uint32_t>(held_bytes / static_cast<double>(settings_.payload.count() + header_bytes)) + 2;
}

void Ns3Network::add_flow(std::uint32_t i) {
  const ListedFlow& flow = flows_.flows[i];
  const auto host_of = [&](std::uint32_t endpoint) { return topology_.node(NodeId(endpoint)).host.index(); };
  const std::uint32_t source = host_of(flow.source);
  const std::uint32_t destination = host_of(flow.destination);
  const PacketTopology::Route there = peers_.route(NodeId(flow.source), NodeId(flow.destination), i, 0);
  const PacketTopology::Route back = peers_.route(NodeId(flow.destination), NodeId(flow.source), i, 0);
  const ns3::Ipv4Address sending = address(source, there.ports[0]);
  const ns3::Ipv4Address receiving = address(destination, back.ports[0]);
  const auto way = [&](std::uint32_t node, const PacketTopology::Route& route, ns3::Ipv4Address from, ns3::Ipv4Address to) {
    Ns3Paths::Way along{from, to, {}};
    for (std::size_t hop = 0; hop < route.links.size(); ++hop) {
      along.hops.emplace_back(node, devices_[node][route.ports[hop]]);
      node = peers_.ports(node)[route.ports[hop]].peer_node;
    }
    return along;
  };
  paths_->add(way(source, there, sending, receiving), way(destination, back, receiving, sending));
  latencies_.push_back(settings_.host_latency + there.inside_hosts);
  const auto listener = ns3::Socket::CreateSocket(nodes_.Get(destination), ns3::TcpSocketFactory::GetTypeId());
  const auto sender = ns3::Socket::CreateSocket(nodes_.Get(source), ns3::TcpSocketFactory::GetTypeId());
  if (settings_.window == Ns3Settings::Window::round_trip) {
    const std::uint32_t packets = window_packets(there, back);
    sender->SetAttribute("InitialCwnd", ns3::UintegerValue(packets));
    listener->SetAttribute("RcvBufSize", ns3::UintegerValue(static_cast<std::uint64_t>(packets * settings_.payload.count())));
  }
  const std::uint16_t port = Ns3Paths::port_of(i);
  listener->Bind(ns3::InetSocketAddress(receiving, port));
  listener->Listen();
  listener->SetAcceptCallback(ns3::MakeNullCallback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(),
                              ns3::Callback<void, ns3::Ptr<ns3::Socket>, const ns3::Address&>(
                                  [this, i](ns3::Ptr<ns3::Socket> socket, const ns3::Address&) { receive(i, socket); }));
  sender->Bind(ns3::InetSocketAddress(sending, port));
  sender->SetConnectCallback(
      ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this](ns3::Ptr<ns3::Socket>) { start_when_all_are_open(); }),
      ns3::MakeNullCallback<void, ns3::Ptr<ns3::Socket>>());
  // Once queue discs are there, which are made as the simulation begins.
  ns3::Simulator::ScheduleNow([this, sender, receiving, port, i] {
    paths_->open(i);
    sender->Connect(ns3::InetSocketAddress(receiving, port));
  });
  senders_.push_back(sender);
}

void Ns3Network::receive(std::uint32_t i, const ns3::Ptr<ns3::Socket>& socket) {
  socket->SetRecvCallback(
      ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this, i, received = std::int64_t{0}](ns3::Ptr<ns3::Socket> from) mutable {
        while (const auto packet = from->Recv()) received += packet->GetSize();
        const ListedFlow& flow = flows_.flows[i];
        if (received < flow.size.count()) return;
        fct_[i] = Duration::ticks((ns3::Simulator::Now() - start_).GetPicoSeconds() / ps_per_tick) - flow.start;
      }));
}

void Ns3Network::start_when_all_are_open() {
  if (++open_ < senders_.size()) return;
  ns3::Simulator::ScheduleNow([this] {
    start_ = ns3::Simulator::Now();
    for (std::uint32_t i = 0; i < senders_.size(); ++i) {
      const auto bytes = static_cast<std::uint32_t>(flows_.flows[i].size.count());
      const ns3::Time wait = time_of(flows_.flows[i].start + latencies_[i]);
      ns3::Simulator::Schedule(wait, [this, i, bytes] { senders_[i]->Send(ns3::Create<ns3::Packet>(bytes)); });
    }
  });
}

}  // namespace weft
