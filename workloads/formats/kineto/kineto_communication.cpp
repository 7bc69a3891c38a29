// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_communication.hpp"

#include <array>
#include <charconv>

namespace weft {

namespace {

/// Calls around a launch that are looked at.
constexpr int enclosing_max = 256;

/// Fills what `communication` does not say from another event of the same call.
void complete(KinetoCommunication& communication, const KinetoCommunication& other) {
  const auto text = [](std::string& own, const std::string& theirs) {
    if (own.empty()) own = theirs;
  };
  const auto number = [](std::int64_t& own, std::int64_t theirs) {
    if (own < 0) own = theirs;
  };
  if (communication.elements_in < 0 || communication.type.empty()) {
    communication.elements_in = other.elements_in;
    communication.elements_out = other.elements_out;
    communication.type = other.type;
    communication.splits_in = other.splits_in;
    communication.splits_out = other.splits_out;
  }
  text(communication.group_name, other.group_name);
  text(communication.group_description, other.group_description);
  text(communication.group_ranks, other.group_ranks);
  number(communication.group_size, other.group_size);
  number(communication.rank_start, other.rank_start);
  number(communication.rank_stride, other.rank_stride);
  number(communication.root, other.root);
  number(communication.source, other.source);
  number(communication.destination, other.destination);
  number(communication.source_position, other.source_position);
  number(communication.destination_position, other.destination_position);
}

/// Reads "send 0->1" and "recv 1<-0", which name positions in the group.
void read_peers(KinetoCommunication& communication) {
  const std::string& text = communication.collective;
  const std::size_t space = text.find(' ');
  const std::size_t arrow = space == std::string::npos ? space : text.find_first_of("-<", space);
  if (arrow == std::string::npos || arrow + 2 > text.size()) return;
  std::int64_t own = -1;
  std::int64_t peer = -1;
  std::from_chars(text.data() + space + 1, text.data() + arrow, own);
  std::from_chars(text.data() + arrow + 2, text.data() + text.size(), peer);
  const bool sends = text[arrow] == '-';
  communication.source_position = sends ? own : peer;
  communication.destination_position = sends ? peer : own;
}

}  // namespace

std::optional<KinetoVerb> kineto_verb(std::string_view collective) {
  std::string plain;
  for (const char c : collective) {
    if (c == ' ') break;
    if (c != '_' && c != '-') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  struct Known {
    std::string_view start;
    KinetoVerb verb;
  };
  static constexpr std::array verb_names = {
      // NCCL's barrier reduces one element and calls itself "all_reduce_barrier".
      Known{"allreducebarrier", KinetoVerb::barrier},
      Known{"allreduce", KinetoVerb::all_reduce},
      Known{"allgather", KinetoVerb::all_gather},
      Known{"reducescatter", KinetoVerb::reduce_scatter},
      Known{"alltoall", KinetoVerb::all_to_all},
      Known{"broadcast", KinetoVerb::broadcast},
      Known{"reduce", KinetoVerb::reduce},
      Known{"barrier", KinetoVerb::barrier},
      Known{"send", KinetoVerb::send},
      Known{"recv", KinetoVerb::receive},
      Known{"gather", KinetoVerb::gather},
      Known{"scatter", KinetoVerb::scatter},
      Known{"coalesced", KinetoVerb::bundle},
  };
  for (const Known& known : verb_names) {
    if (plain.starts_with(known.start)) return known.verb;
  }
  return std::nullopt;
}

std::vector<std::string> kineto_collective_names() {
  return {"allreduce", "allgather", "reduce_scatter", "all_to_all", "broadcast", "reduce",
          "gather",    "scatter",   "barrier",        "send",       "recv"};
}

std::optional<ElementType> kineto_element_type(std::string_view name) {
  if (name.starts_with("c10::")) name.remove_prefix(5);
  static constexpr std::array type_names = {
      // c10::ScalarType
      ElementType{"Byte", 8},
      ElementType{"Char", 8},
      ElementType{"Short", 16},
      ElementType{"Int", 32},
      ElementType{"Long", 64},
      ElementType{"Half", 16},
      ElementType{"Float", 32},
      ElementType{"Double", 64},
      ElementType{"ComplexHalf", 32},
      ElementType{"ComplexFloat", 64},
      ElementType{"ComplexDouble", 128},
      ElementType{"Bool", 8},
      ElementType{"BFloat16", 16},
      ElementType{"Float8_e5m2", 8},
      ElementType{"Float8_e4m3fn", 8},
      ElementType{"Float8_e5m2fnuz", 8},
      ElementType{"Float8_e4m3fnuz", 8},
      ElementType{"Float8_e8m0fnu", 8},
      ElementType{"Float4_e2m1fn_x2", 8},
      ElementType{"UInt16", 16},
      ElementType{"UInt32", 32},
      ElementType{"UInt64", 64},
      ElementType{"QInt8", 8},
      ElementType{"QUInt8", 8},
      ElementType{"QInt32", 32},
      // C++ types, as annotations name them
      ElementType{"unsigned char", 8},
      ElementType{"signed char", 8},
      ElementType{"char", 8},
      ElementType{"short", 16},
      ElementType{"short int", 16},
      ElementType{"int", 32},
      ElementType{"long", 64},
      ElementType{"long int", 64},
      ElementType{"float", 32},
      ElementType{"double", 64},
      ElementType{"bool", 8},
      ElementType{"complex<float>", 64},
      ElementType{"complex<double>", 128},
  };
  for (const ElementType& type : type_names) {
    if (type.name == name) return type;
  }
  return std::nullopt;
}

KinetoCommunicationFinder::KinetoCommunicationFinder(const KinetoTrace& trace) : trace_(trace) {
  for (const KinetoCall& call : trace.calls) {
    if (call.external_id < 0 || call.communication == kineto_none) continue;
    of_external_id_.try_emplace(call.external_id, call.communication);
  }
}

std::optional<KinetoCommunication> KinetoCommunicationFinder::find(std::uint32_t kernel) const {
  std::vector<std::uint32_t> sources;
  if (trace_.kernels[kernel].communication != kineto_none) sources.push_back(trace_.kernels[kernel].communication);
  if (const auto op = of_external_id_.find(trace_.kernels[kernel].external_id); op != of_external_id_.end()) {
    sources.push_back(op->second);
  }
  if (const std::uint32_t launched_by = trace_.kernels[kernel].launch; launched_by != kineto_none) {
    const KinetoCall& launch = trace_.calls[launched_by];
    int seen = 0;
    for (std::uint32_t c = launched_by; c-- > 0 && seen < enclosing_max; ++seen) {
      const KinetoCall& call = trace_.calls[c];
      if (call.thread != launch.thread) break;
      if (call.end_ns >= launch.end_ns && call.communication != kineto_none) sources.push_back(call.communication);
    }
  }
  if (sources.empty()) return std::nullopt;
  KinetoCommunication communication = trace_.communications[sources.front()];
  for (const std::uint32_t source : sources) {
    KinetoCommunication other = trace_.communications[source];
    read_peers(other);
    complete(communication, other);
  }
  return communication;
}

}  // namespace weft
