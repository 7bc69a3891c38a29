// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/notes.hpp"

#include <gtest/gtest.h>

namespace weft::notes_test {
namespace {

using Texts = std::vector<std::string>;

TEST(Notes, FilesAreNamedWithoutTheirFolders) {
  EXPECT_EQ(readable_notes({"/data/traces/philly.csv: 3 rows were left out", "hosts are alike"}, {"/data/traces/philly.csv"}),
            (Texts{"philly.csv: 3 rows were left out", "hosts are alike"}));
  // A path that stands elsewhere in a note, or that only begins the same, is none of the file's.
  EXPECT_EQ(readable_notes({"see a/b.csv: x", "a/b.csv.gz: y"}, {"a/b.csv"}), (Texts{"see a/b.csv: x", "a/b.csv.gz: y"}));
}

TEST(Notes, FilesOfOneNameKeepTheirFolders) {
  EXPECT_EQ(readable_notes({"a/t.csv: x", "b/t.csv: x"}, {"a/t.csv", "b/t.csv"}), (Texts{"a/t.csv: x", "b/t.csv: x"}));
  // The same file twice is one file.
  EXPECT_EQ(readable_notes({"a/t.csv: x"}, {"a/t.csv", "a/t.csv"}), (Texts{"t.csv: x"}));
}

// A workload that two jobs run on different numbers of ranks is read twice and says the same twice.
TEST(Notes, ComeOnce) { EXPECT_EQ(readable_notes({"a: x", "b: y", "a: x"}, {}), (Texts{"a: x", "b: y"})); }

}  // namespace
}  // namespace weft::notes_test
