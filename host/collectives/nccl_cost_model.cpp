// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/nccl_cost_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "host/collectives/group_layout.hpp"

namespace weft {

namespace {

/// Rate of PCIe inside a host as NCCL reckons with it where GPUs have no NVLink, GB/s.
constexpr double pcie_gbytes_per_s = 20;

double in_us(Duration time) { return time.in_ns() * 1e-3; }
double in_gbytes_per_s(Bandwidth rate) { return static_cast<double>(rate.in_bps()) / 8e9; }

/// The times of all choices for one collective.
class NcclCostModel {
 public:
  NcclCostModel(const CollectiveRequest& request, const NcclConstants& constants) : request_(request), constants_(constants) {
    const GroupLayout& layout = *request.layout;
    const HostHardware& hardware = layout.hardware();
    ranks_ = request.ranks();
    hosts_ = layout.host_count();
    per_host_ = static_cast<double>(ranks_) / hosts_;
    bytes_ = static_cast<double>(request.whole_buffer().count());
    passes_ = request.type == CollectiveType::all_reduce ? 2 : 1;
    nvlink_ = hardware.nvlink_bps > 0 && layout.inside() != InsideLinks::pcie ? static_cast<double>(hardware.nvlink_bps) / 8e9 : 0;
    nic_ = static_cast<double>(hardware.nic_bps) / 8e9;
    nics_ = std::max(1U, hardware.nics);
    // A channel has one NIC, and NCCL has but so many: NVLink domains of 72 GPUs do not drive all
    // their NICs at once.
    driven_nics_ = std::min(nics_, constants.channels);
    for (std::uint32_t host = 0; host < hosts_; ++host) fewest_ = std::min(fewest_, layout.members_of_host(host));
  }

  std::vector<NcclChoice> all() const {
    std::vector<NcclChoice> choices;
    switch (request_.type) {
      case CollectiveType::all_reduce:
      case CollectiveType::all_gather:
      case CollectiveType::reduce_scatter:
      case CollectiveType::broadcast:
      case CollectiveType::reduce:
        for (const NcclProtocol protocol : {ll, ll128, simple}) add_ring(choices, protocol);
        for (const NcclProtocol protocol : {ll, ll128, simple}) add_tree(choices, protocol);
        add_nvls(choices);
        add_nvls_tree(choices);
        add_pat(choices);
        add_collnet(choices);
        break;
      default:
        add_pairs(choices);
        break;
    }
    for (NcclChoice& choice : choices) {
      if (choice.weighed_us == 0) choice.weighed_us = choice.time_us;
    }
    std::stable_sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) { return a.weighed_us < b.weighed_us; });
    return choices;
  }

 private:
  bool is_switched() const { return request_.layout->inside() == InsideLinks::nvswitch; }
  bool is_mesh() const { return request_.layout->inside() == InsideLinks::full_mesh; }
  bool has_inside() const { return hosts_ < ranks_; }
  bool is_uniform() const { return request_.layout->ranks_per_host() > 0; }
  bool has_nvls() const { return constants_.nvls && constants_.nvls_efficiency > 0.02 && is_switched() && is_uniform(); }
  double inside_rate() const { return nvlink_ > 0 ? nvlink_ : pcie_gbytes_per_s; }
  double log2_hosts() const { return static_cast<double>(std::bit_width(hosts_) - 1); }
  double part_filled(Duration fill, Bytes at) const {
    return in_us(fill) * std::min(1.0, bytes_ / static_cast<double>(at.count()));
  }
  /// What a ring or a tree takes before anything moves.
  double protocol_base(NcclProtocol protocol) const {
    return hosts_ > 1 ? in_us(constants_.between_base[protocol]) : in_us(constants_.launch) + in_us(constants_.base[protocol]);
  }

  /// NCCL's number of channels for so much data.
  std::uint32_t channels_for(NcclProtocol protocol) const {
    // Bytes of a thread below which it takes fewer channels: NCCL_LL_THREAD_THRESHOLD and so on;
    // that of LL counts ranks.
    const double threshold = protocol == ll ? 8.0 * ranks_ : protocol == ll128 ? 8 : 64;
    const double useful = bytes_ / (threshold * constants_.threads);
    return static_cast<std::uint32_t>(std::clamp(useful, 1.0, static_cast<double>(constants_.channels)));
  }

  /// GB/s of data that a GPU copies by LL or LL128.
  double copy_rate(NcclProtocol protocol) const {
    return in_gbytes_per_s(protocol == ll128 && hosts_ > 1 ? constants_.between_ll128_rate : constants_.rate[protocol]);
  }
  /// Share of an inside link's rate that data gets, where each GPU sends `sent` bytes of its
  /// `bytes_` in a pass.
  double efficiency_inside(NcclProtocol protocol, double of_simple) const {
    const double of_links = nvlink_ > 0 ? of_simple : 1;
    if (protocol == simple) return of_links;
    const double copied = copy_rate(protocol) * (ranks_ - 1.0) / ranks_ / part_of_passes();
    const double flags = protocol == ll ? 0.5 : constants_.ll128_efficiency;
    return std::min(copied / (1 - part_at_once(protocol)) / inside_rate(), of_links * flags);
  }
  /// What a step takes beside its data where all ranks are on one host: Simple hides some of it
  /// behind data, the more the longer a step is.
  double hop_of_one_host(NcclProtocol protocol) const {
    const double short_us = in_us(constants_.hop[protocol]);
    if (protocol != simple) return short_us;
    const double full = std::min(1.0, bytes_ / ranks_ / static_cast<double>(constants_.full_step_bytes.count()));
    return short_us + full * (in_us(constants_.simple_full_hop) - short_us);
  }
  /// What a ring on one host copies, of whole passes over the buffer: between reducing and
  /// gathering, one step of all_reduce ends the one and begins the other.
  double part_of_passes() const { return hosts_ > 1 ? 1 : 1 - (passes_ - 1) / (passes_ * ranks_); }
  /// Share of a ring's step inside a host that all threads of a channel move at once, which is part
  /// of what a step takes.
  double part_at_once(NcclProtocol protocol) const {
    if (protocol != ll128 || hosts_ > 1 || has_root(request_.type)) return 0;
    constexpr double most = 0.999;
    const double of_step = bytes_ / ranks_ / channels_for(protocol);
    return std::min(most, static_cast<double>(constants_.ll128_at_once.count()) / of_step);
  }
  double efficiency_network(NcclProtocol protocol, double of_simple) const {
    if (protocol == simple || nic_ == 0) return of_simple;
    const double copied = copy_rate(protocol);
    const double flags = protocol == ll ? 0.5 : constants_.ll128_efficiency;
    // A GPU takes its copies through itself, whatever part of them then goes to a NIC.
    return std::min(copied * std::max(1.0, per_host_) / (nics_ * nic_), of_simple * flags);
  }

  static Duration duration_of(double us) { return Duration::from_us(std::max(0.0, us)); }
  NcclChoice choice(std::string_view algorithm, std::string_view module, NcclProtocol protocol) const {
    NcclChoice choice;
    choice.algorithm = algorithm;
    choice.module = module;
    choice.protocol.name = nccl_protocol_names[protocol];
    choice.channels = channels_for(protocol);
    return choice;
  }

  void add_ring(std::vector<NcclChoice>& choices, NcclProtocol protocol) const {
    // LL128 needs links that keep 128 bytes together.
    if (protocol == ll128 && has_inside() && nvlink_ == 0) return;
    const bool rooted = has_root(request_.type);
    if (protocol == ll128 && hosts_ == 1 && !rooted && bytes_ / ranks_ > static_cast<double>(constants_.ll128_share_max.count()))
      return;
    NcclChoice ring = choice("ring", is_mesh() && hosts_ == 1 && !rooted ? "direct" : "ring", protocol);
    const double of_simple =
        request_.type == CollectiveType::all_reduce ? constants_.reduce_efficiency : constants_.copy_efficiency;
    ring.protocol.efficiency_inside = efficiency_inside(protocol, of_simple);
    const bool copies = request_.type != CollectiveType::all_reduce && !rooted;
    ring.protocol.efficiency_network =
        efficiency_network(protocol, copies ? constants_.copy_network_efficiency : constants_.network_efficiency);
    double inside_us = hosts_ == 1 ? hop_of_one_host(protocol) : in_us(constants_.inside_hop[protocol]);
    double network_us = in_us((per_host_ > 1 ? constants_.ring_hop : constants_.tree_hop)[protocol]);
    if (protocol == simple && hosts_ > 1 && request_.type == CollectiveType::all_reduce) {
      // Of what the message takes by itself, too.
      inside_us = constants_.plateau * (inside_us + empty_message_inside_us) - empty_message_inside_us;
      network_us = constants_.plateau * (network_us + empty_message_network_us) - empty_message_network_us;
    }
    ring.protocol.hop_latency_inside = duration_of(inside_us);
    ring.protocol.hop_latency_network = duration_of(network_us);
    double base = protocol_base(protocol);
    if (protocol == simple) {
      base += part_filled(constants_.fill_latency, constants_.fill_bytes);
      if (copies && hosts_ > 1) base += in_us(constants_.between_copy_base);
      if (!rooted) base += bytes_ / ranks_ / (in_gbytes_per_s(constants_.own_copy_rate) * 1e3);
    }
    ring.protocol.base_latency = duration_of(base);
    // A pipeline from one end of the chain to the other, or rounds.
    const double steps = rooted ? ranks_ - 1.0 : ring.module == "direct" ? passes_ : passes_ * (ranks_ - 1.0);
    const double between = hosts_ == 1 ? 0 : (rooted ? hosts_ - 1.0 : passes_ * (hosts_ - 1.0));
    const double sent = rooted ? bytes_ : passes_ * (ranks_ - 1.0) / ranks_ * bytes_;
    double gbytes_per_s =
        has_inside() ? inside_rate() * ring.protocol.efficiency_inside : driven_nics_ * nic_ * ring.protocol.efficiency_network;
    if (hosts_ > 1) gbytes_per_s = std::min(gbytes_per_s, driven_nics_ * nic_ * ring.protocol.efficiency_network);
    ring.time_us = base + (steps - between) * (inside_us + empty_message_inside_us) +
                   between * (network_us + empty_message_network_us) + sent / (gbytes_per_s * 1e3);
    if (hosts_ > 1) ring.weighed_us = ring.time_us - base + base_of_tuner[protocol];
    // Inside a host all rings load its links alike, but for meshes, whose cables take rings of as
    // many orders.
    std::uint32_t simulated = hosts_ == 1 ? 1 : std::min(ring.channels, driven_nics_);
    if (is_mesh()) simulated = std::min(rings_max, std::max(simulated, hosts_ == 1 ? 2 * (ranks_ - 1) : fewest_));
    ring.alike = std::max(1U, ring.channels / simulated);
    if (ring.module == "ring") {
      ring.params.emplace_back("channels", fmt::to_string(simulated));
      ring.params.emplace_back("order", "hosts");
    }
    if (rooted) {
      const double piece = std::max(piece_of_chain[protocol], bytes_ / simulated / chain_pieces[protocol]);
      ring.params.emplace_back("broadcast_piece", size_text(piece));
    }
    choices.push_back(std::move(ring));
  }

  void add_tree(std::vector<NcclChoice>& choices, NcclProtocol protocol) const {
    if (request_.type != CollectiveType::all_reduce || hosts_ == 1) return;
    if (protocol == ll128 && has_inside() && nvlink_ == 0) return;
    NcclChoice tree = choice("tree", "double_binary_tree", protocol);
    tree.protocol.efficiency_inside = efficiency_inside(protocol, constants_.reduce_efficiency);
    tree.protocol.efficiency_network = efficiency_network(protocol, constants_.network_efficiency);
    const double inside_us = in_us(constants_.inside_hop[protocol]);
    const double network_us = in_us(constants_.tree_hop[protocol]);
    tree.protocol.hop_latency_inside = duration_of(inside_us);
    tree.protocol.hop_latency_network = duration_of(network_us);
    const double base = protocol_base(protocol);
    tree.protocol.base_latency = duration_of(base);
    const double hops_us =
        2 * ((per_host_ - 1) * (inside_us + empty_message_inside_us) + log2_hosts() * (network_us + empty_message_network_us));
    const auto data_us = [&](double passes) {
      double gbytes_per_s = driven_nics_ * nic_ * tree.protocol.efficiency_network / passes;
      if (has_inside()) gbytes_per_s = std::min(gbytes_per_s, inside_rate() * tree.protocol.efficiency_inside / 2);
      return bytes_ / (gbytes_per_s * 0.92 * tree_correction(protocol) * 1e3);
    };
    // Between two hosts a tree sends the buffer once each way; NCCL's tuner halves its rate
    // whatever the number of hosts.
    const double reached = protocol == ll128 ? constants_.tree_ll128_efficiency : 1;
    tree.time_us = base + hops_us + data_us(hosts_ == 2 ? 1 : 2) / reached;
    tree.weighed_us = base_of_tuner[protocol] + hops_us + data_us(2);
    if (protocol != ll) {
      tree.protocol.efficiency_inside *= tree_correction(protocol) * reached;
      tree.protocol.efficiency_network *= tree_correction(protocol) * reached;
    }
    // A channel has both trees of a pair, and one NIC.
    const std::uint32_t pairs = std::min({tree.channels, driven_nics_, rings_max / 2});
    tree.alike = tree.channels / pairs;
    tree.params.emplace_back("channels", fmt::to_string(2 * pairs));
    tree.params.emplace_back("piece", size_text(std::max(tree_chunk(protocol) * tree.alike, bytes_ / (2 * pairs) / tree_pieces)));
    choices.push_back(std::move(tree));
  }

  void add_nvls(std::vector<NcclChoice>& choices) const {
    // Of gathered and scattered buffers NVLS takes only those that are registered for it.
    if (request_.type != CollectiveType::all_reduce || hosts_ > 1 || !has_nvls()) return;
    NcclChoice nvls = choice("nvls", "direct", simple);
    // Every head holds chunks of all channels; the fits are of 8 GPUs at most.
    const double heads = std::max(1.0, ranks_ / fitted_heads);
    const double fill_us =
        in_us(constants_.nvls_fill) * std::min(heads, bytes_ / static_cast<double>(constants_.fill_bytes.count()));
    const double base = in_us(constants_.launch) + in_us(constants_.nvls_base) + fill_us;
    nvls.protocol.base_latency = duration_of(base - 2 * empty_message_inside_us);
    nvls.protocol.efficiency_inside = nvls_exchange_efficiency(ranks_);
    nvls.time_us = base + bytes_ / (nvls_rate(ranks_) * 1e3);
    choices.push_back(std::move(nvls));
  }

  /// GB/s of the buffer that NVLS takes within a host: 1 + 1/n of it cross a GPU's links.
  double nvls_rate(double members) const {
    return nvlink_ * std::min(constants_.nvls_efficiency * members / (members + 1), constants_.nvls_rate_max);
  }
  /// Of an exchange by messages, which put 2 (n-1)/n of the buffer on a link, for it to take as
  /// long.
  double nvls_exchange_efficiency(double members) const { return 2 * (members - 1) / members * nvls_rate(members) / nvlink_; }
  static double nvls_heads(double members) { return std::min(members, nvls_heads_max); }

  /// Bytes of a buffer that nvls_tree has on its way between two hosts of its trees: a chunk per
  /// channel and head. NCCL takes smaller chunks of smaller buffers and from 4 hosts on
  /// (src/enqueue.cc, 2.22: NVLS_TREE).
  double nvls_tree_chunks() const {
    const double at_once = constants_.channels * nvls_heads(per_host_);
    double chunk = (hosts_ >= 4 ? 64 : 512) * 1024.0;
    const std::array<std::pair<double, double>, 4> smaller = {{{32, 256}, {16, 128}, {4, 64}, {1, 32}}};
    for (const auto& [times, kib] : smaller) {
      if (bytes_ < times * at_once * chunk) chunk = std::min(chunk, kib * 1024);
    }
    return at_once * chunk;
  }

  void add_nvls_tree(std::vector<NcclChoice>& choices) const {
    if (request_.type != CollectiveType::all_reduce || hosts_ == 1 || per_host_ < 2 || !has_nvls()) return;
    NcclChoice tree = choice("nvls_tree", "nvls_tree", simple);
    const double base = in_us(constants_.nvls_tree_base);
    const double network_us = in_us(constants_.nvls_tree_hop);
    const double inside = constants_.nvls_tree_efficiency;
    tree.protocol.hop_latency_network = duration_of(network_us);
    tree.protocol.efficiency_inside = nvls_exchange_efficiency(per_host_) * inside;
    tree.protocol.efficiency_network = efficiency_network(simple, constants_.network_efficiency) * driven_nics_ / nics_;
    const double network = nics_ * nic_ * tree.protocol.efficiency_network / (hosts_ == 2 ? 1 : 2);
    const double gbytes_per_s = std::min(network, nvls_rate(per_host_) * inside);
    const double data_us = bytes_ / (gbytes_per_s * 1e3);
    tree.weighed_us = nvls_base_of_tuner + 2 * log2_hosts() * nvls_tree_hop_of_tuner + data_us;
    // The trees fill once on the way up and once on the way down, with a quarter of the buffer at
    // most; NCCL's tuner does not count it.
    const double fill_us = 2 * std::min(bytes_ / 4, nvls_tree_chunks()) / (gbytes_per_s * 1e3);
    tree.time_us = base + 2 * log2_hosts() * (network_us + empty_message_network_us) + data_us + fill_us;
    tree.protocol.base_latency = duration_of(base + fill_us - 2 * empty_message_inside_us);
    // As many pieces as fill the trees, fewer for groups of very many messages: each piece has
    // about two inside for every two members of a host.
    const double messages = ranks_ * std::max(8.0, per_host_);
    tree.params.emplace_back("pieces", fmt::to_string(static_cast<int>(std::clamp(nvls_tree_messages / messages, 8.0, 64.0))));
    choices.push_back(std::move(tree));
  }

  void add_pat(std::vector<NcclChoice>& choices) const {
    const bool gathers = request_.type == CollectiveType::all_gather;
    if (!constants_.pat || has_inside() || (!gathers && request_.type != CollectiveType::reduce_scatter)) return;
    if (!gathers && !std::has_single_bit(ranks_)) return;
    NcclChoice pat = choice("pat", gathers ? "bruck" : "halving_doubling", simple);
    const double base = in_us(constants_.launch) + 8;
    const double hop = (in_us(constants_.tree_hop[simple]) + empty_message_network_us) / 3.5;
    const double linear = 2.8 * ranks_;
    pat.protocol.base_latency = duration_of(base + linear);
    pat.protocol.hop_latency_network = duration_of(hop - empty_message_network_us);
    pat.protocol.hop_latency_inside = pat.protocol.hop_latency_network;
    pat.protocol.efficiency_network = 0.75 * efficiency_network(simple, constants_.network_efficiency);
    pat.protocol.efficiency_inside = pat.protocol.efficiency_network;
    pat.time_us = base + linear + log2_hosts() * hop +
                  (ranks_ - 1.0) / ranks_ * bytes_ / (nics_ * nic_ * pat.protocol.efficiency_network * 1e3);
    choices.push_back(std::move(pat));
  }

  void add_collnet(std::vector<NcclChoice>& choices) const {
    if (!constants_.collnet || hosts_ == 1 || !is_uniform() || request_.type != CollectiveType::all_reduce) return;
    NcclChoice collnet = choice("collnet", "sharp", simple);
    const double base = in_us(constants_.launch) + in_us(constants_.nvls_base);
    const double network_us = 31 - empty_message_network_us;  // NCCL's tuner, CollNetDirect
    collnet.protocol.base_latency = duration_of(base);
    collnet.protocol.hop_latency_network = duration_of(network_us);
    collnet.protocol.efficiency_network = efficiency_network(simple, constants_.network_efficiency);
    collnet.protocol.efficiency_inside =
        has_nvls() ? constants_.nvls_efficiency : efficiency_inside(simple, constants_.reduce_efficiency);
    const double network = driven_nics_ * nic_ * collnet.protocol.efficiency_network;
    collnet.time_us = base + 31 + bytes_ / (std::min(network, inside_rate() * collnet.protocol.efficiency_inside / 2) * 1e3);
    choices.push_back(std::move(collnet));
  }

  void add_pairs(std::vector<NcclChoice>& choices) const {
    const bool all_pairs = request_.type == CollectiveType::all_to_all || request_.type == CollectiveType::all_to_all_v;
    // NCCL_P2P_LL_THRESHOLD: 16 KiB of a pair.
    const double of_pair = request_.type == CollectiveType::barrier ? 0 : bytes_ / ranks_;
    const NcclProtocol protocol = of_pair <= 16 * 1024 ? ll : simple;
    NcclChoice pairs = choice("direct", "direct", protocol);
    double base = in_us(constants_.launch) + in_us(protocol == ll ? constants_.p2p_ll_base : constants_.p2p_base);
    if (protocol == simple)
      base += part_filled(constants_.p2p_fill, constants_.p2p_fill_bytes) +
              of_pair / (in_gbytes_per_s(constants_.p2p_own_copy_rate) * 1e3);
    pairs.protocol.base_latency = duration_of(base - empty_message_inside_us);
    pairs.protocol.efficiency_inside = protocol == ll ? efficiency_inside(ll, constants_.p2p_efficiency)
                                       : nvlink_ > 0  ? constants_.p2p_efficiency
                                                      : 1;
    const double peers = ranks_ - per_host_;  // on other hosts
    const double served = 1 / (1 + peers / constants_.p2p_peers);
    pairs.protocol.efficiency_network =
        (protocol == ll ? 0.5 : 1) * served * efficiency_network(simple, constants_.copy_network_efficiency);
    const double network_us = in_us(constants_.ring_hop[protocol]);
    pairs.protocol.hop_latency_network = duration_of(network_us);
    const double outside = hosts_ == 1 ? 0 : bytes_ * (ranks_ - per_host_) / ranks_;
    double data_us = bytes_ * (per_host_ - 1) / ranks_ / (inside_rate() * pairs.protocol.efficiency_inside * 1e3);
    if (hosts_ > 1) {
      data_us = std::max(data_us, outside * per_host_ / (nics_ * nic_ * pairs.protocol.efficiency_network * 1e3));
    }
    pairs.time_us = base + (hosts_ > 1 ? network_us + empty_message_network_us : 0) + data_us;
    const bool by_pxn = request_.type == CollectiveType::all_to_all && constants_.pxn && hosts_ > 1 && is_uniform() &&
                        per_host_ > 1 && nvlink_ > 0 && request_.layout->hardware().rails_meet &&
                        of_pair <= static_cast<double>(constants_.pxn_bytes_max.count());
    if (all_pairs && by_pxn) {
      NcclChoice pxn = pairs;
      pxn.algorithm = "pxn";
      pxn.module = "hierarchical";
      // A message is copied once, be it into the buffer of a neighbour.
      pxn.protocol.efficiency_inside = constants_.p2p_efficiency * (protocol == ll ? 0.5 : 1);
      choices.push_back(std::move(pxn));
    }
    choices.push_back(std::move(pairs));
  }

  /// Trees at medium sizes stay behind the model: NCCL's factors by powers of two from 64 bytes on.
  double tree_correction(NcclProtocol protocol) const {
    static constexpr std::array<std::array<double, 24>, nccl_protocols> factors = {
        {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
         {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
         {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};
    const auto units = static_cast<std::uint64_t>(bytes_ / 64);
    if (units == 0) return 1;
    const auto log = static_cast<std::size_t>(std::bit_width(units) - 1);
    return log < factors[protocol].size() ? factors[protocol][log] : 1;
  }

  /// What a channel's trees pass on at once: a slot, less for less data. NCCL's calcCollChunking
  /// (src/enqueue.cc).
  double tree_chunk(NcclProtocol protocol) const {
    double chunk = slot[protocol];
    const double of_channel = bytes_ / channels_for(protocol);
    const auto halve = [&](double chunks_wanted, double least) {
      while (of_channel / chunk < chunks_wanted && chunk > least) chunk /= 2;
    };
    constexpr double kib = 1024;
    if (protocol == simple) {
      const double depth = per_host_ - 1 + log2_hosts();
      halve(8 * depth, 128 * kib);
      halve(4 * depth, 64 * kib);
      halve(depth, 32 * kib);
    } else if (protocol == ll128) {
      const double steps = 1 + log2_hosts() + 0.1 * per_host_;
      halve(64 * steps / per_host_, 128 * kib);
      halve(16 * steps / per_host_, 32 * kib);
    } else {
      // Flags come with the data, as along a chain.
      chunk = std::clamp(of_channel / 16, piece_of_chain[ll], chunk);
    }
    return chunk;
  }

  static std::string size_text(double bytes) {
    return fmt::format("{}B", std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(bytes))));
  }

  // Data of a slot of a channel (NCCL's src/include/device.h): 8 lines of 8 B for each of 512
  // threads; 15 of 16 words of 8 B, 120 for each of 640 threads; an eighth of 4 MiB.
  static constexpr std::array<double, nccl_protocols> slot = {32 * 1024, 576'000, 512 * 1024};
  // What goes on along a chain before its slot is full: what all threads take at once, a line or 8
  // words each, by LL and LL128, whose flags come with the data.
  static constexpr std::array<double, nccl_protocols> piece_of_chain = {4 * 1024, 38'400, 512 * 1024};
  // Pieces are larger where these are more. LL has few, as each takes a slot here, where in fact
  // several share one.
  static constexpr std::array<double, nccl_protocols> chain_pieces = {32, 64, 64};
  // What NCCL's tuner counts for a collective to begin: it chooses between hosts by these, whatever
  // the machine's fits say.
  static constexpr std::array<double, nccl_protocols> base_of_tuner = {6.6, 14, 8.4};
  static constexpr double nvls_base_of_tuner = 25;
  // Between the releases' 14 and 20.9 us: with it all_reduces of 4 hosts of H100 change to
  // nvls_tree at 2 MiB and those of 8 at 8 MiB, where the times of nccl-tests' issue 309 have their
  // steps.
  static constexpr double nvls_tree_hop_of_tuner = 18;
  static constexpr double tree_pieces = 32;
  static constexpr double nvls_tree_messages = 524'288;
  static constexpr double nvls_heads_max = 32;  ///< NCCL_MAX_NVLS_ARITY
  static constexpr double fitted_heads = 8;
  static constexpr std::uint32_t rings_max = 32;

  const CollectiveRequest& request_;
  const NcclConstants& constants_;
  std::uint32_t ranks_ = 2;
  std::uint32_t hosts_ = 1;
  double per_host_ = 1;
  double bytes_ = 0;
  double passes_ = 1;
  double nvlink_ = 0;  ///< GB/s; 0: none
  double nic_ = 0;
  std::uint32_t nics_ = 1;
  std::uint32_t driven_nics_ = 1;
  std::uint32_t fewest_ = UINT32_MAX;  ///< members of any host
};

}  // namespace

std::vector<NcclChoice> nccl_timed_choices(const CollectiveRequest& request, const NcclConstants& constants) {
  return NcclCostModel(request, constants).all();
}

}  // namespace weft
