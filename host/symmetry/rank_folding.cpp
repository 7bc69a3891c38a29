// SPDX-License-Identifier: Apache-2.0
#include "host/symmetry/rank_folding.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "host/ranks/job_messages.hpp"
#include "host/symmetry/job_link_demand.hpp"

namespace weft {

namespace {

/// Numbers equal values alike, from 0 in order of first appearance; returns how many there are.
/// Entries of `skip` stay as they are.
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

/// Builds one RankFolding. Ranks are numbered through, job after job.
class FoldingSearch {
 public:
  FoldingSearch(std::vector<PlacedJob> jobs, const Topology& topology, const FlowSettings& settings, const HostSpeeds& speeds,
                Duration tolerance, const RankFolding::Limits& limits, HashedWays hashed)
      : topology_(topology),
        tolerance_(tolerance),
        folding_(new RankFolding(std::move(jobs))),
        sent_(folding_->jobs_, topology, settings, speeds, limits, hashed, tolerance),
        paths_(sent_.paths()),
        full_packets_{2, settings.wire_format.full_packet(), settings.wire_format.full_packet()},
        rank_count_(sent_.rank_count()) {}

  std::shared_ptr<const RankFolding> find() {
    if (!sent_.collect()) return nullptr;
    is_free_.assign(topology_.link_count(), false);
    if (tolerance_ > Duration::zero()) find_free_links();
    if (!find_hashed_links()) return nullptr;
    find_delay_classes();
    refine();
    if (rank_classes_ == rank_count_) return nullptr;
    choose_representatives();
    if (!passes_a_second_look()) return nullptr;
    lay_paths();
    if (folding_->has_hashed_ways_ && !kinds_can_be_counted()) return nullptr;
    return std::move(folding_);
  }

 private:
  struct Signatures {
    std::vector<std::uint64_t> ranks;
    std::vector<std::uint64_t> links;
  };

  /// Links that hold nobody back. Those by which hosts are attached bound what others may carry,
  /// and so are not among them.
  void find_free_links() {
    for (const auto& [link, most_bps] : demands_of(sent_, topology_)) {
      // Sums of shares round.
      is_free_[link.index()] = most_bps <= static_cast<double>(topology_.link(link).rate.in_bps()) * (1 + 1e-9);
    }
    for (std::uint32_t rank = 0; rank < rank_count_; ++rank) {
      for (const LinkId link : paths_.way_up(rank)) is_free_[link.index()] = false;
      for (const LinkId link : paths_.way_down(rank)) is_free_[link.index()] = false;
    }
  }

  /// Links that messages may be hashed onto. False if one of them may hold somebody back.
  bool find_hashed_links() {
    const std::vector<bool> is_hashed = paths_.hashed_links();
    folding_->has_hashed_ways_ = std::ranges::find(is_hashed, true) != is_hashed.end();
    if (!folding_->has_hashed_ways_) return true;
    const auto is_one = [&](LinkId link) { return is_hashed[link.index()]; };
    for (std::uint32_t rank = 0; rank < rank_count_; ++rank) {
      if (std::ranges::any_of(paths_.way_up(rank), is_one) || std::ranges::any_of(paths_.way_down(rank), is_one)) return false;
    }
    for (const auto& [link, most_bps] : demands_of(sent_, topology_)) {
      if (!is_hashed[link.index()]) continue;
      if (most_bps > static_cast<double>(topology_.link(link).rate.in_bps())) return false;
      is_free_[link.index()] = true;
    }
    return true;
  }

  PathDelay path_delay_of(const JobMessages::Message& message) const {
    return paths_.delay(message.source, message.destination, paths_.piece(message.piece));
  }
  /// Of a message of several packets.
  Duration delay_of(const JobMessages::Message& message) const { return path_delay_of(message).of(full_packets_); }
  /// As which it counts: where folding is loose, as the smallest of its class.
  Duration delay_seen(const JobMessages::Message& message) const {
    const Duration delay = delay_of(message);
    return tolerance_ > Duration::zero() ? delay_class_.at(delay) : delay;
  }

  /// Delays within the tolerance of the smallest of their class.
  void find_delay_classes() {
    if (tolerance_ == Duration::zero()) return;
    for (const JobMessages::Message& message : sent_.all()) delay_class_[delay_of(message)] = {};
    for (const JobMessages::Message& message : sent_.controls()) delay_class_[delay_of(message)] = {};
    Duration first;
    for (auto& [delay, of_class] : delay_class_) {
      if (delay == delay_class_.begin()->first || delay - first > tolerance_) first = delay;
      of_class = first;
    }
  }

  /// What ranks and links see of their neighbours, given classes; `seed` makes other hashes.
  void look(std::uint64_t seed, Signatures& seen) {
    const std::vector<std::uint32_t>& rank_class = rank_class_;
    const auto hop_hash = [&](LinkId link, double load) {
      return is_free_[link.index()] ? 0 : combined_hash(link_class_[link.index()] ^ seed, std::bit_cast<std::uint64_t>(load));
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
      piece_hash_[i] = combined_hash(tolerance_ > Duration::zero() ? 0 : piece.count, piece.inside_host ? 1 : 0);
      for (const FoldingPaths::Hop& hop : paths_.hops(piece)) piece_hash_[i] += hop_hash(hop.link, hop.load);
    }
    // Sums, so that the order in which neighbours are met does not matter. What a link sees is the
    // sum over messages of kind x load: it is added up by piece first.
    up_kinds_.assign(rank_count_, 0);
    down_kinds_.assign(rank_count_, 0);
    piece_kinds_.assign(paths_.piece_count(), 0);
    seen.ranks.resize(rank_count_);
    for (std::uint32_t rank = 0; rank < rank_count_; ++rank) seen.ranks[rank] = mix64(rank_class[rank] ^ seed);
    for (const JobMessages::Message& message : sent_.all()) {
      const FoldingPaths::Piece& piece = paths_.piece(message.piece);
      const std::uint64_t hash = sent_.kinds()[message.kind].hash ^ seed;
      const std::uint64_t kind = combined_hash(hash, rank_class[message.source]);
      const Duration delay = delay_seen(message);
      std::uint64_t path = combined_hash(static_cast<std::uint64_t>(delay.in_ticks()), seed) + piece_hash_[message.piece];
      piece_kinds_[message.piece] += kind;
      if (!piece.is_whole) {
        path += up_hash_[message.source] + down_hash_[message.destination];
        up_kinds_[message.source] += kind;
        down_kinds_[message.destination] += kind;
      }
      seen.ranks[message.source] += combined_hash(combined_hash(hash, rank_class[message.destination]), path);
      seen.ranks[message.destination] += combined_hash(kind, ~path);
    }
    // Of control messages it matters only who they are from and how long they take.
    for (const JobMessages::Message& message : sent_.controls()) {
      const std::uint64_t hash = sent_.kinds()[message.kind].hash ^ seed;
      const Duration delay = delay_seen(message);
      const std::uint64_t path = combined_hash(static_cast<std::uint64_t>(delay.in_ticks()), ~seed);
      seen.ranks[message.source] += combined_hash(combined_hash(hash, rank_class[message.destination]), path);
      seen.ranks[message.destination] += combined_hash(combined_hash(hash, rank_class[message.source]), ~path);
    }
    seen.links.resize(topology_.link_count());
    for (std::uint32_t link = 0; link < topology_.link_count(); ++link) seen.links[link] = mix64(link_class_[link] ^ seed);
    const auto show = [&](LinkId link, double load, std::uint64_t kinds) {
      seen.links[link.index()] += kinds * (combined_hash(std::bit_cast<std::uint64_t>(load), seed) | 1U);
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
    for (const JobMessages::Message& message : sent_.all()) {
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
    const auto unused = [this](std::size_t link) { return !link_used_[link] || is_free_[link]; };
    rank_classes_ = renumber(sent_.first_colours(), rank_class, none);
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

  /// Classes are numbered in order of their first ranks, and none has ranks of two jobs: those of a
  /// job follow those of the job before.
  void choose_representatives() {
    RankFolding& folding = *folding_;
    std::uint32_t classes = 0;
    for (std::uint32_t job = 0; job < folding.jobs_.size(); ++job) {
      const PlacedJob& placed = folding.jobs_[job];
      folding.first_class_.push_back(classes);
      std::unordered_map<NodeId, RankId>& rank_of_node = folding.rank_of_node_.emplace_back();
      JobFolding& of_job = folding.foldings_[job];
      of_job.whole_ = &folding;
      of_job.place_ = job;
      for (std::uint32_t rank = 0; rank < placed.workload->rank_count; ++rank) {
        const std::uint32_t rank_class = rank_class_[sent_.first_rank()[job] + rank] - folding.first_class_[job];
        of_job.class_of_rank_.push_back(rank_class);
        if (rank_class == of_job.representatives_.size()) {
          of_job.representatives_.push_back(RankId(rank));
          of_job.class_sizes_.push_back(0);
          representatives_.push_back(sent_.first_rank()[job] + rank);
          class_sizes_.push_back(0);
          ++classes;
        }
        ++of_job.class_sizes_[rank_class];
        ++class_sizes_[rank_class_[sent_.first_rank()[job] + rank]];
        rank_of_node.emplace((*placed.endpoint_of_rank)[rank], RankId(rank));
      }
    }
    if (tolerance_ > Duration::zero()) class_free_links();
    representative_of_class_.assign(link_classes_, LinkId::none());
    link_class_sizes_.assign(link_classes_, 0);
    for (std::uint32_t link = 0; link < topology_.link_count(); ++link) {
      if (!link_used_[link] || (is_free_[link] && tolerance_ == Duration::zero())) continue;
      LinkId& first = representative_of_class_[link_class_[link]];
      if (first.is_none()) first = LinkId(link);
      ++link_class_sizes_[link_class_[link]];
      folding.representatives_of_links_.emplace_back(LinkId(link), first);
    }
  }

  void class_free_links() {
    using Alike = std::tuple<NodeKind, std::uint8_t, NodeKind, std::uint8_t, Bandwidth>;
    std::map<Alike, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < topology_.link_count(); ++i) {
      if (!is_free_[i] || !link_used_[i]) continue;
      const Link& link = topology_.link(LinkId(i));
      const Node& source = topology_.node(link.source);
      const Node& destination = topology_.node(link.destination);
      const Alike alike(source.kind, source.level, destination.kind, destination.level, link.rate);
      link_class_[i] = numbers.try_emplace(alike, link_classes_ + static_cast<std::uint32_t>(numbers.size())).first->second;
    }
    link_classes_ += static_cast<std::uint32_t>(numbers.size());
  }

  /// Members of a class look alike under hashes that did not make the classes, too. What chance let
  /// through once, it does not twice.
  bool passes_a_second_look() {
    Signatures seen;
    look(0x5851f42d4c957f2dULL, seen);
    for (std::uint32_t rank = 0; rank < rank_count_; ++rank) {
      if (seen.ranks[rank] != seen.ranks[representatives_[rank_class_[rank]]]) return false;
    }
    for (const auto& [link, representative] : folding_->representatives_of_links_) {
      if (is_free_[link.index()]) continue;
      if (seen.links[link.index()] != seen.links[representative.index()]) return false;
      if (topology_.link(link).rate != topology_.link(representative).rate) return false;
    }
    return true;
  }

  /// What the messages of a class and kind come to together.
  struct Sum {
    std::int64_t messages = 0;
    PathDelay delay;  ///< sums of each of its members
    /// On links that hold nobody back, by class.
    std::vector<std::pair<std::uint32_t, double>> loads;
  };
  using Loads = std::vector<std::pair<std::uint32_t, double>>;
  static void add_load(Loads& loads, std::uint32_t link_class, double load) {
    const auto found = std::find_if(loads.begin(), loads.end(), [&](const auto& of_class) { return of_class.first == link_class; });
    if (found == loads.end()) {
      loads.emplace_back(link_class, load);
    } else {
      found->second += load;
    }
  }
  static std::uint64_t sum_key(std::uint32_t source_class, std::uint32_t kind) { return std::uint64_t{source_class} << 32 | kind; }

  /// Of all messages, where they need not be equal.
  std::unordered_map<std::uint64_t, Sum> sums() const {
    std::unordered_map<std::uint64_t, Sum> sums;
    if (tolerance_ == Duration::zero()) return sums;
    std::vector<Loads> of_piece(paths_.piece_count());
    for (std::uint32_t i = 0; i < paths_.piece_count(); ++i) {
      for (const FoldingPaths::Hop& hop : paths_.hops(paths_.piece(i))) {
        if (is_free_[hop.link.index()]) add_load(of_piece[i], link_class_[hop.link.index()], hop.load);
      }
    }
    const auto add = [&](const JobMessages::Message& message) -> Sum& {
      Sum& sum = sums[sum_key(rank_class_[message.source], message.kind)];
      ++sum.messages;
      const PathDelay delay = path_delay_of(message);
      sum.delay.fixed += delay.fixed;
      sum.delay.per_byte += delay.per_byte;
      sum.delay.slowest_byte += delay.slowest_byte;
      return sum;
    };
    for (const JobMessages::Message& message : sent_.controls()) add(message);
    for (const JobMessages::Message& message : sent_.all()) {
      Sum& sum = add(message);
      for (const auto& [link_class, load] : of_piece[message.piece]) add_load(sum.loads, link_class, load);
    }
    return sums;
  }

  /// Of every message of a representative: one link of each class that it crosses, with what that
  /// link carries of the whole kind.
  void lay_paths() {
    RankFolding& folding = *folding_;
    folding.relations_.resize(rank_classes_);
    folding.senders_.resize(rank_classes_);
    Loads loads;
    const std::unordered_map<std::uint64_t, Sum> all = sums();
    constexpr std::span<const LinkId> none;
    const auto lay = [&](const JobMessages::Message& message, bool has_bytes) {
      const JobMessages::Kind& kind = sent_.kinds()[message.kind];
      const std::uint32_t source_class = rank_class_[message.source];
      const std::uint32_t destination_class = rank_class_[message.destination];
      const std::uint32_t first = first_rank_of(message.source);
      if (representatives_[destination_class] == message.destination) {
        folding.senders_[destination_class].push_back({kind.hash, RankId(message.source - first)});
      }
      if (representatives_[source_class] != message.source) return;
      loads.clear();
      const auto cross = [&](LinkId link, double load) {
        if (!is_free_[link.index()]) add_load(loads, link_class_[link.index()], load);
      };
      const FoldingPaths::Piece& piece = paths_.piece(message.piece);
      if (has_bytes) {
        const bool has_ways = !piece.is_whole;
        for (const LinkId link : has_ways ? paths_.way_up(message.source) : none) cross(link, 1.0);
        for (const FoldingPaths::Hop& hop : paths_.hops(piece)) cross(hop.link, hop.load);
        for (const LinkId link : has_ways ? paths_.way_down(message.destination) : none) cross(link, 1.0);
      }
      RankFolding::Relation relation;
      relation.connection = kind.connection;
      relation.destination = RankId(message.destination - first);
      relation.in_collective = kind.in_collective;
      relation.kind = kind.hash;
      relation.first = static_cast<std::uint32_t>(folding.links_.size());
      for (const auto& [link_class, load] : loads) {
        folding.links_.push_back(representative_of_class_[link_class]);
        folding.loads_.push_back(load * class_sizes_[source_class] / link_class_sizes_[link_class]);
      }
      relation.delay = path_delay_of(message);
      if (tolerance_ > Duration::zero()) {
        const Sum& sum = all.at(sum_key(source_class, message.kind));
        const auto mean = [&sum](std::int64_t of_all) { return (of_all + sum.messages / 2) / sum.messages; };
        relation.delay = {Duration::ticks(mean(sum.delay.fixed.in_ticks())), mean(sum.delay.per_byte),
                          mean(sum.delay.slowest_byte)};
        for (const auto& [link_class, load] : sum.loads) {
          folding.links_.push_back(representative_of_class_[link_class]);
          folding.loads_.push_back(load / link_class_sizes_[link_class]);
        }
      }
      relation.count = static_cast<std::uint32_t>(folding.links_.size()) - relation.first;
      folding.relations_[source_class].push_back(relation);
    };
    for (const JobMessages::Message& message : sent_.all()) lay(message, true);
    for (const JobMessages::Message& message : sent_.controls()) lay(message, false);
    for (std::vector<RankFolding::Relation>& relations : folding.relations_) {
      std::sort(relations.begin(), relations.end(), [](const auto& a, const auto& b) {
        return std::tie(a.connection, a.destination, a.in_collective) < std::tie(b.connection, b.destination, b.in_collective);
      });
      for (RankFolding::Relation& relation : relations) relation.number = folding.relation_count_++;
    }
    for (std::vector<RankFolding::Sender>& senders : folding.senders_) {
      std::sort(senders.begin(), senders.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
    }
  }

  /// Where a representative sends to one rank by several kinds, all bytes count as those of the
  /// first. That is as true of the other members if each of them sends to one rank by those kinds.
  bool kinds_can_be_counted() const {
    // By class and kind: the kind as which it counts.
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> counts_as;
    for (std::uint32_t rank_class = 0; rank_class < rank_classes_; ++rank_class) {
      const std::vector<RankFolding::Relation>& relations = folding_->relations_[rank_class];
      for (std::size_t i = 0, first = 0; i < relations.size(); ++i) {
        const auto ends = [&](std::size_t at) { return std::pair(relations[at].connection, relations[at].destination); };
        if (ends(i) != ends(first)) first = i;
        if (i == first) continue;
        counts_as[{rank_class, relations[i].kind}] = relations[first].kind;
        counts_as[{rank_class, relations[first].kind}] = relations[first].kind;
      }
    }
    if (counts_as.empty()) return true;
    // By source and the kind as which it counts.
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> destinations;
    return std::ranges::all_of(sent_.all(), [&](const JobMessages::Message& message) {
      const auto found = counts_as.find({rank_class_[message.source], sent_.kinds()[message.kind].hash});
      if (found == counts_as.end()) return true;
      const auto [known, is_new] = destinations.try_emplace({message.source, found->second}, message.destination);
      return known->second == message.destination;
    });
  }

  std::uint32_t first_rank_of(std::uint32_t rank) const {
    return *(std::upper_bound(sent_.first_rank().begin(), sent_.first_rank().end(), rank) - 1);
  }

  const Topology& topology_;
  Duration tolerance_;
  std::shared_ptr<RankFolding> folding_;
  JobMessages sent_;
  const FoldingPaths& paths_;
  PacketTrain full_packets_;
  std::uint32_t rank_count_;
  std::vector<std::uint32_t> rank_class_;       ///< by rank
  std::vector<std::uint32_t> representatives_;  ///< by class: its first rank
  std::vector<std::uint32_t> class_sizes_;
  std::uint32_t rank_classes_ = 0;
  std::uint32_t link_classes_ = 0;
  std::vector<std::uint32_t> link_class_;
  std::vector<bool> link_used_;
  /// By LinkId: holds nobody back, and folding is loose or hashing decides on it.
  std::vector<bool> is_free_;
  std::map<Duration, Duration> delay_class_;  ///< by delay; empty unless folding is loose
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
                                                     const FlowSettings& settings, const HostSpeeds& speeds, Duration tolerance,
                                                     const Limits& limits, HashedWays hashed) {
  const auto uses_switches = [](const PlacedJob& job) { return job.collectives->uses_switches(); };
  if (std::ranges::any_of(jobs, uses_switches)) return nullptr;
  return FoldingSearch(std::move(jobs), topology, settings, speeds, tolerance, limits, hashed).find();
}

void RankFolding::add_hashed(const Topology& topology, const FlowSettings& settings, std::span<const Bytes> moved,
                             std::vector<Bytes>& by_link) const {
  const HostSpeeds speeds(topology.host_count());
  JobMessages sent(jobs_, topology, settings, speeds, {}, HashedWays::any);
  WEFT_CHECK(sent.collect(), "what was collected once is collected again");
  const FoldingPaths& paths = sent.paths();
  const std::vector<bool> is_hashed = paths.hashed_links();
  EcmpPaths taken(topology, settings.path_rule, 1);
  // By class: number by kind.
  std::vector<std::unordered_map<std::uint64_t, std::uint32_t>> numbers(relations_.size());
  for (std::size_t rank_class = 0; rank_class < relations_.size(); ++rank_class) {
    for (const Relation& relation : relations_[rank_class]) numbers[rank_class][relation.kind] = relation.number;
  }
  std::uint32_t place = 0;
  for (const JobMessages::Message& message : sent.all()) {
    // Messages come job after job.
    while (place + 1 < jobs_.size() && message.source >= sent.first_rank()[place + 1]) ++place;
    const FoldingPaths::Piece& piece = paths.piece(message.piece);
    const bool may_cross = piece.is_hashed || std::ranges::any_of(paths.hops(piece), [&](const FoldingPaths::Hop& hop) {
                             return is_hashed[hop.link.index()];
                           });
    if (!may_cross) continue;
    const std::uint32_t first = sent.first_rank()[place];
    const RankId source(message.source - first);
    const JobMessages::Kind& kind = sent.kinds()[message.kind];
    const auto& of_class = numbers[first_class_[place] + foldings_[place].class_of(source)];
    const auto number = of_class.find(kind.hash);
    WEFT_CHECK(number != of_class.end(), "members of a class send by the same kinds");
    const Bytes bytes = moved[number->second];
    if (bytes == Bytes::zero()) continue;
    const std::vector<NodeId>& endpoints = *jobs_[place].endpoint_of_rank;
    const std::span<const LinkId> way =
        taken.path(endpoints[source.index()], endpoints[message.destination - first], kind.connection, 0);
    for (const LinkId link : way) {
      if (is_hashed[link.index()]) by_link[link.index()] += bytes;
    }
  }
}

/// A collective's message does not say by which rule it is sent. Messages of several rules between
/// two ranks have one path and, in collectives, need no sender, so that any of them will do;
/// point-to-point messages have one rule, and come first.
const RankFolding::Relation& RankFolding::relation_of(std::uint32_t place, const Transfer& transfer) const {
  const RankId source = rank_at(place, transfer.source);
  const RankId destination = rank_at(place, transfer.destination);
  WEFT_CHECK(foldings_[place].is_representative(source), "only representatives send");
  const std::vector<Relation>& relations = relations_[first_class_[place] + foldings_[place].class_of(source)];
  const auto found = std::lower_bound(relations.begin(), relations.end(), std::pair(transfer.connection, destination),
                                      [](const Relation& a, const auto& b) { return std::pair(a.connection, a.destination) < b; });
  WEFT_CHECK(found != relations.end() && found->connection == transfer.connection && found->destination == destination,
             "every message of a representative was foreseen");
  return *found;
}

TransferFolding::FoldedPath RankFolding::path(std::uint32_t place, const Transfer& transfer) const {
  const Relation& relation = relation_of(place, transfer);
  return {std::span(links_).subspan(relation.first, relation.count),
          std::span(loads_).subspan(relation.first, relation.count),
          foldings_[place].alike(rank_at(place, transfer.source)),
          relation.delay,
          this,
          relation.number};
}

Transfer RankFolding::seen_by_destination(std::uint32_t place, const Transfer& transfer) const {
  const Relation& relation = relation_of(place, transfer);
  const std::uint32_t receiver_class = foldings_[place].class_of(relation.destination);
  const std::vector<Sender>& senders = senders_[first_class_[place] + receiver_class];
  const auto sender = std::lower_bound(senders.begin(), senders.end(), relation.kind,
                                       [](const Sender& a, std::uint64_t kind) { return a.kind < kind; });
  WEFT_CHECK(sender != senders.end() && sender->kind == relation.kind, "members of a class receive by the same rules");
  const std::vector<NodeId>& endpoints = *jobs_[place].endpoint_of_rank;
  Transfer seen = transfer;
  seen.source = endpoints[sender->rank.index()];
  seen.destination = endpoints[foldings_[place].representatives_[receiver_class].index()];
  return seen;
}

}  // namespace weft
