// SPDX-License-Identifier: Apache-2.0
// WAN lines: the rate, delay, loss and jitter of every line of a wide-area network, from its
// parameters.
//
// Where it sits: multi_site reads WanSettings from its parameters and builds the lines.
//
// Model
//   - mesh: a line between every two sites, one way wan_rtt / 2. hub: a line from every site to one
//     core, wan_rtt / 4 one way, so that two usual sites are wan_rtt apart.
//   - Lines may be drawn: rates and round-trip times are log-normal with the given mean and
//     coefficient of variation, from the stream (wan_seed, line). Both directions of a line share
//     the factor of its rate.
//   - What names a line (pair_rate, site_rtt, ...) takes the place of what was drawn for it.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/params.hpp"
#include "topologies/builders/clos_fabric.hpp"

namespace weft {

/// In the order of the choices of `wan`.
enum class WanForm : std::uint8_t { mesh, hub };

/// Filled by the parameters of multi_site.
struct WanSettings {
  std::uint32_t sites = 2;
  WanForm form = WanForm::mesh;
  Bandwidth rate;
  std::optional<Bandwidth> rate_down;  ///< hub
  Duration rtt;
  double loss = 0;
  Duration jitter;
  double rate_spread = 0;
  double rtt_spread = 0;
  std::uint64_t seed = 1;
  std::string pair_rate, pair_rtt, pair_loss, pair_jitter;  ///< mesh
  std::string site_rate, site_rtt, site_loss, site_jitter;  ///< hub
};

/// "a=1 b=2,c=3" as pairs. Throws InputError [bad-setting].
std::vector<std::pair<std::string, std::string>> split_settings(std::string_view text, const std::string& param,
                                                                const SourcePlace& place);

/// In a mesh by pair of sites (0,1), (0,2), ..., (1,2), ...; with a hub by site, towards the hub
/// first. Throws InputError [bad-setting], [bad-pair], [bad-site], [bad-value] and [out-of-range].
std::vector<WanLine> wan_lines(const WanSettings& settings, const std::string& module, const SourcePlace& place);

}  // namespace weft
