#include "workloads/byte_stream.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/source_text.hpp"

namespace weft {

struct ByteStream::State {
  static constexpr std::size_t block_bytes = 1U << 18;

  std::string path;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file{nullptr, gzclose};
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
    const int n = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    int error = Z_OK;
    gzerror(file.get(), &error);
    if (n < 0 || (n == 0 && error == Z_BUF_ERROR)) {
      throw InputError({Severity::error, "bad-gzip",
                        n < 0 ? "the compressed file is damaged" : "the compressed file ends too early", SourcePlace::named(path),
                        "unpack it with gunzip to see where, or fetch it again"});
    }
    end = static_cast<std::size_t>(n);
    return end > 0;
  }
};

ByteStream::ByteStream(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  std::error_code ec;
  const auto status = std::filesystem::status(path, ec);
  // What is no file is reported by the one place that knows how to say it.
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)) SourceText::read(path);
  state_->file.reset(gzopen(path.c_str(), "rb"));
  if (!state_->file) {
    throw InputError({Severity::error, "unreadable", std::string("the file cannot be opened: ") + std::strerror(errno), place(),
                      "check its permissions"});
  }
  gzbuffer(state_->file.get(), 1U << 18);
}

ByteStream::~ByteStream() = default;
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;

const std::string& ByteStream::path() const { return state_->path; }

SourcePlace ByteStream::place() const { return SourcePlace::named(state_->path); }

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
