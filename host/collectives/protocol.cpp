// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/protocol.hpp"

#include <array>
#include <cmath>

#include "core/text/param_rows.hpp"

namespace weft {

namespace {

struct ProtocolSettings {
  Duration base_latency;
  Duration hop_latency_inside;
  Duration hop_latency_network;
  double efficiency;
};

using Table = std::array<ParamSpec, 4>;

constexpr std::string_view nccl_latencies = "NCCL's tuning model, ring";

constexpr Table table(std::string_view base, std::string_view inside, std::string_view network, std::string_view efficiency,
                      std::string_view efficiency_origin) {
  constexpr auto latency = [](std::string_view name, std::string_view value, std::string_view meaning) -> ParamSpec {
    return {.name = name, .default_text = value, .minimum = "0ns", .maximum = "1s", .meaning = meaning, .origin = nccl_latencies};
  };
  return {param<&ProtocolSettings::base_latency>(latency("base_latency", base, "Once per collective")),
          param<&ProtocolSettings::hop_latency_inside>(
              latency("hop_latency_inside", inside, "Of every receive from the same host, on top of the message's arrival")),
          param<&ProtocolSettings::hop_latency_network>(
              latency("hop_latency_network", network, "Of every receive from another host, on top of the message's arrival")),
          param<&ProtocolSettings::efficiency>({.name = "efficiency",
                                                .default_text = efficiency,
                                                .minimum = "0.01",
                                                .maximum = "1",
                                                .meaning = "Share of the bytes moved that is data",
                                                .origin = efficiency_origin})};
}

constexpr Table simple_table = table("8.4us", "3.4us", "14us", "1", "no flags in the data");
constexpr Table ll_table = table("6.6us", "0.6us", "2.7us", "0.5", "4 bytes of flag with every 4 bytes of data");
constexpr Table ll128_table = table("14us", "1.9us", "4us", "0.9375", "8 bytes of flags with every 120 bytes of data");

template <const char* Name>
CollectiveProtocol make_protocol(const ParamSet& params) {
  const auto settings = filled<ProtocolSettings>(params);
  return {Name,
          settings.base_latency,
          settings.hop_latency_inside,
          settings.hop_latency_network,
          settings.efficiency,
          settings.efficiency};
}

constexpr char simple_name[] = "simple";
constexpr char ll_name[] = "ll";
constexpr char ll128_name[] = "ll128";

CollectiveProtocol make_ideal(const ParamSet&) { return {}; }

constexpr std::array<Module<CollectiveProtocolFactory>, 4> protocols = {{
    {{"protocol", "ideal", "Costs nothing: times are those of the network alone.", {}}, &make_ideal},
    {{"protocol", "simple", "NCCL's Simple: data alone, signalled by memory fences. For large messages.", simple_table},
     &make_protocol<simple_name>},
    {{"protocol", "ll", "NCCL's LL (low latency): a flag with every word of data. For small messages; half of the bandwidth.",
      ll_table},
     &make_protocol<ll_name>},
    {{"protocol", "ll128", "NCCL's LL128: flags in every 128 bytes, as NVLink stores them together. In between.", ll128_table},
     &make_protocol<ll128_name>},
}};

}  // namespace

Bytes CollectiveProtocol::moved_bytes(Bytes data, bool inside_host) const {
  const double efficiency = inside_host ? efficiency_inside : efficiency_network;
  if (efficiency == 1) return data;
  return Bytes::of(static_cast<std::int64_t>(std::ceil(static_cast<double>(data.count()) / efficiency)));
}

std::span<const Module<CollectiveProtocolFactory>> collective_protocols() { return protocols; }

}  // namespace weft
