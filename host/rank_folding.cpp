#include "host/rank_folding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/check.hpp"
#include "core/fingerprint.hpp"
#include "network/ecmp.hpp"
#include "network/flow_fabric.hpp"
#include "network/inside_host.hpp"
#include "network/spray.hpp"

namespace weft {

namespace {

std::uint64_t relation_key(std::uint32_t communicator, std::uint32_t distance) {
  return (std::uint64_t{communicator} << 32) | distance;
}

std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return mix64(a * 0x9e3779b97f4a7c15ULL ^ mix64(b)); }

std::uint32_t wrapped(std::int64_t position, std::uint32_t size) {
  const auto n = static_cast<std::int64_t>(size);
  return static_cast<std::uint32_t>((position % n + n) % n);
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

}  // namespace

/// Builds one RankFolding.
class FoldingSearch {
 public:
  FoldingSearch(const Workload& workload, const CollectiveLibrary& collectives, const Topology& topology,
                const FlowSettings& settings, std::vector<NodeId> endpoint_of_rank, std::size_t hops_max)
      : workload_(workload),
        collectives_(collectives),
        topology_(topology),
        settings_(settings),
        hops_max_(hops_max),
        delays_(link_delays(topology, settings.switching_delay)),
        inside_host_(topology),
        spray_(topology, delays_, 1),
        ecmp_(topology, settings.ecmp_seed, 1),
        folding_(new RankFolding(workload, std::move(endpoint_of_rank))) {}

  std::shared_ptr<const RankFolding> find() {
    collect_roles();
    if (!collect_messages()) return nullptr;
    refine();
    if (rank_classes_ == workload_.rank_count) return nullptr;
    choose_representatives();
    if (!verify()) return nullptr;
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
  /// One message that a rank sends again and again.
  struct Message {
    std::uint64_t key = 0;
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint32_t first_hop = 0;
    std::uint32_t hop_count = 0;
    Duration delay;
    bool inside_host = false;  ///< other latencies, no headers
  };
  /// Kind of message and what a link carries of it.
  struct Load {
    std::uint32_t source_class = 0;
    std::uint64_t key = 0;
    double amount = 0;
    bool same_kind(const Load& other) const { return source_class == other.source_class && key == other.key; }
  };

  void collect_roles() {
    role_uses_.resize(workload_.roles.size());
    for (std::size_t role = 0; role < workload_.roles.size(); ++role) {
      const RoleDag& dag = workload_.roles[role];
      std::map<std::uint16_t, RoleUse> uses;
      std::set<std::tuple<std::uint16_t, CollectiveType, std::int32_t, Bytes>> seen;
      for (std::uint32_t i = 0; i < dag.size(); ++i) {
        const OpKind kind = dag.kind(OpId(i));
        if (kind != OpKind::collective && kind != OpKind::send) continue;
        const Op op = dag.op(OpId(i));
        RoleUse& use = uses[op.communicator];
        use.communicator = op.communicator;
        if (kind == OpKind::collective) {
          if (seen.emplace(op.communicator, op.collective, op.peer, op.bytes).second) use.collectives.push_back(op);
        } else if (const std::pair send(op.addressing, op.peer);
                   std::find(use.sends.begin(), use.sends.end(), send) == use.sends.end()) {
          use.sends.push_back(send);
        }
      }
      for (auto& [communicator, use] : uses) role_uses_[role].push_back(std::move(use));
    }
  }

  /// Distances that a program sends over.
  const std::vector<std::uint32_t>& distances_of(const CollectiveProgram& program, std::uint32_t size) {
    const auto [found, is_new] = distances_.try_emplace(&program);
    if (!is_new) return found->second;
    std::set<std::uint32_t> distances;
    for (std::uint32_t step = 0; step < program.size(); ++step) {
      if (program.step(step).kind == StepKind::send) distances.insert(wrapped(program.step(step).peer_offset, size));
    }
    found->second.assign(distances.begin(), distances.end());
    return found->second;
  }

  /// Equal for positions that send messages of equal sizes step by step.
  static std::uint64_t sizes_hash(const CollectiveProgram& program, std::uint32_t position) {
    if (program.parts_are_equal()) return 0;
    std::uint64_t hash = 1;
    for (std::uint32_t step = 0; step < program.size(); ++step) {
      if (program.step(step).kind == StepKind::join) continue;
      hash = combine(hash, static_cast<std::uint64_t>(program.message_bytes(step, position).count()));
    }
    return hash;
  }

  /// Messages with their paths, and the first colours of ranks. False if folding cannot be looked for.
  bool collect_messages() {
    rank_signatures_.resize(workload_.rank_count);
    std::vector<std::uint32_t> distances;
    for (std::uint32_t rank = 0; rank < workload_.rank_count; ++rank) {
      const std::uint16_t role = workload_.role_of[rank];
      std::uint64_t signature = mix64(role);
      for (const RoleUse& use : role_uses_[role]) {
        const Communicator& communicator = workload_.communicators[use.communicator];
        const std::span<const RankId> group = communicator.ranks(communicator.group_of(RankId(rank)));
        const auto size = static_cast<std::uint32_t>(group.size());
        const std::uint32_t position = communicator.position_of(RankId(rank));
        signature = combine(signature, relation_key(use.communicator, size));
        distances.clear();
        for (const Op& op : use.collectives) {
          const CompiledCollective* compiled = collectives_.find(collective_request(op, size, position));
          if (compiled == nullptr) continue;
          const CollectiveProgram& program = compiled->program_of(position);
          signature = combine(signature, compiled->role_of.empty() ? 0 : compiled->role_of[position]);
          signature = combine(signature, sizes_hash(program, position));
          const std::vector<std::uint32_t>& sent = distances_of(program, size);
          distances.insert(distances.end(), sent.begin(), sent.end());
        }
        for (const auto& [addressing, peer] : use.sends) {
          const std::int64_t base = addressing == PeerAddressing::relative ? 0 : -static_cast<std::int64_t>(position);
          distances.push_back(wrapped(base + peer, size));
        }
        std::sort(distances.begin(), distances.end());
        distances.erase(std::unique(distances.begin(), distances.end()), distances.end());
        for (const std::uint32_t distance : distances) {
          Message message;
          message.key = relation_key(use.communicator, distance);
          message.source = rank;
          message.destination = group[wrapped(std::int64_t{position} + distance, size)].index();
          if (!add_path(message, use.communicator)) return false;
          if (hop_links_.size() > hops_max_) return false;
          messages_.push_back(message);
        }
      }
      rank_signatures_[rank] = signature;
    }
    return true;
  }

  /// Appends the path of a message and fills in what it says. False for queue pairs that are hashed onto different paths.
  bool add_path(Message& message, std::uint16_t communicator) {
    const NodeId from = folding_->endpoint_of_rank_[message.source];
    const NodeId to = folding_->endpoint_of_rank_[message.destination];
    message.inside_host = inside_host_.joins(from, to);
    message.first_hop = static_cast<std::uint32_t>(hop_links_.size());
    const SprayedPath& sprayed = spray_.path(from, to);
    const bool branches = std::any_of(sprayed.loads.begin(), sprayed.loads.end(), [](double load) { return load != 1.0; });
    if (branches && settings_.routing == Routing::ecmp) {
      if (settings_.queue_pairs > 1) return false;
      const std::span<const LinkId> path = ecmp_.path(from, to, communicator, 0);
      hop_links_.insert(hop_links_.end(), path.begin(), path.end());
      hop_loads_.resize(hop_links_.size(), 1.0);
      for (const LinkId link : path) message.delay += delays_[link.index()];
    } else {
      hop_links_.insert(hop_links_.end(), sprayed.links.begin(), sprayed.links.end());
      hop_loads_.insert(hop_loads_.end(), sprayed.loads.begin(), sprayed.loads.end());
      message.delay = sprayed.delay;
    }
    message.hop_count = static_cast<std::uint32_t>(hop_links_.size()) - message.first_hop;
    return true;
  }

  /// What a message's time depends on beside its path.
  static std::int64_t delay_of(const Message& message) { return 2 * message.delay.in_ticks() + (message.inside_host ? 1 : 0); }

  std::uint64_t load_bits(std::size_t hop) const { return std::bit_cast<std::uint64_t>(hop_loads_[hop]); }

  void refine() {
    folding_->class_of_rank_.resize(workload_.rank_count);
    link_class_.assign(topology_.link_count(), 0);
    link_used_.assign(topology_.link_count(), false);
    for (const LinkId link : hop_links_) link_used_[link.index()] = true;
    std::vector<std::uint64_t> link_signatures(topology_.link_count());
    for (std::uint32_t i = 0; i < topology_.link_count(); ++i) {
      link_signatures[i] = mix64(static_cast<std::uint64_t>(topology_.link(LinkId(i)).rate.in_bps()));
    }
    const auto none = [](std::size_t) { return false; };
    const auto unused = [this](std::size_t link) { return !link_used_[link]; };
    std::vector<std::uint32_t>& rank_class = folding_->class_of_rank_;
    rank_classes_ = renumber(rank_signatures_, rank_class, none);
    std::uint32_t link_classes = renumber(link_signatures, link_class_, unused);
    while (true) {
      for (std::uint32_t rank = 0; rank < workload_.rank_count; ++rank) rank_signatures_[rank] = mix64(rank_class[rank]);
      for (std::uint32_t link = 0; link < topology_.link_count(); ++link) link_signatures[link] = mix64(link_class_[link]);
      for (const Message& message : messages_) {
        const std::uint64_t kind = combine(message.key, rank_class[message.source]);
        std::uint64_t path = combine(static_cast<std::uint64_t>(delay_of(message)), message.hop_count);
        for (std::uint32_t hop = message.first_hop; hop < message.first_hop + message.hop_count; ++hop) {
          const std::uint32_t link = hop_links_[hop].index();
          // Sums, so that the order in which members are met does not matter.
          path += combine(link_class_[link], load_bits(hop));
          link_signatures[link] += combine(kind, load_bits(hop));
        }
        rank_signatures_[message.source] += combine(combine(message.key, rank_class[message.destination]), path);
        rank_signatures_[message.destination] += combine(kind, ~path);
      }
      const std::uint32_t ranks_now = renumber(rank_signatures_, rank_class, none);
      const std::uint32_t links_now = renumber(link_signatures, link_class_, unused);
      if (ranks_now == rank_classes_ && links_now == link_classes) return;
      rank_classes_ = ranks_now;
      link_classes = links_now;
      if (rank_classes_ == workload_.rank_count) return;
    }
  }

  void choose_representatives() {
    RankFolding& folding = *folding_;
    folding.representatives_.assign(rank_classes_, RankId::none());
    folding.class_sizes_.assign(rank_classes_, 0);
    folding.rank_of_node_.assign(topology_.node_count(), RankId::none());
    for (std::uint32_t rank = 0; rank < workload_.rank_count; ++rank) {
      const std::uint32_t rank_class = folding.class_of_rank_[rank];
      if (folding.representatives_[rank_class].is_none()) folding.representatives_[rank_class] = RankId(rank);
      ++folding.class_sizes_[rank_class];
      folding.rank_of_node_[folding.endpoint_of_rank_[rank].index()] = RankId(rank);
    }
    std::unordered_map<std::uint32_t, LinkId> first_of_class;
    for (std::uint32_t link = 0; link < topology_.link_count(); ++link) {
      const bool used = link_used_[link];
      folding.representative_link_.push_back(used ? first_of_class.try_emplace(link_class_[link], LinkId(link)).first->second
                                                  : LinkId(link));
    }
  }

  /// Hops by link: which message crosses it, with which load.
  void sort_hops() {
    first_crossing_.assign(topology_.link_count() + 1, 0);
    for (const LinkId link : hop_links_) ++first_crossing_[link.index() + 1];
    std::partial_sum(first_crossing_.begin(), first_crossing_.end(), first_crossing_.begin());
    crossings_.resize(hop_links_.size());
    std::vector<std::uint32_t> next(first_crossing_.begin(), first_crossing_.end() - 1);
    for (std::uint32_t i = 0; i < messages_.size(); ++i) {
      const Message& message = messages_[i];
      for (std::uint32_t hop = message.first_hop; hop < message.first_hop + message.hop_count; ++hop) {
        crossings_[next[hop_links_[hop].index()]++] = {i, hop};
      }
    }
  }

  /// What a link carries of every kind, by kind.
  void loads_of(LinkId link, std::vector<Load>& loads) const {
    loads.clear();
    for (std::uint32_t i = first_crossing_[link.index()]; i < first_crossing_[link.index() + 1]; ++i) {
      const Message& message = messages_[crossings_[i].message];
      loads.push_back({folding_->class_of_rank_[message.source], message.key, hop_loads_[crossings_[i].hop]});
    }
    std::stable_sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) {
      return std::tie(a.source_class, a.key) < std::tie(b.source_class, b.key);
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      if (kept > 0 && loads[kept - 1].same_kind(loads[i])) {
        loads[kept - 1].amount += loads[i].amount;
      } else {
        loads[kept++] = loads[i];
      }
    }
    loads.resize(kept);
  }

  /// The definition, entry by entry: hashes only suggested it.
  bool verify() { return verify_links() && verify_ranks(); }

  bool verify_links() {
    sort_hops();
    std::vector<Load> mine;
    // The representative of a class comes first.
    for (std::uint32_t link = 0; link < topology_.link_count(); ++link) {
      if (!link_used_[link]) continue;
      const std::uint32_t other = folding_->representative_link_[link].index();
      if (other == link) {
        loads_of(LinkId(link), loads_of_representative_[link]);
        continue;
      }
      loads_of(LinkId(link), mine);
      const std::vector<Load>& its = loads_of_representative_.at(other);
      if (mine.size() != its.size() || topology_.link(LinkId(link)).rate != topology_.link(LinkId(other)).rate) return false;
      for (std::size_t i = 0; i < mine.size(); ++i) {
        if (!mine[i].same_kind(its[i]) || std::abs(mine[i].amount - its[i].amount) > 1e-9 * its[i].amount) return false;
      }
    }
    return true;
  }

  /// Messages of every rank, those that it sends or those that it receives, by key. A rank has one of a key.
  struct MessagesOfRank {
    std::vector<std::uint32_t> first;  ///< by rank, and one more
    std::vector<std::uint32_t> messages;
    std::span<const std::uint32_t> of(std::uint32_t rank) const {
      return std::span(messages).subspan(first[rank], first[rank + 1] - first[rank]);
    }
  };

  MessagesOfRank by_rank(std::uint32_t Message::*end) const {
    MessagesOfRank sorted;
    sorted.first.assign(workload_.rank_count + 1, 0);
    for (const Message& message : messages_) ++sorted.first[message.*end + 1];
    std::partial_sum(sorted.first.begin(), sorted.first.end(), sorted.first.begin());
    sorted.messages.resize(messages_.size());
    std::vector<std::uint32_t> next(sorted.first.begin(), sorted.first.end() - 1);
    for (std::uint32_t i = 0; i < messages_.size(); ++i) sorted.messages[next[messages_[i].*end]++] = i;
    for (std::uint32_t rank = 0; rank < workload_.rank_count; ++rank) {
      std::sort(sorted.messages.begin() + sorted.first[rank], sorted.messages.begin() + sorted.first[rank + 1],
                [&](std::uint32_t a, std::uint32_t b) { return messages_[a].key < messages_[b].key; });
    }
    return sorted;
  }

  bool verify_ranks() const {
    for (const auto& [end, peer] :
         {std::pair(&Message::source, &Message::destination), std::pair(&Message::destination, &Message::source)}) {
      const MessagesOfRank messages = by_rank(end);
      for (std::uint32_t rank = 0; rank < workload_.rank_count; ++rank) {
        const auto mine = messages.of(rank);
        const auto its = messages.of(folding_->representatives_[folding_->class_of_rank_[rank]].index());
        const auto alike = [&, peer = peer](std::uint32_t a, std::uint32_t b) {
          return are_alike(messages_[a], messages_[b], peer);
        };
        if (!std::equal(mine.begin(), mine.end(), its.begin(), its.end(), alike)) return false;
      }
    }
    return true;
  }

  bool are_alike(const Message& a, const Message& b, std::uint32_t Message::*peer) const {
    const std::vector<std::uint32_t>& rank_class = folding_->class_of_rank_;
    if (a.key != b.key || rank_class[a.*peer] != rank_class[b.*peer] || delay_of(a) != delay_of(b) || a.hop_count != b.hop_count) {
      return false;
    }
    const auto hop = [this](std::uint32_t i) { return std::pair(link_class_[hop_links_[i].index()], load_bits(i)); };
    std::uint32_t same = 0;
    while (same < a.hop_count && hop(a.first_hop + same) == hop(b.first_hop + same)) ++same;
    if (same == a.hop_count) return true;
    // Branches of sprayed paths come in the order of their links.
    std::vector<std::pair<std::uint32_t, std::uint64_t>> of_a;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> of_b;
    for (std::uint32_t i = same; i < a.hop_count; ++i) {
      of_a.push_back(hop(a.first_hop + i));
      of_b.push_back(hop(b.first_hop + i));
    }
    std::sort(of_a.begin(), of_a.end());
    std::sort(of_b.begin(), of_b.end());
    return of_a == of_b;
  }

  /// Of every message of a representative: one link of each class that it crosses, with what that link carries of the whole kind.
  void lay_paths() {
    RankFolding& folding = *folding_;
    folding.relations_.resize(rank_classes_);
    for (const Message& message : messages_) {
      if (!folding.is_representative(RankId(message.source))) continue;
      const std::uint32_t source_class = folding.class_of_rank_[message.source];
      RankFolding::Relation relation;
      relation.key = message.key;
      relation.first = static_cast<std::uint32_t>(folding.links_.size());
      for (std::uint32_t hop = message.first_hop; hop < message.first_hop + message.hop_count; ++hop) {
        const LinkId link = folding.representative_link_[hop_links_[hop].index()];
        if (std::find(folding.links_.begin() + relation.first, folding.links_.end(), link) != folding.links_.end()) continue;
        const std::vector<Load>& loads = loads_of_representative_.at(link.index());
        const Load kind{source_class, message.key, 0};
        const auto found = std::find_if(loads.begin(), loads.end(), [&](const Load& load) { return load.same_kind(kind); });
        WEFT_CHECK(found != loads.end(), "links of one class carry the same kinds");
        folding.links_.push_back(link);
        folding.loads_.push_back(found->amount);
      }
      relation.count = static_cast<std::uint32_t>(folding.links_.size()) - relation.first;
      folding.relations_[source_class].push_back(relation);
    }
    for (std::vector<RankFolding::Relation>& relations : folding.relations_) {
      std::sort(relations.begin(), relations.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    }
  }

  const Workload& workload_;
  const CollectiveLibrary& collectives_;
  const Topology& topology_;
  const FlowSettings& settings_;
  std::size_t hops_max_;
  std::vector<Duration> delays_;
  InsideHost inside_host_;
  SprayPaths spray_;
  EcmpPaths ecmp_;
  std::shared_ptr<RankFolding> folding_;

  std::vector<std::vector<RoleUse>> role_uses_;
  std::unordered_map<const CollectiveProgram*, std::vector<std::uint32_t>> distances_;
  std::vector<Message> messages_;
  std::vector<LinkId> hop_links_;
  std::vector<double> hop_loads_;
  std::vector<std::uint64_t> rank_signatures_;
  std::uint32_t rank_classes_ = 0;
  std::vector<std::uint32_t> link_class_;
  std::vector<bool> link_used_;
  struct Crossing {
    std::uint32_t message = 0;
    std::uint32_t hop = 0;
  };
  std::vector<std::uint32_t> first_crossing_;  ///< by link, and one more
  std::vector<Crossing> crossings_;
  std::unordered_map<std::uint32_t, std::vector<Load>> loads_of_representative_;  ///< by link
};

std::shared_ptr<const RankFolding> RankFolding::find(const Workload& workload, const CollectiveLibrary& collectives,
                                                     const Topology& topology, const FlowSettings& settings,
                                                     std::vector<NodeId> endpoint_of_rank, std::size_t hops_max) {
  WEFT_CHECK(endpoint_of_rank.size() == workload.rank_count, "every rank has an endpoint");
  return FoldingSearch(workload, collectives, topology, settings, std::move(endpoint_of_rank), hops_max).find();
}

std::uint32_t RankFolding::distance(RankId from, RankId to, std::uint32_t communicator) const {
  const Communicator& groups = workload_.communicators[communicator];
  const auto size = static_cast<std::uint32_t>(groups.ranks(groups.group_of(from)).size());
  return wrapped(std::int64_t{groups.position_of(to)} - groups.position_of(from), size);
}

TransferFolding::FoldedPath RankFolding::path(const Transfer& transfer) const {
  const RankId source = rank_of_node_[transfer.source.index()];
  const RankId destination = rank_of_node_[transfer.destination.index()];
  const std::uint32_t rank_class = class_of(source);
  WEFT_CHECK(representatives_[rank_class] == source, "only representatives send");
  const std::uint64_t key = relation_key(transfer.connection, distance(source, destination, transfer.connection));
  const std::vector<Relation>& relations = relations_[rank_class];
  const auto found =
      std::lower_bound(relations.begin(), relations.end(), key, [](const Relation& a, std::uint64_t b) { return a.key < b; });
  WEFT_CHECK(found != relations.end() && found->key == key, "every message of a representative was foreseen");
  return {std::span(links_).subspan(found->first, found->count), std::span(loads_).subspan(found->first, found->count),
          class_sizes_[rank_class]};
}

Transfer RankFolding::seen_by_destination(const Transfer& transfer) const {
  const RankId source = rank_of_node_[transfer.source.index()];
  const RankId destination = rank_of_node_[transfer.destination.index()];
  const RankId receiver = representatives_[class_of(destination)];
  const Communicator& groups = workload_.communicators[transfer.connection];
  const std::span<const RankId> group = groups.ranks(groups.group_of(receiver));
  const std::int64_t back = distance(source, destination, transfer.connection);
  const RankId sender = group[wrapped(std::int64_t{groups.position_of(receiver)} - back, static_cast<std::uint32_t>(group.size()))];
  Transfer seen = transfer;
  seen.source = endpoint_of_rank_[sender.index()];
  seen.destination = endpoint_of_rank_[receiver.index()];
  return seen;
}

}  // namespace weft
