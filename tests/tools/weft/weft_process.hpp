// SPDX-License-Identifier: Apache-2.0
// `weft` as a process of its own, with limits, so that tests can kill it and starve it.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace weft {

inline std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// A folder of its own for each object, gone with it.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name, std::ios::binary) << text; }

 private:
  std::filesystem::path path_;
};

class WeftProcess {
 public:
  struct Setting {
    std::filesystem::path folder;                         ///< where it runs
    std::map<int, rlim_t> limits = {};                    ///< by RLIMIT_
    std::filesystem::path standard_output = "/dev/null";  ///< "": closed
  };

  /// Starts. What it says on standard error goes to a file of its own.
  WeftProcess(const Setting& setting, const std::vector<std::string>& words) {
    std::vector<std::string> all = {WEFT_PROGRAM};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string errors = errors_ / "stderr";
    child_ = fork();
    if (child_ != 0) return;
    for (const auto& [limit, value] : setting.limits) {
      const rlimit both{value, value};
      setrlimit(static_cast<__rlimit_resource>(limit), &both);
    }
    if (chdir(setting.folder.c_str()) != 0) _exit(126);
    dup2(open(errors.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    if (setting.standard_output.empty()) {
      close(STDOUT_FILENO);
    } else {
      dup2(open(setting.standard_output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    }
    execv(WEFT_PROGRAM, arguments.data());
    _exit(127);
  }
  ~WeftProcess() {
    if (child_ <= 0) return;
    kill(SIGKILL);
    wait();
  }
  WeftProcess(const WeftProcess&) = delete;
  WeftProcess& operator=(const WeftProcess&) = delete;

  void kill(int signal) const { ::kill(child_, signal); }
  /// Its exit status; 1000 and the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(std::exchange(child_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  std::string errors() const { return content(errors_ / "stderr"); }

 private:
  TestFolder errors_;
  pid_t child_ = -1;
};

struct WeftAnswer {
  int status = 0;
  std::string errors;
};

inline WeftAnswer run_weft(const WeftProcess::Setting& setting, const std::vector<std::string>& words) {
  WeftProcess process(setting, words);
  const int status = process.wait();
  return {status, process.errors()};
}

}  // namespace weft
