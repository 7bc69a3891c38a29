// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/standstill.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "host/ranks/host_entity.hpp"
#include "network/flow/flow_fabric.hpp"
#include "tools/simulation/stuck_ranks.hpp"

namespace weft {

namespace {

/// Nobody waits for what a job has left behind that was stopped, or whose last checkpoints were on
/// their way when it ended.
std::vector<UnfinishedTransfer> missed(const Assembly& parts, std::vector<UnfinishedTransfer> unfinished) {
  if (parts.lifecycle == nullptr) return unfinished;
  std::erase_if(unfinished,
                [&parts](const UnfinishedTransfer& left) { return !parts.lifecycle->is_under_way(left.transfer.attempt); });
  return unfinished;
}

/// What is said of the way of a transfer that gets nowhere, and what to do about it.
std::string drops_text(const Topology& topology, const WorstSwitch& worst) {
  if (worst.node.is_none()) return "; nothing was dropped on its way";
  return fmt::format("; on its way, {} dropped in {}", counted(worst.drops, "packet was", "packets were"),
                     topology.node_name(worst.node));
}
std::string loss_help(const WorstSwitch& worst) {
  return worst.node.is_none() ? "a longer packet.retransmission_timeout, as queues hold packets and answers for longer, or "
                                "congestion control that keeps queues short"
                              : "more packet.buffer or packet.lossy_alpha, packet.retransmission = selective_repeat, congestion "
                                "control, or a lossless priority";
}

void report_stuck_transfers(const Assembly& parts, const Engine& engine, const std::optional<Livelock>& livelock,
                            Diagnostics& diagnostics) {
  const std::vector<UnfinishedTransfer> unfinished = missed(parts, parts.packet_network->results().unfinished(engine));
  if (unfinished.empty()) return;
  const Topology& topology = *parts.scenario.topology;
  const Transfer& first = unfinished.front().transfer;
  if (const std::vector<LinkId> circle = parts.packet_network->results().deadlock(engine); !circle.empty()) {
    std::string links;
    for (const LinkId link : circle) links += fmt::format("{}, ", topology.link_name(link));
    diagnostics.error(
        "pfc-deadlock",
        fmt::format("pauses wait for each other in a circle, and {} still: {}and {} again",
                    counted(unfinished.size(), "transfer stands", "transfers stand"), links, topology.link_name(circle.front())),
        SourcePlace::named("weft run"),
        "what came by each of these links waits in its switch for room behind the next; take routes without such circles, more "
        "packet.buffer, or a lossy priority");
    return;
  }
  for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
    const std::optional<Time> from = parts.packet_network->pauses_from(HostId(host));
    if (!from || parts.packet_network->has_watchdog()) continue;
    diagnostics.error(
        "pause-storm",
        fmt::format("{} still, as host{} pauses its switch since {}",
                    counted(unfinished.size(), "transfer stands", "transfers stand"), host, to_text(*from - Time::zero())),
        SourcePlace::named("packet.pausing_hosts"),
        "a packet.watchdog, such as 200ms, drops what waits for that host, so that the others go on");
    return;
  }
  if (const std::vector<StoppedQueuePair> stopped = parts.packet_network->results().given_up(engine); !stopped.empty()) {
    const StoppedQueuePair& at = stopped.front();
    const WorstSwitch worst = parts.packet_network->results().worst_switch(engine, at.transfer);
    diagnostics.error("retry-exceeded",
                      fmt::format("{} gave up, the first from {} to {} at {}: nothing that it sent was acknowledged for {}{}",
                                  counted(stopped.size(), "queue pair", "queue pairs"), topology.node_name(at.transfer.source),
                                  topology.node_name(at.transfer.destination), to_text(at.time - Time::zero()),
                                  to_text(at.without_answer), drops_text(*parts.scenario.topology, worst)),
                      SourcePlace::named("packet.retries"), fmt::format("{}; packet.retries = 0 tries for ever", loss_help(worst)));
    return;
  }
  if (livelock) {
    const WorstSwitch worst = parts.packet_network->results().worst_switch(engine, first);
    diagnostics.error(
        "livelock",
        fmt::format(
            "{} nowhere, the first from {} to {}: host{} has sent {} again since {}, and nothing new has come to any card{}",
            counted(unfinished.size(), "transfer gets", "transfers get"), topology.node_name(first.source),
            topology.node_name(first.destination), livelock->host.index(), counted(livelock->repeats, "packet", "packets"),
            readable((livelock->since - Time::zero()).in_s()), drops_text(*parts.scenario.topology, worst)),
        SourcePlace::named("packet.repeats_max"), fmt::format("{}; packet.repeats_max = 0 goes on for ever", loss_help(worst)));
    return;
  }
  diagnostics.error("stuck-packets",
                    fmt::format("{} never acknowledged in full, the first of them from {} to {}",
                                counted(unfinished.size(), "transfer was", "transfers were"), topology.node_name(first.source),
                                topology.node_name(first.destination)),
                    SourcePlace::named("weft run"),
                    network_changes(parts.scenario)
                        ? "no way is left between them that packets can take, and nothing repairs what is out: let it be repaired"
                        : "packets that were dropped are sent again only with packet.retransmission_timeout above 0");
}

/// Of a run without events left, or one in which nothing comes of them.
std::vector<Diagnostic> transfers_that_stand_still(const Assembly& parts, const Engine& engine,
                                                   const std::optional<Livelock>& livelock) {
  Diagnostics diagnostics;
  Diagnostics standstill;
  if (parts.fabric != EntityId::none()) {
    std::vector<UnfinishedTransfer> unfinished = engine.entity_as<FlowFabric>(parts.fabric).unfinished();
    for (const EntityId host : parts.hosts) {
      const std::vector<UnfinishedTransfer> inside = engine.entity_as<HostEntity>(host).inside_unfinished();
      unfinished.insert(unfinished.end(), inside.begin(), inside.end());
    }
    for (const UnfinishedTransfer& transfer : missed(parts, std::move(unfinished))) {
      const Topology& topology = *parts.scenario.topology;
      const std::string which = fmt::format("the transfer from {} to {}", topology.node_name(transfer.transfer.source),
                                            topology.node_name(transfer.transfer.destination));
      if (transfer.stalled_at.is_none()) {
        diagnostics.error("beyond-clock", fmt::format("{} ends after the simulated clock does", which),
                          SourcePlace::named("weft run"), "simulated time ends after 2.9 years of 10 ps ticks: move less");
      } else {
        standstill.error("stalled-transfer",
                         fmt::format("{} never ends: link {} gives it no rate", which, topology.link_name(transfer.stalled_at)),
                         SourcePlace::named("weft run"),
                         network_changes(parts.scenario) ? "it is out, and nothing repairs it: let it be repaired"
                         : parts.scenario.parameters.of("flow").text("allocation") == "quantum_filling"
                             ? "give the link a rate above 0, and quantum_filling.quantum none above that of a link"
                             : "give the link a rate above 0");
      }
    }
  }
  diagnostics.throw_if_errors();
  if (parts.packet_network) report_stuck_transfers(parts, engine, livelock, standstill);
  return {standstill.all().begin(), standstill.all().end()};
}

/// A run without events left whose jobs have not finished is stuck: says which ranks wait, and for
/// what. Returns why jobs get no GPUs any more, if that is it.
std::vector<Diagnostic> require_finished(const Assembly& parts, const Engine& engine) {
  Diagnostics diagnostics;
  std::vector<WaitingRank> waiting;
  for (const EntityId host : parts.hosts) {
    for (WaitingRank& rank : engine.entity_as<HostEntity>(host).waiting_ranks()) waiting.push_back(std::move(rank));
  }
  report_stuck_ranks(parts.scenario, parts.attempts, waiting, diagnostics);
  diagnostics.throw_if_errors();
  // After a snapshot, jobs may wait for what the run leaves out.
  if (parts.lifecycle == nullptr || parts.options.from != nullptr) return {};
  if (const std::optional<Diagnostic> never = parts.lifecycle->never_repaired()) return {*never};
  parts.lifecycle->require_all_finished();
  return {};
}

}  // namespace

std::vector<Diagnostic> why_nothing_gets_on(const Assembly& parts, const Engine& engine, const std::optional<Livelock>& livelock) {
  std::vector<Diagnostic> why = transfers_that_stand_still(parts, engine, livelock);
  return why.empty() ? require_finished(parts, engine) : why;
}

}  // namespace weft
