// SPDX-License-Identifier: Apache-2.0
#include "network/wide_area/wide_area_settings.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

constexpr Bytes window_least = Bytes::of(1024);

std::optional<Bytes> window_text(const std::string& text, const std::string& param) {
  const std::optional<Bytes> window = read_bytes_or(text, "unlimited", param);
  if (!window || *window >= window_least) return window;
  fail("out-of-range", fmt::format("{} = {} does not hold a segment", param, text), SourcePlace::named(param),
       "at least 1KiB, or unlimited");
}

constexpr std::array wan_settings_params = {
    param<&WideAreaSettings::congestion_control>(
        {.name = "congestion_control",
         .default_text = "auto",
         .choices = "auto|none|reno|cubic|bbr",
         .meaning =
             "What slows a queue pair down that crosses lines between sites: the rate that TCP has by its round trip and the "
             "loss of its lines. auto: cubic where lines of the path lose packets there or back, none where they do not. none: "
             "nothing but the links.",
         .origin = "cubic is Linux's default; leased wavelengths lose next to nothing and carry RDMA"}),
    param<&WideAreaSettings::segment>(
        {.name = "segment",
         .default_text = "1448B",
         .minimum = "1B",
         .maximum = "64KiB",
         .meaning = "Payload of a TCP segment between sites, where wan.congestion_control has TCP there.",
         .origin = "an Ethernet frame's 1,500 B less 20 B of IPv4, 20 B of TCP and 12 B of timestamps",
         .unused = {{"wan.congestion_control = none", "no TCP slows transfers down"},
                    {"wan.congestion_control = auto and lossy_lines = none",
                     "wan.congestion_control = auto takes TCP for lines that lose packets"}}}),
    param_read<window_text, &WideAreaSettings::window>(
        {.name = "window",
         .default_text = "4MiB",
         .meaning =
             "The most that a TCP connection between sites has under way, or unlimited: with R its round-trip time it gets at "
             "most window / R. It holds where wan.congestion_control has TCP.",
         .origin = "Linux lets a socket's send buffer grow to 4 MiB (net.ipv4.tcp_wmem) and its receive buffer to 6 MiB (tcp_rmem) "
                   "unless it is told otherwise, buffers' own overhead included, so that less is under way; hosts tuned for long "
                   "lines have 32 MiB and more",
         .unused = {{"wan.congestion_control = none", "no TCP slows transfers down"},
                    {"wan.congestion_control = auto and lossy_lines = none",
                     "wan.congestion_control = auto takes TCP for lines that lose packets"}}}),
};

}  // namespace

ParamTable wan_params() { return wan_settings_params; }

WideAreaSettings::WideAreaSettings() : WideAreaSettings(ParamSet("wan", wan_params()), 1) {}

WideAreaSettings::WideAreaSettings(const ParamSet& wan, std::uint64_t run_seed) : seed(run_seed) { fill(*this, wan); }

}  // namespace weft
