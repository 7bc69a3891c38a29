// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/byte_stream.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/text/input_file.hpp"

namespace weft {

struct ByteStream::State {
  static constexpr std::size_t block_bytes = 1U << 18;

  explicit State(const std::string& path) : file(path) {}

  InputFile file;
  std::vector<char> block = std::vector<char>(block_bytes);
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t block_offset = 0;  ///< of the file, where the block starts

  /// Makes sure that a byte is there; false at the end of the file.
  bool fill() {
    if (begin < end) return true;
    block_offset += end;
    begin = 0;
    end = 0;
    end = file.read(block.data(), block.size());
    return end > 0;
  }
};

ByteStream::ByteStream(const std::string& path) : state_(std::make_unique<State>(path)) {}

ByteStream::~ByteStream() = default;
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;

const std::string& ByteStream::path() const { return state_->file.path(); }

SourcePlace ByteStream::place() const { return state_->file.place(); }

std::uint64_t ByteStream::stored_size() const { return state_->file.stored_size(); }

std::uint64_t ByteStream::offset() const { return state_->block_offset + state_->begin; }

bool ByteStream::at_end() { return !state_->fill(); }

ByteStream::Outcome ByteStream::read_varint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (!state_->fill()) return Outcome::cut_off;
    const auto byte = static_cast<unsigned char>(state_->block[state_->begin++]);
    if (shift == 63 && byte > 1) return Outcome::malformed;
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return Outcome::ok;
  }
  return Outcome::malformed;
}

ByteStream::Outcome ByteStream::read(std::uint64_t length, std::string& bytes) {
  bytes.clear();
  while (bytes.size() < length) {
    if (!state_->fill()) return Outcome::cut_off;
    const std::size_t n = static_cast<std::size_t>(
        std::min<std::uint64_t>(state_->end - state_->begin, length - static_cast<std::uint64_t>(bytes.size())));
    bytes.append(state_->block.data() + state_->begin, n);
    state_->begin += n;
  }
  return Outcome::ok;
}

}  // namespace weft
