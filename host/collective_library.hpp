// Collective library: the compiled programs of a run, chosen and compiled once before it starts, shared by all ranks.
//
// Where it sits: the assembler of a run adds every workload; each rank's DAG runner looks its collectives up. A program is compiled once per
// (type, group size, root, bytes) and role, not per rank.
// Thread safety: add() before the run from one thread; find() from any thread afterwards.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/params.hpp"
#include "host/collectives/collective.hpp"
#include "workloads/dag.hpp"

namespace weft {

/// One collective, ready to run.
struct CompiledCollective {
  CollectiveRequest request;
  std::string algorithm;
  std::vector<std::uint32_t> role_of;       ///< per position; empty if all have role 0
  std::vector<CollectiveProgram> programs;  ///< per role

  const CollectiveProgram& program_of(std::uint32_t position) const { return programs[role_of.empty() ? 0 : role_of[position]]; }
};

class CollectiveLibrary {
 public:
  /// Which algorithm carries out which type; parameter `all_reduce = ring` and so on. The choices are the algorithms that do.
  static ParamTable selection_params();

  /// `selection` is over selection_params(); `algorithm_params` holds a set per algorithm, by module name, where not default.
  CollectiveLibrary(const ParamSet& selection, std::span<const ParamSet> algorithm_params);

  /// Compiles what the workload's ranks will ask for. Groups of one rank need no program.
  void add(const Workload& workload);

  /// Null for a group of one rank, which has nothing to do. Requires: the request was added.
  const CompiledCollective* find(const CollectiveRequest& request) const;
  std::size_t size() const { return compiled_.size(); }
  /// Steps of the longest program.
  std::uint32_t program_size_max() const { return program_size_max_; }

 private:
  struct RequestHash {
    std::size_t operator()(const CollectiveRequest& request) const noexcept;
  };
  void compile(const CollectiveRequest& request);

  struct Selected {
    std::string name;
    std::shared_ptr<const CollectiveAlgorithm> algorithm;
  };
  std::uint32_t program_size_max_ = 0;
  std::vector<Selected> selected_;  ///< per CollectiveType
  std::unordered_map<CollectiveRequest, CompiledCollective, RequestHash> compiled_;
};

/// The request that `op` of a rank at `position` in a group of `group_size` makes. Requires: op is a collective.
CollectiveRequest collective_request(const Op& op, std::uint32_t group_size, std::uint32_t position);

}  // namespace weft
