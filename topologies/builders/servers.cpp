// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/servers.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/text_pieces.hpp"

namespace weft {

namespace {

constexpr std::size_t groups_max = 256;
constexpr std::string_view separators = " ,\t";

struct Range {
  std::uint32_t first;
  std::uint32_t count;
};

/// Reads host_groups for one builder.
class GroupReader {
 public:
  GroupReader(const ParamSet& params, const SourcePlace& place) : params_(params), place_(place) {}

  void read(Servers& servers) {
    const std::string text = filled<HostGroupSettings>(params_).host_groups;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view item = trimmed(next_part(rest, ";"), separators);
      if (item.empty()) continue;
      std::string_view settings = item;
      const Range range = read_range(trimmed(next_part(settings, ":"), separators), servers.host_count(), item);
      if (trimmed(settings, separators).empty()) {
        fail(fmt::format("\"{}\" says nothing of its hosts", item), "write settings after a colon, such as 0-3: gpus_per_host=4");
      }
      ParamSet own = params_;
      while (!settings.empty()) {
        const std::string_view setting = trimmed(next_part(settings, separators), separators);
        if (!setting.empty()) set(own, setting);
      }
      servers.replace(range.first, range.count, read_server(own, place_));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& message, std::string help) const {
    weft::fail("bad-group", fmt::format("{}.host_groups: {}", params_.module(), message), place_, std::move(help));
  }

  Range read_range(std::string_view text, std::uint32_t hosts, std::string_view item) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    const char* const end = text.data() + text.size();
    auto parsed = std::from_chars(text.data(), end, first);
    last = first;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-') parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      fail(fmt::format("\"{}\" does not begin with a range of hosts", item), "write for example 0-3: gpus_per_host=4");
    }
    if (first > last || last >= hosts) {
      fail(fmt::format("\"{}\" is no range of the hosts 0 to {}", text, hosts - 1),
           "hosts are numbered from 0; the lower number comes first");
    }
    for (const Range& seen : seen_) {
      if (first < seen.first + seen.count && seen.first <= last) {
        fail(fmt::format("host {} is in two ranges", std::max(first, seen.first)), "give each host at most one range");
      }
    }
    if (seen_.size() == groups_max) fail("there are too many ranges", fmt::format("at most {}", groups_max));
    seen_.push_back({first, last - first + 1});
    return seen_.back();
  }

  void set(ParamSet& own, std::string_view setting) const {
    const std::size_t equals = setting.find('=');
    const std::string_view name = setting.substr(0, equals);
    if (equals == std::string_view::npos || equals == 0) {
      fail(fmt::format("\"{}\" is not name=value", setting), "separate settings by blanks and write no blank inside one");
    }
    std::vector<std::string> known;
    for (const ParamSpec& spec : params_.table()) {
      const bool of_server = std::any_of(server_params.begin(), server_params.end(),
                                         [&spec](const ParamSpec& other) { return other.name == spec.name; });
      if (of_server || spec.name == "gpus_per_host" || spec.name == "nics_per_host") known.emplace_back(spec.name);
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      weft::fail("unknown-param", fmt::format("{}.host_groups: \"{}\" is no parameter of a single host", params_.module(), name),
                 place_, suggestion(std::string(name), known, "parameter of a host"));
    }
    own.set(name, setting.substr(equals + 1), place_);
  }

  const ParamSet& params_;
  const SourcePlace& place_;
  std::vector<Range> seen_;
};

}  // namespace

Servers::Servers(const ServerShape& shape, std::uint32_t hosts) : usual_(shape), hosts_(hosts), groups_{{0, 0, 0, shape}} {
  count();
}

void Servers::replace(std::uint32_t first, std::uint32_t count_of_hosts, const ServerShape& shape) {
  const std::uint32_t end = first + count_of_hosts;
  WEFT_CHECK(count_of_hosts > 0 && end <= hosts_, "a group is of hosts");
  auto at = std::upper_bound(groups_.begin(), groups_.end(), first,
                             [](std::uint32_t host, const Group& group) { return host < group.first_host; });
  const Group before = *std::prev(at);
  WEFT_CHECK(end <= end_of(static_cast<std::size_t>(std::prev(at) - groups_.begin())), "groups do not overlap");
  const bool more_after = end < end_of(static_cast<std::size_t>(std::prev(at) - groups_.begin()));
  if (before.first_host == first) at = groups_.erase(std::prev(at));
  at = groups_.insert(at, {first, 0, 0, shape});
  if (more_after) groups_.insert(std::next(at), {end, 0, 0, before.shape});
  count();
}

void Servers::set_nic_ports(std::uint32_t ports) {
  usual_.nic_ports = ports;
  for (Group& group : groups_) group.shape.nic_ports = ports;
}

void Servers::count() {
  std::uint64_t node = 0;
  std::uint64_t nic = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].first_node = node;
    groups_[i].first_nic = nic;
    const std::uint64_t hosts = end_of(i) - groups_[i].first_host;
    node += hosts * groups_[i].shape.node_count();
    nic += hosts * groups_[i].shape.nics;
  }
  nodes_ = node;
}

std::uint64_t Servers::cable_count() const {
  std::uint64_t cables = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const ServerShape& shape = groups_[i].shape;
    cables +=
        std::uint64_t{end_of(i) - groups_[i].first_host} * (shape.cable_count() + std::uint64_t{shape.nics} * shape.nic_ports);
  }
  return cables;
}

bool Servers::have_any_nic() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.shape.any_nic; });
}

std::uint32_t Servers::nics_max() const {
  std::uint32_t most = 0;
  for (const Group& group : groups_) most = std::max(most, group.shape.nics);
  return most;
}

const Servers::Group& Servers::group_of_host(std::uint32_t host) const {
  const auto after = std::upper_bound(groups_.begin(), groups_.end(), host,
                                      [](std::uint32_t value, const Group& group) { return value < group.first_host; });
  return *std::prev(after);
}

std::uint32_t Servers::first_node(std::uint32_t host) const {
  const Group& group = group_of_host(host);
  return static_cast<std::uint32_t>(group.first_node) + (host - group.first_host) * group.shape.node_count();
}

Servers::Place Servers::locate(std::uint32_t node) const {
  const auto after = std::upper_bound(groups_.begin(), groups_.end(), node,
                                      [](std::uint32_t value, const Group& group) { return value < group.first_node; });
  const Group& group = *std::prev(after);
  const std::uint32_t within = node - static_cast<std::uint32_t>(group.first_node);
  const std::uint32_t size = group.shape.node_count();
  return {group.first_host + within / size, within % size, &group.shape};
}

std::uint32_t Servers::nics_before(std::uint32_t host) const {
  const Group& group = group_of_host(host);
  return static_cast<std::uint32_t>(group.first_nic) + (host - group.first_host) * group.shape.nics;
}

std::uint32_t Servers::hosts_with_nic_before(std::uint32_t host, std::uint32_t nic) const {
  std::uint32_t hosts = 0;
  for (std::size_t i = 0; i < groups_.size() && groups_[i].first_host < host; ++i) {
    if (nic < groups_[i].shape.nics) hosts += std::min(host, end_of(i)) - groups_[i].first_host;
  }
  return hosts;
}

void Servers::add_to(TopologyBuilder& builder) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    for (std::uint32_t host = groups_[i].first_host; host < end_of(i); ++host) add_server(builder, groups_[i].shape);
  }
}

Servers read_servers(const ParamSet& params, std::uint32_t hosts, const SourcePlace& place) {
  Servers servers(read_server(params, place), hosts);
  GroupReader(params, place).read(servers);
  return servers;
}

}  // namespace weft
