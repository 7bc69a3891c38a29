// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/transfer_origins.hpp"

#include <tuple>

#include "core/values/fingerprint.hpp"
#include "host/ranks/message_tag.hpp"
#include "tools/simulation/collective_rows.hpp"

namespace weft {

namespace {

/// The number nearest to `last` that is `low` modulo 2^bits.
std::uint64_t nearest(std::uint64_t last, std::uint32_t low, int bits) {
  const std::uint64_t range = std::uint64_t{1} << bits;
  const std::uint64_t ahead = (low - last) & (range - 1);
  return ahead < range / 2 || last + ahead < range ? last + ahead : last + ahead - range;
}

/// Type of the collective, or "send".
std::string_view sender_kind(const RoleDag& role, OpId op) {
  return role.kind(op) == OpKind::send ? to_text(OpKind::send) : to_text(role.op(op).collective);
}

}  // namespace

TransferOrigins::OfJob& TransferOrigins::job_of(const RunningJob& attempt) {
  OfJob& of_job = jobs_[attempt.job.index()];
  if (of_job.attempt == attempt.attempt) return of_job;
  of_job.attempt = attempt.attempt;
  of_job.first_iteration = attempt.first_iteration;
  of_job.last_iteration = attempt.first_iteration;
  return of_job;
}

void TransferOrigins::take_seats(const RunningJob& attempt) {
  const std::vector<NodeId>& endpoints = *attempt.endpoint_of_rank;
  for (std::uint32_t rank = 0; rank < endpoints.size(); ++rank) {
    if (endpoints[rank].index() >= seats_.size()) seats_.resize(endpoints[rank].index() + std::size_t{1});
    seats_[endpoints[rank].index()] = {attempt.attempt, RankId(rank)};
  }
}

bool TransferOrigins::has_lost_seat(const RunningJob& attempt, NodeId endpoint) const {
  if (endpoint.index() >= seats_.size()) return false;
  const AttemptId seated = seats_[endpoint.index()].attempt;
  return seated != attempt.attempt && !seated.is_none();
}

std::optional<RankId> TransferOrigins::rank_at(const RunningJob& attempt, NodeId endpoint) const {
  if (endpoint.index() >= seats_.size()) return std::nullopt;
  const Seat& seat = seats_[endpoint.index()];
  return seat.attempt == attempt.attempt ? std::optional(seat.rank) : std::nullopt;
}

void TransferOrigins::begin_again() {
  for (auto& [job, of_job] : jobs_) of_job.last_iteration = of_job.first_iteration;
}

const TransferOrigins::Senders& TransferOrigins::senders_of(const RunningJob& attempt, const RoleDag& role) {
  const auto [known, is_new] = senders_.try_emplace(&role);
  if (!is_new) return known->second;
  for (std::uint32_t i = 0; i < role.size(); ++i) {
    const OpId id(i);
    const OpKind kind = role.kind(id);
    if (kind != OpKind::collective && kind != OpKind::send) continue;
    const Op op = role.op(id);
    const bool is_send = kind == OpKind::send;
    Sender sender{id, op_label(role, id)};
    const std::string& communicator = attempt.workload->communicators[op.communicator].name();
    sender.number = numbers_
                        .try_emplace({sender.label, std::string(sender_kind(role, id)), communicator},
                                     static_cast<std::uint32_t>(numbers_.size() + 1))
                        .first->second;
    known->second[{is_send, op.communicator, role.match_ordinal(id), is_send ? attempt.tags->index_of(op.tag) : 0}].push_back(
        std::move(sender));
  }
  return known->second;
}

const std::vector<TransferOrigins::Sender>* TransferOrigins::find(const RunningJob& attempt, const RoleDag& role,
                                                                  const MessageTag& tag) {
  MessageTag of_op = tag;
  of_op.iteration = 0;
  if (!tag.point_to_point) of_op.detail = 0;
  const std::uint64_t numbers = std::uint64_t{of_op.ordinal} << 32 | of_op.detail;
  const std::uint64_t hash = mix64(numbers ^ mix64(of_op.communicator ^ reinterpret_cast<std::uintptr_t>(&role)));
  Found& known = found_[hash % found_.size()];
  if (known.role == &role && known.tag == of_op) return known.senders;
  const Senders& senders = senders_of(attempt, role);
  const auto found =
      senders.find({of_op.point_to_point, static_cast<std::uint16_t>(of_op.communicator), of_op.ordinal, of_op.detail});
  known = {&role, of_op, found == senders.end() ? nullptr : &found->second};
  return known.senders;
}

std::optional<TransferOrigin> TransferOrigins::of(const Transfer& transfer) {
  if (transfer.connection == storage_connection) return std::nullopt;
  const RunningJob& attempt = attempts_.at(transfer.attempt);
  OfJob& of_job = job_of(attempt);
  if (!rank_at(attempt, transfer.source) || has_lost_seat(attempt, transfer.destination)) take_seats(attempt);
  const std::optional<RankId> source = rank_at(attempt, transfer.source);
  if (!source) return std::nullopt;
  const RankId rank = *source;
  const MessageTag tag = attempt.tags->unpack(transfer.tag);
  const Workload& workload = *attempt.workload;
  const Communicator& communicator = workload.communicators[tag.communicator];
  const RoleDag& role = workload.dag_of(rank);
  const std::vector<Sender>* const senders = find(attempt, role, tag);
  if (senders == nullptr) return std::nullopt;
  const std::optional<RankId> receiver = rank_at(attempt, transfer.destination);
  const Sender* sender = &senders->front();
  if (tag.point_to_point) {
    for (const Sender& one : *senders) {
      const Op op = role.op(one.op);
      if (communicator.peer_of(rank, op.addressing, op.peer) == receiver) sender = &one;
    }
  }
  of_job.last_iteration = nearest(of_job.last_iteration, tag.iteration, attempt.tags->iteration_bits());
  return TransferOrigin{sender->number, sender->label, sender_kind(role, sender->op), of_job.last_iteration, communicator.name(),
                        rank,           receiver};
}

}  // namespace weft
