// SPDX-License-Identifier: Apache-2.0
// Closed forms of training across sites: DiLoCo, hierarchical DiLoCo, a pipeline over the WAN, and
// DiLoCo among groups of pipelines.
//
// Where it sits: `weft project decentralized` prints a forecast. The guide
// (docs/guide/training_across_sites.md) lists where the source contradicts itself.
//
// Model (Decentralized Training Simulator: Technical Documentation; its sections in brackets)
//   computation [1]: 6 P_active B / (PFLOPS MFU), and a round trip per all-to-all of experts
//   memory [2]: P beta, less under expert parallelism where the whole model does not fit
//   mode [3, appendix A]: the whole model on a node: A, or A' with regional groups; else S stages,
//     C with at least two groups of S nodes, B with fewer; or the one that settings ask for
//   efficiency [4], stragglers [5], utilisation [6], the longest sensible run [7]
//   options of appendix B, off by default
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/params.hpp"

namespace weft {

enum class SitePrecision : std::uint8_t { fp16, fp8, fp4 };
enum class StragglerStrategy : std::uint8_t { none, threshold, backup };
enum class SiteRecompute : std::uint8_t { none, selective, full };
/// Which mode is taken: by memory, as the source's decision tree does, or one in any case.
enum class ModeChoice : std::uint8_t { by_memory, diloco, hierarchical, pipeline, pipeline_groups };
/// What a synchronization carries under expert parallelism.
enum class ExpertVolume : std::uint8_t { total, held };

/// In the units of the source's reference table [9].
struct DecentralizedSettings {
  double parameters = 0;  ///< 10^9
  bool is_moe = false;
  double active_params = 0;  ///< 10^9
  double shared_params = 0;  ///< 10^9; 0: as active_params
  bool has_expert_parallelism = false;
  std::uint32_t moe_layers = 0;
  double tokens = 0;  ///< 10^12
  std::uint64_t nodes = 0;
  double pflops_per_node = 0;
  double vram_per_node = 0;  ///< GB
  double bandwidth_mbps = 0;
  double latency_ms = 0;
  double mfu = 0;
  double inner_steps = 0;
  double compression = 0;
  double local_batch = 0;  ///< tokens
  double micro_batches = 0;
  SitePrecision precision = SitePrecision::fp16;
  ModeChoice mode = ModeChoice::by_memory;
  bool is_streaming = false;
  bool is_hierarchical = false;
  double nodes_per_group = 0;
  double regional_bandwidth = 0;  ///< Mb/s
  double regional_latency = 0;    ///< ms
  double regional_steps = 0;
  StragglerStrategy strategy = StragglerStrategy::none;
  double straggler_coefficient = 0;
  double hardware_growth = 0;  ///< orders of magnitude per year, as the next two
  double software_growth = 0;
  double investment_growth = 0;
  double mfu_hfu_ratio = 0;  ///< 0: as `recompute` says
  SiteRecompute recompute = SiteRecompute::selective;

  // Limits of the source that can be lifted.
  bool sends_gradients_back = false;  ///< pipelines: activations forward, gradients backward
  bool has_streaming_memory = false;  ///< 66 % more per parameter while streaming
  double regional_compression = 0;    ///< 0: as compression
  ExpertVolume expert_volume = ExpertVolume::total;
  bool has_backward_all_to_alls = false;  ///< experts' all-to-alls again in backward
  bool has_precision_speedup = false;     ///< FP8 twice, FP4 four times the PFLOPS
  double slowest_node = 1;                ///< speed of the slowest node, which all wait for
  double exchange_volumes = 2;            ///< V that a line carries one after the other
  double layers = 1;                      ///< exchanged one by one beside backward; 1: after it

  // Appendix B.
  bool zero_bubble = false;
  bool delayed_nesterov = false;
  bool dynamic_local_updates = false;
  bool hierarchical_momentum = false;
  double sparse_averaging = 0;  ///< share of parameters that is exchanged; 0: off
  bool dual_pipe = false;
  bool loss_tolerant = false;
};

/// Bits of an exchanged value [8.1].
double bits_per_value(SitePrecision precision);

/// Parameter table "decentralized", with the names, units and defaults of [9].
ParamTable decentralized_params();

enum class DecentralizedMode : std::uint8_t { data_parallel, hierarchical, pipeline, pipeline_groups };
/// "A", "A'", "B" or "C".
std::string_view letter_of(DecentralizedMode mode);

struct SiteQuantity {
  std::string_view name;  ///< as the source calls it, "T_comp"
  std::string_view unit;  ///< "s", "GB", ...; empty of factors
  double value = 0;
  std::string_view meaning;
};

struct DecentralizedForecast {
  DecentralizedMode mode = DecentralizedMode::data_parallel;
  std::string why;  ///< the mode
  /// Whether nodes of a region, or of a group of pipelines, are joined by regional lines.
  bool has_regions = false;
  std::vector<SiteQuantity> quantities;
  std::vector<std::string> warnings;

  /// NaN where the mode has no such quantity.
  double of(std::string_view name) const;
};

/// `as_seed`: with the numbers that the source prints where it contradicts itself. Throws
/// InputError [out-of-range], [does-not-fit] at `place`, with the variable and its legal range;
/// [bad-plan] where the settings ask for a mode that the memory or the nodes do not allow.
DecentralizedForecast forecast_decentralized(const DecentralizedSettings& settings, bool as_seed, const SourcePlace& place);

}  // namespace weft
