// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/input_kind.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text/source_text.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/formats/workload_reader.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"
#include "workloads/measurements/measurement_tables.hpp"

namespace weft {

namespace {

struct NamedKind {
  std::string_view format;
  InputKind kind;
};

/// Every foreign format there is; a name may stand for two kinds.
std::vector<NamedKind> foreign_formats() {
  std::vector<NamedKind> formats;
  for (const TopologyFormat& format : topology_formats()) formats.push_back({format.name, InputKind::topology});
  for (const WorkloadFormat& format : workload_formats()) formats.push_back({format.name, InputKind::workload});
  for (const JobTraceFormat& format : job_trace_formats()) formats.push_back({format.name, InputKind::jobs});
  for (const MeasurementTable& table : measurement_tables()) formats.push_back({table.name, InputKind::measurements});
  std::erase_if(formats, [](const NamedKind& named) { return named.format == "weft"; });
  formats.push_back({"hpcc-flows", InputKind::flows});
  return formats;
}

/// SimAI's topologies and workloads share a name; a topology begins with a number, a workload with
/// the name of a policy.
InputKind simai_kind(const std::string& path) {
  const SourceText source = SourceText::read(path);
  const std::size_t first = source.text().find_first_not_of(" \t\r\n");
  const bool number = first != std::string_view::npos && std::isdigit(static_cast<unsigned char>(source.text()[first])) != 0;
  return number ? InputKind::topology : InputKind::workload;
}

/// Names of the fields at the top level of a protobuf text.
std::set<std::string> top_level_fields(std::string_view text) {
  std::set<std::string> fields;
  int depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"' || c == '\'') {
      for (++i; i < text.size() && text[i] != c && text[i] != '\n'; ++i) {
        if (text[i] == '\\') ++i;
      }
      ++i;
    } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      const std::size_t begin = i;
      while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_')) ++i;
      const std::size_t next = std::min(text.find_first_not_of(" \t\r\n", i), text.size());
      const bool is_field = next < text.size() && (text[next] == ':' || text[next] == '{');
      if (depth == 0 && is_field) fields.emplace(text.substr(begin, i - begin));
    } else {
      if (c == '{' || c == '<') ++depth;
      if (c == '}' || c == '>') --depth;
      ++i;
    }
  }
  return fields;
}

bool has_any(const std::set<std::string>& fields, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return fields.contains(name); });
}

bool is_model(const std::set<std::string>& fields) { return has_any(fields, {"transformer", "recommender", "unet"}); }

/// Ways to spread a model end alike, and nothing else has a global batch.
bool is_plan(const std::set<std::string>& fields) {
  return has_any(fields, {"global_batch", "microbatch", "zero_stage"}) ||
         std::ranges::any_of(fields, [](const std::string& field) { return field.ends_with("_parallel"); });
}

bool is_study(const std::set<std::string>& fields) { return has_any(fields, {"axis", "point", "metric", "question"}); }

/// One of our own files: by its ending, and for protobuf text by its fields.
InputKind own_kind(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.ends_with(".csv") || name.ends_with(".csv.gz")) return InputKind::jobs;
  if (name.ends_with(".pb") || name.ends_with(".pb.gz")) return InputKind::workload;
  const SourceText source = SourceText::read(path);
  source.require_utf8_text("scenario, topology, workload, model, plan or study in protobuf text format");
  const std::set<std::string> fields = top_level_fields(source.text());
  if (is_study(fields)) return InputKind::study;
  if (has_any(fields, {"ranks", "role", "communicator"})) return InputKind::workload;
  if (has_any(fields, {"job", "jobs", "cluster", "scheduler", "mode", "seed", "topology"})) return InputKind::scenario;
  if (has_any(fields, {"builder", "host", "switch", "cable", "link", "buffer_class"})) return InputKind::topology;
  if (is_model(fields)) return InputKind::model;
  if (is_plan(fields)) return InputKind::plan;
  fail("unknown-input", "nothing in the file tells whether it is a scenario, a topology, a workload, a model, a plan or a study",
       source.whole_file(),
       "a scenario has jobs, a topology a builder or hosts, a workload ranks and roles, a model a transformer, recommender or "
       "unet, a plan a global_batch, a study axes and metrics; foreign files need FILE:format");
}

/// Whether the first line that says something is YAML's: "---", "- item", or a name and a colon
/// alone.
bool is_yaml(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, std::min(line.find_last_not_of(" \t\r") + 1, line.size()));
    if (line.empty() || line.front() == '#') continue;
    const bool is_name =
        std::isalpha(static_cast<unsigned char>(line.front())) != 0 && line.find_first_of(" {\"") == std::string_view::npos;
    return line == "---" || line.starts_with("- ") || (is_name && line.back() == ':');
  }
  return false;
}

}  // namespace

void check_is_scenario(const SourceText& source) {
  const std::string_view text = source.text();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return;
  const auto refuse = [&](const std::string& what, const std::string& help) {
    fail("not-a-scenario", fmt::format("this is {}, and a scenario is protobuf text", what), source.whole_file(), help);
  };
  const std::string form = "write job { name: \"a\" gpus: 8 duration: \"2h\" }; tools/examples/quickstart.textproto is one";
  if (text[first] == '{' || text[first] == '[') refuse("JSON", form);
  if (is_yaml(text)) refuse("YAML", form);
  const std::set<std::string> fields = top_level_fields(text);
  if (is_study(fields)) refuse("a study", fmt::format("weft study {} carries it out", source.name()));
  if (has_any(fields, {"job", "jobs", "topology", "cluster", "scheduler", "event", "mode", "seed"})) return;
  if (has_any(fields, {"role", "communicator"}))
    refuse("a workload", fmt::format("name it by --workload={}, with --topology=FILE", source.name()));
  if (has_any(fields, {"builder", "switch", "buffer_class"}))
    refuse("a topology", fmt::format("name it by --topology={}, with --workload=FILE or --flows=FILE", source.name()));
  if (is_model(fields) || is_plan(fields))
    refuse(is_model(fields) ? "a model" : "a plan", "a job trains a model under a plan: workload { model: \"...\" plan: \"...\" }");
}

FileAndFormat split_format(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || text.find_first_of("/.", colon) != std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

RecognisedInput recognise_input(const std::string& text) {
  const FileAndFormat given = split_format(text);
  if (given.format.empty() || given.format == "weft") {
    const InputKind kind = own_kind(given.file);
    return {kind, given.file, kind == InputKind::jobs ? given.format : "weft"};
  }
  std::vector<std::string> names = {"weft"};
  for (const NamedKind& foreign : foreign_formats()) {
    if (foreign.format == given.format) {
      const bool is_flows = foreign.kind == InputKind::flows;
      const InputKind kind = given.format == "simai" ? simai_kind(given.file) : foreign.kind;
      return {kind, given.file, is_flows ? "hpcc" : given.format};
    }
    // A name may stand for two kinds.
    if (std::find(names.begin(), names.end(), foreign.format) == names.end()) names.emplace_back(foreign.format);
  }
  fail("unknown-format", fmt::format("there is no format \"{}\"", given.format), SourcePlace::named(text),
       suggestion(given.format, names, "format"));
}

}  // namespace weft
