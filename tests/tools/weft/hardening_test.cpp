// SPDX-License-Identifier: Apache-2.0
// What release builds are hardened by can be seen in the binary: cmake/WeftHardening.cmake.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace weft::hardening_test {
namespace {

/// The `weft` binary, of 64 bits, as the linker left it.
class Binary {
 public:
  Binary() {
    std::ifstream file(WEFT_PROGRAM, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }
  Elf64_Ehdr header() const { return at<Elf64_Ehdr>(0); }
  bool has_segment(Elf64_Word type) const {
    for (unsigned i = 0; i < header().e_phnum; ++i) {
      if (segment(i).p_type == type) return true;
    }
    return false;
  }
  /// Flags of the dynamic section under a tag.
  Elf64_Xword dynamic_flags(Elf64_Sxword tag) const {
    for (unsigned i = 0; i < header().e_phnum; ++i) {
      if (segment(i).p_type != PT_DYNAMIC) continue;
      for (std::size_t k = 0; k * sizeof(Elf64_Dyn) < segment(i).p_filesz; ++k) {
        const auto entry = at<Elf64_Dyn>(segment(i).p_offset + k * sizeof(Elf64_Dyn));
        if (entry.d_tag == tag) return entry.d_un.d_val;
      }
    }
    return 0;
  }
  bool names(std::string_view symbol) const {
    return bytes_.find(std::string(1, '\0').append(symbol).append(1, '\0')) != std::string::npos;
  }

 private:
  template <class Part>
  Part at(std::size_t offset) const {
    Part part{};
    EXPECT_LE(offset + sizeof part, bytes_.size());
    std::memcpy(&part, bytes_.data() + offset, sizeof part);
    return part;
  }
  Elf64_Phdr segment(unsigned i) const { return at<Elf64_Phdr>(header().e_phoff + i * sizeof(Elf64_Phdr)); }

  std::string bytes_;
};

TEST(Hardening, ReleaseBuildsHaveCanariesAndNothingWritableThatIsCalled) {
  if (WEFT_SANITIZED) GTEST_SKIP() << "the sanitizers have checks of their own";
  const Binary weft;
  EXPECT_EQ(weft.header().e_type, ET_DYN) << "position-independent";
  EXPECT_TRUE(weft.has_segment(PT_GNU_RELRO));
  EXPECT_NE(weft.dynamic_flags(DT_FLAGS_1) & DF_1_NOW, 0u) << "all functions are bound before main()";
  EXPECT_TRUE(weft.names("__stack_chk_fail"));
  EXPECT_TRUE(weft.names("__memcpy_chk") || weft.names("__fprintf_chk") || weft.names("__snprintf_chk"));
}

}  // namespace
}  // namespace weft::hardening_test
