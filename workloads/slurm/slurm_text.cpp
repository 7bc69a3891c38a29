// SPDX-License-Identifier: Apache-2.0
#include "workloads/slurm/slurm_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/plain_number.hpp"
#include "core/text/text_pieces.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

constexpr std::string_view decimal_digits = "0123456789";

/// The part of `rest` before the first comma outside of brackets; both are taken off.
std::string_view next_outside(std::string_view& rest, char open, char close) {
  std::size_t depth = 0;
  std::size_t end = 0;
  for (; end < rest.size(); ++end) {
    if (rest[end] == open) ++depth;
    if (rest[end] == close && depth > 0) --depth;
    if (rest[end] == ',' && depth == 0) break;
  }
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

/// Of "001-003,007": numbers with leading zeros where the first of a range has them. False if the
/// text is none of it.
bool append_range_texts(std::string_view list, std::vector<std::string>& texts) {
  do {
    const std::string_view range = next_part(list, ",");
    const std::size_t dash = std::min(range.find('-'), range.size());
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == range.size() ? first : range.substr(dash + 1);
    const auto from = plain_number<std::uint32_t>(first);
    const auto to = plain_number<std::uint32_t>(last);
    if (!from || !to || *from > *to || *to - *from >= slurm_list_max - texts.size() || !is_digits(first)) return false;
    for (std::uint64_t number = *from; number <= *to; ++number) texts.push_back(fmt::format("{:0{}}", number, first.size()));
  } while (!list.empty());
  return true;
}

/// Appends all names of one part of a list of hosts.
bool append_hosts(std::string_view part, std::vector<std::string>& hosts) {
  std::vector<std::string> names = {""};
  while (!part.empty()) {
    const std::size_t open = std::min(part.find('['), part.size());
    if (part.substr(0, open).find(']') != std::string_view::npos) return false;
    for (std::string& name : names) name += part.substr(0, open);
    part.remove_prefix(open);
    if (part.empty()) break;
    const std::size_t close = part.find(']');
    std::vector<std::string> numbers;
    if (close == std::string_view::npos || !append_range_texts(part.substr(1, close - 1), numbers)) return false;
    if (names.size() * numbers.size() > slurm_list_max - hosts.size()) return false;
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& number : numbers) longer.push_back(name + number);
    }
    names = std::move(longer);
    part.remove_prefix(close + 1);
  }
  if (names.front().empty() || hosts.size() + names.size() > slurm_list_max) return false;
  std::move(names.begin(), names.end(), std::back_inserter(hosts));
  return true;
}

/// A name as its text before a final number, and that.
struct NumberedName {
  std::string_view stem;
  std::string_view digits;
  std::uint64_t number = 0;
};

NumberedName numbered(std::string_view name) {
  const std::size_t last = name.find_last_not_of(decimal_digits);
  const std::size_t from = last == std::string_view::npos ? 0 : last + 1;
  const auto number = plain_number<std::uint64_t>(name.substr(from));
  if (!number || *number == UINT64_MAX) return {name, {}, 0};
  return {name.substr(0, from), name.substr(from), *number};
}

/// An entry of a list of resources.
struct ResourceEntry {
  bool is_gpu = false;
  bool has_type = false;
  std::optional<std::uint32_t> count;  ///< none if it is no number
};

ResourceEntry parse_resource(std::string_view entry) {
  entry = trimmed(entry.substr(0, entry.find('(')), " ");
  for (const std::string_view prefix : {"gres/", "gres:"}) {
    if (entry.starts_with(prefix)) entry.remove_prefix(prefix.size());
  }
  const bool is_counted = entry.starts_with("gpu=");
  if (next_part(entry, ":=") != "gpu") return {};
  if (entry.empty()) return {true, false, is_counted ? std::nullopt : std::optional<std::uint32_t>(1)};
  const std::size_t mark = entry.find_last_of(":=");
  const std::string_view last = mark == std::string_view::npos ? entry : entry.substr(mark + 1);
  const auto count = plain_number<std::uint32_t>(last);
  if (count && *count <= workload_rank_count_max) return {true, mark != std::string_view::npos, count};
  if (is_counted || is_digits(last) || mark != std::string_view::npos || last.empty()) return {true, true, std::nullopt};
  return {true, true, 1};  // "gpu:h100"
}

}  // namespace

std::optional<std::vector<std::string>> parse_host_list(std::string_view text) {
  std::vector<std::string> hosts;
  while (!text.empty()) {
    if (!append_hosts(next_outside(text, '[', ']'), hosts)) return std::nullopt;
  }
  return hosts;
}

std::string to_host_list(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size();) {
    const NumberedName first = numbered(names[i]);
    std::string ranges;
    std::size_t count = 0;
    while (i < names.size()) {
      const NumberedName begin = numbered(names[i]);
      if (count > 0 && (begin.digits.empty() || begin.stem != first.stem || begin.digits.size() != first.digits.size())) break;
      NumberedName end = begin;
      ++count;
      for (++i; i < names.size() && !begin.digits.empty(); ++i, ++count) {
        const NumberedName next = numbered(names[i]);
        if (next.stem != end.stem || next.digits.size() != end.digits.size() || next.number != end.number + 1) break;
        end = next;
      }
      if (!ranges.empty()) ranges += ',';
      ranges += begin.digits;
      if (end.number > begin.number) ranges += fmt::format("-{}", end.digits);
      if (begin.digits.empty()) break;
    }
    if (!text.empty()) text += ',';
    text += count == 1 ? fmt::format("{}{}", first.stem, ranges) : fmt::format("{}[{}]", first.stem, ranges);
  }
  return text;
}

std::optional<std::uint32_t> gpus_in_resources(std::string_view text) {
  std::uint64_t typed = 0;
  std::optional<std::uint64_t> all;
  while (!text.empty()) {
    const ResourceEntry entry = parse_resource(next_outside(text, '(', ')'));
    if (!entry.is_gpu) continue;
    if (!entry.count) return std::nullopt;
    if (entry.has_type) {
      typed += *entry.count;
    } else {
      all = all.value_or(0) + *entry.count;
    }
  }
  const std::uint64_t gpus = std::max(all.value_or(0), typed);
  if (gpus > workload_rank_count_max) return std::nullopt;
  return static_cast<std::uint32_t>(gpus);
}

std::vector<std::uint32_t> gpu_indices(std::string_view text) {
  constexpr std::string_view mark = "(IDX:";
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + mark.size());
  return parse_array_tasks(text.substr(0, text.find(')'))).value_or(std::vector<std::uint32_t>());
}

std::optional<Duration> parse_slurm_duration(std::string_view text) {
  std::uint64_t days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto said = plain_number<std::uint32_t>(text.substr(0, dash));
    if (!said) return std::nullopt;
    days = *said;
    text.remove_prefix(dash + 1);
  }
  text = text.substr(0, text.find('.'));
  std::uint64_t seconds = 0;
  std::size_t parts = 0;
  for (std::string_view rest = text; !rest.empty(); ++parts) {
    const auto part = plain_number<std::uint32_t>(next_part(rest, ":"));
    if (!part || parts == 3) return std::nullopt;
    seconds = seconds * 60 + *part;
  }
  if (parts < 2) return std::nullopt;
  seconds += days * 86400;
  if (seconds > static_cast<std::uint64_t>(op_duration_max.in_s())) return std::nullopt;
  return Duration::s(static_cast<std::int64_t>(seconds));
}

std::optional<std::vector<std::uint32_t>> parse_array_tasks(std::string_view text) {
  text = text.substr(0, text.find('%'));
  std::vector<std::uint32_t> tasks;
  while (!text.empty()) {
    std::string_view range = next_part(text, ",");
    const std::string_view bounds = next_part(range, ":");
    const std::size_t dash = std::min(bounds.find('-'), bounds.size());
    const auto from = plain_number<std::uint32_t>(bounds.substr(0, dash));
    const auto to = dash == bounds.size() ? from : plain_number<std::uint32_t>(bounds.substr(dash + 1));
    const auto step = range.empty() ? std::optional<std::uint32_t>(1) : plain_number<std::uint32_t>(range);
    if (!from || !to || !step || *step == 0 || *to < *from) return std::nullopt;
    if ((*to - *from) / *step >= slurm_list_max - tasks.size()) return std::nullopt;
    for (std::uint64_t task = *from; task <= *to; task += *step) tasks.push_back(static_cast<std::uint32_t>(task));
  }
  return tasks;
}

}  // namespace weft
