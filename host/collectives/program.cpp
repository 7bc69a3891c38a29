// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/program.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "core/text/textproto.hpp"
#include "host/collectives/data_flow.hpp"
#include "host/collectives/roles.hpp"
#include "host/program_file.pb.h"
#include "workloads/dag/rank_list.hpp"

namespace weft {

namespace {

namespace pb = program_file;

struct ProgramSettings {
  std::string file;
};

constexpr std::array program_params = {
    param<&ProgramSettings::file>({.name = "file",
                                   .kind = ParamKind::file,
                                   .meaning =
                                       "The algorithm, in protobuf text: see host/program_file.proto and "
                                       "host/collectives/examples. Relative to the current folder, in a scenario to the scenario's",
                                   .origin = "none: has to be given"}),
};

constexpr std::uint32_t program_ranks_max = 4096;
constexpr std::uint32_t parts_max = 1U << 16;
constexpr std::uint32_t steps_max = 1U << 14;         // of a role
constexpr std::uint64_t state_bits_max = 1ULL << 29;  // ranks x ranks x parts
constexpr std::uint64_t steps_of_all_max = 1'000'000;
constexpr std::size_t reported_faults_max = Diagnostics::kept_errors_max;

bool carries_parts(CollectiveType type) { return type != CollectiveType::barrier && type != CollectiveType::all_to_all_v; }

bool is_tied_to_ranks(CollectiveType type) {
  return type == CollectiveType::all_gather || type == CollectiveType::gather || type == CollectiveType::reduce_scatter ||
         type == CollectiveType::all_to_all || type == CollectiveType::scatter;
}

class Program final : public CollectiveAlgorithm {
 public:
  /// Without a file.
  Program() = default;
  Program(std::string name, CollectivePlan plan) : name_(std::move(name)), plan_(std::move(plan)) {}

  bool supports(CollectiveType type) const override { return carries_parts(type); }

  std::string objection(const CollectiveRequest& request) const override {
    if (!plan_) return "no file says how; give one: --set=program.file=FILE";
    const CollectiveRequest& own = plan_->request;
    if (request.type != own.type) return fmt::format("{} is an algorithm of {}", name_, to_text(own.type));
    if (request.ranks() != plan_->divisions[0]->positions()) {
      return fmt::format("{} is an algorithm for {} ranks", name_, plan_->divisions[0]->positions());
    }
    if (request.root != own.root) {
      return fmt::format("{} has rank {} as its root, not rank {}", name_, own.root, request.root);
    }
    return {};
  }

  CollectivePlan compile(const CollectiveRequest& request) const override {
    WEFT_CHECK(plan_ && objection(request).empty(), "a program compiles what it was written for");
    CollectivePlan plan = *plan_;
    plan.request = request;
    plan.buffer = request.whole_buffer();
    return plan;
  }

 private:
  std::string name_;
  std::optional<CollectivePlan> plan_;  ///< but for the request's layout and the size of the buffer
};

/// What a step of the file says, for all ranks of its role.
struct FileStep {
  StepKind kind = StepKind::join;
  PeerRule peer;
  PartRange parts;
  std::vector<std::uint32_t> after;
};

/// A step of a rank.
struct StepRef {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;
};

class ProgramReader {
 public:
  ProgramReader(const SourceText& source, const pb::Program& file, FieldPlaces places, Diagnostics& diagnostics)
      : source_(source), file_(file), places_(places), diagnostics_(diagnostics) {}

  std::unique_ptr<CollectiveAlgorithm> read() && {
    read_head();
    diagnostics_.throw_if_errors();
    for (int role = 0; role < file_.role_size(); ++role) read_role(role);
    check_everybody_plays();
    diagnostics_.throw_if_errors();
    match_messages();
    diagnostics_.throw_if_errors();
    CollectivePlan plan = build();
    for (const DataFlowFault& fault : find_data_flow_faults(plan, reported_faults_max)) report(fault);
    diagnostics_.throw_if_errors();
    return std::make_unique<Program>(source_.name(), std::move(plan));
  }

 private:
  // --- the head ---

  void read_head() {
    std::vector<std::string> names;
    for (std::size_t type = 0; type < collective_types; ++type) {
      const auto candidate = static_cast<CollectiveType>(type);
      if (!carries_parts(candidate)) continue;
      names.emplace_back(to_text(candidate));
      if (names.back() == file_.collective()) type_ = candidate;
    }
    if (std::find(names.begin(), names.end(), file_.collective()) == names.end()) {
      diagnostics_.error("unknown-collective",
                         fmt::format("there is no collective {} for a program", in_quotes(file_.collective())),
                         places_.of(file_, "collective"), suggestion(file_.collective(), names, "collective"));
    }
    if (file_.ranks() < 2 || file_.ranks() > program_ranks_max) {
      diagnostics_.error("out-of-range", fmt::format("a program is for 2 to {} ranks", program_ranks_max),
                         places_.of(file_, "ranks"), "write ranks: 8, for example");
    }
    if (file_.parts() < 1 || file_.parts() > parts_max) {
      diagnostics_.error("out-of-range", fmt::format("a buffer has 1 to {} parts", parts_max), places_.of(file_, "parts"),
                         "write parts: 8, for example");
    }
    if (diagnostics_.has_errors()) return;
    const std::uint32_t n = file_.ranks();
    if (std::uint64_t{n} * n * file_.parts() > state_bits_max) {
      diagnostics_.error("too-large", "ranks x ranks x parts is more than 2^29, too much to follow", places_.of(file_, "parts"),
                         "fewer parts, or a built-in algorithm");
    }
    if (is_tied_to_ranks(type_) && file_.parts() % n != 0) {
      diagnostics_.error("bad-value",
                         fmt::format("results of {} are tied to ranks, so parts must be a multiple of ranks", to_text(type_)),
                         places_.of(file_, "parts"), fmt::format("write parts: {}, for example", (file_.parts() / n + 1) * n));
    }
    if (file_.root() >= n || (file_.root() > 0 && !has_root(type_))) {
      diagnostics_.error("bad-value",
                         has_root(type_) ? "the root is no rank of the program" : fmt::format("{} has no root", to_text(type_)),
                         places_.of(file_, "root"), has_root(type_) ? "ranks count from 0" : "leave it out");
    }
    if (file_.role_size() == 0) {
      diagnostics_.error("missing-field", "the program has no role", source_.whole_file(), "write role { step { ... } }");
    }
    role_of_.assign(n, none);
  }

  // --- roles ---

  void read_role(int index) {
    const pb::Role& role = file_.role(index);
    const FieldPlaces inside = places_.inside(file_, "role", index);
    std::vector<RankId> ranks;
    if (role.ranks().empty() && file_.role_size() == 1) {
      for (std::uint32_t rank = 0; rank < file_.ranks(); ++rank) ranks.emplace_back(rank);
    } else {
      ParsedRankList list = parse_rank_list(role.ranks(), file_.ranks());
      if (!list.error.empty()) {
        diagnostics_.error("bad-value", fmt::format("ranks {}: {}", in_quotes(role.ranks()), list.error),
                           role.ranks().empty() ? places_.of(file_, "role", index) : inside.of(role, "ranks"),
                           fmt::format("write ranks: \"0-3,8\", for example; ranks are below {}", file_.ranks()));
      }
      ranks = std::move(list.ranks);
    }
    for (const RankId rank : ranks) {
      if (std::exchange(role_of_[rank.index()], static_cast<std::uint32_t>(index)) == none) continue;
      diagnostics_.error("rank-with-two-roles", fmt::format("rank {} plays a role already", rank.index()), inside.of(role, "ranks"),
                         "every rank plays one role");
      break;
    }
    std::vector<FileStep>& steps = steps_.emplace_back();
    if (static_cast<std::uint32_t>(role.step_size()) > steps_max) {
      diagnostics_.error("too-large", fmt::format("a role has at most {} steps", steps_max), places_.of(file_, "role", index));
      return;
    }
    std::map<std::string, std::uint32_t, std::less<>> by_name;
    for (int i = 0; i < role.step_size(); ++i) steps.push_back(read_step(role, inside, i, by_name));
  }

  FileStep read_step(const pb::Role& role, const FieldPlaces& in_role, int index,
                     std::map<std::string, std::uint32_t, std::less<>>& by_name) {
    const pb::Step& given = role.step(index);
    const FieldPlaces inside = in_role.inside(role, "step", index);
    const SourcePlace whole = in_role.of(role, "step", index);
    FileStep step;
    switch (given.what_case()) {
      case pb::Step::kSend:
        step.kind = StepKind::send;
        read_exchange(given.send(), inside.inside(given, "send"), whole, step);
        break;
      case pb::Step::kReceive:
        step.kind = StepKind::receive;
        read_exchange(given.receive(), inside.inside(given, "receive"), whole, step);
        break;
      case pb::Step::kReceiveReduce:
        step.kind = StepKind::receive_reduce;
        read_exchange(given.receive_reduce(), inside.inside(given, "receive_reduce"), whole, step);
        break;
      case pb::Step::WHAT_NOT_SET:
        diagnostics_.error("missing-field", "the step does nothing", whole, "give it a send, a receive or a receive_reduce");
        break;
    }
    if (role.in_order() && index > 0) step.after.push_back(static_cast<std::uint32_t>(index - 1));
    for (int i = 0; i < given.after_size(); ++i) {
      const auto found = by_name.find(given.after(i));
      if (found == by_name.end()) {
        std::vector<std::string> names;
        for (const auto& [name, number] : by_name) names.push_back(name);
        diagnostics_.error("unknown-step", fmt::format("no step above is called {}", in_quotes(given.after(i))),
                           inside.of(given, "after", i),
                           names.empty() ? "steps wait for steps above them" : suggestion(given.after(i), names, "step"));
      } else if (std::find(step.after.begin(), step.after.end(), found->second) == step.after.end()) {
        step.after.push_back(found->second);
      }
    }
    if (!given.name().empty() && !by_name.emplace(given.name(), static_cast<std::uint32_t>(index)).second) {
      diagnostics_.error("duplicate-name", fmt::format("there are two steps called {} in this role", in_quotes(given.name())),
                         inside.of(given, "name"), "rename one of them");
    }
    return step;
  }

  void read_exchange(const pb::Exchange& given, const FieldPlaces& inside, const SourcePlace& whole, FileStep& step) {
    if (type_ == CollectiveType::all_to_all && step.kind == StepKind::receive_reduce) {
      diagnostics_.error("bad-value", "an all_to_all adds nothing up", whole, "write receive");
    }
    const int ways = (given.has_peer() ? 1 : 0) + (given.has_peer_offset() ? 1 : 0) + (given.has_peer_xor() ? 1 : 0);
    if (ways != 1) {
      diagnostics_.error(ways == 0 ? "missing-field" : "conflicting-fields", "the step needs one other side", whole,
                         "write one of peer: 3, peer_offset: 1 and peer_xor: 1");
    } else if (given.has_peer()) {
      step.peer = {PeerRule::Kind::member, 0, static_cast<std::int32_t>(given.peer())};
      check_peer(given.peer() < file_.ranks(), inside.of(given, "peer"));
    } else if (given.has_peer_offset()) {
      step.peer = {PeerRule::Kind::offset, 0, given.peer_offset()};
    } else {
      step.peer = {PeerRule::Kind::exclusive_or, 0, static_cast<std::int32_t>(given.peer_xor())};
      check_peer(given.peer_xor() < 2 * program_ranks_max, inside.of(given, "peer_xor"));
    }
    if (given.has_share_offset() == !given.parts().empty()) {
      diagnostics_.error(given.has_share_offset() ? "conflicting-fields" : "missing-field", "the step needs its parts, said once",
                         whole, "write parts: \"0-3\", or share_offset: 1 for the share of the next rank");
    } else if (!given.parts().empty()) {
      read_parts(given.parts(), inside.of(given, "parts"), step.parts);
    } else if (file_.parts() % file_.ranks() != 0) {
      diagnostics_.error("bad-value",
                         fmt::format("there are no equal shares of {} parts for {} ranks", file_.parts(), file_.ranks()),
                         inside.of(given, "share_offset"), "write parts, or let parts be a multiple of ranks");
    } else {
      const std::uint32_t width = file_.parts() / file_.ranks();
      step.parts = {0, width, {}, {PartIndex::Kind::offset, 0, given.share_offset(), width}};
    }
  }

  void check_peer(bool is_rank, const SourcePlace& place) {
    if (is_rank) return;
    diagnostics_.error("out-of-range", "there is no such rank", place, fmt::format("ranks are below {}", file_.ranks()));
  }

  /// "3" or "3-5".
  void read_parts(const std::string& text, const SourcePlace& place, PartRange& parts) {
    const char* const end = text.data() + text.size();
    std::uint32_t first = 0;
    auto [next, error] = std::from_chars(text.data(), end, first);
    std::uint32_t last = first;
    bool is_range = error == std::errc{};
    if (is_range && next != end) {
      is_range = *next == '-';
      if (is_range) {
        const auto rest = std::from_chars(next + 1, end, last);
        is_range = rest.ec == std::errc{} && rest.ptr == end;
      }
    }
    if (!is_range || last < first) {
      diagnostics_.error("bad-value", fmt::format("{} names no parts", in_quotes(text)), place,
                         "write parts: \"2\" or parts: \"4-7\"");
    } else if (last >= file_.parts()) {
      diagnostics_.error("out-of-range", fmt::format("there is no part {}", last), place,
                         fmt::format("parts are below {}", file_.parts()));
    } else {
      parts = {first, last - first + 1, {}, {}};
    }
  }

  void check_everybody_plays() {
    std::uint64_t steps = 0;
    for (std::uint32_t rank = 0; rank < role_of_.size(); ++rank) {
      if (role_of_[rank] != none) {
        steps += steps_[role_of_[rank]].size();
      } else if (!diagnostics_.has_errors()) {
        diagnostics_.error("rank-without-role", fmt::format("rank {} plays no role", rank), places_.of(file_, "role", 0),
                           fmt::format("every rank below {} plays one", file_.ranks()));
      }
    }
    if (steps > steps_of_all_max) {
      diagnostics_.error("too-large", fmt::format("all ranks together have more than {} steps", steps_of_all_max),
                         source_.whole_file());
    }
  }

  // --- messages ---

  const FileStep& step_of(const StepRef& ref) const { return steps_[role_of_[ref.rank]][ref.step]; }
  SourcePlace place_of(const StepRef& ref) const {
    const auto role = static_cast<int>(role_of_[ref.rank]);
    return places_.inside(file_, "role", role).of(file_.role(role), "step", static_cast<int>(ref.step));
  }

  std::int64_t peer_of(const StepRef& ref) const {
    const PeerRule& rule = step_of(ref).peer;
    switch (rule.kind) {
      case PeerRule::Kind::offset:
        return wrapped(ref.rank + std::int64_t{rule.operand}, file_.ranks());
      case PeerRule::Kind::exclusive_or:
        return ref.rank ^ static_cast<std::uint32_t>(rule.operand);
      default:
        return rule.operand;
    }
  }
  /// First part and number of parts.
  std::pair<std::uint32_t, std::uint32_t> parts_of(const StepRef& ref) const {
    const PartRange& range = step_of(ref).parts;
    if (range.inner.kind != PartIndex::Kind::offset) return {range.base, range.count};
    return {wrapped(ref.rank + std::int64_t{range.inner.operand}, file_.ranks()) * range.count, range.count};
  }
  std::string parts_text(const StepRef& ref) const {
    const auto [first, count] = parts_of(ref);
    return count == 1 ? fmt::format("part {}", first) : fmt::format("parts {}-{}", first, first + count - 1);
  }

  /// At most one error of a kind for a step of the file, whatever number of ranks runs into it.
  void report_once(const StepRef& ref, const std::string& code, std::string message, std::string help) {
    if (!reported_.emplace(role_of_[ref.rank], ref.step, code).second) return;
    diagnostics_.error(code, std::move(message), place_of(ref), std::move(help));
  }

  void match_messages() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::vector<StepRef>, std::vector<StepRef>>> between;
    remote_steps_.resize(file_.ranks());
    for (std::uint32_t rank = 0; rank < file_.ranks(); ++rank) {
      const std::vector<FileStep>& steps = steps_[role_of_[rank]];
      remote_steps_[rank].resize(steps.size());
      for (std::uint32_t s = 0; s < steps.size(); ++s) {
        const StepRef ref{rank, s};
        const std::int64_t peer = peer_of(ref);
        if (peer == rank || peer >= file_.ranks()) {
          report_once(ref, peer == rank ? "sends-to-itself" : "out-of-range",
                      fmt::format("the other side of rank {} is {}", rank,
                                  peer == rank ? "itself" : fmt::format("rank {}, which is not there", peer)),
                      "");
          continue;
        }
        const auto other = static_cast<std::uint32_t>(peer);
        if (steps[s].kind == StepKind::send) {
          between[{rank, other}].first.push_back(ref);
        } else {
          between[{other, rank}].second.push_back(ref);
        }
      }
    }
    for (const auto& [ranks, messages] : between) {
      const auto& [sends, receives] = messages;
      const std::string from = fmt::format("rank {}", ranks.first);
      const std::string to = fmt::format("rank {}", ranks.second);
      for (std::size_t k = 0; k < std::max(sends.size(), receives.size()); ++k) {
        if (k >= receives.size()) {
          report_once(sends[k], "unmatched-send",
                      fmt::format("{} sends {} to {}, which has no receive for it", from, parts_text(sends[k]), to),
                      fmt::format("let {} receive from {}", to, from));
        } else if (k >= sends.size()) {
          report_once(receives[k], "unmatched-receive",
                      fmt::format("{} receives {} from {}, which does not send it", to, parts_text(receives[k]), from),
                      fmt::format("let {} send to {}", from, to));
        } else if (parts_of(sends[k]) != parts_of(receives[k])) {
          report_once(sends[k], "unequal-parts",
                      fmt::format("{} sends {} to {}, which expects {}", from, parts_text(sends[k]), to, parts_text(receives[k])),
                      fmt::format("the receive is at line {}; sends and receives between two ranks match in the order of the file",
                                  place_of(receives[k]).line));
        } else {
          remote_steps_[sends[k].rank][sends[k].step] = receives[k].step;
        }
      }
    }
  }

  // --- the plan ---

  CollectivePlan build() {
    const GroupLayout layout = GroupLayout::one_per_host(file_.ranks());
    CollectivePlan plan({type_, file_.root(), Bytes::zero(), &layout, nullptr}, file_.parts(), Bytes::zero());
    RoleNumbers roles;
    std::vector<std::uint32_t> first_player;
    for (std::uint32_t rank = 0; rank < file_.ranks(); ++rank) {
      RoleNumbers::Description description = remote_steps_[rank];
      description.push_back(role_of_[rank]);
      plan.role_of.push_back(roles.number_of(description));
      if (roles.descriptions().size() > first_player.size()) first_player.push_back(rank);
    }
    for (const std::uint32_t rank : first_player) plan.programs.push_back(program_of(rank));
    return plan;
  }

  CollectiveProgram program_of(std::uint32_t rank) const {
    CollectiveProgramBuilder builder;
    for (const FileStep& step : steps_[role_of_[rank]]) {
      const std::uint32_t number = builder.add({step.kind, 0, false, step.peer, remote_steps_[rank][builder.size()], step.parts});
      for (const std::uint32_t earlier : step.after) builder.after(number, earlier);
    }
    return std::move(builder).build();
  }

  void report(const DataFlowFault& fault) {
    if (fault.step == DataFlowFault::at_end) {
      diagnostics_.error(fault.code, fault.message, places_.of(file_, "role", static_cast<int>(role_of_[fault.position])));
      return;
    }
    std::string help;
    if (fault.other_step != DataFlowFault::at_end) {
      help = fmt::format("the other is at line {}; order them with in_order: true, or with after",
                         place_of({fault.position, fault.other_step}).line);
    }
    report_once({fault.position, fault.step}, fault.code, fault.message, std::move(help));
  }

  static constexpr std::uint32_t none = UINT32_MAX;

  const SourceText& source_;
  const pb::Program& file_;
  FieldPlaces places_;
  Diagnostics& diagnostics_;
  CollectiveType type_ = CollectiveType::all_reduce;
  std::vector<std::uint32_t> role_of_;                    ///< by rank
  std::vector<std::vector<FileStep>> steps_;              ///< by role
  std::vector<std::vector<std::uint32_t>> remote_steps_;  ///< by rank and step; of sends
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::string>> reported_;
};

std::unique_ptr<CollectiveAlgorithm> make_program(const ParamSet& params) {
  const std::string file = filled<ProgramSettings>(params).file;
  if (file.empty()) return std::make_unique<Program>();
  return read_collective_program(SourceText::read(file));
}

}  // namespace

std::unique_ptr<CollectiveAlgorithm> read_collective_program(const SourceText& source) {
  source.require_utf8_text("collective program");
  pb::Program file;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  return ProgramReader(source, file, document.places(), diagnostics).read();
}

Module<CollectiveAlgorithmFactory> program_algorithm() {
  return {{"collective", "program",
           "An algorithm of your own, from a file: for every rank (or a list of ranks that do alike) what it sends, receives and "
           "adds up, to "
           "and from whom, which parts of the buffer, and in which order. What was read is checked: every send has its receive, "
           "nobody waits "
           "for ever, and every rank ends with what the collective promises.",
           program_params},
          &make_program};
}

}  // namespace weft
