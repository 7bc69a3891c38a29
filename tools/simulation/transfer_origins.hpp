// SPDX-License-Identifier: Apache-2.0
// Transfer origins: the op, iteration and communicator that a transfer belongs to.
//
// Where it sits: ResultRows asks for each transfer, so that flows.csv can be joined with
// collectives.csv and iterations.csv.
//
// Model: a transfer's tag names its communicator and the ordinal of its op
// (host/ranks/message_tag); the op itself is the one of the sending rank's role with that ordinal.
// Tags hold an iteration modulo a power of two; as ranks are less than half of it apart, it is the
// one nearest to the last that was seen.
// Threads: belongs to the thread that tells of transfers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "host/ranks/job.hpp"
#include "network/network_model.hpp"

namespace weft {

struct TransferOrigin {
  /// Equal exactly where the three names below are
  std::uint32_t number = 0;
  std::string_view op;    ///< its name in the workload, or "opN"
  std::string_view kind;  ///< type of the collective, or "send"
  std::uint64_t iteration = 0;
  std::string_view communicator;
  RankId source;
  std::optional<RankId> destination;  ///< none of what switches reduce
};

class TransferOrigins {
 public:
  /// Keeps a reference.
  explicit TransferOrigins(const JobTable& attempts) : attempts_(attempts) {}

  /// None of data and checkpoints, which no op sends. Views are valid as long as the attempts.
  /// Requires: the transfer is of a job.
  std::optional<TransferOrigin> of(const Transfer& transfer);
  /// The next transfers of jobs are of their first iterations again.
  void begin_again();

 private:
  /// An op that sends.
  struct Sender {
    OpId op;
    std::string label;
    std::uint32_t number = 0;  ///< TransferOrigin::number
  };
  /// Senders of a role by (point to point, communicator, ordinal, tag), of which several differ by
  /// their peer.
  using Senders = std::map<std::tuple<bool, std::uint16_t, std::uint32_t, std::uint32_t>, std::vector<Sender>>;
  struct OfJob {
    AttemptId attempt = AttemptId::none();  ///< that the following are of
    std::uint64_t first_iteration = 0;
    std::uint64_t last_iteration = 0;
  };
  /// Whose an endpoint was last.
  struct Seat {
    AttemptId attempt = AttemptId::none();
    RankId rank;
  };
  /// Senders that were found before.
  struct Found {
    const RoleDag* role = nullptr;
    MessageTag tag;  ///< without what messages of the op differ by
    const std::vector<Sender>* senders = nullptr;
  };

  OfJob& job_of(const RunningJob& attempt);
  std::optional<RankId> rank_at(const RunningJob& attempt, NodeId endpoint) const;
  /// Another attempt has been at the endpoint since.
  bool has_lost_seat(const RunningJob& attempt, NodeId endpoint) const;
  void take_seats(const RunningJob& attempt);
  const Senders& senders_of(const RunningJob& attempt, const RoleDag& role);
  /// Null if nobody sends so.
  const std::vector<Sender>* find(const RunningJob& attempt, const RoleDag& role, const MessageTag& tag);

  const JobTable& attempts_;
  std::unordered_map<std::uint32_t, OfJob> jobs_;  ///< by JobId
  std::vector<Seat> seats_;                        ///< by endpoint
  std::array<Found, 256> found_;
  std::map<const RoleDag*, Senders> senders_;  ///< looked up only
  /// by op, kind and communicator: from 1, in order of coming up
  std::map<std::array<std::string, 3>, std::uint32_t> numbers_;
};

}  // namespace weft
