// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/rank_set.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/strided_groups.hpp"

namespace weft {

std::vector<ProcessGroup> read_process_groups(const std::string& path) {
  const SourceText source = SourceText::read(path);
  source.require_utf8_text("JSON file of process groups");
  const auto fail = [&](const std::string& message) -> InputError {
    return InputError({Severity::error, "bad-process-groups", message, source.whole_file(),
                       "write the ranks of each group like {\"1\": [0, 1, 2, 3], \"2\": [4, 5, 6, 7]}"});
  };
  const nlohmann::json file = nlohmann::json::parse(source.text(), nullptr, false);
  if (!file.is_object()) throw fail("this is no JSON object of process groups");
  std::vector<ProcessGroup> groups;
  for (const auto& [name, ranks] : file.items()) {
    ProcessGroup group;
    group.name = name;
    if (!ranks.is_array()) throw fail(fmt::format("process group {} is no list of ranks", in_quotes(name)));
    for (const nlohmann::json& rank : ranks) {
      if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= workload_rank_count_max) {
        throw fail(fmt::format("process group {} holds something that is no rank", in_quotes(name)));
      }
      group.ranks.push_back(rank.get<std::uint32_t>());
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

const ProcessGroup* find_process_group(std::span<const ProcessGroup> groups, std::string_view name) {
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const ProcessGroup& group) { return group.name == name; });
  return found == groups.end() ? nullptr : &*found;
}

std::optional<Diagnostic> fault_of_process_group(const std::string& name, std::span<const std::uint32_t> ranks, std::uint32_t user,
                                                 std::uint32_t rank_count) {
  const std::string group = fmt::format("process group {}", in_quotes(name));
  std::vector<bool> seen(rank_count, false);
  for (const std::uint32_t member : ranks) {
    if (member >= rank_count || seen[member]) {
      return Diagnostic{
          Severity::error, "bad-process-groups",
          fmt::format("{} holds rank {}{}", group, member,
                      member < rank_count ? " twice" : fmt::format(", but the set has {}", counted(rank_count, "rank", "ranks"))),
          SourcePlace(), "add the missing traces, or mend the group"};
    }
    seen[member] = true;
  }
  if (user < rank_count && seen[user]) return std::nullopt;
  return Diagnostic{Severity::error, "not-a-member", fmt::format("rank {} uses {} without being in it", user, group), SourcePlace(),
                    "add the rank to the group"};
}

std::uint16_t CommunicatorTable::communicator_of(const std::string& name, const std::vector<std::uint32_t>& ranks) {
  const auto [known, is_new] = placed_.try_emplace({name, ranks});
  if (is_new) known->second = place(name, ranks);
  return known->second;
}

std::optional<std::uint16_t> CommunicatorTable::repeated_communicator_of(const std::string& name,
                                                                         const std::vector<std::uint32_t>& ranks,
                                                                         std::uint32_t recorded_world) {
  if (ranks.empty() || ranks.size() == recorded_world || ranks.size() == rank_count_) return 0;
  const auto [known, is_new] = repeated_.try_emplace({name, ranks});
  if (is_new) known->second = repeat(name, ranks);
  return known->second;
}

std::uint16_t CommunicatorTable::communicator_of(const std::string& name, GroupShape shape) {
  if (shape.size == rank_count_) return 0;
  const auto [known, is_new] = shaped_.try_emplace(name);
  if (is_new) known->second = add_all(name, shape);
  return known->second;
}

std::uint32_t CommunicatorTable::group_size(std::uint16_t communicator) const {
  return communicator == 0 ? rank_count_ : static_cast<std::uint32_t>(slots_[communicator - 1].groups.front().size());
}

std::vector<Communicator> CommunicatorTable::build() const {
  std::vector<Communicator> communicators;
  communicators.push_back(Communicator::world(rank_count_));
  for (const Slot& slot : slots_) communicators.emplace_back(slot.name, rank_count_, slot.groups);
  return communicators;
}

std::uint16_t CommunicatorTable::place(const std::string& name, const std::vector<std::uint32_t>& ranks) {
  std::size_t s = 0;
  const auto fits = [&](const Slot& slot) {
    return slot.groups.front().size() == ranks.size() &&
           std::none_of(ranks.begin(), ranks.end(), [&](std::uint32_t rank) { return slot.taken[rank]; });
  };
  while (s < slots_.size() && !fits(slots_[s])) ++s;
  if (s == slots_.size()) slots_.push_back({fmt::format("pg_{}", name), {}, std::vector<bool>(rank_count_, false)});
  std::vector<RankId>& group = slots_[s].groups.emplace_back();
  for (const std::uint32_t rank : ranks) {
    group.emplace_back(rank);
    slots_[s].taken[rank] = true;
  }
  return static_cast<std::uint16_t>(s + 1);
}

std::optional<std::uint16_t> CommunicatorTable::repeat(const std::string& name, const std::vector<std::uint32_t>& ranks) {
  const auto size = static_cast<std::uint32_t>(ranks.size());
  const std::uint32_t stride = size > 1 && ranks[1] > ranks[0] ? ranks[1] - ranks[0] : 1;
  const std::uint64_t block = std::uint64_t{size} * stride;
  // A group that starts elsewhere is none of those that fill the ranks: {1, 2} is neither {0, 1}
  // nor {2, 3}.
  if (rank_count_ % block != 0 || ranks[0] % block >= stride) return std::nullopt;
  for (std::uint32_t i = 1; i < size; ++i) {
    if (ranks[i] != ranks[0] + std::uint64_t{i} * stride) return std::nullopt;
  }
  return add_all(name, {size, stride});
}

std::uint16_t CommunicatorTable::add_all(const std::string& name, GroupShape shape) {
  slots_.push_back(
      {fmt::format("pg_{}", name), strided_groups(rank_count_, shape.size, shape.stride), std::vector<bool>(rank_count_, true)});
  return static_cast<std::uint16_t>(slots_.size());
}

void RoleTable::add_rank(Workload& workload, RoleDag dag, std::uint32_t rank, const std::string& path) {
  std::vector<std::uint16_t>& candidates = roles_by_digest_[dag.digest()];
  for (const std::uint16_t role : candidates) {
    if (workload.roles[role] == dag) {
      workload.role_of.push_back(role);
      return;
    }
  }
  if (workload.roles.size() >= workload_role_count_max) {
    fail("too-many-roles", fmt::format("more than {} ranks differ from all others", workload_role_count_max),
         SourcePlace::named(path), "ranks that do the same share one role if their nodes have the same names");
  }
  const auto role = static_cast<std::uint16_t>(workload.roles.size());
  candidates.push_back(role);
  workload.roles.push_back(std::move(dag));
  workload.role_names.push_back(fmt::format("as_rank_{}", rank));
  workload.role_of.push_back(role);
}

}  // namespace weft
