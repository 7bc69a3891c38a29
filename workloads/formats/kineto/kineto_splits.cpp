// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_splits.hpp"

#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

/// The numbers of "[4, 0, 12]"; none if the text is something else, such as a list cut short by
/// "...".
std::optional<std::vector<std::uint64_t>> numbers_of(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  return numbers;
}

/// A buffer of so many elements, divided as `list` says.
std::optional<std::vector<Bytes>> divided(std::string_view list, bool empty_is_even, std::int64_t elements, const ElementType& type,
                                          std::uint32_t group_size) {
  auto rows = numbers_of(list);
  if (!rows || elements < 0) return std::nullopt;
  if (rows->empty() && empty_is_even) rows->assign(group_size, 1);
  if (rows->size() != group_size) return std::nullopt;
  const auto whole = static_cast<std::uint64_t>(elements);
  std::uint64_t sum = 0;
  for (const std::uint64_t row : *rows) {
    if (__builtin_add_overflow(sum, row, &sum)) return std::nullopt;
  }
  if (sum == 0 ? whole != 0 : whole % sum != 0) return std::nullopt;
  const std::uint64_t row_elements = sum == 0 ? 0 : whole / sum;
  std::vector<Bytes> bytes;
  for (const std::uint64_t row : *rows) {
    // No product is larger than `whole`.
    const auto size = tensor_size(row * row_elements, type);
    if (!size || *size > op_size_max) return std::nullopt;
    bytes.push_back(*size);
  }
  return bytes;
}

}  // namespace

std::optional<KinetoSplit> kineto_split(const KinetoCommunication& communication, const ElementType& type,
                                        std::uint32_t group_size) {
  if (group_size == 0 || group_size > split_positions_max) return std::nullopt;
  const std::string& name = communication.collective;
  const bool empty_is_even = !name.empty() && name.back() == 'v';
  auto sent = divided(communication.splits_in, empty_is_even, communication.elements_in, type, group_size);
  if (!sent) return std::nullopt;
  auto received = divided(communication.splits_out, empty_is_even, communication.elements_out, type, group_size);
  return KinetoSplit{std::move(*sent), received ? std::move(*received) : std::vector<Bytes>()};
}

std::uint32_t SplitTableSet::index_of(std::uint32_t positions, const std::vector<Bytes>& bytes) {
  const auto [found, is_new] = known_.emplace(bytes, static_cast<std::uint32_t>(tables_.size()));
  if (is_new) tables_.emplace_back(fmt::format("splits_{}", tables_.size()), positions, bytes);
  return found->second;
}

}  // namespace weft
