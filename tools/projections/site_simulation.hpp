// SPDX-License-Identifier: Apache-2.0
// Site simulation: training across sites as closed forms describe it, run on a network, beside what
// they say.
//
// Where it sits: `weft project decentralized --simulate` and studies of it.
//
// Model: each node is a GPU on a line of its own of bandwidthMbps to a core; with regional groups a
// region is a site, whose nodes have cards of regionalBandwidth. Any two of them are one latency
// apart, round trip; a parameter server is at the core, or at a region's switch, and never the
// bottleneck. Headers count as nothing, as in closed forms. SiteWorld says what the world has more
// than they know. What a round takes is the difference between runs of twice as many rounds and of
// so many, so that beginnings and ends count as nothing, too.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/params.hpp"
#include "tools/simulation/run.hpp"
#include "workloads/decentralized/closed_forms.hpp"
#include "workloads/decentralized/site_training.hpp"

namespace weft {

/// What closed forms know nothing of.
struct SiteWorld {
  SiteExchange exchange = SiteExchange::star;
  SiteExchange regional_exchange = SiteExchange::star;
  bool blocking_sends = true;
  bool backward_pass = false;
  bool leader_exchanges = true;
  std::uint32_t fragments = 1;
  double packet_loss = 0;  ///< probability on a line
  double jitter_ms = 0;
  std::string congestion_control;
  std::uint32_t streams = 1;
  double uplink_share = 1;  ///< of bandwidth, from nodes to the core
  double bandwidth_spread = 0;
  double latency_spread = 0;
  double speed_spread = 0;
  double leave_probability = 0;
  std::uint32_t away_rounds = 1;
  double leave_timeout_s = 6;
  std::uint32_t rounds = 2;
  std::uint64_t seed = 1;
};

/// Parameter table "sites".
ParamTable site_world_params();

/// Throws InputError [unused-setting] where `world`, of table "sites", says what the mode has not.
void check_world(const ParamSet& world, DecentralizedMode mode, const SourcePlace& place);

struct SiteSimulation {
  std::string_view quantity;  ///< of closed forms: "T_outer", "T_global_cycle" or "T_step"
  double formula_s = 0;
  double simulated_s = 0;
  double formula_utilisation = 0;
  double simulated_utilisation = 0;
  double effective_days = 0;  ///< the run, at the simulated pace
  std::uint64_t ranks = 0;
  std::string fingerprint = {};  ///< of both runs
  std::vector<std::string> notes;

  double formula_error() const { return formula_s / simulated_s - 1; }
};

/// The template's settings that the forecast stands for. Throws InputError [bad-plan] at `place`
/// with what cannot be simulated and its legal range.
SiteTrainingSettings site_settings(const DecentralizedSettings& settings, const DecentralizedForecast& forecast,
                                   const SiteWorld& world, const SourcePlace& place);

/// Throws InputError as site_settings(), and as a run does.
SiteSimulation simulate_sites(const DecentralizedSettings& settings, const DecentralizedForecast& forecast, const SiteWorld& world,
                              const SourcePlace& place, const RunOptions& options);

}  // namespace weft
