// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/nccl_topology.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/formats/xml_file.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

/// Rates in NCCL's sources are GB/s of 10^9 bytes.
Bandwidth gigabytes_per_s(double value) { return Bandwidth::bps(std::llround(value * 8e9)); }

const Duration nvlink_delay = Duration::ns(25);
const Duration pcie_delay = Duration::ns(50);

/// One NVLink, one way (src/graph/topo.h, ncclTopoNVLinkBw).
double nvlink_gigabytes_per_s(std::int64_t sm) {
  if (sm >= 100) return 40.1;
  if (sm >= 90) return 20.6;
  if (sm == 86) return 12;
  if (sm >= 70) return 20;
  return sm >= 60 ? 18 : 20;
}

enum class Class : std::uint8_t { gpu, nic, nvswitch, cpu_bridge, bridge };

Class class_of(std::string_view code) {
  if (code.starts_with("0x03")) return Class::gpu;
  if (code.starts_with("0x02")) return Class::nic;
  if (code == "0x068000") return Class::nvswitch;
  if (code == "0x068001") return Class::cpu_bridge;
  return Class::bridge;
}

struct Device {
  std::string name;
  NodeKind kind = NodeKind::gpu;
  std::int64_t order = 0;  ///< of GPUs: their number
};

struct Wire {
  std::size_t a = 0;
  std::size_t b = 0;
  Bandwidth rate;
  Duration delay;
};

struct NvlinkEnd {
  std::size_t gpu = 0;
  std::size_t cpu = 0;
  std::int64_t count = 0;
  double gigabytes_per_s = 0;
  pugi::xml_node element;
};

struct Cpu {
  std::size_t device = 0;
  double link_gigabytes_per_s = 0;
};

class Server {
 public:
  Server(const SourceText& source, Diagnostics& diagnostics)
      : source_(source), file_(source, "system", "a topology that NCCL wrote", diagnostics), diagnostics_(diagnostics) {}

  std::shared_ptr<const Topology> build() {
    const pugi::xml_node system = file_.root();
    check(system, {"version"}, {"cpu"});
    if (std::string_view(system.attribute("version").value()) != "1") {
      diagnostics_.error("bad-version",
                         fmt::format("this is version {} of the format", in_quotes(system.attribute("version").value())),
                         file_.place(system, "version"), "version=\"1\" is known");
    }
    for (const pugi::xml_node cpu : system.children("cpu")) read_cpu(cpu);
    join_nvlinks();
    join_cpus();
    if (gpu_of_bus_.empty() && !diagnostics_.has_errors()) {
      diagnostics_.error("no-gpus", "the server has no GPU", file_.place(system),
                         "a GPU is a <pci> of class 0x03...., or one that holds a <gpu>");
    }
    diagnostics_.throw_if_errors();
    return assemble();
  }

 private:
  /// NCCL adds attributes from version to version and reads what it knows; what is passed over here
  /// is told.
  void check(pugi::xml_node element, const std::vector<std::string>& attributes, const std::vector<std::string>& elements) {
    for (const pugi::xml_attribute attribute : element.attributes()) {
      if (std::find(attributes.begin(), attributes.end(), attribute.name()) == attributes.end()) {
        passed_over_.insert(fmt::format("{} {}", element.name(), attribute.name()));
      }
    }
    std::vector<std::string> given;
    for (const pugi::xml_attribute attribute : element.attributes()) given.emplace_back(attribute.name());
    file_.check(element, given, elements);
  }

  std::size_t add(const std::string& name, NodeKind kind, std::int64_t order = 0) {
    // Ports of a NIC may share a name. Names that another one was given before are stepped over.
    std::string unique = name;
    int& copy = copies_.try_emplace(name, 1).first->second;
    while (!names_.insert(unique).second) unique = fmt::format("{}/{}", name, ++copy);
    devices_.push_back({std::move(unique), kind, order});
    return devices_.size() - 1;
  }

  void read_cpu(pugi::xml_node cpu) {
    check(cpu, {"numaid", "host_hash", "affinity", "affinity_offset", "arch", "vendor", "familyid", "modelid"}, {"pci", "nic"});
    const std::string host = cpu.attribute("host_hash").value();
    if (cpus_.empty()) host_ = host;
    if (host != host_) {
      diagnostics_.error("several-hosts", "the file describes several servers", file_.place(cpu, "host_hash"),
                         "keep the <cpu> elements of one host_hash");
      return;
    }
    const auto number = file_.required(cpu, "numaid");
    const std::size_t node = add(fmt::format("numa{}", number ? *number : fmt::format("{}", cpus_.size())), NodeKind::pcie_switch);
    if (number && !numa_.insert(*number).second) {
      diagnostics_.error("duplicate-device", fmt::format("there are two CPUs with numaid {}", in_quotes(*number)),
                         file_.place(cpu, "numaid"), "give each its own number");
    }
    cpus_.push_back({node, cpu_rate(cpu)});
    for (const pugi::xml_node child : cpu.children()) {
      if (std::string_view(child.name()) == "pci") read_pci(child, node, node);
      if (std::string_view(child.name()) == "nic") read_nic(child, node, gigabytes_per_s(5000));
    }
  }

  /// Between two CPUs (ncclTopoGetInterCpuBw), in GB/s.
  double cpu_rate(pugi::xml_node cpu) {
    const std::string arch = cpu.attribute("arch").value();
    const std::string vendor = cpu.attribute("vendor").value();
    if (arch == "arm64") return 6;
    if (arch == "ppc64") return 32;
    if (vendor == "GenuineIntel") {
      if (!cpu.attribute("familyid") || !cpu.attribute("modelid")) return 6;
      const std::int64_t family = file_.integer(cpu, "familyid").value_or(0);
      const std::int64_t model = file_.integer(cpu, "modelid").value_or(0);
      if (family != 6) return 6;
      constexpr std::array<std::int64_t, 3> newer_with_lower_numbers = {0xAD, 0xAE, 0xAF};
      const bool newer =
          std::find(newer_with_lower_numbers.begin(), newer_with_lower_numbers.end(), model) != newer_with_lower_numbers.end();
      if (model >= 0xCF || newer) return 40;
      if (model >= 0x8F) return 22;
      return model >= 0x55 ? 10 : 6;
    }
    if (vendor == "AuthenticAMD") {
      const std::int64_t family = cpu.attribute("familyid") ? file_.integer(cpu, "familyid").value_or(0) : 0;
      if (family == 26 || family == 0xBF) return 32;
      return family == 25 || family == 0xAF ? 24 : 16;
    }
    return 6;
  }

  Bandwidth pcie_rate(pugi::xml_node pci) {
    struct Generation {
      std::string_view transfers;
      double gigabits_per_lane;
    };
    // NCCL's payload rates; the wire is 2 Gb/s per lane for 2.5 GT/s and so on.
    constexpr std::array<Generation, 6> generations = {{{"2.5", 1.5}, {"5", 3}, {"8", 6}, {"16", 12}, {"32", 24}, {"64", 48}}};
    const auto given_width = file_.required(pci, "link_width");
    std::int64_t width = given_width ? file_.integer(pci, "link_width").value_or(16) : 16;
    if (width == 0) width = 16;  // as NCCL takes it: not known to the system
    if (width < 0 || width > 32) {
      diagnostics_.error("out-of-range", fmt::format("a PCIe link has no {} lanes", width), file_.place(pci, "link_width"),
                         "1 to 32 lanes, or 0 for not known");
      width = 16;
    }
    std::string speed = pci.attribute("link_speed").value();
    if (!pci.attribute("link_speed")) file_.required(pci, "link_speed");
    if (speed.empty() || speed == "Unknown" || speed == "Unknown speed") {
      ++speeds_unknown_;
      speed = "8 GT/s";
    }
    std::string_view number = std::string_view(speed).substr(0, speed.find(' '));
    const std::string_view unit = std::string_view(speed).substr(number.size());
    if (number.ends_with(".0")) number.remove_suffix(2);
    const auto found = std::find_if(generations.begin(), generations.end(),
                                    [&](const Generation& generation) { return generation.transfers == number; });
    if (found == generations.end() || (unit != " GT/s" && unit != " GT/s PCIe")) {
      diagnostics_.error("bad-link-speed", fmt::format("{} is no speed of a PCIe link", in_quotes(speed)),
                         file_.place(pci, "link_speed"), "one of 2.5, 5, 8, 16, 32 and 64 GT/s, such as \"32.0 GT/s PCIe\"");
      return gigabytes_per_s(1);
    }
    return Bandwidth::bps(std::llround(found->gigabits_per_lane * 1e9)) * width;
  }

  void read_pci(pugi::xml_node pci, std::size_t parent, std::size_t cpu) {
    check(pci, {"busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed", "link_width"},
          {"pci", "gpu", "nic", "pcilink"});
    const std::string bus = file_.required(pci, "busid").value_or("?");
    const std::string code = file_.required(pci, "class").value_or("0x060400");
    if (!code.starts_with("0x")) {
      diagnostics_.error("unknown-class", fmt::format("{} is no class of PCI devices", in_quotes(code)), file_.place(pci, "class"),
                         "such as 0x060400 for a bridge, 0x030200 for a GPU, 0x020700 for a NIC");
    }
    if (!buses_.insert(bus).second) {
      diagnostics_.error("duplicate-device", fmt::format("there are two devices {}", in_quotes(bus)), file_.place(pci, "busid"),
                         "every device has its own bus id");
    }
    const Bandwidth rate = pcie_rate(pci);
    if (pci.child("gpu") || (class_of(code) == Class::gpu && !pci.child("pci"))) {
      read_gpu(pci, bus, parent, cpu, rate);
    } else if (pci.child("nic")) {
      read_nics(pci, bus, parent, rate);
    } else if (class_of(code) == Class::nic) {
      ++nics_without_speed_;
      const std::size_t nic = add(fmt::format("nic {}", bus), NodeKind::nic);
      wires_.push_back({parent, nic, rate, pcie_delay});
      ports_.emplace_back(nic, rate);
    } else {
      const std::size_t node = add(fmt::format("pcie {}", bus), NodeKind::pcie_switch);
      wires_.push_back({parent, node, rate, pcie_delay});
      for (const pugi::xml_node child : pci.children("pci")) read_pci(child, node, cpu);
    }
  }

  void read_gpu(pugi::xml_node pci, const std::string& bus, std::size_t parent, std::size_t cpu, Bandwidth rate) {
    const pugi::xml_node element = pci.child("gpu");
    std::int64_t number = static_cast<std::int64_t>(gpu_of_bus_.size());
    if (!element) {
      ++gpus_without_element_;
    } else {
      check(element, {"dev", "sm", "rank", "gdr", "mlopart"}, {"nvlink", "c2c"});
      if (const auto dev = file_.required(element, "dev")) number = file_.integer(element, "dev").value_or(number);
    }
    if (!numbers_.insert(number).second) {
      diagnostics_.error("duplicate-device", fmt::format("there are two GPUs with number {}", number),
                         element ? file_.place(element, "dev") : file_.place(pci), "every GPU has its own dev");
    }
    const std::size_t gpu = add(fmt::format("gpu{}", number), NodeKind::gpu, number);
    gpu_of_bus_[bus] = gpu;
    wires_.push_back({parent, gpu, rate, pcie_delay});
    if (!element) return;
    const auto sm_text = file_.required(element, "sm");
    const std::int64_t sm = sm_text ? file_.integer(element, "sm").value_or(80) : 80;
    for (const pugi::xml_node link : element.children("nvlink")) {
      check(link, {"target", "count", "tclass"}, {});
      const std::int64_t count = small_count(link, "count");
      nvlinks_.push_back({gpu, cpu, count, nvlink_gigabytes_per_s(sm), link});
    }
    for (const pugi::xml_node link : element.children("c2c")) {
      check(link, {"bw", "count"}, {});
      const std::int64_t count = small_count(link, "count");
      const std::int64_t megabytes = file_.required(link, "bw") ? file_.integer(link, "bw").value_or(1) : 1;
      constexpr std::int64_t megabytes_max = 10'000'000;
      if (megabytes < 1 || megabytes > megabytes_max) {
        diagnostics_.error("out-of-range", fmt::format("a C2C link cannot have {} MB/s", megabytes), file_.place(link, "bw"),
                           fmt::format("1 to {} are expected", megabytes_max));
        continue;
      }
      wires_.push_back({gpu, cpu, gigabytes_per_s(static_cast<double>(count * megabytes) / 1000), nvlink_delay});
    }
  }

  std::int64_t small_count(pugi::xml_node link, const char* attribute) {
    constexpr std::int64_t links_max = 1024;
    if (!file_.required(link, attribute)) return 1;
    const std::int64_t count = file_.integer(link, attribute).value_or(1);
    if (count >= 1 && count <= links_max) return count;
    diagnostics_.error("out-of-range", fmt::format("a GPU has no {} links to one place", count), file_.place(link, attribute),
                       fmt::format("1 to {} are expected", links_max));
    return 1;
  }

  /// A slot: its ports share the slot's PCIe link.
  void read_nics(pugi::xml_node pci, const std::string& bus, std::size_t parent, Bandwidth rate) {
    std::size_t nets = 0;
    for (const pugi::xml_node nic : pci.children("nic"))
      nets += static_cast<std::size_t>(std::distance(nic.children("net").begin(), nic.children("net").end()));
    std::size_t at = parent;
    if (nets > 1) {
      at = add(fmt::format("pcie {}", bus), NodeKind::pcie_switch);
      wires_.push_back({parent, at, rate, pcie_delay});
    }
    for (const pugi::xml_node nic : pci.children("nic")) read_nic(nic, at, rate);
  }

  void read_nic(pugi::xml_node nic, std::size_t parent, Bandwidth rate) {
    check(nic, {}, {"net", "gin", "rma"});
    for (const pugi::xml_node net : nic.children("net")) {
      check(net, {"name", "dev", "speed", "port", "latency", "guid", "maxconn", "gdr", "coll", "keep", "net"}, {});
      const std::string name = file_.required(net, "name").value_or("net");
      const std::size_t node = add(name, NodeKind::nic);
      wires_.push_back({parent, node, rate, pcie_delay});
      if (!file_.required(net, "speed")) continue;
      std::int64_t megabits = file_.integer(net, "speed").value_or(1);
      const std::int64_t megabits_max = link_rate_max.in_bps() / 1'000'000;
      if (megabits <= 0) {
        ++speeds_unknown_;
        megabits = 10'000;  // as NCCL takes it
      }
      if (megabits > megabits_max) {
        diagnostics_.error("out-of-range", fmt::format("a NIC cannot have {} Mb/s", megabits), file_.place(net, "speed"),
                           fmt::format("at most {}", megabits_max));
        continue;
      }
      ports_.emplace_back(node, Bandwidth::bps(megabits * 1'000'000));
    }
  }

  void join_nvlinks() {
    // Cables between GPUs stand at both ends.
    std::map<std::pair<std::size_t, std::size_t>, std::map<std::size_t, NvlinkEnd>> pairs;
    std::size_t nvswitch = SIZE_MAX;
    for (const NvlinkEnd& end : nvlinks_) {
      const Bandwidth rate = gigabytes_per_s(end.gigabytes_per_s * static_cast<double>(end.count));
      const std::string tclass = file_.required(end.element, "tclass").value_or("0x068000");
      switch (class_of(tclass)) {
        case Class::nvswitch:
          if (nvswitch == SIZE_MAX) nvswitch = add("nvswitch", NodeKind::nvswitch);
          to_nvswitch_[end.gpu] += rate.in_bps();
          break;
        case Class::cpu_bridge:
          wires_.push_back({end.gpu, end.cpu, rate, nvlink_delay});
          break;
        case Class::gpu: {
          const std::string target = file_.required(end.element, "target").value_or("");
          const auto found = gpu_of_bus_.find(target);
          if (found == gpu_of_bus_.end() || found->second == end.gpu) {
            std::vector<std::string> known;
            for (const auto& [bus, gpu] : gpu_of_bus_) {
              if (gpu != end.gpu) known.push_back(bus);
            }
            diagnostics_.error(
                "unknown-target", fmt::format("the NVLink leads to {}, which is no other GPU of the file", in_quotes(target)),
                file_.place(end.element, "target"), known.empty() ? "there is no other GPU" : suggestion(target, known, "GPU"));
            break;
          }
          if (!pairs[std::minmax(end.gpu, found->second)].emplace(end.gpu, end).second) {
            diagnostics_.error("duplicate-device", fmt::format("the NVLinks to {} stand twice", in_quotes(target)),
                               file_.place(end.element), "write one <nvlink> with their count");
          }
          break;
        }
        case Class::nic:
        case Class::bridge:
          diagnostics_.error("unknown-class", fmt::format("an NVLink does not lead to a device of class {}", in_quotes(tclass)),
                             file_.place(end.element, "tclass"), "0x03.... is a GPU, 0x068000 an NVSwitch, 0x068001 a CPU");
          break;
      }
    }
    for (const auto& [gpu, bps] : to_nvswitch_) {
      wires_.push_back({gpu, nvswitch, Bandwidth::bps(std::min(bps, link_rate_max.in_bps())), nvlink_delay});
    }
    for (const auto& [pair, ends] : pairs) {
      const NvlinkEnd& end = ends.begin()->second;
      if (ends.size() != 2 || ends.rbegin()->second.count != end.count) {
        diagnostics_.error("nvlink-mismatch",
                           fmt::format("the NVLinks between {} and {}{}", devices_[pair.first].name, devices_[pair.second].name,
                                       ends.size() == 2 ? " differ in count at their two ends" : " stand at one end only"),
                           file_.place(end.element), "every <nvlink> between GPUs stands at both, with the same count");
        continue;
      }
      const double slower = std::min(end.gigabytes_per_s, ends.rbegin()->second.gigabytes_per_s);
      wires_.push_back({pair.first, pair.second, gigabytes_per_s(slower * static_cast<double>(end.count)), nvlink_delay});
    }
  }

  void join_cpus() {
    for (std::size_t a = 0; a < cpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) {
        const double rate = std::min(cpus_[a].link_gigabytes_per_s, cpus_[b].link_gigabytes_per_s);
        wires_.push_back({cpus_[a].device, cpus_[b].device, gigabytes_per_s(rate), pcie_delay});
      }
    }
  }

  std::shared_ptr<const Topology> assemble() {
    TopologyBuilder builder(std::filesystem::path(source_.name()).filename().string());
    const HostId host = builder.add_host();
    std::vector<std::size_t> gpus;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].kind == NodeKind::gpu) gpus.push_back(i);
    }
    std::sort(gpus.begin(), gpus.end(), [&](std::size_t a, std::size_t b) { return devices_[a].order < devices_[b].order; });
    std::vector<NodeId> nodes(devices_.size(), NodeId::none());
    for (const std::size_t gpu : gpus) nodes[gpu] = builder.add_endpoint(host, NodeKind::gpu, devices_[gpu].name);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].kind != NodeKind::gpu) nodes[i] = builder.add_inside(host, devices_[i].kind, devices_[i].name);
    }
    for (const Wire& wire : wires_) builder.add_cable(nodes[wire.a], nodes[wire.b], wire.rate, wire.delay);
    if (!ports_.empty()) {
      const NodeId network = builder.add_switch(0, "network");
      for (const auto& [nic, rate] : ports_) builder.add_cable(nodes[nic], network, rate, Duration::zero());
      builder.add_assumption("the NICs are cabled to one switch \"network\": the format ends at the NIC");
    }
    builder.add_assumption("NVLink cables take 25 ns, PCIe cables 50 ns: the format has no delays");
    builder.add_assumption("rates of NVLink, PCIe and between CPUs are NCCL's own constants, below those of the wires");
    const auto note = [&](std::size_t count, const char* one, const char* many, std::string_view how) {
      if (count > 0) builder.add_assumption(fmt::format("{}{}", counted(count, one, many), how));
    };
    note(gpus_without_element_, "GPU", "GPUs", " without <gpu>: numbered in file order, without NVLinks");
    note(nics_without_speed_, "NIC", "NICs", " without <net>: as fast as the PCIe link");
    note(speeds_unknown_, "link", "links", " of unknown speed: PCIe as 8 GT/s, NICs as 10 Gb/s, as NCCL takes them");
    if (!passed_over_.empty()) builder.add_assumption(fmt::format("attributes not read: {}", fmt::join(passed_over_, ", ")));
    return std::move(builder).build(nullptr, source_.whole_file());
  }

  const SourceText& source_;
  XmlFile file_;
  Diagnostics& diagnostics_;
  std::string host_;
  std::vector<Device> devices_;
  std::vector<Wire> wires_;
  std::vector<NvlinkEnd> nvlinks_;
  std::map<std::size_t, std::int64_t> to_nvswitch_;  ///< bit/s per GPU
  std::vector<Cpu> cpus_;
  std::vector<std::pair<std::size_t, Bandwidth>> ports_;
  std::map<std::string, std::size_t, std::less<>> gpu_of_bus_;
  std::set<std::string> buses_;
  std::set<std::string> numa_;
  std::set<std::string> names_;
  std::map<std::string, int> copies_;  ///< by name asked for: number of the last one given
  std::set<std::int64_t> numbers_;
  std::set<std::string> passed_over_;
  std::size_t gpus_without_element_ = 0;
  std::size_t nics_without_speed_ = 0;
  std::size_t speeds_unknown_ = 0;
};

}  // namespace

std::shared_ptr<const Topology> import_nccl_topology(const SourceText& source) {
  Diagnostics diagnostics;
  return Server(source, diagnostics).build();
}

}  // namespace weft
