// SPDX-License-Identifier: Apache-2.0
#include "host/projections/hardware_config.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/textproto.hpp"
#include "host/hardware.pb.h"

namespace weft {

namespace {

namespace pb = hardware_file;

constexpr std::uint32_t hardware_count_max = 1U << 16;
constexpr Bandwidth bandwidth_min = Bandwidth::bps(1'000'000);
constexpr double efficiency_min = 0.01;

AlphaBeta alpha_beta(const HardwareLink& link, double share) {
  constexpr double byte_bits = Bytes::of(1).in_bits();
  return {link.latency.in_s(), static_cast<double>(link.bandwidth.in_bps()) / byte_bits * link.efficiency * share};
}

class HardwareFiller {
 public:
  HardwareFiller(const pb::Hardware& file, FieldPlaces places, Diagnostics& diagnostics)
      : file_(file), places_(places), diagnostics_(diagnostics) {}

  HardwareConfig fill() {
    HardwareConfig hardware;
    hardware.name = file_.name();
    hardware.origin = file_.origin();
    constexpr std::uint32_t usual_gpus = 8;
    hardware.gpus_per_node = count("gpus_per_node", file_.gpus_per_node(), usual_gpus);
    hardware.nics_per_node = count("nics_per_node", file_.nics_per_node(), hardware.gpus_per_node);
    hardware.inside = link("inside", file_.has_inside(), file_.inside());
    hardware.between = link("between", file_.has_between(), file_.between());
    hardware.message_overhead = duration(file_, places_, "message_overhead", file_.message_overhead());
    return hardware;
  }

 private:
  void error(const char* code, std::string message, const SourcePlace& place, std::string help) {
    diagnostics_.error(code, std::move(message), place, std::move(help));
  }

  std::uint32_t count(const char* field, std::uint32_t value, std::uint32_t without) {
    if (value == 0) return without;
    if (value <= hardware_count_max) return value;
    error("out-of-range", fmt::format("{} = {} is more than {}", field, value, hardware_count_max), places_.of(file_, field), "");
    return without;
  }

  Duration duration(const google::protobuf::Message& message, const FieldPlaces& places, const char* field,
                    const std::string& text) {
    if (text.empty()) return Duration::zero();
    const ParsedQuantity<Duration> parsed = parse_duration(text);
    constexpr Duration most = Duration::ticks(Duration::ticks_per_s);
    if (!parsed.value) {
      error("bad-value", parsed.error.message, places.of(message, field), parsed.error.help);
    } else if (*parsed.value > most) {
      error("out-of-range", fmt::format("{} = {} is more than {}", field, text, to_text(most)), places.of(message, field), "");
    } else {
      return *parsed.value;
    }
    return Duration::zero();
  }

  HardwareLink link(const char* field, bool is_given, const pb::Link& given) {
    HardwareLink link;
    if (!is_given || given.bandwidth().empty()) {
      error("missing-field", fmt::format("{} has no bandwidth", field), places_.of(file_, field),
            fmt::format("write {} {{ bandwidth: \"400Gbps\" latency: \"2us\" }}", field));
      if (!is_given) return link;
    }
    const FieldPlaces places = places_.inside(file_, field);
    if (!given.bandwidth().empty()) {
      const ParsedQuantity<Bandwidth> parsed = parse_bandwidth(given.bandwidth());
      if (!parsed.value) {
        error("bad-value", parsed.error.message, places.of(given, "bandwidth"), parsed.error.help);
      } else if (*parsed.value < bandwidth_min) {
        error("out-of-range", fmt::format("bandwidth = {} is less than {}", given.bandwidth(), to_text(bandwidth_min)),
              places.of(given, "bandwidth"), "");
      } else {
        link.bandwidth = *parsed.value;
      }
    }
    link.latency = duration(given, places, "latency", given.latency());
    if (given.has_efficiency()) {
      if (given.efficiency() >= efficiency_min && given.efficiency() <= 1.0) {
        link.efficiency = given.efficiency();
      } else {
        error("out-of-range", fmt::format("efficiency = {} is not from {} to 1", given.efficiency(), efficiency_min),
              places.of(given, "efficiency"), "it is the share of the bandwidth that messages get");
      }
    }
    return link;
  }

  const pb::Hardware& file_;
  FieldPlaces places_;
  Diagnostics& diagnostics_;
};

}  // namespace

AlphaBeta HardwareConfig::inside_of_gpu() const { return alpha_beta(inside, 1.0); }

AlphaBeta HardwareConfig::between_of_gpu() const {
  return alpha_beta(between, static_cast<double>(nics_per_node) / static_cast<double>(gpus_per_node));
}

HardwareConfig read_hardware_config(const SourceText& source) {
  source.require_utf8_text("hardware configuration");
  Diagnostics diagnostics;
  pb::Hardware file;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  HardwareConfig hardware = HardwareFiller(file, document.places(), diagnostics).fill();
  diagnostics.throw_if_errors();
  if (hardware.name.empty()) hardware.name = source.name();
  return hardware;
}

}  // namespace weft
