// SPDX-License-Identifier: Apache-2.0
// Study projection: points that are projections of training across sites, in place of runs.
//
// Where it sits: studies whose base names a projection; study reads names and values by it,
// study_runner carries points out.
// Model: axes set variables of closed forms, "decentralized.numNodes", and of the world that is
// simulated beside them, "sites.packetLoss"; metrics are figures of tools/projections/site_figures.
// A point's seed is that of the world. A fingerprint is of the metrics' values and of the
// simulations that they took.
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/text/params.hpp"
#include "tools/projections/site_figures.hpp"
#include "tools/study/study.hpp"

namespace weft {

/// The table's row of "decentralized.VARIABLE" or "sites.VARIABLE"; null: there is none.
const ParamSpec* projected_spec(std::string_view name);

/// Throws InputError at `place`: [unknown-axis] of a name that no projection has, [unknown-param],
/// [bad-value], [out-of-range], [unused-setting] of the simulated world's where nothing is
/// simulated, and of sites.seed.
void check_projected_setting(const StudySetting& setting, const StudyProjection& projection, const SourcePlace& place);

/// Throws InputError [unknown-metric] at `place`.
SiteFigure projected_figure(const std::string& metric, const StudyProjection& projection, const SourcePlace& place);

/// What a point comes to.
struct ProjectedPoint {
  std::vector<std::optional<double>> values;  ///< by metric
  std::string fingerprint;
  std::vector<std::string> notes;
};

/// `flags`: of the point. Simulated is `yes` or `checked`; a study without simulation has none in
/// any case. Throws InputError as SiteFigures does. Requires: the study is one of projections.
ProjectedPoint project_point(const Study& study, const RunFlags& flags, SiteFigures::Simulated simulated,
                             const RunOptions& options);

}  // namespace weft
