// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/nightly.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/engine/parallel_loop.hpp"
#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/placeholder.hpp"
#include "core/values/median.hpp"
#include "tools/calibrate/fit_page.hpp"
#include "tools/calibrate/fitted_profile.hpp"
#include "tools/calibrate/night_date.hpp"
#include "tools/calibrate/profile_use.hpp"
#include "tools/calibrate/times_table.hpp"
#include "tools/results/output_file.hpp"

namespace weft {

namespace {

/// In a file of the configuration's history, beside the folders of nights.
constexpr const char* reference_name = "reference.textproto";
// What to change where a file cannot be written.
constexpr std::string_view history_choice = "history in the configuration";
constexpr std::string_view profile_choice = "profile in the configuration";

/// Nobody else has it until the end.
class HistoryLock {
 public:
  explicit HistoryLock(const std::filesystem::path& history) {
    std::error_code error;
    std::filesystem::create_directories(history, error);
    const std::filesystem::path path = history / ".lock";
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) fail_write(path, std::strerror(errno), history_choice);
    if (flock(file_, LOCK_EX | LOCK_NB) == 0) return;
    close(file_);
    fail("night-in-progress", "another night of this history is being calibrated", SourcePlace::named(history.string()),
         "wait for it; it lets go also where it is killed");
  }
  ~HistoryLock() { close(file_); }
  HistoryLock(const HistoryLock&) = delete;
  HistoryLock& operator=(const HistoryLock&) = delete;

 private:
  int file_ = -1;
};

/// When its measurements were made, as far as it is known.
std::string night_of(const CalibrationProfile& profile) {
  return profile.night.empty() ? profile.date.substr(0, 10) : profile.night;
}

std::optional<CalibrationProfile> read_if_there(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return CalibrationProfile::read(SourceText::read(path.string()));
}

/// `choice`: the field of the configuration that the path is of.
void write_durably(const std::filesystem::path& path, const std::string& text, std::string_view choice = history_choice) {
  OutputFile file(path, OutputFile::Packing::none, choice);
  file.write(text);
  file.commit_durably();
}

class Night {
 public:
  Night(const NightlyConfig& config, const NightOptions& options)
      : config_(config),
        options_(options),
        lock_(config.history),
        folder_(std::filesystem::path(config.history) / options.date),
        in_force_(read_if_there(config.profile)),
        reference_file_(std::filesystem::path(config.history) / reference_name),
        reference_(read_if_there(reference_file_)),
        loop_(options.fit.threads) {
    for (NightRecord& night : read_nights(config.history)) {
      if (night.date == options.date) {
        before_it_ = std::move(night);
      } else {
        nights_.push_back(std::move(night));
      }
    }
    record_.date = options.date;
  }

  NightResult run() {
    const std::vector<CaseFiles> files = files_of_date();
    RunFlags flags;
    flags.settings = options_.settings;
    std::vector<CalibrationCase> cases = load_scenarios(files, flags);
    const std::optional<CalibrationCases> all = ingest(std::move(cases), files);
    if (all) result_.notes = all->notes;
    if (all && !is_refused() && compare(*all)) fit(*all);
    if (options_.accepts_drift && !has_accepted_)
      result_.notes.push_back("--accept-drift changes nothing, as the night was refused: the reference stays what it was");
    if (!result_.stopped) record();
    result_.record = std::move(record_);
    return std::move(result_);
  }

 private:
  void refuse(std::string reason) { record_.reasons.push_back(std::move(reason)); }
  void refuse(const InputError& error) {
    for (const Diagnostic& found : error.diagnostics()) {
      const std::string line = found.place.line > 0 ? fmt::format(":{}", found.place.line) : "";
      const std::string help = found.help.empty() ? "" : fmt::format(" ({})", found.help);
      refuse(fmt::format("{}{}: {}{}", found.place.file, line, found.message, help));
    }
  }
  bool is_refused() const { return !record_.reasons.empty(); }

  std::vector<CaseFiles> files_of_date() const {
    std::vector<CaseFiles> files = config_.cases;
    const auto date = [this](std::string& path) { path = with_placeholder(std::move(path), "{date}", options_.date); };
    for (CaseFiles& one : files) {
      for (std::string* const path : {&one.scenario, &one.topology, &one.workload, &one.flows}) date(*path);
      for (std::string& measured : one.measured) date(measured);
    }
    return files;
  }

  /// Nothing if a table cannot be read.
  std::optional<CalibrationCases> ingest(std::vector<CalibrationCase> cases, const std::vector<CaseFiles>& files) {
    std::optional<CalibrationCases> all;
    try {
      all = with_tables(std::move(cases), files);
    } catch (const InputError& error) {
      refuse(error);
      return std::nullopt;
    }
    std::uint64_t unreadable = 0;
    for (const MeasuredTimes& table : all->measured.tables()) {
      record_.rows += table.times.size();
      unreadable += table.rows_left_out;
    }
    const auto share = static_cast<double>(unreadable) / static_cast<double>(record_.rows + unreadable);
    if (share > config_.unreadable_max) {
      refuse(fmt::format("{} of {} rows cannot be read, more than {}", unreadable, record_.rows + unreadable,
                         percent_text(config_.unreadable_max)));
      for (const MeasuredTimes& table : all->measured.tables()) {
        for (const LeftOutRows& rows : table.left_out) refuse(fmt::format("{}: {}", table.file, rows.to_text()));
      }
    }
    check_row_count();
    return all;
  }

  void check_row_count() {
    std::vector<double> before;
    for (const NightRecord& night : nights_) {
      if (night.status != NightStatus::refused && night.date < options_.date) before.push_back(static_cast<double>(night.rows));
    }
    if (before.empty()) return;
    const double usual = median(before);
    if (static_cast<double>(record_.rows) >= config_.rows_min * usual) return;
    refuse(fmt::format("{} came in, less than {} of the {:.0f} of a night before", counted(record_.rows, "row", "rows"),
                       percent_text(config_.rows_min), usual));
  }

  /// Of scenarios as they stand, or with the values of a profile.
  std::vector<double> times_with(const CalibrationCases& all, const CalibrationProfile* profile, const std::string& file) {
    std::vector<double> times_s(all.measured.size());
    loop_.run(all.cases.size(), [&](std::size_t, std::size_t one) {
      Scenario scenario = all.cases[one].scenario;
      if (profile != nullptr) apply_profile(*profile, file, scenario);
      simulate_case(all, one, std::move(scenario), matchers_, times_s);
    });
    return times_s;
  }

  double mape(const CalibrationCases& all, std::span<const double> times_s, std::span<const std::size_t> places) const {
    std::vector<double> simulated;
    std::vector<double> measured;
    std::vector<double> weights;
    for (const std::size_t place : places) {
      simulated.push_back(times_s[place]);
      measured.push_back(all.measured[place].time_s);
      weights.push_back(weights_[place]);
    }
    return places.empty() ? NightRecord::unknown : mean_absolute_percentage_error(simulated, measured, weights);
  }

  /// What scenarios, the reference and the values in force make of the night's times. Whether these
  /// look like what was simulated.
  bool compare(const CalibrationCases& all) {
    weights_ = weights_of(all, options_.fit.weights);
    matchers_ = matchers_of(all.measured, options_.fit.match);
    uncalibrated_s_ = times_with(all, nullptr, "");
    before_s_ = in_force_ ? times_with(all, &*in_force_, config_.profile) : uncalibrated_s_;
    if (reference_) reference_s_ = times_with(all, &*reference_, reference_file_.string());
    std::size_t far_off = 0;
    for (std::size_t i = 0; i < before_s_.size(); ++i) {
      if (std::isnan(before_s_[i])) continue;
      matched_.push_back(i);
      const double ratio = before_s_[i] / all.measured[i].time_s;
      far_off += ratio > middle_ratio_max || ratio < 1 / middle_ratio_max ? 1 : 0;
    }
    record_.matched = matched_.size();
    const auto count = static_cast<double>(before_s_.size());
    const std::size_t unmatched = before_s_.size() - matched_.size();
    if (static_cast<double>(unmatched) > config_.unmatched_max * count) {
      refuse(fmt::format("{} of {} measured times belong to nothing simulated, more than {}", unmatched, before_s_.size(),
                         percent_text(config_.unmatched_max)));
    }
    if (static_cast<double>(far_off) > config_.far_off_max * static_cast<double>(matched_.size())) {
      refuse(fmt::format("{} of {} measured times are more than {} times, or less than a third of, what is predicted: check units",
                         far_off, matched_.size(), middle_ratio_max));
    }
    return !is_refused();
  }

  void fit(const CalibrationCases& all) {
    CalibrationCases from_in_force = all;
    if (in_force_) {
      for (CalibrationCase& one : from_in_force.cases) apply_profile(*in_force_, config_.profile, one.scenario);
    }
    const FitSpace space(from_in_force.scenarios(), config_.fit, config_.file + ": fit");
    std::filesystem::create_directories(folder_);
    CalibrationOptions how = options_.fit;
    how.before_s = before_s_;
    how.journal = (folder_ / "candidates").string();
    // Of measurements that were corrected since, say.
    how.other_journal = CandidateJournal::Other::replaced;
    for (const std::string& note : space.notes()) result_.notes.push_back(note);
    CalibrationResult found;
    try {
      found = calibrate(from_in_force, space, how);
    } catch (const InputError& error) {
      constexpr std::array of_measurements = {"nothing-matches", "too-few-measurements"};
      if (std::ranges::find(of_measurements, error.diagnostics().front().code) == of_measurements.end()) throw;
      refuse(error);
      return;
    }
    if (found.stopped && options_.is_interrupted && options_.is_interrupted()) {
      result_.stopped = true;
      return;
    }
    CalibrationProfile fitted = fitted_profile(from_in_force, space, found, how.search.module());
    fitted.night = options_.date;
    if (in_force_) keep_values(*in_force_, fitted);
    record_.parameters = fitted.parameters;
    record_.outliers = found.outliers.size();
    verify(all, space, found);
    CsvFile table(folder_ / "times.csv", times_table_header, OutputFile::Packing::none, history_choice);
    write_times_table(table, from_in_force, found);
    write_durably(folder_ / "profile.textproto", fitted.to_text());
    if (publishes_) {
      write_durably(config_.profile, fitted.to_text(), profile_choice);
      in_force_ = fitted;
    }
    const std::vector<double>& in_force_s = publishes_ ? found.after_s : before_s_;
    record_.uncalibrated_mape = mape(all, uncalibrated_s_, matched_);
    if (reference_) record_.reference_mape = mape(all, reference_s_, matched_);
    record_.published_mape = mape(all, in_force_s, matched_);
    look_for_drift(found.after_s);
    page_ = fit_page(from_in_force, space, found, fitted);
    remove_journals(how.journal);
    result_.fitted = std::move(fitted);
  }

  void verify(const CalibrationCases& all, const FitSpace& space, const CalibrationResult& found) {
    std::vector<std::size_t> held_out;
    for (const std::size_t i : matched_) {
      if (found.is_held_out[i]) held_out.push_back(i);
    }
    if (held_out.empty()) held_out = matched_;
    record_.hold_out_before = mape(all, before_s_, held_out);
    record_.hold_out_after = mape(all, found.after_s, held_out);
    if (!(record_.hold_out_after <= record_.hold_out_before)) {
      refuse(fmt::format("the night's values predict times held out worse than those in force: {} against {}",
                         percent_text(record_.hold_out_after), percent_text(record_.hold_out_before)));
    }
    if (found.confidence.empty()) refuse("the clock ended the search before intervals were found: give it more --minutes");
    if (in_force_ && in_force_->night > options_.date)
      refuse(fmt::format("the values in force are of a later night, {}", in_force_->night));
    for (std::string& reason : ranges_left(space, found)) refuse(std::move(reason));
    publishes_ = !is_refused();
    // Published before, and its second fit is no better: the first is in force.
    const bool is_in_force = in_force_ && in_force_->night == options_.date;
    record_.status = publishes_ || is_in_force ? NightStatus::published : NightStatus::kept;
  }

  void look_for_drift(std::span<const double> fitted_s) {
    if (in_force_ && (!reference_ || options_.accepts_drift)) {
      write_durably(reference_file_, in_force_->to_text());
      has_accepted_ = true;
      record_.drift = 0;
      return;
    }
    if (!reference_) return;
    double sum = 0;
    double weight_sum = 0;
    for (const std::size_t i : matched_) {
      sum += weights_[i] * std::abs(reference_s_[i] / fitted_s[i] - 1);
      weight_sum += weights_[i];
    }
    record_.drift = sum / weight_sum;
    record_.reference = night_of(*reference_);
    const std::vector<double> drifts = recent_drifts();
    record_.drift_median = median(drifts);
    tell_of_drift(drifts.size());
    const auto first = std::ranges::find(nights_, reference_->night, &NightRecord::date);
    if (first == nights_.end() || record_.published_mape - first->published_mape <= config_.drift_max) return;
    record_.alarms.push_back(fmt::format("the values in force are {} off the night's times, those of {} were {} off that night's",
                                         percent_text(record_.published_mape), reference_->night,
                                         percent_text(first->published_mape)));
  }

  /// Of the nights of the last days, this one's first. Days and not nights: where nights are rare,
  /// those of weeks before say nothing of what the machine is now.
  std::vector<double> recent_drifts() const {
    const std::string first_day = date_of(*day_of(record_.date) - std::chrono::days(config_.drift_days - 1));
    std::vector<double> drifts = {record_.drift};
    for (const NightRecord& night : nights_) {
      if (night.date >= first_day && night.date < record_.date && night.reference == record_.reference)
        drifts.push_back(night.drift);
    }
    return drifts;
  }

  /// An alarm, or a note where only the night by itself would be one.
  void tell_of_drift(std::size_t nights) {
    const bool is_alarm = !(record_.drift_median <= config_.drift_max);
    if (!is_alarm && record_.drift <= config_.drift_max) return;
    std::string text = fmt::format("predictions of the reference, of {}, are {} off on average from those of tonight's fit",
                                   record_.reference, percent_text(record_.drift));
    if (nights > 1) text += fmt::format(", and {} in the median of the last {} nights", percent_text(record_.drift_median), nights);
    const std::string maximum = percent_text(config_.drift_max);
    if (is_alarm) {
      record_.alarms.push_back(fmt::format("{}, more than {}", text, maximum));
    } else {
      result_.notes.push_back(fmt::format("{}: no alarm, as the median is not more than {}", text, maximum));
    }
  }

  void record() {
    if (before_it_ && before_it_->status == NightStatus::published && record_.status == NightStatus::refused) {
      result_.notes.push_back(fmt::format("the night of {} was published before and stays so", record_.date));
      return;
    }
    std::filesystem::create_directories(folder_);
    write_durably(folder_ / "night.json", record_.to_json());
    nights_.push_back(record_);
    std::ranges::sort(nights_, {}, &NightRecord::date);
    write_history();
    if (nights_.back().date == record_.date) write_page();
  }

  void write_page() {
    page_.title = fmt::format("Calibration of the night of {}", record_.date);
    page_.reasons = record_.reasons;
    page_.reasons.insert(page_.reasons.end(), record_.alarms.begin(), record_.alarms.end());
    switch (record_.status) {
      case NightStatus::published:
        page_.status = "published";
        page_.tone = CalibrationPage::Tone::good;
        break;
      case NightStatus::kept:
        page_.status = in_force_ ? "the profile of before stays in force" : "no profile is in force";
        page_.tone = CalibrationPage::Tone::neutral;
        break;
      case NightStatus::refused:
        page_.status = fmt::format("measurements were refused, {}",
                                   in_force_ ? "the profile of before stays in force" : "no profile is in force");
        page_.tone = CalibrationPage::Tone::bad;
        break;
    }
    if (!record_.alarms.empty()) {
      page_.status += ", and the machine has drifted";
      page_.tone = CalibrationPage::Tone::warning;
    }
    page_.drift_threshold = config_.drift_max;
    for (const NightRecord& night : nights_) {
      page_.nights.push_back({night.date, night.uncalibrated_mape, night.drift, night.drift_median, night.published_mape,
                              std::string(to_text(night.status)), !night.alarms.empty()});
    }
    OutputFile file(std::filesystem::path(config_.history) / "index.html", OutputFile::Packing::none, history_choice);
    file.write(page_.to_html());
    file.commit();
  }

  /// All nights as tables.
  void write_history() const {
    const std::filesystem::path history(config_.history);
    CsvFile nights(history / "nights.csv",
                   "date,status,alarm,rows,matched,outliers,uncalibrated_mape,reference_mape,published_mape,hold_out_mape_before,"
                   "hold_out_mape_after,drift,drift_median,reference,reasons",
                   OutputFile::Packing::none, history_choice);
    CsvFile parameters(history / "parameters.csv", "date,status,parameter,value,low,high,knowledge", OutputFile::Packing::none,
                       history_choice);
    for (const NightRecord& night : nights_) {
      nights.text(night.date).text(to_text(night.status)).number(std::uint64_t{!night.alarms.empty()});
      nights.number(night.rows).number(night.matched).number(night.outliers);
      for (const double share : {night.uncalibrated_mape, night.reference_mape, night.published_mape, night.hold_out_before,
                                 night.hold_out_after, night.drift, night.drift_median}) {
        nights.number_if_known(share);
      }
      nights.text(night.reference).text(fmt::format("{}", fmt::join(night.reasons, "; "))).end_row();
      for (const CalibrationProfile::Parameter& p : night.parameters) {
        parameters.text(night.date).text(to_text(night.status)).text(p.name).text(p.value).text(p.low).text(p.high);
        parameters.text(to_text(p.knowledge)).end_row();
      }
    }
    nights.commit();
    parameters.commit();
  }

  const NightlyConfig& config_;
  const NightOptions& options_;
  HistoryLock lock_;
  std::filesystem::path folder_;
  std::optional<CalibrationProfile> in_force_;
  std::filesystem::path reference_file_;
  std::optional<CalibrationProfile> reference_;
  ParallelLoop loop_;
  std::vector<NightRecord> nights_;       ///< of other dates; its own when it is recorded
  std::optional<NightRecord> before_it_;  ///< of its date
  bool publishes_ = false;                ///< the night's fit comes into force
  bool has_accepted_ = false;             ///< the values in force became the reference
  std::vector<TimeMatcher> matchers_;     ///< by table
  std::vector<double> weights_;           ///< by measured time, like the next ones
  std::vector<double> uncalibrated_s_;
  std::vector<double> before_s_;  ///< with the values in force before the night
  std::vector<double> reference_s_;
  std::vector<std::size_t> matched_;
  CalibrationPage page_;  ///< as far as the night came
  NightRecord record_;
  NightResult result_;
};

}  // namespace

NightResult run_night(const NightlyConfig& config, const NightOptions& options) {
  WEFT_CHECK(day_of(options.date), "a night is of a day");
  return Night(config, options).run();
}

}  // namespace weft
