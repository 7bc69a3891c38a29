// SPDX-License-Identifier: Apache-2.0
#include "tools/results/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <system_error>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

std::FILE* create(const std::filesystem::path& path, std::string_view choice) {
  // Without waiting, as opening a pipe would.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (file < 0) {
    if (errno == ELOOP) fail_write(path, "it is a link", choice);
    if (errno == ENXIO) fail_write(path, "it is a pipe or a socket", choice);
    fail_write(path, std::strerror(errno), choice);
  }
  struct stat found {};
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    close(file);
    fail_write(path, "it is not a regular file", choice);
  }
  std::FILE* const stream = ftruncate(file, 0) == 0 ? fdopen(file, "wb") : nullptr;
  if (stream == nullptr) {
    const int why = errno;
    close(file);
    fail_write(path, std::strerror(why), choice);
  }
  return stream;
}

/// Since some moment, to a few milliseconds: as of the last tick of the system's timer, which costs
/// next to nothing to read.
std::chrono::nanoseconds coarse_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// By letter: whether a cell that has it stands in quotes.
constexpr auto wants_quotes = [] {
  std::array<bool, 256> wants{};
  for (const char letter : {',', '"', '\n', '\r'}) wants[static_cast<unsigned char>(letter)] = true;
  return wants;
}();

}  // namespace

void fail_write(const std::filesystem::path& path, const std::string& why, std::string_view choice) {
  fail("cannot-write", fmt::format("the file cannot be written: {}", why), SourcePlace::named(path.string()),
       fmt::format("check the folder's permissions and free space, or choose another with {}", choice));
}

void make_folder(const std::filesystem::path& folder, std::string_view choice) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return;
  fail("cannot-write", fmt::format("the folder cannot be created: {}", error.message()), SourcePlace::named(folder.string()),
       fmt::format("choose another with {}=DIR", choice));
}

/// Packs a stream of bytes as gzip does (RFC 1952).
class OutputFile::Packer {
 public:
  Packer() {
    constexpr int gzip_window = 15 + 16;
    // Rows of tables shrink by an order of magnitude even at the fastest level.
    WEFT_CHECK(deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) == Z_OK,
               "zlib has memory for a stream");
  }
  ~Packer() { deflateEnd(&stream_); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// `flush`: Z_NO_FLUSH, Z_SYNC_FLUSH or Z_FINISH. Calls `write` with what comes out.
  template <class Write>
  void pack(std::string_view bytes, int flush, const Write& write) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, flush);
      write(std::string_view(out_.data(), out_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_{};
  std::array<char, 1 << 16> out_{};
};

OutputFile::OutputFile(std::filesystem::path path, Packing packing, std::string_view choice)
    : path_(std::move(path)),
      partial_(path_.string() + ".partial"),
      choice_(choice),
      buffer_(std::make_unique_for_overwrite<char[]>(buffer_size)),
      file_(create(partial_, choice), std::fclose),
      packer_(packing == Packing::gzip ? std::make_unique<Packer>() : nullptr),
      last_flush_(coarse_now()) {
  std::setvbuf(file_.get(), buffer_.get(), _IOFBF, buffer_size);
}

OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

void OutputFile::fail_by_errno() const { fail_write(path_, std::strerror(errno), choice_); }

void OutputFile::write_plain(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail_by_errno();
}

void OutputFile::write(std::string_view text) {
  const std::chrono::nanoseconds now = coarse_now();
  const bool is_due = now - last_flush_ > std::chrono::seconds(1);
  if (packer_ != nullptr) {
    packer_->pack(text, is_due ? Z_SYNC_FLUSH : Z_NO_FLUSH, [this](std::string_view bytes) { write_plain(bytes); });
  } else {
    write_plain(text);
  }
  if (!is_due) return;
  if (std::fflush(file_.get()) != 0) fail_by_errno();
  last_flush_ = now;
}

void OutputFile::flush() {
  if (packer_ != nullptr) packer_->pack({}, Z_FINISH, [this](std::string_view bytes) { write_plain(bytes); });
  if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0) fail_by_errno();
}

void OutputFile::rename() {
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) {
    errno = error.value();
    fail_by_errno();
  }
}

void OutputFile::close() {
  flush();
  if (std::fclose(file_.release()) != 0) fail_by_errno();
}

void OutputFile::commit() {
  close();
  rename();
}

void OutputFile::commit_durably() {
  flush();
  if (fsync(fileno(file_.get())) != 0 || std::fclose(file_.release()) != 0) fail_by_errno();
  rename();
  // The folder has the name.
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) fail_by_errno();
  const bool is_kept = fsync(opened) == 0;
  ::close(opened);
  if (!is_kept) fail_by_errno();
}

CsvFile::CsvFile(std::filesystem::path path, std::string_view header, OutputFile::Packing packing, std::string_view choice)
    : file_(std::move(path), packing, choice) {
  file_.write(header);
  file_.write("\n");
}

char* CsvFile::begin_cell(std::size_t size_max) {
  const std::size_t with_comma = size_ + size_max + 1;
  if (with_comma > row_.size()) row_.resize(2 * with_comma);
  return row_.data() + size_;
}

CsvFile& CsvFile::end_cell(char* end) {
  *end++ = ',';
  size_ = static_cast<std::size_t>(end - row_.data());
  return *this;
}

template <class Number>
CsvFile& CsvFile::printed(Number value) {
  char* const cell = begin_cell(number_size_max);
  return end_cell(std::to_chars(cell, cell + number_size_max, value).ptr);
}

CsvFile& CsvFile::text(std::string_view value) {
  // Quotes around it, and each in it twice.
  char* const cell = begin_cell(2 * value.size() + 2);
  bool is_quoted = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    cell[i] = value[i];
    is_quoted |= wants_quotes[static_cast<unsigned char>(value[i])];
  }
  if (!is_quoted) return end_cell(cell + value.size());
  char* end = cell;
  *end++ = '"';
  for (const char c : value) {
    if (c == '"') *end++ = '"';
    *end++ = c;
  }
  *end++ = '"';
  return end_cell(end);
}

CsvFile& CsvFile::number(std::int64_t value) { return printed(value); }
CsvFile& CsvFile::number(std::uint64_t value) { return printed(value); }
CsvFile& CsvFile::number(double value) { return printed(value); }
CsvFile& CsvFile::number_if_known(double value) { return std::isnan(value) ? text("") : number(value); }

CsvFile& CsvFile::nanoseconds(Duration value) {
  char* const cell = begin_cell(number_size_max);
  const std::int64_t ticks = value.in_ticks();
  char* end = std::to_chars(cell, cell + number_size_max, ticks / Duration::ticks_per_ns).ptr;
  const std::int64_t rest = ticks % Duration::ticks_per_ns;
  if (rest != 0) {
    // Two decimals at most, without a trailing zero: a tick is a hundredth of a nanosecond.
    *end++ = '.';
    *end++ = static_cast<char>('0' + rest / 10);
    if (rest % 10 != 0) *end++ = static_cast<char>('0' + rest % 10);
  }
  return end_cell(end);
}

CsvFile& CsvFile::cell(const Cell& value) {
  return std::visit(
      [this](const auto& filled) -> CsvFile& {
        using Filled = std::decay_t<decltype(filled)>;
        if constexpr (std::is_same_v<Filled, std::monostate>) {
          return text("");
        } else if constexpr (std::is_same_v<Filled, std::string_view>) {
          return text(filled);
        } else if constexpr (std::is_same_v<Filled, Duration>) {
          return nanoseconds(filled);
        } else {
          return number(filled);
        }
      },
      value);
}

void CsvFile::end_row() {
  row_[size_ - 1] = '\n';
  file_.write({row_.data(), size_});
  size_ = 0;
  ++rows_;
}

void check_keeps_inputs(const std::filesystem::path& out, std::span<const std::string> inputs, std::string_view choice) {
  for (const std::string& input : inputs) {
    for (const std::filesystem::path& written : {out, std::filesystem::path(out.string() + ".partial")}) {
      std::error_code is_not_there;
      if (!std::filesystem::equivalent(written, input, is_not_there)) continue;
      fail("input-in-the-way", fmt::format("this file is read as \"{}\", and would be replaced", input),
           SourcePlace::named(written.string()), fmt::format("choose another with {}", choice));
    }
  }
}

std::string shortest(double value) {
  std::array<char, CsvFile::number_size_max> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace weft
