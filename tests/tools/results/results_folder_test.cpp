// SPDX-License-Identifier: Apache-2.0
// Whose files in a folder are whose: only what a manifest lists goes, one run has the folder at a
// time, and its files get their names at once.
#include "tools/results/results_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/text/diagnostics.hpp"
#include "tests/tools/weft/weft_process.hpp"
#include "tools/results/output_file.hpp"

namespace weft::results_folder_test {
namespace {

namespace fs = std::filesystem;

class ResultsFolders : public testing::Test {
 protected:
  static RunManifest manifest(const std::vector<std::string>& inputs = {}) {
    RunManifest manifest;
    manifest.set("weft_version", std::string("0"));
    for (const std::string& input : inputs) manifest.add_input("jobs", input, "weft");
    return manifest;
  }
  std::unique_ptr<ResultsFolder> open(const std::vector<std::string>& names, const std::vector<std::string>& inputs = {}) const {
    return std::make_unique<ResultsFolder>(folder_.path(), manifest(inputs), names);
  }
  static void write(ResultsFolder& run, const std::string& name, const std::string& text) {
    OutputFile file(run.result(name));
    file.write(text);
    file.close();
  }
  /// The code of the error, "" if there was none.
  std::string refusal(const std::vector<std::string>& names, const std::vector<std::string>& inputs = {}) const {
    try {
      open(names, inputs);
      return "";
    } catch (const InputError& error) {
      return error.diagnostics().front().code;
    }
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.insert(entry.path().filename());
    return names;
  }

  TestFolder folder_;
};

TEST_F(ResultsFolders, FilesGetTheirNamesTogether) {
  auto run = open({"a.csv", "b.csv", "c.csv"});
  write(*run, "a.csv", "1");
  write(*run, "b.csv", "2");
  EXPECT_EQ(files(), (std::set<std::string>{"a.csv.partial", "b.csv.partial", "manifest.json.partial"}));
  run->publish();
  EXPECT_EQ(files(), (std::set<std::string>{"a.csv", "b.csv", "manifest.json"}));
  // c.csv was never written.
  EXPECT_EQ(nlohmann::json::parse(content(folder_ / "manifest.json")).at("results"),
            (nlohmann::json{"a.csv", "b.csv", "manifest.json"}));
}

TEST_F(ResultsFolders, NoneGetsItsNameIfOneCannot) {
  auto run = open({"a.csv", "b.csv"});
  write(*run, "a.csv", "1");
  write(*run, "b.csv", "2");
  fs::create_directory(folder_ / "b.csv");
  EXPECT_THROW(run->publish(), InputError);
  EXPECT_EQ(files(), (std::set<std::string>{"a.csv.partial", "b.csv", "b.csv.partial", "manifest.json.partial"}));
  EXPECT_EQ(content(folder_ / "a.csv.partial"), "1");
}

TEST_F(ResultsFolders, ANewRunRemovesWhatAFinishedOneListed) {
  folder_.write("notes.txt", "mine");
  {
    auto run = open({"a.csv", "only_then.csv"});
    write(*run, "a.csv", "1");
    write(*run, "only_then.csv", "2");
    run->publish();
  }
  const auto run = open({"a.csv"});
  EXPECT_EQ(files(), (std::set<std::string>{"manifest.json.partial", "notes.txt"}));
}

TEST_F(ResultsFolders, ANewRunRemovesWhatAKilledOneLeft) {
  {
    auto run = open({"a.csv"});
    write(*run, "a.csv", "1");
  }
  EXPECT_EQ(files(), (std::set<std::string>{"a.csv.partial", "manifest.json.partial"}));
  const auto run = open({"a.csv"});
  EXPECT_EQ(files(), (std::set<std::string>{"manifest.json.partial"}));
}

TEST_F(ResultsFolders, AManifestThatIsCutOffClaimsWhatItStillLists) {
  std::string whole;
  {
    auto run = open({"a.csv"});
    write(*run, "a.csv", "1");
    whole = content(folder_ / "manifest.json.partial");
  }
  folder_.write("manifest.json.partial", whole.substr(0, whole.find("inputs") + 4));
  EXPECT_EQ(refusal({"a.csv"}), "");
}

TEST_F(ResultsFolders, AFileThatNoManifestListsIsLeftAlone) {
  for (const char* name : {"a.csv", "a.csv.partial", "manifest.json", "manifest.json.partial"}) {
    SCOPED_TRACE(name);
    folder_.write(name, "{\"name\": \"mine\"}");
    EXPECT_EQ(refusal({"a.csv"}), "file-in-the-way");
    EXPECT_EQ(content(folder_ / name), "{\"name\": \"mine\"}");
    fs::remove(folder_ / name);
    fs::remove(folder_ / "manifest.json.partial");
  }
  // Neither does one that somebody put there after the run.
  { open({"b.csv"})->publish(); }
  folder_.write("a.csv", "mine");
  EXPECT_EQ(refusal({"a.csv"}), "file-in-the-way");
  EXPECT_EQ(content(folder_ / "a.csv"), "mine");
}

TEST_F(ResultsFolders, LinksAndFoldersUnderANameAreLeftAlone) {
  const TestFolder elsewhere;
  elsewhere.write("mine", "mine");
  { open({"a.csv"})->publish(); }
  fs::create_symlink(elsewhere / "mine", folder_ / "a.csv");
  EXPECT_EQ(refusal({"a.csv"}), "file-in-the-way");
  fs::remove(folder_ / "a.csv");
  for (const char* name : {"a.csv.partial", "manifest.json.partial"}) {
    SCOPED_TRACE(name);
    fs::remove(folder_ / "manifest.json.partial");
    fs::create_symlink(elsewhere / "mine", folder_ / name);
    EXPECT_EQ(refusal({"a.csv"}), "file-in-the-way");
    fs::remove(folder_ / name);
  }
  ASSERT_EQ(mkfifo((folder_ / "manifest.json.partial").c_str(), 0600), 0);
  EXPECT_EQ(refusal({"a.csv"}), "file-in-the-way");
  EXPECT_EQ(content(elsewhere / "mine"), "mine");
}

TEST_F(ResultsFolders, AManifestClaimsNothingOutsideItsFolder) {
  const fs::path inside = folder_ / "inside";
  fs::create_directory(inside);
  folder_.write("mine", "mine");
  std::ofstream(inside / "manifest.json") << R"({"weft_version": "0", "results": ["../mine", "..", ".", "", "/etc/passwd", 7]})";
  const ResultsFolder run(inside, manifest(), {"a.csv"});
  EXPECT_EQ(content(folder_ / "mine"), "mine");
  EXPECT_FALSE(fs::exists(inside / "manifest.json"));
}

TEST_F(ResultsFolders, AnInputIsRefusedUnderWhateverNameItGoes) {
  const auto in_the_way = [&](const std::string& name, const std::string& input) {
    SCOPED_TRACE(name + " " + input);
    EXPECT_EQ(refusal({"a.csv"}, {input}), "input-in-the-way");
    EXPECT_EQ(content(folder_ / name), "trace");
  };
  for (const char* name : {"a.csv", "a.csv.partial", "manifest.json", "manifest.json.partial"}) {
    folder_.write(name, "trace");
    in_the_way(name, folder_ / name);
    in_the_way(name, folder_.path() / ".." / folder_.path().filename() / name);
    const TestFolder elsewhere;
    fs::create_symlink(folder_ / name, elsewhere / "link");
    in_the_way(name, elsewhere / "link");
    fs::create_hard_link(folder_ / name, elsewhere / "other");
    in_the_way(name, elsewhere / "other");
    fs::remove(folder_ / name);
    fs::remove(folder_ / "manifest.json.partial");
  }
  // A result of an earlier run, which this one would not write but remove.
  {
    auto run = open({"trace.json"});
    write(*run, "trace.json", "trace");
    run->publish();
  }
  in_the_way("trace.json", folder_ / "trace.json");
  EXPECT_TRUE(fs::exists(folder_ / "manifest.json"));
}

TEST_F(ResultsFolders, OneRunHasTheFolder) {
  auto first = open({"a.csv"});
  EXPECT_EQ(refusal({"a.csv"}), "folder-in-use");
  EXPECT_EQ(refusal({"other.csv"}), "folder-in-use");
  write(*first, "a.csv", "1");
  first->publish();
  first.reset();
  EXPECT_EQ(refusal({"a.csv"}), "");
}

}  // namespace
}  // namespace weft::results_folder_test
