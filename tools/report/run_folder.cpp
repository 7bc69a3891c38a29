// SPDX-License-Identifier: Apache-2.0
#include "tools/report/run_folder.hpp"

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "core/text/source_text.hpp"

namespace weft {

ReportJson read_results_json(const std::filesystem::path& path) {
  const SourceText source = SourceText::read(path.string());
  ReportJson json = ReportJson::parse(source.text(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) fail("bad-results", "the file is no JSON object", source.whole_file(), "was it written by weft?");
  return json;
}

std::optional<double> results_number(const ReportJson& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string results_text(const ReportJson& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

const ReportJson& results_list(const ReportJson& json, const char* name) {
  static const ReportJson none = ReportJson::array();
  const auto found = json.find(name);
  return found != json.end() && found->is_array() ? *found : none;
}

std::vector<std::string> results_texts(const ReportJson& json, const char* name) {
  std::vector<std::string> texts;
  for (const ReportJson& text : results_list(json, name)) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

const ReportJson& results_object(const ReportJson& json, const char* name) {
  static const ReportJson none = ReportJson::object();
  const auto found = json.find(name);
  return found != json.end() && found->is_object() ? *found : none;
}

ReportTable facts_table(std::string title, const ReportJson& json) {
  ReportTable facts{"facts-table", std::move(title), {{"what", "text"}, {"value", "text"}}};
  for (const auto& [key, value] : json.items()) {
    if (value.is_primitive())
      facts.rows.push_back(ReportJson::array({key, value.is_string() ? value.get<std::string>() : printed_json(value, -1)}));
  }
  return facts;
}

ReportJson results_cell(const ReportJson& json, const char* name) {
  const std::optional<double> value = results_number(json, name);
  return value ? ReportJson(*value) : ReportJson();
}

}  // namespace weft
