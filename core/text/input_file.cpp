// SPDX-License-Identifier: Apache-2.0
#include "core/text/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weft {

namespace {

namespace fs = std::filesystem;

std::atomic<std::int64_t> unpacked_bytes_max{InputFile::unpacked_max_default.count()};

[[noreturn]] void fail(const std::string& path, std::string code, std::string message, std::string help) {
  weft::fail(std::move(code), std::move(message), SourcePlace::named(path), std::move(help));
}

[[noreturn]] void fail_no_file(const std::string& path) {
  std::string help = "check the path";
  const fs::path parent = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  std::vector<std::string> siblings;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    siblings.push_back(it->path().filename().string());
  }
  std::sort(siblings.begin(), siblings.end());
  const std::string best = closest(fs::path(path).filename().string(), siblings);
  if (!best.empty()) {
    help = fmt::format("did you mean \"{}\"?",
                       fs::path(path).has_parent_path() ? (fs::path(path).parent_path() / best).string() : best);
  }
  fail(path, "no-file", "there is no such file", help);
}

[[noreturn]] void fail_not_a_file(const std::string& path, mode_t mode) {
  if (S_ISDIR(mode)) fail(path, "is-directory", "this is a directory, a file is needed", "name a file inside it");
  const char* const what = S_ISFIFO(mode)   ? "a pipe"
                           : S_ISSOCK(mode) ? "a socket"
                           : S_ISCHR(mode)  ? "a character device"
                                            : "a block device";
  fail(path, "not-a-file", fmt::format("this is {}, a regular file is needed", what),
       "write its content to a file, or give it on standard input and name the input \"-\"");
}

/// All that standard input holds, in a file without a name.
int kept_standard_input() {
  static const int kept = [] {
    std::FILE* const file = std::tmpfile();
    if (file == nullptr)
      fail("-", "unreadable", std::string("standard input cannot be kept: ") + std::strerror(errno), "set TMPDIR");
    std::vector<char> chunk(1 << 18);
    for (;;) {
      const ssize_t n = ::read(STDIN_FILENO, chunk.data(), chunk.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("-", "unreadable", std::string("standard input cannot be read: ") + std::strerror(errno), "name a file");
      if (n == 0) break;
      if (std::fwrite(chunk.data(), 1, static_cast<std::size_t>(n), file) != static_cast<std::size_t>(n)) {
        fail("-", "unreadable", std::string("standard input cannot be kept: ") + std::strerror(errno),
             "write it to a file, and name that");
      }
    }
    if (std::fflush(file) != 0) {
      fail("-", "unreadable", std::string("standard input cannot be kept: ") + std::strerror(errno),
           "write it to a file, and name that");
    }
    return fileno(file);
  }();
  return kept;
}

/// A file descriptor of a regular file, of its own.
int open_regular(const std::string& path) {
  const std::string opened = path == "-" ? fmt::format("/proc/self/fd/{}", kept_standard_input()) : path;
  // Without waiting for whoever is at the other end of a pipe.
  const int file = open(opened.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  const int why = errno;
  struct stat found {};
  if (file < 0) {
    if (why == ENOENT || why == ENOTDIR) fail_no_file(path);
    if (stat(opened.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) fail_not_a_file(path, found.st_mode);
    fail(path, "unreadable", std::string("the file cannot be opened: ") + std::strerror(why), "check its permissions");
  }
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    close(file);
    fail_not_a_file(path, found.st_mode);
  }
  return file;
}

}  // namespace

struct InputFile::State {
  std::string path;
  std::uint64_t stored_size = 0;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file{nullptr, gzclose};
  std::int64_t unpacked = 0;
};

InputFile::InputFile(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  const int file = open_regular(path);
  struct stat found {};
  fstat(file, &found);
  state_->stored_size = static_cast<std::uint64_t>(found.st_size);
  // gzread hands plain files through unchanged.
  state_->file.reset(gzdopen(file, "rb"));
  if (!state_->file) {
    close(file);
    throw std::bad_alloc();
  }
  gzbuffer(state_->file.get(), 1U << 18);
}

InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;

std::size_t InputFile::read(char* bytes, std::size_t room) {
  const int n = gzread(state_->file.get(), bytes, static_cast<unsigned>(std::min<std::size_t>(room, INT_MAX)));
  if (n > 0) {
    state_->unpacked += n;
    if (state_->unpacked > unpacked_bytes_max && gzdirect(state_->file.get()) == 0) {
      fail(state_->path, "too-large", fmt::format("the compressed file unpacks to more than {}", to_text(unpacked_max())),
           "if it should, allow more with --unpacked-max=SIZE");
    }
    return static_cast<std::size_t>(n);
  }
  int error = Z_OK;
  gzerror(state_->file.get(), &error);
  if (n == 0 && error != Z_BUF_ERROR) return 0;
  if (error == Z_ERRNO) {
    fail(state_->path, "unreadable", std::string("the file cannot be read: ") + std::strerror(errno),
         "check the disk that it is on");
  }
  if (error == Z_BUF_ERROR) fail(state_->path, "bad-gzip", "the compressed file ends too early", "it was cut off; fetch it again");
  fail(state_->path, "bad-gzip", "the compressed file is damaged", "unpack it with gunzip to see where, or fetch it again");
}

std::uint64_t InputFile::stored_size() const { return state_->stored_size; }

const std::string& InputFile::path() const { return state_->path; }

Bytes InputFile::unpacked_max() { return Bytes::of(unpacked_bytes_max); }

void InputFile::set_unpacked_max(Bytes size) { unpacked_bytes_max = size.count(); }

StoredFile::StoredFile(const std::string& path) : path_(path), file_(open_regular(path)) {}

StoredFile::~StoredFile() { close(file_); }

std::size_t StoredFile::read(char* bytes, std::size_t room) {
  for (;;) {
    const ssize_t n = ::read(file_, bytes, room);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) {
      fail(path_, "unreadable", std::string("the file cannot be read: ") + std::strerror(errno), "check the disk that it is on");
    }
  }
}

}  // namespace weft
