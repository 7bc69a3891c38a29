// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/failure_plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "scheduler/failures/network_parts.hpp"
#include "tests/topologies/topology_help.hpp"

namespace weft::failure_plan_test {
namespace {

// Expectation: what differs from the table's defaults has no effect where nothing fails.
TEST(FailureSettings, WithoutValuesNothingFails) {
  const FailureSettings none;
  EXPECT_FALSE(none.has_failures());
  EXPECT_EQ(none.spares(), 0U);
  const std::vector<std::string> unset = {"link_degraded_factor", "flap_duration", "reroute", "detection", "repair", "cold_start"};
  EXPECT_EQ(members_that_differ(none, ParamSet("failure", failure_params())), unset);
  EXPECT_FALSE(default_settings<FailureSettings>(failure_params()).has_failures());
}

TEST(FailureSettings, AreFilledByKindOfPart) {
  ParamSet params("failure", failure_params());
  const SourcePlace place = SourcePlace::named("test");
  params.set("switch_mtbf_hours", "5", place);
  params.set("scope", "gpu", place);
  params.set("repair", "2h", place);
  const auto settings = filled<FailureSettings>(params);
  EXPECT_EQ(settings.mtbf_h, (std::array{0.0, 0.0, 0.0, 5.0, 0.0}));
  EXPECT_EQ(settings.scope, FailureScope::gpu);
  EXPECT_EQ(settings.repair, DurationModel::fixed(Duration::s(7200)));
  EXPECT_TRUE(settings.has_network_failures());
}

TEST(FailurePlan, GammaIsThatOfTheLibrary) {
  for (double x = 1; x <= 11; x += 0.01) EXPECT_NEAR(gamma_function(x) / std::tgamma(x), 1, 1e-13) << x;
}

TEST(Parts, HaveNames) {
  const std::vector<std::uint32_t> hosts = {2, 3};
  const ClusterState cluster(hosts);
  for (const PartKind kind : {PartKind::gpu, PartKind::nic, PartKind::host}) {
    EXPECT_EQ(part_count(kind, cluster), kind == PartKind::host ? 2U : 5U);
    for (std::uint32_t i = 0; i < part_count(kind, cluster); ++i) {
      const Part part{kind, i};
      EXPECT_EQ(parse_part(to_text(part, cluster), cluster), part);
    }
  }
  EXPECT_EQ(to_text(Part{PartKind::nic, 4}, cluster), "host1/nic2");
  EXPECT_EQ(parse_part("1", cluster), (Part{PartKind::host, 1})) << "a number alone is a host";
  EXPECT_EQ(parse_part("2", cluster), std::nullopt);
  for (const char* name :
       {"", "host", "host2", "host1/gpu3", "host0/gpu2", "host0/gpu", "host0gpu1", "host1/nic2x", "host-1", "leaf0"}) {
    EXPECT_EQ(parse_part(name, cluster), std::nullopt) << name;
  }
  EXPECT_EQ(gpus_without({PartKind::nic, 3}, FailureScope::gpu, cluster), (std::vector<GpuSlot>{GpuSlot(3)}));
  EXPECT_EQ(gpus_without({PartKind::nic, 3}, FailureScope::host, cluster),
            (std::vector<GpuSlot>{GpuSlot(2), GpuSlot(3), GpuSlot(4)}));
}

// Each of the two ways in which links do less than they should is a process of its own, beside that
// in which they break.
TEST(FailurePlan, LinksDegradeAndFlap) {
  const auto network = std::make_shared<const NetworkParts>(build_named("single_switch", {{"hosts", "4"}}));
  FailureSettings settings;
  settings.network = network;
  settings.mtbf_h[static_cast<std::size_t>(PartKind::link)] = 10;
  settings.degraded_mtbf_h = 20;
  settings.degraded_share = 0.25;
  settings.flap_mtbf_h = 5;
  settings.flap = DurationModel::fixed(Duration::s(3));
  settings.repair = DurationModel::fixed(Duration::s(60));
  FailurePlan plan(settings, ClusterState(4, 1), 7);
  std::map<Fault, int> count;
  while (plan.next() < Time::zero() + Duration::s(3600) * 10'000) {
    const Failure failure = plan.take();
    ++count[failure.fault];
    EXPECT_EQ(failure.part.kind, PartKind::link);
    EXPECT_EQ(failure.repair, failure.fault == Fault::flaps ? Duration::s(3) : Duration::s(60));
    EXPECT_EQ(failure.share, failure.fault == Fault::degrades ? 0.25 : 0);
    plan.renew(failure, failure.at);
  }
  // Four cables for 10,000 h; five standard errors of a Poisson count.
  for (const auto& [fault, expected] : {std::pair(Fault::breaks, 4'000.0), {Fault::degrades, 2'000.0}, {Fault::flaps, 8'000.0}})
    EXPECT_NEAR(count[fault], expected, 5 * std::sqrt(expected));
}

/// Failures of 100 parts, repaired at once, up to `until`: the times between those of each part,
/// hours.
std::vector<double> gaps_h(double shape, double mtbf_h, Time until) {
  FailureSettings settings;
  settings.mtbf_h[static_cast<std::size_t>(PartKind::host)] = mtbf_h;
  settings.weibull_shape = shape;
  const ClusterState cluster(100, 1);
  FailurePlan plan(settings, cluster, 7);
  std::map<Part, Time> last;
  std::vector<double> gaps;
  Time before;
  while (plan.next() < until) {
    const Failure failure = plan.take();
    EXPECT_GE(failure.at, before);
    EXPECT_TRUE(failure.renews);
    before = failure.at;
    gaps.push_back((failure.at - last[failure.part]).in_s() / 3600);
    last[failure.part] = failure.at;
    plan.renew(failure, failure.at);
  }
  return gaps;
}

// 100 parts for 20,000 h with one failure in 10 h each: about 200,000 gaps. Mean m; of a Weibull
// distribution of shape k 1 - exp(-Gamma(1 + 1/k)^k) are below m. Tolerance: five standard errors,
// the spread of a gap being sqrt(Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1) m.
TEST(FailurePlan, PartsFailAtTheirRate) {
  for (const double shape : {0.7, 1.0, 2.5}) {
    const std::vector<double> gaps = gaps_h(shape, 10, Time::zero() + Duration::s(20'000 * 3600LL));
    const auto count = static_cast<double>(gaps.size());
    double sum = 0;
    double below = 0;
    for (const double gap : gaps) {
      sum += gap;
      below += gap < 10;
    }
    const double g1 = std::tgamma(1 + 1 / shape);
    const double spread = 10 * std::sqrt(std::tgamma(1 + 2 / shape) / (g1 * g1) - 1);
    EXPECT_NEAR(sum / count, 10, 5 * spread / std::sqrt(count)) << shape;
    const double expected = 1 - std::exp(-std::pow(g1, shape));
    EXPECT_NEAR(below / count, expected, 5 * std::sqrt(expected * (1 - expected) / count)) << shape;
  }
}

TEST(FailurePlan, TakesTheLogInOrderOfTime) {
  const ClusterState cluster(2, 4);
  FailureSettings settings;
  settings.repair = DurationModel::fixed(Duration::s(9));
  settings.log = read_failure_log(SourceText("log.csv", "time_s,part,repair_s\n20,host1/gpu2,\n10.5,host0,3\n"), cluster);
  FailurePlan plan(settings, cluster, 1);
  const Failure first = plan.take();
  EXPECT_EQ(first.at, Time::zero() + Duration::ms(10'500));
  EXPECT_EQ(first.part, (Part{PartKind::host, 0}));
  EXPECT_EQ(first.repair, Duration::s(3));
  EXPECT_FALSE(first.renews);
  const Failure second = plan.take();
  EXPECT_EQ(second.part, (Part{PartKind::gpu, 6}));
  EXPECT_EQ(second.repair, Duration::s(9));
  EXPECT_EQ(plan.next(), Time::max());
}

TEST(FailurePlan, SaysAllThatIsWrongWithALog) {
  const ClusterState cluster(2, 4);
  try {
    read_failure_log(SourceText("log.csv", "time_s,part,repair_s\n-1,host0,\n1,host2,5\n2,host1/gpu4,x\n"), cluster);
    FAIL() << "that log was read";
  } catch (const InputError& error) {
    std::string text;
    for (const Diagnostic& one : error.diagnostics()) text += one.code + " ";
    EXPECT_EQ(text, "negative-duration unknown-part unknown-part bad-value ");
  }
}

}  // namespace
}  // namespace weft::failure_plan_test
