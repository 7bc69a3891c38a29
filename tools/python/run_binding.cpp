// SPDX-License-Identifier: Apache-2.0
// Runs for Python: tools/weft/requested_run with rows kept in memory.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/frames.hpp"
#include "tools/python/interruptible.hpp"
#include "tools/python/text.hpp"
#include "tools/report/report_page.hpp"
#include "tools/results/memory_sink.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/weft/requested_run.hpp"

namespace weft::python {

namespace {

namespace py = pybind11;

/// As `weft run` lists transfers: each, or above a million by class, or none.
constexpr std::uint64_t flows_listed_usually = 1'000'000;

std::uint64_t flows_listed_max(const std::string& listing) {
  if (listing == "off") return 0;
  return listing == "auto" ? flows_listed_usually : UINT64_MAX;
}

/// A run that is over, with its rows.
struct FinishedRun {
  explicit FinishedRun(const std::string& flows) : rows(flows_listed_max(flows)) {}

  MemorySink rows;
  RequestedOutcome outcome;
  std::uint64_t flows_in_classes = 0;
};

std::unique_ptr<FinishedRun> run_wanted(const RequestedRun& wanted, const std::string& flows, const py::object& progress) {
  return interruptible(progress, [&](Watch& watch) {
    auto run = std::make_unique<FinishedRun>(flows);
    RunWatch told;
    told.interrupt = watch.interrupt();
    told.progress = [&watch](const RunState& state) { watch.tell(state.what, state.done, state.total); };
    run->outcome = carry_out(wanted, &run->rows, told);
    run->flows_in_classes = run->rows.complete();
    return run;
  });
}

std::vector<std::string> standstill_of(const FinishedRun& run) {
  std::vector<std::string> texts;
  for (const Diagnostic& why : run.outcome.summary.standstill) texts.push_back(why.to_text());
  return texts;
}

py::list texts(const std::vector<std::string>& of) {
  py::list list;
  for (const std::string& text : of) list.append(text_of(text));
  return list;
}

/// The path of the page.
py::object reported(const std::string& folder) {
  std::string path;
  {
    const py::gil_scoped_release released;
    path = write_report(folder).string();
  }
  return text_of(path);
}

/// What a scenario is, without running it.
py::dict described(const RunFlags& flags) {
  std::optional<Scenario> scenario;
  {
    const py::gil_scoped_release released;
    scenario = load_scenario(flags);
    check_run(*scenario);
  }
  py::dict facts;
  facts["name"] = text_of(scenario->name);
  facts["mode"] = text_of(to_text(scenario->mode));
  facts["seed"] = scenario->seed;
  const bool has_topology = scenario->topology != nullptr;
  facts["hosts"] = has_topology ? scenario->topology->host_count() : scenario->hosts;
  if (!has_topology) facts["gpus"] = std::uint64_t{scenario->hosts} * scenario->gpus_per_host;
  if (has_topology) facts["links"] = scenario->topology->link_count();
  facts["jobs"] = scenario->jobs.size();
  facts["assumptions"] = texts(scenario->assumptions);
  return facts;
}

}  // namespace

void bind_runs(py::module_& module) {
  py::class_<WorkloadOptions>(module, "WorkloadOptions")
      .def_readwrite("ranks", &WorkloadOptions::ranks)
      .def_readwrite("iteration", &WorkloadOptions::iteration)
      .def_readwrite("process_groups", &WorkloadOptions::process_groups_path)
      .def_readwrite("time_unit", &WorkloadOptions::time_unit)
      .def_readwrite("as_recorded", &WorkloadOptions::collectives_as_recorded)
      .def("scale_group", [](WorkloadOptions& options, std::string name, std::uint32_t size) {
        options.group_sizes.push_back({std::move(name), size});
      });
  py::class_<JobTraceOptions>(module, "JobTraceOptions")
      .def_readwrite("strict", &JobTraceOptions::strict)
      .def_readwrite("time_zone", &JobTraceOptions::time_zone)
      .def_readwrite("throughputs", &JobTraceOptions::throughputs_path)
      .def_readwrite("gpu_type", &JobTraceOptions::gpu_type)
      .def_readwrite("limit_share", &JobTraceOptions::limit_share);
  py::class_<RunFlags>(module, "RunFlags")
      .def(py::init<>())
      .def_readwrite("scenario", &RunFlags::scenario_file)
      .def_readwrite("topology", &RunFlags::topology)
      .def_readwrite("workload", &RunFlags::workload)
      .def_readwrite("flows", &RunFlags::flows)
      .def_readwrite("jobs", &RunFlags::jobs)
      .def_readwrite("mode", &RunFlags::mode)
      .def_readwrite("workload_options", &RunFlags::workload_options)
      .def_readwrite("jobs_options", &RunFlags::jobs_options)
      .def_readwrite("skip_larger_jobs", &RunFlags::skip_larger_jobs)
      .def_readwrite("iterations", &RunFlags::iterations)
      .def_readwrite("hosts", &RunFlags::hosts)
      .def_readwrite("gpus_per_host", &RunFlags::gpus_per_host)
      .def_readwrite("scheduler", &RunFlags::scheduler)
      .def_readwrite("placement", &RunFlags::placement)
      .def_readwrite("seed", &RunFlags::seed)
      .def_readwrite("settings", &RunFlags::settings);
  py::class_<RequestedRun>(module, "RequestedRun")
      .def(py::init<>())
      .def_readwrite("flags", &RequestedRun::flags)
      .def_readwrite("fast_forward", &RequestedRun::fast_forward)
      .def_readwrite("threads", &RequestedRun::threads)
      .def_readwrite("zeta", &RequestedRun::zeta)
      .def_readwrite("out", &RequestedRun::out)
      .def_readwrite("flows_csv", &RequestedRun::flows_csv)
      .def_readwrite("trace", &RequestedRun::trace)
      .def_readwrite("trace_size", &RequestedRun::trace_size)
      .def_readwrite("trace_ranks", &RequestedRun::trace_ranks)
      .def_readwrite("report", &RequestedRun::report)
      .def_readwrite("sample", &RequestedRun::sample)
      .def_readwrite("until", &RequestedRun::until)
      .def_readwrite("snapshot", &RequestedRun::snapshot)
      .def_readwrite("profile", &RequestedRun::profile)
      .def_readwrite("align", &RequestedRun::align)
      .def_readwrite("take_transferred", &RequestedRun::take_transferred)
      .def_readwrite("no_flow_comparison", &RequestedRun::no_flow_comparison);
  py::class_<FinishedRun>(module, "FinishedRun")
      .def("summary_json", [](const FinishedRun& run) { return text_of(run.outcome.summary.to_json()); })
      .def("summary_text", [](const FinishedRun& run) { return text_of(run.outcome.summary.to_text()); })
      .def("manifest_json", [](const FinishedRun& run) { return text_of(run.outcome.manifest.to_json()); })
      .def("columns", [](const FinishedRun& run, const std::string& table) { return columns_of(run.rows, table); })
      .def_readonly("flows_in_classes", &FinishedRun::flows_in_classes)
      .def_property_readonly("assumptions", [](const FinishedRun& run) { return texts(run.outcome.assumptions); })
      .def_property_readonly("notes", [](const FinishedRun& run) { return texts(run.outcome.summary.notes); })
      .def_property_readonly("standstill", [](const FinishedRun& run) { return texts(standstill_of(run)); })
      .def_property_readonly("snapshot", [](const FinishedRun& run) { return text_of(run.outcome.snapshot); })
      .def_property_readonly("out", [](const FinishedRun& run) { return text_of(run.outcome.out); });
  module.def("run", &run_wanted, py::arg("wanted"), py::arg("flows"), py::arg("progress"));
  module.def("describe", &described, py::arg("flags"));
  module.def("report", &reported, py::arg("folder"));
}

}  // namespace weft::python
