// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/goal/goal_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/text_lines.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/rank_list.hpp"

namespace weft {

namespace {

constexpr std::uint32_t undefined = UINT32_MAX;
/// A file with more errors than this is something else; reading on would only cost time.
constexpr std::size_t errors_max = 200;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_word(char c) { return begins_word(c) || is_digit(c); }

/// Labels of one rank, numbered in order of their first use. An open hash table over one pool of
/// text: a label costs its text and 16 to 24 bytes.
class Labels {
 public:
  /// Number of the label, which is new if it is size() of before.
  std::uint32_t number(std::string_view text) {
    if (2 * (size() + 1) > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = std::hash<std::string_view>{}(text)&mask;; at = (at + 1) & mask) {
      if (slots_[at] == undefined) {
        slots_[at] = size();
        op_of.push_back(undefined);
        pool_ += text;
        begin_.push_back(pool_.size());
        return size() - 1;
      }
      if (this->text(slots_[at]) == text) return slots_[at];
    }
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(begin_.size() - 1); }
  std::string_view text(std::uint32_t label) const {
    return std::string_view(pool_).substr(begin_[label], begin_[label + 1] - begin_[label]);
  }
  void clear() { *this = Labels(); }

  std::vector<std::uint32_t> op_of;  ///< undefined: used, not yet defined

 private:
  void grow() {
    constexpr std::size_t smallest = 64;
    slots_.assign(std::max(smallest, 2 * slots_.size()), undefined);
    const std::size_t mask = slots_.size() - 1;
    for (std::uint32_t label = 0; label < size(); ++label) {
      std::size_t at = std::hash<std::string_view>{}(text(label)) & mask;
      while (slots_[at] != undefined) at = (at + 1) & mask;
      slots_[at] = label;
    }
  }

  std::string pool_;
  std::vector<std::uint64_t> begin_ = {0};
  std::vector<std::uint32_t> slots_;
};

class Scanner {
 public:
  Scanner(const std::string& path, const GoalTextOptions& options, const std::function<void(GoalRank&)>& visit)
      : lines_(path), options_(options), visit_(visit) {}

  std::uint32_t read() {
    while (lines_.next()) {
      begin_ = lines_.line().data();
      at_ = begin_;
      end_ = begin_ + lines_.line().size();
      if (lines_.number() == 1) require_text();
      read_line();
      if (diagnostics_.error_count() > errors_max) diagnostics_.throw_if_errors();
    }
    finish_file();
    return rank_count_;
  }

 private:
  /// A label that is used before it is defined.
  struct EarlyUse {
    std::uint32_t op_label = 0;
    std::uint32_t dependency_label = 0;
    bool after_start = false;
    int line = 0;
    std::uint32_t op_column = 0;
    std::uint32_t dependency_column = 0;
  };

  // --- Places and errors ---
  SourcePlace place(const char* from, std::size_t length) const {
    return lines_.place(static_cast<std::size_t>(from - begin_), length);
  }
  SourcePlace place(std::string_view text) const { return place(text.data(), text.size()); }
  /// What stands at `at_`, to be underlined.
  std::string_view next_piece() const {
    const char* p = at_;
    while (p < end_ && *p != ' ' && *p != '\t' && *p != ';' && *p != '}') ++p;
    return {at_, static_cast<std::size_t>(std::max<std::ptrdiff_t>(p - at_, at_ < end_ ? 1 : 0))};
  }
  bool fail(std::string code, std::string message, SourcePlace place, std::string help) {
    diagnostics_.error(std::move(code), std::move(message), std::move(place), std::move(help));
    return false;
  }
  bool expected(const std::string& what, const std::string& help) {
    const std::string_view piece = next_piece();
    const std::string found = piece.empty() ? "the line ends" : fmt::format("there is {}", in_quotes(piece.substr(0, 40)));
    return fail("syntax", fmt::format("{} where {} is expected", found, what), place(at_, piece.size()), help);
  }

  void require_text() const {
    if (lines_.line().find('\0') == std::string_view::npos) return;
    weft::fail("not-text", "this is a binary file, GOAL text is expected", lines_.whole_file(),
               "txt2bin's output cannot be read; give the text that it was made from");
  }

  // --- Pieces of text ---
  /// Blanks and comments. A comment that stays open swallows the line.
  void skip_blanks() {
    while (at_ < end_) {
      if (in_comment_) {
        const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
        const std::size_t close = rest.find("*/");
        if (close == std::string_view::npos) {
          at_ = end_;
          return;
        }
        at_ += close + 2;
        in_comment_ = false;
      } else if (*at_ == ' ' || *at_ == '\t') {
        ++at_;
      } else if (*at_ == '/' && at_ + 1 < end_ && at_[1] == '/') {
        at_ = end_;
      } else if (*at_ == '/' && at_ + 1 < end_ && at_[1] == '*') {
        in_comment_ = true;
        comment_line_ = lines_.number();
        at_ += 2;
      } else {
        return;
      }
    }
  }

  std::string_view take_word() {
    const char* from = at_;
    if (at_ < end_ && begins_word(*at_)) {
      while (at_ < end_ && continues_word(*at_)) ++at_;
    }
    return {from, static_cast<std::size_t>(at_ - from)};
  }

  /// A whole number of at most `maximum`.
  bool take_number(const char* what, std::uint64_t maximum, std::uint64_t& value) {
    skip_blanks();
    const char* from = at_;
    value = 0;
    bool overflow = false;
    while (at_ < end_ && is_digit(*at_)) {
      const auto digit = static_cast<std::uint64_t>(*at_++ - '0');
      overflow = overflow || value > (UINT64_MAX - digit) / 10;
      value = value * 10 + digit;
    }
    if (at_ == from) return expected(what, "write a whole number");
    if (at_ < end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) {
      at_ = from;
      const std::string_view piece = next_piece();
      return fail("bad-value", fmt::format("{} is no whole number: {}", what, in_quotes(piece)), place(piece),
                  "GOAL knows whole numbers only");
    }
    if (overflow || value > maximum) {
      const std::string_view digits(from, static_cast<std::size_t>(at_ - from));
      return fail("out-of-range", fmt::format("{} is {}", what, digits.substr(0, 40)), place(digits),
                  fmt::format("at most {}", maximum));
    }
    return true;
  }

  // --- Lines and statements ---
  void read_line() {
    for (;;) {
      skip_blanks();
      if (at_ == end_) return;
      if (*at_ == ';') {
        ++at_;
        continue;
      }
      if (state_ == State::before_brace) {
        open_rank();
      } else if (*at_ == '}') {
        close_rank();
      } else if (!(state_ == State::in_rank ? read_statement() : read_heading()) || !at_statement_end()) {
        skip_statement();
      }
    }
  }

  void skip_statement() {
    while (at_ < end_ && *at_ != ';' && *at_ != '}') ++at_;
  }

  bool at_statement_end() {
    skip_blanks();
    if (at_ == end_ || *at_ == ';' || *at_ == '}' || state_ == State::before_brace) return true;
    return expected("the end of the statement", "statements end with their line, or with ;");
  }

  bool read_heading() {
    const std::string_view word = take_word();
    if (word == "num_ranks") {
      if (rank_count_ != 0) return fail("duplicate-option", "num_ranks is given twice", place(word), "remove one of them");
      std::uint64_t count = 0;
      if (!take_number("the number of ranks", workload_rank_count_max, count)) return false;
      if (count == 0) return fail("out-of-range", "there are 0 ranks", place(word), "at least 1");
      rank_count_ = static_cast<std::uint32_t>(count);
      return true;
    }
    if (word == "rank") return read_rank_heading(word);
    if (word.empty()) return expected("num_ranks or rank", "a GOAL schedule begins with num_ranks N, then rank 0 { ... }");
    if (rank_count_ == 0) {
      weft::fail("syntax", fmt::format("a GOAL schedule begins with num_ranks, not with {}", in_quotes(word.substr(0, 40))),
                 place(word), "num_ranks N, then rank 0 { ... }");
    }
    const std::array<std::string, 2> known = {"num_ranks", "rank"};
    return fail("unknown-keyword", fmt::format("{} stands outside of any rank", in_quotes(word)), place(word),
                suggestion(word, known, "keyword"));
  }

  bool read_rank_heading(std::string_view word) {
    if (rank_count_ == 0) {
      weft::fail("missing-field", "num_ranks is missing before the first rank", place(word),
                 "begin the file with a line like num_ranks 16");
    }
    skip_blanks();
    const char* from = at_;
    std::uint64_t rank = 0;
    if (!take_number("the rank", UINT32_MAX, rank)) return false;
    const std::string_view digits(from, static_cast<std::size_t>(at_ - from));
    if (seen_.empty()) seen_.assign(rank_count_, false);
    rank_ = GoalRank();
    rank_.rank = static_cast<std::uint32_t>(rank);
    rank_.rank_count = rank_count_;
    rank_.line = lines_.number();
    state_ = State::before_brace;
    // What follows is its block in any case.
    if (rank >= rank_count_) {
      fail("out-of-range", fmt::format("rank {} contradicts num_ranks {}", rank, rank_count_), place(digits),
           fmt::format("ranks count from 0 to {}; correct the rank or num_ranks", rank_count_ - 1));
    } else if (seen_[rank]) {
      fail("duplicate-rank", fmt::format("rank {} stands twice", rank), place(digits), "put its statements into one block");
    } else {
      seen_[rank] = true;
      ++ranks_seen_;
    }
    return true;
  }

  void open_rank() {
    state_ = State::in_rank;
    if (*at_ == '{') {
      ++at_;
    } else {
      expected("{", fmt::format("write rank {} {{ ... }}", rank_.rank));
    }
  }

  void close_rank() {
    const std::string_view brace(at_, 1);
    ++at_;
    if (state_ != State::in_rank) {
      fail("syntax", "this } closes nothing", place(brace), "remove it");
      return;
    }
    state_ = State::outside;
    resolve_early_uses();
    labels_.clear();
    early_uses_.clear();
    op_count_ += rank_.ops.size();
    if (!diagnostics_.has_errors()) visit_(rank_);
    rank_ = GoalRank();
  }

  bool read_statement() {
    const std::string_view first = take_word();
    if (first.empty()) return expected("a statement", "send, recv, calc, or LABEL requires LABEL");
    skip_blanks();
    if (at_ < end_ && *at_ == ':') {
      ++at_;
      skip_blanks();
      const std::string_view keyword = take_word();
      const bool is_op = read_op(keyword, first);
      // A label before a faulty op counts as defined: one error is enough.
      return define(first) && is_op;
    }
    if (first == "send" || first == "recv" || first == "calc") return read_op(first, {});
    const std::string_view second = take_word();
    if (second == "requires" || second == "irequires") return read_dependency(first, second == "irequires");
    return unknown_keyword(first, second);
  }

  bool unknown_keyword(std::string_view first, std::string_view second) {
    if (first == "rank" || first == "num_ranks") {
      return fail("syntax",
                  fmt::format("{} stands inside rank {}, which begins at line {}", in_quotes(first), rank_.rank, rank_.line),
                  place(first), "is a closing } missing before it?");
    }
    // "l1 require l2" means the second word, "sned 8b to 1" the first.
    const std::array<std::string, 2> relations = {"requires", "irequires"};
    const std::array<std::string, 3> op_words = {"send", "recv", "calc"};
    if (!second.empty()) {
      return fail("unknown-keyword", fmt::format("{} is no relation between ops", in_quotes(second)), place(second),
                  suggestion(second, relations, "relation"));
    }
    return fail("unknown-keyword", fmt::format("{} is no statement", in_quotes(first)), place(first),
                suggestion(first, op_words, "statement"));
  }

  bool read_op(std::string_view keyword, std::string_view label) {
    GoalOp op;
    std::uint64_t number = 0;
    if (keyword == "calc") {
      const auto maximum = static_cast<std::uint64_t>(op_duration_max.in_ticks() / options_.ticks_per_unit);
      if (!take_number("the duration", maximum, number)) return false;
      op.amount = static_cast<std::int64_t>(number) * options_.ticks_per_unit;
    } else if (keyword == "send" || keyword == "recv") {
      const bool is_send = keyword == "send";
      op.kind = is_send ? OpKind::send : OpKind::receive;
      if (!take_number("the size", static_cast<std::uint64_t>(op_size_max.count()), number)) return false;
      op.amount = static_cast<std::int64_t>(number);
      skip_blanks();
      if (at_ == end_ || *at_ != 'b' || (at_ + 1 < end_ && continues_word(at_[1])))
        return expected("the b of a size in bytes", fmt::format("write {}b", number));
      ++at_;
      skip_blanks();
      const std::string_view direction = take_word();
      if (direction != (is_send ? "to" : "from")) {
        at_ -= direction.size();
        return expected(is_send ? "to" : "from", is_send ? "write send BYTESb to RANK" : "write recv BYTESb from RANK");
      }
      if (!read_peer(op)) return false;
    } else if (keyword.empty()) {
      return expected("an op", "after LABEL: comes send, recv or calc");
    } else {
      const std::array<std::string, 3> op_words = {"send", "recv", "calc"};
      return fail("unknown-keyword", fmt::format("{} is no op", in_quotes(keyword)), place(keyword),
                  suggestion(keyword, op_words, "op"));
    }
    if (!read_op_options(op)) return false;
    if (rank_.ops.size() >= UINT32_MAX / 2) {
      weft::fail("too-large", fmt::format("rank {} has more ops than can be counted", rank_.rank), place(keyword),
                 "cut the schedule into parts");
    }
    rank_.ops.push_back(op);
    if (options_.keep_origins) rank_.origins.push_back({std::string(label), lines_.number()});
    return true;
  }

  bool read_peer(GoalOp& op) {
    skip_blanks();
    if (op.kind == OpKind::receive && at_ + 1 < end_ && at_[0] == '-' && at_[1] == '1') {
      at_ += 2;
      op.peer = goal_any_source;
      return true;
    }
    const char* from = at_;
    std::uint64_t number = 0;
    if (!take_number("a rank", UINT32_MAX, number)) return false;
    const auto length = static_cast<std::size_t>(at_ - from);
    if (number >= rank_count_) {
      return fail("peer-out-of-range", fmt::format("there is no rank {}", number), place(from, length),
                  fmt::format("num_ranks is {}; ranks count from 0", rank_count_));
    }
    op.peer = static_cast<std::uint32_t>(number);
    if (op.peer == rank_.rank) {
      return fail("peer-out-of-range", fmt::format("rank {} talks to itself", op.peer), place(from, length),
                  "a copy inside a rank is a calc");
    }
    return true;
  }

  bool read_op_options(GoalOp& op) {
    bool has_tag = false;
    bool has_cpu = false;
    bool has_nic = false;
    for (;;) {
      skip_blanks();
      if (at_ == end_ || !begins_word(*at_)) return true;
      const std::string_view name = take_word();
      std::uint64_t number = 0;
      bool* given = nullptr;
      if (name == "tag" && op.kind != OpKind::compute) {
        given = &has_tag;
        skip_blanks();
        if (op.kind == OpKind::receive && at_ + 1 < end_ && at_[0] == '-' && at_[1] == '1') {
          at_ += 2;
          op.any_tag = true;
        } else if (!take_number("the tag", UINT32_MAX, number)) {
          return false;
        }
        op.tag = static_cast<std::uint32_t>(number);
      } else if (name == "cpu") {
        given = &has_cpu;
        if (!take_number("the cpu", UINT16_MAX, number)) return false;
        op.cpu = static_cast<std::uint16_t>(number);
      } else if (name == "nic") {
        given = &has_nic;
        if (!take_number("the nic", UINT16_MAX, number)) return false;
        if (number != 0) ++rank_.nic_choices;
      } else {
        const std::array<std::string, 2> of_calc = {"cpu", "nic"};
        const std::array<std::string, 3> of_message = {"tag", "cpu", "nic"};
        return fail("unknown-keyword",
                    fmt::format("{} is no option of {}", in_quotes(name), op.kind == OpKind::compute ? "calc" : to_goal(op.kind)),
                    place(name),
                    op.kind == OpKind::compute ? suggestion(name, of_calc, "option") : suggestion(name, of_message, "option"));
      }
      if (*given)
        return fail("duplicate-option", fmt::format("{} is given twice", in_quotes(name)), place(name), "remove one of them");
      *given = true;
    }
  }

  static const char* to_goal(OpKind kind) { return kind == OpKind::send ? "send" : "recv"; }

  // --- Labels ---
  /// The op read last has this label.
  bool define(std::string_view label) {
    std::uint32_t& op = labels_.op_of[labels_.number(label)];
    if (op != undefined) {
      return fail("duplicate-label", fmt::format("label {} stands twice in rank {}", in_quotes(label), rank_.rank), place(label),
                  "labels are unique in a rank");
    }
    op = static_cast<std::uint32_t>(std::max<std::size_t>(rank_.ops.size(), 1) - 1);
    return true;
  }

  bool read_dependency(std::string_view op_label, bool after_start) {
    skip_blanks();
    const std::string_view dependency_label = take_word();
    if (dependency_label.empty()) return expected("a label", "write LABEL requires LABEL");
    // The first number() may move the table.
    const std::uint32_t op = labels_.number(op_label);
    const std::uint32_t dependency = labels_.number(dependency_label);
    if (labels_.op_of[op] == undefined || labels_.op_of[dependency] == undefined) {
      early_uses_.push_back({op, dependency, after_start, lines_.number(), static_cast<std::uint32_t>(op_label.data() - begin_),
                             static_cast<std::uint32_t>(dependency_label.data() - begin_)});
    } else {
      (after_start ? rank_.after_start : rank_.after_end).emplace_back(labels_.op_of[dependency], labels_.op_of[op]);
    }
    return true;
  }

  void resolve_early_uses() {
    std::vector<bool> reported(labels_.size(), false);
    for (const EarlyUse& use : early_uses_) {
      const std::uint32_t op = labels_.op_of[use.op_label];
      const std::uint32_t dependency = labels_.op_of[use.dependency_label];
      if (op != undefined && dependency != undefined) {
        (use.after_start ? rank_.after_start : rank_.after_end).emplace_back(dependency, op);
        continue;
      }
      const bool is_op = op == undefined;
      const std::uint32_t label = is_op ? use.op_label : use.dependency_label;
      if (reported[label] || diagnostics_.error_count() > errors_max) continue;
      reported[label] = true;
      report_unknown_label(label, use.line, is_op ? use.op_column : use.dependency_column);
    }
  }

  void report_unknown_label(std::uint32_t label, int line, std::uint32_t column) {
    const std::string_view text = labels_.text(label);
    // A close one among the defined, if they are few enough to look through.
    constexpr std::uint32_t candidates_max = 10'000;
    std::vector<std::string> candidates;
    for (std::uint32_t other = 0; other < std::min(labels_.size(), candidates_max); ++other) {
      if (labels_.op_of[other] != undefined) candidates.emplace_back(labels_.text(other));
    }
    const bool shown = diagnostics_.error_count() < Diagnostics::kept_errors_max;
    const std::string best = shown && text.size() < 64 ? closest(text, candidates) : "";
    fail("unknown-label", fmt::format("label {} is not defined in rank {}", in_quotes(text.substr(0, 60)), rank_.rank),
         shown ? place_in_line(lines_.path(), line, static_cast<int>(column) + 1, static_cast<int>(text.size()))
               : lines_.whole_file(),
         best.empty() ? "labels belong to their rank; write LABEL: before the op that is meant"
                      : fmt::format("did you mean {}?", in_quotes(best)));
  }

  // --- The end ---
  void finish_file() {
    if (in_comment_) {
      fail("truncated-file", "the file ends inside a comment", place_in_line(lines_.path(), comment_line_, 0, 1),
           "close it with */");
    }
    if (state_ != State::outside) {
      fail("truncated-file", fmt::format("the file ends inside rank {}", rank_.rank),
           place_in_line(lines_.path(), rank_.line, 0, 1), "its closing } is missing; was the file cut off?");
    } else if (rank_count_ == 0 && !diagnostics_.has_errors()) {
      fail("empty-file", "the file holds no schedule", lines_.whole_file(),
           "a GOAL schedule begins with num_ranks N, then rank 0 { ... }");
    } else if (ranks_seen_ < rank_count_) {
      constexpr std::size_t named_max = 16;
      std::vector<RankId> missing;
      for (std::uint32_t rank = 0; rank < rank_count_ && missing.size() < named_max; ++rank) {
        if (seen_.empty() || !seen_[rank]) missing.emplace_back(rank);
      }
      const std::size_t more = rank_count_ - ranks_seen_ - missing.size();
      fail("missing-rank",
           fmt::format("num_ranks is {}, but there is no block of rank {}{}", rank_count_, to_text(missing),
                       more > 0 ? fmt::format(" and {} more", more) : ""),
           lines_.whole_file(), "add the missing ranks, if idle as rank N { }, or correct num_ranks");
    } else if (op_count_ == 0 && !diagnostics_.has_errors()) {
      fail("no-ops", "no rank does anything", lines_.whole_file(), "put send, recv and calc into the ranks");
    }
    diagnostics_.throw_if_errors();
  }

  enum class State : std::uint8_t { outside, before_brace, in_rank };

  TextLines lines_;
  GoalTextOptions options_;
  const std::function<void(GoalRank&)>& visit_;
  Diagnostics diagnostics_;
  const char* begin_ = nullptr;  ///< of the line
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool in_comment_ = false;
  int comment_line_ = 0;
  State state_ = State::outside;
  std::uint32_t rank_count_ = 0;
  std::uint32_t ranks_seen_ = 0;
  std::vector<bool> seen_;
  std::uint64_t op_count_ = 0;
  GoalRank rank_;
  Labels labels_;
  std::vector<EarlyUse> early_uses_;
};

}  // namespace

std::uint32_t read_goal_text(const std::string& path, const GoalTextOptions& options, const std::function<void(GoalRank&)>& visit) {
  return Scanner(path, options, visit).read();
}

}  // namespace weft
