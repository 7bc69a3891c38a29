// SPDX-License-Identifier: Apache-2.0
#include "tools/study/study.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/manifest.hpp"
#include "core/text/source_text.hpp"
#include "core/text/textproto.hpp"
#include "core/text/textproto_settings.hpp"
#include "core/values/random.hpp"
#include "tools/simulation/run.hpp"
#include "tools/study/study.pb.h"
#include "tools/study/study_points.hpp"

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
  Number number = 0;
  const char* end = setting.value.data() + setting.value.size();
  const auto [stop, error] = std::from_chars(setting.value.data(), end, number);
  if (error != std::errc() || stop != end || number == 0) {
    fail("bad-value", fmt::format("{} is {}, and a whole number above 0", setting.name, in_quotes(setting.value)), place,
         "write value: \"8\"");
  }
  return number;
}

class StudyReader {
 public:
  explicit StudyReader(const std::string& path) : source_(SourceText::read(path)), document_(source_, message_, diagnostics_) {
    diagnostics_.throw_if_errors();
    study_.file = path;
    study_.digest = sha256_hex(source_.text());
    study_.name = message_.name().empty() ? std::filesystem::path(path).stem().string() : message_.name();
    study_.question = message_.question();
  }

  Study read() {
    if (message_.has_base()) read_base();
    read_seeds();
    for (int i = 0; i < message_.axis_size(); ++i) read_axis(i);
    for (int i = 0; i < message_.point_size(); ++i) read_point(i);
    read_sampling();
    check_names();
    diagnostics_.throw_if_errors();
    const Scenario base = load_scenario(study_.base, Probing::forbidden);
    check_values(base);
    for (int i = 0; i < message_.metric_size(); ++i) read_metric(i);
    if (study_.metrics.empty()) {
      diagnostics_.error("missing-field", "the study has no metric", source_.whole_file(),
                         "write metric { name: \"makespan_s\" }, a figure of summary.json");
    }
    diagnostics_.throw_if_errors();
    check_point_count();
    return std::move(study_);
  }

 private:
  /// A value as it is looked up from where the program runs.
  std::string value_of(const std::string& name, const std::string& value) const {
    if (!is_file_flag(name) || value.empty() || std::filesystem::path(value).is_absolute()) return value;
    return (std::filesystem::path(study_.file).parent_path() / value).string();
  }

  void read_base() {
    const study::Base& base = message_.base();
    const FieldPlaces places = document_.places().inside(message_, "base");
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
    for_each_setting(base, places, diagnostics_,
                     [&](const std::string& name, const std::string& value, const SourcePlace& /*place*/) {
                       study_.base.settings.push_back(fmt::format("{}={}", name, value));
                     });
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
    study_.axes.push_back(std::move(axis));
  }

  void read_range(const study::Axis& from, const FieldPlaces& places, StudyAxis& axis) {
    const study::Range& range = from.range();
    const SourcePlace place = places.of(from, "range");
    const bool is_hypercube = message_.sampling() == study::LATIN_HYPERCUBE;
    axis.range = {.from = range.from(),
                  .to = range.to(),
                  .unit = range.unit(),
                  .values = range.values(),
                  .is_log = range.scale() == study::LOG,
                  .is_whole = range.whole()};
    if (!std::isfinite(range.from()) || !std::isfinite(range.to()) || range.from() == range.to()) {
      diagnostics_.error("bad-axis", "a range has two ends that differ", place, "write range { from: 1 to: 16 values: 5 }");
    } else if (axis.range->is_log && (range.from() <= 0 || range.to() <= 0)) {
      diagnostics_.error("bad-axis", "equal ratios have ends above 0", place, "write scale: LINEAR, or other ends");
    } else if (is_hypercube == (range.values() > 0) || range.values() == 1) {
      diagnostics_.error("bad-axis",
                         is_hypercube ? "LATIN_HYPERCUBE draws from all of a range, which has no values"
                                      : fmt::format("a range of {} values has no two ends", range.values()),
                         place, is_hypercube ? "drop values" : "write values: 5, 2 at least");
    }
    if (range.values() > range_values_max) {
      diagnostics_.error("out-of-range", fmt::format("a range of {} values, more than {}", range.values(), range_values_max), place,
                         "write fewer, or sampling: LATIN_HYPERCUBE");
      return;
    }
    const std::uint32_t count = is_hypercube ? 2 : range.values();
    for (std::uint32_t k = 0; k < count; ++k) {
      axis.values.push_back({axis.range->value_at(count > 1 ? static_cast<double>(k) / (count - 1) : 0)});
      note_value(from.name(), axis.values.back().front(), place);
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

  /// Each value by itself, where that can be told without the others.
  void check_values(const Scenario& base) {
    std::set<std::string> unknown;
    for (const auto& [setting, place] : value_places_) {
      if (unknown.contains(setting.name)) continue;
      try {
        if (setting.name.find('.') == std::string::npos && setting.name != "preset") {
          RunFlags flags;
          apply(setting, flags, place);
        } else {
          Parameters parameters = base.parameters;
          parameters.apply(setting.name, setting.value, place);
        }
      } catch (const InputError& error) {
        for (Diagnostic diagnostic : error.diagnostics()) {
          if (diagnostic.code.starts_with("unknown")) {
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
    metric.statistic = static_cast<Statistic>(from.statistic() == 0 ? 0 : from.statistic() - 1);
    for (const study::Where& where : from.where()) metric.where.push_back({where.column(), where.value()});
    const SourcePlace whole = document_.places().of(message_, "metric", i);
    if (metric.name.empty()) {
      diagnostics_.error("missing-field", "the metric has no name", whole, "write name: \"makespan_s\"");
      return;
    }
    if (std::ranges::find(study_.metrics, metric.name, &StudyMetric::name) != study_.metrics.end())
      diagnostics_.error("duplicate-setting", fmt::format("two metrics are called {}", in_quotes(metric.name)),
                         places.of(from, "name"), "give one of them another name");
    try {
      check_metric(metric, from.column().empty() ? places.of(from, "name") : places.of(from, "column"));
    } catch (const InputError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) diagnostics_.add(diagnostic);
    }
    study_.metrics.push_back(std::move(metric));
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
  std::map<std::string, SourcePlace> name_places_;
  std::vector<std::pair<StudySetting, SourcePlace>> value_places_;
};

}  // namespace

std::string StudyRange::value_at(double share) const {
  double number = from + share * (to - from);
  if (is_log) number = portable_exp(portable_log(from) + share * (portable_log(to) - portable_log(from)));
  if (share == 0) number = from;
  if (share == 1) number = to;
  if (is_whole) number = std::round(number);
  // As many digits as tell neighbours apart, so that the text is one that people write.
  return fmt::format("{:.6g}{}", number, unit);
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
