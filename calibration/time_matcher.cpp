// SPDX-License-Identifier: Apache-2.0
#include "calibration/time_matcher.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "core/values/compensated_sum.hpp"

namespace weft {

namespace {

/// Which of the members of TimedEntity count.
struct Key {
  bool input_row = false;
  bool flow_id = false;
  bool source = false;
  bool destination = false;
  bool size = false;
  bool job = false;
  bool op = false;
  bool kind = false;
  bool communicator = false;
  bool iteration = false;
  bool group = false;
  bool ranks = false;
  friend auto operator<=>(const Key&, const Key&) = default;
};

/// What a measured time says.
Key key_of(const TimedEntity& entity, MatchBy by) {
  Key key;
  if (entity.of == TimedKind::flow) {
    const bool has_ends = !entity.source.empty() && !entity.destination.empty();
    if (by == MatchBy::automatic) by = entity.input_row ? MatchBy::input_row : has_ends ? MatchBy::ends : MatchBy::flow_id;
    if (by != MatchBy::ends) {
      key.input_row = by == MatchBy::input_row;
      key.flow_id = by == MatchBy::flow_id;
      return key;
    }
    key.source = key.destination = true;
  }
  key.size = entity.size_bytes.has_value();
  key.job = !entity.job.empty();
  key.op = !entity.op.empty();
  key.kind = !entity.kind.empty();
  key.communicator = !entity.communicator.empty();
  key.iteration = entity.iteration.has_value();
  key.group = entity.group.has_value();
  key.ranks = entity.ranks.has_value();
  return key;
}

/// Whether an entity has all that counts.
bool has_all(const TimedEntity& entity, const Key& key) {
  return (!key.input_row || entity.input_row) && (!key.flow_id || entity.flow_id) && (!key.source || !entity.source.empty()) &&
         (!key.destination || !entity.destination.empty()) && (!key.size || entity.size_bytes) &&
         (!key.job || !entity.job.empty()) && (!key.op || !entity.op.empty()) && (!key.kind || !entity.kind.empty()) &&
         (!key.communicator || !entity.communicator.empty()) && (!key.iteration || entity.iteration) &&
         (!key.group || entity.group) && (!key.ranks || entity.ranks);
}

/// What it says of these, in place of `text`.
void write_key_text(const TimedEntity& entity, const Key& key, std::string& text) {
  text.clear();
  const auto add_number = [&](bool counts, const std::optional<std::uint64_t>& number) {
    if (!counts) return;
    if (number) {
      const fmt::format_int digits(*number);
      text.append(digits.data(), digits.size());
    }
    text += '\n';
  };
  const auto add_text = [&](bool counts, const std::string& of) {
    if (!counts) return;
    text += of;
    text += '\n';
  };
  add_number(key.input_row, entity.input_row);
  add_number(key.flow_id, entity.flow_id);
  add_text(key.source, entity.source);
  add_text(key.destination, entity.destination);
  add_number(key.size, entity.size_bytes);
  add_text(key.job, entity.job);
  add_text(key.op, entity.op);
  add_text(key.kind, entity.kind);
  add_text(key.communicator, entity.communicator);
  add_number(key.iteration, entity.iteration);
  add_number(key.group, entity.group);
  add_number(key.ranks, entity.ranks);
}

void sort_by_start(std::vector<std::size_t>& places, std::span<const TimedEntity> entities) {
  std::ranges::stable_sort(places, {}, [&](std::size_t i) { return entities[i].start_s.value_or(0); });
}

/// Rows that say the same, in order of start, then as given.
struct Alike {
  std::vector<std::size_t> rows;
  bool have_starts = true;
};

/// Rows that say something of the same members.
struct RowsOfKey {
  Key key;
  std::unordered_map<std::string, std::size_t> number_of;  ///< of alike, by what they say
  std::vector<Alike> alike;
};

}  // namespace

struct TimeMatcher::Index {
  TimedKind kind = TimedKind::flow;
  std::size_t rows = 0;
  std::vector<RowsOfKey> keys;
};

TimeMatcher::TimeMatcher(const MeasuredTimes& measured, MatchBy by) {
  std::map<Key, RowsOfKey> by_key;
  std::string text;
  for (std::size_t i = 0; i < measured.times.size(); ++i) {
    const TimedEntity& row = measured.times[i];
    const Key key = key_of(row, by);
    if (!has_all(row, key)) continue;
    RowsOfKey& of_key = by_key[key];
    write_key_text(row, key, text);
    const std::size_t number = of_key.number_of.try_emplace(text, of_key.alike.size()).first->second;
    if (number == of_key.alike.size()) of_key.alike.emplace_back();
    Alike& alike = of_key.alike[number];
    alike.rows.push_back(i);
    alike.have_starts = alike.have_starts && row.start_s.has_value();
  }
  Index index{measured.kind, measured.times.size(), {}};
  for (auto& [key, of_key] : by_key) {
    of_key.key = key;
    for (Alike& alike : of_key.alike) sort_by_start(alike.rows, measured.times);
    index.keys.push_back(std::move(of_key));
  }
  index_ = std::make_shared<const Index>(std::move(index));
}

std::vector<double> TimeMatcher::match(std::span<const TimedEntity> simulated) const {
  std::vector<double> matched(index_->rows, std::numeric_limits<double>::quiet_NaN());
  std::string text;
  for (const RowsOfKey& of_key : index_->keys) {
    std::vector<std::vector<std::size_t>> found(of_key.alike.size());
    for (std::size_t i = 0; i < simulated.size(); ++i) {
      if (simulated[i].of != index_->kind || !has_all(simulated[i], of_key.key)) continue;
      write_key_text(simulated[i], of_key.key, text);
      const auto number = of_key.number_of.find(text);
      if (number != of_key.number_of.end()) found[number->second].push_back(i);
    }
    for (std::size_t number = 0; number < found.size(); ++number) {
      const std::vector<std::size_t>& rows = of_key.alike[number].rows;
      std::vector<std::size_t>& alike = found[number];
      if (alike.empty()) continue;
      sort_by_start(alike, simulated);
      if (index_->kind != TimedKind::flow) {
        CompensatedSum sum;
        for (const std::size_t i : alike) sum.add(simulated[i].time_s);
        for (const std::size_t row : rows) matched[row] = sum.value() / static_cast<double>(alike.size());
        continue;
      }
      // Nobody knows which of several belong together where one was not measured or not simulated,
      // or nothing says which came first.
      if (rows.size() != alike.size() || (rows.size() > 1 && !of_key.alike[number].have_starts)) continue;
      for (std::size_t i = 0; i < rows.size(); ++i) matched[rows[i]] = simulated[alike[i]].time_s;
    }
  }
  return matched;
}

std::vector<TimeMatcher> matchers_of(const MeasuredTables& measured, MatchBy by) {
  std::vector<TimeMatcher> matchers;
  for (const MeasuredTimes& table : measured.tables()) matchers.emplace_back(table, by);
  return matchers;
}

}  // namespace weft
