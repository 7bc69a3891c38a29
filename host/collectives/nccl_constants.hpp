// SPDX-License-Identifier: Apache-2.0
// NCCL constants: what the NCCL tuner knows of a machine - latencies, rates and shares.
//
// Where it sits: the parameter table "nccl" and the tables of the known machines fill it;
// host/collectives/nccl_cost_model computes with it.
//
// Sources: NCCL's tuning tables (src/graph/tuning.cc) where nothing better is known, and fits to
// measured collectives where there are any. Every row names its origin
// (`weft modules machine`); tests/validation/README.md says how well each fit does.
// Thread safety: constants and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/text/params.hpp"
#include "core/values/units.hpp"

namespace weft {

/// NCCL's wire protocols: LL and LL128 send flags with the data, Simple sends data alone.
enum NcclProtocol : std::uint32_t { ll, ll128, simple, nccl_protocols };
inline constexpr std::array<std::string_view, nccl_protocols> nccl_protocol_names = {"ll", "ll128", "simple"};

/// The choice of the parameter `machine` that leaves the machine to the tuner.
inline constexpr std::string_view auto_machine = "auto";

/// The constants of one machine: the parameter table "nccl" as a struct.
struct NcclConstants {
  std::string machine;  ///< or "auto"
  bool pat;
  bool nvls;
  bool collnet;
  bool pxn;
  Bytes pxn_bytes_max;
  Duration launch;
  std::array<Duration, nccl_protocols> base;
  std::array<Duration, nccl_protocols> hop;
  std::array<Bandwidth, 2> rate;  ///< of LL and LL128
  Bytes ll128_at_once;
  Bytes ll128_share_max;
  Duration simple_full_hop;
  Bytes full_step_bytes;
  Duration fill_latency;
  Bytes fill_bytes;
  double reduce_efficiency;
  double copy_efficiency;
  Bandwidth own_copy_rate;
  Duration nvls_base;
  Duration nvls_fill;
  double nvls_efficiency;
  double nvls_rate_max;
  Duration p2p_ll_base;
  Duration p2p_base;
  Duration p2p_fill;
  Bytes p2p_fill_bytes;
  double p2p_efficiency;
  Bandwidth p2p_own_copy_rate;
  std::uint32_t p2p_peers;
  std::array<Duration, nccl_protocols> between_base;
  Bandwidth between_ll128_rate;
  Duration between_copy_base;
  Duration nvls_tree_base;
  std::array<Duration, nccl_protocols> inside_hop;
  std::array<Duration, nccl_protocols> ring_hop;
  std::array<Duration, nccl_protocols> tree_hop;
  Duration nvls_tree_hop;
  double plateau;
  double network_efficiency;
  double copy_network_efficiency;
  double nvls_tree_efficiency;
  double tree_ll128_efficiency;
  double ll128_efficiency;
  std::uint32_t channels;
  std::uint32_t threads;
};

/// Parameter table "nccl": the machine, what the library may use, and the machine's constants.
/// The machine's own values stand for those that are not given.
ParamTable nccl_params();
/// Machines whose constants are known, in the order of the parameter's choices.
std::span<const ModuleInfo> nccl_machines();
/// The constants of a machine, where `params` gives none of its own.
/// Requires: `params` is over nccl_params(), and nccl_machines() has the machine.
NcclConstants nccl_constants_of(ParamSet params, std::string_view machine);
/// The same of one parameter, as text with its unit.
std::string nccl_constant_text(const ParamSet& params, std::string_view machine, std::string_view name);

}  // namespace weft
