// SPDX-License-Identifier: Apache-2.0
// Sensitivities against finite differences, and the links that they name against an exhaustive
// search. Both change capacities and run the scenario again.
#include "tools/explain/link_sensitivities.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/long_runs.hpp"
#include "tests/validation/scenario_run.hpp"
#include "tools/explain/recorded_run.hpp"
#include "tools/results/memory_sink.hpp"

namespace weft::link_sensitivities_test {
namespace {

using Random = std::mt19937_64;

std::uint32_t below(Random& random, std::uint32_t bound) {
  return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random);
}

/// Every link of the fabric gets a rate of its own, so that no two limit a flow alike.
std::shared_ptr<const Topology> with_random_rates(const std::shared_ptr<const Topology>& topology, Random& random) {
  std::uniform_real_distribution<double> gbps(20, 100);
  std::vector<std::pair<LinkId, Bandwidth>> rates;
  for (std::uint32_t link = 0; link < topology->link_count(); ++link)
    rates.emplace_back(LinkId(link), Bandwidth::bps(std::llround(gbps(random) * 1e9)));
  return with_rates(topology, rates);
}

Scenario with_rate(const Scenario& scenario, LinkId link, double times) {
  Scenario changed = scenario;
  const double rate = static_cast<double>(scenario.topology->link(link).rate.in_bps()) * times;
  const std::vector<std::pair<LinkId, Bandwidth>> rates{{link, Bandwidth::bps(std::llround(rate))}};
  changed.topology = with_rates(scenario.topology, rates);
  return changed;
}

struct Fabric {
  std::string builder;
  std::vector<std::pair<std::string, std::string>> settings;
  std::uint32_t hosts;
};

Fabric random_fabric(Random& random) {
  switch (below(random, 5)) {
    case 0:
      return {"single_switch", {{"hosts", "6"}}, 6};
    case 1:
      return {"clos",
              {{"hosts", "8"},
               {"gpus_per_host", "1"},
               {"hosts_per_leaf", "2"},
               {"leafs_per_pod", "2"},
               {"aggs_per_pod", "2"},
               {"spines", "2"}},
              8};
    case 2:
      return {"fat_tree", {{"k", "4"}}, 16};
    case 3:
      return {"dragonfly", {{"groups", "3"}, {"routers_per_group", "2"}, {"hosts_per_router", "2"}}, 12};
    default:
      return {"torus", {{"dimensions", "3x3"}}, 9};
  }
}

std::string workload_text(Random& random, std::uint32_t ranks) {
  std::string text = fmt::format("ranks: {}\n", ranks);
  const bool gathers = below(random, 2) == 0;
  const std::uint32_t size = 50 + below(random, 100);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    text += fmt::format("role {{ name: \"r{0}\" ranks: \"{0}\"\n  op {{ name: \"work\" compute {{ duration: \"{1}us\" }} }}\n",
                        rank, 1000 + below(random, 5000));
    text += fmt::format("  op {{ name: \"sum\" collective {{ type: ALL_REDUCE size: \"{}MB\" }} deps: \"work\" }}\n", size);
    text += fmt::format("  op {{ name: \"more\" compute {{ duration: \"{}us\" }} deps: \"work\" }}\n", 1000 + below(random, 9000));
    text += fmt::format("  op {{ name: \"next\" collective {{ type: {} size: \"{}MB\" }} deps: \"sum\" deps: \"more\" }}\n}}\n",
                        gathers ? "ALL_GATHER" : "ALL_TO_ALL", size / 2);
  }
  return text;
}

FlowList random_flows(const Topology& topology, Random& random) {
  FlowList list{"flows", {}};
  const std::span<const NodeId> endpoints = topology.endpoints();
  const auto hosts = static_cast<std::uint32_t>(endpoints.size());
  const std::uint32_t flows = 10 + below(random, 30);
  for (std::uint32_t i = 0; i < flows; ++i) {
    const std::uint32_t from = below(random, hosts);
    const std::uint32_t to = (from + 1 + below(random, hosts - 1)) % hosts;
    ListedFlow flow;
    flow.source = endpoints[from].index();
    flow.destination = endpoints[to].index();
    flow.size = Bytes::of(10'000'000 + below(random, 300'000'000));
    flow.start = Duration::us(below(random, 50'000));
    list.flows.push_back(flow);
  }
  return list;
}

/// Flows or jobs at random on a fabric at random.
Scenario random_scenario(const ScratchFolder& folder, Random& random) {
  const Fabric fabric = random_fabric(random);
  std::string text = fmt::format("topology {{ builder: \"{}\"", fabric.builder);
  for (const auto& [name, value] : fabric.settings) text += fmt::format(" set {{ name: \"{}\" value: \"{}\" }}", name, value);
  text += " }\n";
  RunFlags flags;
  flags.settings = recording_settings();
  flags.settings.push_back(fmt::format("flow.queue_pairs={}", 1 + below(random, 2)));
  flags.settings.push_back(std::vector<std::string>{"flow.routing=ecmp", "flow.routing=spray"}[below(random, 2)]);
  flags.settings.push_back("collective.all_reduce=ring");
  flags.seed = random();
  const bool has_flows = below(random, 2) == 0;
  if (!has_flows) {
    const std::uint32_t of_first = 2 + below(random, fabric.hosts / 2 - 1);
    const std::uint32_t of_second = 2 + below(random, fabric.hosts / 2 - 1);
    for (const auto& [name, ranks] : {std::pair("first", of_first), std::pair("second", of_second)}) {
      const std::string work = folder.write(fmt::format("{}.textproto", name), workload_text(random, ranks));
      text += fmt::format("job {{ name: \"{}\" gpus: {} iterations: 2 workload {{ file: \"{}\" }} }}\n", name, ranks, work);
    }
    flags.placement = below(random, 2) == 0 ? "spread" : "first_fit";
  }
  flags.scenario_file = folder.write("s.textproto", text);
  flags.mode = "flow";
  flags.jobs_follow = has_flows;
  Scenario scenario = load_scenario(flags);
  if (has_flows) scenario.flows = random_flows(*scenario.topology, random);
  scenario.topology = with_random_rates(scenario.topology, random);
  return scenario;
}

double end_of(const Scenario& scenario, std::size_t job) {
  const std::unique_ptr<TapedRun> run = record_run(scenario, {});
  return run->jobs.at(job).end.in_s();
}

double mean_time(const Scenario& scenario) {
  MemorySink rows;
  run(scenario, rows, {});
  double sum = 0;
  for (const FlowRow& flow : rows.flows) sum += (flow.end - flow.start).in_s();
  return sum / static_cast<double>(rows.flows.size());
}

TEST(LinkSensitivities, EqualFiniteDifferencesOnRandomFabrics) {
  const int fabrics = short_sanitized_runs() ? 8 : 100;
  constexpr double change = 2e-6;
  int compared = 0;
  int kinks = 0;
  int moving = 0;
  for (int i = 0; i < fabrics; ++i) {
    const ScratchFolder folder;
    Random random(static_cast<std::uint64_t>(i));
    const Scenario scenario = random_scenario(folder, random);
    const std::unique_ptr<TapedRun> recorded = record_run(scenario, {});
    ASSERT_FALSE(recorded->jobs.empty());
    const bool takes_mean = scenario.flows && i % 2 == 0;
    const std::size_t job = recorded->jobs.size() - 1;
    const auto time = [&](const Scenario& of) { return takes_mean ? mean_time(of) : end_of(of, job); };
    const std::vector<WeighedFlow> ends = takes_mean ? mean_of_transfers(recorded->tape()) : recorded->jobs[job].ends;
    const std::vector<double> found = link_sensitivities(recorded->tape(), ends).by_capacity;
    // Seconds per relative change; the largest, and two others.
    std::vector<std::uint32_t> links(found.size());
    std::iota(links.begin(), links.end(), 0U);
    const auto gain = [&](std::uint32_t link) {
      return found[link] * static_cast<double>(scenario.topology->link(LinkId(link)).rate.in_bps());
    };
    std::ranges::sort(links, {}, [&](std::uint32_t link) { return -std::abs(gain(link)); });
    const double largest = std::abs(gain(links.front()));
    ASSERT_GT(largest, 0);
    const double now = time(scenario);
    for (const std::uint32_t link : {links[0], links[1], links[2], links[3 + below(random, 4)],
                                     links[below(random, static_cast<std::uint32_t>(links.size()))]}) {
      const double up = (time(with_rate(scenario, LinkId(link), 1 + change)) - now) / change;
      const double down = (now - time(with_rate(scenario, LinkId(link), 1 - change))) / change;
      const double tolerance = 0.01 * std::max(std::abs(gain(link)), 0.02 * largest);
      ++compared;
      moving += std::abs(gain(link)) > 0.02 * largest ? 1 : 0;
      if (std::abs(up - down) > tolerance) {
        // Two events change places within the step.
        ++kinks;
        continue;
      }
      EXPECT_NEAR(gain(link), (up + down) / 2, tolerance)
          << "fabric " << i << ", " << scenario.topology->link_name(LinkId(link)) << ", largest " << largest;
    }
  }
  RecordProperty("kinks", kinks);
  RecordProperty("moving", moving);
  // Most of what is compared moves the time.
  EXPECT_GE(moving, 2 * fabrics);
  EXPECT_EQ(compared, 5 * fabrics);
  EXPECT_LE(kinks, compared / 50);
}

// Expectation: no three links gain more, if each is raised by 0.01 % by itself, than the three that
// the sensitivities name.
TEST(LinkSensitivities, NameTheBestThreeOfAnExhaustiveSearch) {
  constexpr double change = 1e-4;
  const int searches = short_sanitized_runs() ? 1 : 10;
  int searched = 0;
  for (std::uint64_t seed = 1000; searched < searches; ++seed) {
    const ScratchFolder folder;
    Random random(seed);
    const Scenario scenario = random_scenario(folder, random);
    if (scenario.topology->link_count() > 60) continue;
    ++searched;
    const std::unique_ptr<TapedRun> taped = record_run(scenario, {});
    const std::size_t job = taped->jobs.size() - 1;
    const std::vector<double> found = link_sensitivities(taped->tape(), taped->jobs[job].ends).by_capacity;
    const double now = taped->jobs[job].end.in_s();
    std::vector<std::uint32_t> named(found.size());
    std::iota(named.begin(), named.end(), 0U);
    std::vector<double> gains;
    for (const std::uint32_t link : named) gains.push_back(now - end_of(with_rate(scenario, LinkId(link), 1 + change), job));
    std::vector<std::uint32_t> best = named;
    std::ranges::sort(named, {}, [&](std::uint32_t link) {
      return found[link] * static_cast<double>(scenario.topology->link(LinkId(link)).rate.in_bps());
    });
    std::ranges::sort(best, {}, [&](std::uint32_t link) { return -gains[link]; });
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(gains[named[i]], gains[best[i]], 0.02 * gains[best[0]])
          << "seed " << seed << ": " << scenario.topology->link_name(LinkId(named[i])) << " is named, "
          << scenario.topology->link_name(LinkId(best[i])) << " is best";
    }
  }
}

}  // namespace
}  // namespace weft::link_sensitivities_test
