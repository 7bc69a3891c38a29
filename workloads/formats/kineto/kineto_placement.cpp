// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_placement.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/dag/element_type.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/formats/kineto/kineto_trace.hpp"

namespace weft {

namespace {

CollectiveType collective_of(KinetoVerb verb) {
  switch (verb) {
    case KinetoVerb::all_gather:
      return CollectiveType::all_gather;
    case KinetoVerb::reduce_scatter:
      return CollectiveType::reduce_scatter;
    case KinetoVerb::all_to_all:
      return CollectiveType::all_to_all;
    case KinetoVerb::broadcast:
      return CollectiveType::broadcast;
    case KinetoVerb::reduce:
      return CollectiveType::reduce;
    case KinetoVerb::gather:
      return CollectiveType::gather;
    case KinetoVerb::scatter:
      return CollectiveType::scatter;
    default:
      return CollectiveType::all_reduce;
  }
}

/// Whether the elements in and out of what gathers or scatters are apart by the size of its
/// group.
bool counts_fit(const KinetoExchange& exchange, const std::vector<std::uint32_t>& group) {
  const KinetoCommunication& communication = exchange.communication;
  const bool gathers = exchange.verb == KinetoVerb::all_gather || exchange.verb == KinetoVerb::gather;
  const bool scatters = exchange.verb == KinetoVerb::reduce_scatter || exchange.verb == KinetoVerb::scatter;
  if ((!gathers && !scatters) || communication.elements_out < 0) return true;
  const auto size = communication.group_size > 0 ? communication.group_size : static_cast<std::int64_t>(group.size());
  if (size == 0) return true;
  const std::int64_t shard = gathers ? communication.elements_in : communication.elements_out;
  const std::int64_t whole = gathers ? communication.elements_out : communication.elements_in;
  return whole % size == 0 && whole / size == shard;
}

}  // namespace

void KinetoPlacement::place_all() {
  groups_.find_growth();
  for (const KinetoExchange& exchange : set_.exchanges) place(exchange, set_.rank_of_number(exchange.rank));
  errors_.diagnostics.throw_if_errors();
}

void KinetoPlacement::place(const KinetoExchange& exchange, KinetoRank& rank) {
  const KinetoCommunication& communication = exchange.communication;
  Op& op = rank.ops[exchange.op];
  if (exchange.verb == KinetoVerb::barrier) {
    place_barrier(communication, rank, op);
    return;
  }
  const auto type = kineto_element_type(communication.type);
  if (!type) {
    if (errors_.is_new(fmt::format("type {}", communication.type))) {
      errors_.diagnostics.error("unknown-type", fmt::format("there is no element type {}", in_quotes(communication.type)),
                                kineto_place_of(rank.path, communication),
                                "known are PyTorch's: Float, BFloat16, Half, Long, Byte, ...");
    }
    return;
  }
  const auto bytes = tensor_size(static_cast<std::uint64_t>(communication.elements_in), *type);
  if (!bytes || *bytes > op_size_max) {
    errors_.diagnostics.error("out-of-range", "a communication moves more than 1 PiB", kineto_place_of(rank.path, communication),
                              "the trace is damaged; record it again");
    return;
  }
  Op placed;
  placed.stream = op.stream;
  placed.bytes = *bytes;
  if (exchange.verb == KinetoVerb::send || exchange.verb == KinetoVerb::receive) {
    if (!place_message(exchange, rank, placed)) return;
  } else {
    const auto group = groups_.group_of(communication, rank);
    if (!group) return;
    if (!counts_fit(exchange, *group)) ++findings_.misfits;
    placed.kind = OpKind::collective;
    placed.collective = collective_of(exchange.verb);
    placed.communicator = groups_.communicator_of(communication, *group, placed.collective);
    const auto group_size = group->empty() ? set_.rank_count : static_cast<std::uint32_t>(group->size());
    if (has_root(placed.collective)) placed.peer = root_of(communication, placed.collective, group_size);
    if (exchange.verb == KinetoVerb::all_to_all) {
      if (auto split = kineto_split(communication, *type, group_size)) {
        splits_.emplace(std::pair(rank.number, exchange.op), std::move(*split));
      } else if (communication.splits_in.size() > 2) {
        ++findings_.unused_splits;  // more than "[]"
      }
    }
  }
  op = placed;
}

void KinetoPlacement::place_barrier(const KinetoCommunication& communication, const KinetoRank& rank, Op& op) {
  const auto group = groups_.group_of(communication, rank);
  if (!group) return;
  Op placed;
  placed.stream = op.stream;
  placed.kind = OpKind::collective;
  placed.collective = CollectiveType::barrier;
  placed.communicator = groups_.communicator_of(communication, *group, placed.collective);
  op = placed;
}

std::int32_t KinetoPlacement::root_of(const KinetoCommunication& communication, CollectiveType type, std::uint32_t group_size) {
  if (communication.root >= 0 && communication.root < group_size) return static_cast<std::int32_t>(communication.root);
  ++(type == CollectiveType::broadcast ? findings_.broadcasts : findings_.rooted);
  return 0;
}

bool KinetoPlacement::place_message(const KinetoExchange& exchange, const KinetoRank& rank, Op& op) {
  const bool sends = exchange.verb == KinetoVerb::send;
  const std::optional<std::uint32_t> peer = peer_of(exchange, rank);
  if (!peer) return false;
  op.kind = sends ? OpKind::send : OpKind::receive;
  ++findings_.messages;
  if (!set_.replayed) {
    op.peer = static_cast<std::int32_t>(*peer);
    return true;
  }
  // As offsets, neighbours of equal ranks are equal.
  const auto count = static_cast<std::int64_t>(set_.rank_count);
  const GroupGrowth& growth = groups_.growth();
  const std::int64_t offset =
      static_cast<std::int64_t>(growth.place_of(*peer)) - static_cast<std::int64_t>(growth.place_of(rank.number));
  offsets_.insert(offset);
  op.addressing = PeerAddressing::relative;
  op.peer = static_cast<std::int32_t>((offset % count + count) % count);
  return true;
}

std::optional<std::uint32_t> KinetoPlacement::peer_of(const KinetoExchange& exchange, const KinetoRank& rank) {
  const KinetoCommunication& communication = exchange.communication;
  const bool sends = exchange.verb == KinetoVerb::send;
  const std::int64_t named = sends ? communication.destination : communication.source;
  const std::int64_t position = sends ? communication.destination_position : communication.source_position;
  // A peer that is named by its rank needs no group, but must be in one that is known.
  std::vector<std::uint32_t> group;
  if (named < 0 || groups_.known_group(communication, rank.number)) {
    auto found = groups_.group_of(communication, rank);
    if (!found) return std::nullopt;
    group = std::move(*found);
  }
  const std::int64_t group_size = group.empty() ? set_.recorded_world() : static_cast<std::int64_t>(group.size());
  std::int64_t peer = named;
  if (named < 0 && group.size() == 2) {
    peer = group[0] == rank.number ? group[1] : group[0];
  } else if (named < 0 && position >= 0 && position < group_size) {
    peer = group.empty() ? position : group[static_cast<std::size_t>(position)];
  }
  const std::string goes = sends ? "a send goes to " : "a receive comes from ";
  if (peer < 0) {
    return fail_peer(
        "unknown-peer",
        position >= 0
            ? fmt::format("{}position {} of a group of {}", goes, position,
                          counted(static_cast<std::uint64_t>(group_size), "rank", "ranks"))
            : fmt::format("the trace does not say {}", sends ? "to which rank a send goes" : "from which rank a receive comes"),
        exchange, rank, fmt::format("record it with a newer PyTorch, or take communication {}", names_("as_recorded")));
  }
  const std::int64_t world = !set_.replayed ? set_.rank_count : set_.declares_world ? set_.world_size : workload_rank_count_max;
  if (peer >= world) {
    return fail_peer(
        "unknown-peer",
        fmt::format("{}rank {}, but the world has {}", goes, peer, counted(static_cast<std::uint64_t>(world), "rank", "ranks")),
        exchange, rank, "ranks count from 0; the trace is damaged, or of another job");
  }
  if (!group.empty() && std::find(group.begin(), group.end(), peer) == group.end()) {
    return fail_peer("not-a-member",
                     fmt::format("{}rank {}, which is not in process group {}", goes, peer, in_quotes(communication.group_name)),
                     exchange, rank,
                     sends ? "\"Dst Rank\" is a rank of the world, not a position in the group"
                           : "\"Src Rank\" is a rank of the world, not a position in the group");
  }
  return static_cast<std::uint32_t>(peer);
}

std::nullopt_t KinetoPlacement::fail_peer(std::string code, std::string message, const KinetoExchange& exchange,
                                          const KinetoRank& rank, std::string help) {
  if (errors_.is_new(exchange.verb == KinetoVerb::send ? "send" : "recv")) {
    errors_.diagnostics.error(std::move(code), std::move(message), kineto_place_of(rank.path, exchange.communication),
                              std::move(help));
  }
  return std::nullopt;
}

std::uint32_t KinetoPlacement::partner_distance() const {
  if (offsets_.size() != 1) return 0;
  const auto distance = static_cast<std::uint64_t>(std::abs(*offsets_.begin()));
  return distance == 0 || set_.rank_count % (2 * distance) != 0 ? 0 : static_cast<std::uint32_t>(distance);
}

}  // namespace weft
