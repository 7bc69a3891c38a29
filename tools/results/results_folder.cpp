// SPDX-License-Identifier: Apache-2.0
#include "tools/results/results_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "tools/results/file_moves.hpp"
#include "tools/results/output_file.hpp"

namespace weft {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_write(const fs::path& path, const std::string& why) { fail_write(path, why, "--out=DIR"); }

[[noreturn]] void fail_in_the_way(const fs::path& path, const std::string& what) {
  fail("file-in-the-way", what, SourcePlace::named(path.string()), "move it away, or choose another folder with --out=DIR");
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A device and a number of it: the same for all names of a file.
using FileIdentity = std::pair<dev_t, ino_t>;

std::optional<FileIdentity> identity_of(const fs::path& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

/// What a run's manifest lists, `manifest_file` included; nothing if it is no manifest of Weft's.
/// One that was cut off counts up to there.
std::vector<std::string> listed_results(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_regular_file(fs::symlink_status(path, unknown))) return {};
  using Json = nlohmann::json;
  std::string key;
  bool has_version = false;
  std::optional<std::vector<std::string>> names;
  const auto note = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth != 1) return true;
    if (event == Json::parse_event_t::key) key = value.get<std::string>();
    if (key == "weft_version") has_version = true;
    if (key == "results" && event == Json::parse_event_t::array_end) {
      names.emplace();
      for (const Json& name : value) {
        if (name.is_string()) names->push_back(name.get<std::string>());
      }
    }
    return true;
  };
  const Json ignored = Json::parse(text_of(path), note, false);
  if (!has_version || !names) return {};
  // Names in the folder, not ways out of it.
  std::erase_if(*names, [](const std::string& name) { return name.empty() || fs::path(name).filename() != name || name == ".."; });
  names->emplace_back(manifest_file);
  return *names;
}

}  // namespace

ResultsFolder::ResultsFolder(fs::path folder, RunManifest manifest, std::vector<std::string> names)
    : folder_(std::move(folder)), manifest_(std::move(manifest)), names_(std::move(names)) {
  make_folder(folder_);
  lock();
  try {
    clear(claimed());
    std::vector<std::string> all = names_;
    all.emplace_back(manifest_file);
    write_manifest(all);
  } catch (...) {
    close(lock_);
    throw;
  }
}

bool is_report(const fs::path& file) {
  constexpr std::size_t head_size = 512;
  std::string head(head_size, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(head.data(), head_size);
  return head.find("<meta name=\"generator\" content=\"weft report\">") != std::string::npos;
}

ResultsFolder::~ResultsFolder() { close(lock_); }

void ResultsFolder::lock() {
  const fs::path path = partial(manifest_file);
  while (true) {
    lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (lock_ < 0) {
      if (errno == ELOOP || errno == EISDIR || errno == ENXIO) fail_in_the_way(path, "a run writes its manifest under this name");
      fail_to_write(path, std::strerror(errno));
    }
    struct stat opened {};
    fstat(lock_, &opened);
    if (!S_ISREG(opened.st_mode)) {
      close(lock_);
      fail_in_the_way(path, "a run writes its manifest under this name");
    }
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      const int why = errno;
      close(lock_);
      if (why == EWOULDBLOCK) {
        fail("folder-in-use", "another run writes its results into this folder", SourcePlace::named(folder_.string()),
             "wait for it, or choose another folder with --out=DIR");
      }
      fail_to_write(path, std::string("it cannot be locked: ") + std::strerror(why));
    }
    // A run that ended meanwhile has given the file its name.
    if (identity_of(path) == FileIdentity{opened.st_dev, opened.st_ino}) return;
    close(lock_);
  }
}

std::vector<std::string> ResultsFolder::claimed() const {
  std::vector<std::string> names = listed_results(folder_ / manifest_file);
  const std::vector<std::string> unfinished = listed_results(partial(manifest_file));
  names.insert(names.end(), unfinished.begin(), unfinished.end());
  if (!names.empty() && is_report(folder_ / report_file)) names.emplace_back(report_file);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void ResultsFolder::clear(const std::vector<std::string>& claimed) {
  const fs::path own = partial(manifest_file);
  std::set<std::string> all(names_.begin(), names_.end());
  all.insert(manifest_file);
  const std::set<std::string> writes = all;
  all.insert(claimed.begin(), claimed.end());
  std::map<FileIdentity, std::string> inputs;
  for (const std::string& input : manifest_.input_paths()) {
    if (const auto identity = identity_of(input)) inputs.emplace(*identity, input);
  }

  std::vector<FileMove> old;
  for (const std::string& name : all) {
    const bool is_claimed = std::binary_search(claimed.begin(), claimed.end(), name);
    for (const fs::path& path : {folder_ / name, partial(name)}) {
      std::error_code unknown;
      const fs::file_status status = fs::symlink_status(path, unknown);
      if (!fs::exists(status)) continue;
      if (const auto identity = identity_of(path); identity && inputs.contains(*identity)) {
        fail("input-in-the-way",
             fmt::format("this input of the run, \"{}\", lies where its results would replace it", inputs.at(*identity)),
             SourcePlace::named(path.string()), "choose another folder with --out=DIR");
      }
      // One that was just created, or that was left by a run that was killed there.
      if (path == own && (is_claimed || fs::file_size(path, unknown) == 0)) continue;
      if (is_claimed && fs::is_regular_file(status)) {
        old.push_back({path, {}});
      } else if (writes.contains(name)) {
        fail_in_the_way(path,
                        "a run writes its results under this name, and no manifest in the folder says that this file was one");
      }
    }
  }
  // The manifest goes last: until then the others are claimed.
  std::stable_partition(old.begin(), old.end(), [this](const FileMove& move) { return move.from != folder_ / manifest_file; });
  if (const auto failed = carry_out(old))
    fail_to_write(old[failed->move].from, fmt::format("it cannot be removed: {}", failed->why.message()));
}

void ResultsFolder::write_manifest(const std::vector<std::string>& results) {
  manifest_.set_results(results);
  const std::string text = manifest_.to_json();
  const fs::path path = partial(manifest_file);
  // Over what is there, which begins alike: it claims files all the time.
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t part = pwrite(lock_, text.data() + written, text.size() - written, static_cast<off_t>(written));
    if (part < 0 && errno != EINTR) fail_to_write(path, std::strerror(errno));
    if (part > 0) written += static_cast<std::size_t>(part);
  }
  if (ftruncate(lock_, static_cast<off_t>(text.size())) != 0) fail_to_write(path, std::strerror(errno));
}

fs::path ResultsFolder::result(const std::string& name) {
  WEFT_CHECK(std::find(names_.begin(), names_.end(), name) != names_.end(), "a result has one of the names that were claimed");
  if (std::find(written_.begin(), written_.end(), name) == written_.end()) written_.push_back(name);
  return folder_ / name;
}

void ResultsFolder::publish() {
  std::vector<std::string> results = written_;
  results.emplace_back(manifest_file);
  write_manifest(results);
  std::vector<FileMove> moves;
  for (const std::string& name : results) moves.push_back({partial(name), folder_ / name});
  if (const auto failed = carry_out(moves)) fail_to_write(moves[failed->move].to, failed->why.message());
}

}  // namespace weft
