// Temporary folder: where runs that answer a question put what nobody reads.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/text/diagnostics.hpp"

namespace weft {

/// Vanishes with its owner. Throws InputError [cannot-write].
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      fail("cannot-write", "no temporary folder can be created", SourcePlace::named(name),
           "name a folder that can be written in TMPDIR");
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace weft
