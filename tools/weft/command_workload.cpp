// `weft workload`: looks at workloads and turns foreign ones into Weft's own files.
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/weft/commands.hpp"
#include "tools/weft/output_file.hpp"
#include "tools/weft/workload_flags.hpp"
#include "workloads/dag_writer.hpp"
#include "workloads/summary.hpp"
#include "workloads/workload_reader.hpp"

namespace weft {

namespace {

struct WorkloadFlags {
  std::string input;
  std::string out;
  WorkloadOptions options;
  bool json = false;
};

Workload load(const WorkloadFlags& flags) {
  const FileAndFormat file = split_format(flags.input);
  return load_workload(file.file, file.format, flags.options);
}

nlohmann::ordered_json to_json(const WorkloadSummary& summary) {
  nlohmann::ordered_json json = {{"name", summary.name}, {"ranks", summary.ranks}, {"ops", summary.ops}};
  json["roles"] = nlohmann::ordered_json::array();
  for (const RoleSummary& role : summary.roles) {
    nlohmann::ordered_json ops;
    for (std::size_t kind = 0; kind < role.ops_by_kind.size(); ++kind) {
      ops[std::string(to_text(static_cast<OpKind>(kind)))] = role.ops_by_kind[kind];
    }
    json["roles"].push_back({{"name", role.name},
                             {"ranks", role.ranks},
                             {"ops", ops},
                             {"edges", role.edges},
                             {"streams", role.streams},
                             {"compute_total_s", role.compute_total.in_s()},
                             {"critical_path_s", role.critical_path.in_s()},
                             {"memory_bytes", role.memory_bytes}});
  }
  json["communication"] = nlohmann::ordered_json::array();
  for (const CommunicationSummary& row : summary.communication) {
    json["communication"].push_back({{"communicator", row.communicator},
                                     {"type", row.type},
                                     {"group_size_min", row.group_size_min},
                                     {"group_size_max", row.group_size_max},
                                     {"ops", row.ops},
                                     {"bytes", row.bytes.count()}});
  }
  json["memory_bytes"] = summary.memory_bytes;
  json["assumptions"] = summary.assumptions;
  return json;
}

int show(const WorkloadFlags& flags) {
  const WorkloadSummary summary = summarise(load(flags));
  if (flags.json) {
    std::cout << to_json(summary).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  } else {
    std::cout << to_text(summary);
  }
  return kExitDone;
}

int import(const WorkloadFlags& flags) {
  const std::string& out = flags.out;
  const bool is_text = out.ends_with(".textproto");
  if (!is_text && !out.ends_with(".pb")) {
    SourcePlace place;
    place.file = "--out=" + out;
    throw InputError({Severity::error, "unknown-ending", "the ending does not say which form to write", place,
                      "FILE.textproto for text, FILE.pb for the compact binary form"});
  }
  const Workload workload = load(flags);
  for (const std::string& assumption : workload.assumptions) std::cerr << "note: " << assumption << "\n";
  OutputFile file(out);
  if (is_text) {
    file.write(to_workload_text(workload));
  } else {
    write_workload_binary(workload, [&file](std::string_view piece) { file.write(piece); });
  }
  file.commit();
  std::cout << "wrote " << out << " (" << std::filesystem::file_size(out) << " bytes)\n";
  return kExitDone;
}

void add_input_options(CLI::App* command, const std::shared_ptr<WorkloadFlags>& flags) {
  command
      ->add_option("file", flags->input, "Workload: " + workload_format_names() + "; for chakra FILE is PREFIX of PREFIX.0.et ...")
      ->type_name("FILE[:format]")
      ->required();
  add_workload_flags(*command, flags->options);
}

}  // namespace

void add_workload_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("workload", "Look at workloads, import foreign ones");
  command->require_subcommand(1);
  auto flags = std::make_shared<WorkloadFlags>();

  CLI::App* show_command = command->add_subcommand("show", "What a workload holds: roles, ops, collectives, bytes");
  add_input_options(show_command, flags);
  show_command->add_flag("--json", flags->json, "Print JSON");
  show_command->callback([flags, &action] { action = [flags] { return show(*flags); }; });

  CLI::App* import_command = command->add_subcommand("import", "Write a workload as Weft's own file");
  add_input_options(import_command, flags);
  import_command->add_option("--out", flags->out, "FILE.textproto for text, FILE.pb for the compact binary form")
      ->type_name("FILE")
      ->required();
  import_command->footer("Example:\n  weft workload import traces/all_reduce:chakra --out=all_reduce.textproto");
  import_command->callback([flags, &action] { action = [flags] { return import(*flags); }; });
}

}  // namespace weft
