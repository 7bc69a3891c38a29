// SPDX-License-Identifier: Apache-2.0
#include "workloads/slurm/slurm_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/text/diagnostics.hpp"
#include "core/text/text_pieces.hpp"
#include "workloads/slurm/json_list.hpp"
#include "workloads/slurm/slurm_text.hpp"

namespace weft {

namespace {

constexpr const char* nodes_command = "scontrol show node";

struct KnownNodeState {
  std::string_view name;
  bool is_out;
};
constexpr std::array known_node_states = {
    KnownNodeState{"IDLE", false},
    KnownNodeState{"ALLOCATED", false},
    KnownNodeState{"MIXED", false},
    KnownNodeState{"PLANNED", false},
    KnownNodeState{"COMPLETING", false},
    KnownNodeState{"RESERVED", false},
    KnownNodeState{"CLOUD", false},
    KnownNodeState{"POWERED_DOWN", false},
    KnownNodeState{"POWERING_DOWN", false},
    KnownNodeState{"POWERING_UP", false},
    KnownNodeState{"POWER_DOWN", false},
    KnownNodeState{"POWER_UP", false},
    KnownNodeState{"DYNAMIC_NORM", false},
    KnownNodeState{"DYNAMIC_FUTURE", false},
    KnownNodeState{"REBOOT_REQUESTED", false},
    KnownNodeState{"RESUME", false},
    KnownNodeState{"UNDRAIN", false},
    KnownNodeState{"BLOCKED", true},
    KnownNodeState{"DOWN", true},
    KnownNodeState{"DRAIN", true},
    KnownNodeState{"DRAINED", true},
    KnownNodeState{"DRAINING", true},
    KnownNodeState{"FAIL", true},
    KnownNodeState{"FAILING", true},
    KnownNodeState{"MAINT", true},
    KnownNodeState{"MAINTENANCE", true},
    KnownNodeState{"UNKNOWN", true},
    KnownNodeState{"NOT_RESPONDING", true},
    KnownNodeState{"NO_RESPOND", true},
    KnownNodeState{"ERROR", true},
    KnownNodeState{"FUTURE", true},
    KnownNodeState{"INVAL", true},
    KnownNodeState{"INVALID", true},
    KnownNodeState{"INVALID_REG", true},
    KnownNodeState{"REBOOT_ISSUED", true},
    KnownNodeState{"REBOOT_CANCELED", false},
    KnownNodeState{"EXTERNAL", false},
    KnownNodeState{"PERFCTRS", false},
    KnownNodeState{"POWER_DRAIN", true},
};

class NodeCollector {
 public:
  /// `states`: each may hold several between "+", and end with one of Slurm's marks such as "*".
  /// `used`: what is in use, as each field that tells it has it.
  void add(SlurmNode node, const std::vector<std::string>& states, const std::string& resources,
           const std::vector<std::string>& used, const SourcePlace& state_place, const SourcePlace& resource_place) {
    for (const std::string& text : states) {
      std::string_view rest = text;
      while (!rest.empty()) take_state(node, next_part(rest, "+"), state_place);
    }
    if (node.state.empty()) diagnostics_.error("missing-field", fmt::format("node {} has no state", node.name), node.place, help());
    const std::optional<std::uint32_t> gpus = gpus_in_resources(resources);
    if (!gpus) {
      diagnostics_.error("bad-value", fmt::format("the GPUs of node {} are no number: {}", node.name, in_quotes(resources)),
                         resource_place, "write gpu:8 or gpu:h100:8");
    }
    node.gpus = gpus.value_or(0);
    for (const std::string& one : used) {
      node.gpus_used = std::max(node.gpus_used, gpus_in_resources(one).value_or(0));
      if (node.used_indices.empty()) node.used_indices = gpu_indices(one);
    }
    const auto [known, is_new] = lines_.emplace(node.name, node.place.line);
    if (!is_new) {
      diagnostics_.error("duplicate-node", fmt::format("node {} stands in the file twice", node.name), node.place,
                         fmt::format("it is described at line {} already", known->second));
    }
    nodes_.push_back(std::move(node));
  }

  std::vector<SlurmNode> finish(const SourceText& source) {
    if (nodes_.empty() && !diagnostics_.has_errors())
      diagnostics_.error("no-nodes", "the file describes no node", source.whole_file(), help());
    diagnostics_.throw_if_errors();
    return std::move(nodes_);
  }

  Diagnostics& diagnostics() { return diagnostics_; }
  static std::string help() { return fmt::format("take what `{}` prints", nodes_command); }

 private:
  void take_state(SlurmNode& node, std::string_view text, const SourcePlace& place) {
    std::string state(trimmed(text, " "));
    std::ranges::transform(state, state.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    // "*": it does not respond; the other marks tell of power and of reservations.
    constexpr std::string_view marks = "*~#%$@!^-";
    const bool responds = state.find('*') == std::string::npos;
    state.erase(std::min(state.find_last_not_of(marks) + 1, state.size()));
    const auto known = std::ranges::find(known_node_states, state, &KnownNodeState::name);
    if (known == known_node_states.end()) {
      std::vector<std::string> names;
      for (const KnownNodeState& one : known_node_states) names.emplace_back(one.name);
      diagnostics_.error("unknown-state", fmt::format("node {} is in no state that is known: {}", node.name, in_quotes(text)),
                         place, suggestion(state, names, "state"));
      return;
    }
    node.is_out = node.is_out || known->is_out || !responds;
    node.is_completing = node.is_completing || state == "COMPLETING";
    node.state += fmt::format("{}{}{}", node.state.empty() ? "" : "+", state, responds ? "" : "*");
  }

  Diagnostics diagnostics_;
  std::vector<SlurmNode> nodes_;
  std::map<std::string, int> lines_;
};

/// Fields of a block of `scontrol show node`, with their places. A value runs up to the next blank;
/// of OS and Reason up to the end of the line, of OS also up to what follows it where a node stands
/// on one line (`scontrol -o`).
class NodeBlock {
 public:
  void add_line(const SourceText& source, std::size_t number) {
    const std::string_view line = source.line(number);
    for (std::size_t at = line.find_first_not_of(" \t"); at < line.size();) {
      const std::size_t equals = line.find('=', at);
      if (equals == std::string_view::npos) return;
      const std::string key(line.substr(at, equals - at));
      const bool takes_all = key == "Reason" || key == "Comment" || key == "Extra";
      const std::size_t behind = key == "OS" ? line.find(" RealMemory=", equals) : line.find(' ', equals);
      const std::size_t end = takes_all ? line.size() : std::min(behind, line.size());
      const std::string_view value = trimmed(line.substr(equals + 1, end - equals - 1), " \r");
      fields_.emplace(key, std::string(value));
      places_.emplace(key, source.at(static_cast<int>(number), static_cast<int>(at) + 1, static_cast<int>(end - at)));
      at = line.find_first_not_of(" \t\r", end);
    }
  }
  std::string field(const std::string& key) const {
    const auto found = fields_.find(key);
    return found == fields_.end() || found->second == "(null)" ? "" : found->second;
  }
  SourcePlace place(const std::string& key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? places_.at("NodeName") : found->second;
  }

 private:
  std::map<std::string, std::string> fields_;
  std::map<std::string, SourcePlace> places_;
};

void add_block(const NodeBlock& block, NodeCollector& collector) {
  SlurmNode node;
  node.name = block.field("NodeName");
  node.place = block.place("NodeName");
  node.reason = block.field("Reason");
  const bool has_gres = !block.field("Gres").empty();
  collector.add(std::move(node), {block.field("State")}, block.field(has_gres ? "Gres" : "CfgTRES"),
                {block.field("GresUsed"), block.field("AllocTRES")}, block.place("State"),
                block.place(has_gres ? "Gres" : "CfgTRES"));
}

void read_text(const SourceText& source, NodeCollector& collector) {
  source.require_utf8_text("list of nodes");
  std::optional<NodeBlock> block;
  for (std::size_t number = 1; number <= source.line_count(); ++number) {
    const std::string_view line = trimmed(source.line(number), " \t\r");
    if (line.empty()) continue;
    if (line.starts_with("NodeName=")) {
      if (block) add_block(*block, collector);
      block.emplace();
    }
    if (!block) {
      collector.diagnostics().error("bad-value", "a list of nodes begins with NodeName=", source.at(static_cast<int>(number)),
                                    NodeCollector::help());
      return;
    }
    block->add_line(source, number);
  }
  if (block) add_block(*block, collector);
}

void read_json(const SourceText& source, NodeCollector& collector) {
  const JsonList list(source, "nodes", fmt::format("{} --json", nodes_command));
  for (const JsonEntry& entry : list.entries()) {
    SlurmNode node;
    node.name = entry.text("name");
    node.place = entry.place("name");
    node.reason = entry.text("reason");
    if (node.name.empty()) {
      collector.diagnostics().error("missing-field", "this node has no name", node.place, NodeCollector::help());
      continue;
    }
    std::vector<std::string> states = entry.texts("state");
    for (std::string& flag : entry.texts("state_flags")) states.push_back(std::move(flag));
    const bool has_gres = !entry.text("gres").empty();
    collector.add(std::move(node), states, entry.text(has_gres ? "gres" : "tres"),
                  {entry.text("gres_used"), entry.text("tres_used")}, entry.place("state"),
                  entry.place(has_gres ? "gres" : "tres"));
  }
}

}  // namespace

std::vector<SlurmNode> read_slurm_nodes(const SourceText& source) {
  NodeCollector collector;
  const std::size_t first = source.text().find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && source.text()[first] == '{') {
    read_json(source, collector);
  } else {
    read_text(source, collector);
  }
  return collector.finish(source);
}

}  // namespace weft
