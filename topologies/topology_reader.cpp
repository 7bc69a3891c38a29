// SPDX-License-Identifier: Apache-2.0
#include "topologies/topology_reader.hpp"

#include <array>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/out_of_memory.hpp"
#include "topologies/formats/astra_network.hpp"
#include "topologies/formats/hpcc.hpp"
#include "topologies/formats/nccl_topology.hpp"
#include "topologies/formats/simai.hpp"
#include "topologies/formats/simgrid.hpp"

namespace weft {

namespace {

constexpr std::array<TopologyFormat, 6> formats = {{
    {"weft",
     "Weft's own: protobuf text with a builder and its parameters, or with every host, switch and link "
     "(topologies/topology.proto)."},
    {"hpcc",
     "topology.txt of the ns-3 RDMA simulators: \"nodes switches links\", the switch ids, then \"src dst rate delay error\" per "
     "link. "
     "Nodes that are no switches are hosts with one port."},
    {"simai",
     "SimAI's topologies: \"nodes gpus_per_server nvswitches switches links gpu_type\", the ids of NVSwitches and switches, then "
     "links "
     "as in hpcc. GPUs come first and are grouped into hosts."},
    {"simgrid",
     "SimGrid's platform XML, version 4 and 4.1: zones with hosts, routers, links and routes, and clusters (flat, fat tree, "
     "dragonfly, torus)."},
    {"astrasim-network",
     "ASTRA-sim's analytical network (YAML): a building block - Ring, FullyConnected or Switch - with NPUs, GB/s and ns per "
     "dimension."},
    {"nccl", "NCCL's topology XML, which NCCL_TOPO_DUMP_FILE writes: the inside of one server with PCIe, NVLink, GPUs and NICs."},
}};

template <std::shared_ptr<const Topology> (*import_topology)(const SourceText&)>
TopologyOrBuilder imported(const SourceText& source) {
  return import_topology(source);
}

/// In the order of `formats`.
constexpr std::array<TopologyOrBuilder (*)(const SourceText&), formats.size()> readers = {
    read_topology_file,       imported<import_hpcc>,          imported<import_simai>,
    imported<import_simgrid>, imported<import_astra_network>, imported<import_nccl_topology>};

[[noreturn]] void fail_format(const std::string& message, const std::string& file, const std::string& help) {
  fail("unknown-format", message, SourcePlace::named(file), help, "format");
}

TopologyOrBuilder read_by_format(const SourceText& source, const std::string& format) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (formats[i].name == format) return readers[i](source);
    names.emplace_back(formats[i].name);
  }
  fail_format(fmt::format("there is no topology format \"{}\"", format), source.name(), suggestion(format, names, "format"));
}

std::shared_ptr<const Topology> built(TopologyOrBuilder read) {
  if (auto* topology = std::get_if<std::shared_ptr<const Topology>>(&read)) return std::move(*topology);
  const BuilderOfFile& builder = std::get<BuilderOfFile>(read);
  return builder.module->make(builder.params, builder.place);
}

}  // namespace

std::span<const TopologyFormat> topology_formats() { return formats; }

std::shared_ptr<const Topology> read_topology(const SourceText& source, const std::string& format) {
  return built(read_by_format(source, format));
}

TopologyOrBuilder load_topology_or_builder(const std::string& path, const std::string& format) {
  return naming_memory_use(fmt::format("while reading {}", path), [&] {
    const SourceText source = SourceText::read(path);
    if (!format.empty()) return read_by_format(source, format);
    if (path.ends_with(".textproto") || path.ends_with(".textproto.gz")) return read_by_format(source, "weft");
    fail_format("the format of this topology is not given", path,
                fmt::format("append it to the path, such as {}:hpcc; only *.textproto files are known by their ending", path));
  });
}

std::shared_ptr<const Topology> load_topology(const std::string& path, const std::string& format) {
  return naming_memory_use(fmt::format("while reading {}", path), [&] { return built(load_topology_or_builder(path, format)); });
}

}  // namespace weft
