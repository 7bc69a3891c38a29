// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_split_join.hpp"

#include <algorithm>
#include <utility>

namespace weft {

namespace {

bool is_even_split(const std::vector<Bytes>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [&](Bytes size) { return size == sizes.front(); });
}

bool receive_what_is_sent(const std::vector<const KinetoSplit*>& rows) {
  for (std::size_t to = 0; to < rows.size(); ++to) {
    if (rows[to]->received.empty()) continue;
    for (std::size_t from = 0; from < rows.size(); ++from) {
      if (rows[from]->sent[to] != rows[to]->received[from]) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<SplitTable> KinetoSplitJoin::join(const std::vector<Communicator>& communicators) {
  if (set_.exchanges.empty()) return {};
  if (set_.replayed) {
    for (const auto& [key, split] : splits_) repeat_split(communicators, split, set_.ranks.front().ops[key.second]);
    return std::move(tables_).take();
  }
  Collectives collectives(set_.ranks.size());
  for (std::size_t r = 0; r < set_.ranks.size(); ++r) {
    collectives[r].resize(communicators.size());
    for (std::uint32_t o = 0; o < set_.ranks[r].ops.size(); ++o) {
      const Op& op = set_.ranks[r].ops[o];
      if (op.kind == OpKind::collective) collectives[r][op.communicator].push_back(o);
    }
  }
  for (std::size_t c = 0; c < communicators.size(); ++c) {
    for (std::uint32_t g = 0; g < communicators[c].group_count(); ++g) {
      const auto members = communicators[c].ranks(GroupId(g));
      std::size_t count = SIZE_MAX;
      for (const RankId member : members) count = std::min(count, collectives[member.index()][c].size());
      for (std::size_t i = 0; i < count; ++i) join_members(members, c, i, collectives);
    }
  }
  return std::move(tables_).take();
}

void KinetoSplitJoin::repeat_split(const std::vector<Communicator>& communicators, const KinetoSplit& split, Op& op) {
  if (is_even_split(split.sent)) return;
  const auto positions = static_cast<std::uint32_t>(split.sent.size());
  // All groups of a repeated communicator have one size.
  if (communicators[op.communicator].ranks(GroupId(0)).size() != positions) {
    ++findings_.unused_splits;
    return;
  }
  std::vector<Bytes> bytes;
  for (std::uint32_t from = 0; from < positions; ++from) bytes.insert(bytes.end(), split.sent.begin(), split.sent.end());
  use_table(op, positions, bytes);
  ++findings_.repeated_splits;
}

void KinetoSplitJoin::use_table(Op& op, std::uint32_t positions, const std::vector<Bytes>& bytes) {
  op.collective = CollectiveType::all_to_all_v;
  op.splits = tables_.index_of(positions, bytes);
  op.bytes = tables_[op.splits].row_sum_max();
}

void KinetoSplitJoin::join_members(std::span<const RankId> members, std::size_t communicator, std::size_t position,
                                   const Collectives& collectives) {
  const auto op_of = [&](RankId member) -> Op& {
    return set_.ranks[member.index()].ops[collectives[member.index()][communicator][position]];
  };
  Bytes sum = Bytes::zero();
  bool uneven = false;
  std::vector<const KinetoSplit*> rows;
  for (const RankId member : members) {
    const Op& op = op_of(member);
    if (op.collective != CollectiveType::all_to_all) return;
    uneven = uneven || op.bytes != op_of(members.front()).bytes;
    sum += op.bytes;
    const auto row = splits_.find({member.index(), collectives[member.index()][communicator][position]});
    if (row == splits_.end()) continue;
    rows.push_back(&row->second);
    uneven = uneven || !is_even_split(row->second.sent);
  }
  if (!uneven) return;
  if (rows.size() == members.size()) {
    const auto positions = static_cast<std::uint32_t>(members.size());
    std::vector<Bytes> bytes;
    for (const KinetoSplit* row : rows) bytes.insert(bytes.end(), row->sent.begin(), row->sent.end());
    if (!receive_what_is_sent(rows)) ++findings_.split_misfits;
    for (const RankId member : members) use_table(op_of(member), positions, bytes);
    return;
  }
  ++findings_.uneven;
  const auto count = static_cast<std::int64_t>(members.size());
  for (const RankId member : members) op_of(member).bytes = Bytes::of((sum.count() + count - 1) / count);
}

}  // namespace weft
