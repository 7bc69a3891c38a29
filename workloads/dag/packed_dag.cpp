// SPDX-License-Identifier: Apache-2.0
// The binary side of dag_reader: reads the fields of the file one by one, so that only one piece of
// packed ops is in memory at a time.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/source_text.hpp"
#include "workloads/dag/byte_stream.hpp"
#include "workloads/dag/dag_reader.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/workload_frame.hpp"

namespace weft {

namespace {

namespace pb = workload_file;

constexpr std::uint32_t ops_per_piece_max = 1U << 20;
/// Larger fields than the largest sensible piece are a damaged file.
constexpr std::uint64_t field_bytes_max = std::uint64_t{1} << 28;

enum WireType : std::uint32_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

class BinaryReader {
 public:
  explicit BinaryReader(const std::string& path) : stream_(path) {}

  Workload read() {
    if (stream_.at_end()) fail("empty-file", "the file is empty", "a binary Weft workload is expected here");
    std::string bytes;
    while (!stream_.at_end()) {
      const std::uint64_t field_offset = stream_.offset();
      std::uint64_t tag = 0;
      need(stream_.read_varint(tag), field_offset);
      const auto field = static_cast<std::uint32_t>(tag >> 3);
      const auto wire_type = static_cast<std::uint32_t>(tag & 7U);
      std::string raw;
      append_varint(raw, tag);
      std::uint64_t length = 0;
      if (wire_type == varint) {
        need(stream_.read_varint(length), field_offset);
        append_varint(raw, length);
      } else if (wire_type == length_delimited) {
        need(stream_.read_varint(length), field_offset);
        if (length > field_bytes_max) not_a_workload(field_offset);
        need(stream_.read(length, bytes), field_offset);
        append_varint(raw, length);
      } else {
        not_a_workload(field_offset);
      }
      if (field == pb::Workload::kPackedOpsFieldNumber && wire_type == length_delimited) {
        if (!frame_read_) read_header();
        add_piece(bytes, field_offset);
        continue;
      }
      if (frame_read_ || field == 0 || field > pb::Workload::kSplitsFieldNumber) not_a_workload(field_offset);
      if (wire_type == length_delimited) raw += bytes;
      if (!header_.MergeFromString(raw)) not_a_workload(field_offset);
    }
    if (!frame_read_) read_header();
    finish_role();
    for (int r = 0; r < header_.role_size(); ++r) {
      if (workload_.roles[static_cast<std::size_t>(r)].size() == 0) {
        fail("no-ops", fmt::format("role \"{}\" has no ops", workload_.role_names[static_cast<std::size_t>(r)]),
             "if the file was cut off, fetch it again");
      }
    }
    Diagnostics diagnostics;
    check_seats(diagnostics);
    if (!diagnostics.has_errors()) check_workload(workload_, stream_.place(), diagnostics);
    diagnostics.throw_if_errors();
    return std::move(workload_);
  }

 private:
  [[noreturn]] void fail(std::string code, std::string message, std::string help) const {
    weft::fail(std::move(code), std::move(message), stream_.place(), std::move(help));
  }
  [[noreturn]] void not_a_workload(std::uint64_t offset) const {
    fail("not-a-workload", fmt::format("this is no binary Weft workload: unreadable field at byte {}", offset),
         "text files end in .textproto; if this is a binary file, it is damaged");
  }
  void need(ByteStream::Outcome outcome, std::uint64_t offset) const {
    if (outcome == ByteStream::Outcome::cut_off) {
      fail("truncated-file", fmt::format("the file ends inside the field that starts at byte {}", offset),
           "it was cut off; fetch it again");
    }
    if (outcome == ByteStream::Outcome::malformed) not_a_workload(offset);
  }
  static void append_varint(std::string& raw, std::uint64_t value) {
    while (value >= 0x80) {
      raw += static_cast<char>(value | 0x80U);
      value >>= 7;
    }
    raw += static_cast<char>(value);
  }

  void read_header() {
    frame_read_ = true;
    Diagnostics diagnostics;
    // Without a tree of places every error stands for the file as a whole.
    const SourceText nowhere(stream_.path(), std::string());
    workload_ = read_frame(header_, FieldPlaces(nowhere, nullptr, nullptr), stream_.place(), diagnostics);
    diagnostics.throw_if_errors();
    for (const pb::Communicator& communicator : header_.communicator()) {
      if (communicator.priority() > 0) {
        fail("not-a-workload",
             fmt::format("communicator \"{}\" of this binary file has a priority; packed ops have their own", communicator.name()),
             "write the file with `weft workload import`, or as text");
      }
    }
    for (const pb::Role& role : header_.role()) {
      if (role.op_size() > 0) {
        fail("not-a-workload", fmt::format("role \"{}\" of this binary file has ops that are not packed", role.name()),
             "write the file with `weft workload import`, or as text");
      }
    }
  }

  void add_piece(const std::string& bytes, std::uint64_t offset) {
    piece_.Clear();
    if (!piece_.ParseFromString(bytes)) not_a_workload(offset);
    const auto place = [offset](std::uint32_t i) { return fmt::format(" (op {} of the piece at byte {})", i, offset); };
    if (piece_.role() >= static_cast<std::uint32_t>(header_.role_size()) || (role_ && piece_.role() < *role_)) {
      fail("bad-piece", fmt::format("packed ops at byte {} belong to role number {}", offset, piece_.role()),
           "roles come first and pieces follow in their order");
    }
    const std::uint32_t count = piece_.op_count();
    if (count > bytes.size()) {
      fail("bad-piece", fmt::format("packed ops at byte {} are {} in {}", offset, count, counted(bytes.size(), "byte", "bytes")),
           "the file is damaged; write it again");
    }
    const auto fits = [count](int size) { return size == 0 || static_cast<std::uint32_t>(size) == count; };
    if (count > ops_per_piece_max || !fits(piece_.kind_size()) || !fits(piece_.collective_size()) ||
        !fits(piece_.relative_size()) || !fits(piece_.communicator_size()) || !fits(piece_.stream_size()) ||
        !fits(piece_.peer_size()) || !fits(piece_.tag_size()) || !fits(piece_.amount_size()) ||
        !fits(piece_.dependency_count_size()) || !fits(piece_.name_length_size()) || !fits(piece_.cpu_size()) ||
        !fits(piece_.splits_size()) || !fits(piece_.priority_size())) {
      fail("bad-piece", fmt::format("packed ops at byte {} hold arrays of different lengths", offset),
           "the file is damaged; write it again");
    }
    if (!role_ || *role_ != piece_.role()) {
      finish_role();
      role_ = piece_.role();
      const pb::Role& role = header_.role(static_cast<int>(*role_));
      builder_ = RoleBuilder();
      // Ops and edges take a byte each at least; what is announced beyond that is a gzip file's, or
      // a lie.
      builder_.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(role.packed_op_count(), stream_.stored_size())),
                       static_cast<std::size_t>(std::min<std::uint64_t>(role.packed_edge_count(), stream_.stored_size())));
      edge_count_ = 0;
    }
    int next_distance = 0;
    std::size_t next_name = 0;
    const auto value = [](const auto& array, std::uint32_t i) { return array.empty() ? 0 : array.Get(static_cast<int>(i)); };
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t kind = value(piece_.kind(), i);
      const std::uint32_t communicator = value(piece_.communicator(), i);
      const std::uint32_t stream = value(piece_.stream(), i);
      const std::uint32_t collective = value(piece_.collective(), i);
      const std::uint64_t amount = value(piece_.amount(), i);
      const std::int64_t amount_max = kind == 0 ? op_duration_max.in_ticks() : op_size_max.count();
      if (kind > 3 || communicator >= workload_.communicators.size() || stream > UINT16_MAX ||
          amount > static_cast<std::uint64_t>(amount_max) ||
          (kind == 1 && (collective == 0 || !pb::CollectiveType_IsValid(static_cast<int>(collective))))) {
        fail("bad-piece", fmt::format("kind, collective, communicator, stream or amount is out of range{}", place(i)),
             "the file is damaged; write it again");
      }
      Op op;
      op.kind = static_cast<OpKind>(kind);
      if (kind == 1) op.collective = from_file(static_cast<pb::CollectiveType>(collective));
      op.communicator = static_cast<std::uint16_t>(communicator);
      op.stream = static_cast<std::uint16_t>(stream);
      const std::uint32_t priority = value(piece_.priority(), i);
      if (priority > op_priority_max || (priority > 0 && op.kind != OpKind::collective && op.kind != OpKind::send)) {
        fail("bad-piece", fmt::format("a priority is out of range or not that of a collective or a send{}", place(i)),
             "the file is damaged; write it again");
      }
      op.priority = static_cast<std::uint8_t>(priority);
      if (kind == 0) {
        op.duration = Duration::ticks(static_cast<std::int64_t>(amount));
        op.processor = value(piece_.cpu(), i) != 0 ? Processor::cpu : Processor::gpu;
      } else {
        op.bytes = Bytes::of(static_cast<std::int64_t>(amount));
        op.addressing = value(piece_.relative(), i) != 0 ? PeerAddressing::relative : PeerAddressing::absolute;
        op.peer = value(piece_.peer(), i);
        op.tag = value(piece_.tag(), i);
        op.splits = value(piece_.splits(), i);
        if (!has_its_size(op)) {
          fail("bad-piece", fmt::format("splits or size of a collective contradict its type{}", place(i)),
               "the file is damaged; write it again");
        }
      }
      const std::size_t name_length = value(piece_.name_length(), i);
      if (name_length > piece_.names().size() - next_name) {
        fail("bad-piece", fmt::format("names are shorter than announced{}", place(i)), "the file is damaged; write it again");
      }
      const std::uint32_t index = builder_.add(op, std::string_view(piece_.names()).substr(next_name, name_length));
      next_name += name_length;
      for (std::uint32_t d = value(piece_.dependency_count(), i); d > 0; --d) {
        const std::uint32_t distance = next_distance < piece_.distance_size() ? piece_.distance(next_distance) : 0;
        if (distance == 0 || distance > index) {
          fail("bad-piece", fmt::format("a dependency does not point back to an op of the role{}", place(i)),
               "the file is damaged; write it again");
        }
        ++next_distance;
        ++edge_count_;
        builder_.depend(index, index - distance);
      }
    }
  }

  /// A barrier moves nothing, an all_to_all_v what its table says; nothing else has a table.
  bool has_its_size(const Op& op) const {
    const bool is_collective = op.kind == OpKind::collective;
    if (is_collective && op.collective == CollectiveType::all_to_all_v) {
      return op.splits < workload_.splits.size() && op.bytes == workload_.splits[op.splits].row_sum_max();
    }
    return op.splits == 0 && !(is_collective && op.collective == CollectiveType::barrier && op.bytes != Bytes::zero());
  }

  void finish_role() {
    if (!role_) return;
    const pb::Role& role = header_.role(static_cast<int>(*role_));
    if (builder_.size() != role.packed_op_count() || edge_count_ != role.packed_edge_count()) {
      fail("truncated-file",
           fmt::format("role \"{}\" has {} and {}, {} and {} are announced", workload_.role_names[*role_],
                       counted(builder_.size(), "op", "ops"), counted(edge_count_, "dependency", "dependencies"),
                       role.packed_op_count(), role.packed_edge_count()),
           "the file was cut off; fetch it again");
    }
    // Dependencies point back and streams run in file order: no cycle is possible.
    workload_.roles[*role_] = std::move(std::move(builder_).finish().dag);
  }

  void check_seats(Diagnostics& diagnostics) const {
    const FrameIndex index(workload_);
    std::vector<bool> is_used(workload_.communicators.size(), false);
    for (std::size_t r = 0; r < workload_.roles.size(); ++r) {
      const RoleDag& dag = workload_.roles[r];
      std::vector<std::uint16_t> used;
      for (std::uint32_t i = 0; i < dag.size(); ++i) {
        if (dag.kind(OpId(i)) == OpKind::compute) continue;
        const std::uint16_t communicator = dag.op(OpId(i)).communicator;
        if (communicator > 0 && !is_used[communicator]) used.push_back(communicator);
        is_used[communicator] = true;
      }
      std::sort(used.begin(), used.end());
      for (const std::uint16_t c : used) {
        is_used[c] = false;
        if (const Seats seats = index.seats_of(r, c); seats.rank_without_group) {
          diagnostics.error(
              "no-group",
              fmt::format("rank {} plays role \"{}\" but is in no group of communicator \"{}\"", seats.rank_without_group->index(),
                          workload_.role_names[r], workload_.communicators[c].name()),
              stream_.place(), "add the rank to a group, or let it play another role");
        }
      }
    }
  }

  ByteStream stream_;
  pb::Workload header_;
  pb::PackedOps piece_;
  bool frame_read_ = false;
  Workload workload_;
  std::optional<std::uint32_t> role_;
  RoleBuilder builder_;
  std::uint64_t edge_count_ = 0;
};

}  // namespace

Workload read_workload_binary(const std::string& path) { return BinaryReader(path).read(); }

}  // namespace weft
