// SPDX-License-Identifier: Apache-2.0
#include "host/projections/component_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/text_pieces.hpp"

namespace weft {

namespace {

constexpr double component_us_max = 1e10;                 // hours: no time of an operator
constexpr std::uint64_t step_microbatches_max = 500'000;  // of all stages

/// How often a layer has an operator.
struct LayerOperator {
  std::string_view name;
  std::uint32_t times = 1;
};
constexpr std::array layer_operators = {LayerOperator{"RMSlayernorm", 2},
                                        LayerOperator{"layernorm", 2},
                                        LayerOperator{"linear1"},
                                        LayerOperator{"RoPE"},
                                        LayerOperator{"flash_atten"},
                                        LayerOperator{"baddbmm"},
                                        LayerOperator{"bmm"},
                                        LayerOperator{"fillmask"},
                                        LayerOperator{"softmax"},
                                        LayerOperator{"ScaledUpperTriangMaskedSoftmax"},
                                        LayerOperator{"linear2"},
                                        LayerOperator{"linear3"},
                                        LayerOperator{"gelu"},
                                        LayerOperator{"linear4"},
                                        LayerOperator{"res_add", 2}};
constexpr std::array norm_names = {std::string_view("RMSlayernorm"), std::string_view("layernorm")};

constexpr std::string_view embedding_name = "embedding";
constexpr std::string_view output_name = "linear_final";
constexpr std::string_view loss_name = "parallel_cross_entropy_128";
constexpr std::string_view step_name = "all_F_all_B_max_optimizer";
constexpr std::size_t stage_kinds = 3;

/// Every module and how many numbers it has.
std::map<std::string, std::size_t> known_modules() {
  std::map<std::string, std::size_t> known;
  const auto add_pair = [&](std::string_view name) {
    known[fmt::format("{}_fwd", name)] = 1;
    known[fmt::format("{}_bwd", name)] = 1;
  };
  for (const LayerOperator& op : layer_operators) add_pair(op.name);
  for (const std::string_view name : {embedding_name, output_name, loss_name, std::string_view("encoder")}) add_pair(name);
  for (const char* name : {"pp_p2p", "mp_allreduce"}) known[name] = 1;
  for (const char* name : {"dp_allreduce", "dp_allgather", "optimizer", "update", "stage_fwd", "stage_bwd"})
    known[name] = stage_kinds;
  known[std::string(step_name)] = 1;
  return known;
}

/// "[1, 2 3]" or "1" as texts.
std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  constexpr std::string_view between = "[](), \t";
  while (!text.empty()) {
    const std::string_view item = next_part(text, between);
    if (!item.empty()) items.push_back(item);
  }
  return items;
}

struct ComponentRow {
  std::vector<double> values_us;
  SourcePlace place;
};

class ComponentReader {
 public:
  explicit ComponentReader(const SourceText& source) : source_(source) {}

  ComponentTable read() {
    read_rows();
    diagnostics_.throw_if_errors();
    fill_layers();
    fill_stages();
    diagnostics_.throw_if_errors();
    check_encoder();
    find_layers();
    diagnostics_.throw_if_errors();
    return std::move(table_);
  }

 private:
  enum Column : std::size_t { module, parameter, prediction };

  void error(const char* code, std::string message, const SourcePlace& place, std::string help) {
    diagnostics_.error(code, std::move(message), place, std::move(help));
  }

  void read_rows() {
    const bool is_misspelt = source_.line(1).find("predition(us)") != std::string_view::npos;
    const std::array columns = {CsvColumn{"module"}, CsvColumn{"parameter"},
                                CsvColumn{is_misspelt ? "predition(us)" : "prediction(us)"}};
    CsvReader csv(source_, columns, OtherColumns::allowed, diagnostics_);
    const std::map<std::string, std::size_t> known = known_modules();
    std::vector<std::string> names;
    for (const auto& [name, count] : known) names.push_back(name);
    while (csv.next()) {
      const std::string name(csv.field(module));
      const auto found = known.find(name);
      if (found == known.end()) {
        csv.fault(module, "unknown-component", fmt::format("there is no component {}", in_quotes(name)),
                  suggestion(name, names, "component"));
        continue;
      }
      std::vector<double> values = values_of(csv, found->second);
      if (values.empty()) continue;
      if (name == step_name) read_step(csv, values.front());
      const auto [first, is_new] = rows_.emplace(name, ComponentRow{std::move(values), csv.place(module)});
      if (!is_new) {
        csv.fault(module, "duplicate-component", fmt::format("{} stands twice", in_quotes(name)),
                  fmt::format("it stands first at line {}", first->second.place.line));
      }
    }
  }

  /// So many numbers; none if they are wrong.
  std::vector<double> values_of(CsvReader& csv, std::size_t count) {
    const std::vector<std::string_view> items = items_of(csv.field(prediction));
    if (items.size() != count) {
      csv.fault(prediction, "wrong-count", fmt::format("{} numbers stand here, not {}", items.size(), count),
                count == 1 ? "write one time in microseconds" : "write those of the first, a middle and the last stage: [1, 2, 3]");
      return {};
    }
    std::vector<double> values;
    for (const std::string_view item : items) {
      const std::optional<double> value = plain_number<double>(item);
      if (!value || std::isnan(*value)) {
        csv.fault(prediction, "bad-value", fmt::format("{} is no number", in_quotes(item)), "write plain decimal numbers");
        return {};
      }
      if (*value < 0 || *value > component_us_max) {
        csv.fault(prediction, "out-of-range", fmt::format("{} is not from 0 to {:g} us", item, component_us_max),
                  "times are in microseconds");
        return {};
      }
      values.push_back(*value);
    }
    return values;
  }

  void read_step(CsvReader& csv, double step_us) {
    constexpr std::size_t stages_at = 0;
    constexpr std::size_t microbatches_at = 7;
    constexpr std::size_t parameters = 9;
    const std::vector<std::string_view> items = items_of(csv.field(parameter));
    if (items.size() != parameters) {
      csv.fault(parameter, "wrong-count", fmt::format("{} numbers stand here, not {}", items.size(), parameters),
                "they are PP, MP, DP, b, h, l, dim, microbatches, GPUs per node");
      return;
    }
    const auto stages = plain_number<std::uint32_t>(items[stages_at]);
    const auto microbatches = plain_number<std::uint32_t>(items[microbatches_at]);
    const bool fits = stages && microbatches && *stages > 0 && *microbatches > 0 &&
                      std::uint64_t{*stages} * *microbatches <= step_microbatches_max;
    if (!fits) {
      csv.fault(parameter, "out-of-range", fmt::format("stages x microbatches is not from 1 to {}", step_microbatches_max),
                "they are the first and the eighth number");
      return;
    }
    table_.step = PublishedStep{*stages, *microbatches, step_us};
  }

  // --- From rows to components ---

  bool has(const std::string& name) const { return rows_.contains(name); }

  double value(const std::string& name, std::size_t at = 0) {
    const auto found = rows_.find(name);
    if (found != rows_.end()) return found->second.values_us[at];
    error("missing-component", fmt::format("the table has no row {}", in_quotes(name)), source_.whole_file(),
          "the step is composed of it; write 0 if it takes no time");
    return 0;
  }

  PassPair pair(std::string_view name) { return {value(fmt::format("{}_fwd", name)), value(fmt::format("{}_bwd", name))}; }

  void fill_layers() {
    ComponentTimes& times = table_.times;
    for (const LayerOperator& op : layer_operators) {
      if (!has(fmt::format("{}_fwd", op.name)) && !has(fmt::format("{}_bwd", op.name))) continue;
      const PassPair passes = pair(op.name);
      times.encoder.insert(times.encoder.end(), op.times, passes);
      if (std::ranges::find(norm_names, op.name) != norm_names.end()) {
        if (has_norm_) {
          error("contradicting-rows", "the table has two kinds of norms", source_.whole_file(), "a model has one of them");
        }
        times.final_norm = passes;
        has_norm_ = true;
      }
    }
    if (!has_norm_) {
      error("missing-component", "the table has no norm", source_.whole_file(), "it is RMSlayernorm or layernorm");
    }
    times.embedding = pair(embedding_name);
    times.output = pair(output_name);
    times.loss = pair(loss_name);
    times.tensor_all_reduce_us = value("mp_allreduce");
    times.transfer_us = value("pp_p2p");
  }

  void fill_stages() {
    const std::array updates = {&table_.times.first_update, &table_.times.middle_update, &table_.times.last_update};
    for (const char* name : {"dp_allreduce", "optimizer", "dp_allgather"}) value(name);
    if (diagnostics_.has_errors()) return;
    for (std::size_t i = 0; i < updates.size(); ++i)
      *updates[i] = {value("dp_allreduce", i), value("optimizer", i), value("dp_allgather", i)};
    for (std::size_t i = 0; i < updates.size() && has("update"); ++i) {
      const double made = updates[i]->optimizer_us + updates[i]->all_gather_us;
      check_row("update", i, made, "optimizer and all-gather make");
    }
  }

  // --- What the program made of its rows ---

  static bool is_close(double a, double b) {
    constexpr double rounding = 1e-6;
    return std::abs(a - b) <= rounding * std::max(std::abs(a), std::abs(b));
  }

  void check_row(const std::string& name, std::size_t at, double made_us, std::string_view by) {
    const ComponentRow& row = rows_.at(name);
    if (is_close(row.values_us[at], made_us)) return;
    error("contradicting-rows", fmt::format("{} is {} us, {} {} us", name, row.values_us[at], by, made_us), row.place,
          "leave the row out to have it computed");
  }

  void check_encoder() {
    const PassPair made = encoder_of(table_.times);
    if (has("encoder_fwd")) check_row("encoder_fwd", 0, made.forward_us, "operators and two all-reduces make");
    if (has("encoder_bwd")) check_row("encoder_bwd", 0, made.backward_us, "operators, all-reduces and a forward pass make");
  }

  /// Layers of each kind of stage, from what its passes take.
  void find_layers() {
    const PassPair encoder = encoder_of(table_.times);
    const ComponentTimes& times = table_.times;
    if (diagnostics_.has_errors() || !has("stage_fwd") || encoder.forward_us <= 0) return;
    const std::array beside = {times.embedding.forward_us + times.tensor_all_reduce_us, 0.0,
                               times.final_norm.forward_us + times.output.forward_us + times.loss.forward_us};
    const std::array beside_backward = {times.embedding.backward_us, 0.0,
                                        times.final_norm.backward_us + times.output.backward_us + times.loss.backward_us};
    std::array<std::uint64_t, stage_kinds> layers{};
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const double count = std::round((value("stage_fwd", i) - beside[i]) / encoder.forward_us);
      constexpr double most = 1e6;
      layers[i] = static_cast<std::uint64_t>(std::clamp(count, 0.0, most));
      const auto whole = static_cast<double>(layers[i]);
      check_row("stage_fwd", i, beside[i] + whole * encoder.forward_us, fmt::format("{} whole layers make", layers[i]));
      if (has("stage_bwd")) {
        check_row("stage_bwd", i, beside_backward[i] + whole * encoder.backward_us, fmt::format("{} whole layers make", layers[i]));
      }
    }
    table_.layers = layers;
  }

  const SourceText& source_;
  Diagnostics diagnostics_;
  std::map<std::string, ComponentRow> rows_;
  ComponentTable table_;
  bool has_norm_ = false;
};

}  // namespace

std::vector<std::uint64_t> ComponentTable::layers_by_stage() const {
  // The program's three kinds of stages say nothing of a single one.
  if (!layers || !step || step->stages == 1) return {};
  const auto& [first, middle, last] = *layers;
  std::vector<std::uint64_t> by_stage(step->stages, middle);
  by_stage.front() = first;
  by_stage.back() = last;
  return by_stage;
}

ComponentTable read_component_times(const SourceText& source) {
  source.require_utf8_text("a table of component times");
  return ComponentReader(source).read();
}

}  // namespace weft
