// SPDX-License-Identifier: Apache-2.0
// Output files: a result appears under its name only when it is complete.
//
// A file grows as `NAME.partial` and is renamed to NAME by commit(), or with others by
// ResultsFolder::publish(). Who is killed leaves .partial files, whose finished rows are readable.
// Rows are flushed once a second so that little is lost; a disk that is full is found then, or at
// the end, never passed over.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/units.hpp"
#include "tools/results/table.hpp"

namespace weft {

class OutputFile {
 public:
  enum class Packing : std::uint8_t { none, gzip };

  /// Creates `path`.partial, or empties it; follows no link. `choice` is the flag that names
  /// another place. Throws InputError [cannot-write].
  explicit OutputFile(std::filesystem::path path, Packing packing = Packing::none, std::string_view choice = "--out");
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Throws InputError [cannot-write], as do the others.
  void write(std::string_view text);
  /// All of it is written; its name is still `path`.partial.
  void close();
  /// Closes and renames.
  void commit();
  /// The same, and a power cut leaves the file of before or this one whole.
  void commit_durably();
  const std::filesystem::path& path() const { return path_; }

 private:
  void write_plain(std::string_view bytes);
  void flush();
  void rename();
  [[noreturn]] void fail_by_errno() const;

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::string choice_;
  /// Of which only what is in use costs memory.
  static constexpr std::size_t buffer_size = 1 << 17;
  std::unique_ptr<char[]> buffer_;  ///< file_'s
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  class Packer;
  std::unique_ptr<Packer> packer_;       ///< null: nothing is packed
  std::chrono::nanoseconds last_flush_;  ///< since some moment
};

/// A CSV table (RFC 4180): a header line, then rows. Numbers are printed so that they read back to
/// the same value.
class CsvFile {
 public:
  /// Letters of the longest number, such as -2.2250738585072014e-308.
  static constexpr std::size_t number_size_max = 32;

  CsvFile(std::filesystem::path path, std::string_view header, OutputFile::Packing packing = OutputFile::Packing::none,
          std::string_view choice = "--out");

  CsvFile& text(std::string_view value);
  CsvFile& number(std::int64_t value);
  CsvFile& number(std::uint64_t value);
  CsvFile& number(double value);
  /// Empty for NaN.
  CsvFile& number_if_known(double value);
  /// Nanoseconds, exact to the tick: "1234.56".
  CsvFile& nanoseconds(Duration value);
  CsvFile& cell(const Cell& value);
  /// Requires: the row has a cell.
  void end_row();
  void close() { file_.close(); }
  void commit() { file_.commit(); }
  std::uint64_t rows() const { return rows_; }

 private:
  /// Where a cell of at most `size_max` letters may be written.
  char* begin_cell(std::size_t size_max);
  /// The cell that was begun ends before `end`.
  CsvFile& end_cell(char* end);
  template <class Number>
  CsvFile& printed(Number value);

  OutputFile file_;
  std::vector<char> row_;  ///< its first `size_` letters: cells so far, each with a comma behind it
  std::size_t size_ = 0;
  std::uint64_t rows_ = 0;
};

/// Throws InputError [cannot-write]; `choice` is the flag that names another place.
[[noreturn]] void fail_write(const std::filesystem::path& path, const std::string& why, std::string_view choice = "--out");

/// Makes a folder of results, and those it lies in, unless they are there. Throws InputError
/// [cannot-write]; `choice` is the flag that names another place.
void make_folder(const std::filesystem::path& folder, std::string_view choice = "--out");

/// Throws InputError [input-in-the-way] if `out`, or `out`.partial, is one of the files that a
/// command reads. `choice` is the flag that names another place.
void check_keeps_inputs(const std::filesystem::path& out, std::span<const std::string> inputs, std::string_view choice = "--out");

/// Shortest decimal text that reads back to `value`.
std::string shortest(double value);

}  // namespace weft
