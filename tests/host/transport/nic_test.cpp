// SPDX-License-Identifier: Apache-2.0
// Network cards over real switches: times to the tick, shares, congestion control's fixed point,
// losses made good, and one fingerprint.
#include "host/transport/nic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "host/presets.hpp"
#include "host/transport/dcqcn.hpp"
#include "host/transport/dctcp.hpp"
#include "tests/determinism/fingerprint_matrix.hpp"
#include "tests/network/packet/packet_traffic.hpp"

namespace weft::nic_test {
namespace {

using traffic::FatTree;

constexpr Duration kDelay = Duration::ticks(50'000);       // 500 ns
constexpr Duration kPipeline = Duration::ticks(40'000);    // 400 ns
constexpr Duration kWqe = Duration::ticks(60'000);         // 600 ns
constexpr Duration kReceive = Duration::ticks(70'000);     // 700 ns
constexpr Duration kCompletion = Duration::ticks(80'000);  // 800 ns
const Bandwidth kRate = Bandwidth::gbps(100);

struct Noticed {
  Time time;
  std::uint64_t tag;
};

/// Starts its transfers and keeps what it is told.
class TestHost final : public Entity {
 public:
  explicit TestHost(EntityId card) : card_(card) {}
  void add(Time at, const Transfer& transfer) { plan_.push_back({at, transfer}); }
  const std::vector<std::pair<Time, Transfer>>& plan() const { return plan_; }

  void handle(const Event& event, EventContext& context) override {
    const auto transfer = event.payload_as<Transfer>();
    if (event.kind == transfer_sent) {
      sent_.push_back({context.now(), transfer.tag});
    } else if (event.kind == transfer_delivered) {
      delivered_.push_back({context.now(), transfer.tag});
    } else {
      context.send(card_, kWqe, transfer_start, transfer);
    }
  }
  const std::vector<Noticed>& sent() const { return sent_; }
  const std::vector<Noticed>& delivered() const { return delivered_; }

 private:
  EntityId card_;
  std::vector<std::pair<Time, Transfer>> plan_;
  std::vector<Noticed> sent_;
  std::vector<Noticed> delivered_;
};

std::shared_ptr<const CongestionAlgorithm> congestion_called(std::string_view name, const ParamSet& params) {
  return find_module(congestion_algorithms(), name, SourcePlace::named("test")).make(params);
}
std::shared_ptr<const CongestionAlgorithm> without_congestion_control() { return congestion_called("none", ParamSet("none", {})); }
/// As its paper has it.
ParamSet dcqcn_of_paper() {
  ParamSet params("dcqcn", dcqcn_params());
  const SourcePlace place = SourcePlace::named("test");
  for (const ModuleInfo& preset : run_presets()) {
    if (preset.name != "dcqcn_paper") continue;
    for (const NamedValue& value : preset.values) {
      if (value.name.starts_with("dcqcn.")) params.set(value.name.substr(6), value.value, place);
    }
  }
  return params;
}
std::shared_ptr<const CongestionAlgorithm> dcqcn() { return congestion_called("dcqcn", dcqcn_of_paper()); }

NicSettings nic_settings() {
  NicSettings settings{WireFormat(protocol_stack("none"), Bytes::of(1000))};
  settings.ack_interval = 16;
  settings.receive_latency = kReceive;
  settings.completion_latency = kCompletion;
  settings.congestion = without_congestion_control();
  return settings;
}

PacketSwitchSettings switch_settings() {
  PacketSwitchSettings settings;
  settings.buffer = {16'000'000, 4096, 4096, 0.125};
  settings.classes = {{true, true, 0}, {true, false, 0}};
  settings.largest_packet = Bytes::of(1000);
  settings.seed = 1;
  return settings;
}

/// A fat tree of cards, a host each. Entities: cards 0 .. n-1, switches, then hosts.
struct Cluster {
  Cluster(std::uint32_t k, Bandwidth rate, Duration delay) : tree(k, rate, delay), plans(tree.hosts()), versions(tree.hosts()) {
    tree.ecn = {400'000, 1'600'000, 0.2};
    tree.switching_delay = kPipeline;
  }

  void transfer(Time at, std::uint32_t from, std::uint32_t to, std::int64_t bytes, std::uint64_t tag, std::uint32_t priority = 0,
                std::uint32_t connection = 0, AttemptId attempt = AttemptId::none()) {
    Transfer transfer;
    transfer.attempt = attempt;
    transfer.source = NodeId(from);
    transfer.destination = NodeId(to);
    transfer.connection = connection & ((1U << transfer_connection_bits) - 1);
    transfer.priority = priority & 7U;
    transfer.tag = tag;
    transfer.size = Bytes::of(bytes);
    plans[from].push_back({at, transfer});
  }

  Engine build(const NicSettings& nic, const PacketSwitchSettings& switches, const EngineOptions& options) {
    EngineBuilder builder;
    const std::uint32_t first_host = tree.node_count();
    tree.add_to(builder, switches, [&](std::uint32_t node, const EgressPort& port) {
      NicWiring wiring;
      wiring.plan = [this](const Transfer& t, std::uint32_t queue_pair) {
        QueuePairPlan plan;
        const std::uint32_t version = versions[t.source.index()];
        plan.route =
            tree.route(t.source.index(), t.destination.index(), choice(t.source.index(), t.connection, queue_pair) + version);
        plan.is_cut_off = cut_off_versions.contains(version);
        plan.window = window;
        plan.switches = switches_on_the_way;
        return plan;
      };
      wiring.take_routes = [this, node](std::uint32_t version) { versions[node] = version; };
      wiring.host_of = [first_host](NodeId endpoint) { return EntityId(first_host + endpoint.index()); };
      return std::make_unique<Nic>(nic, std::vector<EgressPort>{port}, node, tree.routes, std::move(wiring));
    });
    for (std::uint32_t host = 0; host < tree.hosts(); ++host) {
      builder.add_entity(std::make_unique<TestHost>(EntityId(host)), "host" + std::to_string(host));
      builder.connect(EntityId(first_host + host), EntityId(host), kWqe);
      builder.connect(EntityId(host), EntityId(first_host + host), std::min(kReceive, kCompletion));
      for (const auto& [at, transfer] : plans[host]) {
        builder.post_initial(EntityId(first_host + host), at, EventClass::timer, 0, transfer);
      }
    }
    for (const auto& [at, node, port, rate] : port_changes_planned) {
      builder.post_initial(EntityId(node), at, EventClass::message, port_changes, PortChanges{port, rate.in_bps()});
    }
    for (const auto& [at, node, port, load] : loads_planned) {
      builder.post_initial(EntityId(node), at, EventClass::message, flow_load_changes, FlowLoadChanges{port, load.in_bps()});
    }
    for (const auto& [at, card] : pausing_planned) builder.post_initial(EntityId(card), at, EventClass::message, pauses_for_good);
    for (const auto& [at, card, attempt] : stops_planned) {
      builder.post_initial(EntityId(card), at, EventClass::message, attempt_stopped, AttemptStopped{attempt});
    }
    for (const auto& [at, version] : routes_planned) {
      for (std::uint32_t card = 0; card < tree.hosts(); ++card)
        builder.post_initial(EntityId(card), at, EventClass::message, routes_change, RoutesChange{version});
    }
    return std::move(builder).build(options);
  }

  /// By which version 0 of the ways goes; odd versions take the pod's other aggregation switch.
  static std::uint64_t choice(std::uint32_t source, std::uint32_t connection, std::uint32_t queue_pair) {
    return mix64(source * 1000 + connection * 100 + queue_pair) % 1024;
  }
  /// The cable from a host's edge switch to an aggregation switch of its pod carries so much, both
  /// ways.
  void change_uplink(Time at, std::uint32_t host, std::uint32_t aggregation, Bandwidth rate) {
    const std::uint32_t edge = host / 2;
    port_changes_planned.emplace_back(at, tree.hosts() + edge, 2 + aggregation, rate);
    port_changes_planned.emplace_back(at, tree.hosts() + 8 + edge / 2 * 2 + aggregation, edge % 2, rate);
  }

  const TestHost& host(const Engine& engine, std::uint32_t host) const {
    return engine.entity_as<TestHost>(EntityId(tree.node_count() + host));
  }
  const Nic& card(const Engine& engine, std::uint32_t host) const { return engine.entity_as<Nic>(EntityId(host)); }

  FatTree tree;
  std::vector<std::vector<std::pair<Time, Transfer>>> plans;
  /// node, port
  std::vector<std::tuple<Time, std::uint32_t, std::uint32_t, Bandwidth>> port_changes_planned;
  /// node, port
  std::vector<std::tuple<Time, std::uint32_t, std::uint32_t, Bandwidth>> loads_planned;
  /// card
  std::vector<std::tuple<Time, std::uint32_t, AttemptId>> stops_planned;
  std::vector<std::pair<Time, std::uint32_t>> routes_planned;
  std::vector<std::pair<Time, std::uint32_t>> pausing_planned;  ///< card
  std::vector<std::uint32_t> versions;                          ///< by card, as of now
  std::set<std::uint32_t> cut_off_versions;
  std::optional<Bytes> window;            ///< of every queue pair
  std::uint32_t switches_on_the_way = 0;  ///< likewise
};

const Bandwidth kOut = Bandwidth::bps(0);

/// What one packet takes over six links that are idle, up to the card.
Duration trip(std::int64_t bytes) { return 6 * (transmit_time(Bytes::of(bytes), kRate) + kDelay) + 5 * kPipeline; }

Duration serialization(std::int64_t bytes, Bandwidth rate = kRate) { return transmit_time(Bytes::of(bytes), rate); }

// Expectation: bytes / rate for all packets on the first link, then the last packet's own way over
// the other five: 5 (s + pipeline) + 6 delays; the acknowledgement comes back over six links of its
// own size.
TEST(Nic, ATransferAloneTakesItsTimeToTheTick) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 10'000'300, 7);
  Engine engine = cluster.build(nic_settings(), switch_settings(), {});
  engine.run({});
  const auto& delivered = cluster.host(engine, 15).delivered();
  const auto& sent = cluster.host(engine, 0).sent();
  ASSERT_EQ(delivered.size(), 1U);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(delivered[0].tag, 7U);
  // The last packet, of 300 bytes, finds a full one before it at every port, and so arrives its own
  // time on the last link after that.
  const Time full_arrives = Time::zero() + kWqe + serialization(10'000'000) + 5 * serialization(1000) + 6 * kDelay + 5 * kPipeline;
  EXPECT_EQ(delivered[0].time, full_arrives + serialization(300) + kReceive);
  // The sender may go on when the last bit has left it, whenever that is acknowledged.
  EXPECT_EQ(sent[0].time, Time::zero() + kWqe + serialization(10'000'300) + kCompletion);
  EXPECT_EQ(cluster.card(engine, 0).counters().data_sent, 10'001U);
  EXPECT_EQ(cluster.card(engine, 15).counters().acks_sent, 625U + 1);
}

TEST(Nic, QueuePairsOfATransferAndTransfersOfAConnectionAllArrive) {
  for (const std::uint32_t queue_pairs : {1U, 3U, 8U}) {
    Cluster cluster(4, kRate, kDelay);
    for (std::uint64_t i = 0; i < 40; ++i)
      cluster.transfer(Time::zero() + Duration::us(static_cast<std::int64_t>(i)), 2, 9, i * i * 997, i);
    NicSettings settings = nic_settings();
    settings.queue_pairs = queue_pairs;
    Engine engine = cluster.build(settings, switch_settings(), {});
    engine.run({});
    std::vector<std::uint64_t> tags;
    for (const Noticed& noticed : cluster.host(engine, 9).delivered()) tags.push_back(noticed.tag);
    ASSERT_EQ(tags.size(), 40U) << queue_pairs;
    EXPECT_TRUE(queue_pairs > 1 || std::is_sorted(tags.begin(), tags.end()));
    EXPECT_EQ(cluster.host(engine, 2).sent().size(), 40U);
    EXPECT_TRUE(cluster.card(engine, 2).unfinished().empty());
  }
}

// Handed over at time zero and at two later instants, a larger tag first.
TEST(Nic, TransfersOfAnInstantBeginInOrderOfTheirTags) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 2, 9, 5'000, 2);
  cluster.transfer(Time::zero(), 2, 9, 5'000, 1);
  for (const std::int64_t us : {3, 6}) {
    const Time at = Time::zero() + Duration::us(us);
    for (const std::uint64_t tag : {3, 1, 2}) cluster.transfer(at, 2, 9, 5'000, 10 * static_cast<std::uint64_t>(us) + tag);
  }
  Engine engine = cluster.build(nic_settings(), switch_settings(), {});
  engine.run({});
  std::vector<std::uint64_t> tags;
  for (const Noticed& noticed : cluster.host(engine, 9).delivered()) tags.push_back(noticed.tag);
  EXPECT_EQ(tags, (std::vector<std::uint64_t>{1, 2, 31, 32, 33, 61, 62, 63}));
}

// Expectation: two cards into one: each gets half, so that both end within a packet's time of twice
// the bytes' time.
TEST(Nic, TwoFlowsShareALink) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 4, 0, 5'000'000, 1);
  cluster.transfer(Time::zero(), 8, 0, 5'000'000, 2);
  Engine engine = cluster.build(nic_settings(), switch_settings(), {});
  engine.run({});
  const auto& delivered = cluster.host(engine, 0).delivered();
  ASSERT_EQ(delivered.size(), 2U);
  const Time end = Time::zero() + kWqe + serialization(10'000'000);
  for (const Noticed& noticed : delivered) {
    EXPECT_GE(noticed.time, end);
    EXPECT_LE(noticed.time, end + Duration::us(12));
  }
}

// Expectation: a higher priority takes the link; the lower one gets it when the higher has none
// waiting.
TEST(Nic, AHigherPriorityGoesFirst) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 5, 2'000'000, 1, 0);
  cluster.transfer(Time::zero(), 0, 6, 2'000'000, 2, 1);
  Engine engine = cluster.build(nic_settings(), switch_settings(), {});
  engine.run({});
  const Time high = cluster.host(engine, 6).delivered().at(0).time;
  const Time low = cluster.host(engine, 5).delivered().at(0).time;
  EXPECT_LE(high, Time::zero() + kWqe + serialization(2'000'000) + Duration::us(8));
  EXPECT_GE(low, Time::zero() + kWqe + serialization(4'000'000));
}

// Expectation: a lossy priority loses packets in an incast; go-back-N brings all of them in order
// in the end, by negative acknowledgements, and by the timer where the last packets were lost.
TEST(Nic, LossesAreMadeGood) {
  Cluster cluster(4, kRate, kDelay);
  for (std::uint32_t from = 1; from < 9; ++from) {
    for (std::uint64_t i = 0; i < 3; ++i) cluster.transfer(Time::zero(), from, 0, 400'000, from * 10 + i);
  }
  NicSettings settings = nic_settings();
  settings.retransmission_timeout = Duration::us(200);
  PacketSwitchSettings switches = switch_settings();
  switches.classes = {{false, false, 0}};
  switches.buffer = {60'000, 1000, 4096, 0.5};
  Engine engine = cluster.build(settings, switches, {});
  engine.run({});
  std::map<std::uint32_t, std::vector<std::uint64_t>> tags;
  for (const Noticed& noticed : cluster.host(engine, 0).delivered())
    tags[static_cast<std::uint32_t>(noticed.tag / 10)].push_back(noticed.tag);
  std::uint64_t repeated = 0;
  for (std::uint32_t from = 1; from < 9; ++from) {
    EXPECT_EQ(tags[from], (std::vector<std::uint64_t>{from * 10, from * 10 + 1, from * 10 + 2}));
    EXPECT_EQ(cluster.host(engine, from).sent().size(), 3U);
    repeated += cluster.card(engine, from).counters().data_repeated;
  }
  EXPECT_GT(repeated, 0U);
}

/// Probability of a mark at which n flows over a link stay at their fair share r, on average over
/// what happens between notifications. Marks come at p r a second, so notifications
/// notification_interval + X apart, X exponential, P(above t) = exp(-p r (t -
/// notification_interval)).
///   cut        r alpha / 2, of which K increases leave 2^-K;
///              alpha = 1 / (1 + E[alpha decays in between])
///   increase   beyond the rate of before with K >= F increases, m = K - F + 1 of them additive:
///              R_AI (m - 1 + 2^-m)
/// These are the terms of the fluid model (Zhu et al. 2015, section 5.1), but for two things: there
/// notifications may come closer together, and the F-th increase is not additive yet. The byte
/// counter is left out: 10 MB take many notifications.
double fixed_point(const DcqcnSettings& dcqcn, Duration notification_interval, double packets_per_s, double increase_per_s) {
  const auto balance = [&](double p) {
    const auto above = [&](double t_s) {
      return std::min(1.0, std::exp(-p * packets_per_s * (t_s - notification_interval.in_s())));
    };
    double decays = 0;
    double left_of_cut = 0;
    double gained = 0;
    for (int k = 0; k < 3000; ++k) {
      if (k > 0) decays += above(k * dcqcn.alpha_interval.in_s());
      const double is_k = above(k * dcqcn.rate_interval.in_s()) - above((k + 1) * dcqcn.rate_interval.in_s());
      left_of_cut += is_k * std::exp2(-k);
      const int additive = k - static_cast<int>(dcqcn.fast_recovery) + 1;
      if (additive > 0) gained += is_k * increase_per_s * (additive - 1 + std::exp2(-additive));
    }
    return left_of_cut * packets_per_s / (1 + decays) / 2 - gained;
  };
  double low = 1e-5;
  double high = 0.3;
  for (int i = 0; i < 40; ++i) (balance(std::sqrt(low * high)) < 0 ? low : high) = std::sqrt(low * high);
  return low;
}

/// The fluid model's in closed form, for small p (Zhu et al., "ECN or Delay", CoNEXT 2016).
double fixed_point_for_small_p(const DcqcnSettings& dcqcn, double flows, double link_packets_per_s, double increase_per_s) {
  const double bytes = static_cast<double>(dcqcn.byte_counter.count()) / 1000;
  const double events = 1 / bytes + flows / (dcqcn.rate_interval.in_s() * link_packets_per_s);
  return std::cbrt(increase_per_s * flows * flows / (dcqcn.alpha_interval.in_s() * link_packets_per_s * link_packets_per_s) *
                   events * events);
}

// Expectation: n flows over one link under DCQCN converge to a fair share of it each (Zhu et al.
// 2015, section 5.2: the fixed point is unique, with equal rates), and packets are marked as often
// as keeps them there. Rates swing about it for tens of milliseconds, so that shares are means over
// time: within 5 % of 1/n. The curve is such that 25 kB wait at the fixed point: enough for the
// link never to idle; and not more, since a packet is marked when it joins the queue, so that what
// waits delays the news. Where it does so for long, rates of many flows swing together, and marks
// are more than the fixed point says: of 16 flows a tenth.
TEST(Nic, DcqcnSharesALinkFairly) {
  const bool is_long = std::getenv("WEFT_LONG_TESTS") != nullptr;
  const std::vector<std::uint32_t> counts = WEFT_SANITIZED ? std::vector<std::uint32_t>{2, 4}
                                            : is_long      ? std::vector<std::uint32_t>{2, 3, 4, 6, 8, 12, 16}
                                                           : std::vector<std::uint32_t>{2, 4, 8, 16};
  constexpr double kLine = 40e9 / 8000;  // packets a second
  NicSettings settings = nic_settings();
  settings.congestion = dcqcn();
  settings.answer_priority = 1;
  const DcqcnSettings of_paper(dcqcn_of_paper());
  const double increase = of_paper.additive_increase.in_bps(40e9) / 8000;
  for (const std::uint32_t flows : counts) {
    const double expected = fixed_point(of_paper, settings.congestion->notification_interval(), kLine / flows, increase);
    Cluster cluster(6, Bandwidth::gbps(40), kDelay);
    cluster.tree.ecn = {5'000, 5'000 + std::llround(20'000 * 0.04 / expected), 0.04};
    for (std::uint32_t i = 0; i < flows; ++i) cluster.transfer(Time::zero(), 1 + i, 0, 10'000'000'000, i);
    Engine engine = cluster.build(settings, switch_settings(), {});
    const Time begin = Time::zero() + Duration::ms(50);
    const Duration span = Duration::ms(is_long ? 1000 : 400);
    engine.run({.until = begin, .interrupt = nullptr, .progress = {}});
    const auto sent = [&](std::uint32_t flow) { return static_cast<double>(cluster.card(engine, 1 + flow).counters().data_sent); };
    // All flows meet before the link to host 0, which is port 0 of the first edge switch.
    const auto marks = [&](Time now) {
      return static_cast<double>(engine.entity_as<PacketSwitch>(EntityId(cluster.tree.hosts())).counters(0, now).ecn_marks);
    };
    std::vector<double> moved;
    for (std::uint32_t i = 0; i < flows; ++i) moved.push_back(-sent(i));
    const double marks_before = marks(begin);
    engine.run({.until = begin + span, .interrupt = nullptr, .progress = {}});
    for (std::uint32_t i = 0; i < flows; ++i) moved[i] += sent(i);
    const double all = std::accumulate(moved.begin(), moved.end(), 0.0);
    EXPECT_GT(all / span.in_s(), 0.99 * kLine) << flows << " flows keep the link busy";
    for (const double m : moved) EXPECT_NEAR(m / all * flows, 1.0, 0.05) << flows << " flows";
    const double marked = (marks(begin + span) - marks_before) / all;
    RecordProperty("marked_" + std::to_string(flows), std::to_string(marked));
    EXPECT_NEAR(marked / expected, 1, 0.15) << flows << " flows";
    EXPECT_NEAR(marked / fixed_point_for_small_p(of_paper, flows, kLine, increase), 1, 0.25) << flows << " flows";
  }
}

// Expectation: with n windows under a step of marks at K the queue grows until it passes K and a
// round trip later is cut, so that the link is always busy and no more than K, what is on its way
// in a round trip and a packet of each ever wait (Alizadeh et al. 2010, section 3.3); shares are
// even over time, here within a fifth over 100 ms.
TEST(Nic, DctcpKeepsTheLinkBusyAndTheQueueShort) {
  constexpr std::int64_t threshold = 100'000;
  // of another pod: all are equally far, as windows share by round trips
  constexpr std::uint32_t first = 4;
  for (const std::uint32_t flows : {2U, 4U}) {
    Cluster cluster(4, Bandwidth::gbps(40), kDelay);
    cluster.tree.ecn = {threshold, threshold, 1};
    for (std::uint32_t i = 0; i < flows; ++i) cluster.transfer(Time::zero(), first + i, 0, 10'000'000'000, i);
    NicSettings settings = nic_settings();
    settings.congestion = congestion_called("dctcp", ParamSet("dctcp", dctcp_params()));
    settings.answer_priority = 1;
    Engine engine = cluster.build(settings, switch_settings(), {});
    const Time begin = Time::zero() + Duration::ms(20);
    const Duration span = Duration::ms(100);
    engine.run({.until = begin, .interrupt = nullptr, .progress = {}});
    const auto sent = [&](std::uint32_t flow) {
      return static_cast<double>(cluster.card(engine, first + flow).counters().data_sent);
    };
    std::vector<double> moved;
    for (std::uint32_t i = 0; i < flows; ++i) moved.push_back(-sent(i));
    engine.run({.until = begin + span, .interrupt = nullptr, .progress = {}});
    for (std::uint32_t i = 0; i < flows; ++i) moved[i] += sent(i);
    const double all = std::accumulate(moved.begin(), moved.end(), 0.0);
    EXPECT_GT(all * 1000 * 8 / span.in_s(), 0.999 * 40e9) << flows << " flows keep the link busy";
    for (const double m : moved) EXPECT_NEAR(m / all * flows, 1.0, 0.2) << flows << " flows";
    std::uint64_t repeated = 0;
    for (std::uint32_t i = 0; i < flows; ++i) repeated += cluster.card(engine, first + i).counters().data_repeated;
    EXPECT_EQ(repeated, 0U);
    // Where they meet first depends on their ways.
    std::uint64_t peak = 0;
    for (std::uint32_t node = cluster.tree.hosts(); node < cluster.tree.node_count(); ++node) {
      const auto& passed = engine.entity_as<PacketSwitch>(EntityId(node));
      for (std::uint32_t port = 0; port < 4; ++port) peak = std::max(peak, passed.counters(port, begin + span).queue_peak);
    }
    EXPECT_GT(peak, static_cast<std::uint64_t>(threshold));
    EXPECT_LE(peak, static_cast<std::uint64_t>(threshold + 4000 * std::int64_t{flows}));
  }
}

// A window that shrinks with the rate may close on packets none of which has asked for an answer:
// whoever fills it does, so that nobody waits for the retransmission timer. Expectation: at a rate
// that falls to a hundredth, and with answers only every 1000 packets, all of 3 MB arrive well
// before it runs out.
TEST(Nic, AWindowThatShrinksWithTheRateDoesNotStall) {
  class Falling final : public CongestionAlgorithm {
   public:
    MarkFeedback feedback() const override { return MarkFeedback::none; }
    CongestionState begin(const QueuePairLimits& limits) const override {
      return CongestionState(static_cast<double>(limits.line.in_bps()));
    }
    double on_sent(CongestionState& state, std::int64_t, Time) const override {
      double& rate = state.as<double>();
      return rate = std::max(1e9, rate * 0.9);
    }
  };
  Cluster cluster(4, kRate, kDelay);
  cluster.window = Bytes::of(150'000);
  cluster.transfer(Time::zero(), 0, 15, 3'000'000, 1);
  NicSettings settings = nic_settings();
  settings.congestion = std::make_shared<Falling>();
  settings.window_follows_rate = true;
  settings.ack_interval = 1000;
  settings.retransmission_timeout = Duration::ms(100);
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  // 3000 packets, hardly any of them faster than 1 Gb/s, at which each takes 8 us.
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  EXPECT_LT(cluster.host(engine, 15).delivered().front().time, Time::zero() + Duration::us(3000 * (8 + 1)));
  EXPECT_EQ(cluster.card(engine, 0).counters().data_repeated, 0U);
}

/// What an algorithm that asks for everything was told of each acknowledgement, in order.
struct Told {
  std::vector<Duration> round_trips;
  std::vector<std::vector<HopTelemetry>> hops;
  std::vector<std::uint64_t> acknowledged;
};
class Curious final : public CongestionAlgorithm {
 public:
  explicit Curious(Told& told) : told_(told) {}
  MarkFeedback feedback() const override { return MarkFeedback::none; }
  Measures measures() const override { return {.round_trips = true, .telemetry = true}; }
  CongestionState begin(const QueuePairLimits& limits) const override { return CongestionState(limits.line.in_bps()); }
  double on_sent(CongestionState& state, std::int64_t, Time) const override {
    return static_cast<double>(state.as<std::int64_t>());
  }
  std::int64_t window(const CongestionState&) const override { return 4000; }
  void on_acknowledged(CongestionState&, const Acknowledgement& answer) const override {
    if (!told_.hops.empty()) {
      ASSERT_EQ(answer.hops_before.size(), told_.hops.back().size());
      EXPECT_EQ(answer.hops_before.back().at, told_.hops.back().back().at);
    }
    told_.round_trips.push_back(answer.round_trip);
    told_.hops.emplace_back(answer.hops.begin(), answer.hops.end());
    told_.acknowledged.push_back(answer.acknowledged);
  }

 private:
  Told& told_;
};

// Expectation: alone, packets of 1000 B leave switch i (from 1) 80 ns + delay + pipeline after the
// one before it, and find nothing behind them; ports have sent as many bytes as packets have
// passed, this one included. With windows of four packets those of a window follow each other
// closely, and so do their answers.
TEST(Nic, TellsOfRoundTripsAndOfEveryHop) {
  Told told;
  Cluster cluster(4, kRate, kDelay);
  constexpr std::uint64_t packets = 20;
  cluster.transfer(Time::zero(), 0, 15, packets * 1000, 1);
  NicSettings settings = nic_settings();
  settings.congestion = std::make_shared<Curious>(told);
  cluster.switches_on_the_way = 5;
  PacketSwitchSettings switches = switch_settings();
  switches.writes_telemetry = true;
  Engine engine = cluster.build(settings, switches, {});
  engine.run({});
  ASSERT_EQ(told.hops.size(), packets);
  const Duration there = 6 * (serialization(1000) + kDelay) + 5 * kPipeline;
  const Duration back = 6 * (serialization(ack_wire_bytes) + kDelay) + 5 * kPipeline;
  for (std::uint64_t n = 0; n < packets; ++n) {
    EXPECT_EQ(told.acknowledged[n], n + 1);
    EXPECT_EQ(told.round_trips[n], there + back);
    ASSERT_EQ(told.hops[n].size(), 5U);
    const Time sent = Time::zero() + kWqe + (there + back) * static_cast<std::int64_t>(n / 4) +
                      serialization(1000) * static_cast<std::int64_t>(n % 4);
    for (std::uint64_t hop = 0; hop < 5; ++hop) {
      const HopTelemetry& record = told.hops[n][hop];
      EXPECT_EQ(record.at, sent + (serialization(1000) + kDelay + kPipeline) * static_cast<std::int64_t>(hop + 1))
          << n << " at " << hop;
      EXPECT_EQ(record.sent_bytes, 1000 * (n + 1));
      EXPECT_EQ(record.queue_bytes, 0);
      EXPECT_EQ(record.rate, kRate);
    }
  }
}

// Expectation: with a window of w packets in which every a-th asks for an answer (a = w / 5 up to
// the interval of acknowledgements), the line is busy all the time if the window holds what is sent
// until an answer is back, a packets late; and with less, w - a packets at least pass in a round
// trip.
TEST(Nic, AWindowHoldsWhatIsUnderWay) {
  const Duration there = 6 * (serialization(1000) + kDelay) + 5 * kPipeline;
  const Duration back = 6 * (serialization(ack_wire_bytes) + kDelay) + 5 * kPipeline;
  const auto held = (there + back).in_ticks() / serialization(1000).in_ticks() + 1;  // 127 packets
  constexpr std::int64_t packets = 5000;
  for (const std::int64_t window : {std::int64_t{1}, std::int64_t{10}, held / 2, held + held / 4 + 2, 4 * held}) {
    Cluster cluster(4, kRate, kDelay);
    cluster.window = Bytes::of(window * 1000);
    cluster.transfer(Time::zero(), 0, 15, packets * 1000, 1);
    Engine engine = cluster.build(nic_settings(), switch_settings(), {});
    engine.run({});
    ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
    const Duration took = cluster.host(engine, 15).delivered().front().time - kWqe - Time::zero() - kReceive;
    const Duration at_line = serialization((packets - 1) * 1000) + there;
    if (window > held + held / 5) {
      EXPECT_EQ(took, at_line) << window;
    } else {
      const std::int64_t interval = std::clamp<std::int64_t>(window / 5, 1, 16);
      EXPECT_GT(took, (there + back) * ((packets - 1) / window)) << window;
      EXPECT_LT(took,
                (there + back + serialization(1000) * interval) * (packets / std::max<std::int64_t>(1, window - interval) + 2))
          << window;
    }
  }
}

// Expectation: a window of one packet is a packet per round trip, whatever the interval of
// acknowledgements: packets of a window ask for one.
TEST(Nic, AWindowOfOnePacketIsAPacketPerRoundTrip) {
  class OnePacket final : public CongestionAlgorithm {
   public:
    MarkFeedback feedback() const override { return MarkFeedback::none; }
    CongestionState begin(const QueuePairLimits&) const override { return {}; }
    double on_sent(CongestionState&, std::int64_t, Time) const override { return 1e18; }
    std::int64_t window(const CongestionState&) const override { return 1; }
  };
  Cluster cluster(4, kRate, kDelay);
  constexpr std::int64_t packets = 20;
  cluster.transfer(Time::zero(), 0, 15, packets * 1000, 1);
  NicSettings settings = nic_settings();
  settings.congestion = std::make_shared<OnePacket>();
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  // Six links there and six back, five switches each way; an acknowledgement goes out at once.
  const Duration there = 6 * (serialization(1000) + kDelay) + 5 * kPipeline;
  const Duration back = 6 * (serialization(ack_wire_bytes) + kDelay) + 5 * kPipeline;
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  EXPECT_EQ(cluster.host(engine, 15).delivered().front().time,
            Time::zero() + kWqe + (packets - 1) * (there + back) + there + kReceive);
}

// Expectation: packet 1242 goes at 600 ns + 1242 x 80 ns = 99.96 us, just before the card's cable
// is out for 200 us, and the next one at 300 us, 199.96 us late, like all after it.
TEST(Nic, StandsStillWhileItsCableIsOut) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 10'000'000, 7);
  cluster.port_changes_planned = {{Time::zero() + Duration::us(100), 0, 0, kOut}, {Time::zero() + Duration::us(300), 0, 0, kRate}};
  NicSettings settings = nic_settings();
  settings.retransmission_timeout = Duration::us(50);
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  const Duration alone = kWqe + serialization(9'999'000) + trip(1000) + kReceive;
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  EXPECT_EQ(cluster.host(engine, 15).delivered()[0].time, Time::zero() + alone + Duration::ns(199'960));
  EXPECT_EQ(cluster.card(engine, 0).counters().data_repeated, 0U);
}

// Expectation: at a quarter of the rate from packet 1243 on, which goes as soon as the one before
// it is through: the 8,757 that are left take four times as long on the first link, and the last
// one likewise; nothing waits behind that.
TEST(Nic, ASlowCableTakesLonger) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 10'000'000, 7);
  cluster.port_changes_planned = {{Time::zero() + Duration::us(100), 0, 0, Bandwidth::gbps(25)}};
  Engine engine = cluster.build(nic_settings(), switch_settings(), {});
  engine.run({});
  const Duration alone = kWqe + serialization(9'999'000) + trip(1000) + kReceive;
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  EXPECT_EQ(cluster.host(engine, 15).delivered()[0].time, Time::zero() + alone + 8757 * 3 * serialization(1000));
}

// Expectation: the only packet is lost at its edge switch, where both ways up are out, and goes
// again when the timer runs out.
TEST(Nic, WhatIsLostAtACableIsSentAgain) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 1000, 7);
  for (const std::uint32_t aggregation : {0U, 1U}) {
    cluster.change_uplink(Time::zero(), 0, aggregation, kOut);
    cluster.change_uplink(Time::zero() + Duration::us(100), 0, aggregation, kRate);
  }
  NicSettings settings = nic_settings();
  settings.retransmission_timeout = Duration::us(200);
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  EXPECT_EQ(cluster.host(engine, 15).delivered()[0].time, Time::zero() + kWqe + Duration::us(200) + trip(1000) + kReceive);
  EXPECT_EQ(cluster.card(engine, 0).counters().data_sent, 2U);
  EXPECT_EQ(engine.entity_as<PacketSwitch>(EntityId(16)).counters(0, Time::max()).drops, 1U);
}

// Expectation: the first message arrives, the second is lost. The third takes the other way and
// arrives too early, which sends its card back to the second: a packet there, the answer back, a
// packet there.
TEST(Nic, GoesOnByAnotherRoute) {
  Cluster cluster(4, kRate, kDelay);
  const auto way = static_cast<std::uint32_t>(Cluster::choice(0, 0, 0) % 2);
  for (const auto& [at_us, tag] : {std::pair(0, 1), std::pair(20, 2), std::pair(60, 3)})
    cluster.transfer(Time::zero() + Duration::us(at_us), 0, 15, 1000, static_cast<std::uint64_t>(tag));
  cluster.change_uplink(Time::zero() + Duration::us(15), 0, way, kOut);
  cluster.routes_planned = {{Time::zero() + Duration::us(50), 1}};
  NicSettings settings = nic_settings();
  settings.retransmission_timeout = Duration::ms(10);
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  const auto& delivered = cluster.host(engine, 15).delivered();
  ASSERT_EQ(delivered.size(), 3U);
  const Time again = Time::zero() + Duration::us(60) + kWqe + trip(1000) + trip(ack_wire_bytes);
  EXPECT_EQ(delivered[0].time, Time::zero() + kWqe + trip(1000) + kReceive);
  EXPECT_EQ(delivered[1].time, again + trip(1000) + kReceive);
  EXPECT_EQ(delivered[2].time, again + serialization(1000) + trip(1000) + kReceive);
  EXPECT_EQ((std::vector{delivered[0].tag, delivered[1].tag, delivered[2].tag}), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(cluster.host(engine, 0).sent().size(), 3U);
}

// Expectation: what is handed over while no way is left goes when there is one again. What was lost
// before goes a timeout later.
TEST(Nic, StandsStillWhereNoWayIsLeft) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero() + Duration::us(20), 0, 15, 1000, 1);
  cluster.transfer(Time::zero(), 4, 12, 1000, 2);
  for (const std::uint32_t aggregation : {0U, 1U}) {
    cluster.change_uplink(Time::zero(), 4, aggregation, kOut);
    cluster.change_uplink(Time::zero() + Duration::us(400), 4, aggregation, kRate);
  }
  cluster.cut_off_versions = {1};
  cluster.routes_planned = {{Time::zero() + Duration::us(10), 1}, {Time::zero() + Duration::us(500), 2}};
  NicSettings settings = nic_settings();
  settings.retransmission_timeout = Duration::us(30);
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  EXPECT_EQ(cluster.host(engine, 15).delivered()[0].time, Time::zero() + Duration::us(500) + trip(1000) + kReceive);
  EXPECT_EQ(cluster.card(engine, 0).counters().data_repeated, 0U);
  ASSERT_EQ(cluster.host(engine, 12).delivered().size(), 1U);
  EXPECT_EQ(cluster.host(engine, 12).delivered()[0].time, Time::zero() + Duration::us(530) + trip(1000) + kReceive);
  EXPECT_EQ(cluster.card(engine, 4).counters().data_sent, 2U);
}

// Expectation: where flows take three quarters of the card's cable, a packet goes every 320 ns
// instead of 80, and crosses each cable as fast as ever. Where they take half of the edge switch's,
// it passes one on every 160 ns, whatever it has to pause.
TEST(Nic, LeavesFlowsTheirShare) {
  for (const bool is_at_card : {true, false}) {
    Cluster cluster(4, kRate, kDelay);
    cluster.transfer(Time::zero(), 0, 15, 10'000'000, 7);
    if (is_at_card) {
      cluster.loads_planned = {{Time::zero(), 0, 0, Bandwidth::gbps(75)}};
    } else {
      for (const std::uint32_t port : {2U, 3U}) cluster.loads_planned.emplace_back(Time::zero(), 16, port, Bandwidth::gbps(50));
    }
    Engine engine = cluster.build(nic_settings(), switch_settings(), {});
    engine.run({});
    const Duration every = Duration::ns(is_at_card ? 320 : 160);
    ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
    EXPECT_EQ(cluster.host(engine, 15).delivered()[0].time, Time::zero() + kWqe + 9'999 * every + trip(1000) + kReceive);
    EXPECT_EQ(engine.entity_as<PacketSwitch>(EntityId(16)).pauses_sent() > 0, !is_at_card);
  }
}

// Expectation: the flows' turn after packet 1,250, which begins at 500.6 us, would last until
// 500.92 us, but they are gone at 500.7.
TEST(Nic, TakesBackWhatFlowsLeave) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 10'000'000, 7);
  const Time gone = Time::zero() + Duration::ns(500'700);
  cluster.loads_planned = {{Time::zero(), 0, 0, Bandwidth::gbps(80)}, {gone, 0, 0, Bandwidth::bps(0)}};
  Engine engine = cluster.build(nic_settings(), switch_settings(), {});
  engine.run({});
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  // One every 400 ns: 1,250 have begun before 500.6 us, and that one; 8,749 follow.
  EXPECT_EQ(cluster.host(engine, 15).delivered()[0].time, gone + 8'748 * serialization(1000) + trip(1000) + kReceive);
}

// Expectation: 1,243 packets of the first attempt go from 600 ns to 100.04 us, the last of which
// begins before the attempt is stopped at 100 us, and all of them are acknowledged as ever. Its
// second transfer, which comes later, never begins. That of another attempt has the port for itself
// from 110.6 us on.
TEST(Nic, SendsNoMoreOfAStayThatIsStopped) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 10'000'000, 1, 0, 0, AttemptId(3));
  cluster.transfer(Time::zero() + Duration::us(105), 0, 15, 10'000'000, 2, 0, 0, AttemptId(3));
  cluster.transfer(Time::zero() + Duration::us(110), 0, 15, 5'000, 3, 0, 0, AttemptId(4));
  cluster.stops_planned = {{Time::zero() + Duration::us(100), 0, AttemptId(3)}};
  NicSettings settings = nic_settings();
  settings.retransmission_timeout = Duration::us(50);
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  EXPECT_EQ(cluster.card(engine, 0).counters().data_sent, 1243U + 5U);
  EXPECT_EQ(cluster.card(engine, 0).counters().data_repeated, 0U);
  EXPECT_TRUE(cluster.card(engine, 0).unfinished().empty());
  const auto& delivered = cluster.host(engine, 15).delivered();
  ASSERT_EQ(delivered.size(), 1U);
  EXPECT_EQ(delivered[0].tag, 3U);
  EXPECT_EQ(delivered[0].time, Time::zero() + Duration::us(110) + kWqe + serialization(4'000) + trip(1000) + kReceive);
  EXPECT_EQ(cluster.host(engine, 0).sent().size(), 1U);
}

// With selective repeat, of a burst that is lost to its end nobody hears: after the timer bursts of
// 1, 2, 4 ... packets go again, a round trip each, and nothing goes twice. 63 lost packets so take
// 6 bursts.
TEST(Nic, ALostEndIsSentAgainInBursts) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 63'000, 7);
  for (const std::uint32_t aggregation : {0U, 1U}) {
    cluster.change_uplink(Time::zero(), 0, aggregation, kOut);
    cluster.change_uplink(Time::zero() + Duration::us(100), 0, aggregation, kRate);
  }
  NicSettings settings = nic_settings();
  settings.keeps_early = true;
  settings.retransmission_timeout = Duration::us(200);
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  EXPECT_EQ(cluster.card(engine, 0).counters().data_repeated, 63U);
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  // The last of a burst of n comes n - 1 packets after its first. The timer counts from the first
  // packet.
  const Duration bursts = 6 * trip(1000) + 5 * trip(ack_wire_bytes) + serialization(1000) * (0 + 1 + 3 + 7 + 15 + 31);
  EXPECT_EQ(cluster.host(engine, 15).delivered()[0].time, Time::zero() + kWqe + Duration::us(200) + bursts + kReceive);
}

// Once a queue pair went back at full rate, into the same full queue. Expectation: all of 63
// packets are lost, and sent again from a window of one: 1, 2, 4, 8 and 16 packets in as many round
// trips, then 31, half of what was under way, and with the first of these acknowledged the last
// one.
TEST(Nic, GoesBackSlowly) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 63'000, 7);
  for (const std::uint32_t aggregation : {0U, 1U}) {
    cluster.change_uplink(Time::zero(), 0, aggregation, kOut);
    cluster.change_uplink(Time::zero() + Duration::us(100), 0, aggregation, kRate);
  }
  NicSettings settings = nic_settings();
  settings.retransmission_timeout = Duration::us(200);
  settings.slow_restart = true;
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  EXPECT_EQ(cluster.card(engine, 0).counters().data_repeated, 63U);
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  const Duration again = 6 * (trip(1000) + trip(ack_wire_bytes)) + trip(1000);
  EXPECT_EQ(cluster.host(engine, 15).delivered()[0].time, Time::zero() + kWqe + Duration::us(200) + again + kReceive);
}

// Expectation: with a whole time-out of 3.2 ms the first comes after a sixteenth of it, 200 us, the
// next 400 us later; a cable that is back after 100 or 500 us lets what is sent then through.
TEST(Nic, TimeoutsAdapt) {
  for (const bool is_later : {false, true}) {
    Cluster cluster(4, kRate, kDelay);
    cluster.transfer(Time::zero(), 0, 15, 1000, 7);
    for (const std::uint32_t aggregation : {0U, 1U}) {
      cluster.change_uplink(Time::zero(), 0, aggregation, kOut);
      cluster.change_uplink(Time::zero() + Duration::us(is_later ? 500 : 100), 0, aggregation, kRate);
    }
    NicSettings settings = nic_settings();
    settings.retransmission_timeout = Duration::us(3200);
    settings.adapts_timeout = 1;
    Engine engine = cluster.build(settings, switch_settings(), {});
    engine.run({});
    ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
    EXPECT_EQ(cluster.host(engine, 15).delivered()[0].time,
              Time::zero() + kWqe + Duration::us(is_later ? 600 : 200) + trip(1000) + kReceive);
  }
}

// Expectation: nothing comes back for three time-outs of 200 us; the packet was sent three times,
// at 0, 200 and 400 us, and then the queue pair gives up.
TEST(Nic, GivesUpAfterItsRetries) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 1000, 7);
  for (const std::uint32_t aggregation : {0U, 1U}) cluster.change_uplink(Time::zero(), 0, aggregation, kOut);
  NicSettings settings = nic_settings();
  settings.retransmission_timeout = Duration::us(200);
  settings.retries = 3;
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  ASSERT_EQ(cluster.card(engine, 0).given_up().size(), 1U);
  EXPECT_EQ(cluster.card(engine, 0).given_up()[0].time, Time::zero() + kWqe + Duration::us(600));
  EXPECT_EQ(cluster.card(engine, 0).given_up()[0].progress_at, Time::zero() + kWqe);
  EXPECT_EQ(cluster.card(engine, 0).given_up()[0].transfer.tag, 7U);
  EXPECT_EQ(cluster.card(engine, 0).counters().data_sent, 3U);
  EXPECT_EQ(cluster.card(engine, 0).unfinished().size(), 1U);
}

// Expectation: the host takes 25 Gb/s of what comes at 100, from the first packet's arrival until
// all of 1 MB is through, 320 us later: what may wait in the card, 25 kB at least when it lets its
// switch go on, lasts for 8 us, longer than the cable is idle. The switch waits for it, and drops
// nothing.
TEST(Nic, ASlowHostPausesItsSwitch) {
  Cluster cluster(4, kRate, kDelay);
  cluster.transfer(Time::zero(), 0, 15, 1'000'000, 7);
  NicSettings settings = nic_settings();
  settings.drain_rate = Bandwidth::gbps(25);
  settings.receive_buffer = Bytes::of(50'000);
  settings.lossless = 1;
  Engine engine = cluster.build(settings, switch_settings(), {});
  engine.run({});
  ASSERT_EQ(cluster.host(engine, 15).delivered().size(), 1U);
  const Time expected = Time::zero() + kWqe + trip(1000) + Duration::us(320) + kReceive;
  EXPECT_NEAR(static_cast<double>((cluster.host(engine, 15).delivered()[0].time - expected).in_ticks()), 0, 2);
  // Host 15 is at port 1 of the eighth edge switch. The cable is busy for 80 us of the 320 but for
  // the end, when what is left waits in the card.
  const PacketPortCounters counters = engine.entity_as<PacketSwitch>(EntityId(16 + 7)).counters(1, Time::max());
  EXPECT_NEAR(counters.paused.in_us(), 320 - 80 - 50'000 * 8 / 25e3, 10);
  EXPECT_EQ(counters.drops + counters.queue_drops, 0U);
}

// Expectation: a card that pauses its switch for good gets nothing any more; a watchdog of the
// switch drops what waits for it, and the others go on.
TEST(Nic, ACardMayPauseForGood) {
  for (const bool has_watchdog : {false, true}) {
    Cluster cluster(4, kRate, kDelay);
    cluster.pausing_planned = {{Time::zero(), 15}};
    cluster.transfer(Time::zero() + Duration::us(10), 0, 15, 50'000, 7);
    cluster.transfer(Time::zero() + Duration::us(10), 1, 14, 50'000, 8);
    NicSettings settings = nic_settings();
    settings.lossless = 1;
    PacketSwitchSettings switches = switch_settings();
    if (has_watchdog) switches.watchdog = {Duration::us(100), Duration::us(100)};
    Engine engine = cluster.build(settings, switches, {});
    engine.run({});
    EXPECT_TRUE(cluster.host(engine, 15).delivered().empty());
    EXPECT_EQ(cluster.host(engine, 14).delivered().size(), 1U);
    const auto& edge = engine.entity_as<PacketSwitch>(EntityId(16 + 7));
    EXPECT_EQ(edge.storms().size(), has_watchdog ? 1U : 0U);
    EXPECT_EQ(edge.counters(1, Time::max()).queue, has_watchdog ? 0U : 50'000U);
  }
}

RunReport random_transfers(std::uint64_t seed, bool fails, const EngineOptions& options) {
  Cluster cluster(4, kRate, Duration::ns(300));
  cluster.tree.ecn = {20'000, 80'000, 0.5};
  RandomStream random(seed, 5, 0);
  const auto pick = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random.below(below)); };
  std::vector<bool> is_whole(150, true);  ///< by tag: of an attempt that is not stopped
  for (std::uint32_t i = 0; i < 150; ++i) {
    const std::uint32_t from = pick(cluster.tree.hosts());
    const std::uint32_t to =
        pick(3) == 0 ? (from == 5 ? 6 : 5) : (from + 1 + pick(cluster.tree.hosts() - 1)) % cluster.tree.hosts();
    const Time at = Time::zero() + Duration::ns(pick(100'000));
    const std::uint32_t bytes = pick(300'000);
    const std::uint32_t priority = pick(2);
    // No queue pair is of two attempts at a time.
    const std::uint32_t attempt = fails ? i % 8 : 0;
    cluster.transfer(at, from, to, bytes, i, priority, pick(3) + 3 * attempt, fails ? AttemptId(attempt) : AttemptId::none());
    is_whole[i] = !fails || attempt > 2;
  }
  NicSettings nic = nic_settings();
  nic.congestion = dcqcn();
  nic.queue_pairs = 1 + static_cast<std::uint32_t>(seed % 3);
  nic.answer_priority = 2;
  nic.pause_time = seed % 2 == 0 ? Duration::us(5) : Duration::zero();
  nic.retransmission_timeout = Duration::us(300);
  nic.slow_restart = seed % 4 < 2;
  nic.adapts_timeout = static_cast<std::uint8_t>(seed % 5);
  PacketSwitchSettings switches = switch_settings();
  switches.pause_time = nic.pause_time;
  switches.buffer = {300'000, 2048, 4300, 0.25};
  switches.classes = {{seed % 3 != 0, true, 4096}, {true, true, 2048}, {true, false, 0}};
  nic.keeps_early = fails && seed % 2 == 1;
  for (std::uint32_t i = 0; i < (fails ? 30U : 0U); ++i) {
    const std::uint32_t host = pick(cluster.tree.hosts());
    const Time at = Time::zero() + Duration::ns(pick(300'000));
    const Time back = at + Duration::ns(1 + pick(pick(3) == 0 ? 500 : 400'000));
    const Bandwidth rate = pick(3) == 0 ? Bandwidth::gbps(1 + pick(99)) : kOut;
    const auto aggregation = pick(2);
    if (pick(3) == 0) {
      for (const auto& [time, then] : {std::pair(at, rate), std::pair(back, kRate)}) {
        cluster.port_changes_planned.emplace_back(time, host, 0, then);
        cluster.port_changes_planned.emplace_back(time, cluster.tree.hosts() + host / 2, host % 2, then);
      }
    } else {
      cluster.change_uplink(at, host, aggregation, rate);
      cluster.change_uplink(back, host, aggregation, kRate);
    }
  }
  cluster.cut_off_versions = {2};
  for (std::uint32_t attempt = 0; attempt < (fails ? 3U : 0U); ++attempt) {
    const Time at = Time::zero() + Duration::ns(pick(200'000));
    for (std::uint32_t card = 0; card < cluster.tree.hosts(); ++card)
      cluster.stops_planned.emplace_back(at, card, AttemptId(attempt));
  }
  for (std::uint32_t version = 1; version <= (fails ? 6U : 0U); ++version)
    cluster.routes_planned.emplace_back(Time::zero() + Duration::us(70 * version), version);
  Engine engine = cluster.build(nic, switches, options);
  const RunReport report = engine.run({});
  std::vector<int> delivered(is_whole.size(), 0);
  std::vector<int> sent(is_whole.size(), 0);
  for (std::uint32_t host = 0; host < cluster.tree.hosts(); ++host) {
    for (const Noticed& noticed : cluster.host(engine, host).delivered()) ++delivered[noticed.tag];
    for (const Noticed& noticed : cluster.host(engine, host).sent()) ++sent[noticed.tag];
    EXPECT_TRUE(cluster.card(engine, host).unfinished().empty());
  }
  for (std::size_t tag = 0; tag < is_whole.size(); ++tag) {
    EXPECT_EQ(delivered[tag], is_whole[tag] ? 1 : std::min(delivered[tag], 1)) << "seed " << seed << ", transfer " << tag;
    EXPECT_EQ(sent[tag], is_whole[tag] ? 1 : std::min(sent[tag], 1)) << "seed " << seed << ", transfer " << tag;
  }
  return report;
}

TEST(Nic, GivesOneFingerprintForThreadsPartitionsAndRedealing) {
  expect_one_fingerprint("nic_fat_tree_4", partitions_of(52, Duration::ns(350)),
                         [](const EngineOptions& options) { return random_transfers(6, false, options); });
}

TEST(Nic, GivesOneFingerprintWhereCablesFail) {
  expect_one_fingerprint("nic_failing_cables", partitions_of(52, Duration::ns(350)),
                         [](const EngineOptions& options) { return random_transfers(7, true, options); });
}

TEST(Nic, DeliversEverythingHoweverCut) {
  for (std::uint64_t seed = 0; seed < (WEFT_SANITIZED ? 2 : 12); ++seed) {
    PartitionExplicit each;
    for (std::uint32_t i = 0; i < 52; ++i) each.lp_of_entity.push_back(LpId(i));
    EngineOptions cut;
    cut.partition = each;
    for (const bool fails : {false, true}) {
      EXPECT_EQ(random_transfers(seed, fails, {}).fingerprint.to_text(), random_transfers(seed, fails, cut).fingerprint.to_text())
          << seed;
    }
  }
}

}  // namespace
}  // namespace weft::nic_test
