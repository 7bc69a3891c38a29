// SPDX-License-Identifier: Apache-2.0
#include "tools/report/projection_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/report/reduction.hpp"
#include "tools/report/report_page.hpp"
#include "tools/report/run_folder.hpp"

namespace weft {

namespace {

constexpr std::size_t plans_drawn_max = 2000;
constexpr std::size_t plan_rows_max = 2000;
constexpr std::size_t stages_drawn_max = 32;

double number_of(const ReportJson& json, const char* name) { return results_number(json, name).value_or(0); }

std::string operation_rate(double operations_per_s) { return fmt::format("{:.4g} TFLOP/s of a GPU", operations_per_s / 1e12); }

/// Of a bar that is stacked from parts: names of parts in order of their first mention.
class Stack {
 public:
  void begin(std::string category) { categories_.push_back(std::move(category)); }
  void add(const std::string& part, double value) {
    auto found = std::ranges::find(parts_, part, &Part::name);
    if (found == parts_.end()) found = parts_.insert(parts_.end(), Part{part});
    found->values.resize(categories_.size());
    found->values.back() = value;
  }
  bool is_empty() const { return parts_.empty(); }
  ReportJson chart(std::string id, std::string title, std::string caption, const char* category_name, const ReportAxis& y) const {
    ReportJson chart = chart_of("bars", std::move(id), std::move(title), std::move(caption));
    chart["category_name"] = category_name;
    chart["categories"] = categories_;
    chart["y"] = y.json();
    chart["series"] = ReportJson::array();
    for (const Part& part : parts_) {
      ReportJson values = ReportJson::array();
      for (std::size_t i = 0; i < categories_.size(); ++i)
        values.push_back(i < part.values.size() && part.values[i] ? ReportJson(*part.values[i]) : ReportJson());
      chart["series"].push_back({{"name", part.name}, {"values", std::move(values)}});
    }
    return chart;
  }

 private:
  struct Part {
    std::string name;
    std::vector<std::optional<double>> values = {};
  };
  std::vector<std::string> categories_;
  std::vector<Part> parts_;
};

// --- Iterations ---

/// "pp" is what a pipeline's stages wait for each other and for messages: its bubble.
std::string exposed_name(const std::string& axis) {
  if (axis == "pp") return "pp: bubble and messages";
  return "exposed: " + axis;
}

void add_iterations(const ReportJson& projections, ReportSection& section) {
  Stack stack;
  ReportTable table{"iterations-table",
                    "Projections",
                    {{"cluster", "text"},
                     {"projection", "text"},
                     {"iteration", "s"},
                     {"tokens per second", ""},
                     {"of the peak (MFU)", "share"},
                     {"exposed", "s"},
                     {"link to blame", "text"}}};
  double fastest_s = HUGE_VAL;
  double slowest_s = 0;
  for (const ReportJson& projection : projections) {
    const std::string cluster = results_text(projection, "cluster");
    for (const ReportJson& column : results_list(projection, "projections")) {
      const std::string name = results_text(column, "name");
      const double iteration_s = number_of(column, "iteration_s");
      stack.begin(projections.size() > 1 ? fmt::format("{}, {}", cluster, name) : name);
      double exposed_s = 0;
      for (const auto& [axis, value] : results_object(column, "exposed_by_axis_s").items()) {
        if (value.is_number()) exposed_s += value.get<double>();
      }
      stack.add("computation", std::max(0.0, iteration_s - exposed_s));
      for (const auto& [axis, value] : results_object(column, "exposed_by_axis_s").items()) {
        if (value.is_number() && value.get<double>() > 0) stack.add(exposed_name(axis), value.get<double>());
      }
      fastest_s = std::min(fastest_s, iteration_s);
      slowest_s = std::max(slowest_s, iteration_s);
      const ReportJson& blamed = results_object(column, "link_to_blame");
      table.rows.push_back(
          ReportJson::array({cluster, name, iteration_s, results_cell(column, "tokens_per_s"), results_cell(column, "mfu"),
                             results_cell(column, "exposed_s"), results_text(blamed, "link")}));
    }
  }
  if (table.rows.empty()) return;
  section.charts.push_back(stack.chart(
      "breakdown", "What an iteration's time goes into",
      fmt::format("Computation, with the communication that it hides, and communication that nothing hides, by axis of "
                  "the plan: tensor (tp), context (cp), pipeline (pp), expert (ep), data (dp). {}.",
                  fastest_s < slowest_s ? fmt::format("Iterations take from {} to {}", readable(fastest_s), readable(slowest_s))
                                        : fmt::format("The iteration takes {}", readable(fastest_s))),
      "projection", ReportAxis{"time per iteration", "s"}));
  section.tables.push_back(std::move(table));
}

void add_parts(const ReportJson& projections, ReportSection& section) {
  Stack stack;
  std::string largest;
  double largest_s = 0;
  for (const ReportJson& projection : projections) {
    const ReportJson& parts = results_object(projection, "isolated_parts_s");
    if (parts.empty()) continue;
    stack.begin(results_text(projection, "cluster"));
    for (const auto& [name, value] : parts.items()) {
      if (!value.is_number()) continue;
      stack.add(name, value.get<double>());
      if (value.get<double>() >= largest_s && name != "compute") {
        largest_s = value.get<double>();
        largest = name;
      }
    }
  }
  if (stack.is_empty()) return;
  section.charts.push_back(stack.chart(
      "parts", "The isolated iteration, part by part",
      fmt::format("In closed form, on an empty network. Beside computation most goes to \"{}\": {}.", largest, readable(largest_s)),
      "cluster", ReportAxis{"time per iteration", "s"}));
}

ReportTable communication_table(const ReportJson& projections) {
  ReportTable table{"communication-table",
                    "Communication of a GPU in the isolated iteration",
                    {{"cluster", "text"},
                     {"axis", "text"},
                     {"what", "text"},
                     {"of", "text"},
                     {"times", ""},
                     {"bytes", "bytes"},
                     {"takes", "s"},
                     {"exposed", "s"}}};
  for (const ReportJson& projection : projections) {
    for (const ReportJson& row : results_list(projection, "isolated_communication")) {
      table.rows.push_back(ReportJson::array(
          {results_text(projection, "cluster"), results_text(row, "axis"), results_text(row, "what"), results_text(row, "of"),
           results_cell(row, "count"), results_cell(row, "bytes"), results_cell(row, "busy_s"), results_cell(row, "exposed_s")}));
    }
  }
  return table;
}

// --- Memory ---

struct MemoryPart {
  const char* member;
  const char* name;
};
constexpr std::array<MemoryPart, 7> memory_parts = {{
    {"parameters_bytes", "parameters"},
    {"gradients_bytes", "gradients"},
    {"optimizer_bytes", "optimizer"},
    {"activations_bytes", "activations"},
    {"working_bytes", "working"},
    {"recomputed_bytes", "recomputed"},
    {"communicators_bytes", "communicators"},
}};

const ReportJson& simulated_memory(const ReportJson& memory) {
  const ReportJson& simulate = results_object(memory, "simulate");
  return simulate.empty() ? results_object(memory, "benchmark") : simulate;
}

double largest_stage_bytes(const ReportJson& memory) {
  double most = 0;
  for (const ReportJson& stage : results_list(simulated_memory(memory), "stages"))
    most = std::max(most, number_of(stage, "total_bytes"));
  return most;
}

void add_memory(const ReportJson& memory, const std::string& cluster, std::string id, ReportSection& section) {
  const ReportJson& stages = results_list(simulated_memory(memory), "stages");
  if (stages.empty()) return;
  Stack stack;
  const std::vector<std::size_t> kept = which_to_keep(stages.size(), stages_drawn_max);
  for (const std::size_t i : kept) {
    stack.begin(fmt::format("stage {}", number_of(stages[i], "stage")));
    for (const MemoryPart& part : memory_parts) {
      const double bytes = number_of(stages[i], part.member);
      if (bytes > 0) stack.add(part.name, bytes);
    }
  }
  const double has = number_of(memory, "gpu_memory_bytes");
  const double most = largest_stage_bytes(memory);
  ReportJson chart =
      stack.chart(std::move(id), fmt::format("Memory of a GPU, {}", cluster),
                  fmt::format("By stage of the pipeline, at its fullest. The fullest stage needs {}, {} of the {} of "
                              "{}.",
                              readable_bytes(most), has > 0 ? readable_share(most / has) : "an unknown share", readable_bytes(has),
                              results_text(memory, "gpu")),
                  "stage", ReportAxis{"memory", "bytes"});
  if (kept.size() < stages.size())
    chart["note"] = fmt::format("{} of {} stages are drawn, every {}th.", kept.size(), stages.size(), kept[1]);
  section.charts.push_back(std::move(chart));
}

// --- Plans ---

std::string plan_text(const ReportJson& plan) {
  std::string text = fmt::format("TP {}, CP {}, PP {}", number_of(plan, "tensor_parallel"), number_of(plan, "context_parallel"),
                                 number_of(plan, "pipeline_parallel"));
  if (number_of(plan, "virtual_pipeline") > 1) text += fmt::format(" x {}", number_of(plan, "virtual_pipeline"));
  text += fmt::format(", DP {}", number_of(plan, "data_parallel"));
  if (number_of(plan, "expert_parallel") > 1) text += fmt::format(", EP {}", number_of(plan, "expert_parallel"));
  text += fmt::format(", ZeRO {}, microbatch {}", number_of(plan, "zero_stage"), number_of(plan, "microbatch"));
  if (const std::string recompute = results_text(plan, "recompute"); recompute != "none") text += ", recompute " + recompute;
  return text;
}

double plan_time(const ReportJson& plan) { return results_number(plan, "simulated_s").value_or(number_of(plan, "estimated_s")); }

void add_pareto(const ReportJson& json, ReportSection& section) {
  const ReportJson& plans = results_list(json, "plans");
  std::vector<bool> is_front(plans.size(), false);
  for (const ReportJson& i : results_list(json, "pareto")) {
    if (i.is_number_unsigned() && i.get<std::size_t>() < plans.size()) is_front[i.get<std::size_t>()] = true;
  }
  ReportSeries front{"not beaten in both"};
  ReportSeries others{"beaten"};
  std::vector<std::size_t> beaten;
  std::vector<std::size_t> unbeaten;
  for (std::size_t i = 0; i < plans.size(); ++i) (is_front[i] ? unbeaten : beaten).push_back(i);
  const auto memory = [&](std::size_t i) { return number_of(plans[i], "memory_bytes"); };
  std::ranges::stable_sort(unbeaten, [&](std::size_t a, std::size_t b) { return memory(a) < memory(b); });
  const auto take = [&](std::size_t i, ReportSeries& series) {
    series.values.emplace_back(memory(i), plan_time(plans[i]));
    series.labels.push_back(plan_text(plans[i]));
  };
  for (const std::size_t i : unbeaten) take(i, front);
  const std::vector<std::size_t> kept = which_to_keep(beaten.size(), plans_drawn_max);
  for (const std::size_t i : kept) take(beaten[i], others);
  std::vector<ReportSeries> series = {front};
  if (!others.values.empty()) series.push_back(others);
  ReportJson chart = xy_chart("scatter", "pareto", "Iteration time against memory",
                              fmt::format("Each plan that fits. {} by another in both time and memory. The fastest is {}: {}.",
                                          counted(unbeaten.size(), "is not beaten", "are not beaten"), plan_text(plans.front()),
                                          readable(plan_time(plans.front()))),
                              ReportAxis{"memory of a GPU", "bytes"}, ReportAxis{"time per iteration", "s"}, series);
  chart["joined"] = ReportJson::array({front.name});
  if (kept.size() < beaten.size())
    chart["note"] = fmt::format("Of {} plans that are beaten every {}th is drawn.", beaten.size(), kept[1]);
  section.charts.push_back(std::move(chart));
}

void add_formula_check(const ReportJson& json, ReportSection& section) {
  ReportSeries points{"plans"};
  ReportSeries equal{"as estimated"};
  double low = HUGE_VAL;
  double high = 0;
  for (const ReportJson& plan : results_list(json, "plans")) {
    const std::optional<double> simulated = results_number(plan, "simulated_s");
    if (!simulated) continue;
    points.values.emplace_back(number_of(plan, "estimated_s"), *simulated);
    points.labels.push_back(plan_text(plan));
    low = std::min(low, number_of(plan, "estimated_s"));
    high = std::max(high, number_of(plan, "estimated_s"));
  }
  constexpr std::size_t worth_a_chart = 3;
  if (points.values.size() < worth_a_chart) return;
  equal.values = {{low, low}, {high, high}};
  const std::optional<double> correlation = results_number(json, "rank_correlation");
  const std::vector<ReportSeries> series = {points, equal};
  ReportJson chart =
      xy_chart("scatter", "formula", "Simulated against estimated times",
               fmt::format("The {} that were simulated on the fabric, by what the formula says of them.{}",
                           counted(points.values.size(), "plan", "plans"),
                           correlation ? fmt::format(" Their order agrees with a rank correlation of {:.2f}.", *correlation) : ""),
               ReportAxis{"estimated", "s"}, ReportAxis{"simulated", "s"}, series);
  chart["joined"] = ReportJson::array({equal.name});
  section.charts.push_back(std::move(chart));
}

ReportTable plans_table(const ReportJson& json) {
  const ReportJson& plans = results_list(json, "plans");
  ReportTable table{
      "plans-table",
      "Plans, the fastest first",
      {{"plan", "text"}, {"iteration, estimated", "s"}, {"simulated", "s"}, {"memory", "bytes"}, {"TFLOP/s of a GPU", ""}}};
  for (std::size_t i = 0; i < std::min(plans.size(), plan_rows_max); ++i) {
    table.rows.push_back(
        ReportJson::array({plan_text(plans[i]), results_cell(plans[i], "estimated_s"), results_cell(plans[i], "simulated_s"),
                           results_cell(plans[i], "memory_bytes"), number_of(plans[i], "operations_per_s_and_gpu") / 1e12}));
  }
  if (plans.size() > plan_rows_max) table.note = fmt::format("The first {} of {} plans.", plan_rows_max, plans.size());
  return table;
}

}  // namespace

Report projection_report(const std::filesystem::path& folder) {
  const ReportJson json = read_results_json(folder / projection_data_file);
  const ReportJson& projections = results_list(json, "projections");
  const ReportJson& memories = results_list(json, "memory");
  Report report;
  report.kind = "projection";
  if (projections.empty()) return report;
  const ReportJson& first = projections.front();
  report.title = fmt::format("{}, {}", results_text(first, "model"), results_text(first, "plan"));
  report.subtitle =
      fmt::format("{}; {} sequences of {} tokens; operator times: {}",
                  projections.size() > 1 ? counted(projections.size(), "cluster", "clusters") : results_text(first, "cluster"),
                  number_of(first, "global_batch"), number_of(first, "sequence_tokens"), results_text(first, "operator_times"));
  for (std::size_t i = 0; i < projections.size(); ++i) {
    const ReportJson& columns = results_list(projections[i], "projections");
    if (columns.empty()) continue;
    // The last one knows most: the fabric, and who else is on it.
    const ReportJson& best = columns.back();
    const std::string cluster = results_text(projections[i], "cluster");
    const std::string of =
        projections.size() > 1 ? fmt::format("{}, {}", results_text(best, "name"), cluster) : results_text(best, "name");
    report.figures.push_back({"Iteration", results_cell(best, "iteration_s"), "s", of});
    if (projections.size() > 1) continue;
    report.figures.push_back(
        {"Tokens per second", results_cell(best, "tokens_per_s"), "", operation_rate(number_of(best, "operations_per_s_and_gpu"))});
    if (results_number(best, "mfu")) report.figures.push_back({"Of the GPUs' peak (MFU)", results_cell(best, "mfu"), "share", ""});
    report.figures.push_back({"Exposed communication", results_cell(best, "exposed_s"), "s", "that no computation hides"});
    if (results_number(best, "hours"))
      report.figures.push_back({"Training", number_of(best, "hours") * 3600, "s", "for all tokens"});
    if (!memories.empty() && !memories.front().empty())
      report.figures.push_back({"Memory of a GPU", largest_stage_bytes(memories.front()), "bytes",
                                fmt::format("of {}", readable_bytes(number_of(memories.front(), "gpu_memory_bytes")))});
  }
  ReportSection& iterations = report.sections.emplace_back(ReportSection{"iterations", "Iterations"});
  add_iterations(projections, iterations);
  add_parts(projections, iterations);
  ReportSection& memory = report.sections.emplace_back(ReportSection{"memory-section", "Memory"});
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (i < projections.size())
      add_memory(memories[i], results_text(projections[i], "cluster"), fmt::format("memory-{}", i), memory);
  }
  ReportSection& communication = report.sections.emplace_back(ReportSection{"communication", "Communication"});
  ReportTable table = communication_table(projections);
  if (!table.rows.empty()) communication.tables.push_back(std::move(table));
  ReportSection& notes = report.sections.emplace_back(ReportSection{"notes", "Assumptions and notes"});
  for (const ReportJson& projection : projections) {
    for (const std::string& note : results_texts(projection, "notes")) {
      if (std::ranges::find(notes.notes, note) == notes.notes.end()) notes.notes.push_back(note);
    }
  }
  return report;
}

Report plan_search_report(const std::filesystem::path& folder) {
  const ReportJson json = read_results_json(folder / plan_search_data_file);
  const ReportJson& plans = results_list(json, "plans");
  Report report;
  report.kind = "plan search";
  report.title = fmt::format("Plans of {} on {} GPUs", results_text(json, "model"), number_of(json, "gpus"));
  report.subtitle = fmt::format("{}; operator times: {}", results_text(json, "cluster"), results_text(json, "operator_times"));
  report.figures.push_back(
      {"Plans that fit", results_cell(json, "plans_that_fit"), "",
       fmt::format("{} need more than {}", number_of(json, "out_of_memory"), readable_bytes(number_of(json, "gpu_memory_bytes")))});
  if (plans.empty()) {
    report.warnings.push_back("No plan fits.");
    return report;
  }
  const ReportJson& best = plans.front();
  report.figures.push_back({"Fastest plan", plan_text(best), "text", results_text(best, "schedule")});
  report.figures.push_back(
      {"Its iteration", plan_time(best), "s", results_number(best, "simulated_s") ? "simulated" : "estimated"});
  report.figures.push_back({"Its memory", results_cell(best, "memory_bytes"), "bytes",
                            fmt::format("of {}", readable_bytes(number_of(json, "gpu_memory_bytes")))});
  if (results_number(json, "rank_correlation"))
    report.figures.push_back({"Rank correlation", results_cell(json, "rank_correlation"), "", "of estimated and simulated times"});
  ReportSection& section = report.sections.emplace_back(ReportSection{"plans", "Plans"});
  add_pareto(json, section);
  add_formula_check(json, section);
  section.tables.push_back(plans_table(json));
  return report;
}

}  // namespace weft
