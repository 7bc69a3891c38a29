// SPDX-License-Identifier: Apache-2.0
#include "calibration/nccl_tests.hpp"

#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "core/text/text_pieces.hpp"

namespace weft {

namespace {

/// What the programs are called, and what runs call what they measure.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> programs = {{{"all_reduce", "all_reduce"},
                                                                                    {"all_gather", "all_gather"},
                                                                                    {"reduce_scatter", "reduce_scatter"},
                                                                                    {"alltoall", "all_to_all"},
                                                                                    {"broadcast", "broadcast"},
                                                                                    {"reduce", "reduce"},
                                                                                    {"gather", "gather"},
                                                                                    {"scatter", "scatter"},
                                                                                    {"all_to_all", "all_to_all"}}};
constexpr std::size_t time_field = 5;
constexpr std::size_t fields_min = 8;

std::vector<std::string_view> fields_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<std::string_view> fields;
  while (!(line = trimmed(line, blanks)).empty()) fields.push_back(next_part(line, blanks));
  return fields;
}

std::string kind_called(std::string_view name, const SourcePlace& place) {
  if (name.ends_with("_perf")) name.remove_suffix(5);
  std::vector<std::string> known;
  for (const auto& [program, kind] : programs) {
    if (program == name) return std::string(kind);
    known.emplace_back(program);
  }
  fail("unknown-kind", fmt::format("{} is no collective that is simulated", in_quotes(name)), place,
       suggestion(name, known, "collective"));
}

}  // namespace

MeasuredTimes read_nccl_tests(const SourceText& source, std::string_view kind) {
  MeasuredTimes measured;
  measured.file = source.name();
  measured.kind = TimedKind::collective;
  Diagnostics diagnostics;
  std::string what = kind.empty() ? std::string() : kind_called(kind, SourcePlace::named(source.name()));
  std::uint64_t ranks = 0;
  constexpr std::string_view starting = "# Collective test starting: ";
  for (std::size_t number = 1; number <= source.line_count(); ++number) {
    const std::string_view line = source.line(static_cast<int>(number));
    SourcePlace place = SourcePlace::named(source.name());
    place.line = static_cast<int>(number);
    if (line.starts_with(starting) && kind.empty()) {
      const std::vector<std::string_view> words = fields_of(line.substr(starting.size()));
      if (!words.empty()) what = kind_called(words.front(), place);
    }
    if (line.starts_with('#')) {
      const std::vector<std::string_view> words = fields_of(line.substr(1));
      ranks += words.size() > 1 && words[0] == "Rank" ? 1 : 0;
      continue;
    }
    const std::vector<std::string_view> fields = fields_of(line);
    std::uint64_t size = 0;
    if (fields.empty() || std::from_chars(fields[0].data(), fields[0].data() + fields[0].size(), size).ec != std::errc()) continue;
    const std::optional<Duration> time =
        fields.size() >= fields_min ? parse_plain_duration(fields[time_field], "us") : std::optional<Duration>();
    if (!time || *time < Duration::zero()) {
      diagnostics.error("bad-value", "the line has no time", place,
                        "size, count, type, redop and root come before the time, two bandwidths and errors behind it");
      continue;
    }
    // Nothing moves: the time is that of a launch.
    if (size == 0 || *time == Duration::zero()) continue;
    TimedEntity& entity = measured.times.emplace_back();
    entity.of = TimedKind::collective;
    entity.size_bytes = size;
    entity.time_s = time->in_s();
    entity.line = static_cast<int>(number);
  }
  diagnostics.throw_if_errors();
  const SourcePlace whole = SourcePlace::named(source.name());
  if (measured.times.empty())
    fail("no-measurements", "the text has no line with a size and a time", whole, "it is what a program of nccl-tests prints");
  if (what.empty())
    fail("missing-kind", "the text does not say which collective it is of", whole,
         "write FILE:nccl-tests:all_reduce, or as it is called");
  if (ranks == 0) fail("no-ranks", "no line \"#  Rank ...\" says who took part", whole, "keep all that the program prints");
  const bool is_shared_out = what == "all_gather" || what == "gather";
  for (TimedEntity& entity : measured.times) {
    entity.ranks = ranks;
    entity.kind = what;
    if (is_shared_out) entity.size_bytes = *entity.size_bytes / ranks;
  }
  return measured;
}

}  // namespace weft
