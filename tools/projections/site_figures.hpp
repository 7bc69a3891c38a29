// SPDX-License-Identifier: Apache-2.0
// Site figures: what training across sites comes to in each mode, by formula and simulated, by
// name.
//
// Where it sits: studies of projections (tools/study) take their metrics from it.
//
// Model: a figure is
//   QUANTITY                 a quantity of closed forms in the mode of the settings, "T_effective"
//   simulated.round_s        what the simulated round takes (T_outer, T_global_cycle or T_step)
//   simulated.utilisation, simulated.T_effective
//   formula_error            formula over simulation, - 1
//   mode                     0 diloco, 1 hierarchical, 2 pipeline, 3 pipeline_groups
//   MODE.FIGURE              one of the above, but for `mode`, were this the mode
//   winner                   mode with the smallest T_effective by formula, numbered as `mode`
//   winner.FIGURE            the figure in that mode
//   simulated.winner         mode with the smallest simulated T_effective
//   regret                   simulated T_effective of the winner over that of the simulated winner,
//                            - 1: what a choice by formula costs
// What no mode that is asked about has is none: a mode that memory or nodes do not allow has no
// figure, and one that cannot be simulated no simulated ones. Only what is asked for is worked out,
// once.
// Thread safety: belongs to one thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/projections/site_simulation.hpp"

namespace weft {

struct SiteFigure {
  std::string name;
  std::string_view unit;            ///< "s", "d", "GB"; empty of numbers
  std::string_view numbering = {};  ///< what numbers stand for that are modes
};

/// All that there are, in order; `simulates`: with those that take a simulation.
std::vector<SiteFigure> site_figures(bool simulates);

class SiteFigures {
 public:
  enum class Simulated : std::uint8_t { no, checked, yes };

  /// `checked`: settings are held against what can be simulated, and simulated figures are none.
  SiteFigures(const DecentralizedSettings& settings, const SiteWorld& world, Simulated simulated, const RunOptions& options);

  /// Requires: site_figures() has it. Throws InputError as forecast_decentralized() does, and
  /// simulate_sites(); for figures of a certain mode not for what makes this mode impossible.
  std::optional<double> value(std::string_view figure);

  /// Of all that was simulated so far.
  std::string fingerprints() const;
  /// Of the mode of the settings, and which others could not be simulated.
  std::vector<std::string> notes() const;

 private:
  /// A mode, or the one of the settings, as far as it was asked about.
  struct Worked {
    bool is_forecast = false;
    std::optional<DecentralizedForecast> forecast = {};  ///< none: it is impossible
    bool is_simulated = false;
    std::optional<SiteSimulation> simulation = {};
    std::string not_simulated = {};  ///< why
  };

  DecentralizedSettings settings_of(ModeChoice mode) const;
  const std::optional<DecentralizedForecast>& forecast(ModeChoice mode);
  const std::optional<SiteSimulation>& simulation(ModeChoice mode);
  std::optional<double> value_in(ModeChoice mode, std::string_view figure);
  std::optional<ModeChoice> winner(std::string_view figure);
  std::optional<double> regret();

  const DecentralizedSettings settings_;
  const SiteWorld world_;
  const Simulated simulated_;
  const RunOptions options_;
  std::array<Worked, 5> worked_;  ///< by ModeChoice
};

}  // namespace weft
