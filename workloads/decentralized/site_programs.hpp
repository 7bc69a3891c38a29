// SPDX-License-Identifier: Apache-2.0
// Site programs: what each rank of a training run across sites does when, as the DAG of its role.
//
// Where it sits: site_training() puts the roles together into a workload.
//
// Model
//   round        inner_steps of computation and an exchange. With fragments, part p of F is
//                exchanged after step ceil((p + 1) H / F) of the round, and what came of it is
//                waited for overlap_steps later (Streaming DiLoCo, section 2.2).
//   layers       An exchange goes layer by layer: that of layer l begins after its backward in the
//                last step, and its next forward waits for it. A step has a forward, an activation
//                gradient and a weight gradient per layer, equally long, but no activation gradient
//                of layer 1 (Streaming DiLoCo, section 3.1).
//   regions      Every round in regions, by whose server or first node; every regional_steps rounds
//                among regions, too. What came of that is waited for overlap_steps x regional_steps
//                later, and reaches nodes with the next exchange in the region; without overlap at
//                once.
//   pipelines    A step is micro_batches through all stages, one forward and one backward in turns,
//                or a single pass whose last stage hands back to the first.
//                blocking_sends: a stage goes on when the next one has acknowledged a message.
//   asynchronous A node waits for nobody but the server. Slower ones do fewer rounds or, with
//                dynamic_steps, fewer steps a round.
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "workloads/decentralized/site_exchange.hpp"
#include "workloads/decentralized/site_ranks.hpp"

namespace weft {

/// Communicators of such a workload; 0 where there is none.
struct SiteCommunicators {
  std::uint16_t nodes = 0;             ///< all nodes, or of pipelines those of one stage
  std::uint16_t region = 0;            ///< nodes of a region, then its server; or a group's stages
  std::uint16_t leaders = 0;           ///< the first nodes or the servers of regions
  std::uint16_t acknowledgements = 0;  ///< as region, so that they wait for no message before them
};

class SitePrograms {
 public:
  SitePrograms(const SiteTrainingSettings& settings, const SiteRanks& ranks, const SiteCommunicators& communicators,
               SiteOpBudget& budget)
      : in_(settings), ranks_(ranks), communicators_(communicators), budget_(budget) {}

  RoleDag node(std::uint32_t region, std::uint32_t position) const;
  RoleDag region_server(std::uint32_t region) const;
  RoleDag server() const;

 private:
  class Node;

  RoleDag asynchronous_node(std::uint32_t position) const;
  /// Inner steps that a node of that speed does in a round, and how many rounds.
  std::uint32_t steps_at(double speed) const;
  std::uint32_t rounds_at(double speed) const;
  void serve_asynchronously(SiteScript& script) const;

  /// Of the model, from a rank to one that is back.
  struct Gift {
    std::uint32_t giver = 0;
    std::uint32_t taker = 0;
  };
  /// Who exchanges in a round.
  struct Attendance {
    std::vector<std::uint32_t> ranks;  ///< ascending
    bool some_leave = false;           ///< in this round
    std::vector<Gift> gifts;           ///< of servers that give only the takers count
  };
  /// Of those that exchange with a node: of its region, or of groups of pipelines of its stage.
  const Attendance& attendance(std::uint32_t region, std::uint32_t position, std::uint32_t round) const;
  /// They, as that node sees them.
  SiteParty party(std::uint32_t region, std::uint32_t position, std::uint32_t round) const;
  /// Of all regions, for one of them.
  SiteParty leader_party(std::uint32_t region) const;
  SiteAddress server_of(std::uint32_t region) const;
  /// Of an exchange: its round, the part of the parameters, and after which step of all it begins.
  struct Moment {
    std::uint32_t round = 0;
    std::uint32_t part = 0;
    std::uint64_t step = 0;
  };
  SiteScript::After noticed(SiteScript& script, std::uint32_t region, const Moment& at, const SiteScript::After& after) const;
  SiteScript::After exchange(SiteScript& script, SiteExchange how, const SiteParty& party, Bytes bytes, SiteTags tags,
                             const SiteScript::After& after) const;
  void give_models(SiteScript& script, std::uint32_t region, std::uint32_t round,
                   const std::vector<SiteScript::After>& given) const;
  static SiteAddress rank_address(std::uint32_t rank) { return {0, PeerAddressing::absolute, static_cast<std::int32_t>(rank)}; }
  SiteAddress server_address() const { return rank_address(ranks_.server()); }

  std::uint32_t parts() const { return in_.layers > 1 ? in_.layers : in_.fragments; }
  /// Of a group of pipelines that exchange, each its own parameters.
  std::uint32_t exchanging_stages() const {
    return in_.method == SiteMethod::pipeline_groups && !in_.leader_exchanges ? in_.stages : 1;
  }
  double exchanged_bits() const { return in_.exchange_bits(in_.compression) / exchanging_stages(); }
  double regional_bits() const {
    return in_.exchange_bits(in_.regional_compression > 0 ? in_.regional_compression : in_.compression);
  }
  Bytes part_of(double bits, std::uint32_t part) const;
  Bytes model_bytes() const;
  /// After which step of a round a part is exchanged.
  std::uint64_t step_of(std::uint32_t part) const;
  std::uint32_t exchange_number(const Moment& at) const { return at.round * parts() + at.part; }

  const SiteTrainingSettings& in_;
  const SiteRanks& ranks_;
  const SiteCommunicators& communicators_;
  SiteOpBudget& budget_;
  // Each is worked out once for all ranks: by region or stage, and round, ...
  mutable std::map<std::pair<std::uint32_t, std::uint32_t>, Attendance> attendance_;
  mutable std::vector<std::uint32_t> leaders_;
  // ... and of gossip by tag.
  mutable std::map<std::uint32_t, std::vector<std::optional<std::uint32_t>>> partners_;
};

}  // namespace weft
