// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/dag_reader.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/textproto.hpp"
#include "workloads/dag/element_type.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/topological_order.hpp"
#include "workloads/dag/workload_frame.hpp"

namespace weft {

namespace {

namespace pb = workload_file;

/// Reads the ops of one role of a text file.
class RoleReader {
 public:
  /// `workload` is the file around the role's.
  RoleReader(const Workload& frame, const FrameIndex& index, const pb::Workload& workload, std::size_t role, FieldPlaces places,
             SourcePlace role_place, Diagnostics& diagnostics)
      : frame_(frame),
        index_(index),
        workload_(workload),
        role_(role),
        file_(workload.role(static_cast<int>(role))),
        places_(places),
        role_place_(std::move(role_place)),
        diagnostics_(diagnostics) {}

  RoleDag read() {
    if (file_.op_size() == 0) {
      diagnostics_.error("no-ops", fmt::format("role {} has no ops", in_quotes(file_.name())), role_place_,
                         "add op { ... }; a rank with nothing to do needs at least a compute op of 0s");
      return {};
    }
    index_names();
    RoleBuilder builder;
    builder.reserve(static_cast<std::size_t>(file_.op_size()), 0);
    for (int i = 0; i < file_.op_size(); ++i) builder.add(read_op(i), file_.op(i).name());
    for (int i = 0; i < file_.op_size(); ++i) {
      for (int d = 0; d < file_.op(i).deps_size(); ++d) {
        const auto found = by_name_.find(file_.op(i).deps(d));
        if (found != by_name_.end()) {
          builder.depend(static_cast<std::uint32_t>(i), found->second);
        } else {
          report_unknown_dependency(i, d);
        }
      }
    }
    if (diagnostics_.has_errors()) return {};
    RoleBuilder::Result result = std::move(builder).finish();
    if (!result.cycle.empty()) report_cycle(result);
    return std::move(result.dag);
  }

 private:
  FieldPlaces inside(int op) const { return places_.inside(file_, "op", op); }
  SourcePlace place_of(int op) const { return places_.of(file_, "op", op); }
  /// Place of a field if it was written, else of the message around it.
  static SourcePlace place_or(const FieldPlaces& places, const google::protobuf::Message& message, const char* field,
                              const SourcePlace& otherwise) {
    SourcePlace place = places.of(message, field);
    return place.line > 0 ? place : otherwise;
  }
  std::string title(int op) const {
    return file_.op(op).name().empty() ? fmt::format("op number {}", op) : fmt::format("op {}", in_quotes(file_.op(op).name()));
  }

  void index_names() {
    by_name_.reserve(static_cast<std::size_t>(file_.op_size()));
    for (int i = 0; i < file_.op_size(); ++i) {
      const std::string& name = file_.op(i).name();
      if (name.empty()) continue;
      const auto [first, is_new] = by_name_.emplace(name, static_cast<std::uint32_t>(i));
      if (!is_new) {
        diagnostics_.error("duplicate-op",
                           fmt::format("op {} is defined twice in role {}", in_quotes(name), in_quotes(file_.name())),
                           inside(i).of(file_.op(i), "name"),
                           fmt::format("it is defined at line {} already; give one of them another name",
                                       place_of(static_cast<int>(first->second)).line));
      }
    }
  }

  void report_unknown_dependency(int op, int dependency) {
    const std::string& name = file_.op(op).deps(dependency);
    std::string help;
    if (!diagnostics_.is_full()) {
      std::vector<std::string> names;
      for (int i = 0; i < file_.op_size(); ++i) {
        if (!file_.op(i).name().empty()) names.push_back(file_.op(i).name());
      }
      const std::string best = closest(name, names);
      if (best.empty()) {
        help = fmt::format("{}; dependencies name ops of the same role", suggestion(name, names, "op"));
      } else {
        const int at = place_of(static_cast<int>(by_name_.at(best))).line;
        help = fmt::format("did you mean {}? it is defined{}", in_quotes(best), at > 0 ? fmt::format(" at line {}", at) : "");
      }
    }
    diagnostics_.error("unknown-op", fmt::format("{} depends on unknown op {}", title(op), in_quotes(name)),
                       inside(op).of(file_.op(op), "deps", dependency), help);
  }

  void report_cycle(const RoleBuilder::Result& result) {
    const std::string chain = cycle_text(result.cycle, [this](std::uint32_t op) { return title(static_cast<int>(op)).substr(3); });
    const char* const what =
        result.cycle_uses_stream_order ? "the order of a stream contradicts dependencies" : "ops wait for each other";
    diagnostics_.error("cycle", fmt::format("{}: {}", what, chain), place_of(static_cast<int>(result.cycle.front())),
                       result.cycle_uses_stream_order
                           ? "ops of one stream run in the order in which they are written; move one, or give it another stream"
                           : "remove one of these dependencies (a -> b: b waits for a)");
  }

  Op read_op(int i) {
    const pb::Op& file = file_.op(i);
    const FieldPlaces places = inside(i);
    Op op;
    if (file.stream() > UINT16_MAX) {
      diagnostics_.error("out-of-range", fmt::format("stream {} of {} is above 65535", file.stream(), title(i)),
                         places.of(file, "stream"), "number streams from 1; 0 is no stream");
    } else {
      op.stream = static_cast<std::uint16_t>(file.stream());
    }
    switch (file.what_case()) {
      case pb::Op::kCompute:
        op.kind = OpKind::compute;
        op.duration = duration_of(i, file.compute(), places);
        op.processor = file.compute().cpu() ? Processor::cpu : Processor::gpu;
        break;
      case pb::Op::kCollective:
        read_collective(i, file.collective(), places.inside(file, "collective"), places.of(file, "collective"), op);
        break;
      case pb::Op::kSend:
        read_point_to_point(i, file.send(), places.inside(file, "send"), places.of(file, "send"), op);
        op.kind = OpKind::send;
        op.priority = priority_of(i, file.send(), op.communicator, places.inside(file, "send"));
        break;
      case pb::Op::kReceive:
        read_point_to_point(i, file.receive(), places.inside(file, "receive"), places.of(file, "receive"), op);
        op.kind = OpKind::receive;
        if (file.receive().has_priority()) {
          diagnostics_.error("conflicting-fields", fmt::format("{} receives and has a priority", title(i)),
                             places.inside(file, "receive").of(file.receive(), "priority"),
                             "write it into the send; a message has its sender's");
        }
        break;
      case pb::Op::WHAT_NOT_SET:
        diagnostics_.error("missing-field", fmt::format("{} does not say what it does", title(i)), place_of(i),
                           "add compute { ... }, collective { ... }, send { ... } or receive { ... }");
        break;
    }
    return op;
  }

  void read_collective(int i, const pb::Collective& file, const FieldPlaces& at, const SourcePlace& place, Op& op) {
    op.kind = OpKind::collective;
    op.collective = from_file(file.type());
    op.communicator = communicator_of(i, file, at);
    op.priority = priority_of(i, file, op.communicator, at);
    const std::string type = pb::CollectiveType_Name(file.type());
    if (file.type() == pb::COLLECTIVE_TYPE_UNSPECIFIED) {
      diagnostics_.error("missing-field", fmt::format("{} does not say which collective it is", title(i)), place,
                         "add type: ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, ALL_TO_ALL_V, BROADCAST, REDUCE, GATHER, "
                         "SCATTER or BARRIER");
    } else if (file.root() != 0 && !has_root(op.collective)) {
      diagnostics_.error("conflicting-fields", fmt::format("{} has a root, but {} has none", title(i), type), at.of(file, "root"),
                         "remove root; BROADCAST, REDUCE, GATHER and SCATTER have one");
    }
    op.peer = position_of(i, file.root(), "root", op.communicator, at.of(file, "root"));
    if (!file.splits().empty() && op.collective != CollectiveType::all_to_all_v) {
      diagnostics_.error("conflicting-fields", fmt::format("{} has splits, but is no ALL_TO_ALL_V", title(i)),
                         at.of(file, "splits"), "remove splits, or write type: ALL_TO_ALL_V without a size");
    }
    if (op.collective == CollectiveType::barrier) {
      refuse_size(i, file, at, "is a BARRIER", "a barrier moves no data; remove it");
    } else if (op.collective == CollectiveType::all_to_all_v) {
      refuse_size(i, file, at, "is an ALL_TO_ALL_V", "its splits say what it moves; remove it");
      read_splits(i, file, at, place, op);
    } else {
      op.bytes = size_of(i, file, at, place);
    }
  }

  void refuse_size(int i, const pb::Collective& file, const FieldPlaces& at, const char* what, const char* help) {
    const bool has_type = file.dtype() != pb::ELEMENT_TYPE_UNSPECIFIED;
    if (file.size().empty() && !file.has_elements() && !has_type) return;
    const char* field = !file.size().empty() ? "size" : file.has_elements() ? "elements" : "dtype";
    diagnostics_.error("conflicting-fields", fmt::format("{} {} and has {}", title(i), what, field), at.of(file, field), help);
  }

  void read_splits(int i, const pb::Collective& file, const FieldPlaces& at, const SourcePlace& place, Op& op) {
    if (file.splits().empty()) {
      diagnostics_.error("missing-field", fmt::format("{} does not say what it moves", title(i)), place,
                         "add a line like splits: \"skew\", and a table splits { name: \"skew\" row { ... } ... } to the workload");
      return;
    }
    const std::optional<std::uint32_t> found = index_.splits(file.splits());
    if (!found) {
      std::vector<std::string> names;
      if (!diagnostics_.is_full()) {
        for (const SplitTable& table : frame_.splits) names.push_back(table.name());
      }
      diagnostics_.error(
          "unknown-splits", fmt::format("{} uses unknown splits {}", title(i), in_quotes(file.splits())), at.of(file, "splits"),
          names.empty() ? fmt::format("there are none; add splits {{ name: {} row {{ ... }} ... }}", in_quotes(file.splits()))
                        : suggestion(file.splits(), names, "splits"));
      return;
    }
    op.splits = *found;
    const SplitTable& table = frame_.splits[op.splits];
    op.bytes = table.row_sum_max();
    seat(i, op.communicator, place);
    const Seats& seats = seats_[op.communicator];
    // A wrong table, communicator or role has no size that could be compared.
    if (diagnostics_.has_errors()) return;
    const std::uint32_t wrong = seats.group_size_min == table.positions() ? seats.group_size_max : seats.group_size_min;
    if (wrong == table.positions()) return;
    diagnostics_.error("splits-mismatch",
                       fmt::format("splits {} of {} are for a group of {}, but a group in communicator {} has {}",
                                   in_quotes(table.name()), title(i), table.positions(),
                                   in_quotes(frame_.communicators[op.communicator].name()), counted(wrong, "rank", "ranks")),
                       at.of(file, "splits"), "a table has a row for each rank of the group");
  }

  void read_point_to_point(int i, const pb::PointToPoint& file, const FieldPlaces& at, const SourcePlace& place, Op& op) {
    op.communicator = communicator_of(i, file, at);
    op.bytes = size_of(i, file, at, place);
    op.tag = file.tag();
    if (file.has_peer() == file.has_peer_offset()) {
      diagnostics_.error(
          file.has_peer() ? "conflicting-fields" : "missing-field",
          fmt::format("{} {}", title(i), file.has_peer() ? "has both peer and peer_offset" : "does not say who the other side is"),
          place, "write either peer: (a position in the group) or peer_offset: (from one's own position)");
    } else if (file.has_peer()) {
      op.peer = position_of(i, file.peer(), "peer", op.communicator, at.of(file, "peer"));
    } else {
      op.addressing = PeerAddressing::relative;
      op.peer = file.peer_offset();
      seat(i, op.communicator, place);
    }
  }

  Duration duration_of(int i, const pb::Compute& file, const FieldPlaces& places) {
    const SourcePlace place = places.of(file_.op(i), "compute");
    if (file.duration().empty()) {
      diagnostics_.error("missing-field", fmt::format("{} has no duration", title(i)), place,
                         "add a line like duration: \"1.5ms\"");
      return {};
    }
    const SourcePlace at = places.inside(file_.op(i), "compute").of(file, "duration");
    const ParsedQuantity<Duration> parsed = parse_duration(file.duration());
    if (!parsed.value) {
      diagnostics_.error("bad-value", fmt::format("duration of {}: {}", title(i), parsed.error.message), at, parsed.error.help);
      return {};
    }
    if (*parsed.value < Duration::zero()) {
      diagnostics_.error("negative-duration", fmt::format("duration of {} is negative", title(i)), at, "durations are 0s or more");
      return {};
    }
    if (*parsed.value > op_duration_max) {
      diagnostics_.error("out-of-range", fmt::format("duration of {} is more than a year", title(i)), at,
                         fmt::format("the longest op is {}", to_text(op_duration_max)));
      return {};
    }
    return *parsed.value;
  }

  template <class File>
  Bytes size_of(int i, const File& file, const FieldPlaces& at, const SourcePlace& place) {
    const bool has_type = file.dtype() != pb::ELEMENT_TYPE_UNSPECIFIED;
    if (file.size().empty() && !file.has_elements()) {
      diagnostics_.error("missing-field", fmt::format("{} has no size", title(i)), place,
                         "add a line like size: \"25MB\", or elements: 1000000 with dtype: BF16");
      return {};
    }
    if (!file.size().empty() && (file.has_elements() || has_type)) {
      diagnostics_.error("conflicting-fields",
                         fmt::format("{} has both size and {}", title(i), file.has_elements() ? "elements" : "dtype"),
                         at.of(file, "size"), "write either size, or elements with dtype");
      return {};
    }
    std::optional<Bytes> size;
    const SourcePlace value_place = at.of(file, file.size().empty() ? "elements" : "size");
    if (file.size().empty()) {
      if (!has_type) {
        diagnostics_.error("missing-field", fmt::format("{} has elements but no type of element", title(i)), value_place,
                           "add a line like dtype: BF16");
        return {};
      }
      const auto type = element_type_named(pb::ElementType_Name(file.dtype()));
      if (type) size = tensor_size(file.elements(), *type);
    } else {
      const ParsedQuantity<Bytes> parsed = parse_bytes(file.size());
      if (!parsed.value) {
        diagnostics_.error("bad-value", fmt::format("size of {}: {}", title(i), parsed.error.message), value_place,
                           parsed.error.help);
        return {};
      }
      size = parsed.value;
    }
    if (!size || *size > op_size_max) {
      diagnostics_.error("out-of-range", fmt::format("size of {} is too large", title(i)), value_place,
                         fmt::format("the largest op moves {}", to_text(op_size_max)));
      return {};
    }
    return *size;
  }

  template <class File>
  std::uint16_t communicator_of(int i, const File& file, const FieldPlaces& at) {
    const std::string& name = file.communicator();
    if (name.empty()) return 0;
    if (const auto found = index_.communicator(name)) return *found;
    std::vector<std::string> names;
    if (!diagnostics_.is_full()) {
      for (const Communicator& communicator : frame_.communicators) names.push_back(communicator.name());
    }
    diagnostics_.error("unknown-communicator", fmt::format("{} uses unknown communicator {}", title(i), in_quotes(name)),
                       at.of(file, "communicator"), suggestion(name, names, "communicator"));
    return 0;
  }

  template <class File>
  std::uint8_t priority_of(int i, const File& file, std::uint16_t communicator, const FieldPlaces& at) {
    std::uint32_t priority = file.priority();
    if (!file.has_priority() && communicator > 0) priority = workload_.communicator(communicator - 1).priority();
    if (priority <= op_priority_max) return static_cast<std::uint8_t>(priority);
    if (file.has_priority()) {
      diagnostics_.error("out-of-range", fmt::format("priority {} of {} is above {}", priority, title(i), op_priority_max),
                         at.of(file, "priority"), priority_help);
    }
    return 0;
  }

  /// Checks that all ranks of the role have a group; returns the smallest group's size.
  std::uint32_t seat(int i, std::uint16_t communicator, const SourcePlace& place) {
    const auto [entry, is_new] = seats_.try_emplace(communicator);
    if (is_new) {
      entry->second = index_.seats_of(role_, communicator);
      if (entry->second.rank_without_group && !diagnostics_.has_errors()) {
        diagnostics_.error(
            "no-group",
            fmt::format("rank {} runs {} but is in no group of communicator {}", entry->second.rank_without_group->index(),
                        title(i), in_quotes(frame_.communicators[communicator].name())),
            place.line > 0 ? place : place_of(i), "add the rank to a group, or let it play another role");
      }
    }
    return entry->second.group_size_min;
  }

  std::int32_t position_of(int i, std::uint32_t position, const char* what, std::uint16_t communicator, const SourcePlace& place) {
    const std::uint32_t size = seat(i, communicator, place);
    if (position >= size && size != UINT32_MAX) {
      diagnostics_.error("peer-out-of-range",
                         fmt::format("{} {} of {} is outside its group of {} in communicator {}", what, position, title(i), size,
                                     in_quotes(frame_.communicators[communicator].name())),
                         place.line > 0 ? place : place_of(i), "positions in a group count from 0");
      return 0;
    }
    return size == UINT32_MAX ? 0 : static_cast<std::int32_t>(position);
  }

  const Workload& frame_;
  const FrameIndex& index_;
  const pb::Workload& workload_;
  std::size_t role_;
  const pb::Role& file_;
  FieldPlaces places_;
  SourcePlace role_place_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
  std::map<std::uint16_t, Seats> seats_;
};

}  // namespace

Workload parse_workload_text(const SourceText& source) {
  Diagnostics diagnostics;
  pb::Workload file;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  const FieldPlaces places = document.places();
  if (file.packed_ops_size() > 0) {
    diagnostics.error("binary-only", "packed_ops may stand in binary files only", places.of(file, "packed_ops"),
                      "write op { ... } inside a role");
  }
  Workload workload = read_frame(file, places, source.whole_file(), diagnostics);
  const FrameIndex index(workload);
  for (int r = 0; r < file.role_size() && static_cast<std::size_t>(r) < workload.roles.size(); ++r) {
    RoleReader reader(workload, index, file, static_cast<std::size_t>(r), places.inside(file, "role", r),
                      places.of(file, "role", r), diagnostics);
    workload.roles[static_cast<std::size_t>(r)] = reader.read();
  }
  diagnostics.throw_if_errors();
  check_workload(workload, source.whole_file(), diagnostics);
  diagnostics.throw_if_errors();
  return workload;
}

Workload read_workload(const std::string& path) {
  if (path.ends_with(".pb") || path.ends_with(".pb.gz")) return read_workload_binary(path);
  return parse_workload_text(SourceText::read(path));
}

}  // namespace weft
