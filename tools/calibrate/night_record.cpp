// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/night_record.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "core/text/source_text.hpp"

namespace weft {

namespace {

nlohmann::ordered_json known(double value) { return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value); }

double value_of(const nlohmann::json& json) { return json.is_null() ? NightRecord::unknown : json.get<double>(); }

NightStatus status_called(const std::string& name) {
  for (const NightStatus status : {NightStatus::published, NightStatus::kept, NightStatus::refused}) {
    if (name == to_text(status)) return status;
  }
  throw std::invalid_argument("the status is " + in_quotes(name));
}

std::uint64_t count_of(const nlohmann::json& json) {
  if (!json.is_number_unsigned()) throw std::invalid_argument(printed_json(json, -1) + " is no count");
  return json.get<std::uint64_t>();
}

}  // namespace

std::string_view to_text(NightStatus status) {
  switch (status) {
    case NightStatus::published:
      return "published";
    case NightStatus::kept:
      return "kept";
    case NightStatus::refused:
      return "refused";
  }
  return "";
}

std::string NightRecord::to_json() const {
  nlohmann::ordered_json json;
  json["date"] = date;
  json["status"] = to_text(status);
  json["reasons"] = reasons;
  json["rows"] = rows;
  json["matched"] = matched;
  json["outliers"] = outliers;
  json["uncalibrated_mape"] = known(uncalibrated_mape);
  json["reference_mape"] = known(reference_mape);
  json["published_mape"] = known(published_mape);
  json["hold_out_mape_before"] = known(hold_out_before);
  json["hold_out_mape_after"] = known(hold_out_after);
  json["drift"] = known(drift);
  json["drift_median"] = known(drift_median);
  json["reference"] = reference;
  json["alarms"] = alarms;
  json["parameters"] = nlohmann::ordered_json::array();
  for (const CalibrationProfile::Parameter& p : parameters) {
    json["parameters"].push_back(
        {{"name", p.name}, {"value", p.value}, {"low", p.low}, {"high", p.high}, {"knowledge", weft::to_text(p.knowledge)}});
  }
  return printed_json(json) + "\n";
}

NightRecord NightRecord::read(const std::string& path) {
  NightRecord night;
  try {
    const nlohmann::json json = nlohmann::json::parse(SourceText::read(path).text());
    night.date = json.at("date");
    night.status = status_called(json.at("status"));
    night.reasons = json.at("reasons").get<std::vector<std::string>>();
    night.rows = count_of(json.at("rows"));
    night.matched = count_of(json.at("matched"));
    night.outliers = count_of(json.at("outliers"));
    night.uncalibrated_mape = value_of(json.at("uncalibrated_mape"));
    night.reference_mape = value_of(json.at("reference_mape"));
    night.published_mape = value_of(json.at("published_mape"));
    night.hold_out_before = value_of(json.at("hold_out_mape_before"));
    night.hold_out_after = value_of(json.at("hold_out_mape_after"));
    night.drift = value_of(json.at("drift"));
    night.drift_median = value_of(json.at("drift_median"));
    night.reference = json.at("reference");
    night.alarms = json.at("alarms").get<std::vector<std::string>>();
    for (const nlohmann::json& from : json.at("parameters")) {
      CalibrationProfile::Parameter& to = night.parameters.emplace_back();
      to.name = from.at("name");
      to.value = from.at("value");
      to.low = from.at("low");
      to.high = from.at("high");
      to.knowledge = knowledge_called(from.at("knowledge").get<std::string>());
    }
    if (const std::string folder = std::filesystem::path(path).parent_path().filename().string(); folder != night.date)
      throw std::invalid_argument(fmt::format("it is of {}, and stands in {}", in_quotes(night.date), in_quotes(folder)));
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    fail("bad-night", std::string("this is no record of a night: ") + error.what(), SourcePlace::named(path),
         "remove the folder: the night then counts as not made");
  }
  return night;
}

std::vector<NightRecord> read_nights(const std::filesystem::path& history) {
  std::vector<NightRecord> nights;
  try {
    if (!std::filesystem::exists(history)) return nights;
    for (const auto& entry : std::filesystem::directory_iterator(history)) {
      const std::filesystem::path record = entry.path() / "night.json";
      if (entry.is_directory() && std::filesystem::exists(record)) nights.push_back(NightRecord::read(record.string()));
    }
  } catch (const std::filesystem::filesystem_error& error) {
    fail("cannot-read", error.code().message(), SourcePlace::named(error.path1().string()),
         "nights are held against those before them: make the history readable");
  }
  std::ranges::sort(nights, {}, &NightRecord::date);
  return nights;
}

}  // namespace weft
