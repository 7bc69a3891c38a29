// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/workload_frame.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/rank_list.hpp"
#include "workloads/dag/split_tables.hpp"

namespace weft {

namespace {

namespace pb = workload_file;

/// Points at the offending item inside a quoted text.
SourcePlace narrowed(SourcePlace place, const ParsedRankList& list) {
  if (place.line > 0 && place.column > 0) {
    place.column += 1 + static_cast<int>(list.error_at);
    place.length = static_cast<int>(list.error_length);
  }
  return place;
}

/// Reads a rank list, reporting what is wrong with it.
std::vector<RankId> ranks_at(const std::string& text, std::uint32_t rank_count, const SourcePlace& place,
                             Diagnostics& diagnostics) {
  ParsedRankList list = parse_rank_list(text, rank_count);
  if (!list.error.empty()) {
    diagnostics.error("bad-ranks", list.error, narrowed(place, list), "ranks are written like \"0-7,16,32-62:2\"");
  }
  return std::move(list.ranks);
}

std::string ranks_text(const std::vector<RankId>& ranks) {
  std::string text = to_text(std::span<const RankId>(ranks));
  constexpr std::size_t shown_max = 60;
  if (text.size() > shown_max) text = fmt::format("{},...", text.substr(0, text.rfind(',', shown_max)));
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", text);
}

using Groups = std::vector<std::vector<RankId>>;

Groups strided_groups(const pb::Communicator& file, std::uint32_t rank_count, const FieldPlaces& places, const SourcePlace& place,
                      Diagnostics& diagnostics) {
  const std::uint64_t size = file.size();
  const std::uint64_t stride = file.stride() == 0 ? 1 : file.stride();
  if (size * stride > rank_count || rank_count % (size * stride) != 0) {
    diagnostics.error("bad-groups",
                      fmt::format("{} cannot be divided into groups of {}{}", counted(rank_count, "rank", "ranks"), size,
                                  stride == 1 ? std::string() : fmt::format(" with stride {}", stride)),
                      places.of(file, "size").line > 0 ? places.of(file, "size") : place,
                      "ranks must be a multiple of size x stride");
    return {};
  }
  Groups groups(rank_count / size);
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    groups[static_cast<std::size_t>(rank / (size * stride) * stride + rank % stride)].emplace_back(rank);
  }
  return groups;
}

Groups listed_groups(const pb::Communicator& file, std::uint32_t rank_count, const FieldPlaces& places, Diagnostics& diagnostics) {
  Groups groups;
  std::vector<bool> taken(rank_count, false);
  for (int g = 0; g < file.group_size(); ++g) {
    const SourcePlace place = places.inside(file, "group", g).of(file.group(g), "ranks");
    std::vector<RankId> ranks = ranks_at(file.group(g).ranks(), rank_count, place, diagnostics);
    for (const RankId rank : ranks) {
      if (taken[rank.index()]) {
        diagnostics.error("duplicate-rank",
                          fmt::format("rank {} stands twice in communicator {}", rank.index(), in_quotes(file.name())), place,
                          "the groups of a communicator are disjoint; use a second communicator for other groups");
        return {};
      }
      taken[rank.index()] = true;
    }
    groups.push_back(std::move(ranks));
  }
  return groups;
}

void read_communicators(const pb::Workload& file, const FieldPlaces& places, Workload& workload, Diagnostics& diagnostics) {
  workload.communicators.push_back(Communicator::world(workload.rank_count));
  std::unordered_set<std::string_view> names;
  for (int c = 0; c < file.communicator_size(); ++c) {
    const pb::Communicator& communicator = file.communicator(c);
    const FieldPlaces inside = places.inside(file, "communicator", c);
    const SourcePlace place = places.of(file, "communicator", c);
    const SourcePlace name_place = communicator.name().empty() ? place : inside.of(communicator, "name");
    if (communicator.name().empty()) {
      diagnostics.error("missing-field", "this communicator has no name", place, "add a line like name: \"dp\"");
    } else if (communicator.name() == "world") {
      diagnostics.error("reserved-name", "the name \"world\" is taken by the group of all ranks", name_place,
                        "choose another name");
    }
    if (!communicator.name().empty() && !names.insert(communicator.name()).second) {
      diagnostics.error("duplicate-communicator", fmt::format("communicator {} is defined twice", in_quotes(communicator.name())),
                        name_place, "give it another name, or list all its groups in one communicator");
    }
    if (communicator.priority() > op_priority_max) {
      diagnostics.error("out-of-range",
                        fmt::format("priority {} of communicator {} is above {}", communicator.priority(),
                                    in_quotes(communicator.name()), op_priority_max),
                        inside.of(communicator, "priority"), priority_help);
    }
    Groups groups;
    const bool listed = communicator.group_size() > 0;
    if (listed == (communicator.size() > 0)) {
      diagnostics.error(listed ? "conflicting-fields" : "missing-field",
                        fmt::format("communicator {}{}", in_quotes(communicator.name()),
                                    listed ? " has both listed groups and a size" : " has neither groups nor a size"),
                        place,
                        "write either group { ranks: \"0-7\" } for each group, or size: (and stride:) for groups of one size");
    } else if (listed) {
      groups = listed_groups(communicator, workload.rank_count, inside, diagnostics);
    } else {
      groups = strided_groups(communicator, workload.rank_count, inside, place, diagnostics);
    }
    workload.communicators.emplace_back(communicator.name(), workload.rank_count, groups);
  }
}

void read_roles(const pb::Workload& file, const FieldPlaces& places, const SourcePlace& whole_file, Workload& workload,
                Diagnostics& diagnostics) {
  constexpr std::uint16_t nobody = UINT16_MAX;
  workload.role_of.assign(workload.rank_count, nobody);
  if (file.role_size() == 0) {
    diagnostics.error("no-roles", "the workload has no role, so no rank has anything to do", whole_file,
                      "add role { name: \"all\" op { ... } }");
    return;
  }
  if (static_cast<std::uint32_t>(file.role_size()) > workload_role_count_max) {
    diagnostics.error("too-many-roles", fmt::format("the workload has {} roles", file.role_size()), whole_file,
                      fmt::format("at most {} are supported; ranks that do the same share one", workload_role_count_max));
    return;
  }
  for (int r = 0; r < file.role_size(); ++r) {
    const pb::Role& role = file.role(r);
    const FieldPlaces inside = places.inside(file, "role", r);
    const SourcePlace place = places.of(file, "role", r);
    workload.role_names.push_back(role.name().empty() ? fmt::format("role{}", r) : role.name());
    std::vector<RankId> ranks;
    if (role.ranks().empty() && file.role_size() == 1) {
      std::fill(workload.role_of.begin(), workload.role_of.end(), std::uint16_t{0});
      continue;
    }
    if (role.ranks().empty()) {
      diagnostics.error("missing-field",
                        fmt::format("role {} does not say which ranks play it", in_quotes(workload.role_names.back())), place,
                        "add a line like ranks: \"0-7\"; only a single role may leave it out");
      continue;
    }
    const SourcePlace ranks_place = inside.of(role, "ranks");
    for (const RankId rank : ranks_at(role.ranks(), workload.rank_count, ranks_place, diagnostics)) {
      std::uint16_t& player = workload.role_of[rank.index()];
      if (player != nobody) {
        diagnostics.error("duplicate-rank",
                          fmt::format("rank {}{}", rank.index(),
                                      player == r ? " stands twice in the list"
                                                  : fmt::format(" plays role {} already", in_quotes(workload.role_names[player]))),
                          ranks_place, "every rank plays exactly one role");
        break;
      }
      player = static_cast<std::uint16_t>(r);
    }
  }
  if (diagnostics.has_errors()) return;
  std::vector<RankId> idle;
  for (std::uint32_t rank = 0; rank < workload.rank_count; ++rank) {
    if (workload.role_of[rank] == nobody) idle.emplace_back(rank);
  }
  if (!idle.empty()) {
    diagnostics.error("missing-rank", fmt::format("no role is played by {}", ranks_text(idle)), whole_file,
                      fmt::format("add them to the ranks of a role, or lower ranks: (now {})", workload.rank_count));
  }
}

}  // namespace

Workload read_frame(const pb::Workload& file, const FieldPlaces& places, const SourcePlace& whole_file, Diagnostics& diagnostics) {
  Workload workload;
  workload.name = file.name();
  workload.rank_count = file.ranks();
  if (file.ranks() == 0) {
    diagnostics.error("missing-field", "the workload does not say how many ranks it has", whole_file, "add a line like ranks: 8");
  } else if (file.ranks() > workload_rank_count_max) {
    diagnostics.error("out-of-range", fmt::format("ranks is {}", file.ranks()), places.of(file, "ranks"),
                      fmt::format("at most {} ranks are supported", workload_rank_count_max));
    workload.rank_count = 0;
  }
  workload.roles.resize(static_cast<std::size_t>(file.role_size()));
  workload.splits = read_split_tables(file, places, diagnostics);
  if (static_cast<std::uint32_t>(file.communicator_size()) > workload_communicator_count_max) {
    diagnostics.error(
        "too-many-communicators", fmt::format("the workload has {} communicators", file.communicator_size()), whole_file,
        fmt::format("{} are the most: groups of equal purpose belong in one communicator", workload_communicator_count_max));
    workload.rank_count = 0;
  }
  if (std::uint64_t{workload.rank_count} * (static_cast<std::uint64_t>(file.communicator_size()) + 1) > workload_memberships_max) {
    diagnostics.error(
        "too-large",
        fmt::format("the workload has {} of {}",
                    counted(static_cast<std::uint64_t>(file.communicator_size()), "communicator", "communicators"),
                    counted(workload.rank_count, "rank", "ranks")),
        whole_file,
        fmt::format("at most {} ranks times communicators are read; groups of equal purpose belong in one communicator",
                    workload_memberships_max));
    workload.rank_count = 0;
  }
  if (workload.rank_count == 0) {
    // Nothing that names ranks can be judged; names are still known.
    workload.communicators.push_back(Communicator::world(0));
    for (const pb::Communicator& communicator : file.communicator())
      workload.communicators.emplace_back(communicator.name(), 0, Groups{});
    for (int r = 0; r < file.role_size(); ++r) workload.role_names.push_back(file.role(r).name());
    return workload;
  }
  read_communicators(file, places, workload, diagnostics);
  read_roles(file, places, whole_file, workload, diagnostics);
  return workload;
}

FrameIndex::FrameIndex(const Workload& frame) : frame_(frame), players_(frame) {
  // The first of several of one name.
  for (std::size_t c = 0; c < frame.communicators.size(); ++c)
    communicators_.try_emplace(frame.communicators[c].name(), static_cast<std::uint16_t>(c));
  for (std::size_t s = 0; s < frame.splits.size(); ++s) splits_.try_emplace(frame.splits[s].name(), static_cast<std::uint32_t>(s));
}

std::optional<std::uint16_t> FrameIndex::communicator(std::string_view name) const {
  const auto found = communicators_.find(name);
  return found == communicators_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> FrameIndex::splits(std::string_view name) const {
  const auto found = splits_.find(name);
  return found == splits_.end() ? std::nullopt : std::optional(found->second);
}

Seats FrameIndex::seats_of(std::size_t role, std::size_t communicator) const {
  Seats seats;
  const Communicator& groups = frame_.communicators[communicator];
  for (const RankId rank : players_.of(role)) {
    const GroupId group = groups.group_of(rank);
    if (group.is_none()) {
      if (!seats.rank_without_group) seats.rank_without_group = rank;
    } else {
      const auto size = static_cast<std::uint32_t>(groups.ranks(group).size());
      seats.group_size_min = std::min(seats.group_size_min, size);
      seats.group_size_max = std::max(seats.group_size_max, size);
    }
  }
  return seats;
}

CollectiveType from_file(pb::CollectiveType type) {
  switch (type) {
    case pb::ALL_GATHER:
      return CollectiveType::all_gather;
    case pb::REDUCE_SCATTER:
      return CollectiveType::reduce_scatter;
    case pb::ALL_TO_ALL:
      return CollectiveType::all_to_all;
    case pb::BROADCAST:
      return CollectiveType::broadcast;
    case pb::REDUCE:
      return CollectiveType::reduce;
    case pb::GATHER:
      return CollectiveType::gather;
    case pb::SCATTER:
      return CollectiveType::scatter;
    case pb::BARRIER:
      return CollectiveType::barrier;
    case pb::ALL_TO_ALL_V:
      return CollectiveType::all_to_all_v;
    default:
      return CollectiveType::all_reduce;
  }
}

pb::CollectiveType to_file(CollectiveType type) {
  switch (type) {
    case CollectiveType::all_reduce:
      return pb::ALL_REDUCE;
    case CollectiveType::all_gather:
      return pb::ALL_GATHER;
    case CollectiveType::reduce_scatter:
      return pb::REDUCE_SCATTER;
    case CollectiveType::all_to_all:
      return pb::ALL_TO_ALL;
    case CollectiveType::broadcast:
      return pb::BROADCAST;
    case CollectiveType::reduce:
      return pb::REDUCE;
    case CollectiveType::gather:
      return pb::GATHER;
    case CollectiveType::scatter:
      return pb::SCATTER;
    case CollectiveType::barrier:
      return pb::BARRIER;
    case CollectiveType::all_to_all_v:
      return pb::ALL_TO_ALL_V;
  }
  return pb::COLLECTIVE_TYPE_UNSPECIFIED;
}

}  // namespace weft
