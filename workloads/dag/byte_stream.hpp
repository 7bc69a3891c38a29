// SPDX-License-Identifier: Apache-2.0
// Byte stream: reads a binary file front to back without holding it in memory; gzip files are
// unpacked on the way.
//
// Where it sits: under the readers of large binary workloads (packed DAGs, Chakra traces), which
// are sequences of
// { varint length, message }.
// Invariant: never allocates more than what the file really holds (plus one block), whatever
// lengths a damaged file claims.
// Thread safety: one stream belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/text/diagnostics.hpp"

namespace weft {

class ByteStream {
 public:
  /// Throws what InputFile does.
  explicit ByteStream(const std::string& path);
  ~ByteStream();
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;

  const std::string& path() const;
  SourcePlace place() const;
  /// Of the file, packed or not.
  std::uint64_t stored_size() const;
  /// Bytes read so far, of the unpacked content.
  std::uint64_t offset() const;
  /// Throws InputError [bad-gzip], [too-large].
  bool at_end();

  enum class Outcome : std::uint8_t { ok, cut_off, malformed };
  /// Reads a base-128 varint. `malformed`: longer than ten bytes.
  Outcome read_varint(std::uint64_t& value);
  /// Replaces `bytes` by the next `length` ones.
  Outcome read(std::uint64_t length, std::string& bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
