// SPDX-License-Identifier: Apache-2.0
// Site exchange: the messages by which nodes average what they have learnt, as ops of one rank's
// program.
//
// Where it sits: site_programs calls it for every exchange of every rank.
//
// Model, for V bytes among n members
//   star       each sends V to the server, which sends V back to each once it has all
//   ring       2 (n - 1) steps of V / n: 2 (n - 1) / n V in all
//              (Patarasuk, Yuan, J. Parallel Distrib. Comput. 69, 2009)
//   butterfly  each sends V / n to every other one, and its average back
//              (Ryabinin et al., Moshpit SGD, 2021, section 2.2)
//   gossip     V to one other member and V from it; of an odd number one sits out
// Messages match by source, destination and tag, equal ones by order.
// Threads: a script belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/dag/role_script.hpp"
#include "workloads/decentralized/site_training.hpp"

namespace weft {

/// How a program calls another rank.
struct SiteAddress {
  std::uint16_t communicator = 0;
  PeerAddressing addressing = PeerAddressing::absolute;
  std::int32_t peer = 0;
};

/// Ops of a workload so far, of all its roles.
class SiteOpBudget {
 public:
  SiteOpBudget(std::string_view name, const SourcePlace& place) : name_(name), place_(place) {}
  /// One more. Throws InputError [too-large].
  void take();
  /// As many will be taken by others some time. Throws likewise.
  void expect(std::size_t ops);

 private:
  void check(std::uint64_t ops) const;

  std::string_view name_;
  const SourcePlace& place_;
  std::uint64_t ops_ = 0;
  std::uint64_t expected_ = 0;
};

/// The program of one rank.
class SiteScript {
 public:
  using After = RoleScript::After;
  explicit SiteScript(SiteOpBudget& budget) : budget_(budget) {}

  std::uint32_t compute(std::string_view name, Duration duration, const After& after);
  /// Neither computes nor sends.
  std::uint32_t wait(std::string_view name, Duration duration, const After& after);
  /// All of them, as one op: what n ops wait for would be n edges each.
  After join(std::string_view name, const After& all) { return {wait(name, Duration::zero(), all)}; }
  std::uint32_t send(std::string_view name, const SiteAddress& to, Bytes bytes, std::uint32_t tag, const After& after);
  std::uint32_t receive(std::string_view name, const SiteAddress& from, Bytes bytes, std::uint32_t tag);
  RoleDag finish() { return script_.finish(); }

 private:
  std::uint32_t add(const Op& op, std::string_view name, const After& after);
  /// "steps.2" of the third of that name.
  std::string numbered(std::string_view name);

  RoleScript script_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  SiteOpBudget& budget_;
};

/// Who exchanges.
struct SiteParty {
  std::span<const std::uint32_t> ranks;  ///< members in order; a server is none
  std::uint32_t self = 0;                ///< index of who writes; of no meaning to a server
  /// Its first positions are the members; 0: members are called by their ranks.
  std::uint16_t communicator = 0;
  std::uint32_t communicator_size = 0;
  bool is_server = false;  ///< it writes, and calls members by their positions
  SiteAddress server;      ///< of a star

  SiteAddress member(std::size_t index) const;
};

/// Tags of an exchange: up, down.
struct SiteTags {
  std::uint32_t up = 0;
  std::uint32_t down = 0;
};

/// A member's part. `partner`: of gossip, index of the other one; none: it sits out. Returns what
/// is waited for.
SiteScript::After exchange_as_member(SiteScript& script, SiteExchange how, const SiteParty& party,
                                     std::optional<std::uint32_t> partner, Bytes bytes, SiteTags tags,
                                     const SiteScript::After& after);

/// A server's part, in two: it averages what all members sent, in no time ...
SiteScript::After gather_as_server(SiteScript& script, const SiteParty& party, Bytes bytes, std::uint32_t tag);
/// ... and sends them something.
void send_to_members(SiteScript& script, const SiteParty& party, Bytes bytes, std::uint32_t tag, const SiteScript::After& after);

/// The first member's V down a chain of all, in as many pieces as there are members.
SiteScript::After broadcast_along_chain(SiteScript& script, const SiteParty& party, Bytes bytes, std::uint32_t tag,
                                        const SiteScript::After& after);

/// Pairs of a gossip exchange: by member the other one, or nobody.
std::vector<std::optional<std::uint32_t>> gossip_partners(std::size_t members, std::uint64_t seed, std::uint32_t exchange);

}  // namespace weft
