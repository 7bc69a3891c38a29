// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/chakra/chakra.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/formats/chakra/chakra_trace.hpp"
#include "workloads/formats/counted_note.hpp"
#include "workloads/formats/group_growth.hpp"
#include "workloads/formats/rank_set.hpp"
#include "workloads/formats/ranks_option.hpp"

namespace weft {

namespace {

/// The binary form, and the JSON form for sets that have no binary file.
constexpr std::array<std::string_view, 2> file_endings = {".et", ".json"};

bool is_json(std::string_view file) { return file.ends_with(".json") || file.ends_with(".json.gz"); }

/// "PREFIX.12.et.gz" -> 12, if `name` is `base` + "." + number + `ending`, or that with ".gz".
std::optional<std::uint32_t> rank_of_file(std::string_view name, std::string_view base, std::string_view ending) {
  if (name.ends_with(".gz")) name.remove_suffix(3);
  if (!name.ends_with(ending)) return std::nullopt;
  name.remove_suffix(ending.size());
  if (name.size() < base.size() + 2 || name.substr(0, base.size()) != base || name[base.size()] != '.') return std::nullopt;
  name.remove_prefix(base.size() + 1);
  if (name.size() > 1 && name[0] == '0') return std::nullopt;
  const auto rank = plain_number<std::uint32_t>(name);
  return rank && *rank < workload_rank_count_max ? rank : std::nullopt;
}

/// Prefixes of the traces in a folder, for suggestions.
std::vector<std::string> prefixes_in(const std::filesystem::path& folder) {
  std::vector<std::string> prefixes;
  std::error_code ec;
  for (std::filesystem::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    std::string name = it->path().filename().string();
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    for (const std::string_view ending : file_endings) {
      if (!name.ends_with(ending)) continue;
      name.resize(name.size() - ending.size());
      const std::size_t dot = name.rfind('.');
      const bool has_rank = dot != std::string::npos && name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
      if (has_rank && dot + 1 < name.size()) prefixes.push_back(name.substr(0, dot));
    }
  }
  std::sort(prefixes.begin(), prefixes.end());
  prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());
  return prefixes;
}

/// Files of a set by rank.
std::map<std::uint32_t, std::string> find_files(const std::string& prefix) {
  namespace fs = std::filesystem;
  for (const std::string_view ending : file_endings) {
    if (!prefix.ends_with(ending) && !prefix.ends_with(fmt::format("{}.gz", ending))) continue;
    std::string shorter = prefix.substr(0, prefix.rfind(ending));
    const std::size_t dot = shorter.rfind('.');
    if (dot != std::string::npos) shorter.resize(dot);
    fail("prefix-expected", "a Chakra workload is named by the prefix of its files PREFIX.0.et, PREFIX.1.et, ...",
         SourcePlace::named(prefix), fmt::format("write {}", shorter));
  }
  const fs::path path(prefix);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string base = path.filename().string();
  std::map<std::uint32_t, std::string> files;
  std::error_code ec;
  for (const std::string_view ending : file_endings) {
    if (!files.empty()) break;
    for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
      const std::string name = it->path().filename().string();
      const auto rank = rank_of_file(name, base, ending);
      if (!rank) continue;
      const std::string file = (path.has_parent_path() ? folder / name : fs::path(name)).string();
      const auto [other, is_new] = files.emplace(*rank, file);
      if (!is_new) {
        fail_two_traces(*rank, SourcePlace::named(std::max(file, other->second)), std::min(file, other->second));
      }
    }
  }
  if (files.empty() && fs::is_directory(path, ec)) {
    std::string help = "name a prefix inside it";
    if (const std::vector<std::string> inside = prefixes_in(path); !inside.empty())
      help = fmt::format("write {}", (path / inside.front()).string());
    fail("is-directory", "this is a directory, the prefix of Chakra traces is needed", SourcePlace::named(prefix), help);
  }
  if (files.empty()) {
    const std::vector<std::string> known = prefixes_in(folder);
    std::string help = fmt::format("files are named {}.0.et, {}.1.et, ..., in JSON form .json", base, base);
    if (!known.empty()) help = fmt::format("{}; {}", suggestion(base, known, "prefix"), help);
    fail("no-file", "there is no Chakra trace with this prefix", SourcePlace::named(prefix), help);
  }
  return files;
}

/// Says which files of 0 .. N-1 are missing.
void require_complete(const std::string& prefix, const std::map<std::uint32_t, std::string>& files, const ChakraOptions& options) {
  const std::uint64_t count = std::uint64_t{files.rbegin()->first} + 1;
  if (files.size() == count) return;
  const std::string_view ending = is_json(files.begin()->second) ? file_endings[1] : file_endings[0];
  std::string missing;
  constexpr int shown_max = 8;
  int shown = 0;
  std::uint64_t left = count - files.size();
  for (std::uint32_t rank = 0; rank < count && shown < shown_max; ++rank) {
    if (files.count(rank) > 0) continue;
    missing += fmt::format("{}{}.{}{}", missing.empty() ? "" : ", ", prefix, rank, ending);
    ++shown;
    --left;
  }
  if (left > 0) missing += fmt::format(" and {} more", left);
  const bool single = files.size() == 1;
  fail("missing-rank",
       fmt::format("the set has {}{} up to rank {}, but not {}", files.size(), single ? " file" : " files", files.rbegin()->first,
                   missing),
       SourcePlace::named(prefix),
       single ? fmt::format("add the missing files, or replay the one file on N ranks with {}", options.names("ranks", "N"))
              : "add the missing files");
}

class ChakraImporter {
 public:
  ChakraImporter(const std::string& prefix, const ChakraOptions& options) : prefix_(prefix), options_(options) {
    if (!options.process_groups_path.empty()) shared_groups_ = read_process_groups(options.process_groups_path);
  }

  Workload import() {
    const std::map<std::uint32_t, std::string> files = find_files(prefix_);
    replayed_ = options_.ranks && files.size() == 1;
    if (options_.ranks) {
      if (auto fault = fault_of_ranks(*options_.ranks, options_.names)) throw InputError(*std::move(fault));
    }
    if (!options_.ranks || files.size() > 1) require_complete(prefix_, files, options_);
    if (options_.ranks && files.size() > 1 && *options_.ranks != files.size()) {
      fail_rank_conflict(
          *options_.ranks, options_.names, fmt::format("the {} files of the set", files.size()), SourcePlace::named(prefix_),
          fmt::format("leave {} out; only a set of one file can be replayed on more ranks", options_.names("ranks")));
    }
    require_replayed_groups(options_.group_sizes, replayed_, options_.collectives_as_recorded, options_.names);
    workload_.name = std::filesystem::path(prefix_).filename().string();
    workload_.rank_count = options_.ranks ? *options_.ranks : static_cast<std::uint32_t>(files.size());
    communicators_.emplace(workload_.rank_count);
    if (!replayed_) require_world_group();
    for (const auto& [rank, path] : files) add_rank(rank, path);
    if (replayed_) workload_.role_of.assign(workload_.rank_count, 0);
    workload_.communicators = communicators_->build();
    note_assumptions(files.size());
    if (workload_.communicators.size() > workload_communicator_count_max) {
      fail("too-many-communicators", "the set uses too many overlapping process groups", SourcePlace::named(prefix_),
           fmt::format("at most {} are supported", workload_communicator_count_max));
    }
    Diagnostics diagnostics;
    check_workload(workload_, SourcePlace::named(prefix_), diagnostics);
    diagnostics.throw_if_errors();
    return std::move(workload_);
  }

 private:
  /// Groups "" and "0" of a trace are all ranks whatever is listed; so it must not be listed
  /// otherwise.
  void require_world_group() const {
    for (const ProcessGroup& group : shared_groups_) {
      if (!names_world(group.name) || is_world(group)) continue;
      fail("bad-process-groups",
           fmt::format("process group {} of a Chakra trace is all ranks in order, here 0 to {}, but another list is given",
                       in_quotes(group.name), workload_.rank_count - 1),
           SourcePlace::named(options_.process_groups_path), "leave it out, or give the group another name here and in the traces");
    }
  }

  static bool names_world(std::string_view group) { return group.empty() || group == "0"; }

  bool is_world(const ProcessGroup& group) const {
    if (group.ranks.empty()) return group.size == 0 || group.size == workload_.rank_count;
    if (group.ranks.size() != workload_.rank_count) return false;
    for (std::uint32_t i = 0; i < group.ranks.size(); ++i) {
      if (group.ranks[i] != i) return false;
    }
    return true;
  }

  void add_rank(std::uint32_t rank, const std::string& path) {
    const ChakraTrace trace = is_json(path) ? read_chakra_json(path, rank) : read_chakra_trace(path, rank);
    // Of a replayed file the rank in its name stands for every rank.
    const std::vector<std::uint16_t> communicators = resolve_groups(rank, path, trace);
    RoleBuilder builder;
    builder.reserve(trace.nodes.size(), trace.edges.size());
    Diagnostics diagnostics;
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
      const ChakraNode& node = trace.nodes[i];
      Op op = node.op;
      if (op.kind == OpKind::collective && options_.collectives_as_recorded) {
        op = Op();
        op.stream = node.op.stream;
        op.duration = node.recorded;
      } else if (op.kind == OpKind::collective) {
        op.communicator = communicators[node.group];
        growth_.tell_collective(trace.group_names[node.group], op.collective);
      } else if (op.kind != OpKind::compute) {
        // Peers are numbered as ranks of the whole set; as offsets, neighbours of equal ranks are
        // equal.
        if (!replayed_ && node.peer_rank >= workload_.rank_count) {
          diagnostics.error("peer-out-of-range",
                            fmt::format("node {} talks to rank {}, but the set has {}", in_quotes(trace.name(i)), node.peer_rank,
                                        counted(workload_.rank_count, "rank", "ranks")),
                            SourcePlace::named(path), "add the traces of the other ranks");
          continue;
        }
        op.addressing = PeerAddressing::relative;
        op.peer = static_cast<std::int32_t>(static_cast<std::int64_t>(growth_.place_of(node.peer_rank)) -
                                            static_cast<std::int64_t>(growth_.place_of(rank)));
        if (!replayed_ && op.peer < 0) op.peer += static_cast<std::int32_t>(workload_.rank_count);
      }
      builder.add(op, trace.name(i));
    }
    diagnostics.throw_if_errors();
    for (const auto& [dependency, node] : trace.edges) builder.depend(node, dependency);
    // Dependencies and streams follow the order of the nodes: no cycle is possible.
    roles_.add_rank(workload_, std::move(std::move(builder).finish().dag), rank, path);
    count_assumptions(trace);
  }

  /// Communicator of each group that the trace uses.
  std::vector<std::uint16_t> resolve_groups(std::uint32_t rank, const std::string& path, const ChakraTrace& trace) {
    std::vector<std::uint16_t> communicators;
    Diagnostics diagnostics;
    if (replayed_) find_growth(trace);
    for (const std::string& name : trace.group_names) {
      communicators.push_back(0);
      if (name.empty() && replayed_) growth_.tell(name, recorded_world_of(trace), workload_.rank_count);
      if (name.empty()) continue;
      const ProcessGroup* const group = find_group(trace, name);
      if (group == nullptr) {
        ++undefined_groups_;
        if (replayed_) continue;
        diagnostics.error(
            "unknown-process-group", fmt::format("the trace uses process group {}, which nothing defines", in_quotes(name)),
            SourcePlace::named(path),
            fmt::format("name its ranks in a JSON file {{{}: [0, 1, ...]}} and give its path as process groups", in_quotes(name)));
        continue;
      }
      if (replayed_) {
        communicators.back() = repeated_communicator_of(*group, recorded_world_of(trace));
        continue;
      }
      if (group->ranks.empty()) continue;
      if (auto fault = fault_of_process_group(name, group->ranks, rank, workload_.rank_count)) {
        fault->place = SourcePlace::named(path);
        diagnostics.add(std::move(*fault));
        continue;
      }
      communicators.back() = communicators_->communicator_of(name, group->ranks);
    }
    diagnostics.throw_if_errors();
    return communicators;
  }

  const ProcessGroup* find_group(const ChakraTrace& trace, const std::string& name) const {
    const ProcessGroup* const group = find_process_group(trace.groups, name);
    return group != nullptr ? group : find_process_group(shared_groups_, name);
  }

  /// Which groups of a replayed rank grow.
  void find_growth(const ChakraTrace& trace) {
    std::vector<ProcessGroup> groups;
    for (const std::string& name : trace.group_names) {
      const ProcessGroup* const group = name.empty() ? nullptr : find_group(trace, name);
      if (group != nullptr) groups.push_back(*group);
    }
    growth_ = GroupGrowth(groups, options_.group_sizes, recorded_world_of(trace), workload_.rank_count, options_.names);
  }

  /// One rank stands for all: its groups are every rank's.
  std::uint16_t repeated_communicator_of(const ProcessGroup& group, std::uint32_t recorded_world) {
    const auto shape = growth_.shape_of(group.name);
    const auto repeated =
        shape ? communicators_->communicator_of(group.name, *shape)
              : communicators_->repeated_communicator_of(group.name, growth_.places_of(group.ranks), recorded_world);
    if (!repeated) ++widened_groups_;
    if (!shape && repeated.value_or(0) != 0) ++repeated_groups_;
    const auto recorded = group.ranks.empty() ? group.size : static_cast<std::uint32_t>(group.ranks.size());
    growth_.tell(group.name, recorded, communicators_->group_size(repeated.value_or(0)));
    return repeated.value_or(0);
  }

  /// On how many ranks the trace was recorded: the size of a group of everyone; 0 if none says it.
  static std::uint32_t recorded_world_of(const ChakraTrace& trace) {
    std::uint32_t world = 0;
    for (const ProcessGroup& group : trace.groups) {
      const bool is_default = group.name == "0" || group.name == "default_pg";
      if (group.ranks.empty()) world = std::max(world, group.size);
      if (is_default) world = std::max(world, static_cast<std::uint32_t>(group.ranks.size()));
    }
    return world;
  }

  void count_assumptions(const ChakraTrace& trace) {
    ignored_control_ += trace.ignored_control_dependencies;
    launch_costs_ += trace.launch_costs;
    storage_waits_ += trace.storage_waits;
    untimed_memory_ += trace.untimed_memory;
    untimed_ops_ += trace.untimed_ops;
    untimed_tensors_ += trace.untimed_tensors;
    overlaps_ += trace.overlaps;
    invalid_nodes_ += trace.invalid_nodes;
    cpu_communication_ += trace.cpu_communication;
    broadcasts_ += trace.broadcasts;
    rooted_ += trace.rooted;
    sized_barriers_ += trace.sized_barriers;
    clamped_priorities_ += trace.clamped_priorities;
    partial_ += trace.partial_dimensions;
    if (!replayed_) {
      other_worlds_ +=
          static_cast<std::uint64_t>(std::count_if(trace.groups.begin(), trace.groups.end(), [this](const auto& group) {
            return names_world(group.name) && !is_world(group);
          }));
    }
    // Traces of other origin that name no group mean everyone, as ASTRA-sim does.
    if (trace.from_pytorch) unnamed_groups_ += trace.unnamed_groups;
    for (const ChakraNode& node : trace.nodes)
      point_to_point_ += node.op.kind == OpKind::send || node.op.kind == OpKind::receive ? 1 : 0;
    for (const ChakraNode& node : trace.nodes) collectives_ += node.op.kind == OpKind::collective ? 1 : 0;
  }

  void note(std::uint64_t count, std::string_view one, std::string_view many, std::string_view rest) {
    add_counted_note(workload_.assumptions, count, one, many, rest);
  }

  void note_assumptions(std::size_t file_count) {
    if (replayed_) {
      workload_.assumptions.push_back(
          fmt::format("one trace is replayed on {}, all alike", counted(workload_.rank_count, "rank", "ranks")));
      note(repeated_groups_, "process group of the trace is", "process groups of the trace are",
           " repeated over all ranks with the recorded size and stride");
      note(widened_groups_, "process group of the trace cannot be repeated so as to fill all ranks and is",
           "process groups of the trace cannot be repeated so as to fill all ranks and are", " taken to be all ranks");
      note(undefined_groups_, "process group of the trace is not defined in it and is",
           "process groups of the trace are not defined in it and are", " taken to be all ranks");
      growth_.add_notes(workload_.assumptions);
      note(point_to_point_, "send or receive goes", "sends and receives go", " to the same offset from every rank");
    }
    note(unnamed_groups_, "collective of a recorded trace names no process group and is",
         "collectives of a recorded trace name no process group and are", " taken to be among all ranks");
    if (file_count == 1 && workload_.rank_count == 1) {
      note(collectives_, "collective of a single rank takes", "collectives of a single rank take",
           fmt::format(" no time; replay the trace on N ranks with {}", options_.names("ranks", "N")));
    }
    if (options_.collectives_as_recorded) {
      note(collectives_, "collective takes", "collectives take", " the time that the trace recorded, without a network");
    }
    note(launch_costs_, "collective node is a CPU call and takes its", "collective nodes are CPU calls and take their",
         " recorded time; the kernels launched there communicate");
    note(storage_waits_, "wait was added", "waits were added",
         " between GPU streams that use the same tensor, of which the trace says nothing");
    note(ignored_control_, "control dependency names a caller, as in PyTorch traces, and was",
         "control dependencies name callers, as in PyTorch traces, and were", " ignored");
    note(untimed_memory_, "memory node gives no duration and takes", "memory nodes give no duration and take",
         " no time: memory bandwidth is not modelled");
    note(untimed_ops_, "compute node gives a number of operations but no duration and takes",
         "compute nodes give a number of operations but no duration and take", " no time");
    note(untimed_tensors_, "compute node gives a tensor size but no duration and takes",
         "compute nodes give a tensor size but no duration and take", " no time");
    note(overlaps_, "compute node without stream or thread may overlap", "compute nodes without stream or thread may overlap",
         " with the one before on the same processor: no dependency orders them; ASTRA-sim runs one at a time");
    note(invalid_nodes_, "node has type 0 (INVALID_NODE) and takes", "nodes have type 0 (INVALID_NODE) and take",
         " no time; nothing waits for such nodes");
    note(cpu_communication_, "communication node is marked as a CPU op and runs",
         "communication nodes are marked as CPU ops and run", " on the network like the GPU's; ASTRA-sim refuses such nodes");
    note(other_worlds_, "process group \"0\" of a trace lists other ranks than this set has and is",
         "process groups \"0\" of traces list other ranks than this set has and are", " taken to be all ranks");
    note(broadcasts_, "broadcast starts", "broadcasts start", " at position 0 of the group; the trace does not name the root");
    note(rooted_, "reduce, gather or scatter has", "reduces, gathers and scatters have",
         " position 0 of the group as root; the trace does not name it");
    note(sized_barriers_, "barrier has a comm_size, which is", "barriers have a comm_size, which is",
         " ignored: a barrier moves no data");
    note(clamped_priorities_, "comm_priority is", "comm_priorities are", " not in 0 to 7 and taken to be the nearest of these");
    note(partial_, "collective excludes", "collectives exclude",
         " a network dimension (involved_dim); taken to span the whole group");
  }

  std::string prefix_;
  ChakraOptions options_;
  bool replayed_ = false;
  std::vector<ProcessGroup> shared_groups_;
  Workload workload_;
  std::optional<CommunicatorTable> communicators_;
  RoleTable roles_;
  GroupGrowth growth_;
  std::uint64_t repeated_groups_ = 0;
  std::uint64_t widened_groups_ = 0;
  std::uint64_t undefined_groups_ = 0;
  std::uint64_t unnamed_groups_ = 0;
  std::uint64_t ignored_control_ = 0;
  std::uint64_t launch_costs_ = 0;
  std::uint64_t storage_waits_ = 0;
  std::uint64_t untimed_memory_ = 0;
  std::uint64_t untimed_ops_ = 0;
  std::uint64_t untimed_tensors_ = 0;
  std::uint64_t overlaps_ = 0;
  std::uint64_t invalid_nodes_ = 0;
  std::uint64_t cpu_communication_ = 0;
  std::uint64_t other_worlds_ = 0;
  std::uint64_t broadcasts_ = 0;
  std::uint64_t rooted_ = 0;
  std::uint64_t sized_barriers_ = 0;
  std::uint64_t clamped_priorities_ = 0;
  std::uint64_t partial_ = 0;
  std::uint64_t point_to_point_ = 0;
  std::uint64_t collectives_ = 0;
};

}  // namespace

Workload import_chakra(const std::string& prefix, const ChakraOptions& options) { return ChakraImporter(prefix, options).import(); }

std::vector<std::string> chakra_files(const std::string& prefix) {
  std::vector<std::string> files;
  for (const auto& [rank, file] : find_files(prefix)) files.push_back(file);
  return files;
}

}  // namespace weft
