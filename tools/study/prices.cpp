// SPDX-License-Identifier: Apache-2.0
#include "tools/study/prices.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"
#include "core/text/textproto.hpp"
#include "tools/study/prices.pb.h"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

class PriceReader {
 public:
  explicit PriceReader(const std::string& path) : source_(SourceText::read(path)), document_(source_, message_, diagnostics_) {
    diagnostics_.throw_if_errors();
    prices_.file = path;
  }

  Prices read() {
    for (int i = 0; i < message_.switch__size(); ++i) {
      const study::SwitchPrice& from = message_.switch_(i);
      prices_.switches.push_back(entry(from, "switch", i, "capacity", from.capacity()));
    }
    for (int i = 0; i < message_.cable_size(); ++i) {
      const study::CablePrice& from = message_.cable(i);
      Prices::Entry cable = entry(from, "cable", i, "rate", from.rate());
      const SourcePlace place = document_.places().inside(message_, "cable", i).of(from, "length_max");
      if (!from.length_max().empty()) cable.reach = read_fibre_delay(from.length_max(), place, diagnostics_).value_or(Duration());
      if (!from.length_max().empty() && cable.reach == Duration())
        diagnostics_.error("out-of-range", "a cable has a length", place, "write length_max: \"3m\", or drop it for any length");
      prices_.cables.push_back(cable);
    }
    for (int i = 0; i < message_.nic_size(); ++i) {
      const study::NicPrice& from = message_.nic(i);
      prices_.nics.push_back(entry(from, "nic", i, "rate", from.rate()));
    }
    if (message_.has_host()) prices_.host = price(message_.host(), document_.places().inside(message_, "host"));
    diagnostics_.throw_if_errors();
    return std::move(prices_);
  }

 private:
  template <class Message>
  Price price(const Message& from, const FieldPlaces& places) {
    const auto check = [&](const char* field, double value) {
      if (!(value >= 0) || std::isinf(value))
        diagnostics_.error("out-of-range", fmt::format("{} is {}, and a number from 0 on", field, value), places.of(from, field));
    };
    check("cost", from.cost());
    check("watts", from.watts());
    return {.cost = from.cost(), .watts = from.watts()};
  }

  template <class Message>
  Prices::Entry entry(const Message& from, const char* kind, int i, const char* field, const std::string& rate) {
    const FieldPlaces places = document_.places().inside(message_, kind, i);
    Prices::Entry made{.price = price(from, places)};
    if (rate.empty()) {
      diagnostics_.error("missing-field", fmt::format("the {} has no {}", kind, field), document_.places().of(message_, kind, i),
                         fmt::format("write {}: \"400Gbps\"", field));
      return made;
    }
    const std::optional<Bandwidth> read = read_link_rate(rate, places.of(from, field), diagnostics_);
    if (read) made.rate_bps = static_cast<double>(read->in_bps());
    return made;
  }

  Diagnostics diagnostics_;
  study::Prices message_;
  SourceText source_;
  TextprotoDocument document_;
  Prices prices_;
};

std::string rate_text(double bps) { return to_text(Bandwidth::bps(static_cast<std::int64_t>(bps))); }

/// The cheapest that does. Throws InputError.
Price cheapest(const std::vector<Prices::Entry>& entries, double rate_bps, Duration delay, const Prices& prices,
               std::string_view kind, const std::string& part) {
  const Price* best = nullptr;
  for (const Prices::Entry& entry : entries) {
    if (entry.rate_bps < rate_bps || (entry.reach != Duration() && entry.reach < delay)) continue;
    const Price& price = entry.price;
    if (best == nullptr || price.cost < best->cost || (price.cost == best->cost && price.watts < best->watts)) best = &price;
  }
  if (best == nullptr) {
    const std::string length = delay == Duration() ? "" : fmt::format(" and {:.6g} m", delay.in_ns() / 5);
    fail("no-price", fmt::format("no {} of the table does for {}, of {}{}", kind, part, rate_text(rate_bps), length),
         SourcePlace::named(prices.file), fmt::format("add {} {{ ... cost: watts: }}", kind));
  }
  return *best;
}

void add(Price& sum, const Price& price, double times = 1) {
  sum.cost += times * price.cost;
  sum.watts += times * price.watts;
}

}  // namespace

Prices read_prices(const std::string& path) { return PriceReader(path).read(); }

PricedTopology priced(const Topology& topology, const Prices& prices) {
  PricedTopology made;
  const auto is_switch = [&](NodeId id) { return topology.node(id).kind == NodeKind::packet_switch; };
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const NodeId id(static_cast<std::uint32_t>(i));
    double rate_bps = 0;
    for (const LinkId out : topology.out_links(id)) {
      if (is_switch(id) || is_switch(topology.link(out).destination))
        rate_bps += static_cast<double>(topology.link(out).rate.in_bps());
    }
    if (rate_bps == 0) continue;
    if (is_switch(id)) {
      add(made.fabric, cheapest(prices.switches, rate_bps, Duration(), prices, "switch", topology.node_name(id)));
    } else {
      add(made.nics, cheapest(prices.nics, rate_bps, Duration(), prices, "nic", topology.node_name(id)));
    }
  }
  for (std::size_t i = 0; i < topology.link_count(); i += 2) {
    const LinkId id(static_cast<std::uint32_t>(i));
    const Link& link = topology.link(id);
    if (!is_switch(link.source) && !is_switch(link.destination)) continue;
    const Bandwidth rate = std::max(link.rate, topology.link(topology.reverse(id)).rate);
    add(made.fabric, cheapest(prices.cables, static_cast<double>(rate.in_bps()), link.propagation_delay, prices, "cable",
                              topology.link_name(id)));
  }
  add(made.all, made.fabric);
  add(made.all, made.nics);
  add(made.all, prices.host, static_cast<double>(topology.host_count()));
  return made;
}

}  // namespace weft
