#include "host/rank_folding.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/check.hpp"
#include "core/fingerprint.hpp"
#include "host/folding_paths.hpp"
#include "host/message_tag.hpp"

namespace weft {

namespace {

std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return mix64(a * 0x9e3779b97f4a7c15ULL ^ mix64(b)); }

std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = combine(hash, static_cast<unsigned char>(c));
  return hash;
}

/// Numbers equal values alike, from 0 in order of first appearance; returns how many there are. Entries of `skip` stay as they are.
template <class Skip>
std::uint32_t renumber(const std::vector<std::uint64_t>& signatures, std::vector<std::uint32_t>& classes, const Skip& skip) {
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    if (skip(i)) continue;
    classes[i] = numbers.try_emplace(signatures[i], static_cast<std::uint32_t>(numbers.size())).first->second;
  }
  return static_cast<std::uint32_t>(numbers.size());
}

/// Equal divisions, equal numbers.
std::uint64_t division_hash(const Subgroups& division) {
  if (division.is_whole_group()) return 0;
  std::uint64_t hash = division.positions();
  for (std::uint32_t position = 0; position < division.positions(); ++position) {
    if (!division.contains(position)) continue;
    hash = combine(hash, position);
    hash = combine(hash, division.member(position, 0));
    hash = combine(hash, division.index_of(position));
  }
  return hash;
}

}  // namespace

/// Builds one RankFolding. Ranks are numbered through, job after job.
class FoldingSearch {
 public:
  FoldingSearch(std::vector<PlacedJob> jobs, const Topology& topology, const FlowSettings& settings, const HostSpeeds& speeds,
                const RankFolding::Limits& limits)
      : topology_(topology),
        speeds_(speeds),
        limits_(limits),
        folding_(new RankFolding(std::move(jobs))),
        endpoints_(endpoints_of(folding_->jobs_)),
        rank_count_(static_cast<std::uint32_t>(endpoints_.size())),
        paths_(topology, settings, endpoints_, limits.hops) {}

  std::shared_ptr<const RankFolding> find() {
    for (job_ = 0; job_ < folding_->jobs_.size(); ++job_) {
      first_rank_.push_back(static_cast<std::uint32_t>(first_colours_.size()));
      collect_roles();
      if (!collect_messages()) return nullptr;
    }
    refine();
    if (rank_classes_ == rank_count_) return nullptr;
    choose_representatives();
    if (!passes_a_second_look()) return nullptr;
    lay_paths();
    return std::move(folding_);
  }

 private:
  /// What the ops of a role ask of one communicator, each kind once.
  struct RoleUse {
    std::uint16_t communicator = 0;
    std::vector<Op> collectives;
    std::vector<std::pair<PeerAddressing, std::int32_t>> sends;
  };
  /// A rule by which a program finds receivers.
  struct Route {
    std::uint64_t kind = 0;  ///< but for the communicator
    std::uint32_t step = 0;
    std::uint8_t channel = 0;
  };
  /// One message that a rank sends again and again.
  struct Message {
    std::uint32_t kind = 0;  ///< index of kinds_
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint32_t piece = 0;
  };
  /// What messages of one rule and connection have in common.
  struct Kind {
    std::uint64_t hash = 0;
    std::uint32_t connection = 0;
    bool in_collective = false;
  };
  /// Hashes of the sizes that a program's positions send, by what tells positions apart.
  struct SizeHashes {
    std::vector<PartIndex> indices;
    std::map<std::vector<std::uint32_t>, std::uint64_t> by_residues;
  };
  struct Signatures {
    std::vector<std::uint64_t> ranks;
    std::vector<std::uint64_t> links;
  };

  static std::vector<NodeId> endpoints_of(std::span<const PlacedJob> jobs) {
    std::vector<NodeId> endpoints;
    for (const PlacedJob& job : jobs) {
      WEFT_CHECK(job.endpoint_of_rank.size() == job.workload->rank_count, "every rank has an endpoint");
      endpoints.insert(endpoints.end(), job.endpoint_of_rank.begin(), job.endpoint_of_rank.end());
    }
    return endpoints;
  }

  /// Of the job at hand.
  void collect_roles() {
    const Workload& workload = *folding_->jobs_[job_].workload;
    role_uses_.assign(workload.roles.size(), {});
    for (std::size_t role = 0; role < workload.roles.size(); ++role) {
      const RoleDag& dag = workload.roles[role];
      std::map<std::uint16_t, RoleUse> uses;
      std::set<std::tuple<std::uint16_t, CollectiveType, PeerAddressing, std::int32_t, std::uint32_t, Bytes>> seen;
      for (std::uint32_t i = 0; i < dag.size(); ++i) {
        const OpKind kind = dag.kind(OpId(i));
        if (kind != OpKind::collective && kind != OpKind::send) continue;
        const Op op = dag.op(OpId(i));
        RoleUse& use = uses[op.communicator];
        use.communicator = op.communicator;
        if (kind == OpKind::collective) {
          if (seen.emplace(op.communicator, op.collective, op.addressing, op.peer, op.splits, op.bytes).second) {
            use.collectives.push_back(op);
          }
        } else if (const std::pair send(op.addressing, op.peer);
                   std::find(use.sends.begin(), use.sends.end(), send) == use.sends.end()) {
          use.sends.push_back(send);
        }
      }
      for (auto& [communicator, use] : uses) role_uses_[role].push_back(std::move(use));
    }
  }

  /// A message from distance to distance in the whole group.
  static std::uint64_t distance_kind(std::uint32_t distance) { return combine(1, distance); }

  /// Ways in which a role of a plan finds receivers, each once.
  const std::vector<Route>& routes_of(const CollectivePlan& plan, std::uint32_t position) {
    const CollectiveProgram& program = plan.program_of(position);
    const auto [found, is_new] = routes_.try_emplace(&program);
    if (!is_new) return found->second;
    std::set<std::uint64_t> seen;
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const CollectiveStep& step = program.step(i);
      if (step.kind != StepKind::send) continue;
      const std::uint64_t kind = kind_of(plan, position, step);
      if (seen.insert(combine(kind, step.channel)).second) found->second.push_back({kind, i, step.channel});
    }
    return found->second;
  }

  std::uint64_t kind_of(const CollectivePlan& plan, std::uint32_t position, const CollectiveStep& step) {
    const Subgroups& division = *plan.divisions[step.peer.division];
    if (division.is_whole_group() && step.peer.kind == PeerRule::Kind::offset) {
      return distance_kind(wrapped(step.peer.operand, division.positions()));
    }
    // Members of one role have peers of other roles perhaps, but all expect them by the same rule.
    const std::uint32_t peer = plan.peer(step, position);
    const PeerRule& back = plan.program_of(peer).step(step.remote_step).peer;
    const auto rule = [](const PeerRule& side) {
      return combine(static_cast<std::uint64_t>(side.kind), static_cast<std::uint64_t>(std::int64_t{side.operand}));
    };
    const auto [found, is_new] = division_hashes_.try_emplace(&division, 0);
    if (is_new) found->second = division_hash(division);
    return combine(combine(rule(step.peer), rule(back)), found->second);
  }

  /// Equal for positions that send messages of equal sizes step by step.
  std::uint64_t sizes_hash(const CollectivePlan& plan, std::uint32_t position) {
    if (plan.sizes_are_equal()) return 0;
    const CollectiveProgram& program = plan.program_of(position);
    const auto [found, is_new] = size_hashes_.try_emplace(&program);
    if (is_new) found->second.indices = indices_of(program);
    SizeHashes& known = found->second;
    std::vector<std::uint32_t> residues;
    for (const PartIndex& index : known.indices) {
      // Sizes repeat, so that of an offset's parts only the rest by the period matters, if they wrap round after full periods.
      const Subgroups& division = *plan.divisions[index.division];
      const std::uint64_t first = std::uint64_t{division.index_of(position)} * index.stride;
      const std::uint64_t wrap = std::uint64_t{division.size_at(position)} * index.stride;
      const bool repeats =
          index.kind == PartIndex::Kind::offset && plan.request.splits == nullptr && wrap % plan.size_period() == 0;
      if (!repeats) return all_sizes_hash(plan, position);
      residues.push_back(static_cast<std::uint32_t>(first % plan.size_period()));
    }
    if (known.indices.empty()) return all_sizes_hash(plan, position);
    const auto [hash, is_first] = known.by_residues.try_emplace(std::move(residues), 0);
    if (is_first) hash->second = all_sizes_hash(plan, position);
    return hash->second;
  }

  static std::uint64_t all_sizes_hash(const CollectivePlan& plan, std::uint32_t position) {
    const CollectiveProgram& program = plan.program_of(position);
    std::uint64_t hash = 1;
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      if (program.step(i).kind == StepKind::join) continue;
      hash = combine(hash, static_cast<std::uint64_t>(plan.message_bytes(program.step(i), position).count()));
    }
    return hash;
  }

  /// The ways in which a program's parts depend on the position, each once and without its operand.
  static std::vector<PartIndex> indices_of(const CollectiveProgram& program) {
    std::set<std::tuple<PartIndex::Kind, std::uint8_t, std::uint32_t>> seen;
    std::vector<PartIndex> indices;
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      for (const PartIndex& index : {program.step(i).parts.outer, program.step(i).parts.inner}) {
        if (index.kind == PartIndex::Kind::zero) continue;
        if (seen.emplace(index.kind, index.division, index.stride).second) indices.push_back(index);
      }
    }
    return indices;
  }

  /// Messages of the job at hand with their paths, and the first colours of its ranks. False if folding cannot be looked for.
  bool collect_messages() {
    const PlacedJob& job = folding_->jobs_[job_];
    const Workload& workload = *job.workload;
    for (std::uint32_t rank = 0; rank < workload.rank_count; ++rank) {
      const std::uint16_t role = workload.role_of[rank];
      const Node& endpoint = topology_.node(job.endpoint_of_rank[rank]);
      std::uint64_t colour =
          combine(combine(combine(role, job_), speeds_.profile(endpoint.host)), static_cast<std::uint64_t>(endpoint.kind));
      for (const RoleUse& use : role_uses_[role]) {
        const Communicator& communicator = workload.communicators[use.communicator];
        const GroupId group_id = communicator.group_of(RankId(rank));
        const std::span<const RankId> group = communicator.ranks(group_id);
        const auto size = static_cast<std::uint32_t>(group.size());
        const std::uint32_t position = communicator.position_of(RankId(rank));
        colour = combine(colour, std::uint64_t{use.communicator} << 32 | size);
        ++sending_;
        for (const Op& op : use.collectives) {
          const CollectivePlan* plan = job.collectives->find(op, group_id, position);
          if (plan == nullptr) continue;
          // Groups of one size may be carried out in several ways where rules pick them.
          colour = combine(combine(colour, text_hash(plan->algorithm)), text_hash(plan->protocol.name));
          colour = combine(colour, plan->role_at(position));
          colour = combine(colour, sizes_hash(*plan, position));
          for (const Route& route : routes_of(*plan, position)) {
            const CollectiveStep& step = plan->program_of(position).step(route.step);
            const RankId to = group[plan->peer(step, position)];
            if (!add_message(rank, to, connection_number(use.communicator, route.channel), route.kind, true)) return false;
          }
        }
        for (const auto& [addressing, peer] : use.sends) {
          const std::int64_t base = addressing == PeerAddressing::relative ? 0 : -static_cast<std::int64_t>(position);
          const std::uint32_t distance = wrapped(base + peer, size);
          const RankId to = communicator.peer_of(RankId(rank), addressing, peer);
          if (!add_message(rank, to, connection_number(use.communicator, 0), distance_kind(distance), false)) return false;
        }
      }
      first_colours_.push_back(colour);
    }
    return true;
  }

  /// Between two ranks of the job at hand.
  bool add_message(std::uint32_t rank, RankId to, std::uint32_t connection, std::uint64_t rule, bool in_collective) {
    const std::uint64_t hash = combine(combine(combine(rule, connection), in_collective ? 1 : 2), job_);
    const auto [number, is_new] = kind_numbers_.try_emplace(hash, static_cast<std::uint32_t>(kinds_.size()));
    if (is_new) kinds_.push_back({hash, connection, in_collective});
    // Several collectives of a communicator may send by one rule.
    sent_by_.resize(kinds_.size());
    if (std::exchange(sent_by_[number->second], sending_) == sending_ || to == RankId(rank)) return true;
    const std::uint32_t source = first_rank_[job_] + rank;
    const std::uint32_t destination = first_rank_[job_] + to.index();
    const std::optional<std::uint32_t> piece = paths_.piece_of(source, destination, connection);
    if (!piece || messages_.size() >= limits_.messages) return false;
    messages_.push_back({number->second, source, destination, *piece});
    return true;
  }

  /// What ranks and links see of their neighbours, given classes; `seed` makes other hashes.
  void look(std::uint64_t seed, Signatures& seen) {
    const std::vector<std::uint32_t>& rank_class = rank_class_;
    const auto hop_hash = [&](LinkId link, double load) {
      return combine(link_class_[link.index()] ^ seed, std::bit_cast<std::uint64_t>(load));
    };
    up_hash_.assign(rank_count_, 0);
    down_hash_.assign(rank_count_, 0);
    for (std::uint32_t rank = 0; rank < rank_count_; ++rank) {
      for (const LinkId link : paths_.way_up(rank)) up_hash_[rank] += hop_hash(link, 1.0);
      for (const LinkId link : paths_.way_down(rank)) down_hash_[rank] += hop_hash(link, 1.0);
    }
    piece_hash_.assign(paths_.piece_count(), 0);
    for (std::uint32_t i = 0; i < paths_.piece_count(); ++i) {
      const FoldingPaths::Piece& piece = paths_.piece(i);
      piece_hash_[i] = combine(piece.count, piece.inside_host ? 1 : 0);
      for (const FoldingPaths::Hop& hop : paths_.hops(piece)) piece_hash_[i] += hop_hash(hop.link, hop.load);
    }
    // Sums, so that the order in which neighbours are met does not matter. What a link sees is the sum over messages of kind x load: it is added
    // up by piece first.
    up_kinds_.assign(rank_count_, 0);
    down_kinds_.assign(rank_count_, 0);
    piece_kinds_.assign(paths_.piece_count(), 0);
    seen.ranks.resize(rank_count_);
    for (std::uint32_t rank = 0; rank < rank_count_; ++rank) seen.ranks[rank] = mix64(rank_class[rank] ^ seed);
    for (const Message& message : messages_) {
      const FoldingPaths::Piece& piece = paths_.piece(message.piece);
      const std::uint64_t hash = kinds_[message.kind].hash ^ seed;
      const std::uint64_t kind = combine(hash, rank_class[message.source]);
      const Duration delay = paths_.delay(message.source, message.destination, piece);
      std::uint64_t path = combine(static_cast<std::uint64_t>(delay.in_ticks()), seed) + piece_hash_[message.piece];
      piece_kinds_[message.piece] += kind;
      if (!piece.is_whole) {
        path += up_hash_[message.source] + down_hash_[message.destination];
        up_kinds_[message.source] += kind;
        down_kinds_[message.destination] += kind;
      }
      seen.ranks[message.source] += combine(combine(hash, rank_class[message.destination]), path);
      seen.ranks[message.destination] += combine(kind, ~path);
    }
    seen.links.resize(topology_.link_count());
    for (std::uint32_t link = 0; link < topology_.link_count(); ++link) seen.links[link] = mix64(link_class_[link] ^ seed);
    const auto show = [&](LinkId link, double load, std::uint64_t kinds) {
      seen.links[link.index()] += kinds * (combine(std::bit_cast<std::uint64_t>(load), seed) | 1U);
    };
    for (std::uint32_t rank = 0; rank < rank_count_; ++rank) {
      for (const LinkId link : paths_.way_up(rank)) show(link, 1.0, up_kinds_[rank]);
      for (const LinkId link : paths_.way_down(rank)) show(link, 1.0, down_kinds_[rank]);
    }
    for (std::uint32_t i = 0; i < paths_.piece_count(); ++i) {
      for (const FoldingPaths::Hop& hop : paths_.hops(paths_.piece(i))) show(hop.link, hop.load, piece_kinds_[i]);
    }
  }

  void mark_used_links() {
    link_used_.assign(topology_.link_count(), false);
    for (std::uint32_t i = 0; i < paths_.piece_count(); ++i) {
      for (const FoldingPaths::Hop& hop : paths_.hops(paths_.piece(i))) link_used_[hop.link.index()] = true;
    }
    for (const Message& message : messages_) {
      if (paths_.piece(message.piece).is_whole) continue;
      for (const LinkId link : paths_.way_up(message.source)) link_used_[link.index()] = true;
      for (const LinkId link : paths_.way_down(message.destination)) link_used_[link.index()] = true;
    }
  }

  void refine() {
    std::vector<std::uint32_t>& rank_class = rank_class_;
    rank_class.resize(rank_count_);
    link_class_.assign(topology_.link_count(), 0);
    mark_used_links();
    std::vector<std::uint64_t> rates(topology_.link_count());
    for (std::uint32_t i = 0; i < topology_.link_count(); ++i) {
      rates[i] = static_cast<std::uint64_t>(topology_.link(LinkId(i)).rate.in_bps());
    }
    const auto none = [](std::size_t) { return false; };
    const auto unused = [this](std::size_t link) { return !link_used_[link]; };
    rank_classes_ = renumber(first_colours_, rank_class, none);
    link_classes_ = renumber(rates, link_class_, unused);
    Signatures seen;
    while (rank_classes_ < rank_count_) {
      look(0, seen);
      const std::uint32_t ranks_now = renumber(seen.ranks, rank_class, none);
      const std::uint32_t links_now = renumber(seen.links, link_class_, unused);
      if (ranks_now == rank_classes_ && links_now == link_classes_) return;
      rank_classes_ = ranks_now;
      link_classes_ = links_now;
    }
  }

  /// Classes are numbered in order of their first ranks, and none has ranks of two jobs: those of a job follow those of the job before.
  void choose_representatives() {
    RankFolding& folding = *folding_;
    std::uint32_t classes = 0;
    for (std::uint32_t job = 0; job < folding.jobs_.size(); ++job) {
      const PlacedJob& placed = folding.jobs_[job];
      if (folding.index_of_stay_.size() <= placed.stay.index())
        folding.index_of_stay_.resize(placed.stay.index() + 1, RankFolding::unknown);
      folding.index_of_stay_[placed.stay.index()] = job;
      folding.first_class_.push_back(classes);
      std::vector<RankId>& rank_of_node = folding.rank_of_node_.emplace_back(topology_.node_count(), RankId::none());
      JobFolding& of_job = folding.foldings_[job];
      for (std::uint32_t rank = 0; rank < placed.workload->rank_count; ++rank) {
        const std::uint32_t rank_class = rank_class_[first_rank_[job] + rank] - folding.first_class_[job];
        of_job.class_of_rank_.push_back(rank_class);
        if (rank_class == of_job.representatives_.size()) {
          of_job.representatives_.push_back(RankId(rank));
          of_job.class_sizes_.push_back(0);
          representatives_.push_back(first_rank_[job] + rank);
          class_sizes_.push_back(0);
          ++classes;
        }
        ++of_job.class_sizes_[rank_class];
        ++class_sizes_[rank_class_[first_rank_[job] + rank]];
        rank_of_node[placed.endpoint_of_rank[rank].index()] = RankId(rank);
      }
    }
    representative_of_class_.assign(link_classes_, LinkId::none());
    link_class_sizes_.assign(link_classes_, 0);
    for (std::uint32_t link = 0; link < topology_.link_count(); ++link) {
      LinkId representative(link);
      if (link_used_[link]) {
        LinkId& first = representative_of_class_[link_class_[link]];
        if (first.is_none()) first = representative;
        representative = first;
        ++link_class_sizes_[link_class_[link]];
      }
      folding.representative_link_.push_back(representative);
    }
  }

  /// Members of a class look alike under hashes that did not make the classes, too. What chance let through once, it does not twice.
  bool passes_a_second_look() {
    Signatures seen;
    look(0x5851f42d4c957f2dULL, seen);
    for (std::uint32_t rank = 0; rank < rank_count_; ++rank) {
      if (seen.ranks[rank] != seen.ranks[representatives_[rank_class_[rank]]]) return false;
    }
    for (std::uint32_t link = 0; link < topology_.link_count(); ++link) {
      const LinkId representative = folding_->representative_link_[link];
      if (seen.links[link] != seen.links[representative.index()]) return false;
      if (topology_.link(LinkId(link)).rate != topology_.link(representative).rate) return false;
    }
    return true;
  }

  /// Of every message of a representative: one link of each class that it crosses, with what that link carries of the whole kind.
  void lay_paths() {
    RankFolding& folding = *folding_;
    folding.relations_.resize(rank_classes_);
    folding.senders_.resize(rank_classes_);
    std::vector<std::pair<std::uint32_t, double>> loads;  // by class of links
    for (const Message& message : messages_) {
      const Kind& kind = kinds_[message.kind];
      const std::uint32_t source_class = rank_class_[message.source];
      const std::uint32_t destination_class = rank_class_[message.destination];
      const std::uint32_t first = first_rank_of(message.source);
      if (representatives_[destination_class] == message.destination) {
        folding.senders_[destination_class].push_back({kind.hash, RankId(message.source - first)});
      }
      if (representatives_[source_class] != message.source) continue;
      loads.clear();
      const auto cross = [&](LinkId link, double load) {
        const std::uint32_t link_class = link_class_[link.index()];
        const auto found =
            std::find_if(loads.begin(), loads.end(), [&](const auto& of_class) { return of_class.first == link_class; });
        if (found == loads.end()) {
          loads.emplace_back(link_class, load);
        } else {
          found->second += load;
        }
      };
      const FoldingPaths::Piece& piece = paths_.piece(message.piece);
      if (!piece.is_whole) {
        for (const LinkId link : paths_.way_up(message.source)) cross(link, 1.0);
      }
      for (const FoldingPaths::Hop& hop : paths_.hops(piece)) cross(hop.link, hop.load);
      if (!piece.is_whole) {
        for (const LinkId link : paths_.way_down(message.destination)) cross(link, 1.0);
      }
      RankFolding::Relation relation;
      relation.connection = kind.connection;
      relation.destination = RankId(message.destination - first);
      relation.in_collective = kind.in_collective;
      relation.kind = kind.hash;
      relation.first = static_cast<std::uint32_t>(folding.links_.size());
      relation.count = static_cast<std::uint32_t>(loads.size());
      for (const auto& [link_class, load] : loads) {
        folding.links_.push_back(representative_of_class_[link_class]);
        folding.loads_.push_back(load * class_sizes_[source_class] / link_class_sizes_[link_class]);
      }
      folding.relations_[source_class].push_back(relation);
    }
    for (std::vector<RankFolding::Relation>& relations : folding.relations_) {
      std::sort(relations.begin(), relations.end(), [](const auto& a, const auto& b) {
        return std::tie(a.connection, a.destination, a.in_collective) < std::tie(b.connection, b.destination, b.in_collective);
      });
    }
    for (std::vector<RankFolding::Sender>& senders : folding.senders_) {
      std::sort(senders.begin(), senders.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
    }
  }

  std::uint32_t first_rank_of(std::uint32_t rank) const {
    return *(std::upper_bound(first_rank_.begin(), first_rank_.end(), rank) - 1);
  }

  const Topology& topology_;
  const HostSpeeds& speeds_;
  RankFolding::Limits limits_;
  std::shared_ptr<RankFolding> folding_;
  std::vector<NodeId> endpoints_;  ///< by rank
  std::uint32_t rank_count_;
  FoldingPaths paths_;

  std::uint32_t job_ = 0;                  ///< at hand
  std::vector<std::uint32_t> first_rank_;  ///< by job
  std::vector<std::vector<RoleUse>> role_uses_;
  std::unordered_map<const CollectiveProgram*, std::vector<Route>> routes_;
  std::unordered_map<const CollectiveProgram*, SizeHashes> size_hashes_;
  std::unordered_map<const Subgroups*, std::uint64_t> division_hashes_;
  std::unordered_map<std::uint64_t, std::uint32_t> kind_numbers_;
  std::vector<Kind> kinds_;
  std::uint64_t sending_ = 0;           ///< counts pairs of rank and communicator
  std::vector<std::uint64_t> sent_by_;  ///< by kind: the last of those pairs that sends it
  std::vector<Message> messages_;
  std::vector<std::uint64_t> first_colours_;
  std::vector<std::uint32_t> rank_class_;       ///< by rank
  std::vector<std::uint32_t> representatives_;  ///< by class: its first rank
  std::vector<std::uint32_t> class_sizes_;
  std::uint32_t rank_classes_ = 0;
  std::uint32_t link_classes_ = 0;
  std::vector<std::uint32_t> link_class_;
  std::vector<bool> link_used_;
  std::vector<LinkId> representative_of_class_;
  std::vector<std::uint32_t> link_class_sizes_;
  // By rank and by piece, of the look at hand.
  std::vector<std::uint64_t> up_hash_;
  std::vector<std::uint64_t> down_hash_;
  std::vector<std::uint64_t> piece_hash_;
  std::vector<std::uint64_t> up_kinds_;
  std::vector<std::uint64_t> down_kinds_;
  std::vector<std::uint64_t> piece_kinds_;
};

std::shared_ptr<const RankFolding> RankFolding::find(std::vector<PlacedJob> jobs, const Topology& topology,
                                                     const FlowSettings& settings, const HostSpeeds& speeds, const Limits& limits) {
  const auto uses_switches = [](const PlacedJob& job) { return job.collectives->uses_switches(); };
  if (std::ranges::any_of(jobs, uses_switches)) return nullptr;
  return FoldingSearch(std::move(jobs), topology, settings, speeds, limits).find();
}

/// A collective's message does not say by which rule it is sent. Messages of several rules between two ranks have one path and, in collectives, need
/// no sender, so that any of them will do; point-to-point messages have one rule, and come first.
const RankFolding::Relation& RankFolding::relation_of(const Transfer& transfer) const {
  const std::uint32_t job = index_of(transfer.stay);
  WEFT_CHECK(job != unknown, "every job of the run was folded with the others");
  const RankId source = rank_of_node_[job][transfer.source.index()];
  const RankId destination = rank_of_node_[job][transfer.destination.index()];
  WEFT_CHECK(foldings_[job].is_representative(source), "only representatives send");
  const std::vector<Relation>& relations = relations_[first_class_[job] + foldings_[job].class_of(source)];
  const auto found = std::lower_bound(relations.begin(), relations.end(), std::pair(transfer.connection, destination),
                                      [](const Relation& a, const auto& b) { return std::pair(a.connection, a.destination) < b; });
  WEFT_CHECK(found != relations.end() && found->connection == transfer.connection && found->destination == destination,
             "every message of a representative was foreseen");
  return *found;
}

TransferFolding::FoldedPath RankFolding::path(const Transfer& transfer) const {
  const Relation& relation = relation_of(transfer);
  const std::uint32_t job = index_of(transfer.stay);
  return {std::span(links_).subspan(relation.first, relation.count), std::span(loads_).subspan(relation.first, relation.count),
          foldings_[job].alike(rank_of_node_[job][transfer.source.index()])};
}

Transfer RankFolding::seen_by_destination(const Transfer& transfer) const {
  const Relation& relation = relation_of(transfer);
  const std::uint32_t job = index_of(transfer.stay);
  const std::uint32_t receiver_class = foldings_[job].class_of(relation.destination);
  const std::vector<Sender>& senders = senders_[first_class_[job] + receiver_class];
  const auto sender = std::lower_bound(senders.begin(), senders.end(), relation.kind,
                                       [](const Sender& a, std::uint64_t kind) { return a.kind < kind; });
  WEFT_CHECK(sender != senders.end() && sender->kind == relation.kind, "members of a class receive by the same rules");
  Transfer seen = transfer;
  seen.source = jobs_[job].endpoint_of_rank[sender->rank.index()];
  seen.destination = jobs_[job].endpoint_of_rank[foldings_[job].representatives_[receiver_class].index()];
  return seen;
}

}  // namespace weft
