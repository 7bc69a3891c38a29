// SPDX-License-Identifier: Apache-2.0
#include "tools/report/run_folder.hpp"

#include "core/text/diagnostics.hpp"
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

}  // namespace weft
