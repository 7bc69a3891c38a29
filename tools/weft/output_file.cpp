#include "tools/weft/output_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/diagnostics.hpp"

namespace weft {

namespace {

[[noreturn]] void fail_write(const std::filesystem::path& path) {
  throw InputError({Severity::error, "cannot-write", std::string("the file cannot be written: ") + std::strerror(errno),
                    SourcePlace::named(path.string()),
                    "check the folder's permissions and free space, or choose another with --out=DIR"});
}

template <class Number>
void append_number(std::string& text, Number value) {
  std::array<char, 40> buffer;
  char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  text.append(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)),
      partial_(path_.string() + ".partial"),
      file_(std::fopen(partial_.c_str(), "wb"), std::fclose),
      last_flush_(std::chrono::steady_clock::now()) {
  if (!file_) fail_write(path_);
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) fail_write(path_);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_flush_ > std::chrono::seconds(1)) {
    std::fflush(file_.get());
    last_flush_ = now;
  }
}

void OutputFile::commit() {
  if (std::fflush(file_.get()) != 0) fail_write(path_);
  if (std::fclose(file_.release()) != 0) fail_write(path_);
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) {
    errno = error.value();
    fail_write(path_);
  }
}

CsvFile::CsvFile(std::filesystem::path path, std::string_view header) : file_(std::move(path)) {
  file_.write(header);
  file_.write("\n");
}

void CsvFile::separate() {
  if (!first_) row_ += ',';
  first_ = false;
}

CsvFile& CsvFile::text(std::string_view value) {
  separate();
  if (std::none_of(value.begin(), value.end(), [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; })) {
    row_ += value;
    return *this;
  }
  row_ += '"';
  for (const char c : value) {
    if (c == '"') row_ += '"';
    row_ += c;
  }
  row_ += '"';
  return *this;
}

CsvFile& CsvFile::number(std::int64_t value) {
  separate();
  append_number(row_, value);
  return *this;
}

CsvFile& CsvFile::number(std::uint64_t value) {
  separate();
  append_number(row_, value);
  return *this;
}

CsvFile& CsvFile::number(double value) {
  separate();
  append_number(row_, value);
  return *this;
}

CsvFile& CsvFile::nanoseconds(Duration value) {
  separate();
  const std::int64_t ticks = value.in_ticks();
  append_number(row_, ticks / Duration::ticks_per_ns);
  const std::int64_t rest = ticks % Duration::ticks_per_ns;
  if (rest != 0) {
    // Two decimals at most, without a trailing zero: a tick is a hundredth of a nanosecond.
    row_ += '.';
    row_ += static_cast<char>('0' + rest / 10);
    if (rest % 10 != 0) row_ += static_cast<char>('0' + rest % 10);
  }
  return *this;
}

void CsvFile::end_row() {
  row_ += '\n';
  file_.write(row_);
  row_.clear();
  first_ = true;
  ++rows_;
}

std::string shortest(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

}  // namespace weft
