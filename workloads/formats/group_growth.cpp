// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/group_growth.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/formats/counted_note.hpp"
#include "workloads/formats/format_options.hpp"

namespace weft {

namespace {

constexpr const char* scale_group_option = "scale_group";

/// As the user wrote it, or would have.
std::string called(const OptionNames& names, const std::string& name, const std::string& size) {
  if (names.are_fields()) return fmt::format("{} {{ name: {} size: {} }}", scale_group_option, in_quotes(name), size);
  return names(scale_group_option, fmt::format("{}={}", name, size));
}

/// What people call a group: its description, where it has one.
std::string_view description_of(const ProcessGroup& group) {
  return group.description == "undefined" ? std::string_view() : std::string_view(group.description);
}

/// Size and stride of a recorded group; none if its members are not evenly apart, or it is none of
/// those that fill the ranks.
std::optional<GroupShape> shape_of_recorded(const ProcessGroup& group, std::uint32_t recorded_ranks) {
  const std::vector<std::uint32_t>& ranks = group.ranks;
  if (ranks.empty()) return GroupShape{std::max(group.size > 0 ? group.size : recorded_ranks, 1U), 1};
  if (ranks.size() == 1) return GroupShape{1, std::max(recorded_ranks, 1U)};
  if (ranks[1] <= ranks[0]) return std::nullopt;
  const std::uint32_t stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] <= ranks[i - 1] || ranks[i] - ranks[i - 1] != stride) return std::nullopt;
  }
  if (ranks[0] % (ranks.size() * stride) >= stride) return std::nullopt;
  return GroupShape{static_cast<std::uint32_t>(ranks.size()), stride};
}

/// The fewest ranks that a job with this group has: others of its kind fill blocks of ranks with
/// it.
std::uint32_t ranks_beside(const ProcessGroup& group) {
  std::uint32_t ranks = std::min(group.size, workload_rank_count_max);
  for (const std::uint32_t rank : group.ranks) ranks = std::max(ranks, rank + 1);
  const auto shape = group.ranks.size() > 1 ? shape_of_recorded(group, 0) : std::nullopt;
  const std::uint32_t block = shape ? shape->size * shape->stride : 1;
  return (ranks + block - 1) / block * block;
}

/// The first of them, and how many more there are.
std::string listed(std::span<const std::string> words) {
  constexpr std::size_t shown_max = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), shown_max); ++i) text += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > shown_max) text += fmt::format(" and {} more", words.size() - shown_max);
  return text;
}

}  // namespace

void require_replayed_groups(std::span<const GroupSize> sizes, bool is_replayed, bool is_as_recorded, const OptionNames& names) {
  if (sizes.empty() || (is_replayed && !is_as_recorded)) return;
  const SourcePlace place = SourcePlace::named(called(names, sizes.front().name, std::to_string(sizes.front().size)));
  if (is_as_recorded) {
    fail(unused_code(names), "collectives take the time that was recorded, among however many ranks", place,
         fmt::format("drop it, or {}", names("as_recorded")), scale_group_option);
  }
  fail(unused_code(names), "groups grow where the trace of one rank is replayed on more, and this set is not", place,
       fmt::format("add {} to a set of one file, or drop it", names("ranks", "N")), scale_group_option);
}

GroupGrowth::GroupGrowth(std::span<const ProcessGroup> groups, std::span<const GroupSize> sizes, std::uint32_t recorded_world,
                         std::uint32_t rank_count, const OptionNames& names)
    : recorded_ranks_(recorded_world), rank_count_(rank_count), names_(names), is_told_how_(!sizes.empty()) {
  std::vector<std::string> known;
  for (const ProcessGroup& group : groups) {
    if (recorded_world == 0) recorded_ranks_ = std::max(recorded_ranks_, ranks_beside(group));
    if (!description_of(group).empty()) labels_[group.name] = description_of(group);
    known.push_back(group.name);
    if (!description_of(group).empty()) known.emplace_back(description_of(group));
  }
  struct Growing {
    const ProcessGroup* group;
    GroupShape shape;
    const GroupSize* wanted;
  };
  std::vector<Growing> growing;
  for (const GroupSize& wanted : sizes) {
    const std::size_t before = growing.size();
    for (const ProcessGroup& group : groups) {
      if (group.name != wanted.name && description_of(group) != wanted.name) continue;
      const auto shape = shape_of_recorded(group, recorded_ranks_);
      if (!shape) {
        refuse(wanted,
               fmt::format("process group {} has ranks that are not evenly apart, which do not say where more of them are",
                           in_quotes(group.name)),
               fmt::format("drop it, or list other ranks with {}", names("process_groups", "FILE")));
      }
      growing.push_back({&group, *shape, &wanted});
    }
    if (growing.size() > before) continue;
    fail("unknown-process-group", fmt::format("the trace has no process group {}", in_quotes(wanted.name)),
         SourcePlace::named(called(names, wanted.name, std::to_string(wanted.size))),
         suggestion(wanted.name, known, "process group"), scale_group_option);
  }
  // From the inside out: how far apart the ranks of a group are depends on those inside of it.
  std::stable_sort(growing.begin(), growing.end(), [](const Growing& a, const Growing& b) {
    return std::pair(a.shape.stride, a.shape.size) < std::pair(b.shape.stride, b.shape.size);
  });
  for (const Growing& one : growing) grow(*one.group, one.shape, *one.wanted);
}

void GroupGrowth::grow(const ProcessGroup& group, GroupShape recorded, const GroupSize& wanted) {
  const std::uint64_t stride = place_of(recorded.stride);
  const std::string subject =
      fmt::format("process group {} of {}", in_quotes(wanted.name), counted(recorded.size, "rank", "ranks"));
  if (wanted.size < recorded.size) {
    refuse(wanted, fmt::format("{} cannot grow to {}", subject, wanted.size), sizes_that_work(recorded.size, stride));
  }
  const Block block = {std::uint64_t{recorded.size} * recorded.stride, wanted.size * stride};
  if (block.grown > rank_count_ || rank_count_ % block.grown != 0) {
    refuse(wanted,
           fmt::format("{}: groups of {} that are {} apart do not fill {} ranks", subject, counted(wanted.size, "rank", "ranks"),
                       stride, rank_count_),
           sizes_that_work(recorded.size, stride));
  }
  const auto [known, is_new] = shapes_.try_emplace(group.name, GroupShape{wanted.size, static_cast<std::uint32_t>(stride)});
  if (!is_new && known->second.size != wanted.size) {
    refuse(wanted,
           fmt::format("process group {} is to grow to {} and to {} ranks", in_quotes(group.name), known->second.size, wanted.size),
           "say one size for it");
  }
  const auto at = std::lower_bound(blocks_.begin(), blocks_.end(), block.recorded,
                                   [](const Block& other, std::uint64_t size) { return other.recorded < size; });
  const auto fits = [](const Block& inner, const Block& outer) {
    return outer.recorded % inner.recorded == 0 && outer.grown % inner.grown == 0 &&
           outer.grown / inner.grown >= outer.recorded / inner.recorded;
  };
  const bool is_known = at != blocks_.end() && at->recorded == block.recorded;
  // A group of one rank divides nothing that was recorded: it lies around all that ends there.
  const bool is_around = is_known && recorded.size == 1 && at->grown == stride;
  const auto next = is_known ? std::next(at) : at;
  const bool agrees = is_known && !is_around
                          ? at->grown == block.grown
                          : (at == blocks_.begin() || fits(*std::prev(at), block)) && (next == blocks_.end() || fits(block, *next));
  if (!agrees) {
    refuse(wanted,
           fmt::format("{}: of {} ranks it makes {}, which contradicts the other groups that grow", subject, block.recorded,
                       block.grown),
           "groups that share ranks grow alike: what divides the ranks of both has to grow by the same factor");
  }
  if (is_around) at->grown = block.grown;
  if (!is_known) blocks_.insert(at, block);
}

void GroupGrowth::refuse(const GroupSize& wanted, std::string message, std::string help) const {
  fail("bad-group-size", std::move(message), SourcePlace::named(called(names_, wanted.name, std::to_string(wanted.size))),
       std::move(help), scale_group_option);
}

std::string GroupGrowth::sizes_that_work(std::uint32_t least, std::uint64_t stride) const {
  std::vector<std::string> sizes;
  if (rank_count_ % stride == 0) {
    const std::uint64_t most = rank_count_ / stride;
    for (std::uint64_t size = least; size <= most; ++size) {
      if (most % size == 0) sizes.push_back(std::to_string(size));
    }
  }
  if (sizes.empty()) {
    return fmt::format("no size works; take {} that is a multiple of {}", names_("ranks", "N"), std::uint64_t{least} * stride);
  }
  return fmt::format("sizes that work: {}", listed(sizes));
}

std::optional<GroupShape> GroupGrowth::shape_of(const std::string& name) const {
  const auto found = shapes_.find(name);
  return found == shapes_.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t GroupGrowth::place_of(std::uint32_t recorded) const {
  std::uint64_t place = 0;
  std::uint64_t rest = recorded;
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    place += rest / block->recorded * block->grown;
    rest %= block->recorded;
  }
  return place + rest;
}

std::vector<std::uint32_t> GroupGrowth::places_of(std::span<const std::uint32_t> recorded) const {
  std::vector<std::uint32_t> places;
  places.reserve(recorded.size());
  // No rank has a place beyond all ranks; the table of communicators sees that none is there.
  for (const std::uint32_t rank : recorded)
    places.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(place_of(rank), UINT32_MAX)));
  return places;
}

void GroupGrowth::tell(const std::string& name, std::uint32_t recorded, std::uint32_t size) {
  if (recorded == 0 || !told_of_.try_emplace(name, told_.size()).second) return;
  const auto described = labels_.find(name);
  told_.push_back({described != labels_.end() ? described->second : name.empty() ? "the default group" : name, recorded, size});
}

void GroupGrowth::tell_collective(const std::string& name, CollectiveType type) {
  if (type != CollectiveType::all_gather && type != CollectiveType::gather) return;
  const auto found = told_of_.find(name);
  if (found != told_of_.end() && told_[found->second].size > told_[found->second].recorded) ++gathers_;
}

void GroupGrowth::add_notes(std::vector<std::string>& notes) const {
  if (rank_count_ <= recorded_ranks_ && !is_told_how_) return;
  std::vector<std::string> grown;
  std::vector<std::string> stay;
  for (const Told& group : told_) {
    const std::string label = fmt::format("{} ({})", group.label, counted(group.recorded, "rank", "ranks"));
    const bool grows = group.size != group.recorded;
    const std::string text = grows ? fmt::format("{} became {}", label, counted(group.size, "rank", "ranks")) : label;
    std::vector<std::string>& list = grows ? grown : stay;
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }
  if (grown.empty() && stay.empty()) return;
  notes.push_back(fmt::format("of process groups recorded among {}, {}{}{}", counted(recorded_ranks_, "rank", "ranks"),
                              listed(grown), grown.empty() || stay.empty() ? "" : "; ",
                              stay.empty() ? "" : listed(stay) + (stay.size() == 1 ? " stays" : " stay")));
  if (!stay.empty() && !is_told_how_) {
    notes.push_back(
        fmt::format("groups that stay make these jobs of the recorded size side by side: in one job of {}, data-parallel "
                    "all-reduces, say, would span more ranks, and its step would take another time; {} makes a group grow",
                    counted(rank_count_, "rank", "ranks"), called(names_, "NAME", "SIZE")));
  }
  add_counted_note(notes, gathers_, "all-gather or gather of a group that grew keeps",
                   "all-gathers and gathers of groups that grew keep", " the recorded shard of each rank, which makes more in all");
}

}  // namespace weft
