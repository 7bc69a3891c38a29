// SPDX-License-Identifier: Apache-2.0
#include "workloads/decentralized/site_programs.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/check.hpp"
#include "workloads/schedules/one_forward_one_backward.hpp"

namespace weft {

namespace {

using After = SiteScript::After;

constexpr double bits_per_byte = 8;

/// What messages are for, in their tags.
enum class Purpose : std::uint32_t { up, down, global_up, global_down, broadcast, model, forward, back };
constexpr std::uint32_t purposes = 8;

std::uint32_t tag_of(Purpose purpose, std::uint32_t exchange = 0) {
  return exchange * purposes + static_cast<std::uint32_t>(purpose);
}
SiteTags tags_of(std::uint32_t exchange) { return {tag_of(Purpose::up, exchange), tag_of(Purpose::down, exchange)}; }
SiteTags global_tags_of(std::uint32_t exchange) {
  return {tag_of(Purpose::global_up, exchange), tag_of(Purpose::global_down, exchange)};
}

void append(After& to, const After& more) { to.insert(to.end(), more.begin(), more.end()); }

Duration at_speed(Duration duration, double speed) {
  if (speed == 1) return duration;
  return Duration::ticks(std::llround(static_cast<double>(duration.in_ticks()) / speed));
}

/// From unit `from` to `to` of `units` equal ones, to the tick.
Duration part_of_time(Duration whole, std::uint32_t units, std::uint32_t from, std::uint32_t to) {
  const auto at = [&](std::uint32_t unit) { return whole.in_ticks() / units * unit + whole.in_ticks() % units * unit / units; };
  return Duration::ticks(at(to) - at(from));
}

/// What came of an exchange is waited for before that step.
struct Pending {
  std::uint64_t due = 0;
  After done = {};
};

void take_due(std::vector<Pending>& pending, std::uint64_t step, After& waits) {
  std::erase_if(pending, [&](const Pending& one) {
    if (one.due > step) return false;
    append(waits, one.done);
    return true;
  });
}

}  // namespace

// --- What all share ---

Bytes SitePrograms::part_of(double bits, std::uint32_t part) const {
  const auto whole = static_cast<std::int64_t>(std::ceil(bits / bits_per_byte));
  const std::int64_t count = parts();
  return Bytes::of(whole * (part + 1) / count - whole * part / count);
}

Bytes SitePrograms::model_bytes() const {
  const double share = in_.method == SiteMethod::pipeline_groups ? in_.stages : 1;
  return Bytes::of(static_cast<std::int64_t>(std::ceil(in_.parameters * in_.model_bits / share / bits_per_byte)));
}

std::uint64_t SitePrograms::step_of(std::uint32_t part) const {
  const std::uint64_t count = in_.fragments;
  return ((part + std::uint64_t{1}) * in_.inner_steps + count - 1) / count;
}

const SitePrograms::Attendance& SitePrograms::attendance(std::uint32_t region, std::uint32_t position, std::uint32_t round) const {
  const bool of_stage = in_.method == SiteMethod::pipeline_groups;
  const std::uint32_t place = of_stage ? position : region;
  if (!ranks_.some_leave()) round = 0;
  const auto [known, is_new] = attendance_.try_emplace({place, round});
  Attendance& there = known->second;
  if (!is_new) return there;
  std::vector<std::uint32_t> givers;
  std::vector<std::uint32_t> takers;
  const std::uint32_t count = of_stage ? ranks_.regions() : ranks_.region_size();
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto [unit, at] = of_stage ? std::pair(i, place) : std::pair(place, i);
    there.some_leave = there.some_leave || ranks_.leaves(unit, at, round);
    if (!ranks_.is_there(unit, at, round)) continue;
    there.ranks.push_back(ranks_.node(unit, at));
    (ranks_.joins(unit, at, round) ? takers : givers).push_back(there.ranks.back());
  }
  for (const std::uint32_t taker : takers) there.gifts.push_back({givers[there.gifts.size() % givers.size()], taker});
  // Where some leave, each of the others writes its own ops.
  if (ranks_.some_leave()) budget_.expect(there.ranks.size());
  return there;
}

SiteParty SitePrograms::party(std::uint32_t region, std::uint32_t position, std::uint32_t round) const {
  SiteParty party;
  party.ranks = attendance(region, position, round).ranks;
  const auto self = std::lower_bound(party.ranks.begin(), party.ranks.end(), ranks_.node(region, position));
  party.self = static_cast<std::uint32_t>(self - party.ranks.begin());
  party.communicator = in_.method == SiteMethod::hierarchical ? communicators_.region : communicators_.nodes;
  party.communicator_size = in_.method == SiteMethod::pipeline_groups ? ranks_.regions() : ranks_.region_size();
  party.server = server_of(region);
  return party;
}

SiteParty SitePrograms::leader_party(std::uint32_t region) const {
  SiteParty party;
  party.self = region;
  if (leaders_.empty()) {
    for (std::uint32_t i = 0; i < ranks_.regions(); ++i)
      leaders_.push_back(ranks_.has_region_servers() ? ranks_.region_server(i) : ranks_.node(i, 0));
  }
  party.ranks = leaders_;
  party.communicator = communicators_.leaders;
  party.communicator_size = ranks_.regions();
  party.server = server_address();
  return party;
}

SiteAddress SitePrograms::server_of(std::uint32_t region) const {
  if (in_.method != SiteMethod::hierarchical) return server_address();
  if (communicators_.region != 0)
    return {communicators_.region, PeerAddressing::absolute, static_cast<std::int32_t>(ranks_.region_size())};
  return rank_address(ranks_.region_server(region));
}

/// Members wait in vain for one that has left, in the round's first exchange.
After SitePrograms::noticed(SiteScript& script, std::uint32_t region, const Moment& at, const After& after) const {
  if (at.part > 0 || in_.leave_timeout == Duration::zero()) return after;
  // Of groups all stages leave together.
  if (!attendance(region, 0, at.round).some_leave) return after;
  return {script.wait("timeout", in_.leave_timeout, after)};
}

/// An exchange as one of its members.
After SitePrograms::exchange(SiteScript& script, SiteExchange how, const SiteParty& party, Bytes bytes, SiteTags tags,
                             const After& after) const {
  std::optional<std::uint32_t> partner;
  if (how == SiteExchange::gossip) {
    const auto [drawn, is_new] = partners_.try_emplace(tags.up);
    if (is_new) {
      budget_.expect(party.ranks.size() / 2 * 2);  // who has no partner sits out
      drawn->second = gossip_partners(party.ranks.size(), in_.seed, tags.up);
    }
    WEFT_CHECK(drawn->second.size() == party.ranks.size(), "parties of one tag are alike");
    partner = drawn->second[party.self];
  }
  return exchange_as_member(script, how, party, partner, bytes, tags, after);
}

// --- Nodes ---

class SitePrograms::Node {
 public:
  Node(const SitePrograms& all, std::uint32_t region, std::uint32_t position)
      : all_(all),
        in_(all.in_),
        ranks_(all.ranks_),
        script_(all.budget_),
        region_(region),
        position_(position),
        step_time_(at_speed(in_.step_time, ranks_.speed(region, position))) {}

  RoleDag write() {
    part_done_.resize(all_.parts());
    global_done_.resize(all_.parts());
    for (std::uint32_t round = 0; round < ranks_.rounds(); ++round) {
      if (!ranks_.is_there(region_, position_, round)) {
        pending_.clear();
        part_done_.assign(all_.parts(), {});
        last_.clear();
        waits_.clear();
        hold_.clear();
        continue;
      }
      if (ranks_.joins(region_, position_, round)) join(round);
      give_model(round);
      if (in_.layers > 1) {
        layered_window(round);
      } else {
        window(round);
      }
    }
    return script_.finish();
  }

 private:
  bool is_pipeline() const { return in_.method == SiteMethod::pipeline || in_.method == SiteMethod::pipeline_groups; }

  /// Who is back gets the model from the server, or from nodes that stayed, in turn.
  bool has_giving_server() const {
    if (in_.method == SiteMethod::hierarchical) return ranks_.has_region_servers();
    return in_.method == SiteMethod::diloco && ranks_.has_server();
  }
  std::uint32_t own_rank() const { return ranks_.node(region_, position_); }
  const std::vector<Gift>& gifts(std::uint32_t round) const { return all_.attendance(region_, position_, round).gifts; }
  void join(std::uint32_t round) {
    SiteAddress from;
    if (has_giving_server()) {
      from = all_.server_of(region_);
    } else {
      for (const Gift& gift : gifts(round)) {
        if (gift.taker == own_rank()) from = rank_address(gift.giver);
      }
    }
    waits_.push_back(script_.receive("model", from, all_.model_bytes(), tag_of(Purpose::model, round)));
  }
  void give_model(std::uint32_t round) {
    if (round == 0 || has_giving_server() || in_.leave_probability == 0) return;
    // With all that exchanges have come to.
    After ready = waits_;
    append(ready, last_);
    for (const After& done : part_done_) append(ready, done);
    for (const After& done : global_done_) append(ready, done);
    for (const Gift& gift : gifts(round)) {
      if (gift.giver == own_rank())
        script_.send("model", rank_address(gift.taker), all_.model_bytes(), tag_of(Purpose::model, round), ready);
    }
  }

  void window(std::uint32_t round) {
    const std::uint64_t begin = std::uint64_t{round} * in_.inner_steps;
    const std::uint64_t end = begin + in_.inner_steps;
    std::set<std::uint64_t> cuts = {end};
    for (std::uint32_t part = 0; part < in_.fragments; ++part) cuts.insert(begin + all_.step_of(part));
    const auto cut_at_dues = [&](std::uint64_t now) {
      for (const Pending& one : pending_) {
        if (one.due > now && one.due < end) cuts.insert(one.due);
      }
    };
    cut_at_dues(begin);
    std::uint64_t at = begin;
    std::uint32_t part = 0;
    for (auto cut = cuts.begin(); cut != cuts.end(); ++cut) {
      compute(at, *cut);
      at = *cut;
      for (; part < in_.fragments && begin + all_.step_of(part) == at; ++part) {
        part_done_[part] = exchanged({round, part, at});
        pending_.push_back({at + in_.overlap_steps, part_done_[part]});
      }
      take_due(pending_, at, waits_);
      cut_at_dues(at);
    }
  }

  void compute(std::uint64_t from, std::uint64_t to) {
    if (is_pipeline()) {
      for (std::uint64_t step = from; step < to; ++step) pipeline_step();
      return;
    }
    run("steps", step_time_ * static_cast<std::int64_t>(to - from), waits_);
    waits_.clear();
  }

  void run(std::string_view name, Duration duration, const After& after) {
    After ready = after;
    append(ready, last_);
    last_ = {script_.compute(name, duration, ready)};
  }

  // --- Layers ---

  void layered_window(std::uint32_t round) {
    const std::uint32_t layers = in_.layers;
    const std::uint32_t units = 3 * layers - 1;
    std::uint32_t unit = 0;
    const auto next = [&](std::string_view name, std::uint32_t count, const After& after) {
      run(name, part_of_time(step_time_, units, unit, unit + count), after);
      unit += count;
    };
    // Parts are layers from the last one on.
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      After ready = part_done_[layers - 1 - layer];
      if (layer == 0) append(ready, waits_);
      next("forward", 1, ready);
    }
    waits_.clear();
    if (in_.inner_steps > 1) run("steps", step_time_ * static_cast<std::int64_t>(in_.inner_steps - 1), {});
    for (std::uint32_t layer = layers; layer-- > 0;) {
      next("backward", layer > 0 ? 2 : 1, {});
      const std::uint32_t part = layers - 1 - layer;
      part_done_[part] = exchanged({round, part, 0});
    }
  }

  // --- Pipelines ---

  SiteAddress stage(std::uint32_t other, bool of_acknowledgements) const {
    const SiteCommunicators& of = all_.communicators_;
    const std::uint16_t communicator = of_acknowledgements ? of.acknowledgements : of.region;
    return {communicator, PeerAddressing::absolute, static_cast<std::int32_t>(other)};
  }
  Bytes activation() const { return Bytes::of(static_cast<std::int64_t>(std::ceil(in_.activation_bytes))); }

  std::uint32_t take_over(std::uint32_t from, Purpose purpose) {
    const std::uint32_t here = script_.receive("take_over", stage(from, false), activation(), tag_of(purpose));
    if (in_.blocking_sends) script_.send("acknowledge", stage(from, true), Bytes::zero(), tag_of(purpose), {here});
    return here;
  }
  void hand_over(std::uint32_t to, Purpose purpose) {
    script_.send("hand_over", stage(to, false), activation(), tag_of(purpose), last_);
    if (in_.blocking_sends) hold_ = {script_.receive("acknowledged", stage(to, true), Bytes::zero(), tag_of(purpose))};
  }
  void pass(std::string_view name, Duration duration, After ready) {
    append(ready, hold_);
    hold_.clear();
    append(ready, waits_);
    waits_.clear();
    run(name, duration, ready);
  }

  void pipeline_step() {
    const std::uint32_t stages = in_.stages;
    const std::uint32_t passes = stages * in_.micro_batches;
    const Duration whole = part_of_time(step_time_, passes, 0, 1);
    const bool is_first = position_ == 0;
    const bool is_last = position_ + 1 == stages;
    if (!in_.backward) {
      for (std::uint32_t i = 0; i < in_.micro_batches; ++i) {
        After ready;
        if (!is_first) ready = {take_over(position_ - 1, Purpose::forward)};
        pass("microbatch", whole, ready);
        hand_over(is_last ? 0 : position_ + 1, is_last ? Purpose::back : Purpose::forward);
      }
      for (std::uint32_t i = 0; is_first && i < in_.micro_batches; ++i) waits_.push_back(take_over(stages - 1, Purpose::back));
      return;
    }
    const Duration forward = part_of_time(whole, 3, 0, 1);
    PipelineSizes sizes;
    sizes.stages = stages;
    sizes.microbatches = in_.micro_batches;
    for (const PipelinePass& one : one_forward_one_backward_passes(sizes, position_)) {
      const bool is_forward = one.kind == PassKind::forward;
      const bool comes_from_other = is_forward ? !is_first : !is_last;
      const bool goes_to_other = is_forward ? !is_last : !is_first;
      const Purpose purpose = is_forward ? Purpose::forward : Purpose::back;
      After ready;
      if (comes_from_other) ready = {take_over(is_forward ? position_ - 1 : position_ + 1, purpose)};
      pass(is_forward ? "forward" : "backward", is_forward ? forward : whole - forward, ready);
      if (goes_to_other) hand_over(is_forward ? position_ + 1 : position_ - 1, purpose);
    }
  }

  // --- Exchanges ---

  /// Begins with all that the node has done so far, and with what the part's exchange before came
  /// to: a change is one from there.
  After exchanged(const Moment& at) {
    After after = last_;
    append(after, part_done_[at.part]);
    if (is_pipeline()) {
      append(after, waits_);
      append(after, hold_);
    }
    const SiteTags tags = tags_of(all_.exchange_number(at));
    if (in_.method == SiteMethod::pipeline || is_idle_stage()) return {};
    if (in_.method == SiteMethod::hierarchical) return exchanged_in_region(at, after);
    if (in_.exchange != SiteExchange::star) after = all_.noticed(script_, region_, at, after);
    return all_.exchange(script_, in_.exchange, all_.party(region_, position_, at.round),
                         all_.part_of(all_.exchanged_bits(), at.part), tags, after);
  }
  /// Its leader exchanges for it.
  bool is_idle_stage() const { return in_.method == SiteMethod::pipeline_groups && in_.leader_exchanges && position_ > 0; }

  After exchanged_in_region(const Moment& at, const After& after) {
    const std::uint32_t number = all_.exchange_number(at);
    const SiteParty party = all_.party(region_, position_, at.round);
    const bool has_server = ranks_.has_region_servers();
    const After done = all_.exchange(script_, in_.regional_exchange, party, all_.part_of(all_.regional_bits(), at.part),
                                     tags_of(number), has_server ? after : all_.noticed(script_, region_, at, after));
    if (has_server || !ranks_.is_global(at.round)) return done;
    const Bytes bytes = all_.part_of(in_.exchange_bits(in_.compression), at.part);
    const bool is_first = position_ == 0;
    if (is_first) {
      After& global = global_done_[at.part];
      append(global, done);
      global = all_.exchange(script_, in_.exchange, all_.leader_party(region_), bytes, global_tags_of(number), After(global));
    }
    if (in_.overlap_steps == 0)
      return broadcast_along_chain(script_, party, bytes, tag_of(Purpose::broadcast, number),
                                   is_first ? global_done_[at.part] : done);
    if (is_first) pending_.push_back({at.step + std::uint64_t{in_.overlap_steps} * in_.regional_steps, global_done_[at.part]});
    return done;
  }

  const SitePrograms& all_;
  const SiteTrainingSettings& in_;
  const SiteRanks& ranks_;
  SiteScript script_;
  const std::uint32_t region_;
  const std::uint32_t position_;
  const Duration step_time_;
  After last_;   ///< the last computation
  After waits_;  ///< the next computation waits for them
  After hold_;   ///< of a stage whose sends block
  std::vector<Pending> pending_;
  std::vector<After> part_done_;    ///< the last exchange of each part
  std::vector<After> global_done_;  ///< likewise among regions
};

RoleDag SitePrograms::node(std::uint32_t region, std::uint32_t position) const {
  if (in_.method == SiteMethod::asynchronous) return asynchronous_node(position);
  return Node(*this, region, position).write();
}

// --- Servers ---

RoleDag SitePrograms::region_server(std::uint32_t region) const {
  SiteScript script(budget_);
  std::vector<Pending> pending;
  std::vector<After> global_done(parts());
  std::vector<After> given(parts());  // what the last round came to
  for (std::uint32_t round = 0; round < ranks_.rounds(); ++round) {
    give_models(script, region, round, given);
    SiteParty members = party(region, 0, round);
    members.is_server = true;
    for (std::uint32_t part = 0; part < parts(); ++part) {
      const Moment at{round, part, std::uint64_t{round} * in_.inner_steps + step_of(part)};
      const std::uint32_t number = exchange_number(at);
      const Bytes bytes = part_of(regional_bits(), part);
      After ready = noticed(script, region, at, gather_as_server(script, members, bytes, tags_of(number).up));
      if (ranks_.is_global(round)) {
        After& global = global_done[part];
        append(global, ready);
        global = exchange(script, in_.exchange, leader_party(region), part_of(in_.exchange_bits(in_.compression), part),
                          global_tags_of(number), After(global));
        pending.push_back({at.step + std::uint64_t{in_.overlap_steps} * in_.regional_steps, global});
      }
      take_due(pending, at.step, ready);
      send_to_members(script, members, bytes, tags_of(number).down, ready);
      given[part] = ready;
    }
  }
  return script.finish();
}

/// To those that are back, with all that exchanges have come to.
void SitePrograms::give_models(SiteScript& script, std::uint32_t region, std::uint32_t round,
                               const std::vector<After>& given) const {
  After ready;
  for (const After& one : given) append(ready, one);
  for (const Gift& gift : attendance(region, 0, round).gifts)
    script.send("model", rank_address(gift.taker), model_bytes(), tag_of(Purpose::model, round), ready);
}

RoleDag SitePrograms::server() const {
  SiteScript script(budget_);
  if (in_.method == SiteMethod::asynchronous) {
    serve_asynchronously(script);
    return script.finish();
  }
  const bool of_regions = in_.method == SiteMethod::hierarchical;
  std::vector<After> given(parts());
  for (std::uint32_t round = 0; round < ranks_.rounds(); ++round) {
    if (in_.method == SiteMethod::diloco) give_models(script, 0, round, given);
    if (of_regions && !ranks_.is_global(round)) continue;
    for (std::uint32_t part = 0; part < parts(); ++part) {
      const Moment at{round, part, 0};
      const Bytes bytes = part_of(exchanged_bits(), part);
      const SiteTags tags = of_regions ? global_tags_of(exchange_number(at)) : tags_of(exchange_number(at));
      for (std::uint32_t stage = 0; stage < exchanging_stages(); ++stage) {
        SiteParty members = of_regions ? leader_party(0) : party(0, stage, round);
        members.is_server = true;
        members.communicator = 0;
        const After all = gather_as_server(script, members, bytes, tags.up);
        // Leaders of regions never leave.
        given[part] = of_regions ? all : noticed(script, 0, at, all);
        send_to_members(script, members, bytes, tags.down, given[part]);
      }
    }
  }
  return script.finish();
}

// --- Asynchronous ---

std::uint32_t SitePrograms::steps_at(double speed) const {
  if (!in_.dynamic_steps) return in_.inner_steps;
  return std::max(1U, static_cast<std::uint32_t>(std::lround(in_.inner_steps * speed / ranks_.fastest())));
}

std::uint32_t SitePrograms::rounds_at(double speed) const {
  if (in_.dynamic_steps) return in_.outer_steps;
  return std::max(1U, static_cast<std::uint32_t>(std::lround(in_.outer_steps * speed / ranks_.fastest())));
}

RoleDag SitePrograms::asynchronous_node(std::uint32_t position) const {
  SiteScript script(budget_);
  const double speed = ranks_.speed(0, position);
  const Duration steps = at_speed(in_.step_time, speed) * static_cast<std::int64_t>(steps_at(speed));
  After ready;
  for (std::uint32_t round = 0; round < rounds_at(speed); ++round) {
    if (!ranks_.is_there(0, position, round)) {
      ready = {script.wait("away", steps, ready)};
      continue;
    }
    if (ranks_.joins(0, position, round)) {
      // It asks for the model as it is now.
      script.send("ask", server_address(), Bytes::zero(), tag_of(Purpose::forward, round), ready);
      ready = {script.receive("model", server_address(), model_bytes(), tag_of(Purpose::model, round))};
    }
    ready = {script.compute("steps", steps, ready)};
    const Bytes bytes = part_of(in_.exchange_bits(in_.compression), 0);
    SiteParty party;
    party.server = server_address();
    ready = exchange_as_member(script, SiteExchange::star, party, {}, bytes, tags_of(round), ready);
  }
  return script.finish();
}

void SitePrograms::serve_asynchronously(SiteScript& script) const {
  const Bytes bytes = part_of(in_.exchange_bits(in_.compression), 0);
  for (std::uint32_t node = 0; node < ranks_.region_size(); ++node) {
    const SiteAddress address{0, PeerAddressing::absolute, static_cast<std::int32_t>(ranks_.node(0, node))};
    for (std::uint32_t round = 0; round < rounds_at(ranks_.speed(0, node)); ++round) {
      if (!ranks_.is_there(0, node, round)) continue;
      if (ranks_.joins(0, node, round)) {
        const std::uint32_t asked = script.receive("ask", address, Bytes::zero(), tag_of(Purpose::forward, round));
        script.send("model", address, model_bytes(), tag_of(Purpose::model, round), {asked});
      }
      const std::uint32_t here = script.receive("gather", address, bytes, tags_of(round).up);
      script.send("scatter", address, bytes, tags_of(round).down, {here});
    }
  }
}

}  // namespace weft
