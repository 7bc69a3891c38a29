// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/service.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/param_rows.hpp"
#include "core/text/source_text.hpp"
#include "scheduler/failures/fleet.hpp"
#include "scheduler/failures/network_parts.hpp"

namespace weft {

namespace {

/// Switches and links need a topology to stand in.
void check_has_network(const Scenario& scenario) {
  const FailureSettings& failures = scenario.failures;
  const std::array of_network = {
      std::pair("switch_mtbf_hours", failures.mtbf_h[static_cast<std::size_t>(PartKind::packet_switch)]),
      std::pair("link_mtbf_hours", failures.mtbf_h[static_cast<std::size_t>(PartKind::link)]),
      std::pair("link_degraded_mtbf_hours", failures.degraded_mtbf_h),
      std::pair("flap_mtbf_hours", failures.flap_mtbf_h),
  };
  for (const auto& [name, mtbf_h] : of_network) {
    if (mtbf_h == 0 || scenario.topology != nullptr) continue;
    fail("no-network", "hosts without a topology have no switches and links that could fail",
         SourcePlace::named(std::string("failure.") + name), "give a topology, or drop it");
  }
}

/// Job mode knows no speeds of links.
void leave_out_slow_links(Scenario& scenario, const std::string& log) {
  scenario.failures.degraded_mtbf_h = 0;
  scenario.failures.flap_mtbf_h = 0;
  const std::size_t slow =
      std::erase_if(scenario.failures.log, [](const LoggedFailure& failure) { return failure.fault == Fault::degrades; });
  if (slow == 0) return;
  scenario.assumptions.push_back(fmt::format("{}: {} a factor, which changes nothing: job mode knows no speeds of links", log,
                                             counted(slow, "failure has", "failures have")));
}

}  // namespace

void read_service(Scenario& scenario) {
  scenario.failures = filled<FailureSettings>(scenario.parameters.of("failure"));
  const ClusterState cluster = empty_cluster(scenario);
  const std::uint64_t spares = scenario.failures.spares();
  if (spares >= cluster.host_count()) {
    fail("too-many-spares", fmt::format("{}, of {}", counted(spares, "host is a spare", "hosts are spares"), cluster.host_count()),
         SourcePlace::named("failure.hot_spares, failure.cold_spares"), "leave at least one for jobs");
  }
  for (std::uint32_t host = 0; spares > 0 && host < cluster.host_count(); ++host) {
    if (cluster.gpu_count(HostId(host)) == cluster.host_gpus_max()) continue;
    fail("uneven-spares", "hosts have different numbers of GPUs, and spares would change what jobs fit",
         SourcePlace::named("failure.hot_spares, failure.cold_spares"), "use spares where all hosts are alike");
  }
  if (scenario.topology != nullptr) scenario.failures.network = std::make_shared<const NetworkParts>(scenario.topology);
  check_has_network(scenario);
  const std::string log = scenario.failures.log_file;
  if (!log.empty()) scenario.failures.log = read_failure_log(SourceText::read(log), cluster, scenario.failures.network.get());
  if (!simulates_network(scenario.mode)) leave_out_slow_links(scenario, log);
  scenario.maintenance = filled<MaintenanceSettings>(scenario.parameters.of("maintenance"));
  const std::string plan = scenario.maintenance.plan_file;
  if (!plan.empty()) scenario.maintenance.drains = read_maintenance_plan(SourceText::read(plan), cluster);
}

void check_network_failures(const Scenario& scenario) {
  if (!scenario.failures.has_network_failures()) return;
  const SourcePlace place = SourcePlace::named("failure");
  if (scenario.mode == Mode::packet && scenario.parameters.of("packet").duration("retransmission_timeout") == Duration::zero()) {
    fail("nothing-sent-again", "switches and links fail, and what they lose is never sent again", place,
         "give packet.retransmission_timeout, or leave the failures out");
  }
  if (simulates_network(scenario.mode) && scenario.routes != nullptr) {
    fail("routes-know-no-other-way", "switches and links fail, and the routes of flow.routes lead over them all the same", place,
         "leave out flow.routes, or the failures");
  }
}

}  // namespace weft
