// SPDX-License-Identifier: Apache-2.0
// `weft topology`: builds, shows, converts and partitions topologies.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "core/text/printed_json.hpp"
#include "tools/results/output_file.hpp"
#include "tools/simulation/scenario/input_kind.hpp"
#include "tools/simulation/scenario/parameters.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/validators.hpp"
#include "topologies/builders.hpp"
#include "topologies/topology_partition.hpp"
#include "topologies/topology_reader.hpp"
#include "topologies/topology_summary.hpp"
#include "topologies/topology_writer.hpp"

namespace weft {

namespace {

struct TopologyFlags {
  std::string input;
  std::string builder;
  std::vector<std::string> settings;
  std::string out;
  std::string to;
  std::string zeta;
  std::uint32_t lps_min = 0;
  bool json = false;
};

bool is_scenario(const FileAndFormat& file) {
  if (!file.format.empty() || !file.file.ends_with(".textproto")) return false;
  try {
    return recognise_input(file.file).kind == InputKind::scenario;
  } catch (const InputError&) {
    return false;  // The reader of topologies says what is wrong with it.
  }
}

std::shared_ptr<const Topology> load(const TopologyFlags& flags) {
  const FileAndFormat file = split_format(flags.input);
  if (!is_scenario(file)) return load_topology(file.file, file.format);
  RunFlags run;
  run.scenario_file = file.file;
  run.jobs_follow = true;
  const Scenario scenario = load_scenario(run, Probing::forbidden);
  if (scenario.topology == nullptr)
    fail("missing-field", "the scenario has no topology", SourcePlace::named(file.file), "its cluster is a number of hosts");
  return scenario.topology;
}

/// Names of formats for help: "weft, hpcc or simai".
std::string listed(std::span<const TopologyFormat> formats) {
  std::string names;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (i > 0) names += i + 1 == formats.size() ? " or " : ", ";
    names += formats[i].name;
  }
  return names;
}

/// What the reader assumed, for people; JSON and summaries have it themselves.
void print_assumptions(const Topology& topology) {
  for (const std::string& assumption : topology.assumptions()) std::cerr << "note: " << assumption << "\n";
}

/// `to` is the value of --to, empty if not given.
void write(const Topology& topology, const std::string& out, const std::string& to) {
  const FileAndFormat target = split_format(out);
  if (!to.empty() && !target.format.empty() && target.format != to) {
    fail("conflicting-formats", fmt::format("--out names the format {}, --to names {}", target.format, to),
         SourcePlace::named(fmt::format("--to={}", to)), "name the format once");
  }
  std::string format = to.empty() ? target.format : to;
  if (format.empty() && target.file.ends_with(".textproto")) format = "weft";
  if (format.empty() && target.file.ends_with(".dot")) format = "dot";
  if (format.empty()) {
    fail("unknown-ending", "the ending does not say which format to write", SourcePlace::named(fmt::format("--out={}", out)),
         fmt::format("write FILE.textproto, FILE.dot, or FILE:format with {}", listed(topology_output_formats())));
  }
  const std::string text =
      write_topology(topology, format, SourcePlace::named(to.empty() ? fmt::format("--out={}", out) : fmt::format("--to={}", to)));
  OutputFile file(target.file);
  file.write(text);
  file.commit();
  for (const std::string& lost : lost_in_format(topology, format)) std::cerr << "note: " << lost << "\n";
  std::cerr << "wrote " << target.file << " (" << format << ", " << text.size() << " bytes)\n";
}

nlohmann::ordered_json to_json(const TopologySummary& summary) {
  nlohmann::ordered_json json = {{"name", summary.name},
                                 {"hosts", summary.hosts},
                                 {"gpus", summary.gpus},
                                 {"ports", summary.ports},
                                 {"nvswitches", summary.nvswitches},
                                 {"nics", summary.nics},
                                 {"pcie_switches", summary.pcie_switches},
                                 {"switches", summary.switches},
                                 {"cables", summary.cables},
                                 {"gpus_per_host_min", summary.gpus_per_host_min},
                                 {"gpus_per_host_max", summary.gpus_per_host_max},
                                 {"diameter_links", summary.diameter_links},
                                 {"diameter_is_exact", summary.diameter_is_exact}};
  json["tiers"] = nlohmann::ordered_json::array();
  for (const TopologySummary::Tier& tier : summary.tiers) {
    json["tiers"].push_back({{"tier", tier.tier},
                             {"switches", tier.switches},
                             {"ports_min", tier.ports_min},
                             {"ports_max", tier.ports_max},
                             {"rate_down_bps", tier.rate_down_bps},
                             {"rate_up_bps", tier.rate_up_bps},
                             {"rate_same_bps", tier.rate_same_bps}});
  }
  json["cables_by_class"] = nlohmann::ordered_json::array();
  for (const TopologySummary::CableClass& cables : summary.cable_classes) {
    nlohmann::ordered_json& one = json["cables_by_class"].emplace_back();
    one = {{"from", cables.from},
           {"to", cables.to},
           {"rate_bps", cables.rate.in_bps()},
           {"delay_ns", cables.delay.in_ns()},
           {"count", cables.count}};
    if (cables.rate_back != cables.rate) one["rate_back_bps"] = cables.rate_back.in_bps();
    if (!cables.line) continue;
    one["loss"] = cables.line->loss;
    one["loss_back"] = cables.line_back->loss;
    one["jitter_ns"] = cables.line->jitter.in_ns();
    one["jitter_back_ns"] = cables.line_back->jitter.in_ns();
  }
  json["assumptions"] = summary.assumptions;
  return json;
}

int show_summary(const Topology& topology, bool as_json) {
  const TopologySummary summary = summarize(topology);
  if (as_json) {
    std::cout << printed_json(to_json(summary)) << "\n";
  } else {
    std::cout << to_text(summary);
  }
  return exit_done;
}

int build(const TopologyFlags& flags) {
  const auto& module = find_module(topology_builders(), flags.builder, SourcePlace::named("weft topology build"));
  ParamSet params(flags.builder, module.info.params);
  set_from_flags(params, flags.settings);
  const auto topology = module.make(params, SourcePlace::named(fmt::format("weft topology build {}", flags.builder)));
  if (!flags.out.empty()) write(*topology, flags.out, {});
  return show_summary(*topology, flags.json);
}

int partition(const TopologyFlags& flags) {
  const auto topology = load(flags);
  Partition found;
  if (flags.zeta.empty()) {
    found = partition_topology_automatically(*topology, flags.lps_min);
  } else {
    const ParsedQuantity<Duration> zeta = parse_duration(flags.zeta);
    if (!zeta.value)
      fail("bad-zeta", zeta.error.message, SourcePlace::named(fmt::format("--zeta={}", flags.zeta)), zeta.error.help);
    found = partition_topology(*topology, *zeta.value);
  }
  const PartitionSummary summary = summarize_partition(*topology, found);
  if (!flags.json) {
    std::cout << to_text(summary);
    return exit_done;
  }
  nlohmann::ordered_json json = {{"logical_processes", summary.lps.size()}, {"cut_cables", summary.cut_cables}};
  if (found.lookahead < Duration::max()) json["lookahead_ns"] = summary.lookahead.in_ns();
  json["sizes"] = nlohmann::ordered_json::array();
  for (const PartitionSummary::Lp& lp : summary.lps) {
    json["sizes"].push_back({{"lp", lp.id.index()}, {"hosts", lp.hosts}, {"switches", lp.switches}, {"cables_out", lp.cables_out}});
  }
  std::cout << printed_json(json) << "\n";
  return exit_done;
}

}  // namespace

void add_topology_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("topology", "Build, show, convert and partition topologies");
  command->require_subcommand(1);
  auto flags = std::make_shared<TopologyFlags>();
  const auto add_file = [flags](CLI::App* sub) {
    sub->add_option(
           "file", flags->input,
           fmt::format("Topology, or a scenario for its topology; formats: {}; *.textproto needs none", listed(topology_formats())))
        ->type_name("FILE[:format]")
        ->required();
  };
  const auto add_json = [flags](CLI::App* sub) { sub->add_flag("--json", flags->json, "Print JSON"); };

  CLI::App* build_command = command->add_subcommand("build", "Build a topology by name and say what it is");
  build_command->add_option("builder", flags->builder, "Name; `weft modules topology` lists builders and parameters")
      ->type_name("BUILDER")
      ->required();
  build_command->add_option("--set", flags->settings, "Parameter of the builder, repeatable")
      ->type_name("param=value")
      ->allow_extra_args(false);
  build_command
      ->add_option("--out", flags->out,
                   fmt::format("Also write it: .textproto, .dot, or FILE:format with {}", listed(topology_output_formats())))
      ->type_name("FILE[:format]");
  add_json(build_command);
  build_command->footer("Example:\n  weft topology build fat_tree --set=k=8 --out=net.txt:hpcc");
  build_command->callback([flags, &action] { action = [flags] { return build(*flags); }; });

  CLI::App* show_command = command->add_subcommand("show", "Hosts, switches, cables, tiers, oversubscription, diameter");
  add_file(show_command);
  add_json(show_command);
  add_input_flags(*show_command);
  show_command->callback([flags, &action] { action = [flags] { return show_summary(*load(*flags), flags->json); }; });

  CLI::App* convert_command = command->add_subcommand("convert", "Write a topology in another format");
  add_file(convert_command);
  convert_command->add_option("--out", flags->out, "File to write; .textproto and .dot say their format")
      ->type_name("FILE[:format]")
      ->required();
  convert_command->add_option("--to", flags->to, fmt::format("Format to write: {}", listed(topology_output_formats())))
      ->type_name("FORMAT");
  std::string formats;
  for (const TopologyFormat& format : topology_output_formats()) {
    formats += fmt::format("  {}\n      {}\n", format.name, format.summary);
  }
  convert_command->footer(fmt::format(
      "Formats to write:\n{}What the format cannot hold is told as a note, or refused where it would change the network.\n"
      "Example:\n  weft topology convert platform.xml:simgrid --out=net.textproto",
      formats));
  add_input_flags(*convert_command);
  convert_command->callback([flags, &action] {
    action = [flags] {
      const auto topology = load(*flags);
      print_assumptions(*topology);
      check_keeps_inputs(split_format(flags->out).file, std::vector{split_format(flags->input).file});
      write(*topology, flags->out, flags->to);
      return exit_done;
    };
  });

  CLI::App* partition_command =
      command->add_subcommand("partition", "How nodes would be dealt to logical processes, and the lookahead between them");
  add_file(partition_command);
  partition_command->add_option("--zeta", flags->zeta, "Nodes joined by a cable shorter than this share a logical process")
      ->type_name("DURATION");
  partition_command
      ->add_option("--lps", flags->lps_min, "Without --zeta: the longest lookahead that leaves so many logical processes")
      ->type_name("N")
      ->default_val(8)
      ->transform(whole_number<std::uint32_t>(1));
  add_json(partition_command);
  add_input_flags(*partition_command);
  partition_command->callback([flags, &action] { action = [flags] { return partition(*flags); }; });
}

}  // namespace weft
