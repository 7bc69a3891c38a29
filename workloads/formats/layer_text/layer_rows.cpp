// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/layer_text/layer_rows.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

struct NamedPolicy {
  std::string_view name;
  LayerPolicy policy;
};
constexpr std::array policy_names = {
    NamedPolicy{"DATA", LayerPolicy::data},
    NamedPolicy{"MODEL", LayerPolicy::model},
    NamedPolicy{"HYBRID_DATA_MODEL", LayerPolicy::hybrid_data_model},
    NamedPolicy{"HYBRID_MODEL_DATA", LayerPolicy::hybrid_model_data},
    NamedPolicy{"HYBRID_CUSTOMIZED", LayerPolicy::hybrid_customized},
    NamedPolicy{"HYBRID_TRANSFORMER", LayerPolicy::transformer},
    NamedPolicy{"HYBRID_TRANSFORMER_FWD_IN_BCKWD", LayerPolicy::transformer_fwd_in_bckwd},
    NamedPolicy{"HYBRID_DLRM", LayerPolicy::dlrm},
    NamedPolicy{"HYBRID_DLRM_ENHANCED", LayerPolicy::dlrm_enhanced},
    NamedPolicy{"DISTRIBUTED_INFERENCE", LayerPolicy::distributed_inference},
    NamedPolicy{"MICRO", LayerPolicy::micro},
};

/// Policies that a row of HYBRID_CUSTOMIZED may have.
constexpr std::array row_policies = {"DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_TRANSFORMER"};

struct NamedCollective {
  std::string_view name;
  CollectiveType type;
};
constexpr std::array collective_names = {
    NamedCollective{"ALLREDUCE", CollectiveType::all_reduce},
    NamedCollective{"ALLGATHER", CollectiveType::all_gather},
    NamedCollective{"REDUCESCATTER", CollectiveType::reduce_scatter},
    NamedCollective{"ALLTOALL", CollectiveType::all_to_all},
};

struct NamedGroup {
  std::string_view suffix;
  LayerGroup group;
};
/// The longer of two suffixes that end alike comes first.
constexpr std::array named_groups = {
    NamedGroup{"_DP_EP", LayerGroup::dp_ep},
    NamedGroup{"_EP", LayerGroup::ep},
    NamedGroup{"_DP", LayerGroup::dp},
    NamedGroup{"_TP", LayerGroup::tp},
};

struct HeaderKey {
  std::string_view name;
  std::uint64_t minimum;
  std::uint64_t maximum;
  bool simai_only;
};
/// SimAI's way to say what ASTRA-sim reads as a bare number after the policy.
constexpr std::string_view last_bottom_layer = "DLRM_LAST_BOTTOM_LAYER";
constexpr std::array header_keys = {
    HeaderKey{"model_parallel_NPU_group", 1, workload_rank_count_max, false},
    HeaderKey{"ep", 1, workload_rank_count_max, true},
    HeaderKey{"pp", 1, workload_rank_count_max, true},
    HeaderKey{"vpp", 1, UINT32_MAX, true},
    HeaderKey{"ga", 1, UINT32_MAX, true},
    HeaderKey{"all_gpus", 1, workload_rank_count_max, true},
    HeaderKey{"pp_comm", 0, static_cast<std::uint64_t>(op_size_max.count()), true},
    HeaderKey{last_bottom_layer, 0, UINT32_MAX, true},
};

constexpr const char* row_help =
    "a row is: name -1 fwd_time COMM bytes input_grad_time COMM bytes weight_grad_time COMM bytes update_time";
constexpr std::size_t row_fields = 12;

struct LayerField {
  std::string_view text;
  int column = 0;
};

std::vector<LayerField> fields_of(std::string_view line) {
  std::vector<LayerField> fields;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    fields.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
    at = end;
  }
  return fields;
}

class RowReader {
 public:
  RowReader(const SourceText& source, LayerDialect dialect, Duration time_unit)
      : source_(source), dialect_(dialect), time_unit_(time_unit) {}

  LayerRows read() {
    source_.require_utf8_text("workload");
    next_line();
    read_header();
    const std::optional<std::uint64_t> announced = read_count();
    while (next_line()) {
      ++seen_;
      read_row();
    }
    if (announced && *announced != seen_) {
      diagnostics_.error(
          "count-mismatch",
          fmt::format("{} announced, {}", counted(*announced, "row is", "rows are"), counted(seen_, "follows", "follow")),
          count_place_, seen_ < *announced ? "was the file cut off?" : "correct this number");
    }
    check_checkpoints();
    diagnostics_.throw_if_errors();
    return std::move(result_);
  }

 private:
  /// Moves on to the next line that is not blank.
  bool next_line() {
    while (line_ < static_cast<int>(source_.line_count())) {
      ++line_;
      fields_ = fields_of(source_.line(static_cast<std::size_t>(line_)));
      if (!fields_.empty()) return true;
    }
    fields_.clear();
    return false;
  }

  static HeaderNumber header_number(std::uint64_t value, const LayerField& field) {
    return {value, field.column, static_cast<int>(field.text.size())};
  }

  SourcePlace place(const LayerField& field) const { return source_.at(line_, field.column, static_cast<int>(field.text.size())); }

  std::optional<std::uint64_t> number(const LayerField& field, const std::string& what, std::uint64_t minimum,
                                      std::uint64_t maximum) {
    const bool negative = field.text.size() > 1 && field.text.front() == '-';
    const std::string_view digits = field.text.substr(negative ? 1 : 0);
    const auto value = plain_number<std::uint64_t>(digits);
    if (!value && !is_digits(digits)) {
      diagnostics_.error("bad-value", fmt::format("{} is no whole number: {}", what, in_quotes(field.text)), place(field),
                         "write a number without unit or fraction");
      return std::nullopt;
    }
    if (negative && value != std::uint64_t{0}) {
      diagnostics_.error("negative-number", fmt::format("{} is negative", what), place(field), fmt::format("at least {}", minimum));
      return std::nullopt;
    }
    if (!value || *value < minimum || *value > maximum) {
      diagnostics_.error("out-of-range", fmt::format("{} is {}", what, field.text), place(field),
                         fmt::format("allowed: {} to {}", minimum, maximum));
      return std::nullopt;
    }
    return value;
  }

  std::optional<LayerPolicy> policy(const LayerField& field, bool of_row) {
    std::vector<std::string> names;
    for (const NamedPolicy& known : policy_names) {
      const bool allowed = !of_row || std::find(row_policies.begin(), row_policies.end(), known.name) != row_policies.end();
      if (!allowed) continue;
      if (known.name == field.text) return known.policy;
      names.emplace_back(known.name);
    }
    diagnostics_.error("unknown-policy",
                       fmt::format("there is no parallelism policy {}{}", in_quotes(field.text), of_row ? " of a row" : ""),
                       place(field), suggestion(field.text, names, "policy"));
    return std::nullopt;
  }

  void read_header() {
    result_.header_line = line_;
    result_.policy_column = fields_[0].column;
    const std::optional<LayerPolicy> policy_named = policy(fields_[0], false);
    // Whatever else is wrong depends on the policy.
    diagnostics_.throw_if_errors();
    result_.policy = *policy_named;
    std::size_t at = 1;
    const bool is_dlrm = result_.policy == LayerPolicy::dlrm || result_.policy == LayerPolicy::dlrm_enhanced;
    if (is_dlrm && at < fields_.size() && fields_[at].text.find(':') == std::string_view::npos) {
      if (const auto value = number(fields_[at], "the last bottom layer", 0, UINT32_MAX)) {
        result_.numbers["last_bottom_layer"] = header_number(*value, fields_[at]);
      }
      ++at;
    }
    while (at < fields_.size()) at = read_key(at);
  }

  /// Reads the key at `at` with what belongs to it; returns where the next one is.
  std::size_t read_key(std::size_t at) {
    const LayerField& field = fields_[at];
    const bool has_colon = field.text.back() == ':';
    const std::string_view name = field.text.substr(0, field.text.size() - (has_colon ? 1 : 0));
    const bool is_checkpoints = name == "checkpoints";
    if (is_checkpoints || name == "checkpoint_initiates") {
      require_colon(field, has_colon, name);
      return read_row_list(at, is_checkpoints ? result_.checkpoints : result_.checkpoint_initiates, std::string(name));
    }
    std::vector<std::string> known = {"checkpoints", "checkpoint_initiates"};
    for (const HeaderKey& key : header_keys) {
      if (key.simai_only && dialect_ != LayerDialect::simai) continue;
      known.emplace_back(key.name);
      if (key.name != name) continue;
      if (name != "pp_comm") require_colon(field, has_colon, name);
      if (result_.numbers.count(name) > 0) {
        diagnostics_.error("duplicate-key", fmt::format("{} stands twice", name), place(field), "keep one of them");
      }
      if (at + 1 == fields_.size()) {
        diagnostics_.error("missing-value", fmt::format("{} has no number", name), place(field), fmt::format("write {}: 1", name));
        return at + 1;
      }
      if (const auto value = number(fields_[at + 1], std::string(name), key.minimum, key.maximum)) {
        result_.numbers[name == last_bottom_layer ? "last_bottom_layer" : std::string(name)] =
            header_number(*value, fields_[at + 1]);
      }
      return at + 2;
    }
    const bool is_simai_key =
        std::any_of(header_keys.begin(), header_keys.end(), [&](const HeaderKey& key) { return key.name == name; });
    diagnostics_.error(
        "unknown-key", fmt::format("the first line has no key {}", in_quotes(name)), place(field),
        name == last_bottom_layer
            ? "this is how SimAI writes it: name the file FILE:simai; ASTRA-sim reads the bare number after the policy"
        : is_simai_key ? "this is a key of SimAI's dialect: name the file FILE:simai"
                       : suggestion(name, known, "key"));
    // A number that follows belongs to it.
    const bool has_number =
        at + 1 < fields_.size() && fields_[at + 1].text.find_first_not_of("0123456789") == std::string_view::npos;
    return at + (has_number ? 2 : 1);
  }

  void require_colon(const LayerField& field, bool has_colon, std::string_view name) {
    if (has_colon) return;
    diagnostics_.error("missing-colon", fmt::format("{} is written without a colon", name), place(field),
                       fmt::format("write \"{}:\"; SimAI and ASTRA-sim would not see it", name));
  }

  /// "checkpoints: 2 0 5": a count and that many rows.
  std::size_t read_row_list(std::size_t at, std::vector<HeaderNumber>& rows, const std::string& what) {
    const LayerField& key = fields_[at];
    if (at + 1 == fields_.size()) {
      diagnostics_.error("missing-value", fmt::format("{} has no count", what), place(key),
                         fmt::format("write {}: 0, or a count and that many rows", what));
      return at + 1;
    }
    const auto count = number(fields_[at + 1], fmt::format("the number of {}", what), 0, UINT32_MAX);
    at += 2;
    if (!count) return at;
    for (std::uint64_t i = 0; i < *count; ++i, ++at) {
      const bool is_number = at < fields_.size() && fields_[at].text.find(':') == std::string_view::npos;
      if (!is_number) {
        diagnostics_.error(
            "missing-value",
            fmt::format("{} announces {}, {}", what, counted(*count, "row", "rows"), counted(i, "follows", "follow")), place(key),
            "rows are counted from 0");
        return at;
      }
      const auto row = number(fields_[at], fmt::format("a row of {}", what), 0, UINT32_MAX);
      if (row) rows.push_back(header_number(*row, fields_[at]));
    }
    return at;
  }

  std::optional<std::uint64_t> read_count() {
    if (!next_line()) {
      diagnostics_.error("bad-count", "the number of rows is missing", source_.at(line_),
                         "the second line says how many rows follow");
      diagnostics_.throw_if_errors();
    }
    count_place_ = place(fields_[0]);
    if (fields_.size() != 1) {
      diagnostics_.error("bad-count", "the second line is not the number of rows", source_.at(line_),
                         "the second line says how many rows follow");
      diagnostics_.throw_if_errors();
    }
    const auto count = number(fields_[0], "the number of rows", 1, UINT32_MAX);
    // The file's own size bounds what is reserved, whatever it announces.
    if (count) result_.rows.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*count, source_.line_count())));
    return count;
  }

  void read_row() {
    const bool is_customized = result_.policy == LayerPolicy::hybrid_customized;
    const std::size_t wanted = row_fields + (is_customized ? 1 : 0);
    if (fields_.size() != wanted) {
      diagnostics_.error("wrong-field-count",
                         fmt::format("this row has {}, {} are needed", counted(fields_.size(), "field", "fields"), wanted),
                         source_.at(line_), is_customized ? fmt::format("{} POLICY", row_help) : row_help);
      return;
    }
    LayerRow row;
    row.name = fields_[0].text;
    row.policy = result_.policy;
    row.names_dependency = fields_[1].text != "-1";
    if (row.names_dependency) number(fields_[1], "the reserved column", 0, UINT32_MAX);
    row.forward = phase(2, "the forward");
    row.input_grad = phase(5, "the input gradient's");
    row.weight_grad = phase(8, "the weight gradient's");
    row.update = time(fields_[11], "the update time");
    if (is_customized) {
      if (const auto own = policy(fields_[12], true)) row.policy = *own;
    }
    result_.rows.push_back(std::move(row));
  }

  LayerPhase phase(std::size_t first, const std::string& whose) {
    LayerPhase phase;
    phase.compute = time(fields_[first], fmt::format("{} time", whose));
    read_collective(fields_[first + 1], phase);
    const auto bytes =
        number(fields_[first + 2], fmt::format("{} communication size", whose), 0, static_cast<std::uint64_t>(op_size_max.count()));
    if (bytes) phase.bytes = Bytes::of(static_cast<std::int64_t>(*bytes));
    if (fields_[first + 1].text == "NONE" && phase.bytes > Bytes::zero()) ++result_.idle_sizes;
    return phase;
  }

  Duration time(const LayerField& field, const std::string& what) {
    const auto most = static_cast<std::uint64_t>(op_duration_max.in_ticks() / time_unit_.in_ticks());
    const auto value = number(field, what, 0, most);
    return value ? time_unit_ * static_cast<std::int64_t>(*value) : Duration::zero();
  }

  void read_collective(const LayerField& field, LayerPhase& phase) {
    std::string_view name = field.text;
    if (name == "NONE") return;
    const bool is_simai = dialect_ == LayerDialect::simai;
    for (const NamedGroup& known : named_groups) {
      if (!name.ends_with(known.suffix)) continue;
      name.remove_suffix(known.suffix.size());
      phase.group = known.group;
      break;
    }
    std::vector<std::string> names = {"NONE"};
    for (const NamedCollective& known : collective_names) {
      if (known.name == name) phase.collective = known.type;
      names.emplace_back(known.name);
    }
    if (phase.collective && phase.group != LayerGroup::by_policy && !is_simai) {
      diagnostics_.error("unknown-group",
                         fmt::format("{} names a group, which ASTRA-sim's dialect has no word for", in_quotes(field.text)),
                         place(field), "this is SimAI's dialect: name the file FILE:simai");
    }
    if (phase.collective) return;
    if (name == "ALLREDUCEALLTOALL") {
      diagnostics_.error("unsupported-collective", "ALLREDUCEALLTOALL differs by network dimension, which is not simulated",
                         place(field), "write ALLREDUCE or ALLTOALL, in two rows if both take place");
      return;
    }
    const std::size_t underscore = name.find('_');
    const std::string stem(name.substr(0, underscore));
    if (underscore != std::string_view::npos && std::find(names.begin(), names.end(), stem) != names.end()) {
      const std::vector<std::string> suffixes = {"_TP", "_DP", "_EP", "_DP_EP"};
      diagnostics_.error("unknown-group", fmt::format("{} names no known group of ranks", in_quotes(field.text)), place(field),
                         suggestion(name.substr(underscore), suffixes, "group"));
      return;
    }
    diagnostics_.error("unknown-collective", fmt::format("there is no communication type {}", in_quotes(field.text)), place(field),
                       suggestion(name, names, "type"));
  }

  void check_checkpoints() {
    for (const auto* list : {&result_.checkpoints, &result_.checkpoint_initiates}) {
      for (const HeaderNumber& row : *list) {
        if (row.value < seen_) continue;
        diagnostics_.error("out-of-range", fmt::format("row {} does not exist", row.value),
                           source_.at(result_.header_line, row.column, row.length),
                           fmt::format("rows are counted from 0; there are {}", seen_));
      }
    }
  }

  const SourceText& source_;
  LayerDialect dialect_;
  Duration time_unit_;
  Diagnostics diagnostics_;
  LayerRows result_;
  std::vector<LayerField> fields_;
  int line_ = 0;
  std::uint64_t seen_ = 0;
  SourcePlace count_place_;
};

}  // namespace

std::string_view to_text(LayerPolicy policy) {
  for (const NamedPolicy& known : policy_names) {
    if (known.policy == policy) return known.name;
  }
  return "?";
}

LayerRows read_layer_rows(const SourceText& source, LayerDialect dialect, Duration time_unit) {
  return RowReader(source, dialect, time_unit).read();
}

}  // namespace weft
