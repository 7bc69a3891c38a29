#include "host/collective_library.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "core/check.hpp"
#include "core/fingerprint.hpp"

namespace weft {

namespace {

constexpr std::string_view kOrigin = "NCCL's bandwidth-optimal default for large messages";

// One row per CollectiveType that an algorithm carries out, in the order of that enumeration.
constexpr std::array<ParamSpec, 5> kSelection = {{
    {"all_reduce", ParamKind::choice, "ring", "", "", "", "Algorithm of all_reduce", kOrigin},
    {"all_gather", ParamKind::choice, "ring", "", "", "", "Algorithm of all_gather", kOrigin},
    {"reduce_scatter", ParamKind::choice, "ring", "", "", "", "Algorithm of reduce_scatter", kOrigin},
    {"all_to_all", ParamKind::choice, "direct", "", "", "", "Algorithm of all_to_all", "NCCL sends to all peers at once"},
    {"broadcast", ParamKind::choice, "ring", "", "", "", "Algorithm of broadcast", kOrigin},
}};

/// kSelection with the algorithms that carry out each type as its choices, so that a wrong name is refused where it is set.
class SelectionTable {
 public:
  SelectionTable() {
    for (std::size_t type = 0; type < table_.size(); ++type) {
      for (const auto& module : collective_algorithms()) {
        const ParamSet defaults(std::string(module.info.name), module.info.params);
        if (!module.make(defaults)->supports(static_cast<CollectiveType>(type))) continue;
        choices_[type] += (choices_[type].empty() ? "" : "|") + std::string(module.info.name);
      }
      table_[type].choices = choices_[type];
    }
  }
  SelectionTable(const SelectionTable&) = delete;
  SelectionTable& operator=(const SelectionTable&) = delete;

  ParamTable table() const { return table_; }

 private:
  std::array<ParamSpec, kSelection.size()> table_ = kSelection;
  std::array<std::string, kSelection.size()> choices_;
};

/// Refuses collectives without a row in kSelection.
void require_supported(const Workload& workload) {
  for (const RoleDag& dag : workload.roles) {
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      if (dag.kind(OpId(i)) != OpKind::collective) continue;
      const CollectiveType type = dag.op(OpId(i)).collective;
      if (static_cast<std::size_t>(type) < kSelection.size()) continue;
      const std::string_view name = dag.name(OpId(i));
      throw InputError({Severity::error, "collective-not-supported",
                        "no algorithm carries out " + std::string(to_text(type)) + ", which op " +
                            (name.empty() ? std::to_string(i) : in_quotes(name)) + " asks for",
                        SourcePlace::named(workload.name),
                        "supported: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast"});
    }
  }
}

}  // namespace

ParamTable CollectiveLibrary::selection_params() {
  static const SelectionTable selection;
  return selection.table();
}

CollectiveLibrary::CollectiveLibrary(const ParamSet& selection, std::span<const ParamSet> algorithm_params) {
  for (const ParamSpec& spec : kSelection) {
    const std::string& name = selection.text(spec.name);
    const auto& module = find_module(collective_algorithms(), name, SourcePlace::named("collective." + std::string(spec.name)));
    ParamSet params(name, module.info.params);
    for (const ParamSet& given : algorithm_params) {
      if (given.module() == name) params = given;
    }
    selected_.push_back({name, module.make(params)});
  }
}

std::size_t CollectiveLibrary::RequestHash::operator()(const CollectiveRequest& request) const noexcept {
  std::uint64_t hash = mix64(static_cast<std::uint64_t>(request.bytes.count()));
  hash = mix64(hash ^ request.ranks);
  hash = mix64(hash ^ (static_cast<std::uint64_t>(request.root) << 8 | static_cast<std::uint64_t>(request.type)));
  return hash;
}

void CollectiveLibrary::compile(const CollectiveRequest& request) {
  if (request.ranks < 2 || compiled_.contains(request)) return;
  const Selected& chosen = selected_[static_cast<std::size_t>(request.type)];
  WEFT_CHECK(chosen.algorithm->supports(request.type), "only algorithms that carry out a collective can be chosen for it");
  CompiledCollective& compiled = compiled_[request];
  compiled.request = request;
  compiled.algorithm = chosen.name;
  const std::uint32_t roles = chosen.algorithm->role_count(request);
  for (std::uint32_t role = 0; role < roles; ++role) {
    compiled.programs.push_back(chosen.algorithm->compile(request, role));
    program_size_max_ = std::max(program_size_max_, compiled.programs.back().size());
  }
  if (roles > 1) {
    for (std::uint32_t position = 0; position < request.ranks; ++position) {
      compiled.role_of.push_back(chosen.algorithm->role_of(request, position));
    }
  }
}

void CollectiveLibrary::add(const Workload& workload) {
  require_supported(workload);
  for (std::size_t role = 0; role < workload.roles.size(); ++role) {
    const RoleDag& dag = workload.roles[role];
    // Which positions of which group sizes play this role, per communicator; a relative root depends on the position.
    std::vector<std::set<std::pair<std::uint32_t, std::uint32_t>>> seats(workload.communicators.size());
    for (std::uint32_t rank = 0; rank < workload.rank_count; ++rank) {
      if (workload.role_of[rank] != role) continue;
      for (std::size_t c = 0; c < workload.communicators.size(); ++c) {
        const Communicator& communicator = workload.communicators[c];
        const GroupId group = communicator.group_of(RankId(rank));
        if (group.is_none()) continue;
        seats[c].emplace(static_cast<std::uint32_t>(communicator.ranks(group).size()), communicator.position_of(RankId(rank)));
      }
    }
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      if (dag.kind(OpId(i)) != OpKind::collective) continue;
      const Op op = dag.op(OpId(i));
      std::uint32_t last_size = 0;
      for (const auto& [size, position] : seats[op.communicator]) {
        const bool depends_on_position = op.collective == CollectiveType::broadcast && op.addressing == PeerAddressing::relative;
        if (size == last_size && !depends_on_position) continue;
        last_size = size;
        compile(collective_request(op, size, position));
      }
    }
  }
}

const CompiledCollective* CollectiveLibrary::find(const CollectiveRequest& request) const {
  if (request.ranks < 2) return nullptr;
  const auto found = compiled_.find(request);
  WEFT_CHECK(found != compiled_.end(), "every collective of a run was compiled before it");
  return &found->second;
}

CollectiveRequest collective_request(const Op& op, std::uint32_t group_size, std::uint32_t position) {
  WEFT_CHECK(op.kind == OpKind::collective, "only a collective makes a collective request");
  CollectiveRequest request{op.collective, group_size, 0, op.bytes};
  if (op.collective == CollectiveType::broadcast) {
    const std::int64_t base = op.addressing == PeerAddressing::relative ? position : 0;
    const std::int64_t root = (base + op.peer) % static_cast<std::int64_t>(group_size);
    request.root = static_cast<std::uint32_t>(root < 0 ? root + group_size : root);
  }
  return request;
}

}  // namespace weft
