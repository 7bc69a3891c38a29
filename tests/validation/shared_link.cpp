// SPDX-License-Identifier: Apache-2.0
#include "shared_link.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/engine/engine.hpp"
#include "core/text/diagnostics.hpp"
#include "host/transport/flow_list_source.hpp"
#include "host/transport/packet_network.hpp"
#include "topologies/builders.hpp"

namespace weft {

namespace {

const Duration kBin = Duration::ms(1);

/// Sets of a module's table what `settings` name.
ParamSet params_of(const std::string& module, ParamTable table, const SharedLink& link) {
  ParamSet params(module, table);
  for (const auto& [name, value] : link.settings) {
    if (name.starts_with(module + ".")) params.set(name.substr(module.size() + 1), value, SourcePlace::named(name));
  }
  return params;
}

std::shared_ptr<const Topology> fabric(Bandwidth rate) {
  const SourcePlace place = SourcePlace::named("shared link");
  const auto& builder = find_module(topology_builders(), "fat_tree", place);
  ParamSet params("fat_tree", builder.info.params);
  params.set("k", "8", place);
  for (const char* name : {"nic_rate", "fabric_rate"}) params.set(name, to_text(rate), place);
  return builder.make(params, place);
}

}  // namespace

SharedLinkShares share_link(const SharedLink& link, std::uint32_t threads) {
  const SourcePlace place = SourcePlace::named("shared link");
  const std::shared_ptr<const Topology> topology = fabric(link.rate);
  const auto hosts = static_cast<std::uint32_t>(topology->host_count());
  const FlowSettings flow(params_of("flow", flow_params(), link));
  const auto& algorithm = find_module(congestion_algorithms(), link.congestion_control, place);
  const PacketSettings packet(params_of("packet", packet_params(), link),
                              algorithm.make(params_of(link.congestion_control, algorithm.info.params, link)));
  PacketNetwork network(*topology, flow, packet, PacketTraffic{1, true}, 1);
  EngineBuilder builder;
  std::vector<EntityId> sinks;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    sinks.push_back(builder.add_entity(std::make_unique<FlowListSink>(), "host" + std::to_string(host)));
  }
  network.add_to(builder, sinks);
  const PacketNetworkPort port(*topology, flow, EntityId::none(), network.cards());
  // Messages of 5 us each, 200,000 a second of 8 bits a byte, one after the other in a queue pair
  // of each flow, as many as the link could carry for all the time.
  const Bytes message = Bytes::of(link.rate.in_bps() / 1'600'000);
  const std::int64_t messages = link.length.in_ticks() / Duration::us(5).in_ticks();
  constexpr std::uint32_t hosts_of_pod = 16;
  constexpr std::uint32_t other_pods = 7;
  for (std::uint32_t i = 0; i < link.flows; ++i) {
    Transfer transfer;
    const std::uint32_t round = i / other_pods;
    transfer.source = topology->endpoints()[hosts_of_pod * (1 + i % other_pods) + round];
    transfer.destination = topology->endpoints()[0];
    transfer.connection = i;
    transfer.tag = i;
    transfer.size = message;
    const PacketNetworkPort::Entry entry = port.entry(transfer);
    const Time start = Time::zero() + link.apart * std::int64_t{i} + entry.latency;
    for (std::int64_t n = 0; n < messages; ++n) {
      builder.post_initial(entry.node, start, EventClass::message, transfer_start, transfer);
    }
  }
  EngineOptions options;
  options.threads = threads;
  Engine engine = std::move(builder).build(options);
  const Time end = Time::zero() + link.length;
  const RunReport report = engine.run({.until = end, .interrupt = nullptr, .progress = {}});

  const auto bins = static_cast<std::size_t>(link.length.in_ticks() / kBin.in_ticks());
  std::vector<std::vector<double>> bytes(bins, std::vector<double>(link.flows, 0));
  SharedLinkShares shares;
  std::vector<Time> last(link.flows);
  for (std::uint32_t i = 0; i < link.flows; ++i) last[i] = Time::zero() + link.apart * std::int64_t{i};
  for (const FinishedTransfer& done : network.results().finished(engine)) {
    const auto flow_number = static_cast<std::size_t>(done.transfer.tag);
    shares.delivered += static_cast<std::uint64_t>(done.transfer.size.count());
    // A message's bytes came evenly since the one before it.
    const Time from = std::exchange(last[flow_number], done.end);
    const double span = static_cast<double>((done.end - from).in_ticks());
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const Time begin = Time::zero() + kBin * static_cast<std::int64_t>(bin);
      const Duration both = std::min(begin + kBin, done.end) - std::max(begin, from);
      if (both > Duration::zero())
        bytes[bin][flow_number] += static_cast<double>(message.count()) * static_cast<double>(both.in_ticks()) / span;
    }
  }
  const PacketTrain train = flow.wire_format.train(message);
  const double wire_bytes = static_cast<double>((train.full * (train.packets - 1) + train.last).count());
  const double most = static_cast<double>(link.rate.in_bps()) / 8 * kBin.in_s() * static_cast<double>(message.count()) / wire_bytes;
  for (const std::vector<double>& of_flows : bytes) {
    double sum = 0;
    double squares = 0;
    for (const double x : of_flows) {
      sum += x;
      squares += x * x;
    }
    shares.bins.push_back({sum / most, squares > 0 ? sum * sum / (static_cast<double>(link.flows) * squares) : 0});
  }
  shares.counters = network.results().counters(engine, end);
  std::vector<LinkUsage> usage(topology->link_count());
  network.results().add_usage(engine, Time::zero(), end, end, usage);
  for (const LinkUsage& of_link : usage)
    shares.queue_peak = std::max(shares.queue_peak, static_cast<std::uint64_t>(of_link.queue_peak.count()));
  shares.fingerprint = report.fingerprint.value();
  return shares;
}

}  // namespace weft
