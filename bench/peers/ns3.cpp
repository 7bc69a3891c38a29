// SPDX-License-Identifier: Apache-2.0
// Weft's packet mode against ns-3: the same fat tree, paths and permutation, both from this one
// program.
//
//   build/bench/ns3_peer [K [BYTES [METRES]]]
//
// Every host of a K-ary fat tree sends BYTES to another, one to one, in packets of 1,000 B over
// links of 100 Gb/s and METRES of fibre; 8, 1000000 and 200 (1 us) where nothing is given. Prints
// the CPU time of each (of its run alone, on one core), hops of data packets per CPU second, how
// long flows take on average, and the ratio of speeds. Weft takes little time, so its run is
// repeated and the median counts. Hops are counted alike: packets of payload times links of their
// path. Acknowledgements, one per packet, are simulated on both sides and counted on neither.
//
//   ns-3   TCP with DCTCP, RED queue discs that mark and have room for all, the fastest of its
//          schedulers here
//   Weft   queue pairs with DCQCN, switches that mark and pause
//
// What is the same: links and their delays, the paths of data and of acknowledgements, the queues
// from which on packets are marked. In addition to the payload a packet has 42 B in ns-3 and 48 B
// in Weft. Cards and switches take no time of their own. Flows begin when all TCP connections are
// open. Weft handles together what comes to a node within the delay of a link; with 1 m it is three
// times slower than with 200.
//
// ns-3 3.37 has no ECMP by flow: its global routing takes one path for all flows to a host, or a
// random one for each packet, which TCP mistakes for losses. So each flow gets host routes along
// Weft's paths, and a second address of its sender tells acknowledgements to a host from data.
// Tables hold nothing else, and ns-3 searches them from the top: with global routing it takes more
// than twice as long for 128 hosts.
#include <fmt/format.h>
#include <ns3/boolean.h>
#include <ns3/channel.h>
#include <ns3/config.h>
#include <ns3/double.h>
#include <ns3/global-value.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <ns3/ipv4.h>
#include <ns3/node-container.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/point-to-point-net-device.h>
#include <ns3/red-queue-disc.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/tcp-dctcp.h>
#include <ns3/tcp-socket-base.h>
#include <ns3/tcp-socket-factory.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/cpu_time.hpp"
#include "bench/packet_runs.hpp"
#include "core/engine/engine.hpp"
#include "core/text/diagnostics.hpp"
#include "host/transport/dcqcn.hpp"
#include "host/transport/flow_list_source.hpp"
#include "host/transport/packet_network.hpp"

namespace weft {
namespace {

constexpr std::int64_t payload_bytes = 1000;  // of a packet
constexpr int weft_runs = 11;

ParamSet flow_table() {
  const SourcePlace place = SourcePlace::named("ns3_peer");
  ParamSet params("flow", flow_params());
  params.set("protocol", "hpcc", place);
  params.set("mtu", fmt::format("{}B", payload_bytes), place);
  for (const char* latency : {"wqe_latency", "receive_latency", "completion_latency", "switching_delay"}) {
    params.set(latency, "0ns", place);
  }
  return params;
}

ParamSet packet_table() {
  const SourcePlace place = SourcePlace::named("ns3_peer");
  ParamSet params("packet", packet_params());
  params.set("ack_interval", "1", place);
  params.set("card_delay", "0ns", place);
  return params;
}

struct PeerCase {
  std::shared_ptr<const Topology> topology;
  std::int64_t bytes;  ///< of every flow
  FlowSettings flow{flow_table()};
  PacketSettings packet{packet_table(), make_dcqcn(ParamSet("dcqcn", dcqcn_params()))};
  PacketTopology nodes{*topology, flow.path_rule};
  FlowList flows = {};
  double hops = 0;  ///< of data packets

  PeerCase(std::uint32_t k, std::int64_t bytes_per_host, std::uint32_t fibre_m)
      : topology(fat_tree(k, fmt::format("{}m", fibre_m))), bytes(bytes_per_host) {
    const std::vector<std::uint32_t> to = destinations(Pattern::random, nodes.host_count());
    for (std::uint32_t host = 0; host < nodes.host_count(); ++host) {
      const NodeId source = topology->endpoints()[host];
      const NodeId destination = topology->endpoints()[to[host]];
      flows.flows.push_back({source.index(), destination.index(), 0, 0, Bytes::of(bytes), Duration::zero(), 0});
      const std::int64_t packets = flow.wire_format.packets(Bytes::of(bytes));
      hops += static_cast<double>(packets) * static_cast<double>(nodes.route(source, destination, host, 0).links.size());
    }
  }
};

struct PeerResult {
  double cpu_s = 0;
  std::uint64_t delivered = 0;
  double completion_us = 0;  ///< mean
  std::uint64_t marks = 0;
  std::uint64_t drops = 0;
};

PeerResult run_weft(const PeerCase& peer) {
  PacketNetwork network(*peer.topology, peer.flow, peer.packet, PacketTraffic{1, true}, 1);
  EngineBuilder builder;
  std::vector<EntityId> sink_of_host;
  for (std::uint32_t host = 0; host < peer.nodes.host_count(); ++host) {
    sink_of_host.push_back(builder.add_entity(std::make_unique<FlowListSink>(), "host"));
  }
  network.add_to(builder, sink_of_host);
  const PacketNetworkPort port(*peer.topology, peer.flow, EntityId::none(), network.cards());
  for (std::uint32_t i = 0; i < peer.flows.flows.size(); ++i) {
    const Transfer transfer = transfer_of(peer.flows, i);
    const PacketNetworkPort::Entry entry = port.entry(transfer);
    builder.post_initial(entry.node, Time::zero() + entry.latency, EventClass::message, transfer_start, transfer);
  }
  Engine engine = std::move(builder).build({});
  PeerResult result;
  const double begin_s = process_cpu_s();
  const RunReport report = engine.run({});
  result.cpu_s = process_cpu_s() - begin_s;
  for (const FinishedTransfer& finished : network.results().finished(engine)) {
    ++result.delivered;
    result.completion_us += (finished.end - finished.start).in_us();
  }
  result.completion_us /= static_cast<double>(result.delivered);
  const PacketCounters counters = network.results().counters(engine, report.end_time);
  result.marks = counters.ecn_marks;
  result.drops = counters.drops;
  return result;
}

/// The run of the median CPU time.
PeerResult run_weft_often(const PeerCase& peer) {
  std::vector<PeerResult> runs;
  for (int i = 0; i < weft_runs; ++i) runs.push_back(run_weft(peer));
  std::ranges::sort(runs, {}, &PeerResult::cpu_s);
  return runs[runs.size() / 2];
}

class Ns3Network {
 public:
  explicit Ns3Network(const PeerCase& peer) : peer_(peer) {
    set_defaults();
    nodes_.Create(peer.nodes.node_count());
    devices_.resize(peer.nodes.node_count());
    add_cables();
    add_addresses();
    for (std::uint32_t i = 0; i < peer.flows.flows.size(); ++i) add_flow(i);
  }
  ~Ns3Network() { ns3::Simulator::Destroy(); }
  Ns3Network(const Ns3Network&) = delete;
  Ns3Network& operator=(const Ns3Network&) = delete;

  PeerResult run() {
    PeerResult result;
    const double begin_s = process_cpu_s();
    ns3::Simulator::Run();
    result.cpu_s = process_cpu_s() - begin_s;
    result.delivered = delivered_;
    result.completion_us = completion_us_ / static_cast<double>(delivered_);
    for (const ns3::QueueDiscContainer& disc : discs_) {
      result.marks += disc.Get(0)->GetStats().nTotalMarkedPackets;
      result.drops += disc.Get(0)->GetStats().nTotalDroppedPackets;
    }
    return result;
  }

 private:
  static constexpr std::uint16_t port = 5000;
  static constexpr std::uint32_t packets_max = 1'000'000;  // in any queue: more than there ever are

  const ListedFlow& flow(std::uint32_t i) const { return peer_.flows.flows[i]; }
  std::uint32_t host_of(std::uint32_t endpoint) const { return peer_.topology->node(NodeId(endpoint)).host.index(); }
  static ns3::Ipv4Address address(std::uint32_t block, std::uint32_t number) { return ns3::Ipv4Address(block << 24 | number); }
  /// To which a host is sent data, and from which it sends data and is sent acknowledgements.
  static ns3::Ipv4Address receiving(std::uint32_t host) { return address(10, host); }
  static ns3::Ipv4Address sending(std::uint32_t host) { return address(11, host); }

  void set_defaults() const {
    const auto set = [](const char* name, const ns3::AttributeValue& value) { ns3::Config::SetDefault(name, value); };
    ns3::GlobalValue::Bind("SchedulerType", ns3::StringValue("ns3::CalendarScheduler"));
    const auto window = ns3::UintegerValue(static_cast<std::uint64_t>(peer_.bytes));
    set("ns3::TcpL4Protocol::SocketType", ns3::TypeIdValue(ns3::TcpDctcp::GetTypeId()));
    set("ns3::TcpSocketBase::UseEcn", ns3::StringValue("On"));
    set("ns3::TcpSocketBase::Timestamp", ns3::BooleanValue(false));
    set("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(payload_bytes));
    set("ns3::TcpSocket::DelAckCount", ns3::UintegerValue(1));
    set("ns3::TcpSocket::SndBufSize", window);
    set("ns3::TcpSocket::RcvBufSize", window);
  }

  void add_cables() {
    ns3::PointToPointHelper cable;
    for (std::uint32_t node = 0; node < peer_.nodes.node_count(); ++node) {
      for (const PacketTopology::Port& to : peer_.nodes.ports(node)) {
        if (to.peer_node < node) {
          devices_[node].push_back(devices_[to.peer_node][to.peer_port]->GetChannel()->GetDevice(1));
          continue;
        }
        const Link& link = peer_.topology->link(to.out);
        cable.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(static_cast<std::uint64_t>(link.rate.in_bps()))));
        cable.SetChannelAttribute("Delay", ns3::TimeValue(ns3::NanoSeconds(std::llround(link.propagation_delay.in_ns()))));
        devices_[node].push_back(cable.Install(nodes_.Get(node), nodes_.Get(to.peer_node)).Get(0));
      }
    }
  }

  void add_addresses() {
    ns3::InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(ns3::Ipv4StaticRoutingHelper());
    stack.Install(nodes_);
    // Marks by the queue of the moment, as in Weft's switches.
    ns3::TrafficControlHelper red;
    const PacketSettings& packet = peer_.packet;
    red.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", ns3::DoubleValue(static_cast<double>(packet.ecn_kmin.count())), "MaxTh",
                         ns3::DoubleValue(static_cast<double>(packet.ecn_kmax.count())), "LInterm",
                         ns3::DoubleValue(1 / packet.ecn_pmax), "QW", ns3::DoubleValue(1), "Gentle", ns3::BooleanValue(false),
                         "UseEcn", ns3::BooleanValue(true), "UseHardDrop", ns3::BooleanValue(false), "MeanPktSize",
                         ns3::UintegerValue(payload_bytes), "MaxSize",
                         ns3::QueueSizeValue(ns3::QueueSize(ns3::QueueSizeUnit::BYTES, packets_max * 1000)));
    std::uint32_t ports = 0;
    for (std::uint32_t node = 0; node < nodes_.GetN(); ++node) {
      const bool is_host = peer_.nodes.is_host(node);
      const auto ipv4 = nodes_.Get(node)->GetObject<ns3::Ipv4>();
      for (const auto& device : devices_[node]) {
        const auto queue = ns3::DynamicCast<ns3::PointToPointNetDevice>(device)->GetQueue();
        queue->SetMaxSize({ns3::QueueSizeUnit::PACKETS, is_host ? packets_max : 1});
        if (!is_host) discs_.push_back(red.Install(device));
        const std::uint32_t interface = ipv4->AddInterface(device);
        const auto add = [&](ns3::Ipv4Address own) {
          ipv4->AddAddress(interface, ns3::Ipv4InterfaceAddress(own, ns3::Ipv4Mask::GetOnes()));
        };
        if (is_host) {
          add(sending(node));
          add(receiving(node));
        } else {
          add(address(12, ports++));
        }
        ipv4->SetUp(interface);
      }
    }
  }

  void add_routes(std::uint32_t source, std::uint32_t destination, std::uint32_t connection, ns3::Ipv4Address to) {
    const PacketTopology::Route route = peer_.nodes.route(NodeId(source), NodeId(destination), connection, 0);
    std::uint32_t node = host_of(source);
    for (std::size_t hop = 0; hop < route.links.size(); ++hop) {
      const auto ipv4 = nodes_.Get(node)->GetObject<ns3::Ipv4>();
      const std::int32_t interface = ipv4->GetInterfaceForDevice(devices_[node][route.ports[hop]]);
      ns3::Ipv4StaticRoutingHelper().GetStaticRouting(ipv4)->AddHostRouteTo(to, static_cast<std::uint32_t>(interface));
      node = peer_.nodes.ports(node)[route.ports[hop]].peer_node;
    }
  }

  void add_flow(std::uint32_t i) {
    const std::uint32_t source = host_of(flow(i).source);
    const std::uint32_t destination = host_of(flow(i).destination);
    add_routes(flow(i).source, flow(i).destination, i, receiving(destination));
    add_routes(flow(i).destination, flow(i).source, i, sending(source));
    const auto listener = ns3::Socket::CreateSocket(nodes_.Get(destination), ns3::TcpSocketFactory::GetTypeId());
    listener->Bind(ns3::InetSocketAddress(receiving(destination), port));
    listener->Listen();
    listener->SetAcceptCallback(ns3::MakeNullCallback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(),
                                ns3::Callback<void, ns3::Ptr<ns3::Socket>, const ns3::Address&>(
                                    [this](ns3::Ptr<ns3::Socket> socket, const ns3::Address&) { receive(socket); }));
    const auto sender = ns3::Socket::CreateSocket(nodes_.Get(source), ns3::TcpSocketFactory::GetTypeId());
    sender->Bind(ns3::InetSocketAddress(sending(source), 0));
    sender->SetConnectCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this](ns3::Ptr<ns3::Socket>) { start_when_all_are_open(); }),
        ns3::MakeNullCallback<void, ns3::Ptr<ns3::Socket>>());
    sender->Connect(ns3::InetSocketAddress(receiving(destination), port));
    senders_.push_back(sender);
  }

  void receive(const ns3::Ptr<ns3::Socket>& socket) {
    socket->SetRecvCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([this, received = std::int64_t{0}](ns3::Ptr<ns3::Socket> from) mutable {
          while (const auto packet = from->Recv()) received += packet->GetSize();
          if (received < peer_.bytes) return;
          ++delivered_;
          completion_us_ += (ns3::Simulator::Now() - start_).GetNanoSeconds() / 1e3;
        }));
  }

  void start_when_all_are_open() {
    if (++open_ < senders_.size()) return;
    ns3::Simulator::ScheduleNow([this] {
      start_ = ns3::Simulator::Now();
      for (const auto& sender : senders_) sender->Send(ns3::Create<ns3::Packet>(static_cast<std::uint32_t>(peer_.bytes)));
    });
  }

  const PeerCase& peer_;
  ns3::NodeContainer nodes_;
  std::vector<std::vector<ns3::Ptr<ns3::NetDevice>>> devices_;  ///< by node and port
  std::vector<ns3::QueueDiscContainer> discs_;
  std::vector<ns3::Ptr<ns3::Socket>> senders_;
  std::size_t open_ = 0;
  ns3::Time start_;
  std::uint64_t delivered_ = 0;
  double completion_us_ = 0;  ///< of all delivered
};

void print(const char* name, const PeerCase& peer, const PeerResult& result) {
  std::printf(
      "%-5s %9.4f CPU-s  %11.0f packet-hops per CPU-s  flows take %9.2f us on average  %llu delivered, %llu marks, %llu drops\n",
      name, result.cpu_s, peer.hops / result.cpu_s, result.completion_us, static_cast<unsigned long long>(result.delivered),
      static_cast<unsigned long long>(result.marks), static_cast<unsigned long long>(result.drops));
}

int compare(const PeerCase& peer) {
  std::printf("%u hosts send %lld B each: %.0f hops of data packets\n", peer.nodes.host_count(), static_cast<long long>(peer.bytes),
              peer.hops);
  const PeerResult own = run_weft_often(peer);
  print("weft", peer, own);
  const PeerResult other = Ns3Network(peer).run();
  print("ns-3", peer, other);
  std::printf("ratio %.0f; weft is the median of %d runs\n", other.cpu_s / own.cpu_s, weft_runs);
  return own.delivered == other.delivered && own.delivered == peer.flows.flows.size() ? 0 : 1;
}

/// An argument, or what stands for it if there are fewer; nothing if it is no number within the
/// limits.
std::optional<std::int64_t> number(int argc, char** argv, int place, std::int64_t otherwise, std::int64_t least,
                                   std::int64_t most) {
  if (place >= argc) return otherwise;
  const std::string_view text = argv[place];
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) return std::nullopt;
  return value;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const auto k = weft::number(argc, argv, 1, 8, 4, 32);
  const auto bytes = weft::number(argc, argv, 2, 1'000'000, 1, 1'000'000'000);
  const auto fibre_m = weft::number(argc, argv, 3, 200, 1, 10'000);
  if (argc > 4 || !k || *k % 2 != 0 || !bytes || !fibre_m) {
    std::fputs("usage: ns3_peer [K [BYTES [METRES]]]\n", stderr);
    return 2;
  }
  return weft::compare(weft::PeerCase(static_cast<std::uint32_t>(*k), *bytes, static_cast<std::uint32_t>(*fibre_m)));
}
