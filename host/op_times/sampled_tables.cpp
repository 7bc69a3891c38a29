// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/sampled_tables.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/manifest.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/text_pieces.hpp"

namespace weft {

namespace {

namespace fs = std::filesystem;

constexpr double sample_max = 1e15;  // so that products of all columns are finite
constexpr std::string_view sample_blanks = " \t\r";

bool is_time_column(std::string_view name) {
  return name == "F_dur(us)" || name == "B_dur(us)" || name == "dur(us)" || name == "dur";
}

/// The type that a text ends in, behind a "_"; takes both off.
std::optional<ElementType> take_type(std::string_view& text) {
  for (const ElementType& type : element_types()) {
    if (text.size() <= type.name.size() + 1) continue;
    const std::string_view end = text.substr(text.size() - type.name.size());
    const bool is_type =
        std::ranges::equal(end, type.name, [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
    if (!is_type || text[text.size() - type.name.size() - 1] != '_') continue;
    text.remove_suffix(type.name.size() + 1);
    return type;
  }
  return std::nullopt;
}

/// A number above 0 that a text ends in, behind a "_"; takes both off.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  const std::size_t mark = text.rfind('_');
  if (mark == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint32_t> number = plain_number<std::uint32_t>(text.substr(mark + 1));
  if (!number || *number == 0) return std::nullopt;
  text = text.substr(0, mark);
  return number;
}

/// Without its ending; none if it is no table.
std::optional<std::string_view> table_stem(std::string_view file) {
  for (const std::string_view ending : {std::string_view(".csv"), std::string_view(".csv.gz")}) {
    if (file.ends_with(ending) && file.size() > ending.size()) return file.substr(0, file.size() - ending.size());
  }
  return std::nullopt;
}

/// The header's names, those of times last: forward, backward.
struct SampleHeader {
  std::vector<CsvColumn> columns;
  std::size_t sizes = 0;
  bool has_backward = false;
};

SampleHeader read_sample_header(const SourceText& source) {
  SampleHeader header;
  bool has_single = false;
  bool has_forward = false;
  bool is_plain = false;
  std::string_view rest = source.line(1);
  while (true) {
    const bool is_last = rest.find(',') == std::string_view::npos;
    const std::string_view name = trimmed(next_part(rest, ","), sample_blanks);
    has_forward = has_forward || name == "F_dur(us)";
    header.has_backward = header.has_backward || name == "B_dur(us)";
    has_single = has_single || name == "dur(us)" || name == "dur";
    is_plain = is_plain || name == "dur";
    if (!is_time_column(name)) header.columns.push_back({name});
    if (is_last) break;
  }
  header.sizes = header.columns.size();
  if (header.sizes == 0 || header.sizes > sampled_columns_max) {
    fail(header.sizes == 0 ? "missing-column" : "too-many-columns",
         header.sizes == 0 ? "the table has no column of a size"
                           : fmt::format("the table has {} columns of sizes, more than {}", header.sizes, sampled_columns_max),
         source.at(1), "columns such as mp,b,l,dim say what was measured");
  }
  if (has_single == (has_forward || header.has_backward)) {
    fail("missing-column",
         has_single ? "the table has a time of all and times of forward and backward" : "the table has no column of measured times",
         source.at(1), "write F_dur(us) and B_dur(us), or dur(us)");
  }
  header.columns.push_back({has_single ? (is_plain ? "dur" : "dur(us)") : "F_dur(us)"});
  if (!has_single) header.columns.push_back({"B_dur(us)"});
  header.has_backward = !has_single;
  return header;
}

std::optional<double> positive_number(CsvReader& csv, std::size_t column) {
  const std::optional<double> number = plain_number<double>(csv.field(column));
  if (!number || std::isnan(*number)) {
    csv.fault(column, "bad-value", fmt::format("{} is no number", in_quotes(csv.field(column))), "write a plain decimal number");
    return std::nullopt;
  }
  if (*number <= 0 || *number > sample_max) {
    csv.fault(column, "out-of-range", fmt::format("{} is not above 0, up to {:g}", csv.field(column), sample_max),
              "leave out what was not measured");
    return std::nullopt;
  }
  return number;
}

/// Files below a folder that may be tables, by path.
std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back(it->path().string());
  }
  if (error) fail("unreadable", fmt::format("the folder cannot be read: {}", error.message()), SourcePlace::named(folder));
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::optional<SampledName> parse_sampled_name(std::string_view file) {
  const std::optional<std::string_view> stem = table_stem(file);
  if (!stem) return std::nullopt;
  SampledName name;
  std::string_view rest = *stem;
  std::optional<ElementType> type = take_type(rest);
  if (!type) {
    const std::optional<std::uint32_t> gpus = take_number(rest);
    const std::optional<std::uint32_t> nodes = gpus ? take_number(rest) : std::nullopt;
    if (!nodes) return std::nullopt;
    name.nodes = *nodes;
    name.gpus_per_node = *gpus;
    type = take_type(rest);
    if (!type) return std::nullopt;
  }
  name.type = *type;
  const std::size_t mark = rest.find('_');
  if (mark == 0 || mark == std::string_view::npos || mark + 1 == rest.size()) return std::nullopt;
  name.gpu = rest.substr(0, mark);
  name.function = rest.substr(mark + 1);
  return name;
}

SampledTable read_sampled_table(const SourceText& source, SampledName name) {
  source.require_utf8_text("a table of samples");
  const SampleHeader header = read_sample_header(source);
  SampledTable table{source.name(), sha256_hex(source.text()), std::move(name), {}, header.has_backward, {}};
  for (std::size_t i = 0; i < header.sizes; ++i) table.columns.emplace_back(header.columns[i].name);
  Diagnostics diagnostics;
  CsvReader csv(source, header.columns, OtherColumns::allowed, diagnostics);
  while (csv.next()) {
    SampledRow row;
    row.line = csv.line();
    bool is_whole = true;
    for (std::size_t column = 0; column < header.columns.size(); ++column) {
      const std::optional<double> number = positive_number(csv, column);
      is_whole = is_whole && number.has_value();
      if (!number) continue;
      if (column < header.sizes) {
        row.sizes.push_back(*number);
      } else {
        (column == header.sizes ? row.forward_us : row.backward_us) = *number;
      }
    }
    if (is_whole) table.rows.push_back(std::move(row));
  }
  diagnostics.throw_if_errors();
  if (table.rows.empty()) fail("no-rows", "the table has no rows", source.whole_file(), "sample the kernel anew");
  return table;
}

SampledFolder read_samples(const std::vector<std::string>& paths) {
  SampledFolder samples;
  Diagnostics diagnostics;
  const auto read = [&](const std::string& path, SampledName name) {
    try {
      samples.tables.push_back(read_sampled_table(SourceText::read(path), std::move(name)));
    } catch (const InputError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) diagnostics.add(diagnostic);
    }
  };
  for (const std::string& path : paths) {
    std::error_code error;
    const bool is_folder = fs::is_directory(path, error);
    const std::size_t before = samples.tables.size();
    for (const std::string& file : is_folder ? files_below(path) : std::vector<std::string>{path}) {
      std::optional<SampledName> name = parse_sampled_name(fs::path(file).filename().string());
      if (name) {
        read(file, std::move(*name));
      } else if (!is_folder) {
        SourceText::read(file);  // if there is such a file
        fail("bad-sample-name", "the file's name does not say what it is a table of", SourcePlace::named(file),
             "call it GPU_FUNCTION_TYPE.csv, as in A100_linear1_fp16.csv");
      } else if (table_stem(file)) {
        samples.notes.push_back(fmt::format("{} is no table of samples by its name, left out", fs::path(file).filename().string()));
      }
    }
    if (samples.tables.size() == before && !diagnostics.has_errors()) {
      fail("no-samples", "there is no table of samples here", SourcePlace::named(path), "they are called GPU_FUNCTION_TYPE.csv");
    }
  }
  diagnostics.throw_if_errors();
  samples.gpu = samples.tables.front().name.gpu;
  for (const SampledTable& table : samples.tables) {
    if (table.name.gpu == samples.gpu) continue;
    fail("several-gpus", fmt::format("this table is of {}, others are of {}", in_quotes(table.name.gpu), in_quotes(samples.gpu)),
         SourcePlace::named(table.path), "make a profile of each GPU");
  }
  return samples;
}

}  // namespace weft
