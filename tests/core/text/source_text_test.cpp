// SPDX-License-Identifier: Apache-2.0
#include "core/text/source_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "core/text/diagnostics.hpp"

namespace weft::source_text_test {
namespace {

std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.diagnostics()[0].code;
  }
  return "no error";
}

class SourceTextFiles : public testing::Test {
 protected:
  SourceTextFiles()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("weft_source_text_{}_{}", getpid(), testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~SourceTextFiles() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string write_gzip(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }

  std::filesystem::path folder_;
};

TEST(SourceText, LinesAndPlaces) {
  const SourceText source("flows.txt", "first\r\nsecond line\n\nfourth");
  EXPECT_EQ(source.line_count(), 4U);
  EXPECT_EQ(source.line(1), "first");
  EXPECT_EQ(source.line(2), "second line");
  EXPECT_EQ(source.line(3), "");
  EXPECT_EQ(source.line(4), "fourth");
  EXPECT_EQ(source.line(5), "");
  const SourcePlace place = source.at(2, 8, 4);
  EXPECT_EQ(place.file, "flows.txt");
  EXPECT_EQ(place.line, 2);
  EXPECT_EQ(place.column, 8);
  EXPECT_EQ(place.line_text, "second line");
  // Offset 14 is the "l" of "line": 7 bytes of the first line, then column 8.
  EXPECT_EQ(source.at_offset(14).line, 2);
  EXPECT_EQ(source.at_offset(14).column, 8);
  EXPECT_EQ(source.at_offset(0).line, 1);
  EXPECT_EQ(source.whole_file().line, 0);
}

TEST(SourceText, AFinalNewlineMakesNoExtraLine) {
  EXPECT_EQ(SourceText("f", "a\nb\n").line_count(), 2U);
  EXPECT_EQ(SourceText("f", "").line_count(), 1U);
}

TEST_F(SourceTextFiles, ReadsPlainAndCompressed) {
  const std::string text = "hello\nworld\n";
  EXPECT_EQ(SourceText::read(write("plain.txt", text)).text(), text);
  EXPECT_EQ(SourceText::read(write_gzip("packed.gz", text)).text(), text);
  EXPECT_EQ(SourceText::read(write_gzip("no_suffix", text)).text(), text);
  EXPECT_EQ(SourceText::read(write("empty", "")).text(), "");
}

TEST_F(SourceTextFiles, MissingFileSuggestsANeighbour) {
  write("topology.txt", "x");
  const std::string path = (folder_ / "topolgy.txt").string();
  try {
    SourceText::read(path);
    FAIL() << "there is no such file";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].to_text(), path + ": error: there is no such file [no-file]\n  help: did you mean \"" +
                                                    (folder_ / "topology.txt").string() + "\"?\n");
  }
}

TEST_F(SourceTextFiles, DirectoryAndDamagedGzip) {
  EXPECT_EQ(code_of([&] { SourceText::read(folder_.string()); }), "is-directory");
  const std::string whole = write_gzip("whole.gz", std::string(100000, 'a') + "b");
  std::string bytes(SourceText("x", "").text());
  std::ifstream in(whole, std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(code_of([&] { SourceText::read(write("cut.gz", bytes.substr(0, bytes.size() / 2))); }), "bad-gzip");
  std::string damaged = bytes;
  damaged[bytes.size() - 6] = static_cast<char>(damaged[bytes.size() - 6] ^ 0x55);  // the checksum
  EXPECT_EQ(code_of([&] { SourceText::read(write("damaged.gz", damaged)); }), "bad-gzip");
}

TEST(SourceText, Utf8Check) {
  const auto code = [](const std::string& text) { return code_of([&] { SourceText("f", text).require_utf8_text("flow list"); }); };
  EXPECT_EQ(code("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), "no error");
  EXPECT_EQ(code(""), "empty-file");
  EXPECT_EQ(code(" \t\r\n"), "empty-file");
  EXPECT_EQ(code("a\xff"), "not-utf8");
  EXPECT_EQ(code("a\xc3"), "not-utf8");
  EXPECT_EQ(code(std::string("a\0b", 3)), "not-utf8");
  // Wherever the byte stands in the words of memory that are looked at together.
  for (std::size_t place = 0; place < 24; ++place) {
    for (const char byte : {'\0', '\x80', '\xff'}) {
      std::string text(24, 'a');
      text[place] = byte;
      EXPECT_EQ(code(text), "not-utf8") << place;
    }
    EXPECT_EQ(code(std::string(place, 'a') + "\xc3\xa9" + std::string(9, 'b')), "no error") << place;
  }
  EXPECT_EQ(code("\xc0\xaf"), "not-utf8");
  try {
    SourceText("f.txt", "good\nbad \x80 byte").require_utf8_text("flow list");
    FAIL() << "the text is not UTF-8";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].to_text(),
              "f.txt:2:5: error: the file is not UTF-8 text [not-utf8]\n"
              "    2 | bad \\x80 byte\n"
              "      |     ^~~~\n"
              "  help: a flow list is a text file; is this a binary file or another encoding?\n");
  }
}

}  // namespace
}  // namespace weft::source_text_test
