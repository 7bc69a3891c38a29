// SPDX-License-Identifier: Apache-2.0
// A golden case: a command, its inputs and what it must print, as a folder of files.
//
// Where it sits: golden_test.cpp runs every folder below tests/golden/cases against the `weft`
// program; golden_case_test.cpp proves with /bin/sh as the program that this harness finds what it
// is for.
//
// Files of a case
//   command           arguments of the program, one line, split and quoted as the shell does
//   expected_stdout   what it prints; no such file: nothing
//   expected_stderr   likewise
//   expected_status   exit status; no such file: 0 (a signal n counts as 128 + n)
//   absent_paths      optional: one path per line that must not exist afterwards
//   expected_files/   optional: files that must exist afterwards with this content, by the same
//                     relative path
//   inputs            optional: one path per line, relative to the root of the project; each is
//                     linked into the working folder under its last name. A case whose input lies
//                     outside the project and is absent is skipped
//   anything else     an input, copied
//
// The program runs with a fresh copy of the inputs as its working folder, so goldens name relative
// paths only and are the same on every machine. `{{*}}` in an expected line stands for any text
// within that line (versions, wall time).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft::golden {

/// What a case has to say after it ran.
struct Verdict {
  std::string skipped;      ///< why it could not run; empty: it ran
  std::string differences;  ///< as a diff, expected "-" and got "+"; empty: all as expected
};

/// Names of the folders below `cases`, sorted.
std::vector<std::string> case_names(const std::filesystem::path& cases);

/// Runs `program` on the case and compares. `project_root` is where the paths in `inputs` start.
Verdict check(const std::filesystem::path& case_folder, const std::filesystem::path& program,
              const std::filesystem::path& project_root);

/// Runs `program` on the case and writes what it did as the expectation. Expected lines with
/// `{{*}}` that still fit are kept. Of expected_files, those that are there are written anew.
/// Returns why it could not run, or nothing.
std::string update(const std::filesystem::path& case_folder, const std::filesystem::path& program,
                   const std::filesystem::path& project_root);

/// Line by line difference, "" if equal; equal lines next to a difference are shown for
/// orientation.
std::string difference(std::string_view expected, std::string_view got);

/// Does `line` fit `pattern`, in which `{{*}}` stands for any text?
bool line_fits(std::string_view pattern, std::string_view line);

}  // namespace weft::golden
