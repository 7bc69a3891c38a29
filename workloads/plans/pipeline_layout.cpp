// SPDX-License-Identifier: Apache-2.0
#include "workloads/plans/pipeline_layout.hpp"

#include <charconv>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

using Result = std::variant<PipelineLayout, std::string>;

/// Longer layouts are a mistake.
constexpr std::size_t letters_max = 1U << 20;

/// Unrolls repetitions of a layout string.
class LayoutText {
 public:
  explicit LayoutText(std::string_view text) : text_(text) {}

  /// Letters E, t, L and |; nothing if the text has a mistake, which error() says.
  std::optional<std::string> unrolled() {
    std::string letters = sequence();
    if (error_.empty() && at_ < text_.size()) error_ = fmt::format("layout has a ) too many, at character {}", at_ + 1);
    if (!error_.empty()) return std::nullopt;
    return letters;
  }
  const std::string& error() const { return error_; }

 private:
  std::string sequence() {
    std::string letters;
    while (error_.empty() && at_ < text_.size() && text_[at_] != ')') {
      if (text_[at_] == ',') {
        ++at_;
        continue;
      }
      const std::string unit = one();
      const std::size_t times = repetitions();
      if (error_.empty() && unit.size() * times + letters.size() > letters_max) error_ = "layout has more than a million letters";
      for (std::size_t i = 0; error_.empty() && i < times; ++i) letters += unit;
    }
    return letters;
  }

  std::string one() {
    const char letter = text_[at_++];
    if (letter == '(') {
      std::string inner = sequence();
      if (error_.empty() && at_ == text_.size()) error_ = "layout has a ( that no ) ends";
      ++at_;
      return inner;
    }
    if (letter != 'E' && letter != 't' && letter != 'L' && letter != '|') {
      error_ = fmt::format("layout has \"{}\" at character {}: letters are E, t, L and |", letter, at_);
    }
    return std::string(1, letter);
  }

  std::size_t repetitions() {
    if (!error_.empty() || at_ >= text_.size() || text_[at_] != '*') return 1;
    ++at_;
    std::size_t times = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), times);
    if (code != std::errc() || times == 0) error_ = fmt::format("layout has no number behind * at character {}", at_ + 1);
    at_ = static_cast<std::size_t>(end - text_.data());
    return times;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

Result from_text(const LayoutRequest& request) {
  LayoutText text(request.text);
  const std::optional<std::string> letters = text.unrolled();
  if (!letters) return text.error();
  std::vector<std::uint64_t> counts = {0};
  for (std::size_t i = 0; i < letters->size(); ++i) {
    const char letter = (*letters)[i];
    if (letter == '|') counts.push_back(0);
    if (letter == 't') ++counts.back();
    if (letter == 'E' && i != 0) return "layout has E elsewhere than at its beginning";
    if (letter == 'L' && i + 1 != letters->size()) return "layout has L elsewhere than at its end";
  }
  if (letters->empty() || letters->front() != 'E') return "layout begins with E, the embedding";
  if (letters->back() != 'L') return "layout ends with L, the output layer";
  const std::size_t positions = std::size_t{request.stages} * request.chunks;
  if (counts.size() != positions) {
    return fmt::format("layout has {} positions; stages x chunks are {} x {}", counts.size(), request.stages, request.chunks);
  }
  PipelineLayout layout;
  for (const std::uint64_t count : counts) layout.push_back({layout.empty() ? 0 : layout.back().end(), count});
  if (layout.back().end() != request.layers) {
    return fmt::format("layout has {} layers, the model {}", layout.back().end(), request.layers);
  }
  return layout;
}

/// Shares `layers` among `parts`, the first ones get one more.
std::uint64_t share(std::uint64_t layers, std::uint64_t parts, std::uint64_t part) {
  return layers / parts + (part < layers % parts ? 1 : 0);
}

Result evenly(const LayoutRequest& request) {
  const std::uint64_t positions = std::uint64_t{request.stages} * request.chunks;
  const std::uint64_t at_begin = request.count_embedding ? 1 : 0;
  const std::uint64_t at_end = request.count_output ? 1 : 0;
  const std::uint64_t all = request.layers + at_begin + at_end;
  if (all < positions) {
    return fmt::format("every position has a layer at least: {} layers, {} stages x {} chunks", request.layers, request.stages,
                       request.chunks);
  }
  PipelineLayout layout;
  for (std::uint64_t i = 0; i < positions; ++i) {
    std::uint64_t count = share(all, positions, i);
    if (i == 0) count -= at_begin;
    if (i + 1 == positions) count -= at_end;
    layout.push_back({layout.empty() ? 0 : layout.back().end(), count});
  }
  return layout;
}

Result with_given_ends(const LayoutRequest& request) {
  const std::uint64_t stages = request.stages;
  const std::uint64_t ends = (request.first_stage_layers > 0 ? 1 : 0) + (request.last_stage_layers > 0 ? 1 : 0);
  const std::uint64_t given = request.first_stage_layers + request.last_stage_layers;
  if (request.count_embedding || request.count_output)
    return "first_stage_layers and last_stage_layers leave nothing to count_embedding and count_output";
  if (stages < 2) return "first_stage_layers and last_stage_layers need two stages at least";
  if (given > request.layers || (stages == ends && given != request.layers)) {
    return fmt::format("first and last stage have {} layers, the model {}", given, request.layers);
  }
  const std::uint64_t between = stages - ends;
  std::vector<std::uint64_t> of_stage;
  for (std::uint64_t stage = 0; stage < stages; ++stage) {
    const bool is_first = stage == 0 && request.first_stage_layers > 0;
    const bool is_last = stage + 1 == stages && request.last_stage_layers > 0;
    const std::uint64_t number = stage - (request.first_stage_layers > 0 ? 1 : 0);
    std::uint64_t count = is_first ? request.first_stage_layers : is_last ? request.last_stage_layers : 0;
    if (!is_first && !is_last) count = share(request.layers - given, between, number);
    if (count < request.chunks) {
      return fmt::format("every position has a layer at least: stage {} has {} layers for {} chunks", stage, count, request.chunks);
    }
    of_stage.push_back(count);
  }
  PipelineLayout layout;
  for (std::uint64_t chunk = 0; chunk < request.chunks; ++chunk) {
    for (const std::uint64_t count : of_stage) {
      layout.push_back({layout.empty() ? 0 : layout.back().end(), share(count, request.chunks, chunk)});
    }
  }
  return layout;
}

}  // namespace

std::variant<PipelineLayout, std::string> pipeline_layout(const LayoutRequest& request) {
  if (!request.text.empty()) return from_text(request);
  if (request.first_stage_layers > 0 || request.last_stage_layers > 0) return with_given_ends(request);
  return evenly(request);
}

}  // namespace weft
