// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/chakra/chakra_trace.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>

#include "workloads/dag/byte_stream.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/overlaps.hpp"
#include "workloads/dag/topological_order.hpp"
#include "workloads/formats/chakra/chakra_json.hpp"
#include "workloads/formats/chakra/chakra_message.hpp"

namespace weft {

namespace {

/// No message of a trace comes near this; a longer one is a damaged length.
constexpr std::uint64_t message_bytes_max = std::uint64_t{1} << 28;

enum NodeType : std::uint32_t {
  invalid_node = 0,
  metadata_node = 1,
  memory_load_node = 2,
  memory_store_node = 3,
  compute_node = 4,
  send_node = 5,
  receive_node = 6,
  collective_node = 7,
};
constexpr const char* known_types = "known: 1 metadata, 2 memory load, 3 memory store, 4 compute, 5 send, 6 receive, 7 collective";

/// Numbers of the storages that a PyTorch tensor list names: tensors are written
/// [tensor id, storage id, offset, element count, element size, 'device'].
void append_storages(std::string_view text, std::vector<std::uint64_t>& storages) {
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
    std::string_view rest = text.substr(at + 1);
    std::uint64_t numbers[5] = {};
    int found = 0;
    for (; found < 5; ++found) {
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), numbers[found]);
      if (error != std::errc{}) break;
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      if (rest.substr(0, 2) != ", ") break;
      rest.remove_prefix(2);
    }
    if (found == 5 && !rest.empty() && (rest.front() == '\'' || rest.front() == '"')) storages.push_back(numbers[1]);
  }
}

/// The binary form: { varint length, message } repeated, the metadata first.
class BinarySource final : public ChakraSource {
 public:
  explicit BinarySource(const std::string& path) : stream_(path) {
    if (stream_.at_end()) throw_error("empty-file", "the file is empty", "a Chakra execution trace is expected here");
    read_metadata();
  }

  bool next(ChakraMessage& node) override {
    if (stream_.at_end()) return false;
    offset_ = stream_.offset();
    const std::uint64_t length = read_length();
    if (stream_.read(length, message_) != ByteStream::Outcome::ok) truncated();
    if (!decode_chakra_node(message_, node)) {
      throw_error("not-chakra", fmt::format("the message at {} is no Chakra node", name_of(offset_)),
                  "the file is damaged; fetch it again");
    }
    is_first_ = false;
    return true;
  }
  std::uint64_t offset() const override { return offset_; }
  bool from_pytorch() const override { return from_pytorch_; }
  SourcePlace place(std::uint64_t) const override { return stream_.place(); }
  std::string name_of(std::uint64_t offset) const override { return fmt::format("byte {}", offset); }

 private:
  [[noreturn]] void throw_error(std::string code, std::string message, std::string help) const {
    fail(std::move(code), std::move(message), stream_.place(), std::move(help));
  }

  std::uint64_t read_length() {
    std::uint64_t length = 0;
    const ByteStream::Outcome outcome = stream_.read_varint(length);
    if (outcome == ByteStream::Outcome::cut_off) truncated();
    if (outcome == ByteStream::Outcome::malformed || length > message_bytes_max) {
      throw_error(is_first_ ? "not-chakra" : "bad-length",
                  fmt::format("the length of the message at {} makes no sense", name_of(offset_)),
                  is_first_ ? "is this a Chakra execution trace?" : "the file is damaged; fetch it again");
    }
    return length;
  }

  [[noreturn]] void truncated() const {
    throw_error("truncated-file",
                fmt::format("the file ends at byte {}, inside the message that starts at byte {}", stream_.offset(), offset_),
                "it was cut off; fetch it again");
  }

  void read_metadata() {
    constexpr const char* help_text = "is this a Chakra execution trace? Its files are named PREFIX.RANK.et";
    const std::uint64_t length = read_length();
    const bool complete = stream_.read(length, message_) == ByteStream::Outcome::ok;
    // Metadata starts with the tag of its field 1 or 2; text that happens to start with a plausible
    // length does not.
    const bool plausible = message_.empty() || message_[0] == '\x0A' || message_[0] == '\x12';
    if (!plausible) throw_error("not-chakra", "the file does not start with Chakra metadata", help_text);
    if (!complete) truncated();
    ChakraMetadata metadata;
    const bool parsed = decode_chakra_metadata(message_, metadata);
    if (!parsed || !(metadata.says_something || length == 0)) {
      throw_error("not-chakra", "the first message is no Chakra metadata", help_text);
    }
    from_pytorch_ = metadata.from_pytorch;
  }

  ByteStream stream_;
  std::string message_;
  std::uint64_t offset_ = 0;
  bool is_first_ = true;  ///< no node was read yet
  bool from_pytorch_ = false;
};

/// Which node has which id. Ids that grow through the file, as they mostly do, need no hash table.
class NodeIds {
 public:
  /// Index of the first node with this id: `index` itself if it is new. Requires: indices are added
  /// in order from 0.
  std::uint32_t add(std::uint64_t id, std::uint32_t index) {
    if (by_hash_.empty() && (growing_.empty() || id > growing_.back())) {
      growing_.push_back(id);
      return index;
    }
    if (by_hash_.empty()) {
      for (std::uint32_t i = 0; i < growing_.size(); ++i) by_hash_.emplace(growing_[i], i);
      growing_ = {};
    }
    return by_hash_.emplace(id, index).first->second;
  }

  std::optional<std::uint32_t> find(std::uint64_t id) const {
    if (!by_hash_.empty()) {
      const auto found = by_hash_.find(id);
      return found == by_hash_.end() ? std::nullopt : std::optional(found->second);
    }
    if (growing_.empty() || id < growing_.front()) return std::nullopt;
    // Without gaps, this is where it is.
    const std::uint64_t direct = id - growing_.front();
    if (direct < growing_.size() && growing_[direct] == id) return static_cast<std::uint32_t>(direct);
    const auto found = std::lower_bound(growing_.begin(), growing_.end(), id);
    if (found == growing_.end() || *found != id) return std::nullopt;
    return static_cast<std::uint32_t>(found - growing_.begin());
  }

 private:
  std::vector<std::uint64_t> growing_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_hash_;
};

/// Reads the nodes of one file, then puts them in order.
class ChakraTraceReader {
 public:
  ChakraTraceReader(ChakraSource& source, std::optional<std::uint32_t> rank) : source_(source), rank_(rank) {}

  ChakraTrace read() {
    trace_.from_pytorch = source_.from_pytorch();
    while (source_.next(node_)) add_node(source_.offset());
    if (raw_.empty()) throw_error("no-ops", "the trace has no nodes", "was it cut off after its first message? Record it again");
    diagnostics_.throw_if_errors();
    resolve_dependencies();
    require_no_wait_for_invalid();
    diagnostics_.throw_if_errors();
    sort();
    return std::move(trace_);
  }

 private:
  /// What is known of a node before the whole file was read.
  struct RawNode {
    ChakraNode node;
    std::uint64_t id = 0;
    std::uint64_t start_us = 0;
    std::uint64_t offset = 0;
    std::uint32_t storages_begin = 0;
    std::uint32_t type = 0;
    bool is_gpu = false;
  };

  /// About the file as a whole.
  [[noreturn]] void throw_error(std::string code, std::string message, std::string help) const {
    SourcePlace place = SourcePlace::named(source_.place(0).file);
    fail(std::move(code), std::move(message), std::move(place), std::move(help));
  }
  /// About the node that starts at `offset`.
  void report(std::string code, const std::string& message, std::uint64_t offset, std::string help) {
    SourcePlace place = source_.place(offset);
    const std::string where = place.line == 0 ? fmt::format(" ({})", source_.name_of(offset)) : "";
    diagnostics_.error(std::move(code), message + where, std::move(place), std::move(help));
  }

  std::string title() const { return fmt::format("node {} {}", node_.id, in_quotes(node_.name.substr(0, 60))); }

  void add_node(std::uint64_t offset) {
    const auto index = static_cast<std::uint32_t>(raw_.size());
    if (const std::uint32_t first = ids_.add(node_.id, index); first != index) {
      report("duplicate-id", fmt::format("{} has the id of the node at {}", title(), source_.name_of(raw_[first].offset)), offset,
             "ids are unique in a file; record it again");
    }
    if (trace_.names.size() + node_.name.size() > UINT32_MAX || raw_.size() >= UINT32_MAX - 1) {
      throw_error("too-large", "the trace holds more nodes or names than 32 bits can count", "cut the trace into iterations");
    }
    trace_.from_pytorch = trace_.from_pytorch || node_.is_pytorch;
    RawNode raw;
    raw.id = node_.id;
    raw.type = node_.type;
    raw.start_us = node_.start_us;
    raw.offset = offset;
    raw.storages_begin = static_cast<std::uint32_t>(storages_.size());
    raw.node.name_begin = static_cast<std::uint32_t>(trace_.names.size());
    trace_.names += node_.name;
    const std::uint64_t us_max = static_cast<std::uint64_t>(op_duration_max.in_ticks() / Duration::ticks_per_us);
    if (node_.duration_us > us_max) {
      report("out-of-range", fmt::format("the duration of {} is more than a year", title()), offset, "durations are microseconds");
    } else {
      raw.node.recorded = Duration::us(static_cast<std::int64_t>(node_.duration_us));
    }
    interpret(raw, offset);
    if (node_.type != invalid_node) set_lane(raw, offset);
    for (const std::uint64_t dependency : node_.data_dependencies) data_edges_.emplace_back(dependency, index);
    for (const std::uint64_t dependency : node_.control_dependencies) control_edges_.emplace_back(dependency, index);
    raw_.push_back(raw);
  }

  void interpret(RawNode& raw, std::uint64_t offset) {
    Op& op = raw.node.op;
    op.kind = OpKind::compute;
    op.processor = node_.is_cpu_op ? Processor::cpu : Processor::gpu;
    op.duration = raw.node.recorded;
    switch (node_.type) {
      case metadata_node:
        op.duration = Duration::zero();
        if (auto groups = parse_process_groups(node_.inputs)) {
          for (ProcessGroup& group : *groups) trace_.groups.push_back(std::move(group));
        }
        break;
      case invalid_node:
        op.duration = Duration::zero();
        ++trace_.invalid_nodes;
        break;
      case memory_load_node:
      case memory_store_node:
        if (node_.duration_us == 0) ++trace_.untimed_memory;
        break;
      case compute_node:
        // Of a node that says nothing about its size, 0 us may be what was measured.
        if (node_.duration_us > 0) break;
        if (node_.has_num_ops) {
          ++trace_.untimed_ops;
        } else if (node_.has_tensor_size) {
          ++trace_.untimed_tensors;
        }
        break;
      case send_node:
      case receive_node: {
        const bool is_send = node_.type == send_node;
        op.kind = is_send ? OpKind::send : OpKind::receive;
        set_communication(raw, offset);
        require_own_rank(is_send, offset);
        const auto& peer = is_send ? node_.comm_destination : node_.comm_source;
        if (!peer) {
          report("missing-attribute", fmt::format("{} has no {}", title(), is_send ? "comm_dst" : "comm_src"), offset,
                 "the trace is incomplete; record it again");
        } else if (peer->negative || peer->magnitude >= workload_rank_count_max) {
          report("peer-out-of-range", fmt::format("{} names a peer that is no rank", title()), offset, "ranks count from 0");
        } else {
          raw.node.peer_rank = static_cast<std::uint32_t>(peer->magnitude);
        }
        if (node_.comm_tag) {
          if (node_.comm_tag->negative || node_.comm_tag->magnitude > UINT32_MAX) {
            report("out-of-range", fmt::format("the tag of {} does not fit 32 bits", title()), offset, "use smaller tags");
          } else {
            op.tag = static_cast<std::uint32_t>(node_.comm_tag->magnitude);
          }
        }
        break;
      }
      case collective_node:
        if (node_.comm_type) {
          set_collective(raw, offset);
        } else if (node_.is_cpu_op) {
          ++trace_.launch_costs;
        } else {
          report("missing-attribute", fmt::format("{} is a collective without comm_type", title()), offset,
                 "the trace is incomplete; record it again");
        }
        break;
      default:
        report("unknown-node-type", fmt::format("{} has unknown type {}", title(), node_.type), offset, known_types);
    }
  }

  /// The file of a rank holds what that rank sends and receives.
  void require_own_rank(bool is_send, std::uint64_t offset) {
    const auto& own = is_send ? node_.comm_source : node_.comm_destination;
    if (!rank_ || !own || (!own->negative && own->magnitude == *rank_)) return;
    const std::string named = fmt::format("{}{}", own->negative ? "-" : "", own->magnitude);
    report("wrong-rank",
           fmt::format("{}{}{} ({}), but this is the file of rank {}", title(),
                       is_send ? " sends from rank " : " receives at rank ", named, is_send ? "comm_src" : "comm_dst", *rank_),
           offset, "the rank is the last number in the file's name; rename the file, or record it again");
  }

  void set_collective(RawNode& raw, std::uint64_t offset) {
    Op& op = raw.node.op;
    op.kind = OpKind::collective;
    const std::uint64_t type = node_.comm_type->negative ? UINT64_MAX : node_.comm_type->magnitude;
    switch (type) {
      case 0:
        op.collective = CollectiveType::all_reduce;
        break;
      case 1:
        op.collective = CollectiveType::reduce;
        break;
      case 2:
        op.collective = CollectiveType::all_gather;
        break;
      case 3:
        op.collective = CollectiveType::gather;
        break;
      case 4:
        op.collective = CollectiveType::scatter;
        break;
      case 5:
        op.collective = CollectiveType::broadcast;
        break;
      case 6:
        op.collective = CollectiveType::all_to_all;
        break;
      case 7:
      case 8:
        op.collective = CollectiveType::reduce_scatter;
        break;
      case 9:
        op.collective = CollectiveType::barrier;
        break;
      default:
        report(
            "unsupported-collective", fmt::format("{} is a collective of unknown type {}", title(), type), offset,
            "known: 0 all-reduce, 1 reduce, 2 all-gather, 3 gather, 4 scatter, 5 broadcast, 6 all-to-all, 7 and 8 reduce-scatter, "
            "9 barrier");
    }
    if (node_.partial_dimensions) ++trace_.partial_dimensions;
    if (op.collective == CollectiveType::broadcast) {
      ++trace_.broadcasts;
    } else if (has_root(op.collective)) {
      ++trace_.rooted;
    }
    set_communication(raw, offset);
    if (op.collective == CollectiveType::barrier && op.bytes > Bytes::zero()) {
      ++trace_.sized_barriers;
      op.bytes = Bytes::zero();
    }
  }

  void set_communication(RawNode& raw, std::uint64_t offset) {
    Op& op = raw.node.op;
    op.duration = Duration::zero();
    if (node_.is_cpu_op) ++trace_.cpu_communication;
    if (node_.comm_priority && op.kind != OpKind::receive) {
      const ChakraNumber& number = *node_.comm_priority;
      const std::uint64_t priority = number.negative ? 0 : std::min<std::uint64_t>(number.magnitude, op_priority_max);
      if (number.negative || number.magnitude != priority) ++trace_.clamped_priorities;
      op.priority = static_cast<std::uint8_t>(priority);
    }
    std::string group = node_.group_number ? fmt::to_string(node_.group_number->magnitude) : std::string(node_.group_text);
    if (group.empty() && op.kind == OpKind::collective) ++trace_.unnamed_groups;
    if (group == "0") group.clear();
    const auto [known, is_new] = groups_.try_emplace(group, static_cast<std::uint32_t>(trace_.group_names.size()));
    raw.node.group = known->second;
    if (is_new) trace_.group_names.push_back(std::move(group));
    if (!node_.comm_size) {
      const bool is_barrier = op.kind == OpKind::collective && op.collective == CollectiveType::barrier;
      if (!is_barrier) {
        report("missing-attribute", fmt::format("{} has no comm_size", title()), offset,
               "the trace is incomplete; record it again");
      }
    } else if (node_.comm_size->negative) {
      report("negative-size", fmt::format("comm_size of {} is negative", title()), offset, "sizes are 0 bytes or more");
    } else if (node_.comm_size->magnitude > static_cast<std::uint64_t>(op_size_max.count())) {
      report("out-of-range", fmt::format("comm_size of {} is too large", title()), offset,
             fmt::format("the largest op moves {}", to_text(op_size_max)));
    } else {
      op.bytes = Bytes::of(static_cast<std::int64_t>(node_.comm_size->magnitude));
    }
  }

  /// CPU threads and GPU streams become streams, numbered in order of appearance.
  void set_lane(RawNode& raw, std::uint64_t offset) {
    const auto& lane = node_.stream && !node_.is_cpu_op ? node_.stream : node_.thread;
    if (!lane) return;
    const std::pair key(node_.is_cpu_op, lane->magnitude);
    const auto [found, is_new] = lanes_.emplace(key, static_cast<std::uint32_t>(lanes_.size()) + 1);
    if (found->second > UINT16_MAX) {
      if (is_new)
        report("too-many-streams", fmt::format("{} opens stream number 65536", title()), offset,
               "at most 65535 threads and streams are supported");
      return;
    }
    raw.node.op.stream = static_cast<std::uint16_t>(found->second);
    raw.is_gpu = !node_.is_cpu_op;
    if (!raw.is_gpu) return;
    append_storages(node_.inputs, storages_);
    append_storages(node_.outputs, storages_);
    const auto first = storages_.begin() + raw.storages_begin;
    std::sort(first, storages_.end());
    storages_.erase(std::unique(first, storages_.end()), storages_.end());
  }

  void resolve_dependencies() {
    const auto resolve = [this](const std::vector<std::pair<std::uint64_t, std::uint32_t>>& edges, const char* kind) {
      for (const auto& [dependency, node] : edges) {
        const std::optional<std::uint32_t> found = ids_.find(dependency);
        if (!found) {
          report("unknown-dependency",
                 fmt::format("node {} has a {} dependency on node {}, which is not in the file", raw_[node].id, kind, dependency),
                 raw_[node].offset, "the trace is incomplete; record it again");
        } else {
          edges_.emplace_back(*found, node);
        }
      }
    };
    resolve(data_edges_, "data");
    if (trace_.from_pytorch) {
      trace_.ignored_control_dependencies = control_edges_.size();
    } else {
      resolve(control_edges_, "control");
    }
    data_edges_ = {};
    control_edges_ = {};
    ids_ = {};
  }

  /// A node that says nothing can be left out, but not what others wait for.
  void require_no_wait_for_invalid() {
    if (trace_.invalid_nodes == 0) return;
    for (const auto& [dependency, node] : edges_) {
      const RawNode& raw = raw_[dependency];
      if (raw.type != invalid_node) continue;
      report("unknown-node-type", fmt::format("node {} waits for node {}, which has type 0, INVALID_NODE", raw_[node].id, raw.id),
             raw.offset, known_types);
    }
  }

  void sort() {
    const auto count = static_cast<std::uint32_t>(raw_.size());
    // Numbered by (start, id), so that the smallest ready number is the one that was issued first.
    std::vector<std::uint32_t> by_start(count);
    for (std::uint32_t i = 0; i < count; ++i) by_start[i] = i;
    const auto starts_earlier = [this](std::uint32_t a, std::uint32_t b) {
      return std::tie(raw_[a].start_us, raw_[a].id) < std::tie(raw_[b].start_us, raw_[b].id);
    };
    if (!std::is_sorted(by_start.begin(), by_start.end(), starts_earlier)) {
      std::sort(by_start.begin(), by_start.end(), starts_earlier);
    }
    std::vector<std::uint32_t> number(count);
    for (std::uint32_t i = 0; i < count; ++i) number[by_start[i]] = i;
    for (auto& [dependency, node] : edges_) {
      dependency = number[dependency];
      node = number[node];
    }
    std::vector<std::uint32_t> begin(std::size_t{count} + 1, 0);
    for (const auto& [dependency, node] : edges_) ++begin[dependency + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    std::vector<std::uint32_t> targets(edges_.size());
    std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
    for (const auto& [dependency, node] : edges_) targets[next[dependency]++] = node;
    const auto successors_of = [&](std::uint32_t node) {
      return std::span<const std::uint32_t>(targets.data() + begin[node], begin[node + 1] - begin[node]);
    };
    // Where all dependencies point back, the order by start is the one that topological_order()
    // would find.
    const bool forward = std::all_of(edges_.begin(), edges_.end(), [](const auto& edge) { return edge.first < edge.second; });
    TopologicalOrder sorted;
    if (forward) {
      sorted.order.resize(count);
      std::iota(sorted.order.begin(), sorted.order.end(), 0U);
    } else {
      sorted = topological_order(count, successors_of);
    }
    if (sorted.order.size() < count) report_cycle(find_cycle(sorted.waiting, successors_of), by_start);

    std::vector<std::uint32_t> position(count);
    trace_.nodes.reserve(count);
    std::string names;
    names.reserve(trace_.names.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      position[sorted.order[i]] = i;
      const std::uint32_t from = by_start[sorted.order[i]];
      ChakraNode node = raw_[from].node;
      const std::size_t name_end = from + 1 < count ? raw_[from + 1].node.name_begin : trace_.names.size();
      node.name_begin = static_cast<std::uint32_t>(names.size());
      names.append(trace_.names, raw_[from].node.name_begin, name_end - raw_[from].node.name_begin);
      trace_.nodes.push_back(node);
    }
    trace_.names = std::move(names);
    for (auto& [dependency, node] : edges_) {
      dependency = position[dependency];
      node = position[node];
    }
    trace_.edges = std::move(edges_);
    add_storage_waits(by_start, sorted.order);
    std::vector<std::uint32_t> processor_of(count, no_resource);
    for (std::uint32_t i = 0; i < count; ++i) {
      const Op& op = trace_.nodes[i].op;
      const bool takes_processor = raw_[by_start[sorted.order[i]]].type == compute_node && op.duration > Duration::zero();
      if (takes_processor && op.stream == 0) processor_of[i] = static_cast<std::uint32_t>(op.processor);
    }
    const bool is_used = std::any_of(processor_of.begin(), processor_of.end(), [](std::uint32_t p) { return p != no_resource; });
    if (is_used) trace_.overlaps = count_overlaps(processor_of, edges_with_lanes());
  }

  /// Edges of the trace, and those from each node of a lane to the next.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_with_lanes() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges = trace_.edges;
    std::vector<std::optional<std::uint32_t>> latest(lanes_.size() + 1);
    for (std::uint32_t i = 0; i < trace_.nodes.size(); ++i) {
      const std::uint16_t lane = trace_.nodes[i].op.stream;
      if (lane == 0) continue;
      if (latest[lane]) edges.emplace_back(*latest[lane], i);
      latest[lane] = i;
    }
    return edges;
  }

  [[noreturn]] void report_cycle(const std::vector<std::uint32_t>& cycle, const std::vector<std::uint32_t>& by_start) const {
    const auto id_of = [&](std::uint32_t node) { return raw_[by_start[node]].id; };
    throw_error("cycle",
                fmt::format("nodes wait for each other: {} (first at {})", cycle_text(cycle, id_of),
                            source_.name_of(raw_[by_start[cycle.front()]].offset)),
                "the dependencies of a trace have no cycle; record it again");
  }

  /// Kernels of different streams that use one storage: the later one waits for the earlier one.
  void add_storage_waits(const std::vector<std::uint32_t>& by_start, const std::vector<std::uint32_t>& order) {
    struct LastUse {
      std::uint16_t stream = 0;
      std::uint32_t node = 0;
    };
    std::unordered_map<std::uint64_t, std::vector<LastUse>> uses;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      const std::uint32_t from = by_start[order[i]];
      if (!raw_[from].is_gpu) continue;
      const std::uint16_t stream = raw_[from].node.op.stream;
      const std::size_t end = from + 1 < raw_.size() ? raw_[from + 1].storages_begin : storages_.size();
      for (std::size_t s = raw_[from].storages_begin; s < end; ++s) {
        std::vector<LastUse>& last = uses[storages_[s]];
        auto own = std::find_if(last.begin(), last.end(), [stream](const LastUse& use) { return use.stream == stream; });
        for (const LastUse& use : last) {
          // What came before this stream's own last use was waited for then.
          if (use.stream == stream || (own != last.end() && use.node < own->node)) continue;
          trace_.edges.emplace_back(use.node, i);
          ++trace_.storage_waits;
        }
        if (own == last.end()) {
          last.push_back({stream, i});
        } else {
          own->node = i;
        }
      }
    }
  }

  ChakraSource& source_;
  std::optional<std::uint32_t> rank_;
  ChakraMessage node_;
  Diagnostics diagnostics_;
  ChakraTrace trace_;
  std::vector<RawNode> raw_;
  NodeIds ids_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> data_edges_;     ///< (id, node)
  std::vector<std::pair<std::uint64_t, std::uint32_t>> control_edges_;  ///< (dependency, node)
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
  std::unordered_map<std::string, std::uint32_t> groups_;  ///< places in trace_.group_names
  /// (CPU, thread or stream) -> our stream.
  std::map<std::pair<bool, std::uint64_t>, std::uint32_t> lanes_;
  /// Of GPU nodes, node after node.
  std::vector<std::uint64_t> storages_;
};

}  // namespace

std::string_view ChakraTrace::name(std::size_t node) const {
  const std::size_t end = node + 1 < nodes.size() ? nodes[node + 1].name_begin : names.size();
  return std::string_view(names).substr(nodes[node].name_begin, end - nodes[node].name_begin);
}

ChakraTrace read_chakra_trace(const std::string& path, std::optional<std::uint32_t> rank) {
  BinarySource source(path);
  return ChakraTraceReader(source, rank).read();
}

ChakraTrace read_chakra_json(const std::string& path, std::optional<std::uint32_t> rank) {
  const std::unique_ptr<ChakraSource> source = open_chakra_json(path);
  return ChakraTraceReader(*source, rank).read();
}

std::optional<std::vector<ProcessGroup>> parse_process_groups(std::string_view text) {
  const std::size_t begin = text.find("[{");
  const std::size_t end = text.rfind("}]");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return std::nullopt;
  // The list may stand inside another text, with its quotes escaped.
  std::string json;
  json.reserve(end + 2 - begin);
  for (std::size_t at = begin; at < end + 2; ++at) {
    const bool is_escape = text[at] == '\\' && at + 1 < end + 2 && text[at + 1] == '"';
    if (!is_escape) json += text[at];
  }
  const nlohmann::json list = nlohmann::json::parse(json, nullptr, false);
  if (!list.is_array()) return std::nullopt;
  std::vector<ProcessGroup> groups;
  for (const nlohmann::json& entry : list) {
    if (!entry.is_object() || !entry.contains("pg_name")) return std::nullopt;
    ProcessGroup group;
    const nlohmann::json& name = entry["pg_name"];
    if (!name.is_string() && !name.is_number_unsigned()) return std::nullopt;
    group.name = name.is_string() ? name.get<std::string>() : fmt::format("{}", name.get<std::uint64_t>());
    if (entry.contains("ranks")) {
      if (!entry["ranks"].is_array()) return std::nullopt;
      for (const nlohmann::json& rank : entry["ranks"]) {
        if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= workload_rank_count_max) return std::nullopt;
        group.ranks.push_back(rank.get<std::uint32_t>());
      }
    }
    // PyTorch lists no ranks for a group of everyone, only its size.
    const auto size = entry.find("group_size");
    if (size != entry.end() && size->is_number_unsigned() && size->get<std::uint64_t>() <= workload_rank_count_max) {
      group.size = size->get<std::uint32_t>();
    }
    const auto description = entry.find("pg_desc");
    if (description != entry.end() && description->is_string()) group.description = description->get<std::string>();
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace weft
