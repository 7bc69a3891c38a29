// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/optimes_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"

namespace weft {

namespace {

constexpr std::size_t shown_outliers_max = 5;

std::string percent(double share) { return fmt::format("{:.2f}", 100 * share); }

std::string model_text(const Regressor& regressor) {
  const TreeSettings& settings = regressor.settings;
  return settings.is_forest
             ? fmt::format("forest of {}, depth {}, leaves of {}", settings.trees, settings.depth, settings.min_child_weight)
             : fmt::format("{} rounds of {}{}, depth {}", settings.trees, settings.learning_rate,
                           settings.of_medians ? " of medians" : "", settings.depth);
}

std::string repeats_text(const RegressorErrors& errors) { return errors.repeated_rows == 0 ? "-" : percent(errors.repeats); }

/// Of one table: "linear1.csv: 2 rows, lines 4 and 9 ..."; tables are listed one after the other.
std::string outliers_text(const RegressorProfile& profile) {
  std::string text;
  for (std::size_t i = 0; i < profile.outliers.size();) {
    const RegressorProfile::Outlier& first = profile.outliers[i];
    std::size_t end = i;
    std::string lines;
    while (end < profile.outliers.size() && profile.outliers[end].file == first.file &&
           profile.outliers[end].column == first.column) {
      const RegressorProfile::Outlier& outlier = profile.outliers[end++];
      if (end - i <= shown_outliers_max) {
        lines += fmt::format("{}line {}: {} instead of {}", lines.empty() ? "" : ", ", outlier.line,
                             readable(outlier.time_us / 1e6), readable(outlier.law_us / 1e6));
      }
    }
    if (end - i > shown_outliers_max) lines += ", ...";
    text += fmt::format("left out: {} of {} in {} ({})\n", counted(end - i, "time", "times"), first.column, first.file, lines);
    i = end;
  }
  return text;
}

}  // namespace

std::string profile_table(const RegressorProfile& profile) {
  std::size_t width = std::string_view("function").size();
  for (const Regressor& regressor : profile.regressors) width = std::max(width, regressor.of.text().size());
  std::string text =
      fmt::format("{}: mean absolute percentage errors\n{:<{}}  {:>5} {:>8} {:>10} {:>6} {:>6} {:>7}  {}\n", profile.gpu,
                  "function", width, "rows", "training", "validation", "test", "law", "repeats", "model");
  for (const Regressor& regressor : profile.regressors) {
    const RegressorErrors& errors = regressor.errors;
    text += fmt::format("{:<{}}  {:>5} {:>8} {:>10} {:>6} {:>6} {:>7}  {}\n", regressor.of.text(), width,
                        errors.fitted_rows + errors.test_rows, percent(errors.training), percent(errors.validation),
                        percent(errors.test), percent(errors.test_law), repeats_text(errors), model_text(regressor));
  }
  text +=
      "test: rows of kernels that nothing else was done with; law: the same rows without trees;\n"
      "repeats: a time against the median of all other rows of the same kernel, or of its two neighbours in size\n";
  text += outliers_text(profile);
  for (const std::string& note : profile.notes) text += "note: " + note + "\n";
  return text;
}

std::string regressor_page(const Regressor& regressor) {
  const RegressorErrors& errors = regressor.errors;
  std::string text = fmt::format("{}: {} kernel\n", regressor.of.text(), to_text(regressor.of.kernel.kind));
  const std::vector<std::string> names = range_names(regressor.of);
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("  {:<14} {:.6g} to {:.6g}\n", names[i], regressor.ranges[i].least, regressor.ranges[i].most);
  }
  text += "  law, us       ";
  for (const double coefficient : regressor.law.coefficients) text += fmt::format(" {:.6g}", coefficient);
  text += fmt::format("\n  trees          {}; {} nodes\n", to_text(regressor.settings), regressor.trees.node_count());
  text += fmt::format("  errors         training {} %, validation {} % of {} rows, test {} % of {} rows; fitted to {}\n",
                      percent(errors.training), percent(errors.validation), errors.validation_rows, percent(errors.test),
                      errors.test_rows, errors.fitted_rows);
  return text;
}

nlohmann::ordered_json profile_json(const RegressorProfile& profile) {
  nlohmann::ordered_json regressors = nlohmann::ordered_json::array();
  for (const Regressor& regressor : profile.regressors) {
    const RegressorErrors& errors = regressor.errors;
    nlohmann::ordered_json ranges;
    const std::vector<std::string> names = range_names(regressor.of);
    for (std::size_t i = 0; i < names.size(); ++i) ranges[names[i]] = {regressor.ranges[i].least, regressor.ranges[i].most};
    regressors.push_back({{"function", regressor.of.function},
                          {"pass", regressor.of.is_whole      ? "whole"
                                   : regressor.of.is_backward ? "backward"
                                                              : "forward"},
                          {"type", regressor.of.type.name},
                          {"nodes", regressor.of.nodes},
                          {"gpus_per_node", regressor.of.gpus_per_node},
                          {"kernel", to_text(regressor.of.kernel.kind)},
                          {"fitted_rows", errors.fitted_rows},
                          {"validation_rows", errors.validation_rows},
                          {"test_rows", errors.test_rows},
                          {"outliers", errors.outliers},
                          {"training_mape", errors.training},
                          {"validation_mape", errors.validation},
                          {"test_mape", errors.test},
                          {"law_test_mape", errors.test_law},
                          {"repeats_mape", errors.repeats},
                          {"repeated_rows", errors.repeated_rows},
                          {"model", to_text(regressor.settings)},
                          {"ranges", ranges}});
  }
  nlohmann::ordered_json outliers = nlohmann::ordered_json::array();
  for (const RegressorProfile::Outlier& outlier : profile.outliers) {
    outliers.push_back({{"file", outlier.file},
                        {"line", outlier.line},
                        {"column", outlier.column},
                        {"time_us", outlier.time_us},
                        {"law_us", outlier.law_us}});
  }
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const RegressorProfile::Input& input : profile.inputs) inputs.push_back({{"path", input.path}, {"sha256", input.sha256}});
  return {{"gpu", profile.gpu},         {"weft_version", profile.weft_version},
          {"seed", profile.seed},       {"regressors", regressors},
          {"outliers", outliers},       {"notes", profile.notes},
          {"inputs", std::move(inputs)}};
}

std::string shown_time_text(const ShownTime& shown) {
  constexpr double us_per_s = 1e6;
  std::string text = fmt::format("{}: {}\n", shown.asked, shown.time_us ? readable(*shown.time_us / us_per_s) : "unknown");
  text += fmt::format("  by {}\n", shown.origin);
  if (shown.test_error) text += fmt::format("  error on its test rows {} %\n", percent(*shown.test_error));
  if (!shown.outside.empty()) text += fmt::format("  extrapolated: {}\n", shown.outside);
  for (const std::string& note : shown.notes) text += fmt::format("  note: {}\n", note);
  return text;
}

nlohmann::ordered_json shown_time_json(const ShownTime& shown) {
  nlohmann::ordered_json json = {{"asked", shown.asked}, {"origin", shown.origin}, {"time_us", nullptr}};
  if (shown.time_us) json["time_us"] = *shown.time_us;
  if (shown.test_error) json["test_mape"] = *shown.test_error;
  json["outside"] = shown.outside;
  json["notes"] = shown.notes;
  return json;
}

}  // namespace weft
