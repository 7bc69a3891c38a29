// SPDX-License-Identifier: Apache-2.0
// Site training: the workload of a training run across sites, as a DAG that can be simulated:
// DiLoCo, streaming DiLoCo, hierarchical DiLoCo, pipelines over the WAN, groups of pipelines that
// exchange rarely, asynchronous DiLoCo.
//
// Where it sits: the template "across_sites" (workloads/templates) reads its parameters into these
// settings; `weft project decentralized --simulate` fills them from the variables of closed forms.
//
// Model: a node is a rank. It computes inner steps of step_time / its speed and exchanges its
// change of the parameters every inner_steps. site_ranks.hpp says which rank is whom,
// site_exchange.hpp what the ways of exchanging send, site_programs.hpp what each rank does when.
// Sources: Douillard et al. 2023 (DiLoCo, arXiv 2311.08105) and 2025 (Streaming DiLoCo, arXiv
// 2501.18512: fragments, overlap of tau steps); Liu et al. 2024 (asynchronous local SGD, arXiv
// 2401.09135: delayed Nesterov, dynamic local updates); Ryabinin et al. 2021 (Moshpit SGD, arXiv
// 2103.03239: butterfly).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/text/params.hpp"
#include "core/values/units.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft {

enum class SiteMethod : std::uint8_t { diloco, hierarchical, pipeline_groups, pipeline, asynchronous };
/// How what nodes have learnt is averaged.
enum class SiteExchange : std::uint8_t {
  star,       ///< by a parameter server, which is a rank of its own
  ring,       ///< reduce-scatter and all-gather around a ring
  butterfly,  ///< every node averages a part: all send it theirs, and it sends back the average
  gossip,     ///< with one other node, drawn anew for each exchange
};

/// Reads star, ring or butterfly, for tables of parameters.
SiteExchange regional_exchange_called(const std::string& name, const std::string& param);

struct SiteTrainingSettings {
  SiteMethod method = SiteMethod::diloco;
  std::uint32_t nodes = 0;
  std::uint32_t outer_steps = 0;
  std::uint32_t inner_steps = 0;
  Duration step_time = {};
  double parameters = 0;
  double bits = 0;  ///< per exchanged value, before compression
  double compression = 1;
  SiteExchange exchange = SiteExchange::star;

  // What goes on beside an exchange.
  std::uint32_t fragments = 1;
  std::uint32_t overlap_steps = 0;
  std::uint32_t layers = 1;

  // hierarchical
  std::uint32_t group = 1;
  std::uint32_t regional_steps = 1;
  SiteExchange regional_exchange = SiteExchange::star;
  double regional_compression = 0;  ///< 0: as compression

  // pipelines
  std::uint32_t stages = 2;
  std::uint32_t micro_batches = 1;
  double activation_bytes = 0;  ///< of a microbatch at a boundary
  bool backward = true;         ///< one forward and one backward in turns; else a single pass
  bool blocking_sends = false;
  bool leader_exchanges = false;

  // asynchronous
  bool dynamic_steps = false;

  // Nodes that differ and leave.
  double speed_spread = 0;
  double leave_probability = 0;
  std::uint32_t away_steps = 1;
  Duration leave_timeout = Duration::s(6);
  double model_bits = 16;  ///< per value of the model, which who is back fetches
  std::uint64_t seed = 1;

  double exchange_bits(double by) const { return parameters * bits / by; }
};

/// The workload. Throws InputError at `place`: [bad-plan], [too-large], with `name` in front.
Workload site_training(const SiteTrainingSettings& settings, std::string_view name, const SourcePlace& place);

/// Throws also [unused-setting] for what the method does not read.
Module<WorkloadFactory> across_sites_module();

}  // namespace weft
