// SPDX-License-Identifier: Apache-2.0
#include "tools/study/study.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/beside.hpp"
#include "core/text/manifest.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/source_text.hpp"
#include "core/text/textproto.hpp"
#include "core/text/textproto_settings.hpp"
#include "core/text/version.hpp"
#include "core/values/random.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"
#include "tools/results/output_file.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/scenario/workload_settings.hpp"
#include "tools/study/study.pb.h"
#include "tools/study/study_points.hpp"
#include "tools/study/study_projection.hpp"

namespace weft {

namespace {

constexpr std::uint32_t replicates_max = 10'000;
constexpr std::uint32_t range_values_max = 10'000;

/// Texts of a run's flags that an axis may set by the name of a field of Base.
std::string RunFlags::*text_flag(std::string_view name) {
  static const std::map<std::string_view, std::string RunFlags::*> flags = {
      {"scenario", &RunFlags::scenario_file},
      {"topology", &RunFlags::topology},
      {"workload", &RunFlags::workload},
      {"flows", &RunFlags::flows},
      {"jobs", &RunFlags::jobs},
      {"mode", &RunFlags::mode},
      {"scheduler", &RunFlags::scheduler},
      {"placement", &RunFlags::placement},
  };
  const auto found = flags.find(name);
  return found == flags.end() ? nullptr : found->second;
}

bool is_file_flag(std::string_view name) {
  return name == "scenario" || name == "topology" || name == "workload" || name == "flows" || name == "jobs";
}

template <class Number>
Number whole_number(const StudySetting& setting, const SourcePlace& place) {
  const std::optional<Number> number = plain_number<Number>(setting.value);
  if (!number || *number == 0) {
    fail("bad-value", fmt::format("{} is {}, and a whole number above 0", setting.name, in_quotes(setting.value)), place,
         "write value: \"8\"");
  }
  return *number;
}

bool is_whole_flag(std::string_view name) { return name == "iterations" || name == "hosts" || name == "gpus_per_host"; }

/// Columns of study.csv that are no metric's.
bool is_reserved(std::string_view name) {
  return name == "run" || name == "point" || name == "replicate" || name == "seed" || name == "fingerprint" || name == "error";
}

bool is_plain_name(std::string_view name) {
  return std::ranges::all_of(name, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           std::string_view("_.+-").find(letter) != std::string_view::npos;
  });
}

/// The table's row of a parameter; null: there is none.
const ParamSpec* spec_of(const Parameters& parameters, const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return nullptr;
  if (WorkloadSettings::is_of_workload(name)) return WorkloadSettings::spec_of(name);
  const std::string module = name.substr(0, dot) == "topology" ? parameters.builder() : name.substr(0, dot);
  if (!parameters.has(module)) return nullptr;
  for (const ParamSpec& spec : parameters.of(module).table()) {
    if (spec.name == std::string_view(name).substr(dot + 1)) return &spec;
  }
  return nullptr;
}

bool is_number(const ParamSpec& spec) {
  return spec.kind == ParamKind::integer || spec.kind == ParamKind::real || spec.kind == ParamKind::duration ||
         spec.kind == ParamKind::bytes || spec.kind == ParamKind::bandwidth || spec.kind == ParamKind::length;
}

/// Of all inputs that the scenario was read from, and the program that reads them.
std::string digest_of(const SourceText& source) { return sha256_hex(sha256_hex(source.text()) + version_text()); }
std::string digest_of(const SourceText& source, const Scenario& base, const std::optional<Prices>& prices) {
  std::string all = sha256_hex(source.text()) + version_text();
  if (prices) all += sha256_hex(SourceText::read(prices->file).text());
  const nlohmann::json manifest = nlohmann::json::parse(base.manifest.to_json());
  for (const nlohmann::json& input : manifest.value("inputs", nlohmann::json::array())) all += input.value("sha256", "");
  return sha256_hex(all);
}

class StudyReader {
 public:
  explicit StudyReader(const std::string& path) : source_(SourceText::read(path)), document_(source_, message_, diagnostics_) {
    diagnostics_.throw_if_errors();
    study_.file = path;
    study_.name = message_.name().empty() ? std::filesystem::path(path).stem().string() : message_.name();
    study_.question = message_.question();
    study_.measures_machine = message_.measure_machine();
  }

  Study read() {
    if (message_.has_base()) read_base();
    if (study_.projection) refuse_what_is_of_runs();
    if (!message_.prices().empty() && !study_.projection) study_.prices = read_prices(beside(study_.file, message_.prices()));
    read_seeds();
    for (int i = 0; i < message_.axis_size(); ++i) read_axis(i);
    for (int i = 0; i < message_.point_size(); ++i) read_point(i);
    read_sampling();
    check_names();
    check_values(of_all_runs_,
                 [&](const std::string& module) { return study_.projection || module.empty() || of_all_runs_.has(module); });
    diagnostics_.throw_if_errors();
    if (study_.projection) {
      study_.digest = digest_of(source_);
      fill_ranges(of_all_runs_);
    } else {
      const Scenario base = load_first_point();
      study_.digest = digest_of(source_, base, study_.prices);
      fill_ranges(base.parameters);
      check_aliases(base.parameters);
      check_values(base.parameters, [&](const std::string& module) { return !module.empty() && !of_all_runs_.has(module); });
    }
    for (int i = 0; i < message_.metric_size(); ++i) read_metric(i);
    if (study_.metrics.empty()) {
      diagnostics_.error("missing-field", "the study has no metric", source_.whole_file(),
                         study_.projection ? "write metric { name: \"T_effective\" }, a figure of the projection"
                                           : "write metric { name: \"makespan_s\" }, a figure of summary.json");
    }
    if (message_.has_stop()) read_stop();
    diagnostics_.throw_if_errors();
    check_point_count();
    return std::move(study_);
  }

 private:
  /// A value as it is looked up from where the program runs.
  std::string value_of(const std::string& name, const std::string& value) const {
    return is_file_flag(name) || of_all_runs_.is_file(name) ? beside(study_.file, value) : value;
  }

  void read_base() {
    const study::Base& base = message_.base();
    const FieldPlaces places = document_.places().inside(message_, "base");
    if (!base.projection().empty()) {
      study_.projection.emplace(StudyProjection{base.simulate()});
      read_projection(base, places);
      return;
    }
    if (base.simulate()) {
      diagnostics_.error("unused-field", "runs are simulated in any case", places.of(base, "simulate"),
                         "drop it, or write projection: \"decentralized\"");
    }
    const auto take = [&](const char* name, const std::string& value) {
      if (!value.empty()) study_.base.*text_flag(name) = value_of(name, value);
    };
    take("scenario", base.scenario());
    take("topology", base.topology());
    take("workload", base.workload());
    take("flows", base.flows());
    take("jobs", base.jobs());
    take("mode", base.mode());
    take("scheduler", base.scheduler());
    take("placement", base.placement());
    if (base.has_iterations()) study_.base.iterations = base.iterations();
    if (base.has_hosts()) study_.base.hosts = base.hosts();
    if (base.has_gpus_per_host()) study_.base.gpus_per_host = base.gpus_per_host();
    for_each_setting(base, places, diagnostics_, [&](const std::string& name, const std::string& value, const SourcePlace& place) {
      name_places_.emplace(name, place);
      study_.base.settings.push_back(fmt::format("{}={}", name, value_of(name, value)));
    });
  }

  void read_projection(const study::Base& base, const FieldPlaces& places) {
    if (base.projection() != "decentralized") {
      diagnostics_.error("bad-value", fmt::format("there is no projection {} to study", in_quotes(base.projection())),
                         places.of(base, "projection"), "it is \"decentralized\"");
    }
    const google::protobuf::Reflection& reflection = *base.GetReflection();
    std::vector<const google::protobuf::FieldDescriptor*> given;
    reflection.ListFields(base, &given);
    for (const google::protobuf::FieldDescriptor* field : given) {
      if (field->name() == "projection" || field->name() == "simulate" || field->name() == "set") continue;
      diagnostics_.error("unused-field", fmt::format("{} is of runs, and points are projections", field->name()),
                         places.of(base, field->name()), "drop it, or projection");
    }
    for_each_setting(base, places, diagnostics_, [&](const std::string& name, const std::string& value, const SourcePlace& place) {
      name_places_.emplace(name, place);
      check_projected_setting({name, value}, *study_.projection, place);
      study_.base.settings.push_back(fmt::format("{}={}", name, value));
    });
  }

  void refuse_what_is_of_runs() {
    if (!message_.prices().empty()) {
      diagnostics_.error("unused-field", "a projection has no topology whose parts had prices",
                         document_.places().of(message_, "prices"), "drop it");
    }
    if (study_.measures_machine) {
      diagnostics_.error("unused-field", "what a run costs the machine is not measured of projections",
                         document_.places().of(message_, "measure_machine"), "drop it");
    }
    if (message_.replicates() > 1 && !study_.projection->simulates) {
      diagnostics_.error("unused-field", "formulas draw nothing by chance, so that replicates are all alike",
                         document_.places().of(message_, "replicates"), "drop it, or write simulate: true in the base");
    }
  }

  void read_seeds() {
    if (message_.has_seed()) study_.seed = message_.seed();
    if (!message_.has_replicates()) return;
    study_.replicates = message_.replicates();
    if (study_.replicates < 1 || study_.replicates > replicates_max) {
      diagnostics_.error("out-of-range",
                         fmt::format("replicates is {}, and a number from 1 to {}", study_.replicates, replicates_max),
                         document_.places().of(message_, "replicates"), "write 1 for one run of each point");
    }
    if (study_.seed > std::numeric_limits<std::uint64_t>::max() - study_.replicates) {
      diagnostics_.error("out-of-range", "no seeds are left for all replicates", document_.places().of(message_, "seed"),
                         "write a smaller one");
    }
  }

  /// The first value of everything.
  StudyPoint first_point() const {
    StudyPoint point{.number = 0, .replicate = 0, .seed = study_.seed};
    for (const StudyAxis& axis : study_.axes) {
      for (std::size_t i = 0; i < axis.names.size(); ++i) point.settings.push_back({axis.names[i], axis.values.front()[i]});
    }
    if (!study_.listed.empty()) point.settings = study_.listed.front();
    return point;
  }

  /// Now that it is known what parameters they are of.
  void fill_ranges(const Parameters& parameters) {
    for (StudyAxis& axis : study_.axes) {
      if (!axis.range) continue;
      const std::string& name = axis.names.front();
      axis.range->spec = study_.projection ? projected_spec(name) : spec_of(parameters, name);
      const bool has_numbers = axis.range->spec != nullptr
                                   ? is_number(*axis.range->spec) || axis.range->spec->kind == ParamKind::text
                                   : is_whole_flag(name);
      if (!has_numbers) {
        if (axis.range->spec != nullptr || text_flag(name) != nullptr || name == "preset") {
          diagnostics_.error("bad-axis", fmt::format("{} is no number, and has no range", in_quotes(name)), name_places_.at(name),
                             "give value: \"...\" as often as there are values");
        }
        continue;  // Names that nothing has are told of with their values.
      }
      try {
        for (const std::vector<std::string>& end : axis.values)
          check_value({name, end.front()}, parameters, range_places_.at(name));
      } catch (const InputError&) {
        continue;  // Told of with the values.
      }
      if (axis.range->values == 0) continue;
      axis.values.clear();
      for (std::uint32_t k = 0; k < axis.range->values; ++k) {
        std::string value = axis.range->value_at(static_cast<double>(k) / (axis.range->values - 1));
        // Values go one way, so that equal ones are neighbours.
        if (!axis.values.empty() && axis.values.back().front() == value) {
          diagnostics_.error("bad-axis",
                             fmt::format("{} has fewer values between the ends than {}", in_quotes(name), axis.range->values),
                             range_places_.at(name), "write fewer values");
          break;
        }
        try {
          check_value({name, value}, parameters, range_places_.at(name));
        } catch (const InputError& error) {
          for (const Diagnostic& diagnostic : error.diagnostics()) diagnostics_.add(diagnostic);
        }
        axis.values.push_back({std::move(value)});
      }
    }
  }

  /// "topology" stands for the name of the builder.
  void check_aliases(const Parameters& parameters) {
    for (const std::string& name : study_.names()) {
      if (!name.starts_with("topology.")) continue;
      const std::string other = parameters.builder() + name.substr(std::string_view("topology").size());
      if (name_places_.contains(other)) {
        diagnostics_.error("duplicate-setting", fmt::format("{} is {}", in_quotes(name), in_quotes(other)), name_places_.at(name),
                           "keep one of the two");
      }
    }
  }

  void check_value(const StudySetting& setting, Parameters parameters, const SourcePlace& place) const {
    if (study_.projection) {
      check_projected_setting(setting, *study_.projection, place);
    } else if (setting.name.find('.') == std::string::npos && setting.name != "preset") {
      RunFlags flags;
      apply(setting, flags, place);
      if (setting.name == "scheduler") find_module(scheduling_policies(), setting.value, place);
      if (setting.name == "placement") find_module(placers(), setting.value, place);
    } else if (WorkloadSettings::is_of_workload(setting.name)) {
      WorkloadSettings::check(setting.name, setting.value, place);
    } else {
      parameters.apply(setting.name, setting.value, place);
    }
  }

  void read_axis(int i) {
    const study::Axis& from = message_.axis(i);
    const FieldPlaces places = document_.places().inside(message_, "axis", i);
    const SourcePlace whole = document_.places().of(message_, "axis", i);
    StudyAxis axis;
    if (from.name().empty()) {
      diagnostics_.error("missing-field", "the axis has no name", whole, "write axis { name: \"packet.buffer\" value: \"8MB\" }");
      return;
    }
    axis.names.push_back(from.name());
    name_places_.emplace(from.name(), places.of(from, "name"));
    if (from.has_range() == (from.value_size() > 0)) {
      diagnostics_.error(
          from.has_range() ? "bad-axis" : "empty-axis",
          fmt::format("axis {} has {}", in_quotes(from.name()), from.has_range() ? "values and a range" : "no value"), whole,
          "give value: \"...\" as often as there are values, or range { from: to: values: }");
      return;
    }
    if (from.has_range()) {
      read_range(from, places, axis);
    } else {
      for (int k = 0; k < from.value_size(); ++k) {
        axis.values.push_back({value_of(from.name(), from.value(k))});
        note_value(from.name(), axis.values.back().front(), places.of(from, "value", k));
      }
    }
    for (int k = 0; k < from.along_size(); ++k) {
      const study::Along& along = from.along(k);
      const FieldPlaces inside = places.inside(from, "along", k);
      if (axis.range || static_cast<std::size_t>(along.value_size()) != axis.values.size()) {
        diagnostics_.error("bad-axis",
                           axis.range ? "nothing goes along a range"
                                      : fmt::format("{} has {} values along {}, which has {}", in_quotes(along.name()),
                                                    along.value_size(), in_quotes(from.name()), axis.values.size()),
                           places.of(from, "along", k), "what goes along an axis has a value for each of the axis' own");
        return;
      }
      axis.names.push_back(along.name());
      name_places_.emplace(along.name(), inside.of(along, "name"));
      for (int v = 0; v < along.value_size(); ++v) {
        axis.values[static_cast<std::size_t>(v)].push_back(value_of(along.name(), along.value(v)));
        note_value(along.name(), axis.values[static_cast<std::size_t>(v)].back(), inside.of(along, "value", v));
      }
    }
    for (std::size_t k = 0; !axis.range && k < axis.values.size(); ++k) {
      const auto first = std::ranges::find(axis.values, axis.values[k]);
      if (first == axis.values.begin() + static_cast<std::ptrdiff_t>(k)) continue;
      diagnostics_.error("duplicate-value",
                         fmt::format("{} has {} twice", in_quotes(from.name()), in_quotes(axis.values[k].front())),
                         places.of(from, "value", static_cast<int>(k)), "drop one; replicates: 5 runs each point several times");
    }
    study_.axes.push_back(std::move(axis));
  }

  void read_range(const study::Axis& from, const FieldPlaces& places, StudyAxis& axis) {
    const study::Range& range = from.range();
    const SourcePlace place = places.of(from, "range");
    const bool is_hypercube = message_.sampling() == study::LATIN_HYPERCUBE;
    range_places_.emplace(from.name(), place);
    const std::size_t errors_before = diagnostics_.error_count();
    axis.range = {.from = range.from(),
                  .to = range.to(),
                  .unit = range.unit(),
                  .values = range.values(),
                  .is_log = range.scale() == study::LOG};
    if (!std::isfinite(range.from()) || !std::isfinite(range.to()) || range.from() == range.to()) {
      diagnostics_.error("bad-axis", "a range has two ends that differ", place, "write range { from: 1 to: 16 values: 5 }");
    } else if (!study::Scale_IsValid(range.scale())) {
      diagnostics_.error("bad-axis", fmt::format("there is no scale {}", static_cast<int>(range.scale())), place,
                         "scales are LINEAR and LOG");
    } else if (axis.range->is_log && (range.from() <= 0 || range.to() <= 0)) {
      diagnostics_.error("bad-axis", "equal ratios have ends above 0", place, "write scale: LINEAR, or other ends");
    } else if (is_hypercube == (range.values() > 0) || range.values() == 1) {
      diagnostics_.error("bad-axis",
                         is_hypercube ? "LATIN_HYPERCUBE draws from all of a range, which has no values"
                                      : fmt::format("a range of {} values has no two ends", range.values()),
                         place, is_hypercube ? "drop values" : "write values: 5, 2 at least");
    } else if (range.values() > range_values_max) {
      diagnostics_.error("out-of-range", fmt::format("a range of {} values, more than {}", range.values(), range_values_max), place,
                         "write fewer, or sampling: LATIN_HYPERCUBE");
    }
    axis.values = {{axis.range->value_at(0)}, {axis.range->value_at(1)}};
    // What is wrong of a range is not told once more of its ends.
    if (diagnostics_.error_count() > errors_before) {
      axis.range->values = 0;
    } else {
      for (const std::vector<std::string>& end : axis.values) note_value(from.name(), end.front(), place);
    }
  }

  void read_point(int i) {
    const study::Point& from = message_.point(i);
    const FieldPlaces places = document_.places().inside(message_, "point", i);
    std::vector<StudySetting> point;
    for_each_setting(from, places, diagnostics_, [&](const std::string& name, const std::string& value, const SourcePlace& place) {
      name_places_.emplace(name, place);
      point.push_back({name, value_of(name, value)});
      note_value(name, point.back().value, place);
    });
    study_.listed.push_back(std::move(point));
  }

  void read_sampling() {
    const SourcePlace place = document_.places().of(message_, "sampling");
    if (!study::Sampling_IsValid(message_.sampling()))
      diagnostics_.error("bad-value", "there is no such sampling", place, "it is GRID, ONE_AT_A_TIME or LATIN_HYPERCUBE");
    switch (message_.sampling()) {
      case study::ONE_AT_A_TIME:
        study_.sampling = Sampling::one_at_a_time;
        break;
      case study::LATIN_HYPERCUBE:
        study_.sampling = Sampling::latin_hypercube;
        break;
      default:
        break;
    }
    study_.samples = message_.samples();
    if ((study_.sampling == Sampling::latin_hypercube) != (study_.samples > 0)) {
      diagnostics_.error(study_.samples > 0 ? "unused-field" : "missing-field",
                         study_.samples > 0 ? "samples are of LATIN_HYPERCUBE" : "LATIN_HYPERCUBE has no number of samples", place,
                         study_.samples > 0 ? "drop it, or write sampling: LATIN_HYPERCUBE" : "write samples: 50");
    }
    if (study_.listed.empty() == study_.axes.empty() && !diagnostics_.has_errors()) {
      diagnostics_.error(study_.axes.empty() ? "missing-field" : "bad-axis",
                         study_.axes.empty() ? "the study has no axis and no point" : "the study has axes and points",
                         source_.whole_file(), "give axis { name: value: } or point { set { name: value: } }");
    }
    if (!study_.listed.empty() && study_.sampling != Sampling::grid)
      diagnostics_.error("unused-field", "sampling is of axes, and the study lists its points", place, "drop it");
  }

  /// Nothing is set by two axes.
  void check_names() {
    std::vector<std::string> seen;
    for (const StudyAxis& axis : study_.axes) {
      for (const std::string& name : axis.names) {
        if (std::ranges::find(seen, name) != seen.end()) {
          diagnostics_.error("duplicate-setting", fmt::format("{} is on two axes", in_quotes(name)), name_places_.at(name),
                             "keep one of the two");
        }
        seen.push_back(name);
      }
    }
    for (const std::string& name : study_.names()) {
      if (name == "seed" || name == "base" || name == "replicate") {
        diagnostics_.error("bad-axis", fmt::format("{} is no axis", in_quotes(name)), name_places_.at(name),
                           "replicates: 5 runs each point with five seeds");
      }
    }
  }

  /// What the base lacks the axes may give. Flags that stand for settings have their places.
  Scenario load_first_point() {
    try {
      return load_scenario(flags_of(study_, first_point()), Probing::forbidden);
    } catch (const InputError& error) {
      constexpr std::string_view flag = "--set=";
      for (Diagnostic diagnostic : error.diagnostics()) {
        if (diagnostic.place.file.starts_with(flag)) {
          const std::string name =
              diagnostic.place.file.substr(flag.size(), diagnostic.place.file.find('=', flag.size()) - flag.size());
          if (const auto found = name_places_.find(name); found != name_places_.end()) diagnostic.place = found->second;
        }
        diagnostics_.add(std::move(diagnostic));
      }
      diagnostics_.throw_if_errors();
      throw;
    }
  }

  /// Each value by itself, of modules that `is_checked`; of what is no module's "".
  void check_values(const Parameters& parameters, const std::function<bool(const std::string& module)>& is_checked) {
    std::set<std::string> unknown;
    for (const auto& [setting, place] : value_places_) {
      const std::size_t dot = setting.name.find('.');
      if (unknown.contains(setting.name) || !is_checked(dot == std::string::npos ? "" : setting.name.substr(0, dot))) continue;
      try {
        check_value(setting, parameters, place);
      } catch (const InputError& error) {
        for (Diagnostic diagnostic : error.diagnostics()) {
          if (diagnostic.code == "unknown-axis" || diagnostic.code == "unknown-param" || diagnostic.code == "unused-setting") {
            diagnostic.place = name_places_.at(setting.name);
            unknown.insert(setting.name);
          }
          diagnostics_.add(std::move(diagnostic));
        }
      }
      if (diagnostics_.is_full()) return;
    }
  }

  void read_metric(int i) {
    const study::Metric& from = message_.metric(i);
    const FieldPlaces places = document_.places().inside(message_, "metric", i);
    StudyMetric metric;
    metric.name = from.name();
    metric.column = from.column();
    if (!study::Statistic_IsValid(from.statistic())) {
      diagnostics_.error("bad-value", "there is no such statistic", places.of(from, "statistic"),
                         "it is MEAN, MIN, MAX, SUM, COUNT, P50, P90 or P99");
      return;
    }
    metric.statistic = from.statistic() == 0 ? Statistic::mean : static_cast<Statistic>(from.statistic() - 1);
    for (const study::Where& where : from.where()) metric.where.push_back({where.column(), where.value()});
    const SourcePlace whole = document_.places().of(message_, "metric", i);
    if (metric.name.empty()) {
      diagnostics_.error("missing-field", "the metric has no name", whole, "write name: \"makespan_s\"");
      return;
    }
    const std::vector<std::string> names = study_.names();
    if (!is_plain_name(metric.name) || is_reserved(metric.name) || std::ranges::find(names, metric.name) != names.end()) {
      diagnostics_.error("bad-name", fmt::format("a metric cannot be called {}", in_quotes(metric.name)), places.of(from, "name"),
                         "it is a column of study.csv: letters, digits and _.+-, and no other column's name");
      return;
    }
    if (study_.projection && (!metric.column.empty() || from.statistic() != 0 || from.where_size() > 0)) {
      diagnostics_.error("unused-field", "column, statistic and where are of tables, which projections do not have", whole,
                         "write name: \"T_effective\", a figure of the projection");
      return;
    }
    if (metric.column.empty() && (from.statistic() != 0 || from.where_size() > 0)) {
      diagnostics_.error("unused-field", "statistic and where are of a table's column, and this is a figure of summary.json", whole,
                         "write column: \"jobs.wait_s\", or drop them");
      return;
    }
    if (std::ranges::find(study_.metrics, metric.name, &StudyMetric::name) != study_.metrics.end())
      diagnostics_.error("duplicate-setting", fmt::format("two metrics are called {}", in_quotes(metric.name)),
                         places.of(from, "name"), "give one of them another name");
    try {
      if (study_.projection) {
        const SiteFigure figure = projected_figure(metric.name, *study_.projection, places.of(from, "name"));
        metric.unit = figure.unit;
        metric.numbering = figure.numbering;
      } else {
        check_metric(metric, {.of_machine = study_.measures_machine, .of_prices = study_.prices.has_value()},
                     from.column().empty() ? places.of(from, "name") : places.of(from, "column"));
      }
    } catch (const InputError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) diagnostics_.add(diagnostic);
    }
    study_.metrics.push_back(std::move(metric));
  }

  void read_stop() {
    const study::Stop& from = message_.stop();
    const FieldPlaces places = document_.places().inside(message_, "stop");
    const SourcePlace whole = document_.places().of(message_, "stop");
    StudyStop stop;
    stop.precision = from.precision();
    stop.runs = from.runs();
    if (!message_.has_replicates()) {
      diagnostics_.error("missing-field", "the stopping rule has no most runs of a point", whole, "write replicates: 50");
    }
    if (from.has_replicates_min()) stop.replicates_min = from.replicates_min();
    if (!(stop.precision > 0) || !std::isfinite(stop.precision)) {
      diagnostics_.error("out-of-range", fmt::format("precision is {}, and a share above 0", shortest(stop.precision)),
                         from.precision() == 0 ? whole : places.of(from, "precision"),
                         "precision: 0.02 stops once half of the 95 % interval is 2 % of the mean");
    }
    // Two runs at least have an interval.
    if (message_.has_replicates() && (stop.replicates_min < 2 || stop.replicates_min > study_.replicates)) {
      diagnostics_.error("out-of-range",
                         fmt::format("each point has {} runs at least, and a number from 2 to the {} of replicates",
                                     stop.replicates_min, study_.replicates),
                         from.has_replicates_min() ? places.of(from, "replicates_min") : whole,
                         "write replicates_min: 2, or more replicates");
    }
    if (study_.measures_machine) {
      diagnostics_.error("unused-field", "what a run costs the machine differs each time, and no stopping rule is for it", whole,
                         "drop it, or measure_machine");
    }
    std::vector<std::string> names;
    for (const StudyMetric& metric : study_.metrics) names.push_back(metric.name);
    for (int i = 0; i < from.metric_size(); ++i) {
      const auto found = std::ranges::find(names, from.metric(i));
      if (found == names.end()) {
        diagnostics_.error("unknown-metric", fmt::format("the study has no metric {}", in_quotes(from.metric(i))),
                           places.of(from, "metric", i), suggestion(from.metric(i), names, "metric"));
      } else {
        stop.metrics.push_back(static_cast<std::size_t>(found - names.begin()));
      }
    }
    study_.stop = std::move(stop);
  }

  void check_point_count() const {
    constexpr std::uint64_t points_max = 1'000'000;
    const std::uint64_t count = point_count(study_);
    if (count <= points_max) return;
    fail("too-many-points", fmt::format("the study has {} runs, more than {}", count, points_max), source_.whole_file(),
         "sampling: LATIN_HYPERCUBE or ONE_AT_A_TIME takes fewer");
  }

  void note_value(const std::string& name, const std::string& value, const SourcePlace& place) {
    value_places_.emplace_back(StudySetting{name, value}, place);
  }

  Diagnostics diagnostics_;
  study::Study message_;
  SourceText source_;
  TextprotoDocument document_;
  Study study_;
  const Parameters of_all_runs_;  ///< with defaults; a builder's are not among them
  std::map<std::string, SourcePlace> name_places_;
  std::map<std::string, SourcePlace> range_places_;
  std::vector<std::pair<StudySetting, SourcePlace>> value_places_;
};

}  // namespace

std::string StudyRange::value_at(double share) const {
  // Whole numbers without an exponent, which those who take them do not read.
  constexpr double whole_max = 1e15;
  const auto text_of = [](double end) {
    return end == std::floor(end) && std::abs(end) < whole_max ? fmt::format("{:.0f}", end) : shortest(end);
  };
  if (share == 0) return text_of(from) + unit;
  if (share == 1) return text_of(to) + unit;
  const bool is_quantity = spec != nullptr && is_number(*spec);
  const double least = is_quantity ? param_number(*spec, value_at(0)) : from;
  const double most = is_quantity ? param_number(*spec, value_at(1)) : to;
  const double number = is_log ? portable_exp(portable_log(least) + share * (portable_log(most) - portable_log(least)))
                               : least + share * (most - least);
  if (is_quantity) return param_text(*spec, number);
  return spec != nullptr ? fmt::format("{:.6g}{}", number, unit) : fmt::format("{:.0f}", number);
}

std::vector<std::string> Study::names() const {
  std::vector<std::string> all;
  for (const StudyAxis& axis : axes) all.insert(all.end(), axis.names.begin(), axis.names.end());
  for (const std::vector<StudySetting>& point : listed) {
    for (const StudySetting& setting : point) {
      if (std::ranges::find(all, setting.name) == all.end()) all.push_back(setting.name);
    }
  }
  return all;
}

void apply(const StudySetting& setting, RunFlags& flags, const SourcePlace& place) {
  if (std::string RunFlags::*const text = text_flag(setting.name)) {
    if (setting.name == "mode" && setting.value != "job" && setting.value != "flow" && setting.value != "packet")
      fail("bad-value", fmt::format("there is no mode {}", in_quotes(setting.value)), place, "modes are job, flow and packet");
    flags.*text = setting.value;
  } else if (setting.name == "iterations") {
    flags.iterations = whole_number<std::uint64_t>(setting, place);
  } else if (setting.name == "hosts") {
    flags.hosts = whole_number<std::uint32_t>(setting, place);
  } else if (setting.name == "gpus_per_host") {
    flags.gpus_per_host = whole_number<std::uint32_t>(setting, place);
  } else if (setting.name.find('.') == std::string::npos && setting.name != "preset") {
    fail("unknown-axis", fmt::format("there is nothing to set called {}", in_quotes(setting.name)), place,
         "an axis is a parameter such as packet.buffer (`weft modules` lists them), or one of scenario, topology, workload, flows, "
         "jobs, mode, scheduler, placement, iterations, hosts, gpus_per_host");
  } else {
    const std::string begin = setting.name + '=';
    std::erase_if(flags.settings, [&](const std::string& other) { return other.starts_with(begin); });
    flags.settings.push_back(begin + setting.value);
  }
}

Study read_study(const std::string& path) { return StudyReader(path).read(); }

}  // namespace weft
