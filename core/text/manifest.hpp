// SPDX-License-Identifier: Apache-2.0
// Run manifest: everything needed to repeat a run - inputs with their hashes, every parameter,
// seed, version.
//
// Where it sits: the assembler of a run fills it; results write it as manifest.json.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/params.hpp"

namespace weft {

/// SHA-256 of a text, in hexadecimal; the same as `sha256sum` prints for a file with that content.
std::string sha256_hex(std::string_view bytes);

class RunManifest {
 public:
  /// An input file as stored (a .gz file is hashed packed). Reads the file. Throws what StoredFile
  /// does.
  void add_input(const std::string& role, const std::string& path, const std::string& format);
  /// Every parameter of a module with its value, default and origin.
  void add_params(const ParamSet& params);
  /// A fact such as "seed" or "mode".
  void set(const std::string& key, const std::string& value);
  void set(const std::string& key, std::uint64_t value);

  /// Names of the files that the run writes; `results` in the JSON.
  void set_results(std::vector<std::string> names) { results_ = std::move(names); }

  /// What the run takes for granted; `assumptions` in the JSON, unless there are none.
  void set_assumptions(std::vector<std::string> assumptions) { assumptions_ = std::move(assumptions); }

  /// Of all inputs, as they were given.
  std::vector<std::string> input_paths() const;
  /// Likewise, with the SHA-256 of each in hexadecimal digits.
  std::vector<std::pair<std::string, std::string>> input_hashes() const;
  /// JSON, indented, keys in order of insertion, with a final newline.
  std::string to_json() const;

 private:
  struct Fact {
    std::string key;
    std::string text;
    std::uint64_t number = 0;
    bool is_number = false;
  };
  struct Input {
    std::string role;
    std::string path;
    std::string format;
    std::string sha256;
    std::uint64_t size_bytes = 0;
  };
  std::vector<Fact> facts_;
  std::vector<std::string> results_;
  std::vector<std::string> assumptions_;
  std::vector<Input> inputs_;
  std::vector<ParamSet> params_;
};

}  // namespace weft
