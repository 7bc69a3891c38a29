// SPDX-License-Identifier: Apache-2.0
// Protobuf text format, read strictly: hand-written inputs of Weft.
//
// An unknown field, a wrong type or a syntax error is an error with file:line:column, a caret and a
// suggestion. After parsing, `FieldPlaces` tells where a field stands so that checks of meaning
// point into the file as well.
// Thread safety: one document belongs to one thread.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/text/source_text.hpp"

namespace weft {

/// Columns as the library counts them, where a tab goes on to the next multiple of eight, and as
/// diagnostics do, in bytes.
class TabStops {
 public:
  explicit TabStops(std::string_view text);
  /// Bytes of the line before a column. Both from 0.
  int bytes_before(int line, int column) const;

 private:
  struct Tab {
    int line;
    int end_byte;    ///< of the line, behind the tab
    int end_column;  ///< as the library counts
  };
  std::vector<Tab> tabs_;  ///< in their order
};

/// Where the fields of a parsed message stand. `inside` follows nested messages.
class FieldPlaces {
 public:
  /// `tree` may be null: then every field stands for the whole file, and `tabs` too.
  FieldPlaces(const SourceText& source, const google::protobuf::TextFormat::ParseInfoTree* tree, const TabStops* tabs)
      : source_(&source), tree_(tree), tabs_(tabs) {}

  /// Place of the value of field `name` of `message` (the index-th, if repeated); the whole file if
  /// it was not written.
  SourcePlace of(const google::protobuf::Message& message, const std::string& name, int index = 0) const;
  /// Places inside the index-th value of message field `name`.
  FieldPlaces inside(const google::protobuf::Message& message, const std::string& name, int index = 0) const;

 private:
  const SourceText* source_;
  const google::protobuf::TextFormat::ParseInfoTree* tree_;
  const TabStops* tabs_;
};

/// A parsed text file and its places. `source` must outlive it.
class TextprotoDocument {
 public:
  /// Parses `source` into `message`. Adds every error to `diagnostics`; the message is unusable if
  /// there was one.
  TextprotoDocument(const SourceText& source, google::protobuf::Message& message, Diagnostics& diagnostics);

  FieldPlaces places() const { return {*source_, &tree_, &tabs_}; }

 private:
  const SourceText* source_;
  TabStops tabs_;
  google::protobuf::TextFormat::ParseInfoTree tree_;
};

}  // namespace weft
