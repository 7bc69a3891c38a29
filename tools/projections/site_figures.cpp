// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/site_figures.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

struct NamedMode {
  std::string_view name;  ///< as the variable `mode` has it
  ModeChoice choice;
};
constexpr std::array<NamedMode, 4> named_modes = {{{"diloco", ModeChoice::diloco},
                                                   {"hierarchical", ModeChoice::hierarchical},
                                                   {"pipeline", ModeChoice::pipeline},
                                                   {"pipeline_groups", ModeChoice::pipeline_groups}}};
constexpr std::string_view modes_numbering = "0 diloco, 1 hierarchical, 2 pipeline, 3 pipeline_groups";
constexpr double rounding = 1e-12;  // errors below are those of floating-point numbers
constexpr std::string_view run_figure = "T_effective";
constexpr std::string_view simulated_run_figure = "simulated.T_effective";

/// Errors that say that a mode is impossible, and not that settings are wrong.
bool is_of_mode(const InputError& error) {
  const std::string& code = error.diagnostics().front().code;
  return code == "bad-plan" || code == "does-not-fit";
}

double number_of(ModeChoice mode) { return static_cast<double>(mode) - static_cast<double>(ModeChoice::diloco); }

/// Of closed forms in all modes: experts that are spread, pipelines without bubbles, exchanges
/// layer by layer.
std::vector<SiteFigure> quantities() {
  std::vector<SiteFigure> all;
  const auto add = [&](const DecentralizedSettings& settings) {
    for (const SiteQuantity& quantity :
         forecast_decentralized(settings, /*as_seed=*/false, SourcePlace::named("site figures")).quantities) {
      if (std::ranges::find(all, quantity.name, &SiteFigure::name) == all.end())
        all.push_back({std::string(quantity.name), quantity.unit});
    }
  };
  auto settings = default_settings<DecentralizedSettings>(decentralized_params());
  DecentralizedSettings layered = settings;
  layered.layers = 2;
  layered.is_streaming = false;
  settings.parameters = 200;
  settings.is_moe = settings.has_expert_parallelism = settings.zero_bubble = true;
  settings.active_params = 20;
  for (const NamedMode& mode : named_modes) {
    settings.mode = mode.choice;
    add(settings);
  }
  add(layered);
  return all;
}

}  // namespace

std::vector<SiteFigure> site_figures(bool simulates) {
  std::vector<SiteFigure> in_a_mode = quantities();
  if (simulates) {
    in_a_mode.push_back({"simulated.round_s", "s"});
    in_a_mode.push_back({"simulated.utilisation", ""});
    in_a_mode.push_back({std::string(simulated_run_figure), "d"});
    in_a_mode.push_back({"formula_error", ""});
  }
  std::vector<SiteFigure> all = in_a_mode;
  all.push_back({"mode", "", modes_numbering});
  all.push_back({"winner", "", modes_numbering});
  if (simulates) {
    all.push_back({"simulated.winner", "", modes_numbering});
    all.push_back({"regret", ""});
  }
  for (const std::string_view prefix : {"diloco", "hierarchical", "pipeline", "pipeline_groups", "winner"}) {
    for (const SiteFigure& figure : in_a_mode) all.push_back({fmt::format("{}.{}", prefix, figure.name), figure.unit});
  }
  return all;
}

SiteFigures::SiteFigures(const DecentralizedSettings& settings, const SiteWorld& world, Simulated simulated,
                         const RunOptions& options)
    : settings_(settings), world_(world), simulated_(simulated), options_(options) {}

DecentralizedSettings SiteFigures::settings_of(ModeChoice mode) const {
  DecentralizedSettings settings = settings_;
  if (mode != ModeChoice::by_memory) settings.mode = mode;
  return settings;
}

const std::optional<DecentralizedForecast>& SiteFigures::forecast(ModeChoice mode) {
  Worked& worked = worked_[static_cast<std::size_t>(mode)];
  if (std::exchange(worked.is_forecast, true)) return worked.forecast;
  try {
    worked.forecast = forecast_decentralized(settings_of(mode), /*as_seed=*/false, SourcePlace{});
  } catch (const InputError& error) {
    if (mode == ModeChoice::by_memory || !is_of_mode(error)) throw;
  }
  return worked.forecast;
}

const std::optional<SiteSimulation>& SiteFigures::simulation(ModeChoice mode) {
  Worked& worked = worked_[static_cast<std::size_t>(mode)];
  if (std::exchange(worked.is_simulated, true)) return worked.simulation;
  const std::optional<DecentralizedForecast>& formula = forecast(mode);
  if (!formula || simulated_ == Simulated::no) return worked.simulation;
  try {
    const DecentralizedSettings settings = settings_of(mode);
    if (simulated_ == Simulated::checked) {
      site_settings(settings, *formula, world_, SourcePlace{});
    } else {
      worked.simulation = simulate_sites(settings, *formula, world_, SourcePlace{}, options_);
    }
  } catch (const InputError& error) {
    if (mode == ModeChoice::by_memory || !is_of_mode(error)) throw;
    worked.not_simulated = error.diagnostics().front().message;
  }
  return worked.simulation;
}

std::optional<double> SiteFigures::value_in(ModeChoice mode, std::string_view figure) {
  if (figure.starts_with("simulated.") || figure == "formula_error") {
    const std::optional<SiteSimulation>& found = simulation(mode);
    if (!found) return std::nullopt;
    if (figure == "formula_error") {
      const double error = found->formula_error();
      return std::abs(error) < rounding ? 0 : error;
    }
    if (figure == "simulated.round_s") return found->simulated_s;
    return figure == simulated_run_figure ? found->effective_days : found->simulated_utilisation;
  }
  const std::optional<DecentralizedForecast>& found = forecast(mode);
  if (!found) return std::nullopt;
  if (figure == "mode") return static_cast<double>(found->mode);
  const double number = found->of(figure);
  return std::isnan(number) ? std::nullopt : std::optional(number);
}

/// The first of those with the smallest.
std::optional<ModeChoice> SiteFigures::winner(std::string_view figure) {
  std::optional<ModeChoice> best;
  double least = 0;
  for (const NamedMode& mode : named_modes) {
    const std::optional<double> number = value_in(mode.choice, figure);
    if (!number || (best && *number >= least)) continue;
    best = mode.choice;
    least = *number;
  }
  return best;
}

std::optional<double> SiteFigures::regret() {
  const std::optional<ModeChoice> by_formula = winner(run_figure);
  const std::optional<ModeChoice> best = winner(simulated_run_figure);
  if (!by_formula || !best) return std::nullopt;
  const std::optional<double> chosen = value_in(*by_formula, simulated_run_figure);
  return chosen ? std::optional(*chosen / *value_in(*best, simulated_run_figure) - 1) : std::nullopt;
}

std::optional<double> SiteFigures::value(std::string_view figure) {
  if (figure == "winner" || figure == "simulated.winner") {
    const std::optional<ModeChoice> found = winner(figure == "winner" ? run_figure : simulated_run_figure);
    return found ? std::optional(number_of(*found)) : std::nullopt;
  }
  if (figure == "regret") return regret();
  const std::size_t dot = figure.find('.');
  const std::string_view prefix = figure.substr(0, dot);
  const auto named = std::ranges::find(named_modes, prefix, &NamedMode::name);
  if (dot == std::string_view::npos || (prefix != "winner" && named == named_modes.end()))
    return value_in(ModeChoice::by_memory, figure);
  const std::optional<ModeChoice> mode = prefix == "winner" ? winner(run_figure) : std::optional(named->choice);
  return mode ? value_in(*mode, figure.substr(dot + 1)) : std::nullopt;
}

std::string SiteFigures::fingerprints() const {
  std::string all;
  for (const Worked& worked : worked_) all += worked.simulation ? worked.simulation->fingerprint : "-";
  return all;
}

std::vector<std::string> SiteFigures::notes() const {
  std::vector<std::string> all;
  const auto note = [&](std::string text) {
    if (std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
  };
  if (const auto& own = worked_.front().forecast) {
    for (const std::string& warning : own->warnings) note(warning);
  }
  if (const auto& own = worked_.front().simulation) std::ranges::for_each(own->notes, note);
  for (const NamedMode& mode : named_modes) {
    const Worked& worked = worked_[static_cast<std::size_t>(mode.choice)];
    if (!worked.not_simulated.empty()) note(fmt::format("mode {} is not simulated: {}", mode.name, worked.not_simulated));
  }
  return all;
}

}  // namespace weft
