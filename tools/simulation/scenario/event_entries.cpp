// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/event_entries.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "scheduler/failures/part_names.hpp"
#include "tools/simulation/scenario/host_list.hpp"
#include "tools/simulation/scenario/parameter_changes.hpp"

namespace weft {

namespace {

/// As long as jobs may be submitted.
const Duration event_time_max = Duration::s(366LL * 86'400);

/// Of an optional field of an event.
std::optional<Duration> duration_of(const std::string& field, const std::string& text, const SourcePlace& place) {
  if (text.empty()) return std::nullopt;
  const ParsedQuantity<Duration> parsed = parse_duration(text);
  if (!parsed.value) fail("bad-value", fmt::format("{}: {}", field, parsed.error.message), place, parsed.error.help);
  if (*parsed.value > event_time_max)
    fail("out-of-range", fmt::format("{}: {} is more than 366 days", field, text), place, "make it shorter");
  return *parsed.value;
}

class EventReader {
 public:
  EventReader(Scenario& scenario, const std::vector<std::string>& job_names)
      : scenario_(scenario),
        cluster_(empty_cluster(scenario)),
        job_names_(job_names),
        known_jobs_(job_names.begin(), job_names.end()) {
    for (const Drain& drain : scenario.maintenance.drains) book_.add(drain, "maintenance.plan");
  }

  void read(const scenario::Event& event, const SourcePlace& place, const FieldPlaces& inside,
            std::vector<std::string>::const_iterator& submitted) {
    place_ = place;
    at_ = time_of(event, inside, place);
    switch (event.what_case()) {
      case scenario::Event::kDrain:
        drain(event.drain(), inside.of(event, "drain"), inside.inside(event, "drain"));
        return;
      case scenario::Event::kFail:
        fail_part(event.fail(), inside.of(event, "fail"), inside.inside(event, "fail"));
        return;
      case scenario::Event::kSubmit:
        add(ScriptedEvent::Kind::submit, *submitted++);
        return;
      case scenario::Event::kCancel:
        cancel(event.cancel(), inside.of(event, "cancel"), inside.inside(event, "cancel"));
        return;
      case scenario::Event::kSet:
        set(event.set(), inside.of(event, "set"), inside.inside(event, "set"));
        return;
      case scenario::Event::kCall:
        call(event.call(), inside.of(event, "call"), inside.inside(event, "call"));
        return;
      case scenario::Event::WHAT_NOT_SET:
        fail("missing-field", "nothing happens in this event", place, "say what: drain, fail, submit, cancel, set or call { ... }");
    }
  }

  /// After the last event: puts all into the order of time.
  void finish() {
    const auto by_time = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(changes_.begin(), changes_.end(), by_time);
    for (auto& [at, change] : changes_) scenario_.changes.push_back(std::move(change));
    std::ranges::stable_sort(scenario_.events, {}, &ScriptedEvent::at);
    std::ranges::stable_sort(scenario_.maintenance.drains, {}, &Drain::at);
    std::vector<std::string> unused;
    settings_changes(scenario_, &unused);
    for (const std::string& name : unused)
      scenario_.assumptions.push_back(fmt::format("the event that sets {} changes nothing: the run does not use {} from then on",
                                                  name, name.substr(0, name.find('.'))));
  }

 private:
  void add(ScriptedEvent::Kind kind, std::string subject) { scenario_.events.push_back({at_, kind, std::move(subject)}); }

  void drain(const scenario::DrainEvent& said, const SourcePlace& place, const FieldPlaces& inside) {
    if (said.hosts().empty()) fail("missing-field", "a drain needs hosts", place, "for example hosts: \"0-7,16\"");
    const std::vector<HostId> hosts = parse_host_list("hosts", said.hosts(), cluster_.host_count(), inside.of(said, "hosts"));
    const std::optional<Duration> length = duration_of("for", said.for_(), inside.of(said, "for"));
    if (!length) fail("missing-field", "a drain needs to say how long it takes", place, "for example for: \"2h\"");
    const std::optional<Duration> notice = duration_of("notice", said.notice(), inside.of(said, "notice"));
    for (const HostId number : hosts) {
      const Drain drain{at_, number, *length, notice};
      const std::string host = fmt::format("host{}", number.index());
      const auto other = book_.add(drain, place_.line > 0 ? fmt::format("the event at line {}", place_.line) : "another event");
      if (other) {
        fail("overlapping-drains", fmt::format("{} is still drained then, or again before this drain ends, by {}", host, *other),
             inside.of(said, "hosts"), "join the two, or move one");
      }
      scenario_.maintenance.drains.push_back(drain);
      add(ScriptedEvent::Kind::drain, host);
    }
  }

  void fail_part(const scenario::FailEvent& said, const SourcePlace& place, const FieldPlaces& inside) {
    if (said.part().empty()) fail("missing-field", "a failure needs a part", place, "for example part: \"host3/gpu0\"");
    PartNames names(cluster_, scenario_.failures.network.get());
    const std::optional<Part> part = names.find(said.part());
    if (!part) {
      fail("unknown-part", fmt::format("the cluster has no part {}", in_quotes(said.part())), inside.of(said, "part"),
           names.help(said.part()));
    }
    LoggedFailure failure{at_, *part, duration_of("repair", said.repair(), inside.of(said, "repair"))};
    if (said.has_factor()) {
      const SourcePlace factor = inside.of(said, "factor");
      if (!(said.factor() > 0 && said.factor() < 1))
        fail("bad-factor", "a factor is a share of a link's speed, between 0 and 1", factor, "drop it: then the link is out");
      if (part->kind != PartKind::link)
        fail("bad-factor", fmt::format("{} is no link, and only links carry a share of their speed", in_quotes(said.part())),
             factor, "drop it");
      if (!simulates_network(scenario_.mode))
        fail("bad-factor", "job mode knows no speeds of links", factor, "drop it, or take flow mode");
      failure.fault = Fault::degrades;
      failure.share = said.factor();
    }
    scenario_.failures.log.push_back(failure);
    add(ScriptedEvent::Kind::fail, names.text(*part));
  }

  void cancel(const scenario::CancelEvent& said, const SourcePlace& place, const FieldPlaces& inside) {
    if (said.job().empty()) fail("missing-field", "a cancellation needs a job", place, "for example cancel { job: \"job0\" }");
    if (!known_jobs_.contains(said.job())) {
      // Among many names the one that was meant takes long to find, and no more than these are
      // shown.
      const bool suggests = unknown_jobs_++ < Diagnostics::kept_errors_max;
      fail("unknown-job", fmt::format("there is no job {}", in_quotes(said.job())), inside.of(said, "job"),
           suggests ? suggestion(said.job(), job_names_, "job") : "");
    }
    add(ScriptedEvent::Kind::cancel, said.job());
  }

  void call(const scenario::CallEvent& said, const SourcePlace& place, const FieldPlaces& inside) {
    if (said.handler().empty()) fail("missing-field", "a call needs a handler", place, "name one of the scenario's handlers");
    const std::vector<std::string>& known = scenario_.handlers;
    if (std::find(known.begin(), known.end(), said.handler()) == known.end()) {
      fail("unknown-handler", fmt::format("the scenario has no handler {}", in_quotes(said.handler())), inside.of(said, "handler"),
           known.empty() ? "add handler { name: \"...\" }; `weft modules handler` lists them"
                         : suggestion(said.handler(), known, "handler"));
    }
    add(ScriptedEvent::Kind::call, said.handler());
  }

  void set(const scenario::Setting& said, const SourcePlace& place, const FieldPlaces& inside) {
    if (said.name().empty()) {
      fail("missing-field", "the setting has no name", place, "for example set { name: \"scheduler.policy\" value: \"srtf\" }");
    }
    add(ScriptedEvent::Kind::set, fmt::format("{}={}", said.name(), said.value()));
    changes_.emplace_back(at_, ParameterChange{said.name(), said.value(), inside.of(said, "name"),
                                               inside.of(said, said.value().empty() ? "name" : "value")});
  }

  Scenario& scenario_;
  ClusterState cluster_;
  const std::vector<std::string>& job_names_;
  std::unordered_set<std::string_view> known_jobs_;
  std::size_t unknown_jobs_ = 0;  ///< that cancellations name
  DrainBook book_;
  std::vector<std::pair<Time, ParameterChange>> changes_;
  Time at_;
  SourcePlace place_;
};

}  // namespace

Time time_of(const scenario::Event& event, const FieldPlaces& inside, const SourcePlace& place) {
  if (event.at().empty()) fail("missing-field", "the event does not say when it happens", place, "for example at: \"3h\"");
  return Time::zero() + *duration_of("at", event.at(), inside.of(event, "at"));
}

void read_events(const scenario::Scenario& message, const FieldPlaces& places, const std::vector<std::string>& job_names,
                 const std::vector<std::string>& submitted, Scenario& scenario) {
  if (message.event_size() == 0) return;
  Diagnostics diagnostics;
  EventReader reader(scenario, job_names);
  auto next_submitted = submitted.begin();
  for (int i = 0; i < message.event_size(); ++i) {
    try {
      reader.read(message.event(i), places.of(message, "event", i), places.inside(message, "event", i), next_submitted);
    } catch (const InputError& error) {
      for (const Diagnostic& found : error.diagnostics()) diagnostics.add(found);
    }
  }
  try {
    reader.finish();
  } catch (const InputError& error) {
    for (const Diagnostic& found : error.diagnostics()) diagnostics.add(found);
  }
  diagnostics.throw_if_errors();
}

}  // namespace weft
