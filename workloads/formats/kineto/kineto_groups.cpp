// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_groups.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/formats/kineto/kineto_trace.hpp"

namespace weft {

namespace {

std::string name_of(const KinetoCommunication& communication) {
  return communication.group_name.empty() ? "unnamed" : communication.group_name;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> KinetoGroups::group_of(const KinetoCommunication& communication, const KinetoRank& rank) {
  const bool is_cut = communication.group_ranks.find("...") != std::string::npos;
  auto ranks = known_group(communication, rank.number);
  if (!ranks) {
    const bool unnamed = communication.group_name.empty() && communication.group_size < 0;
    if (unnamed) {
      ++findings_.unnamed_groups;
      return std::vector<std::uint32_t>();
    }
    if (communication.group_size >= 0 && communication.group_size == std::int64_t{set_.recorded_world()}) {
      return std::vector<std::uint32_t>();
    }
    ranks = continued_group(communication, rank.number);
  }
  if (!ranks) {
    if (set_.replayed)
      return guessed_group(communication.group_size, rank.number, is_cut ? findings_.cut_groups : findings_.sized_groups);
    if (errors_.is_new(fmt::format("group {}", communication.group_name))) {
      errors_.diagnostics.error(
          "unknown-process-group",
          fmt::format("the trace {} ranks of process group {}{}", is_cut ? "lists only the first" : "does not list the",
                      in_quotes(communication.group_name), is_cut ? ", and they do not tell the others" : ""),
          kineto_place_of(rank.path, communication),
          fmt::format("name them in a JSON file {{{}: [0, 1, ...]}} and give it as {}", in_quotes(communication.group_name),
                      names_("process_groups", "FILE")));
    }
    return std::nullopt;
  }
  if (ranks->empty() || set_.replayed) return ranks;
  if (auto fault = fault_of_process_group(communication.group_name, *ranks, rank.number, set_.rank_count)) {
    if (errors_.is_new(fmt::format("group {}", communication.group_name))) {
      fault->place = kineto_place_of(rank.path, communication);
      errors_.diagnostics.add(std::move(*fault));
    }
    return std::nullopt;
  }
  // The default group is the world communicator.
  const bool is_default =
      communication.group_name.empty() || communication.group_name == "0" || communication.group_name == "default_pg";
  if (is_default && ranks->size() == set_.rank_count && std::is_sorted(ranks->begin(), ranks->end())) ranks->clear();
  return ranks;
}

std::vector<std::uint32_t> KinetoGroups::guessed_group(std::int64_t size, std::uint32_t number, std::uint64_t& guesses) {
  std::vector<std::uint32_t> ranks;
  if (size <= 0 || size > set_.rank_count || set_.rank_count % size != 0) {
    ++findings_.widened_groups;
    return ranks;
  }
  ++guesses;
  const auto count = static_cast<std::uint32_t>(size);
  for (std::uint32_t i = 0; i < count; ++i) ranks.push_back(number / count * count + i);
  return ranks;
}

std::optional<std::vector<std::uint32_t>> KinetoGroups::continued_group(const KinetoCommunication& communication,
                                                                        std::uint32_t number) {
  // PyTorch writes a stride whenever the ranks have one.
  const bool is_irregular = communication.rank_start >= 0 && communication.rank_stride < 0;
  auto ranks = complete_kineto_ranks(communication.group_ranks, communication.group_size);
  if (is_irregular || !ranks || ranks->back() >= set_.recorded_world() ||
      !std::binary_search(ranks->begin(), ranks->end(), number)) {
    return std::nullopt;
  }
  findings_.continued_groups.insert(communication.group_name);
  return ranks;
}

std::optional<std::vector<std::uint32_t>> KinetoGroups::known_group(const KinetoCommunication& communication,
                                                                    std::uint32_t number) const {
  const std::string& name = communication.group_name;
  if (const ProcessGroup* given = find_process_group(set_.given_groups, name)) return given->ranks;
  if (auto ranks = parse_kineto_ranks(communication.group_ranks); ranks && !ranks->empty()) return ranks;
  if (const auto own = set_.declared_groups.find(number); own != set_.declared_groups.end() && !name.empty()) {
    if (const ProcessGroup* declared = find_process_group(own->second, name)) return declared->ranks;
  }
  const std::int64_t size = communication.group_size;
  const std::int64_t stride = communication.rank_stride;
  const std::int64_t start = communication.rank_start;
  const bool regular = size > 0 && stride > 0 && start >= 0 && size <= workload_rank_count_max &&
                       stride <= workload_rank_count_max && start + (size - 1) * stride < workload_rank_count_max;
  if (!regular || size > std::int64_t{set_.recorded_world()}) return std::nullopt;
  std::vector<std::uint32_t> ranks;
  for (std::int64_t i = 0; i < size; ++i) ranks.push_back(static_cast<std::uint32_t>(start + i * stride));
  return ranks;
}

std::uint16_t KinetoGroups::communicator_of(const KinetoCommunication& communication, const std::vector<std::uint32_t>& group,
                                            CollectiveType type) {
  if (!set_.replayed) return group.empty() ? std::uint16_t{0} : communicators_.communicator_of(name_of(communication), group);
  const std::uint16_t communicator = repeated_communicator_of(communication, group);
  growth_.tell(communication.group_name, recorded_size(communication, group), communicators_.group_size(communicator));
  growth_.tell_collective(communication.group_name, type);
  return communicator;
}

std::uint16_t KinetoGroups::repeated_communicator_of(const KinetoCommunication& communication,
                                                     const std::vector<std::uint32_t>& group) {
  const std::string name = name_of(communication);
  if (const auto shape = growth_.shape_of(communication.group_name)) return communicators_.communicator_of(name, *shape);
  if (group.empty()) return 0;
  const auto repeated =
      communicators_.repeated_communicator_of(name, growth_.places_of(group), set_.declares_world ? set_.world_size : 0);
  if (!repeated) ++findings_.widened_groups;
  if (repeated.value_or(0) != 0) findings_.repeated_groups.insert(name);
  return repeated.value_or(0);
}

std::uint32_t KinetoGroups::recorded_size(const KinetoCommunication& communication, const std::vector<std::uint32_t>& group) const {
  if (communication.group_size > 0) return static_cast<std::uint32_t>(std::min<std::int64_t>(communication.group_size, UINT32_MAX));
  if (!group.empty()) return static_cast<std::uint32_t>(group.size());
  return set_.declares_world ? set_.world_size : 0;
}

void KinetoGroups::find_growth() {
  if (!set_.replayed) return;
  // What is found here is counted and told when the communication is placed.
  KinetoErrors errors;
  KinetoFindings findings;
  KinetoGroups listing(set_, names_, errors, findings);
  std::vector<ProcessGroup> groups;
  std::set<std::string> listed;
  for (const KinetoExchange& exchange : set_.exchanges) {
    const KinetoCommunication& communication = exchange.communication;
    if (communication.group_name.empty() || !listed.insert(communication.group_name).second) continue;
    const std::vector<std::uint32_t> ranks =
        listing.group_of(communication, set_.ranks.front()).value_or(std::vector<std::uint32_t>());
    groups.push_back({communication.group_name, ranks, recorded_size(communication, ranks), communication.group_description});
    const auto declared = set_.declared_groups.find(set_.ranks.front().number);
    if (!groups.back().description.empty() || declared == set_.declared_groups.end()) continue;
    const ProcessGroup* const own = find_process_group(declared->second, communication.group_name);
    if (own != nullptr) groups.back().description = own->description;
  }
  growth_ = GroupGrowth(groups, set_.group_sizes, set_.declares_world ? set_.world_size : 0, set_.rank_count, names_);
}

}  // namespace weft
