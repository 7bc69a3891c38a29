// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/zone_database.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

constexpr std::int64_t year_2037_s = 2'114'380'800;  ///< the last year that files list
constexpr std::int64_t instant_max_s = 1'000'000'000'000;
constexpr std::int64_t offset_max_s = 26 * 3600;  // RFC 8536, section 3.2

/// Takes big-endian integers off the front of a file.
class BigEndian {
 public:
  explicit BigEndian(std::string_view rest) : rest_(rest) {}

  bool has(std::uint64_t count) const { return count <= rest_.size(); }
  void skip(std::uint64_t count) { rest_.remove_prefix(static_cast<std::size_t>(count)); }
  std::uint64_t take_unsigned(std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8U | static_cast<unsigned char>(rest_[i]);
    skip(count);
    return value;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct Header {
  std::uint64_t universal = 0;
  std::uint64_t standard = 0;
  std::uint64_t leaps = 0;
  std::uint64_t times = 0;
  std::uint64_t types = 0;
  std::uint64_t characters = 0;

  std::uint64_t block_size(std::uint64_t time_size) const {
    return times * (time_size + 1) + types * 6 + characters + leaps * (time_size + 4) + standard + universal;
  }
};

std::optional<Header> take_header(BigEndian& file) {
  constexpr std::uint64_t size = 44;
  if (!file.has(size) || !file.rest().starts_with("TZif") || file.rest()[4] < '2') return std::nullopt;
  file.skip(20);
  Header header;
  for (std::uint64_t* const count :
       {&header.universal, &header.standard, &header.leaps, &header.times, &header.types, &header.characters}) {
    *count = file.take_unsigned(4);
  }
  return header;
}

ZoneLookup not_taken(std::string fault) { return {std::nullopt, std::move(fault), true}; }

int year_of(std::int64_t at_s) {
  const std::chrono::sys_seconds at{std::chrono::seconds(at_s)};
  return static_cast<int>(std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(at)).year());
}

ZoneLookup parse(std::string_view text, const std::string& path) {
  const ZoneLookup damaged = not_taken(fmt::format("{} is no time-zone file of version 2 or later, or a damaged one", path));
  BigEndian file(text);
  // The first block holds the same in 32 bits.
  const auto narrow = take_header(file);
  if (!narrow || !file.has(narrow->block_size(4))) return damaged;
  file.skip(narrow->block_size(4));
  const auto header = take_header(file);
  if (!header || !file.has(header->block_size(8)) || header->types == 0) return damaged;
  if (header->leaps > 0) return not_taken(fmt::format("{} counts leap seconds", path));

  ClockChanges changes;
  for (std::uint64_t i = 0; i < header->times; ++i) {
    const auto at_s = static_cast<std::int64_t>(file.take_unsigned(8));
    changes.at_s.push_back(std::clamp(at_s, -instant_max_s, instant_max_s));
  }
  std::vector<std::uint64_t> types = {0};
  for (std::uint64_t i = 0; i < header->times; ++i) types.push_back(file.take_unsigned(1));
  std::vector<std::int64_t> offsets;
  for (std::uint64_t i = 0; i < header->types; ++i) {
    offsets.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(file.take_unsigned(4))));
    file.skip(2);
    if (std::abs(offsets.back()) > offset_max_s) return damaged;
  }
  for (const std::uint64_t type : types) {
    if (type >= offsets.size()) return damaged;
    changes.offset_s.push_back(offsets[static_cast<std::size_t>(type)]);
  }
  file.skip(header->characters + header->leaps * 12 + header->standard + header->universal);
  const bool changes_go_on = file.rest().find(',') != std::string_view::npos;
  if (!std::is_sorted(changes.at_s.begin(), changes.at_s.end())) return damaged;
  if (changes_go_on && (changes.at_s.empty() || changes.at_s.back() < year_2037_s)) {
    return not_taken(fmt::format(
        "{} lists {} and leaves the later ones to a rule, which is not read (a slim file; needed is a fat one, up to 2037)", path,
        changes.at_s.empty() ? std::string("no clock changes")
                             : fmt::format("clock changes up to {} only", year_of(changes.at_s.back()))));
  }
  return {std::move(changes), "", true};
}

}  // namespace

ZoneLookup read_zone(std::string_view name, const std::string& folder) {
  const auto is_of_names = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '+' ||
           c == '/';
  };
  // Dots are in no name, so that no name leaves the folder.
  if (name.empty() || name.front() == '/' || !std::all_of(name.begin(), name.end(), is_of_names)) return {};
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return {std::nullopt, fmt::format("this machine has no time-zone database ({})", folder), false};
  }
  const std::string path = fmt::format("{}/{}", folder, name);
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_taken(fmt::format("{} cannot be opened", path));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse(text, path);
}

}  // namespace weft
