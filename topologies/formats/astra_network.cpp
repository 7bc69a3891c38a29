// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/astra_network.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

constexpr std::uint64_t npus_max = 1U << 18;
constexpr std::uint64_t cables_max = 1U << 22;
constexpr std::array<const char*, 4> list_keys = {"topology", "npus_count", "bandwidth", "latency"};

enum class Block : std::uint8_t { ring, fully_connected, crossbar };

struct Dimension {
  Block block = Block::crossbar;
  std::uint32_t npus = 0;
  Bandwidth rate;
  Duration delay;
};

/// The four lists of a file.
class NetworkFile {
 public:
  NetworkFile(const SourceText& source, Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {
    source.require_utf8_text("network description in YAML");
    try {
      root_ = YAML::Load(std::string(source.text()));
    } catch (const YAML::DeepRecursion& error) {
      fail("bad-yaml", fmt::format("lists and keys are nested more than {} deep", error.depth()), place(error.mark),
           "four lists are expected: topology, npus_count, bandwidth and latency");
    } catch (const YAML::Exception& error) {
      fail("bad-yaml", fmt::format("this is no YAML: {}", error.msg), place(error.mark),
           "four lists are expected: topology, npus_count, bandwidth and latency");
    }
    if (!root_.IsMap()) {
      fail("bad-yaml", "the file holds no keys", source.whole_file(),
           "four lists are expected: topology, npus_count, bandwidth and latency");
    }
  }

  std::vector<Dimension> dimensions() {
    read_lists();
    diagnostics_.throw_if_errors();
    std::vector<Dimension> dimensions(lists_["topology"].size());
    if (dimensions.empty()) {
      diagnostics_.error("missing-key", "the topology has no dimension", place(root_.Mark()),
                         "write topology: [ Ring ], for example");
    }
    for (const char* key : list_keys) {
      if (lists_[key].size() == dimensions.size()) continue;
      diagnostics_.error(
          "length-mismatch",
          fmt::format("{} has {} entries, \"topology\" has {}", in_quotes(key), lists_[key].size(), dimensions.size()),
          place(marks_.at(key)), "every dimension has one entry in each of the four lists");
    }
    diagnostics_.throw_if_errors();
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      dimensions[i].block = block(lists_["topology"][i]);
      dimensions[i].npus = count(lists_["npus_count"][i]);
      dimensions[i].rate = rate(lists_["bandwidth"][i]);
      dimensions[i].delay = delay(lists_["latency"][i]);
    }
    diagnostics_.throw_if_errors();
    return dimensions;
  }

 private:
  SourcePlace place(const YAML::Mark& mark, std::size_t length = 1) const {
    if (mark.is_null() || mark.line < 0 || static_cast<std::size_t>(mark.line) >= source_.line_count()) return source_.whole_file();
    return source_.at(mark.line + 1, mark.column + 1, static_cast<int>(std::clamp<std::size_t>(length, 1, 80)));
  }

  SourcePlace place(const YAML::Node& node) const { return place(node.Mark(), node.IsScalar() ? node.Scalar().size() : 1); }

  static std::string list_help(std::string_view key) { return fmt::format("write {}: [ ... ] with one entry per dimension", key); }

  void read_lists() {
    std::vector<std::string> known(list_keys.begin(), list_keys.end());
    for (const auto& entry : root_) {
      if (!entry.first.IsScalar() || std::find(known.begin(), known.end(), entry.first.Scalar()) == known.end()) {
        const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
        diagnostics_.error("unknown-key", name.empty() ? "this key is no word" : fmt::format("there is no key {}", in_quotes(name)),
                           place(entry.first), suggestion(name, known, "key"));
        continue;
      }
      const std::string& key = entry.first.Scalar();
      if (!marks_.emplace(key, entry.first.Mark()).second) {
        diagnostics_.error("duplicate-key", fmt::format("{} stands twice", in_quotes(key)), place(entry.first), "keep one of them");
      } else if (!entry.second.IsSequence()) {
        diagnostics_.error("bad-value", fmt::format("{} is no list", in_quotes(key)), place(entry.second), list_help(key));
      } else {
        for (const YAML::Node& value : entry.second) lists_[key].push_back(value);
      }
    }
    for (const char* key : list_keys) {
      if (marks_.contains(key)) continue;
      diagnostics_.error("missing-key", fmt::format("the list {} is missing", in_quotes(key)), source_.whole_file(),
                         list_help(key));
    }
  }

  Block block(const YAML::Node& node) {
    const std::string name = node.IsScalar() ? node.Scalar() : "";
    if (name == "Ring") return Block::ring;
    if (name == "FullyConnected") return Block::fully_connected;
    if (name == "Switch") return Block::crossbar;
    const std::vector<std::string> known = {"Ring", "FullyConnected", "Switch"};
    diagnostics_.error("unknown-block", fmt::format("there is no building block {}", in_quotes(name)), place(node),
                       suggestion(name, known, "building block"));
    return Block::crossbar;
  }

  std::uint32_t count(const YAML::Node& node) {
    const std::optional<double> value = number(node, "a number of NPUs");
    if (!value) return 1;
    if (*value != std::floor(*value) || *value < 1 || *value > static_cast<double>(npus_max)) {
      diagnostics_.error("out-of-range", fmt::format("{} is no number of NPUs", in_quotes(node.Scalar())), place(node),
                         fmt::format("a whole number from 1 to {} is expected", npus_max));
      return 1;
    }
    return static_cast<std::uint32_t>(*value);
  }

  Bandwidth rate(const YAML::Node& node) {
    constexpr double bits_of_gb = 8.0 * (1U << 30U);
    const std::optional<double> value = number(node, "a bandwidth in GB/s");
    if (!value) return Bandwidth::bps(1);
    const double bps = *value * bits_of_gb;
    if (!(bps >= 1) || bps > static_cast<double>(link_rate_max.in_bps())) {
      diagnostics_.error("out-of-range", fmt::format("a link cannot have {} GB/s", node.Scalar()), place(node),
                         fmt::format("more than zero and at most {} are expected", to_text(link_rate_max)));
      return Bandwidth::bps(1);
    }
    return Bandwidth::bps(std::llround(bps));
  }

  Duration delay(const YAML::Node& node) {
    const std::optional<double> value = number(node, "a latency in ns");
    if (!value) return {};
    if (!(*value >= 0) || *value > link_delay_max.in_ns()) {
      diagnostics_.error("out-of-range", fmt::format("a link cannot have a latency of {} ns", node.Scalar()), place(node),
                         fmt::format("zero to {} is expected", to_text(link_delay_max)));
      return {};
    }
    return Duration::ticks(std::llround(*value * static_cast<double>(Duration::ticks_per_ns)));
  }

  std::optional<double> number(const YAML::Node& node, const std::string& what) {
    double value = 0;
    if (node.IsScalar() && YAML::convert<double>::decode(node, value) && std::isfinite(value)) return value;
    diagnostics_.error("bad-value", fmt::format("{} is not {}", node.IsScalar() ? in_quotes(node.Scalar()) : "this", what),
                       place(node), "write a plain number: the unit is part of the format");
    return std::nullopt;
  }

  const SourceText& source_;
  Diagnostics& diagnostics_;
  YAML::Node root_;
  std::map<std::string, YAML::Mark, std::less<>> marks_;
  std::map<std::string, std::vector<YAML::Node>, std::less<>> lists_;
};

void check_size(const std::vector<Dimension>& dimensions, const SourceText& source) {
  std::uint64_t npus = 1;
  for (const Dimension& dimension : dimensions) {
    npus *= dimension.npus;
    if (npus > npus_max) break;
  }
  std::uint64_t cables = npus;
  for (const Dimension& dimension : dimensions) {
    cables += dimension.block == Block::fully_connected ? npus * dimension.npus / 2 : npus;
  }
  if (npus <= npus_max && cables <= cables_max) return;
  fail("too-large",
       npus > npus_max ? fmt::format("there are more than {} NPUs", npus_max)
                       : fmt::format("there are more than {} links", cables_max),
       source.whole_file(), "describe a smaller network, or build one with `weft topology build`");
}

std::shared_ptr<const Topology> build(const std::vector<Dimension>& dimensions, const SourceText& source) {
  TopologyBuilder builder(std::filesystem::path(source.name()).filename().string());
  std::uint32_t npus = 1;
  for (const Dimension& dimension : dimensions) npus *= dimension.npus;
  for (std::uint32_t i = 0; i < npus; ++i) builder.add_endpoint(builder.add_host(), NodeKind::gpu, fmt::format("npu{}", i));

  // An NPU of one switch or one full mesh has no traffic of others to pass on.
  const bool routers = dimensions.size() > 1 || dimensions[0].block == Block::ring;
  if (routers) {
    std::int64_t own_bps = 0;
    for (const Dimension& dimension : dimensions) {
      const std::int64_t links = dimension.block == Block::fully_connected ? dimension.npus - 1
                                 : dimension.block == Block::ring          ? 2
                                                                           : 1;
      own_bps = std::min(own_bps + dimension.rate.in_bps() * std::max<std::int64_t>(links, 1), link_rate_max.in_bps());
    }
    for (std::uint32_t i = 0; i < npus; ++i) {
      const NodeId router = builder.add_switch(0, fmt::format("npu{}/router", i));
      builder.add_cable(NodeId(i), router, Bandwidth::bps(own_bps), Duration::zero());
    }
  }
  const auto at = [&](std::uint32_t npu) { return NodeId(routers ? npus + npu : npu); };

  std::uint32_t stride = 1;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const Dimension& dimension = dimensions[d];
    const std::uint32_t n = dimension.npus;
    const auto join = [&](NodeId a, NodeId b) { builder.add_cable(a, b, dimension.rate, dimension.delay); };
    for (std::uint32_t group = 0; group < npus / n; ++group) {
      // The group's members differ in this coordinate; those below count fastest.
      const std::uint32_t first = group / stride * stride * n + group % stride;
      const auto member = [&](std::uint32_t i) { return at(first + i * stride); };
      if (dimension.block == Block::crossbar) {
        const NodeId hub = builder.add_switch(0, fmt::format("dim{}/switch{}", d, group));
        for (std::uint32_t i = 0; i < n; ++i) join(member(i), hub);
      } else if (dimension.block == Block::ring) {
        for (std::uint32_t i = 0; i + 1 < n; ++i) join(member(i), member(i + 1));
        if (n > 2) join(member(n - 1), member(0));
      } else {
        for (std::uint32_t i = 0; i < n; ++i) {
          for (std::uint32_t j = i + 1; j < n; ++j) join(member(i), member(j));
        }
      }
    }
    stride *= n;
  }
  builder.add_assumption("1 GB/s is 2^30 B/s, as ASTRA-sim computes it");
  builder.add_assumption("every NPU is a host with one GPU: the format knows no servers");
  if (routers || dimensions[0].block == Block::crossbar) {
    builder.add_assumption(
        fmt::format("{} add flow.switching_delay to the delays of the file; in ASTRA-sim they take no time, as with "
                    "--set=flow.switching_delay=0ns",
                    routers ? "switches, and NPUs that pass traffic on," : "switches"));
  }
  if (dimensions.size() > 1) {
    builder.add_assumption("NPUs that differ in several dimensions use all paths of fewest links; the format has no routes");
  }
  return std::move(builder).build(nullptr, source.whole_file());
}

}  // namespace

std::shared_ptr<const Topology> import_astra_network(const SourceText& source) {
  Diagnostics diagnostics;
  const std::vector<Dimension> dimensions = NetworkFile(source, diagnostics).dimensions();
  check_size(dimensions, source);
  return build(dimensions, source);
}

}  // namespace weft
