// SPDX-License-Identifier: Apache-2.0
// Quantities as SimGrid writes them.
//
// Where it sits: formats/simgrid and formats/simgrid_cluster read attributes with it.
//
//   rate    a number, then bps (bits) or Bps (bytes) with k M G T (powers of 1000) or Ki Mi Gi Ti
//           (powers of 1024): "125MBps", "10Gbps"
//   time    a number, then ps ns us ms s m h d w "50us"
// A rate without a unit is Bps and a time without one is seconds, as in SimGrid, which warns of it;
// they are counted.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/units.hpp"

namespace weft {

class SimgridUnits {
 public:
  explicit SimgridUnits(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// Adds [bad-value], [unknown-unit], [zero-bandwidth] or [out-of-range].
  std::optional<Bandwidth> rate(std::string_view text, const SourcePlace& place);
  /// Adds [bad-value], [unknown-unit] or [out-of-range].
  std::optional<Duration> time(std::string_view text, const SourcePlace& place);

  std::uint32_t without_unit() const { return without_unit_; }

 private:
  Diagnostics& diagnostics_;
  std::uint32_t without_unit_ = 0;
};

}  // namespace weft
