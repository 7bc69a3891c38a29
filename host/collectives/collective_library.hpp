// SPDX-License-Identifier: Apache-2.0
// Collective library: chooses algorithms and keeps the plans that they compile, so that equal
// collectives of a run share one.
//
// Model: an algorithm is fixed per type (`all_reduce = ring`), or `auto`: then the user's rules
// (collective_rules) pick one for every request, else the rule set: NCCL's tuner (nccl_tuner) or
// the built-in rules of what is fastest. Likewise the protocol; where the tuner picks it, it costs
// what the tuner knows of the machine, be the algorithm fixed or not.
//
// Where it sits: the assembler of a run makes one; the scheduler asks it to prepare every job when
// it has been placed, since what an algorithm does depends on which ranks share a host. A plan is
// compiled once per (type, root, bytes, layout of the group), not per rank or job.
// Thread safety: prepare() from one thread at a time; what it returned may be read by any thread
// meanwhile.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text/params.hpp"
#include "host/collectives/collective.hpp"
#include "host/collectives/collective_rules.hpp"
#include "host/collectives/job_collectives.hpp"
#include "host/collectives/nccl_tuner.hpp"
#include "topologies/topology.hpp"
#include "workloads/dag/dag_fwd.hpp"

namespace weft {

class CollectiveLibrary {
 public:
  /// Parameter table "collective": which algorithm carries out which type (`all_reduce = ring` and
  /// so on; the choices are the algorithms that do, and `auto`), by which protocol, by which rules
  /// where auto is chosen, and what starting a collective costs.
  static ParamTable params();
  /// Its rows that choose the algorithm of a type.
  static ParamTable type_params() { return params().first(collective_types); }

  /// Whether the parameter is one of params() that chooses an algorithm or the protocol, and
  /// `auto`.
  static bool is_auto(const ParamSet& collective, std::string_view param);
  /// `collective` is over params(); `module_params` holds a set per algorithm and protocol, by
  /// module name, where not default. Throws what reading the files of parameters throws.
  CollectiveLibrary(const ParamSet& collective, std::span<const ParamSet> module_params);

  /// What the workload's ranks will ask for on these endpoints; what they ask of switches is
  /// registered with `operations`, without which no algorithm that does may be chosen. The library
  /// and the workload outlive the result. Throws InputError [algorithm-objects] if a chosen
  /// algorithm cannot carry out a collective on such a group.
  std::shared_ptr<const JobCollectives> prepare(const Workload& workload, const Topology& topology,
                                                std::span<const NodeId> endpoint_of_rank, SwitchOperations* operations);

 private:
  const GroupLayout& shared_layout(GroupLayout layout) { return *layouts_.insert(std::move(layout)).first; }
  /// Zero: messages are not cut.
  Bytes chunk(const GroupLayout& layout) const;
  /// Algorithms that the rules would have but that turned out not to work for a group of the job,
  /// by what was asked.
  using PassedOver = std::unordered_map<CollectiveRequest, std::set<std::string>, JobCollectives::RequestHash>;
  /// Null if there is one more to pass over.
  std::shared_ptr<const JobCollectives> try_prepare(const Workload& workload, const Topology& topology,
                                                    std::span<const NodeId> endpoint_of_rank, SwitchOperations* operations,
                                                    PassedOver& passed_over);
  /// What carries out a request, and how.
  NcclChoice choose(const CollectiveRequest& request, const PassedOver& passed_over) const;
  /// Whether the user has set this parameter of a module's, or any.
  bool gives(std::string_view module, std::string_view param = {}) const;
  /// The algorithm of a choice, with its parameters.
  std::shared_ptr<const CollectiveAlgorithm> made(const NcclChoice& choice) const;
  const CollectivePlan& plan(const CollectiveRequest& request, const NcclChoice& choice);
  /// What switches do in one group's plan. Returns why they cannot; "" if they can.
  static std::string add_operations(JobCollectives& job, const CollectivePlan& plan, std::uint16_t communicator, GroupId group,
                                    std::span<const NodeId> endpoint_of_rank, SwitchOperations& operations);

  /// Per CollectiveType: an algorithm's name, or "" where the rules pick it.
  std::vector<std::string> chosen_;
  std::string chosen_protocol_;  ///< likewise
  /// Those that may be taken, by name.
  std::map<std::string, std::shared_ptr<const CollectiveAlgorithm>, std::less<>> algorithms_;
  std::map<std::string, CollectiveProtocol, std::less<>> protocols_;
  std::vector<ParamSet> module_params_;
  std::optional<CollectiveRules> own_rules_;  ///< if something is auto
  std::optional<CollectiveRules> rules_;      ///< likewise: those built in
  std::optional<NcclTuner> tuner_;            ///< if something is auto, and it picks
  std::uint32_t slots_ = 0;
  Bytes slot_size_;
  bool cuts_by_distance_ = false;  ///< collective.chunk is auto
  Bytes chunk_;                    ///< otherwise
  Duration launch_latency_;
  std::set<GroupLayout> layouts_;
  /// By request and algorithm.
  std::unordered_map<CollectiveRequest, std::map<std::string, std::unique_ptr<const CollectivePlan>>, JobCollectives::RequestHash>
      plans_;
};

}  // namespace weft
