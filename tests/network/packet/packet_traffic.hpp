// SPDX-License-Identifier: Apache-2.0
// Packet traffic for tests and benchmarks of switches: endpoints that send at line rate, and
// fabrics to send over, without hosts or transport.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/batch_node.hpp"
#include "core/engine/engine.hpp"
#include "network/packet/packet_switch.hpp"
#include "network/packet/queue_pairs.hpp"

namespace weft::traffic {

/// Sends the packets of its streams in turn, as fast as its cable takes them and pauses allow;
/// counts what it gets, and may answer it.
class Endpoint final : public BatchNode {
 public:
  struct Stream {
    std::uint32_t queue_pair = 0;
    std::uint32_t packets = 0;
    std::uint16_t wire_bytes = 0;
    std::uint8_t priority = 0;
    Time start;
  };
  struct Arrival {
    Time time;
    Packet packet;
  };

  explicit Endpoint(const EgressPort& out) : out_(out) {}

  void add(const Stream& stream) { streams_.push_back(stream); }
  /// Answers every so many data packets of 84 bytes in this priority; 0: never.
  void answer(std::uint32_t every, std::uint8_t priority) {
    answer_every_ = every;
    answer_priority_ = priority;
  }
  void keep_arrivals() { keep_ = true; }

  WindowOutcome run_window(Time end, const Arrivals& arrivals, BatchContext& context) override {
    WindowOutcome outcome;
    for (std::size_t i = 0; i < arrivals.port_messages.size(); ++i) {
      const PortMessage& port_message = arrivals.port_messages[i];
      const auto packet = port_message.payload_as<Packet>();
      send_until(port_message.time, context);
      if (packet.kind() == PacketKind::pfc) {
        const auto bit = static_cast<std::uint8_t>(1U << packet.priority());
        paused_ = static_cast<std::uint8_t>(packet.sequence == pfc_pause ? paused_ | bit : paused_ & ~bit);
        pauses_ += packet.sequence == pfc_pause ? 1 : 0;
      } else {
        take(port_message.time, packet, context);
      }
      resume_at_ = std::max(resume_at_, port_message.time);
      outcome.last = port_message.time;
    }
    send_until(end, context);
    outcome.events = arrivals.port_messages.size();
    outcome.next = next_start();
    return outcome;
  }

  std::uint64_t data_received() const { return data_received_; }
  std::uint64_t answers_received() const { return answers_received_; }
  std::uint64_t data_sent() const { return data_sent_; }
  std::uint64_t marked() const { return marked_; }
  std::uint64_t pauses() const { return pauses_; }
  Time last_data() const { return last_data_; }
  const std::vector<Arrival>& kept() const { return kept_; }

 private:
  void take(Time now, const Packet& packet, BatchContext& context) {
    if (keep_) kept_.push_back({now, packet});
    add_arrival(context.chain(), packet, now);
    if (packet.kind() != PacketKind::data) {
      ++answers_received_;
      return;
    }
    ++data_received_;
    marked_ += packet.congestion_experienced() ? 1 : 0;
    last_data_ = now;
    if (answer_every_ == 0 || data_received_ % answer_every_ != 0) return;
    answers_.emplace_back(PacketKind::ack, packet.queue_pair, packet.sequence, 84, answer_priority_);
  }

  /// When the next packet goes unless more happens; max() if none can. Answers go first.
  Time next_start() const {
    if (!answers_.empty() && (paused_ >> answer_priority_ & 1U) == 0) return std::max(out_.free_at(), resume_at_);
    Time earliest = Time::max();
    for (const Stream& stream : streams_) {
      if (stream.packets > 0 && (paused_ >> stream.priority & 1U) == 0) earliest = std::min(earliest, stream.start);
    }
    return earliest == Time::max() ? earliest : std::max({earliest, out_.free_at(), resume_at_});
  }

  void send_until(Time until, BatchContext& context) {
    for (Time now = next_start(); now < until; now = next_start()) {
      if (!answers_.empty() && (paused_ >> answer_priority_ & 1U) == 0) {
        Packet answer = answers_.front();
        answers_.pop_front();
        answer.next_hop();
        out_.send(answer, now, context);
        continue;
      }
      while (true) {
        turn_ = turn_ + 1 < streams_.size() ? turn_ + 1 : 0;
        const Stream& stream = streams_[turn_];
        if (stream.packets > 0 && stream.start <= now && (paused_ >> stream.priority & 1U) == 0) break;
      }
      Stream& stream = streams_[turn_];
      Packet packet(PacketKind::data, stream.queue_pair, sequence_++, stream.wire_bytes, stream.priority);
      packet.next_hop();
      --stream.packets;
      ++data_sent_;
      out_.send(packet, now, context);
    }
  }

  EgressPort out_;
  std::vector<Stream> streams_;
  std::size_t turn_ = 0;
  std::deque<Packet> answers_;
  std::uint32_t answer_every_ = 0;
  std::uint8_t answer_priority_ = 0;
  std::uint8_t paused_ = 0;
  bool keep_ = false;
  Time resume_at_;
  std::uint32_t sequence_ = 0;
  std::uint64_t data_sent_ = 0;
  std::uint64_t data_received_ = 0;
  std::uint64_t answers_received_ = 0;
  std::uint64_t marked_ = 0;
  std::uint64_t pauses_ = 0;
  Time last_data_;
  std::vector<Arrival> kept_;
};

/// Nodes and cables of a fabric, from which an engine is built. Endpoints are entities 0 .. n-1,
/// switches follow.
class Fabric {
 public:
  explicit Fabric(std::uint32_t endpoints) : routes(endpoints), endpoint_count_(endpoints), cables_(endpoints) {}

  std::uint32_t add_switch() {
    cables_.emplace_back();
    return static_cast<std::uint32_t>(cables_.size()) - 1;
  }
  /// Returns the ports at both ends.
  std::pair<std::uint16_t, std::uint16_t> connect(std::uint32_t a, std::uint32_t b, Bandwidth rate, Duration delay) {
    const auto port_a = static_cast<std::uint16_t>(cables_[a].size());
    const auto port_b = static_cast<std::uint16_t>(cables_[b].size());
    cables_[a].push_back({b, port_b, rate, delay});
    cables_[b].push_back({a, port_a, rate, delay});
    return {port_a, port_b};
  }

  /// Adds all nodes, every switch with these settings, and connects them. `make_endpoint(node,
  /// port)`.
  template <class MakeEndpoint>
  void add_to(EngineBuilder& builder, const PacketSwitchSettings& settings, MakeEndpoint make_endpoint) {
    for (std::uint32_t node = 0; node < cables_.size(); ++node) {
      if (node < endpoint_count_) {
        const Cable& cable = cables_[node].front();
        builder.add_entity(make_endpoint(node, EgressPort(cable.rate, delay(cable), EntityId(cable.to), cable.port_there)),
                           "endpoint" + std::to_string(node));
        continue;
      }
      std::vector<PacketSwitch::Cable> cables;
      const auto priorities = static_cast<std::uint32_t>(settings.classes.size());
      for (const Cable& cable : cables_[node]) {
        cables.push_back(
            {EgressPort(cable.rate, delay(cable), EntityId(cable.to), cable.port_there),
             headroom > 0 ? headroom
             : cable.delay > pfc_reach
                 ? 0
                 : headroom_bytes(cable.rate, 2 * (cable.delay + switching_delay), Bytes::of(9216), priorities).count(),
             ecn, ecn_of_priority});
      }
      PacketSwitchSettings of_node = settings;
      of_node.seed = settings.seed * 1'000'003 + std::uint64_t{node} * 1024;
      builder.add_entity(std::make_unique<PacketSwitch>(of_node, cables, routes), "switch" + std::to_string(node));
    }
    for (std::uint32_t node = 0; node < cables_.size(); ++node) {
      for (const Cable& cable : cables_[node]) builder.connect(EntityId(node), EntityId(cable.to), delay(cable));
    }
  }

  /// With endpoints of these `streams`, by endpoint.
  Engine build(const PacketSwitchSettings& settings, const std::vector<std::vector<Endpoint::Stream>>& streams,
               const EngineOptions& options, std::uint32_t answer_every = 0, std::uint8_t answer_priority = 0, bool keep = false) {
    EngineBuilder builder;
    add_to(builder, settings, [&](std::uint32_t node, const EgressPort& port) {
      auto endpoint = std::make_unique<Endpoint>(port);
      for (const Endpoint::Stream& stream : streams[node]) endpoint->add(stream);
      endpoint->answer(answer_every, answer_priority);
      if (keep) endpoint->keep_arrivals();
      return endpoint;
    });
    // Something must make an endpoint look at its streams.
    for (std::uint32_t node = 0; node < endpoint_count_; ++node) {
      if (!streams[node].empty()) builder.post_initial(EntityId(node), Time::zero(), EventClass::message, 0);
    }
    return std::move(builder).build(options);
  }

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(cables_.size()); }

  QueuePairs routes;
  EcnCurve ecn;                           ///< of every port
  std::vector<EcnCurve> ecn_of_priority;  ///< where priorities differ
  Duration switching_delay;               ///< of every switch
  std::int64_t headroom = 0;              ///< of every cable; 0: what it needs
  Duration pfc_reach = Duration::max();   ///< cables that are longer have no headroom

 private:
  struct Cable {
    std::uint32_t to;
    std::uint32_t port_there;
    Bandwidth rate;
    Duration delay;
  };
  Duration delay(const Cable& cable) const { return cable.to < endpoint_count_ ? cable.delay : cable.delay + switching_delay; }

  std::uint32_t endpoint_count_;
  std::vector<std::vector<Cable>> cables_;
};

/// A k-ary fat tree: k^3/4 endpoints, then k^2/2 edge, k^2/2 aggregation and k^2/4 core switches.
/// Ports go down first, then up.
class FatTree : public Fabric {
 public:
  FatTree(std::uint32_t k, Bandwidth rate, Duration delay) : Fabric(k * k * k / 4), k_(k), half_(k / 2) {
    const std::uint32_t hosts = k * k * k / 4;
    const std::uint32_t edges = k * half_;
    for (std::uint32_t i = 0; i < 2 * edges + half_ * half_; ++i) add_switch();
    for (std::uint32_t host = 0; host < hosts; ++host) connect(host, hosts + host / half_, rate, delay);
    for (std::uint32_t edge = 0; edge < edges; ++edge) {
      for (std::uint32_t a = 0; a < half_; ++a) connect(hosts + edge, hosts + edges + edge / half_ * half_ + a, rate, delay);
    }
    for (std::uint32_t pod = 0; pod < k; ++pod) {
      for (std::uint32_t a = 0; a < half_; ++a) {
        for (std::uint32_t c = 0; c < half_; ++c) {
          connect(hosts + edges + pod * half_ + a, hosts + 2 * edges + a * half_ + c, rate, delay);
        }
      }
    }
  }
  std::uint32_t hosts() const { return k_ * half_ * half_; }

  /// Opens queue pair `number` of `source`, by the aggregation switch and the core that `choice`
  /// names.
  std::uint32_t open(std::uint32_t source, std::uint32_t number, std::uint32_t destination, std::uint64_t choice) {
    return routes.open(source, number, route(source, destination, choice));
  }
  QueuePairs::Route route(std::uint32_t source, std::uint32_t destination, std::uint64_t choice) const {
    QueuePairs::Route both{};
    fill(both.there, source, destination, choice);
    fill(both.back, destination, source, choice);
    return both;
  }
  /// Links that a packet crosses.
  std::uint32_t hops(std::uint32_t source, std::uint32_t destination) const {
    if (source / half_ == destination / half_) return 2;
    return source / (half_ * half_) == destination / (half_ * half_) ? 4 : 6;
  }

 private:
  void fill(QueuePairs::Ports& ports, std::uint32_t source, std::uint32_t destination, std::uint64_t choice) const {
    const auto a = static_cast<std::uint32_t>(choice % half_);
    const auto c = static_cast<std::uint32_t>(choice / half_ % half_);
    const auto port = [](std::uint32_t number) { return static_cast<std::uint16_t>(number); };
    const std::uint32_t pod = half_ * half_;
    std::size_t n = 1;
    if (source / half_ != destination / half_) {
      ports[n++] = port(half_ + a);
      if (source / pod != destination / pod) {
        ports[n++] = port(half_ + c);
        ports[n++] = port(destination / pod);
      }
      ports[n++] = port(destination / half_ % half_);
    }
    ports[n] = port(destination % half_);
  }

  std::uint32_t k_;
  std::uint32_t half_;
};

}  // namespace weft::traffic
