// SPDX-License-Identifier: Apache-2.0
#include "tools/report/run_report.hpp"

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/report/run_sections.hpp"

namespace weft {

namespace {

/// "p99 3.4 ms, most 5 ms" of percentiles such as jct_p99_s.
std::string tail_of(const RunFolder& run, const std::string& name) {
  const std::optional<double> p99 = run.figure((name + "_p99_s").c_str());
  const std::optional<double> most = run.figure((name + "_max_s").c_str());
  if (!p99 || !most) return "";
  return fmt::format("99 % below {}, longest {}", readable(*p99), readable(*most));
}

void add_headline(const RunFolder& run, Report& report) {
  const auto add = [&](const char* name, const char* figure, const char* unit, std::string more) {
    const std::optional<double> value = run.figure(figure);
    if (value && *value != 0) report.figures.push_back({name, *value, unit, std::move(more)});
  };
  const double jobs = run.figure("jobs_total").value_or(0);
  if (run.figure("iterations").value_or(0) > 0) add("Iteration, mean", "mean_iteration_s", "s", tail_of(run, "iteration"));
  add("Communication that nothing hides", "exposed_comm_share", "share", "of the time of iterations");
  if (jobs > 0) add("Job completion time, mean", "mean_jct_s", "s", tail_of(run, "jct"));
  add("Waiting for GPUs, mean", "mean_wait_s", "s", tail_of(run, "wait"));
  const double finished = run.figure("jobs_finished").value_or(0);
  add("Makespan", "makespan_s", "s",
      jobs > 0 ? fmt::format("{} of {} finished", finished, counted(static_cast<std::uint64_t>(jobs), "job", "jobs")) : "");
  if (jobs > 0) {
    const auto gpus = static_cast<std::uint64_t>(run.figure("gpus").value_or(0));
    add("GPUs held by jobs", "gpu_utilization", "share", fmt::format("of {} over the makespan", counted(gpus, "GPU", "GPUs")));
    const double gpu_time = run.figure("gpu_time_s").value_or(0);
    const double stranded = run.figure("stranded_gpu_time_s").value_or(0);
    if (stranded > 0)
      report.figures.push_back({"GPU time stranded", stranded / (gpu_time / run.figure("gpu_utilization").value_or(1)), "share",
                                "free while jobs waited, of all GPU time"});
    if (run.figure("failures").value_or(0) + run.figure("preemptions").value_or(0) > 0)
      add("Goodput", "goodput", "share", "work that counts, of all GPU time");
  }
  add("Transfer completion, mean", "mean_fct_s", "s", tail_of(run, "fct"));
  const std::optional<double> slow = run.figure("slowdown_p99");
  add("Slowdown of transfers, mean", "mean_slowdown", "",
      slow ? fmt::format("99 % below {:.3g}; 1 is alone in the network", *slow) : "");
  add("Busiest link", "max_link_utilization", "share", results_text(run.summary, "busiest_link"));
  const auto packets = run.summary.find("packets");
  if (packets != run.summary.end() && packets->is_object()) {
    const double sent = results_number(*packets, "data").value_or(0);
    report.figures.push_back(
        {"Packets marked (ECN)", results_number(*packets, "ecn_marks").value_or(0), "",
         fmt::format("{} pauses, {} drops, {} sent again", results_number(*packets, "pauses").value_or(0),
                     results_number(*packets, "drops").value_or(0), results_number(*packets, "repeated").value_or(0))});
    if (sent > 0) report.figures.back().more += fmt::format(" of {} packets", sent);
  }
  const auto flow_mode = run.summary.find("flow_mode");
  if (flow_mode != run.summary.end() && flow_mode->is_object()) {
    const bool has_iterations = results_number(*flow_mode, "mean_iteration_s").value_or(0) > 0;
    const char* name = has_iterations ? "mean_iteration_s" : "mean_fct_s";
    const double flow = results_number(*flow_mode, name).value_or(0);
    const double packet = run.figure(name).value_or(0);
    if (flow > 0)
      report.figures.push_back({"What packets add", packet / flow - 1, "share",
                                fmt::format("to the mean {} of the same run in flow mode, {}",
                                            has_iterations ? "iteration" : "completion", readable(flow))});
  }
}

ReportSection notes_section(const RunFolder& run) {
  ReportSection section{"notes", "Assumptions and notes"};
  section.notes = results_texts(run.manifest, "assumptions");
  const std::vector<std::string> notes = results_texts(run.summary, "notes");
  section.notes.insert(section.notes.end(), notes.begin(), notes.end());
  if (const auto flow = run.summary.find("flow_mode"); flow != run.summary.end() && flow->is_object()) {
    const std::string because = results_text(*flow, "left_out_because");
    if (!because.empty()) section.notes.push_back("No comparison with flow mode: " + because);
  }
  if (const auto fast = run.summary.find("fast_forward"); fast != run.summary.end() && fast->is_object())
    section.notes.push_back("Iterations were fast-forwarded: figures of iterations, transfers and links are of those simulated.");
  if (section.notes.empty()) {
    section.text.push_back("The run noted nothing: no input was left out or completed, and no setting held the network back.");
  } else {
    section.text.push_back("What the run took for granted, left out, or found to hold results back.");
  }
  return section;
}

ReportSection manifest_section(const RunFolder& run) {
  ReportSection section{"inputs", "What went in"};
  ReportTable inputs{"inputs-table", "Input files", {{"role", "text"}, {"path", "text"}, {"size", "bytes"}, {"SHA-256", "text"}}};
  for (const ReportJson& input : results_list(run.manifest, "inputs")) {
    if (!input.is_object()) continue;
    inputs.rows.push_back(ReportJson::array({results_text(input, "role"), results_text(input, "path"),
                                             results_number(input, "size_bytes").value_or(0), results_text(input, "sha256")}));
  }
  if (!inputs.rows.empty()) section.tables.push_back(std::move(inputs));
  ReportTable facts = facts_table("The run", run.manifest);
  facts.rows.push_back(ReportJson::array({"fingerprint", results_text(run.summary, "fingerprint")}));
  section.tables.push_back(std::move(facts));
  const std::vector<std::pair<std::string, std::string>> columns = {
      {"parameter", "text"}, {"value", "text"}, {"default", "text"}, {"origin of the default", "text"}};
  ReportTable changed{"changed-table", "Parameters that were set", columns};
  ReportTable others{"parameters-table", "Parameters at their defaults", columns};
  if (const auto modules = run.manifest.find("parameters"); modules != run.manifest.end() && modules->is_object()) {
    for (const auto& [module, parameters] : modules->items()) {
      if (!parameters.is_object()) continue;
      for (const auto& [name, parameter] : parameters.items()) {
        if (!parameter.is_object()) continue;
        const std::string value = results_text(parameter, "value");
        const std::string standard = results_text(parameter, "default");
        (value == standard ? others : changed)
            .rows.push_back(ReportJson::array({module + '.' + name, value, standard, results_text(parameter, "origin")}));
      }
    }
  }
  if (!changed.rows.empty()) section.tables.push_back(std::move(changed));
  if (!others.rows.empty()) section.tables.push_back(std::move(others));
  return section;
}

}  // namespace

Report run_report(const std::filesystem::path& folder) {
  const RunFolder run{folder, read_results_json(folder / "summary.json"), read_results_json(folder / "manifest.json")};
  Report report;
  report.kind = "run";
  const std::string name = results_text(run.summary, "name");
  report.title = name.empty() ? folder.filename().string() : name;
  const double seed = results_number(run.manifest, "seed").value_or(1);
  report.subtitle = fmt::format("{} mode, seed {}, fingerprint {}", results_text(run.summary, "mode"), seed,
                                results_text(run.summary, "fingerprint"));
  if (const auto interrupted = run.summary.find("interrupted"); interrupted != run.summary.end() && *interrupted == true)
    report.warnings.push_back("The run was interrupted. What follows is of what had finished by then.");
  if (const std::optional<double> stopped = run.figure("stopped_at_s"))
    report.warnings.push_back(fmt::format(
        "The run was stopped at {}, as it was asked to. What follows is of what had finished by then.", readable(*stopped)));
  if (const auto standstill = run.summary.find("standstill"); standstill != run.summary.end() && !standstill->empty())
    report.warnings.push_back("The run came to a standstill: jobs wait for what never comes. summary.json says for what.");
  add_headline(run, report);
  report.sections = {iterations_section(run), explained_section(run), jobs_section(run),  links_section(run),
                     transfers_section(run),  packets_section(run),   notes_section(run), manifest_section(run)};
  return report;
}

}  // namespace weft
