// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/predict_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/printed_json.hpp"
#include "core/text/readable.hpp"
#include "tools/simulation/operator_snapshot.hpp"

namespace weft {

namespace {

using State = ClusterSnapshot::State;

const char* state_text(State state) {
  switch (state) {
    case State::not_arrived:
      return "not arrived";
    case State::waits:
      return "waits";
    case State::runs:
      return "runs";
    case State::ended:
      return "ended";
  }
  return "";
}

/// "+1.5 %"
std::string change_text(double ratio) { return (std::signbit(ratio) ? "" : "+") + readable_share(ratio); }

/// A time ahead: whole days as such.
std::string ahead_text(Duration ahead) {
  constexpr double day_s = 86400;
  const double days = ahead.in_s() / day_s;
  return days >= 2 && days == std::floor(days) ? fmt::format("{:g} d", days) : readable(ahead.in_s());
}

/// As a user called a job: short, in one line.
std::string column_text(const std::string& name) {
  constexpr std::size_t length_max = 24;
  std::string text;
  for (const char c : name.substr(0, length_max)) text += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  if (name.size() <= length_max) return text;
  // Whole characters of UTF-8.
  while (!text.empty() && (static_cast<unsigned char>(name[text.size()]) & 0xC0U) == 0x80U) text.pop_back();
  return text + "..";
}

std::string note_of(const JobForecast& answer, const Forecast& forecast) {
  if (answer.job == forecast.started) return fmt::format("starts on {}", with_host_names(answer.placement, forecast.host_names));
  if (answer.is_hit && answer.waited_s)
    return fmt::format("moves after {} to {}", readable(*answer.waited_s), with_host_names(answer.placement, forecast.host_names));
  if (answer.is_hit && answer.then.state == State::waits) return "finds no place";
  if (answer.is_hit && answer.then.state == State::runs) return "goes on there until it ends";
  if (answer.now.state == answer.then.state) return "";
  if (answer.waited_s) return fmt::format("starts after {}", readable(*answer.waited_s));
  if (answer.then.state == State::waits) return fmt::format("still waits after {}", ahead_text(forecast.horizon));
  return fmt::format("{} instead of {}", state_text(answer.then.state), state_text(answer.now.state));
}

/// A unit of time that all values of a column are in.
struct TimeUnit {
  const char* name;
  double in_s;
};

/// The largest unit that the largest of the values is at least twice of; seconds for none.
TimeUnit common_unit(const std::vector<std::optional<double>>& values_s) {
  constexpr std::array units = {TimeUnit{"ns", 1e-9}, TimeUnit{"us", 1e-6}, TimeUnit{"ms", 1e-3}, TimeUnit{"s", 1},
                                TimeUnit{"min", 60},  TimeUnit{"h", 3600},  TimeUnit{"d", 86400}};
  double largest_s = 0;
  for (const std::optional<double>& value_s : values_s) largest_s = std::max(largest_s, std::abs(value_s.value_or(0)));
  TimeUnit unit = largest_s == 0 ? units[3] : units[0];
  for (const TimeUnit& larger : units) {
    if (largest_s >= 2 * larger.in_s) unit = larger;
  }
  return unit;
}

std::string in_unit(const std::optional<double>& value_s, const TimeUnit& unit) {
  return value_s ? fmt::format("{:.2f}", *value_s / unit.in_s) : "?";
}
std::string change_in_unit(double value_s, const TimeUnit& unit) { return fmt::format("{:+.2f}", value_s / unit.in_s); }

/// Jobs whose futures differ, one to a row, and their totals.
class ForecastTable {
 public:
  ForecastTable(const Forecast& forecast, const std::vector<const JobForecast*>& changed)
      : forecast_(forecast), at_s_(forecast.at.in_s()) {
    std::vector<std::optional<double>> iterations;
    std::vector<std::optional<double>> ends;
    for (const JobForecast* const answer : changed) {
      iterations.insert(iterations.end(), {answer->now.iteration_s, answer->then.iteration_s});
      ends.insert(ends.end(), {left_s(answer->now), left_s(answer->then)});
      has_iterations_ = has_iterations_ || answer->now.iteration_s || answer->then.iteration_s;
      has_names_ = has_names_ || !answer->called.empty();
    }
    iteration_unit_ = common_unit(iterations);
    end_unit_ = common_unit(ends);
    add_head();
    for (const JobForecast* const answer : changed) add_row(*answer);
    add_total(changed);
  }

  std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size(), 0);
    for (const auto& row : rows_) {
      for (std::size_t column = 0; column < row.size(); ++column) widths[column] = std::max(widths[column], row[column].size());
    }
    std::string all;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t column = 0; column < row.size(); ++column) {
        // Names and what is said of a job to the left, figures to the right.
        const bool is_left = column == 0 || column + 1 == row.size() || (has_names_ && column == 1);
        line +=
            is_left ? fmt::format("{:<{}}  ", row[column], widths[column]) : fmt::format("{:>{}}  ", row[column], widths[column]);
      }
      all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return all;
  }

 private:
  std::optional<double> left_s(const JobOutlook& outlook) const {
    return outlook.end_s ? std::optional(*outlook.end_s - at_s_) : std::nullopt;
  }
  static std::optional<double> later_s(const JobForecast& answer) {
    if (!answer.now.end_s || !answer.then.end_s) return std::nullopt;
    return *answer.then.end_s - *answer.now.end_s;
  }

  void add(std::string job, std::string name, std::string gpus, std::array<std::string, 3> iteration,
           std::array<std::string, 3> end, std::string note) {
    std::vector<std::string> row = {std::move(job)};
    if (has_names_) row.push_back(std::move(name));
    row.push_back(std::move(gpus));
    if (has_iterations_) row.insert(row.end(), iteration.begin(), iteration.end());
    row.insert(row.end(), end.begin(), end.end());
    row.push_back(std::move(note));
    rows_.push_back(std::move(row));
  }

  /// What is told, and below it of when and in which unit.
  void add_head() {
    const auto heads = [](const TimeUnit& unit, const std::string& third) -> std::array<std::string, 3> {
      return {fmt::format("now {}", unit.name), fmt::format("then {}", unit.name), third};
    };
    add("", "", "", {"iteration", "", ""}, {"ends in", "", ""}, "");
    add("job", "name", "GPUs", heads(iteration_unit_, "change"), heads(end_unit_, fmt::format("later {}", end_unit_.name)), "");
  }

  void add_row(const JobForecast& answer) {
    std::array<std::string, 3> iteration;
    if (answer.now.iteration_s || answer.then.iteration_s) {
      iteration = {in_unit(answer.now.iteration_s, iteration_unit_), in_unit(answer.then.iteration_s, iteration_unit_), ""};
      if (answer.now.iteration_s && answer.then.iteration_s) iteration[2] = change_text(answer.iteration_change());
    }
    const std::optional<double> later = later_s(answer);
    add(answer.name, column_text(answer.called), fmt::to_string(answer.gpus), iteration,
        {in_unit(left_s(answer.now), end_unit_), in_unit(left_s(answer.then), end_unit_),
         later ? change_in_unit(*later, end_unit_) : "?"},
        note_of(answer, forecast_));
  }

  /// GPUs and delays of all; the change of iterations is the mean over GPUs.
  void add_total(const std::vector<const JobForecast*>& changed) {
    std::size_t gpus = 0;
    double measured_gpus = 0;
    double change = 0;
    double delay_s = 0;
    double gpu_time_s = 0;
    std::size_t unknown = 0;
    for (const JobForecast* const answer : changed) {
      const auto count = static_cast<double>(answer->gpus);
      gpus += answer->gpus;
      if (answer->now.iteration_s && answer->then.iteration_s) {
        measured_gpus += count;
        change += count * answer->iteration_change();
      }
      const std::optional<double> later = later_s(*answer);
      delay_s += later.value_or(0);
      gpu_time_s += count * later.value_or(0);
      unknown += later ? 0 : 1;
    }
    const bool is_told = unknown < changed.size() && std::abs(gpu_time_s) >= 1;
    std::string note =
        is_told ? fmt::format("{}{} of GPUs held longer", gpu_time_s < 0 ? "-" : "+", readable_gpu_time(std::abs(gpu_time_s))) : "";
    if (unknown > 0 && unknown < changed.size())
      note += fmt::format("{}{} with an end that is not known", note.empty() ? "" : "; ", counted(unknown, "job", "jobs"));
    add(fmt::format("total of {}", changed.size()), "", fmt::to_string(gpus),
        {"", "", measured_gpus > 0 ? change_text(change / measured_gpus) : ""},
        {"", "", unknown == changed.size() ? "?" : change_in_unit(delay_s, end_unit_)}, std::move(note));
  }

  const Forecast& forecast_;
  double at_s_;
  bool has_iterations_ = false;
  bool has_names_ = false;
  TimeUnit iteration_unit_{};
  TimeUnit end_unit_{};
  std::vector<std::vector<std::string>> rows_;
};

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json to_json(const JobOutlook& outlook) {
  nlohmann::ordered_json json = {{"state", state_text(outlook.state)}};
  json["iteration_s"] = or_null(outlook.iteration_s);
  json["end_s"] = or_null(outlook.end_s);
  return json;
}

}  // namespace

std::string to_text(const Forecast& forecast) {
  std::string text;
  const double at_s = forecast.at.in_s();
  text += fmt::format("{} at {}: {}, {} wait, {} of {} free\n", forecast.name,
                      forecast.date.empty() ? readable(at_s) : forecast.date, counted(forecast.running, "job runs", "jobs run"),
                      forecast.waiting, forecast.free_gpus, counted(forecast.gpus, "GPU is", "GPUs are"));
  if (const std::size_t cables = forecast.slow_cables; cables > 0)
    text += fmt::format("{} out or slow, and stay so\n", counted(cables, "cable is", "cables are"));
  std::uint64_t hit = 0;
  for (const JobForecast& answer : forecast.jobs) hit += answer.is_hit ? 1 : 0;
  std::string scope;
  if (!forecast.drained.empty()) {
    scope = fmt::format(", {} with {}", counted(forecast.drained.size(), "host", "hosts"), counted(hit, "job", "jobs"));
  } else if (forecast.crossing && *forecast.crossing == 0) {
    scope = ", which the traffic of no running job crosses";
  }
  if (forecast.crossing.value_or(0) > 0)
    scope += fmt::format(", past which the traffic of {} takes other routes",
                         counted(*forecast.crossing, "running job", "running jobs"));
  text += fmt::format("{}{}\n", forecast.question, scope);
  if (!forecast.refusal.empty()) {
    text += fmt::format("no: {}\n", forecast.refusal);
    if (!forecast.waits_by_itself) return text;
    if (forecast.starts_by_itself_s)
      return text + fmt::format("it starts by itself in {}\n", readable(*forecast.starts_by_itself_s));
    return text +
           fmt::format("it does not start by itself within {}: --horizon=DURATION looks further\n", ahead_text(forecast.horizon));
  }
  std::vector<const JobForecast*> changed;
  std::uint64_t same = 0;
  std::uint64_t idle = 0;
  for (const JobForecast& answer : forecast.jobs) {
    if (answer.differs(at_s)) {
      changed.push_back(&answer);
      continue;
    }
    same += answer.then.state == State::runs || answer.then.state == State::ended ? 1 : 0;
    idle += answer.then.state == State::waits ? 1 : 0;
  }
  if (!changed.empty()) text += fmt::format("\n{}\n", ForecastTable(forecast, changed).text());
  text += fmt::format("{} as they do", counted(same, "other job goes on", "other jobs go on"));
  text += fmt::format("; looked at for {}\n", ahead_text(forecast.horizon));
  if (idle > 0) {
    text += fmt::format("{} still {} when that ends, in both futures: --horizon=DURATION looks further\n", idle,
                        idle == 1 ? "waits" : "wait");
  }
  return text;
}

std::string to_json_text(const Forecast& forecast) {
  nlohmann::ordered_json json = {{"name", forecast.name}};
  if (!forecast.date.empty()) json["at"] = forecast.date;
  json["at_s"] = forecast.at.in_s();
  json["horizon_s"] = forecast.horizon.in_s();
  json["question"] = forecast.question;
  json["possible"] = forecast.is_possible;
  if (!forecast.refusal.empty()) json["refusal"] = forecast.refusal;
  if (forecast.waits_by_itself) json["starts_by_itself_s"] = or_null(forecast.starts_by_itself_s);
  json["drained_hosts"] = nlohmann::ordered_json::array();
  for (const HostId host : forecast.drained)
    json["drained_hosts"].push_back(with_host_names(fmt::format("host{}", host.index()), forecast.host_names));
  if (forecast.crossing) json["jobs_crossing"] = *forecast.crossing;
  if (forecast.slow_cables > 0) json["slow_cables"] = forecast.slow_cables;
  json["jobs"] = nlohmann::ordered_json::array();
  for (const JobForecast& answer : forecast.jobs) {
    nlohmann::ordered_json job = {{"job", answer.name}};
    if (!answer.called.empty()) job["name"] = answer.called;
    job["gpus"] = answer.gpus;
    job["hit"] = answer.is_hit;
    job["now"] = to_json(answer.now);
    job["then"] = to_json(answer.then);
    if (answer.waited_s) {
      job["starts_after_s"] = *answer.waited_s;
      job["placement"] = with_host_names(answer.placement, forecast.host_names);
    }
    json["jobs"].push_back(std::move(job));
  }
  return printed_json(json) + "\n";
}

}  // namespace weft
