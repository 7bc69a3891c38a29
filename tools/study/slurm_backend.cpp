// SPDX-License-Identifier: Apache-2.0
#include "tools/study/slurm_backend.hpp"

#include <algorithm>
#include <boost/tokenizer.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/text_pieces.hpp"
#include "tools/results/output_file.hpp"
#include "tools/study/captured_command.hpp"

namespace weft {

namespace {

constexpr const char* backend_flag = "--backend=slurm";
constexpr int exit_no_folder = 73;
constexpr int exit_no_study = 74;
constexpr int exit_no_program = 75;

/// As a word of a shell.
std::string shell_word(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// What squeue tells of an array.
struct ArrayState {
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  std::string reason;

  bool is_over() const { return running + waiting == 0; }
};

class SlurmRunner {
 public:
  SlurmRunner(const Study& study, const SlurmOptions& options)
      : study_(study),
        options_(options),
        out_(std::filesystem::absolute(options.out).lexically_normal()),
        runs_(points_of(study).size()),
        tasks_(options.tasks > 0 ? options.tasks : static_cast<std::uint32_t>(std::min<std::size_t>(runs_, tasks_default))) {}

  StudyResult run() {
    StudyResult result = collect(options_.earlier);
    for (std::uint32_t round = 1; result.missing() > 0 && !is_interrupted(); ++round) {
      const std::uint64_t missing = result.missing();
      if (round > SlurmOptions::rounds_max) fail_of_tasks(fmt::format("{} submissions", SlurmOptions::rounds_max), missing);
      progress_.round = round;
      submit(result);
      wait();
      result = collect(StudyFolder::Earlier::kept);
      if (result.missing() >= missing && !is_interrupted()) fail_of_tasks("the last submission", missing);
    }
    return result;
  }

 private:
  static constexpr std::size_t tasks_default = 16;

  bool is_interrupted() const { return options_.interrupt != nullptr && *options_.interrupt; }

  StudyResult collect(StudyFolder::Earlier earlier) const {
    StudyOptions collecting;
    collecting.out = options_.out;
    collecting.earlier = earlier;
    collecting.only_collects = true;
    return run_study(study_, collecting);
  }

  std::string shares_of(const StudyResult& result) const {
    std::set<std::uint32_t> shares;
    for (std::size_t run = 0; run < result.records.size(); ++run) {
      if (result.counts[run] && !result.records[run]) shares.insert(share_of(study_, run, tasks_));
    }
    std::string list;
    for (const std::uint32_t share : shares) list += fmt::format("{}{}", list.empty() ? "" : ",", share);
    return list;
  }

  void submit(const StudyResult& result) {
    const std::filesystem::path folder = out_ / "slurm";
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::filesystem::path script = folder / "array.sh";
    OutputFile file(script);
    file.write(script_text());
    file.commit_durably();
    std::vector<std::string> command = {"sbatch",
                                        "--parsable",
                                        "--no-requeue",
                                        fmt::format("--job-name=weft-{}", study_.name),
                                        fmt::format("--array={}", shares_of(result)),
                                        "--ntasks=1",
                                        fmt::format("--cpus-per-task={}", options_.threads),
                                        fmt::format("--output={}", (folder / "%A_%a.log").string()),
                                        fmt::format("--chdir={}", out_.string())};
    for (std::string& word : slurm_words(options_.arguments)) command.push_back(std::move(word));
    command.push_back(script.string());
    const CapturedCommand done = run_captured(command, backend_flag);
    std::string_view rest = done.output;
    progress_.array = std::string(trimmed(next_part(rest, ";\n"), " "));
    if (done.status == 0 && !progress_.array.empty()) return;
    fail("slurm-refused", fmt::format("sbatch refuses the job array: {}", done.errors.empty() ? done.output : done.errors),
         SourcePlace::named(backend_flag), "--slurm-args says partition, account, time and what else the cluster asks for");
  }

  std::string script_text() const {
    const std::string out = shell_word(out_.string());
    const std::string study = shell_word(std::filesystem::absolute(study_.file).lexically_normal().string());
    const std::string program = shell_word(std::filesystem::read_symlink("/proc/self/exe").string());
    return fmt::format(
        "#!/bin/sh\n"
        "# A share of a study: weft study --backend=slurm submits it as a job array.\n"
        "[ -e {0}/study.json ] || {{ echo \"no folder \"{0}\" here\"; exit {3}; }}\n"
        "[ -r {1} ] || {{ echo \"no study \"{1}\" here\"; exit {4}; }}\n"
        "[ -x {2} ] || {{ echo \"no program \"{2}\" here\"; exit {5}; }}\n"
        "exec {2} study {1} --out={0} --points=\"$SLURM_ARRAY_TASK_ID\"/{6} --threads={7} --quiet\n",
        out, study, program, exit_no_folder, exit_no_study, exit_no_program, tasks_, options_.threads);
  }

  /// Until no task of the array is left, or it is interrupted.
  void wait() {
    const auto begun = std::chrono::steady_clock::now();
    auto answered = begun;
    while (true) {
      const auto now = std::chrono::steady_clock::now();
      const CapturedCommand asked = run_captured({"squeue", "-h", "-r", "-j", progress_.array, "-o", "%T|%r"}, backend_flag);
      // Arrays that are over for some minutes are not known any more.
      const bool is_forgotten = asked.errors.find("Invalid job id") != std::string::npos;
      if (asked.status == 0 || is_forgotten) {
        answered = now;
        tell(is_forgotten ? ArrayState() : parse_queue(asked.output));
        if (progress_.running + progress_.waiting == 0) return;
      } else if (now - answered > std::chrono::minutes(10)) {
        fail("slurm-unreachable", fmt::format("squeue has failed for ten minutes: {}", asked.errors),
             SourcePlace::named(backend_flag),
             fmt::format("array {} goes on; --resume with the same flags collects what it has done", progress_.array));
      }
      const auto pause =
          std::clamp<std::chrono::milliseconds>(std::chrono::duration_cast<std::chrono::milliseconds>((now - begun) / 20),
                                                std::chrono::seconds(1), std::chrono::seconds(15));
      for (const auto until = now + pause; std::chrono::steady_clock::now() < until;) {
        if (is_interrupted()) {
          run_captured({"scancel", progress_.array}, backend_flag);
          return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  }

  static ArrayState parse_queue(const std::string& text) {
    ArrayState state;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::string_view rest = line;
      const std::string_view name = next_part(rest, "|");
      if (name == "PENDING") {
        if (state.waiting++ == 0) state.reason = std::string(rest);
      } else if (name == "RUNNING" || name == "CONFIGURING" || name == "SUSPENDED" || name == "STOPPED") {
        ++state.running;
      }
    }
    return state;
  }

  void tell(const ArrayState& state) {
    progress_.running = state.running;
    progress_.waiting = state.waiting;
    progress_.reason = state.reason;
    progress_.total = runs_;
    progress_.done = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(out_ / "points", error))
      progress_.done += entry.path().extension() == ".json" ? 1 : 0;
    if (options_.progress) options_.progress(progress_);
  }

  /// How many tasks of the last array ended with which state and exit status, as long as Slurm
  /// remembers.
  std::map<std::string, std::uint64_t> ends() const {
    std::map<std::string, std::uint64_t> counts;
    std::istringstream lines(run_captured({"scontrol", "show", "job", "-o", progress_.array}, backend_flag).output);
    const auto field = [](const std::string& line, const std::string& name) {
      const std::size_t at = line.find(" " + name + "=");
      if (at == std::string::npos) return std::string();
      const std::size_t begin = at + name.size() + 2;
      return line.substr(begin, line.find(' ', begin) - begin);
    };
    for (std::string line; std::getline(lines, line);) {
      const std::string state = field(line, "JobState");
      if (!state.empty()) ++counts[fmt::format("{} {}", state, field(line, "ExitCode"))];
    }
    return counts;
  }

  [[noreturn]] void fail_of_tasks(const std::string& after, std::uint64_t missing) const {
    std::string told;
    for (const auto& entry : ends()) {
      const std::string& end = entry.first;
      const auto ended_with = [&](int status) { return end.ends_with(fmt::format(" {}:0", status)); };
      // Without its folder a task's log cannot be opened, which Slurm tells as 0:53.
      if (ended_with(exit_no_folder) || end.ends_with(" 0:53")) {
        fail("folder-not-shared", fmt::format("tasks of array {} do not see {} on their nodes", progress_.array, out_.string()),
             SourcePlace::named("--out"), "name a folder that all nodes share by the same path");
      }
      if (ended_with(exit_no_study) || ended_with(exit_no_program)) {
        const bool is_study = ended_with(exit_no_study);
        fail("folder-not-shared",
             fmt::format("tasks of array {} do not see {} on their nodes", progress_.array,
                         is_study ? study_.file : std::filesystem::read_symlink("/proc/self/exe").string()),
             SourcePlace::named(backend_flag),
             is_study ? "keep the study where all nodes see it by the same path"
                      : "install weft where all nodes see it by the same path");
      }
      told += fmt::format("{}{} {}", told.empty() ? "" : ", ", entry.second, end);
    }
    fail("slurm-tasks-died",
         fmt::format("after {}, {} missing{}", after, counted(missing, "run is", "runs are"),
                     told.empty() ? "" : fmt::format("; tasks ended as {}", told)),
         SourcePlace::named(backend_flag), fmt::format("logs are in {}; --resume goes on", (out_ / "slurm").string()));
  }

  const Study& study_;
  const SlurmOptions& options_;
  std::filesystem::path out_;
  std::size_t runs_;
  std::uint32_t tasks_;
  SlurmProgress progress_;
};

}  // namespace

std::vector<std::string> slurm_words(const std::string& text) {
  std::vector<std::string> words;
  try {
    const boost::tokenizer<boost::escaped_list_separator<char>> pieces(text,
                                                                       boost::escaped_list_separator<char>("\\", " \t", "\"'"));
    for (const std::string& piece : pieces) {
      if (!piece.empty()) words.push_back(piece);
    }
  } catch (const boost::escaped_list_error&) {
    fail("bad-value", fmt::format("--slurm-args has a backslash that means nothing: {}", in_quotes(text)),
         SourcePlace::named("--slurm-args"), "a backslash stands before a quote or another one");
  }
  return words;
}

StudyResult run_study_on_slurm(const Study& study, const SlurmOptions& options) {
  if (study.stop && study.stop->runs > 0) {
    fail("bad-value", "a budget of runs is dealt to all points in turn, and tasks do not know of each other",
         SourcePlace::named(study.file), "drop stop { runs: }, or carry out the study on one machine");
  }
  return SlurmRunner(study, options).run();
}

}  // namespace weft
