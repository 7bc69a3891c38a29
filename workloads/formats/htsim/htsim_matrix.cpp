// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/htsim/htsim_matrix.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

class MatrixReader {
 public:
  explicit MatrixReader(const SourceText& source) : source_(source) { source.require_utf8_text("htsim connection matrix"); }

  HtsimMatrix read() {
    for (std::size_t number = 1; number <= source_.line_count(); ++number) {
      line_ = static_cast<int>(number);
      split(source_.line(number));
      if (words_.empty() || words_[0].front() == '#') continue;
      next_ = 1;
      read_line(words_[0]);
    }
    resolve_triggers();
    check_counts();
    diagnostics_.throw_if_errors();
    return std::move(matrix_);
  }

 private:
  /// A trigger named by a connection, before all triggers are known.
  struct Use {
    std::size_t connection = 0;
    std::optional<std::uint32_t> HtsimConnection::*field = nullptr;
    std::uint32_t id = 0;
    SourcePlace place;
  };

  struct Count {
    const char* name;
    std::optional<std::uint64_t> announced;
    int line = 0;
  };

  void split(std::string_view line) {
    words_.clear();
    constexpr std::string_view blanks = " \t";
    for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos; at = line.find_first_not_of(blanks, at)) {
      const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
      words_.push_back(line.substr(at, end - at));
      at = end;
    }
  }

  SourcePlace place(std::string_view word) const {
    const auto offset = static_cast<int>(word.data() - source_.line(static_cast<std::size_t>(line_)).data());
    return source_.at(line_, offset + 1, static_cast<int>(word.size()));
  }
  bool fail(std::string code, std::string message, SourcePlace at, std::string help) {
    diagnostics_.error(std::move(code), std::move(message), std::move(at), std::move(help));
    return false;
  }

  /// The word itself as a whole number.
  bool number_of(std::string_view word, const std::string& what, std::uint64_t minimum, std::uint64_t maximum,
                 std::uint64_t& value) {
    const auto number = plain_number<std::uint64_t>(word);
    if (!number && !is_digits(word))
      return fail("bad-value", fmt::format("{} is no whole number: {}", what, in_quotes(word)), place(word), "write digits only");
    if (!number || *number < minimum || *number > maximum) {
      return fail("out-of-range", fmt::format("{} is {}", what, word), place(word),
                  fmt::format("at least {} and at most {}", minimum, maximum));
    }
    value = *number;
    return true;
  }
  /// The word after `keyword`, which is the current one.
  std::optional<std::string_view> value_of(std::string_view keyword) {
    if (next_ < words_.size()) return words_[next_++];
    fail("missing-field", fmt::format("{} has no value", in_quotes(keyword)), place(keyword), "write it behind");
    return std::nullopt;
  }
  bool take_number(std::string_view keyword, std::uint64_t minimum, std::uint64_t maximum, std::uint64_t& value) {
    const auto word = value_of(keyword);
    return word && number_of(*word, std::string(keyword), minimum, maximum, value);
  }

  void read_line(std::string_view first) {
    const auto arrow = first.find("->");
    if (arrow != std::string_view::npos) {
      read_connection(first, arrow);
    } else if (first == "trigger") {
      read_trigger(first);
    } else if (first == "failure") {
      read_failure();
    } else if (first == "Nodes") {
      std::uint64_t count = 0;
      if (matrix_.nodes != 0) {
        fail("duplicate-option", "Nodes is given twice", place(first), "remove one of them");
        faulty_ = true;
      } else if (take_number(first, 1, workload_rank_count_max, count)) {
        matrix_.nodes = static_cast<std::uint32_t>(count);
      }
    } else if (const auto known =
                   std::find_if(counts_.begin(), counts_.end(), [&](const Count& count) { return first == count.name; });
               known != counts_.end()) {
      std::uint64_t count = 0;
      if (known->announced) {
        fail("duplicate-option", fmt::format("{} is given twice", first), place(first), "remove one of them");
        faulty_ = true;
      } else if (take_number(first, 0, UINT32_MAX, count)) {
        known->announced = count;
        known->line = line_;
      }
    } else {
      const std::array<std::string, 6> names = {"Nodes", "Connections", "Triggers", "Failures", "trigger", "failure"};
      fail("unknown-keyword", fmt::format("{} begins no line of a connection matrix", in_quotes(first.substr(0, 40))), place(first),
           fmt::format("{}; connections begin like 0->1", suggestion(first, names, "keyword")));
      if (matrix_.nodes == 0 && matrix_.connections.empty()) diagnostics_.throw_if_errors();
      return;
    }
    if (next_ < words_.size() && !faulty_) {
      fail("unknown-keyword", fmt::format("{} is one word too many", in_quotes(words_[next_])), place(words_[next_]), "remove it");
    }
    faulty_ = false;
  }

  void read_connection(std::string_view first, std::size_t arrow) {
    ++connections_seen_;
    faulty_ = true;
    HtsimConnection connection;
    connection.line = line_;
    if (matrix_.nodes == 0) {
      if (!reported_nodes_)
        fail("missing-field", "Nodes is missing before the first connection", place(first),
             "begin the file with a line like Nodes 16");
      reported_nodes_ = true;
      return;
    }
    if (!take_node(first.substr(0, arrow), "the source", connection.source)) return;
    if (!take_node(first.substr(arrow + 2), "the destination", connection.destination)) return;
    if (connection.source == connection.destination) {
      fail("self-flow", fmt::format("node {} sends to itself", connection.source), place(first), "name another destination");
      return;
    }
    bool has_size = false;
    bool has_id = false;
    std::string_view start;
    std::vector<Use> uses;
    const auto once = [&](bool given, std::string_view word) {
      return !given ||
             fail("duplicate-option", fmt::format("{} is given twice", in_quotes(word)), place(word), "remove one of them");
    };
    const auto use = [&](std::string_view word, std::optional<std::uint32_t> HtsimConnection::*field) {
      const bool given = std::any_of(uses.begin(), uses.end(), [&](const Use& other) { return other.field == field; });
      std::uint64_t id = 0;
      if (!once(given, word) || !take_number(word, 1, UINT32_MAX, id)) return false;
      uses.push_back({matrix_.connections.size(), field, static_cast<std::uint32_t>(id), place(words_[next_ - 1])});
      return true;
    };
    while (next_ < words_.size()) {
      const std::string_view word = words_[next_++];
      std::uint64_t value = 0;
      if (word == "size") {
        if (!once(has_size, word)) return;
        if (!take_number(word, 0, static_cast<std::uint64_t>(op_size_max.count()), value)) return;
        if (value == 0) {
          fail("endless-flow", "size 0 is htsim's word for a flow without end, which Weft does not simulate",
               place(words_[next_ - 1]), "write how many bytes the flow carries in the time that the run is about");
          return;
        }
        has_size = true;
        connection.size = Bytes::of(static_cast<std::int64_t>(value));
      } else if (word == "start") {
        if (!once(!start.empty(), word)) return;
        const auto text = value_of(word);
        if (!text || !take_start(*text, connection)) return;
        start = word;
      } else if (word == "id") {
        if (!once(has_id, word) || !take_number(word, 1, UINT32_MAX, value)) return;
        has_id = true;
        const auto [other, is_new] = line_of_flow_.emplace(static_cast<std::uint32_t>(value), line_);
        if (!is_new) {
          fail("duplicate-id", fmt::format("flow id {} stands at line {} already", value, other->second), place(words_[next_ - 1]),
               "ids of flows are unique");
          return;
        }
      } else if (word == "prio") {
        if (!once(connection.priority.has_value(), word) || !take_number(word, 0, UINT32_MAX, value)) return;
        connection.priority = static_cast<std::uint32_t>(value);
      } else if (word == "trigger") {
        if (!use(word, &HtsimConnection::trigger)) return;
      } else if (word == "send_done_trigger") {
        if (!use(word, &HtsimConnection::on_send_done)) return;
      } else if (word == "recv_done_trigger") {
        if (!use(word, &HtsimConnection::on_receive_done)) return;
      } else {
        const std::array<std::string, 7> names = {"id",  "start", "size", "trigger", "send_done_trigger", "recv_done_trigger",
                                                  "prio"};
        fail("unknown-keyword", fmt::format("{} is nothing that a connection has", in_quotes(word.substr(0, 40))), place(word),
             suggestion(word, names, "keyword"));
        return;
      }
    }
    const bool is_triggered =
        std::any_of(uses.begin(), uses.end(), [](const Use& other) { return other.field == &HtsimConnection::trigger; });
    if (!has_size) {
      fail("missing-field", "this connection has no size", source_.at(line_), "write size BYTES");
    } else if (start.empty() == !is_triggered) {
      fail("start-conflict", is_triggered ? "this connection has a start and a trigger" : "nothing starts this connection",
           source_.at(line_), "write either start PICOSECONDS or trigger ID");
    } else if (is_triggered && !has_id) {
      fail("missing-field", "a connection with a trigger needs an id", source_.at(line_), "write id NUMBER");
    } else {
      matrix_.connections.push_back(connection);
      uses_.insert(uses_.end(), uses.begin(), uses.end());
    }
    faulty_ = false;
  }

  bool take_node(std::string_view word, const std::string& what, std::uint32_t& node) {
    if (word.empty()) return fail("bad-value", fmt::format("{} is missing", what), place(words_[0]), "connections begin like 0->1");
    std::uint64_t value = 0;
    if (!number_of(word, what, 0, UINT32_MAX, value)) return false;
    if (value >= matrix_.nodes) {
      return fail("out-of-range",
                  fmt::format("{} is node {}, but the matrix has {}", what, value, counted(matrix_.nodes, "node", "nodes")),
                  place(word), "nodes count from 0; correct the node or Nodes");
    }
    node = static_cast<std::uint32_t>(value);
    return true;
  }

  /// Picoseconds, rounded to the nearest tick.
  bool take_start(std::string_view text, HtsimConnection& connection) {
    const bool plain = text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
    if (plain && text.front() == '-')
      return fail("out-of-range", "the start is negative", place(text), "connections start at 0 or later");
    double picoseconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), picoseconds);
    if (!plain || end != text.data() + text.size() || (error != std::errc{} && error != std::errc::result_out_of_range)) {
      return fail("bad-value", fmt::format("the start is no number of picoseconds: {}", in_quotes(text)), place(text),
                  "write start PICOSECONDS");
    }
    const double seconds = picoseconds * 1e-12;
    if (error != std::errc{} || seconds > op_duration_max.in_s()) {
      return fail("out-of-range", "this connection starts after more than a year", place(text), "starts are picoseconds");
    }
    connection.start = Duration::from_seconds(seconds);
    return true;
  }

  void read_trigger(std::string_view first) {
    ++triggers_seen_;
    faulty_ = true;
    HtsimTrigger trigger;
    trigger.line = line_;
    bool has_kind = false;
    bool is_wrong = false;
    while (next_ < words_.size()) {
      const std::string_view word = words_[next_++];
      std::uint64_t value = 0;
      if (word == "id") {
        if (!take_number(word, 1, UINT32_MAX, value)) return;
        trigger.id = static_cast<std::uint32_t>(value);
      } else if (word == "count") {
        if (!take_number(word, 1, UINT32_MAX, value)) return;
        trigger.count = static_cast<std::uint32_t>(value);
      } else if (word == "oneshot" || word == "multishot" || word == "barrier") {
        if (has_kind) {
          fail("duplicate-option", "this trigger has two kinds", place(word), "remove one of them");
          return;
        }
        has_kind = true;
        trigger.kind = word == "oneshot"     ? HtsimTriggerKind::oneshot
                       : word == "multishot" ? HtsimTriggerKind::multishot
                                             : HtsimTriggerKind::barrier;
      } else {
        const std::array<std::string, 5> names = {"id", "count", "oneshot", "multishot", "barrier"};
        fail("unknown-keyword", fmt::format("{} is nothing that a trigger has", in_quotes(word.substr(0, 40))), place(word),
             suggestion(word, names, "keyword"));
        is_wrong = true;
      }
    }
    if (is_wrong && trigger.id != 0) {
      // It counts as known: one error is enough.
      const auto known = static_cast<std::uint32_t>(matrix_.triggers.size());
      if (trigger_of_id_.emplace(trigger.id, known).second) matrix_.triggers.push_back(trigger);
    } else if (trigger.id == 0 || !has_kind) {
      fail("missing-field", trigger.id == 0 ? "this trigger has no id" : "this trigger has no kind", place(first),
           "write trigger id NUMBER oneshot, multishot or barrier count N");
    } else if (const auto [other, is_new] = trigger_of_id_.emplace(trigger.id, static_cast<std::uint32_t>(matrix_.triggers.size()));
               !is_new) {
      fail("duplicate-id", fmt::format("trigger {} stands at line {} already", trigger.id, matrix_.triggers[other->second].line),
           place(first), "ids of triggers are unique");
    } else {
      matrix_.triggers.push_back(trigger);
      faulty_ = false;
    }
  }

  void read_failure() {
    ++matrix_.failures;
    faulty_ = true;
    while (next_ < words_.size()) {
      const std::string_view word = words_[next_++];
      std::uint64_t value = 0;
      if (word == "switch_type") {
        const auto type = value_of(word);
        if (!type) return;
        const std::array<std::string, 3> names = {"TOR", "AGG", "CORE"};
        if (std::find(names.begin(), names.end(), *type) == names.end()) {
          fail("bad-value", fmt::format("there is no switch type {}", in_quotes(*type)), place(*type),
               suggestion(*type, names, "type"));
          return;
        }
      } else if (word == "switch_id" || word == "link_id") {
        if (!take_number(word, 0, UINT32_MAX, value)) return;
      } else {
        const std::array<std::string, 3> names = {"switch_type", "switch_id", "link_id"};
        fail("unknown-keyword", fmt::format("{} is nothing that a failure has", in_quotes(word.substr(0, 40))), place(word),
             suggestion(word, names, "keyword"));
        return;
      }
    }
    faulty_ = false;
  }

  void resolve_triggers() {
    for (const Use& use : uses_) {
      const auto found = trigger_of_id_.find(use.id);
      if (found == trigger_of_id_.end()) {
        fail("unknown-trigger", fmt::format("there is no trigger {}", use.id), use.place,
             fmt::format("add a line like trigger id {} oneshot", use.id));
      } else {
        matrix_.connections[use.connection].*use.field = found->second;
      }
    }
  }

  void check_counts() {
    const std::array<std::uint64_t, 3> seen = {connections_seen_, triggers_seen_, matrix_.failures};
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const Count& count = counts_[i];
      const std::uint64_t announced = count.announced.value_or(0);
      if (announced == seen[i]) continue;
      fail("count-mismatch",
           count.announced ? fmt::format("{} announces {}, but there are {}", count.name, announced, seen[i])
                           : fmt::format("there are {}, but no line {}", seen[i], count.name),
           count.announced ? source_.at(count.line) : source_.whole_file(),
           count.announced && seen[i] < announced ? "was the file cut off?" : fmt::format("write {} {}", count.name, seen[i]));
    }
    if (matrix_.nodes == 0 && !diagnostics_.has_errors()) {
      fail("missing-field", "the matrix does not say how many nodes there are", source_.whole_file(),
           "begin it with a line like Nodes 16");
    } else if (connections_seen_ == 0 && !diagnostics_.has_errors()) {
      fail("empty-file", "the matrix holds no connections", source_.whole_file(), "add lines like 0->1 start 0 size 2000000");
    }
  }

  const SourceText& source_;
  Diagnostics diagnostics_;
  HtsimMatrix matrix_;
  int line_ = 0;
  std::vector<std::string_view> words_;  ///< of the line
  std::size_t next_ = 0;
  bool faulty_ = false;  ///< an error of this line was reported
  bool reported_nodes_ = false;
  std::uint64_t connections_seen_ = 0;
  std::uint64_t triggers_seen_ = 0;
  std::array<Count, 3> counts_ = {Count{"Connections", {}, 0}, Count{"Triggers", {}, 0}, Count{"Failures", {}, 0}};
  std::map<std::uint32_t, int> line_of_flow_;
  std::map<std::uint32_t, std::uint32_t> trigger_of_id_;
  std::vector<Use> uses_;
};

}  // namespace

HtsimMatrix read_htsim_matrix(const SourceText& source) { return MatrixReader(source).read(); }

}  // namespace weft
