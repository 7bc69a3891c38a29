// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/golden_case.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace weft::golden {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAnyText = "{{*}}";

struct Outcome {
  std::string skipped;
  int status = 0;
  std::string out;
  std::string err;
};

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::string read_text_if_any(const fs::path& path) { return fs::exists(path) ? read_text(path) : std::string(); }

void write_text(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary | std::ios::trunc) << text; }

/// An expectation that holds nothing is no file.
void write_expectation(const fs::path& path, const std::string& text) {
  if (text.empty()) {
    fs::remove(path);
  } else {
    write_text(path, text);
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// Lines without the empty ones; the line list owns its text.
std::vector<std::string> listed_paths(const fs::path& file) {
  std::vector<std::string> paths;
  const std::string text = read_text_if_any(file);
  for (const std::string_view line : lines_of(text)) {
    if (!line.empty()) paths.emplace_back(line);
  }
  return paths;
}

bool is_part_of_the_harness(const fs::path& name) {
  static constexpr std::string_view names[] = {"command",      "expected_stdout", "expected_stderr", "expected_status",
                                               "absent_paths", "expected_files",  "inputs"};
  return std::find(std::begin(names), std::end(names), name.string()) != std::end(names);
}

/// A folder of its own below the system's temporary folder, gone with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "weft-golden-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder at " + name);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void redirect(const char* file, int descriptor, int flags) {
  const int opened = open(file, flags, 0644);
  if (opened < 0 || dup2(opened, descriptor) < 0) _exit(127);
  close(opened);
}

/// Runs `program arguments` through the shell in `folder`; output goes to the files `out` and
/// `err`.
int run_program(const fs::path& program, const std::string& arguments, const fs::path& folder, const fs::path& out,
                const fs::path& err) {
  const std::string script = "exec \"$0\" " + arguments;
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    redirect("/dev/null", STDIN_FILENO, O_RDONLY);
    redirect(out.c_str(), STDOUT_FILENO, O_WRONLY | O_CREAT | O_TRUNC);
    redirect(err.c_str(), STDERR_FILENO, O_WRONLY | O_CREAT | O_TRUNC);
    if (chdir(folder.c_str()) != 0) _exit(127);
    setenv("LC_ALL", "C.UTF-8", 1);
    execl("/bin/sh", "sh", "-c", script.c_str(), program.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Lays the inputs out in `folder`. Returns why it cannot, or nothing.
std::string lay_out_inputs(const fs::path& case_folder, const fs::path& project_root, const fs::path& folder) {
  fs::create_directory(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(case_folder)) {
    if (is_part_of_the_harness(entry.path().filename())) continue;
    fs::copy(entry.path(), folder / entry.path().filename(), fs::copy_options::recursive);
  }
  for (const std::string& path : listed_paths(case_folder / "inputs")) {
    const fs::path source = fs::absolute(project_root / path).lexically_normal();
    if (!fs::exists(source)) {
      if (path.starts_with("../")) return path + " is not there";
      throw std::runtime_error(case_folder.string() + "/inputs names " + path + ", which is not in the project");
    }
    fs::create_symlink(source, folder / source.filename());
  }
  return {};
}

Outcome run_case(const fs::path& case_folder, const fs::path& program, const fs::path& project_root, const fs::path& temporary) {
  Outcome outcome;
  const fs::path folder = temporary / "case";
  outcome.skipped = lay_out_inputs(case_folder, project_root, folder);
  if (!outcome.skipped.empty()) return outcome;
  std::string arguments = read_text(case_folder / "command");
  if (const std::size_t end = arguments.find('\n'); end != std::string::npos) arguments.resize(end);
  outcome.status = run_program(fs::absolute(program), arguments, folder, temporary / "out", temporary / "err");
  outcome.out = read_text(temporary / "out");
  outcome.err = read_text(temporary / "err");
  return outcome;
}

int expected_status(const fs::path& case_folder) {
  const std::string text = read_text_if_any(case_folder / "expected_status");
  return text.empty() ? 0 : std::stoi(text);
}

std::vector<fs::path> expected_files(const fs::path& case_folder) {
  std::vector<fs::path> files;
  const fs::path folder = case_folder / "expected_files";
  if (!fs::exists(folder)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), folder));
  }
  std::sort(files.begin(), files.end());
  return files;
}

void append_part(std::string& report, const std::string& title, const std::string& text) {
  if (!text.empty()) report += title + "\n" + text;
}

/// `got`, with each line replaced by an expected line with kAnyText that it fits.
std::string keep_patterns(std::string_view expected, const std::string& got) {
  std::vector<std::string_view> patterns;
  for (const std::string_view line : lines_of(expected)) {
    if (line.find(kAnyText) != std::string_view::npos) patterns.push_back(line);
  }
  if (patterns.empty()) return got;
  std::string kept;
  for (const std::string_view line : lines_of(got)) {
    const auto pattern = std::find_if(patterns.begin(), patterns.end(), [&](std::string_view p) { return line_fits(p, line); });
    kept += pattern == patterns.end() ? line : *pattern;
    kept += '\n';
  }
  return kept;
}

}  // namespace

bool line_fits(std::string_view pattern, std::string_view line) {
  std::size_t gap = pattern.find(kAnyText);
  if (gap == std::string_view::npos) return pattern == line;
  if (!line.starts_with(pattern.substr(0, gap))) return false;
  line.remove_prefix(gap);
  pattern.remove_prefix(gap + kAnyText.size());
  // Each further piece may start at its first place: what follows a gap can only lose room by
  // starting later.
  while ((gap = pattern.find(kAnyText)) != std::string_view::npos) {
    const std::size_t place = line.find(pattern.substr(0, gap));
    if (place == std::string_view::npos) return false;
    line.remove_prefix(place + gap);
    pattern.remove_prefix(gap + kAnyText.size());
  }
  return line.ends_with(pattern);
}

std::string difference(std::string_view expected, std::string_view got) {
  const std::vector<std::string_view> a = lines_of(expected);
  const std::vector<std::string_view> b = lines_of(got);
  // longest[i][j]: the most lines that a[i..] and b[j..] share in order.
  std::vector<std::vector<std::uint32_t>> longest(a.size() + 1, std::vector<std::uint32_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      longest[i][j] = line_fits(a[i], b[j]) ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  struct Row {
    char mark;
    std::string_view text;
  };
  std::vector<Row> rows;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && line_fits(a[i], b[j])) {
      rows.push_back({' ', b[j]});
      ++i;
      ++j;
    } else if (j == b.size() || (i < a.size() && longest[i + 1][j] >= longest[i][j + 1])) {
      rows.push_back({'-', a[i++]});
    } else {
      rows.push_back({'+', b[j++]});
    }
  }
  constexpr std::size_t context_lines = 2;
  std::string text;
  std::size_t shown_until = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].mark == ' ') continue;
    const std::size_t first = std::max(shown_until, row - std::min(row, context_lines));
    if (first > shown_until) text += "  ...\n";
    std::size_t last = row;
    while (last + 1 < rows.size() && last + 1 <= row + context_lines) ++last;
    for (std::size_t shown = first; shown <= last; ++shown) {
      text += rows[shown].mark;
      text += ' ';
      text += rows[shown].text;
      text += '\n';
      if (rows[shown].mark != ' ' && shown > row) {
        row = shown;
        while (last + 1 < rows.size() && last + 1 <= row + context_lines) ++last;
      }
    }
    shown_until = last + 1;
  }
  if (text.empty() && expected.ends_with('\n') != got.ends_with('\n') && !expected.empty() && !got.empty()) {
    return got.ends_with('\n') ? "  the expected text ends without a newline, what came with one\n"
                               : "  the expected text ends with a newline, what came without one\n";
  }
  return text;
}

std::vector<std::string> case_names(const fs::path& cases) {
  std::vector<std::string> names;
  if (!fs::exists(cases)) return names;
  for (const fs::directory_entry& entry : fs::directory_iterator(cases)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Verdict check(const fs::path& case_folder, const fs::path& program, const fs::path& project_root) {
  const TemporaryFolder temporary;
  const Outcome outcome = run_case(case_folder, program, project_root, temporary.path());
  Verdict verdict;
  verdict.skipped = outcome.skipped;
  if (!verdict.skipped.empty()) return verdict;
  std::string& report = verdict.differences;
  if (const int expected = expected_status(case_folder); expected != outcome.status) {
    report += "exit status: expected " + std::to_string(expected) + ", got " + std::to_string(outcome.status) + "\n";
  }
  append_part(report, "stdout:", difference(read_text_if_any(case_folder / "expected_stdout"), outcome.out));
  append_part(report, "stderr:", difference(read_text_if_any(case_folder / "expected_stderr"), outcome.err));
  for (const std::string& path : listed_paths(case_folder / "absent_paths")) {
    if (fs::exists(temporary.path() / "case" / path)) report += path + " exists and must not\n";
  }
  for (const fs::path& file : expected_files(case_folder)) {
    const fs::path written = temporary.path() / "case" / file;
    if (!fs::exists(written)) {
      report += file.string() + " was not written\n";
    } else {
      append_part(report, file.string() + ":", difference(read_text(case_folder / "expected_files" / file), read_text(written)));
    }
  }
  return verdict;
}

std::string update(const fs::path& case_folder, const fs::path& program, const fs::path& project_root) {
  const TemporaryFolder temporary;
  const Outcome outcome = run_case(case_folder, program, project_root, temporary.path());
  if (!outcome.skipped.empty()) return outcome.skipped;
  write_expectation(case_folder / "expected_status", outcome.status == 0 ? "" : std::to_string(outcome.status) + "\n");
  for (const auto& [name, got] : {std::pair{"expected_stdout", &outcome.out}, std::pair{"expected_stderr", &outcome.err}}) {
    write_expectation(case_folder / name, keep_patterns(read_text_if_any(case_folder / name), *got));
  }
  for (const fs::path& file : expected_files(case_folder)) {
    const fs::path expectation = case_folder / "expected_files" / file;
    const fs::path written = temporary.path() / "case" / file;
    if (fs::exists(written)) write_text(expectation, keep_patterns(read_text(expectation), read_text(written)));
  }
  return {};
}

}  // namespace weft::golden
