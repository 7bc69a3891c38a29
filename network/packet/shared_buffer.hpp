// SPDX-License-Identifier: Apache-2.0
// Shared buffer: a switch's packet memory as its ingress ports account for it, and when they must
// ask for a pause (PFC).
//
// Where it sits: every PacketSwitch has one.
//
// Model: what waits in a switch is charged to an account from arrival until its first bit leaves:
// in lossless priorities to the port and priority that it came in by, which can ask for a pause; in
// lossy ones to the egress queue that it joins, so that a full queue takes nothing from those
// beside it (as lossless ingress and lossy egress profiles do in the Switch Abstraction Interface
// and SONiC). An account has
//   reserved   bytes of its own,
//   shared     what of it exceeds that comes out of the pool, up to  alpha x (pool - what all
//              accounts have taken of it)   (dynamic threshold: Choudhury and Hahne, IEEE/ACM
//              Transactions on Networking 6(2), 1998), with the account's alpha,
//   headroom   of lossless priorities: beyond the threshold, for what is still on its way when a
//              pause has been asked for.
// A lossless account asks for a pause when a packet makes it exceed reserved + threshold, and lets
// go when it has fallen to `resume_offset` below, all headroom free. A lossy account takes no
// packet beyond reserved + threshold.
//
// Invariants
//   1. Headroom never overflows, given pauses that reach the sender as headroom_bytes() assumes.
//   2. Taken shares are the sum over accounts of what exceeds their reserved bytes and stands not
//      in headroom.
// Threads: belongs to its switch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/containers/cache.hpp"
#include "core/values/units.hpp"

namespace weft {

/// What may arrive by a cable beyond the threshold: the packet that exceeds it; what comes while
/// the pause waits for a packet of the largest size that has just begun, and for pauses of other
/// priorities; what comes while the pause is on its way, takes effect there, and what was sent
/// before that is on its way back (`round_trip`); and the packet that has just begun at the other
/// end.
Bytes headroom_bytes(Bandwidth rate, Duration round_trip, Bytes largest_packet, std::uint32_t priorities);

struct SharedBufferSettings {
  std::int64_t pool = 0;           ///< bytes
  std::int64_t reserved = 0;       ///< bytes, of each account
  std::int64_t resume_offset = 0;  ///< bytes
  double alpha = 1;                ///< of accounts that have none of their own
};

class SharedBuffer {
 public:
  explicit SharedBuffer(const SharedBufferSettings& settings) : settings_(settings) {}

  /// `headroom` > 0 makes it lossless. Accounts are numbered in order.
  void add_account(std::int64_t headroom, std::optional<double> alpha = std::nullopt) {
    accounts_.emplace_back();
    rules_.push_back({headroom, alpha.value_or(settings_.alpha), false});
  }

  /// What an account may hold beyond which it asks for a pause or takes no more.
  std::int64_t threshold(std::size_t account) const {
    const std::int64_t left = settings_.pool - taken_;
    return settings_.reserved + (left > 0 ? static_cast<std::int64_t>(rules_[account].alpha * static_cast<double>(left)) : 0);
  }
  /// Returns whether it fits; if not, nothing is done.
  bool charge(std::size_t account, std::int64_t more) {
    Account& a = accounts_[account];
    const std::int64_t bytes = a.bytes + more;
    if (bytes > settings_.reserved) {
      if (bytes > threshold(account)) return false;
      taken_ += std::max<std::int64_t>(0, bytes - a.in_headroom - settings_.reserved) - shared_of(a);
    }
    a.bytes = bytes;
    return true;
  }
  /// Returns whether it fits, which it does as long as the other end gets every pause in time; if
  /// not, nothing is done. Requires: the account is lossless.
  [[nodiscard]] bool charge_headroom(std::size_t account, std::int64_t bytes) {
    Account& a = accounts_[account];
    if (a.in_headroom + bytes > rules_[account].headroom) return false;
    a.bytes += bytes;
    a.in_headroom += bytes;
    return true;
  }
  /// What leaves is taken off the headroom first.
  void release(std::size_t account, std::int64_t bytes) {
    Account& a = accounts_[account];
    const std::int64_t before = a.bytes <= settings_.reserved ? 0 : shared_of(a);
    a.bytes -= bytes;
    if (before == 0 && a.in_headroom == 0) return;
    a.in_headroom -= std::min(a.in_headroom, bytes);
    taken_ += shared_of(a) - before;
  }

  void prefetch() const { cache::fetch(accounts_.data(), accounts_.size() * sizeof(Account)); }
  /// Bytes of all accounts.
  std::int64_t held() const {
    std::int64_t all = 0;
    for (const Account& account : accounts_) all += account.bytes;
    return all;
  }
  bool is_lossless(std::size_t account) const { return rules_[account].headroom > 0; }
  bool pauses(std::size_t account) const { return rules_[account].pauses; }
  void set_pauses(std::size_t account, bool pauses) { rules_[account].pauses = pauses; }
  /// The account that asked for a pause can let go.
  bool can_resume(std::size_t account) const {
    const Account& a = accounts_[account];
    return a.in_headroom == 0 && a.bytes <= std::max<std::int64_t>(0, threshold(account) - settings_.resume_offset);
  }

 private:
  /// Small, as every packet touches one twice.
  struct Account {
    std::int64_t bytes = 0;        ///< all
    std::int64_t in_headroom = 0;  ///< of them
  };
  struct Rule {
    std::int64_t headroom = 0;  ///< bytes
    double alpha = 1;
    bool pauses = false;
  };
  std::int64_t shared_of(const Account& a) const { return std::max<std::int64_t>(0, a.bytes - a.in_headroom - settings_.reserved); }

  SharedBufferSettings settings_;
  std::vector<Account> accounts_;
  std::vector<Rule> rules_;  ///< by account
  std::int64_t taken_ = 0;   ///< of the pool
};

}  // namespace weft
