// SPDX-License-Identifier: Apache-2.0
// Projections for Python: what `weft project` asks, by the same flags, with the same JSON.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text/printed_json.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/interruptible.hpp"
#include "tools/python/text.hpp"
#include "tools/weft/decentralized_flags.hpp"
#include "tools/weft/decentralized_text.hpp"
#include "tools/weft/memory_flags.hpp"
#include "tools/weft/memory_text.hpp"
#include "tools/weft/project_text.hpp"
#include "tools/weft/search_flags.hpp"
#include "tools/weft/search_text.hpp"
#include "tools/weft/training_flags.hpp"

namespace weft::python {

namespace {

namespace py = pybind11;

/// What a projection says, as JSON and as the command prints it.
using Told = std::pair<std::string, std::string>;

py::tuple to_python(const Told& told) { return py::make_tuple(text_of(told.first), text_of(told.second)); }

py::tuple memory_wanted(const MemoryFlags& flags) {
  return to_python(interruptible(py::none(), [&](Watch&) -> Told {
    const ProjectedMemory projected = projected_memory(flags);
    if (projected.primus)
      return {printed_json(primus_json(projected.report, *projected.primus), -1), primus_page(projected.report, *projected.primus)};
    return {printed_json(memory_json(projected.report), -1), memory_page(projected.report)};
  }));
}

py::tuple training_wanted(const TrainingFlags& flags, const py::object& progress) {
  return to_python(interruptible(progress, [&](Watch& watch) -> Told {
    RunOptions run;
    run.interrupt = watch.interrupt();
    run.progress = [&watch](const RunState& state) { watch.tell(state.what, state.done, state.total); };
    const std::vector<TrainingProjection> projections = projections_of(flags, run);
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const TrainingProjection& projection : projections) json.push_back(training_json(projection));
    return {printed_json(json, -1), projections.size() == 1 ? training_page(projections.front()) : clusters_page(projections)};
  }));
}

py::tuple search_wanted(const SearchFlags& flags, std::uint64_t shown, const py::object& progress) {
  return to_python(interruptible(progress, [&](Watch& watch) -> Told {
    const SearchedPlans found = searched_plans(
        flags, [&watch](const SearchProgress& now) { watch.tell(now.what, now.done, now.total); }, watch.interrupt());
    if (found.result.interrupted) return {};
    SearchPage page;
    page.model = found.model;
    page.cluster = flags.cluster;
    page.operators = found.operators;
    page.gpus = flags.gpus;
    page.memory = found.memory;
    page.whole = flags.whole;
    page.result = &found.result;
    page.shown = shown;
    page.operations = found.operations;
    return {printed_json(search_json(page), -1), search_page(page)};
  }));
}

py::tuple decentralized_wanted(const DecentralizedFlags& flags, const py::object& progress) {
  return to_python(interruptible(progress, [&](Watch& watch) -> Told {
    RunOptions run;
    run.interrupt = watch.interrupt();
    run.progress = [&watch](const RunState& state) { watch.tell(state.what, state.done, state.total); };
    const ProjectedSites projected = projected_sites(flags, run);
    return {printed_json(decentralized_json(projected), -1), decentralized_page(projected)};
  }));
}

}  // namespace

void bind_projections(py::module_& module) {
  py::class_<PlanFlags>(module, "PlanFlags")
      .def_readwrite("model", &PlanFlags::model)
      .def_readwrite("plan", &PlanFlags::plan)
      .def_readwrite("gpus", &PlanFlags::gpus)
      .def_readwrite("settings", &PlanFlags::settings);
  py::class_<OperatorTimeFlags>(module, "OperatorTimeFlags")
      .def_readwrite("gpu", &OperatorTimeFlags::gpu)
      .def_readwrite("clock", &OperatorTimeFlags::clock)
      .def_readwrite("profiles", &OperatorTimeFlags::profiles);
  py::class_<BenchmarkFlags>(module, "BenchmarkFlags").def_readwrite("load", &BenchmarkFlags::load);
  py::class_<GpuFlags>(module, "GpuFlags").def_readwrite("gpu", &GpuFlags::gpu);
  py::class_<MemoryFlags>(module, "MemoryFlags")
      .def(py::init<>())
      .def_readwrite("plan", &MemoryFlags::plan)
      .def_readwrite("gpu", &MemoryFlags::gpu)
      .def_readwrite("cluster", &MemoryFlags::cluster)
      .def_readwrite("given", &MemoryFlags::given)
      .def_readwrite("target_nodes", &MemoryFlags::target_nodes)
      .def_readwrite("mode", &MemoryFlags::mode)
      .def_readwrite("as_", &MemoryFlags::as)
      .def_readwrite("stage", &MemoryFlags::stage)
      .def_readwrite("benchmark", &MemoryFlags::benchmark)
      .def_readwrite("margin", &MemoryFlags::margin);
  py::class_<TrainingFlags>(module, "TrainingFlags")
      .def(py::init<>())
      .def_readwrite("plan", &TrainingFlags::plan)
      .def_readwrite("operators", &TrainingFlags::operators)
      .def_readwrite("benchmark", &TrainingFlags::benchmark)
      .def_readwrite("clusters", &TrainingFlags::clusters)
      .def_readwrite("given", &TrainingFlags::given)
      .def_readwrite("target_nodes", &TrainingFlags::target_nodes)
      .def_readwrite("mode", &TrainingFlags::mode)
      .def_readwrite("as_", &TrainingFlags::as)
      .def_readwrite("hardware", &TrainingFlags::hardware)
      .def_readwrite("estimators", &TrainingFlags::estimators)
      .def_readwrite("components", &TrainingFlags::components)
      .def_readwrite("neighbours", &TrainingFlags::neighbours)
      .def_readwrite("estimate_only", &TrainingFlags::estimate_only)
      .def_readwrite("combine", &TrainingFlags::combine)
      .def_readwrite("iterations", &TrainingFlags::iterations)
      .def_readwrite("threads", &TrainingFlags::threads)
      .def_readwrite("tokens", &TrainingFlags::tokens);
  py::class_<SearchFlags>(module, "SearchFlags")
      .def(py::init<>())
      .def_readwrite("model", &SearchFlags::model)
      .def_readwrite("cluster", &SearchFlags::cluster)
      .def_readwrite("base", &SearchFlags::base)
      .def_readwrite("gpus", &SearchFlags::gpus)
      .def_readwrite("global_batch", &SearchFlags::global_batch)
      .def_readwrite("settings", &SearchFlags::settings)
      .def_readwrite("operators", &SearchFlags::operators)
      .def_readwrite("simulated", &SearchFlags::simulated)
      .def_readwrite("margin", &SearchFlags::margin)
      .def_readwrite("whole", &SearchFlags::whole)
      .def_readwrite("threads", &SearchFlags::threads);
  py::class_<DecentralizedFlags>(module, "DecentralizedFlags")
      .def(py::init<>())
      .def_readwrite("settings", &DecentralizedFlags::settings)
      .def_readwrite("as_", &DecentralizedFlags::as)
      .def_readwrite("simulate", &DecentralizedFlags::simulate);
  module.def("project_memory", &memory_wanted, py::arg("flags"));
  module.def("project_training", &training_wanted, py::arg("flags"), py::arg("progress"));
  module.def("project_search", &search_wanted, py::arg("flags"), py::arg("shown"), py::arg("progress"));
  module.def("project_decentralized", &decentralized_wanted, py::arg("flags"), py::arg("progress"));
}

}  // namespace weft::python
