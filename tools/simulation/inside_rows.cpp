// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/inside_rows.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

std::size_t InsideRows::Hash::operator()(const Key& key) const {
  return mix64(reinterpret_cast<std::uintptr_t>(key.replay) ^
               mix64(key.stream ^ mix64(key.iteration ^ mix64(std::uint64_t{key.attempt.index()} << 32 | key.role))));
}

std::span<const RankId> InsideRows::ranks_of(const InsideRecords::Replayed& replayed) const {
  const RunningJob& job = attempts_.at(replayed.attempt);
  return job.workload->communicators[job.tags->unpack(replayed.stream).communicator].ranks(replayed.group);
}

FinishedTransfer InsideRows::finished(const InsideRecords::Replayed& replayed, const CollectiveReplay::Moved& moved) const {
  const RunningJob& job = attempts_.at(replayed.attempt);
  MessageTag tag = job.tags->unpack(replayed.stream);
  const std::span<const RankId> ranks = ranks_of(replayed);
  const auto endpoint = [&](std::uint32_t position) { return (*job.endpoint_of_rank)[ranks[position].index()]; };
  tag.detail = moved.detail;
  FinishedTransfer finished;
  finished.transfer = {job.attempt, endpoint(moved.source), endpoint(moved.destination), moved.connection, 0, job.tags->pack(tag),
                       moved.size};
  finished.start = replayed.begun + moved.start;
  finished.end = replayed.begun + moved.end;
  finished.ideal = moved.ideal;
  finished.inside_host = true;
  return finished;
}

std::optional<std::uint32_t> InsideRows::role_of(const InsideRecords::Replayed& replayed) const {
  const Workload& workload = *attempts_.at(replayed.attempt).workload;
  const std::span<const RankId> ranks = ranks_of(replayed);
  const std::uint32_t first = workload.role_of[ranks.front().index()];
  const auto plays_it = [&](RankId rank) { return workload.role_of[rank.index()] == first; };
  return std::ranges::all_of(ranks, plays_it) ? std::optional(first) : std::nullopt;
}

FlowId InsideRows::next_id() {
  WEFT_CHECK(next_id_ < FlowId::none().index(), "transfers that are listed each are counted in 32 bits");
  return FlowId(static_cast<std::uint32_t>(next_id_++));
}

void InsideRows::add(const InsideRecords& records) {
  rows_.begin_records();
  for (const InsideRecords::Replayed& replayed : records.replays) add_replayed(replayed);
  rows_.begin_records();
  for (FinishedTransfer transfer : records.transfers) {
    transfer.id = next_id();
    rows_.on_transfer_finished(transfer);
  }
}

void InsideRows::add_replayed(const InsideRecords::Replayed& replayed) {
  const std::optional<std::uint32_t> role = role_of(replayed);
  if (lists_each_ || !role) {
    for (const CollectiveReplay::Moved& moved : replayed.replay->transfers) {
      FinishedTransfer one = finished(replayed, moved);
      one.id = next_id();
      rows_.on_transfer_finished(one);
    }
    return;
  }
  const Key key{replayed.replay, replayed.attempt, *role, replayed.iteration, replayed.stream};
  const auto [place, is_new] = place_of_.try_emplace(key, alike_.size());
  if (is_new) alike_.push_back({replayed, replayed.begun});
  Alike& alike = alike_[place->second];
  alike.first.begun = std::min(alike.first.begun, replayed.begun);
  alike.last_begun = std::max(alike.last_begun, replayed.begun);
  ++alike.times;
}

const std::vector<InsideRows::Shared>& InsideRows::shared_of(const CollectiveReplay& replay) {
  const auto [known, is_new] = shared_.try_emplace(&replay);
  if (!is_new) return known->second;
  // by size, completion and ideal time
  std::map<std::tuple<Bytes, Duration, Duration>, Shared> shared;
  for (const CollectiveReplay::Moved& moved : replay.transfers) {
    Shared& of = shared.try_emplace({moved.size, moved.end - moved.start, moved.ideal}, Shared{moved, 0, moved.start, moved.end})
                     .first->second;
    ++of.transfers;
    of.start = std::min(of.start, moved.start);
    of.end = std::max(of.end, moved.end);
  }
  for (const auto& [figures, of] : shared) known->second.push_back(of);
  return known->second;
}

void InsideRows::share_rows(const Alike& alike) {
  for (const Shared& of : shared_of(*alike.first.replay)) {
    const std::uint64_t transfers = of.transfers * alike.times;
    rows_.add_alike(finished(alike.first, of.first), next_id_,
                    {alike.first.iteration, transfers, alike.first.begun + of.start, alike.last_begun + of.end});
    next_id_ += transfers;
  }
}

void InsideRows::finish() {
  for (const Alike& alike : alike_) share_rows(alike);
}

}  // namespace weft
