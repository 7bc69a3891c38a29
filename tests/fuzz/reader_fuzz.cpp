// SPDX-License-Identifier: Apache-2.0
// The fuzzer: reader_fuzz --reader=NAME [libFuzzer's options] CORPUS...
//
// Built by the preset `fuzz` (clang++, libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer);
// `tools/test --long` gives every reader half a minute. A finding is left in crash-*; once mended,
// it goes to corpus/NAME so that the usual suite replays it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/readers.hpp"

namespace {

const weft::FuzzedReader*& chosen() {
  static const weft::FuzzedReader* reader = nullptr;
  return reader;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (!argument.starts_with("--reader=")) continue;
    for (const weft::FuzzedReader& reader : weft::fuzzed_readers()) {
      if (reader.name == argument.substr(9)) chosen() = &reader;
    }
  }
  if (chosen() != nullptr) return 0;
  std::fputs("usage: reader_fuzz --reader=NAME [options] CORPUS...\nreaders:", stderr);
  for (const weft::FuzzedReader& reader : weft::fuzzed_readers()) std::fprintf(stderr, " %s", std::string(reader.name).c_str());
  std::fputs("\n", stderr);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::feed(*chosen(), {reinterpret_cast<const char*>(data), size});
  return 0;
}
