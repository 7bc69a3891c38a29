// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/simgrid_platform.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

/// Bytes of the names of all hosts of a cluster.
constexpr std::size_t simgrid_names_size_max = std::size_t{256} << 20;

}  // namespace

bool SimgridPlatform::claim(const std::string& name, pugi::xml_node element, Lines& lines, const char* what) {
  const SourcePlace place = file.place(element, "id");
  const auto [first, is_new] = lines.emplace(name, place.line);
  if (!is_new) {
    diagnostics.error("duplicate-name", fmt::format("there are two {}s called {}", what, in_quotes(name)), place,
                      fmt::format("the first is at line {}; ids are unique in a platform", first->second));
  }
  return is_new;
}

bool SimgridPlatform::room_for_one(pugi::xml_node element) {
  if (graph.node_count() < PlatformGraph::nodes_max) return true;
  diagnostics.error("too-large", fmt::format("there are more than {} hosts and routers", PlatformGraph::nodes_max),
                    file.place(element), "describe a smaller platform");
  return false;
}

void SimgridPlatform::note_profiles(pugi::xml_node element) {
  for (const char* attribute : {"availability_file", "state_file", "speed_file", "bandwidth_file", "latency_file"}) {
    if (element.attribute(attribute)) ++findings.profiles;
  }
}

std::optional<Bandwidth> SimgridPlatform::rate_of(pugi::xml_node element, const char* attribute) {
  if (const auto text = file.required(element, attribute)) return units.rate(*text, file.place(element, attribute));
  return std::nullopt;
}

std::optional<Duration> SimgridPlatform::time_of(pugi::xml_node element, const char* attribute) {
  if (!element.attribute(attribute)) return Duration::zero();
  if (const auto text = file.required(element, attribute)) return units.time(*text, file.place(element, attribute));
  return std::nullopt;
}

SimgridPolicy SimgridPlatform::policy_of(pugi::xml_node element, const char* attribute, SimgridPolicy otherwise) {
  if (!element.attribute(attribute)) return otherwise;
  const std::string text = element.attribute(attribute).value();
  if (text == "SHARED") return SimgridPolicy::shared;
  if (text == "SPLITDUPLEX") return SimgridPolicy::split_duplex;
  if (text == "FATPIPE") return SimgridPolicy::fat_pipe;
  const std::vector<std::string> known = {"SHARED", "SPLITDUPLEX", "FATPIPE"};
  if (text == "WIFI") {
    diagnostics.error("unsupported", "wireless links are not supported", file.place(element, attribute), "write SHARED");
  } else {
    diagnostics.error("unknown-policy", fmt::format("there is no sharing policy {}", in_quotes(text)),
                      file.place(element, attribute), suggestion(text, known, "policy"));
  }
  return otherwise;
}

std::optional<std::vector<std::uint64_t>> SimgridPlatform::radical_of(pugi::xml_node element) {
  const auto text = file.required(element, "radical");
  if (!text) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  std::string_view rest = *text;
  while (true) {
    const std::string_view part = rest.substr(0, rest.find(','));
    std::uint64_t first = 0;
    const char* const end = part.data() + part.size();
    auto [stop, error] = std::from_chars(part.data(), end, first);
    std::uint64_t last = first;
    if (error == std::errc() && stop != end && *stop == '-') {
      const auto second = std::from_chars(stop + 1, end, last);
      stop = second.ptr;
      error = second.ec;
    }
    if (error != std::errc() || stop != end || last < first) {
      diagnostics.error("bad-radical", fmt::format("{} lists no numbers of hosts", in_quotes(*text)),
                        file.place(element, "radical"), "write ranges and numbers between commas, such as \"0-15,20\"");
      return std::nullopt;
    }
    if (last - first >= PlatformGraph::nodes_max - std::min<std::uint64_t>(numbers.size(), PlatformGraph::nodes_max)) {
      diagnostics.error("too-large", fmt::format("the radical lists more than {} hosts", PlatformGraph::nodes_max),
                        file.place(element, "radical"), "describe a smaller platform");
      return std::nullopt;
    }
    for (std::uint64_t number = first;; ++number) {
      numbers.push_back(number);
      if (number == last) break;
    }
    if (part.size() == rest.size()) return numbers;
    rest.remove_prefix(part.size() + 1);
  }
}

std::optional<std::vector<std::string>> SimgridPlatform::hosts_of(pugi::xml_node element) {
  const auto radical = radical_of(element);
  if (!radical) return std::nullopt;
  const std::string prefix = element.attribute("prefix").value();
  const std::string suffix = element.attribute("suffix").value();
  if ((prefix.size() + suffix.size()) * radical->size() > simgrid_names_size_max) {
    diagnostics.error("too-large", "the names of the hosts are too long together", file.place(element),
                      "shorten prefix and suffix");
    return std::nullopt;
  }
  std::vector<std::string> hosts;
  for (const std::uint64_t number : *radical) {
    hosts.push_back(fmt::format("{}{}{}", prefix, number, suffix));
    const auto [first, is_new] = node_lines.emplace(hosts.back(), file.place(element).line);
    if (is_new) continue;
    diagnostics.error("duplicate-name", fmt::format("there are two nodes called {}", in_quotes(hosts.back())),
                      file.place(element, "radical"),
                      fmt::format("the first is at line {}; ids are unique in a platform", first->second));
    return std::nullopt;
  }
  return hosts;
}

std::optional<std::uint32_t> SimgridPlatform::link_of(pugi::xml_node element, const char* attribute) {
  const auto id = file.required(element, attribute);
  if (!id) return std::nullopt;
  const auto found = link_numbers.find(*id);
  if (found != link_numbers.end()) return found->second;
  // The two directions of a SPLITDUPLEX link have names of their own.
  for (const std::string_view ending : {"_UP", "_DOWN"}) {
    if (!id->ends_with(ending)) continue;
    const auto base = link_numbers.find(id->substr(0, id->size() - ending.size()));
    if (base != link_numbers.end() && policies[base->second] == SimgridPolicy::split_duplex) return base->second;
  }
  diagnostics.error("unknown-link", fmt::format("there is no link {}", in_quotes(*id)), file.place(element, attribute),
                    similar(*id, link_lines, "link"));
  return std::nullopt;
}

std::string SimgridPlatform::similar(const std::string& name, const Lines& lines, const std::string& what) const {
  if (diagnostics.error_count() >= Diagnostics::kept_errors_max) return {};
  std::vector<std::string> known;
  for (const auto& [key, line] : lines) known.push_back(key);
  const std::string best = closest(name, known);
  if (!best.empty()) return fmt::format("did you mean {}? it is defined at line {}", in_quotes(best), lines.find(best)->second);
  return fmt::format("define the {} before the routes, or correct the name", what);
}

}  // namespace weft
