// SPDX-License-Identifier: Apache-2.0
// Hardware configuration: the few numbers that closed forms of communication need of a cluster.
//
// Where it sits: collective_formulas.hpp computes with it; users give one with --hardware-config
// (host/hardware.proto).
// Model: GPUs of a node reach each other at `inside`; between nodes all cards are used in parallel
// and shared evenly, so that a GPU has nics_per_node / gpus_per_node of a card.
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "core/text/source_text.hpp"
#include "core/values/units.hpp"

namespace weft {

/// What a message pays: latency + size / rate.
struct AlphaBeta {
  double latency_s = 0;
  double bytes_per_s = 0;
};

struct HardwareLink {
  Bandwidth bandwidth;
  Duration latency;
  double efficiency = 1.0;
};

struct HardwareConfig {
  std::string name;
  std::string origin;  ///< of the numbers
  std::uint32_t gpus_per_node = 8;
  std::uint32_t nics_per_node = 8;
  HardwareLink inside;        ///< of one GPU
  HardwareLink between;       ///< of one card
  Duration message_overhead;  ///< of each further message of a rank

  AlphaBeta inside_of_gpu() const;
  AlphaBeta between_of_gpu() const;
};

/// Throws InputError with every mistake: those of core/text/textproto, [missing-field],
/// [bad-value], [out-of-range].
HardwareConfig read_hardware_config(const SourceText& source);

}  // namespace weft
