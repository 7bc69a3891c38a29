// SPDX-License-Identifier: Apache-2.0
// Input files: how everything that a user names is opened and unpacked.
//
// Where it sits: under core/text/source_text, the workload readers' streams and the manifest's
// hashes; nothing else opens inputs. Regular files only: opening never waits, and a pipe, a device
// or a socket is refused by what it is. "-" is standard input, whatever that is; it is kept in a
// temporary file on first use, since inputs are looked at more than once.
// gzip files (by their magic) are unpacked while reading, up to unpacked_max().
// Thread safety: one object belongs to one thread; any number of them may read the same file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/text/diagnostics.hpp"
#include "core/values/units.hpp"

namespace weft {

class InputFile {
 public:
  /// Throws InputError [no-file], [is-directory], [not-a-file], [unreadable].
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;

  /// The next bytes of the content, `room` at most; 0 at its end. Throws InputError [bad-gzip],
  /// [unreadable], [too-large].
  std::size_t read(char* bytes, std::size_t room);

  /// Of the file as it is stored.
  std::uint64_t stored_size() const;
  const std::string& path() const;
  SourcePlace place() const { return SourcePlace::named(path()); }

  /// A gzip file that unpacks to more is refused. For the whole process; set before anything is
  /// read.
  static Bytes unpacked_max();
  static void set_unpacked_max(Bytes size);
  static constexpr Bytes unpacked_max_default = Bytes::of(8LL << 30);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The bytes of an input as they are stored, packed or not.
class StoredFile {
 public:
  /// Throws what InputFile does.
  explicit StoredFile(const std::string& path);
  ~StoredFile();
  StoredFile(const StoredFile&) = delete;
  StoredFile& operator=(const StoredFile&) = delete;

  /// As InputFile::read(). Throws InputError [unreadable].
  std::size_t read(char* bytes, std::size_t room);

 private:
  std::string path_;
  int file_;
};

}  // namespace weft
