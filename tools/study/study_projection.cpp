// SPDX-License-Identifier: Apache-2.0
#include "tools/study/study_projection.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/manifest.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

constexpr std::string_view forms_prefix = "decentralized.";
constexpr std::string_view world_prefix = "sites.";

struct ProjectedParams {
  ParamSet forms{"decentralized", decentralized_params()};
  ParamSet world{"sites", site_world_params()};

  /// Throws InputError [unknown-axis], and as ParamSet::set() does.
  void set(std::string_view name, std::string_view value, const SourcePlace& place) {
    if (name.starts_with(forms_prefix)) return forms.set(name.substr(forms_prefix.size()), value, place);
    if (name.starts_with(world_prefix)) return world.set(name.substr(world_prefix.size()), value, place);
    fail("unknown-axis", fmt::format("the projection has nothing to set called {}", in_quotes(std::string(name))), place,
         "it has decentralized.VARIABLE and, with simulate: true, sites.VARIABLE; `weft modules decentralized` and `weft modules "
         "sites` list them");
  }
};

}  // namespace

const ParamSpec* projected_spec(std::string_view name) {
  const bool is_of_forms = name.starts_with(forms_prefix);
  if (!is_of_forms && !name.starts_with(world_prefix)) return nullptr;
  const ParamTable table = is_of_forms ? decentralized_params() : site_world_params();
  const auto found = std::ranges::find(table, name.substr((is_of_forms ? forms_prefix : world_prefix).size()), &ParamSpec::name);
  return found == table.end() ? nullptr : &*found;
}

void check_projected_setting(const StudySetting& setting, const StudyProjection& projection, const SourcePlace& place) {
  ProjectedParams().set(setting.name, setting.value, place);
  if (setting.name == "sites.seed") {
    fail("unused-setting", "sites.seed is that of the study", place, "write seed: 7 in the study, or replicates: 5 for five seeds");
  }
  if (!projection.simulates && setting.name.starts_with(world_prefix)) {
    fail("unused-setting", fmt::format("closed forms know no {}", setting.name), place, "write simulate: true in the base");
  }
}

SiteFigure projected_figure(const std::string& metric, const StudyProjection& projection, const SourcePlace& place) {
  const std::vector<SiteFigure> simulated = site_figures(/*simulates=*/true);
  const auto found = std::ranges::find(simulated, metric, &SiteFigure::name);
  if (found == simulated.end()) {
    std::vector<std::string> names;
    for (const SiteFigure& figure : site_figures(projection.simulates)) names.push_back(figure.name);
    fail("unknown-metric", fmt::format("the projection has no figure {}", in_quotes(metric)), place,
         suggestion(metric, names, "figure"));
  }
  const std::vector<SiteFigure> known = site_figures(projection.simulates);
  if (std::ranges::find(known, metric, &SiteFigure::name) == known.end()) {
    fail("unknown-metric", fmt::format("{} takes a simulation", in_quotes(metric)), place, "write simulate: true in the base");
  }
  return *found;
}

ProjectedPoint project_point(const Study& study, const RunFlags& flags, SiteFigures::Simulated simulated,
                             const RunOptions& options) {
  WEFT_CHECK(study.projection.has_value(), "the study's points are projections");
  ProjectedParams params;
  for (const std::string& text : flags.settings) {
    const std::size_t equals = text.find('=');
    params.set(text.substr(0, equals), text.substr(equals + 1), SourcePlace::named(study.file));
  }
  auto world = filled<SiteWorld>(params.world);
  world.seed = flags.seed.value_or(world.seed);
  SiteFigures figures(filled<DecentralizedSettings>(params.forms), world,
                      study.projection->simulates ? simulated : SiteFigures::Simulated::no, options);
  ProjectedPoint point;
  std::string all;
  for (const StudyMetric& metric : study.metrics) {
    point.values.push_back(figures.value(metric.name));
    all += point.values.back() ? fmt::format("{:.17g},", *point.values.back()) : ",";
  }
  constexpr std::size_t digits = 16;
  point.fingerprint = sha256_hex(all + figures.fingerprints()).substr(0, digits);
  point.notes = figures.notes();
  return point;
}

}  // namespace weft
