// SPDX-License-Identifier: Apache-2.0
// Hosts that move what stays on links of their own (host/inside/island), and rings between hosts
// that go ahead while nobody else is on their links (host/across/across_traffic), say what the
// network says: the same runs with and without, to the tick.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "tests/long_runs.hpp"
#include "tests/tools/results/rows_as_text.hpp"
#include "tests/validation/scenario_run.hpp"

namespace weft::private_links_test {
namespace {

/// A run's rows; of transfers without their numbers and in an order of their own, as those of hosts
/// are told of at the end.
struct Told {
  RunSummary summary;
  std::vector<std::string> ops;
  std::vector<std::string> transfers;
  std::string transfers_as_told;
  std::string others;
};

template <class Row>
std::string row_text(const Row& row, std::string_view left_out = "") {
  std::string text;
  for (const Column<Row>& column : TableOf<Row>::columns()) {
    if (column.info.name != left_out) text += cell_text(column.cell(row)) + ",";
  }
  return text;
}

/// All rows, and those of computation too.
class OpsSink final : public ResultSink {
 public:
  OpsSink(MemorySink& others, std::vector<std::string>& ops) : others_(others), ops_(ops) {}
  Needs needs() const override { return {.ops = true, .origins = true}; }
  void begin() override { others_.begin(); }
  void add_job(const JobRow& row) override { others_.add_job(row); }
  void add_attempt(const AttemptRow& row) override { others_.add_attempt(row); }
  void add_cluster(const ClusterRow& row) override { others_.add_cluster(row); }
  void add_iteration(const IterationRow& row) override { others_.add_iteration(row); }
  void add_communicator(const CommunicatorRow& row) override { others_.add_communicator(row); }
  void add_collective(const CollectiveRow& row) override { others_.add_collective(row); }
  void add_flow(const FlowRow& row) override { others_.add_flow(row); }
  void add_link(const LinkRow& row) override { others_.add_link(row); }
  void add_event(const EventRow& row) override { others_.add_event(row); }
  void add_op(const OpRow& row) override {
    ops_.push_back(fmt::format("{} {} {} {} {} {} {} {} {}", row.job, row.rank, row.iteration, row.op, row.kind, row.stream,
                               row.size.count(), row.start.in_ticks(), row.end.in_ticks()));
  }

 private:
  MemorySink& others_;
  std::vector<std::string>& ops_;
};

Told told(const RunFlags& given, const std::string& use, std::uint32_t threads = 1, std::optional<Time> until = {}) {
  RunFlags flags = given;
  flags.settings.push_back("host.private_links=" + use);
  Scenario scenario = load_scenario(flags);
  MemorySink sink;
  RunOptions options;
  options.threads = threads;
  options.until = until;
  Told run;
  OpsSink all(sink, run.ops);
  run.summary = weft::run(scenario, all, options).summary;
  std::ranges::sort(run.ops);
  for (const FlowRow& row : sink.flows) run.transfers.push_back(row_text(row, "flow_id"));
  std::ranges::sort(run.transfers);
  run.transfers_as_told = rows_text(sink.flows);
  sink.flows.clear();
  run.others = all_rows_text(sink) + rows_text(sink.attempts);
  return run;
}

/// Those of sorted rows that others do not have.
std::vector<std::string> without(const std::vector<std::string>& rows, const std::vector<std::string>& others) {
  std::vector<std::string> left;
  std::ranges::set_difference(rows, others, std::back_inserter(left));
  return left;
}

void expect_alike(const Told& by_hosts, const Told& by_network) {
  EXPECT_EQ(by_hosts.others, by_network.others);
  EXPECT_EQ(without(by_hosts.transfers, by_network.transfers), without(by_network.transfers, by_hosts.transfers));
  EXPECT_EQ(without(by_hosts.ops, by_network.ops), without(by_network.ops, by_hosts.ops));
  EXPECT_EQ(by_hosts.summary.makespan, by_network.summary.makespan);
  EXPECT_EQ(by_hosts.summary.busiest_link, by_network.summary.busiest_link);
  EXPECT_EQ(by_hosts.summary.max_link_utilization, by_network.summary.max_link_utilization);
  EXPECT_EQ(by_hosts.summary.notes, by_network.summary.notes);
  const auto percentiles = [](const std::optional<Percentiles>& of) {
    return of ? fmt::format("{} {} {} {}", of->p50, of->p90, of->p99, of->max) : "";
  };
  EXPECT_EQ(percentiles(by_hosts.summary.fct_s), percentiles(by_network.summary.fct_s));
  EXPECT_EQ(percentiles(by_hosts.summary.slowdown), percentiles(by_network.summary.slowdown));
  EXPECT_EQ(by_hosts.summary.flows_finished, by_network.summary.flows_finished);
  EXPECT_EQ(by_hosts.summary.payload_bytes, by_network.summary.payload_bytes);
  EXPECT_EQ(by_hosts.summary.standstill.size(), by_network.summary.standstill.size());
  EXPECT_EQ(by_hosts.summary.stopped_at, by_network.summary.stopped_at);
}

/// What clusters are drawn with.
class DrawnCluster {
 public:
  std::string scenario() const { return text_; }
  std::optional<Time> until;
  std::vector<std::string> workloads;

 protected:
  explicit DrawnCluster(RandomStream random, Mode mode = Mode::flow) : random_(random), mode_(mode) {}

  std::string pick(const std::vector<std::string>& choices) { return choices[random_.below(choices.size())]; }
  static std::string setting(const std::string& name, const std::string& value) {
    return fmt::format("set {{ name: \"{}\" value: \"{}\" }}", name, value);
  }
  void set(const std::string& name, const std::string& value) { text_ += setting(name, value) + "\n"; }

  void add_topology(const std::string& inside) {
    text_ = fmt::format("mode: {}\ntopology {{ builder: \"{}\" {} {} {} {} }}\n", mode_ == Mode::flow ? "FLOW" : "PACKET",
                        pick({"rail_optimized", "clos"}), setting("hosts", std::to_string(hosts_)),
                        setting("gpus_per_host", std::to_string(gpus_)),
                        setting("nics_per_host", pick({"1", std::to_string(gpus_)})), setting("inside", inside));
  }

  /// The same hosts at several sites, whose lines slow transfers down and delay them.
  void put_between_sites() {
    const std::uint64_t sites = hosts_ % 2 == 0 ? 2 : hosts_;
    const std::string fabric = fmt::format("hosts={} gpus_per_host={} nics_per_host=1", hosts_ / sites, gpus_);
    const std::size_t begin = text_.find("topology {");
    text_.replace(
        begin, text_.find('\n', begin) - begin,
        fmt::format("topology {{ builder: \"multi_site\" {} {} {} {} {} {} {} {} }}", setting("sites", std::to_string(sites)),
                    setting("wan", pick({"hub", "mesh"})), setting("fabric", "single_switch"), setting("fabric_params", fabric),
                    setting("wan_rate", pick({"1Gbps", "100Gbps"})), setting("wan_rtt", pick({"20us", "3ms"})),
                    setting("wan_loss", pick({"0", "0.0001", "0.02"})), setting("wan_jitter", pick({"0ms", "3us", "200us"}))));
    set("wan.congestion_control", pick({"auto", "auto", "none", "reno", "cubic", "bbr"}));
  }

  void add_event(std::uint64_t number) {
    const std::uint64_t at_us = random_.below(20'000);
    const std::string what = pick({fmt::format("fail {{ part: \"host{}\" repair: \"2ms\" }}", random_.below(hosts_)),
                                   fmt::format("drain {{ hosts: \"{}\" for: \"3ms\" }}", number), "cancel { job: \"job0\" }"});
    text_ += fmt::format("event {{ at: \"{}us\" {} }}\n", at_us, what);
  }

  /// Of few packets in packet mode.
  std::string size() {
    const std::uint64_t number = 1 + random_.below(900);
    return fmt::format("{}{}", number, mode_ == Mode::flow ? pick({"B", "kB", "kB", "MB"}) : pick({"B", "kB", "kB"}));
  }

  RandomStream random_;
  Mode mode_;
  std::uint64_t hosts_ = 4;
  std::uint64_t gpus_ = 0;
  std::string text_;
};

/// Clusters in which ranks of several jobs talk inside hosts and between them.
class Drawn : public DrawnCluster {
 public:
  explicit Drawn(std::uint32_t seed, Mode mode = Mode::flow) : DrawnCluster({34, seed, 1}, mode) {
    gpus_ = std::uint64_t{2} << random_.below(3);
    const std::string inside = pick({"nvswitch", "nvswitch", "nvswitch", "full_mesh"});
    add_topology(inside);
    const std::uint64_t jobs = 1 + random_.below(4);
    for (std::uint64_t job = 0; job < jobs; ++job) add_job(job);
    for (std::uint64_t event = random_.below(3); event > 0; --event) add_event(event);
    const std::string routing = pick({"ecmp", "ecmp", "e_ecmp", "spray"});
    set("flow.routing", mode_ == Mode::flow ? routing : "ecmp");
    set("flow.queue_pairs", pick({"1", "1", "1", "4"}));
    set("flow.priorities", pick({"strict", "none"}));
    set("flow.nvlink_latency", pick({"500ns", "1us", "2us", "0ns"}));
    set("flow.completion_latency", pick({"200ns", "200ns", "900ns", "0ns"}));
    set("collective.slots", pick({"1", "2", "8"}));
    set("collective.protocol", pick({"auto", "simple", "ll", "ideal"}));
    set("collective.all_reduce", pick({"auto", "ring", "double_binary_tree", "direct", "hierarchical"}));
    set("collective.all_gather", pick({"auto", "ring", "direct"}));
    set("host.reduction_time_per_mib", pick({"0ns", "3us"}));
    set("host.compute_slowdown", pick({"1", "1.3"}));
    set("host.straggler_share", pick({"0", "0.3"}));
    set("flow.reducing_switches", pick({"none", "none", "all"}));
    set("host.fold_ranks", "off");
    set("checkpoint.every", pick({"1", "2"}));
    set("checkpoint.write", pick({"0s", "0s", "40us"}));
    if (random_.below(4) == 0) until = Time::zero() + Duration::us(static_cast<std::int64_t>(random_.below(6000)));
    if (random_.below(5) == 0 && mode_ == Mode::flow) set("scheduler.fast_forward", "2");
  }

 private:
  void add_job(std::uint64_t number) {
    const std::uint64_t ranks = std::uint64_t{2} << random_.below(5);
    text_ += fmt::format(
        "job {{ name: \"job{}\" gpus: {} iterations: {} submit: \"{}us\"{} workload {{ file: \"job{}.textproto\" }} }}\n", number,
        std::min(ranks, 4 * gpus_), 1 + random_.below(3), random_.below(3) * random_.below(4000),
        mode_ == Mode::packet ? pick({"", "", " mode: FLOW"}) : "", number);
    workloads.push_back(random_.below(2) == 0 ? workload(std::min(ranks, 4 * gpus_)) : layers(std::min(ranks, 4 * gpus_)));
  }

  /// As models are trained: computation and collectives inside hosts by turns, one after the other,
  /// and beside them what goes to other hosts.
  std::string layers(std::uint64_t ranks) {
    const std::uint64_t inside = std::min(gpus_, ranks);
    std::string text = fmt::format("ranks: {}\ncommunicator {{ name: \"tp\" size: {} stride: 1 priority: {} }}\n", ranks, inside,
                                   random_.below(3));
    if (ranks > inside) text += fmt::format("communicator {{ name: \"dp\" size: {} stride: {} }}\n", ranks / inside, inside);
    text += "role {\n";
    std::string last;
    const auto add = [&](const std::string& name, const std::string& what, bool is_beside) {
      text += fmt::format("op {{ name: \"{}\" {} {}}}\n", name, what, last.empty() ? "" : "deps: \"" + last + "\" ");
      if (!is_beside) last = name;
    };
    const std::uint64_t ops = 3 + random_.below(25);
    for (std::uint64_t op = 0; op < ops; ++op) {
      const std::string size = this->size();
      const std::string type = pick({"ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER", "ALL_TO_ALL", "BARRIER", "BROADCAST"});
      const auto collective = [&](const std::string& group) {
        return fmt::format("collective {{ type: {} communicator: \"{}\"{} }}", type, group,
                           type == "BARRIER" ? "" : fmt::format(" size: \"{}\"", size));
      };
      const std::uint64_t choice = random_.below(10);
      if (choice < 4) {
        add(fmt::format("o{}", op),
            fmt::format("compute {{ duration: \"{}us\" cpu: {} }}", random_.below(200), pick({"false", "false", "true"})), false);
      } else if (choice < 8 || ranks == inside) {
        add(fmt::format("o{}", op), collective("tp"), false);
      } else if (choice == 8) {
        add(fmt::format("o{}", op), collective("dp"), random_.below(2) == 0);
      } else {
        const bool is_awaited = random_.below(2) == 0;
        add(fmt::format("s{}", op), fmt::format("send {{ communicator: \"dp\" peer_offset: 1 tag: {} size: \"{}\" }}", op, size),
            true);
        add(fmt::format("o{}", op),
            fmt::format("receive {{ communicator: \"dp\" peer_offset: -1 tag: {} size: \"{}\" }}", op, size), !is_awaited);
      }
    }
    return text + "}\n";
  }

  std::string workload(std::uint64_t ranks) {
    std::string text = fmt::format("ranks: {}\n", ranks);
    std::vector<std::string> groups = {"world"};
    for (std::uint64_t size = 2; size < ranks; size *= 2) {
      for (const std::uint64_t stride : {std::uint64_t{1}, ranks / size}) {
        if (random_.below(3) == 0 || ranks % (size * stride) != 0) continue;
        groups.push_back(fmt::format("g{}_{}", size, stride));
        text += fmt::format("communicator {{ name: \"{}\" size: {} stride: {} priority: {} }}\n", groups.back(), size, stride,
                            random_.below(3));
      }
    }
    text += "role {\n";
    const std::uint64_t ops = 2 + random_.below(10);
    for (std::uint64_t op = 0; op < ops; ++op) add_op(op, groups, text);
    return text + "}\n";
  }

  void add_op(std::uint64_t op, const std::vector<std::string>& groups, std::string& text) {
    const std::string& group = groups[random_.below(groups.size())];
    // Mostly one after the other, sometimes beside each other.
    const std::string after = op > 0 && random_.below(4) > 0 ? fmt::format(" deps: \"o{}\"", op - 1) : "";
    if (random_.below(3) == 0) {
      text += fmt::format("op {{ name: \"o{}\" compute {{ duration: \"{}us\" }}{} }}\n", op, 1 + random_.below(200), after);
      return;
    }
    const std::string size = this->size();
    if (random_.below(5) == 0) {
      text += fmt::format("op {{ name: \"s{}\" send {{ communicator: \"{}\" peer_offset: 1 tag: {} size: \"{}\" }}{} }}\n", op,
                          group, op, size, after);
      text += fmt::format("op {{ name: \"o{}\" receive {{ communicator: \"{}\" peer_offset: -1 tag: {} size: \"{}\" }}{} }}\n", op,
                          group, op, size, after);
      return;
    }
    const std::string type =
        pick({"ALL_REDUCE", "ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER", "ALL_TO_ALL", "BROADCAST", "BARRIER"});
    text += fmt::format("op {{ name: \"o{}\" collective {{ type: {} communicator: \"{}\"{} }}{} }}\n", op, type, group,
                        type == "BARRIER" ? "" : fmt::format(" size: \"{}\"", size), after);
  }
};

/// Rings between hosts, one after the other or beside each other, that share links now and then
/// with each other, with sends and with other jobs.
class DrawnAcross : public DrawnCluster {
 public:
  explicit DrawnAcross(std::uint32_t seed) : DrawnCluster({34, seed, 2}) {
    hosts_ = std::array<std::uint64_t, 6>{4, 5, 6, 8, 12, 16}[random_.below(6)];
    gpus_ = std::uint64_t{1} << random_.below(3);
    add_topology("nvswitch");
    const std::uint64_t jobs = 1 + random_.below(3);
    for (std::uint64_t job = 0; job < jobs; ++job) add_job(job);
    for (std::uint64_t event = random_.below(3); event > 0; --event) add_event(event);
    set("flow.ecmp_seed", std::to_string(random_.below(1000)));
    set("flow.priorities", pick({"strict", "none"}));
    set("flow.wqe_latency", pick({"1us", "700ns"}));
    set("flow.completion_latency", pick({"200ns", "1us", "3us"}));
    set("flow.receive_latency", pick({"300ns", "1us", "4us"}));
    set("flow.queue_pair_rate_max", pick({"unlimited", "unlimited", "150Gbps"}));
    set("collective.slots", pick({"1", "2", "8"}));
    set("collective.protocol", pick({"auto", "simple", "ll", "ideal"}));
    set("collective.all_reduce", pick({"ring", "ring", "double_binary_tree", "halving_doubling"}));
    set("collective.all_gather", pick({"ring", "direct"}));
    set("collective.barrier", pick({"direct", "bruck"}));
    set("host.reduction_time_per_mib", pick({"0ns", "3us"}));
    set("host.straggler_share", pick({"0", "0.3"}));
    set("host.fold_ranks", "off");
    set("checkpoint.every", "1");
    set("checkpoint.write", pick({"0s", "40us"}));
    if (random_.below(4) == 0) until = Time::zero() + Duration::us(static_cast<std::int64_t>(random_.below(20'000)));
  }

 private:
  void add_job(std::uint64_t number) {
    const std::uint64_t ranks = gpus_ * (random_.below(2) == 0 || hosts_ % 2 == 1 ? hosts_ : hosts_ / 2);
    text_ +=
        fmt::format("job {{ name: \"job{}\" gpus: {} iterations: {} submit: \"{}us\" workload {{ file: \"job{}.textproto\" }} }}\n",
                    number, ranks, 1 + random_.below(2), random_.below(2) * random_.below(4000), number);
    workloads.push_back(workload(ranks));
  }

  std::string workload(std::uint64_t ranks) {
    std::string text = fmt::format("ranks: {}\ncommunicator {{ name: \"dp\" size: {} stride: {} priority: {} }}\n", ranks,
                                   ranks / gpus_, gpus_, random_.below(3));
    const std::uint64_t parts = ranks / gpus_ % 2 == 0 && ranks / gpus_ > 2 ? 2 : 1;
    text += fmt::format("communicator {{ name: \"half\" size: {} stride: {} }}\nrole {{\n", ranks / gpus_ / parts, gpus_);
    std::string last;
    std::string last_collective;
    const std::uint64_t ops = 2 + random_.below(8);
    for (std::uint64_t op = 0; op < ops; ++op) {
      const std::string after = last.empty() ? "" : " deps: \"" + last + "\"";
      const std::string size = this->size();
      const std::uint64_t choice = random_.below(8);
      if (choice < 2) {
        text += fmt::format("op {{ name: \"o{}\" compute {{ duration: \"{}us\" }}{} }}\n", op, random_.below(400), after);
        last = fmt::format("o{}", op);
      } else if (choice < 7) {
        // In order of their communicator, as on a GPU's stream, and mostly beside computation.
        const std::string order = last_collective.empty() || random_.below(5) == 0 ? "" : " deps: \"" + last_collective + "\"";
        const std::string type = pick({"ALL_REDUCE", "ALL_REDUCE", "ALL_REDUCE", "ALL_GATHER", "REDUCE_SCATTER", "BARRIER"});
        text += fmt::format("op {{ name: \"o{}\" collective {{ type: {} communicator: \"{}\"{} }}{}{} }}\n", op, type,
                            pick({"dp", "dp", "half"}), type == "BARRIER" ? "" : " size: \"" + size + "\"", after,
                            order == after ? "" : order);
        last_collective = fmt::format("o{}", op);
        if (random_.below(3) == 0) last = last_collective;
      } else {
        text += fmt::format("op {{ name: \"s{}\" send {{ communicator: \"dp\" peer_offset: 1 tag: {} size: \"{}\" }}{} }}\n", op,
                            op, size, after);
        text += fmt::format("op {{ name: \"o{}\" receive {{ communicator: \"dp\" peer_offset: -1 tag: {} size: \"{}\" }}{} }}\n",
                            op, op, size, after);
        last = fmt::format("o{}", op);
      }
    }
    return text + "}\n";
  }
};

template <class Drawing>
RunFlags written(const ScratchFolder& folder, const Drawing& drawn) {
  for (std::size_t job = 0; job < drawn.workloads.size(); ++job)
    folder.write(fmt::format("job{}.textproto", job), drawn.workloads[job]);
  RunFlags flags;
  flags.scenario_file = folder.write("scenario.textproto", drawn.scenario());
  return flags;
}

/// Runs both ways; how often the first took fewer events.
template <class Drawing>
std::uint32_t expect_alike_in(std::uint32_t scenarios) {
  std::uint32_t fewer_events = 0;
  for (std::uint32_t seed = 0; seed < scenarios && !testing::Test::HasFailure(); ++seed) {
    const Drawing drawn(seed);
    const ScratchFolder folder;
    const RunFlags flags = written(folder, drawn);
    std::string all = drawn.scenario();
    for (const std::string& workload : drawn.workloads) all += workload;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, all));
    const Told by_hosts = told(flags, "on", 1, drawn.until);
    const Told by_network = told(flags, "off", 1, drawn.until);
    expect_alike(by_hosts, by_network);
    if (by_hosts.summary.events < by_network.summary.events) ++fewer_events;
  }
  return fewer_events;
}

// Expectation: whatever several jobs do at once, with priorities, slots, failures, drains and
// stragglers, hosts find every time to the tick that the network finds, and the same bytes.
TEST(PrivateLinks, HostsSayWhatTheNetworkSays) {
  const std::uint32_t scenarios = WEFT_SANITIZED ? 5 : long_runs() ? 1000 : 80;
  EXPECT_GT(expect_alike_in<Drawn>(scenarios), scenarios / 2) << "hosts move something in most of them";
}

/// The same in packet mode, where what goes to other hosts is packets.
class DrawnInPackets final : public Drawn {
 public:
  explicit DrawnInPackets(std::uint32_t seed) : Drawn(seed, Mode::packet) {}
};

// Expectation: so do hosts in packet mode, whose cards and switches see every packet as before.
TEST(PrivateLinks, HostsSayTheSameBesidePackets) {
  const std::uint32_t scenarios = WEFT_SANITIZED ? 3 : long_runs() ? 500 : 25;
  EXPECT_GT(expect_alike_in<DrawnInPackets>(scenarios), scenarios / 2) << "hosts move something in most of them";
}

// Expectation: so do rings between hosts, whatever comes in their way.
TEST(PrivateLinks, RingsBetweenHostsSayWhatTheNetworkSays) {
  const std::uint32_t scenarios = WEFT_SANITIZED ? 5 : long_runs() ? 1000 : 80;
  EXPECT_GT(expect_alike_in<DrawnAcross>(scenarios), scenarios / 2) << "most go ahead by themselves";
}

template <class Drawing>
class BetweenSites final : public Drawing {
 public:
  explicit BetweenSites(std::uint32_t seed) : Drawing(seed) { this->put_between_sites(); }
};

// Expectation: private links know nothing of lines between sites, and leave what crosses them to
// the network.
TEST(PrivateLinks, LinesBetweenSitesAreLeftToTheNetwork) {
  const std::uint32_t scenarios = WEFT_SANITIZED ? 5 : long_runs() ? 1000 : 30;
  EXPECT_GT(expect_alike_in<BetweenSites<Drawn>>(scenarios), scenarios / 2) << "hosts move what stays inside";
  EXPECT_GT(expect_alike_in<BetweenSites<DrawnAcross>>(scenarios), scenarios / 4) << "rings inside sites go ahead";
}

/// Four GPUs sum up from 1 us on, while each computes for `duration`; what follows either goes
/// inside the host as well.
RunFlags two_at_once(const ScratchFolder& folder, const std::string& duration) {
  RunFlags flags;
  flags.topology =
      folder.write("net.textproto", "builder: \"rail_optimized\"" + std::string(" set { name: \"hosts\" value: \"1\" }"));
  flags.workload = folder.write(
      "work.textproto", fmt::format("ranks: 4\nrole {{\n"
                                    "op {{ name: \"first\" compute {{ duration: \"1us\" }} }}\n"
                                    "op {{ name: \"beside\" compute {{ duration: \"{}\" }} }}\n"
                                    "op {{ name: \"sum\" collective {{ type: ALL_REDUCE size: \"1MB\" }} deps: \"first\" }}\n"
                                    "op {{ name: \"send\" send {{ peer_offset: 1 size: \"300kB\" }} deps: \"beside\" }}\n"
                                    "op {{ name: \"take\" receive {{ peer_offset: -1 size: \"300kB\" }} deps: \"beside\" }}\n"
                                    "op {{ name: \"gather\" collective {{ type: ALL_GATHER size: \"1MB\" }} deps: \"take\" }}\n"
                                    "op {{ name: \"more\" collective {{ type: ALL_REDUCE size: \"2MB\" }} deps: \"sum\" }}\n}}\n",
                                    duration));
  flags.settings = {"collective.protocol=ideal"};
  flags.iterations = 2;
  return flags;
}

// What a rank computes ends at the tick at which the sum does, or a tick beside it. What follows
// both begins at one instant then, and what comes first must not lose what comes next.
TEST(PrivateLinks, WhatBeginsAtTheInstantOfAnEndDisturbsNothing) {
  const ScratchFolder folder;
  MemorySink sink;
  run(load_scenario(two_at_once(folder, "1s")), sink, {});
  const Duration sum_ends = sink.collectives.front().end - sink.iterations.front().start;
  for (const std::int64_t ticks : {-1, 0, 1}) {
    const RunFlags flags = two_at_once(folder, to_text(sum_ends + Duration::ticks(ticks)));
    SCOPED_TRACE(ticks);
    expect_alike(told(flags, "on"), told(flags, "off"));
  }
}

// A job is cancelled so that its ranks hear of it, 10 us later, at the tick at which something ends
// inside hosts: it has not ended then.
TEST(PrivateLinks, WhatEndsAtTheInstantOfAStopHasNotEnded) {
  for (const char* const mode : {"FLOW", "PACKET"}) {
    const ScratchFolder folder;
    folder.write("work.textproto",
                 "ranks: 4\ncommunicator { name: \"tp\" size: 2 }\ncommunicator { name: \"dp\" size: 2 stride: 2 }\nrole {\n"
                 "op { name: \"first\" compute { duration: \"10us\" } }\n"
                 "op { name: \"send\" send { communicator: \"tp\" peer_offset: 1 size: \"100kB\" } deps: \"first\" }\n"
                 "op { name: \"take\" receive { communicator: \"tp\" peer_offset: -1 size: \"100kB\" } deps: \"first\" }\n"
                 "op { name: \"sum\" collective { type: ALL_REDUCE communicator: \"tp\" size: \"300kB\" } deps: \"take\" }\n"
                 "op { name: \"all\" collective { type: ALL_REDUCE communicator: \"dp\" size: \"300kB\" } deps: \"sum\" }\n"
                 "op { name: \"last\" compute { duration: \"50us\" } deps: \"all\" }\n}\n");
    const std::string scenario = fmt::format(
        "mode: {}\ntopology {{ builder: \"clos\" {} {} {} }}\njob {{ name: \"job\" workload {{ file: \"work.textproto\" }} }}\n",
        mode, "set { name: \"hosts\" value: \"2\" }", "set { name: \"gpus_per_host\" value: \"2\" }",
        "set { name: \"inside\" value: \"nvswitch\" }");
    RunFlags flags;
    flags.scenario_file = folder.write("scenario.textproto", scenario);
    MemorySink sink;
    run(load_scenario(flags), sink, {});
    ASSERT_FALSE(sink.collectives.empty());
    for (const CollectiveRow& row : sink.collectives) {
      const std::string at = to_text(row.end - Time::zero() - Duration::us(10));
      flags.scenario_file =
          folder.write("cancelled.textproto", scenario + fmt::format("event {{ at: \"{}\" cancel {{ job: \"job\" }} }}\n", at));
      SCOPED_TRACE(fmt::format("{} {} at {}", mode, row.op, at));
      expect_alike(told(flags, "on"), told(flags, "off"));
    }
  }
}

// A ring of 8 moves 7/8 of 1,024 TiB twice over every link: at 100 Mb/s that takes 5 years, and the
// simulated clock ends after 2.9.
TEST(PrivateLinks, WhatEndsAfterTheClockIsReported) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("net.textproto", "builder: \"lone_server\" set { name: \"nvlink_rate\" value: \"100Mbps\" }\n");
  flags.workload =
      folder.write("work.textproto", "ranks: 8\nrole { op { name: \"sum\" collective { type: ALL_REDUCE size: \"1024TiB\" } } }\n");
  for (const char* const use : {"on", "off"}) {
    flags.settings = {"collective.all_reduce=ring"};
    try {
      told(flags, use);
      FAIL() << use;
    } catch (const InputError& error) {
      EXPECT_EQ(error.diagnostics().front().code, "beyond-clock") << use;
    }
  }
}

template <class Drawing>
void expect_same_on_threads(std::uint32_t scenarios) {
  for (std::uint32_t seed = 0; seed < scenarios && !testing::Test::HasFailure(); ++seed) {
    const Drawing drawn(seed);
    const ScratchFolder folder;
    const RunFlags flags = written(folder, drawn);
    SCOPED_TRACE(seed);
    const Told one = told(flags, "on");
    for (const std::uint32_t threads : {2U, 8U}) {
      const Told several = told(flags, "on", threads);
      EXPECT_EQ(several.summary.fingerprint, one.summary.fingerprint) << threads;
      EXPECT_EQ(several.transfers_as_told, one.transfers_as_told) << threads;
      expect_alike(several, one);
    }
  }
}

TEST(PrivateLinks, AreTheSameOnAnyNumberOfThreads) {
  expect_same_on_threads<Drawn>(WEFT_SANITIZED ? 3 : 15);
  expect_same_on_threads<DrawnAcross>(WEFT_SANITIZED ? 3 : 15);
  expect_same_on_threads<BetweenSites<DrawnAcross>>(WEFT_SANITIZED ? 3 : 10);
}

// Ranks on a host each come at different instants; messages without bytes take no time in the
// network, and of a sum of a byte most parts have none.
TEST(PrivateLinks, WhatTakesNoTimeComesToPassAtOnce) {
  for (const char* const what : {"type: BARRIER", "type: ALL_REDUCE size: \"1B\"", "type: ALL_REDUCE size: \"5B\""}) {
    for (const int hosts : {5, 6}) {
      const ScratchFolder folder;
      RunFlags flags;
      flags.topology = folder.write(
          "net.textproto",
          fmt::format("builder: \"rail_optimized\" set {{ name: \"hosts\" value: "
                      "\"{}\" }} set {{ name: \"gpus_per_host\" value: \"1\" }} set {{ name: \"nics_per_host\" value: \"1\" }}",
                      hosts));
      // As they were found to fill what a group goes ahead by at the instant of an end.
      constexpr std::array starts_ns = {20'007, 9'000, 20'000, 2'000, 0, 2'130};
      std::string text = fmt::format("ranks: {}\n", hosts);
      for (int rank = 0; rank < hosts; ++rank) {
        text += fmt::format(
            "role {{ name: \"r{}\" ranks: \"{}\" op {{ name: \"wait\" compute {{ duration: \"{}ns\" }} }} "
            "op {{ name: \"come\" collective {{ {} }} deps: \"wait\" }} }}\n",
            rank, rank, starts_ns[rank], what);
      }
      flags.workload = folder.write("work.textproto", text);
      flags.iterations = 3;
      for (const char* const completion : {"200ns", "1us", "4us"}) {
        flags.settings = {"host.fold_ranks=off", "collective.all_reduce=ring", "collective.protocol=ideal",
                          std::string("flow.completion_latency=") + completion};
        expect_alike(told(flags, "on"), told(flags, "off"));
      }
    }
  }
}

}  // namespace
}  // namespace weft::private_links_test
