// SPDX-License-Identifier: Apache-2.0
#include "core/text/textproto.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::size_t word_length(std::string_view line, std::size_t column) {
  std::size_t length = 0;
  if (column < line.size() && (line[column] == '"' || line[column] == '\'')) {
    const char quote = line[column];
    for (length = 1; column + length < line.size(); ++length) {
      if (line[column + length] == quote) return length + 1;
    }
    return length;
  }
  while (column + length < line.size()) {
    const char c = line[column + length];
    const bool word =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-';
    if (!word) break;
    ++length;
  }
  return length == 0 ? 1 : length;
}

/// What to write where the parser met something else.
std::string syntax_help(std::string_view message) {
  const auto says = [message](std::string_view part) { return message.find(part) != std::string_view::npos; };
  if (const std::size_t got = message.find("Expected string, got: "); got != std::string_view::npos) {
    const char first = message.substr(got + std::string_view("Expected string, got: ").size()).front();
    if (first >= '0' && first <= '9') return "quantities are texts with a unit, in double quotes, as in \"2h\" or \"4MiB\"";
  }
  if (says("Expected string")) return "texts stand in double quotes: name: \"value\"";
  if (says("Expected integer") || says("Expected double")) return "this field takes a plain number, without quotes or unit";
  if (says("Expected \":\"")) return "a value stands behind a colon: name: value; a group of fields in braces: name { ... }";
  if (says("Expected \"{\"") || says("Expected \"<\"")) return "this field is a group of fields: name { field: value }";
  if (says("Expected identifier")) return "a field's name is expected here, as in name: value or name { ... }";
  if (says("true") && says("false")) return "write true or false";
  if (says("String literals cannot cross line")) return "is a closing quote missing?";
  if (says("deep")) return "is a closing \"}\" missing?";
  return "fields are written name: value, or name { ... }; comments begin with #";
}

/// Deeper messages are refused; those of the project are not.
constexpr int nesting_max = 64;

std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  const std::size_t first = begin + before.size();
  const std::size_t end = text.find(after, first);
  if (end == std::string_view::npos) return {};
  return std::string(text.substr(first, end - first));
}

const Descriptor* find_message(const Descriptor* root, const std::string& full_name) {
  return root->file()->pool()->FindMessageTypeByName(full_name);
}

/// Turns the library's messages into ours: a code, a suggestion for misspelt fields, a caret.
class Collector : public google::protobuf::io::ErrorCollector {
 public:
  Collector(const SourceText& source, const TabStops& tabs, const Descriptor* root, Diagnostics& diagnostics)
      : source_(source), tabs_(tabs), root_(root), diagnostics_(diagnostics) {}

  /// The parser warns of what it steps over to read on, fields that do not exist: an error like any
  /// other.
  void AddWarning(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    AddError(line, column, message);
  }

  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    // What is counted but not kept needs no place.
    if (line < 0 || diagnostics_.is_full()) {
      diagnostics_.error("syntax", message, source_.whole_file());
      return;
    }
    const std::string_view text = source_.line(static_cast<std::size_t>(line) + 1);
    auto start = static_cast<std::size_t>(tabs_.bytes_before(line, column));
    std::string code = "syntax";
    std::string said = message;
    std::string help;
    if (const std::string field = between(message, "has no field named \"", "\""); !field.empty()) {
      code = "unknown-field";
      const std::string type = between(message, "Message type \"", "\"");
      std::vector<std::string> names;
      if (const Descriptor* descriptor = find_message(root_, type)) {
        for (int i = 0; i < descriptor->field_count(); ++i) names.push_back(descriptor->field(i)->name());
      }
      said = fmt::format("there is no field \"{}\" in {}", field, type.substr(type.rfind('.') + 1));
      help = suggestion(field, names, "field");
      // The library reports the token after the name; point at the name itself.
      const std::size_t at = text.rfind(field, start);
      if (at != std::string_view::npos) start = at;
    } else if (message.find("specified multiple times") != std::string::npos) {
      code = "duplicate-field";
      help = "keep one of the values";
    } else if (message.find("enumeration value") != std::string::npos) {
      code = "unknown-value";
      const std::string enum_field = between(message, "for field \"", "\"");
      const std::string value = between(message, "value of \"", "\"");
      std::vector<std::string> names;
      collect_enum_values(root_, enum_field, names, 0);
      said = fmt::format("\"{}\" is not a value of \"{}\"", value, enum_field);
      help = suggestion(value, names, "value");
      // The library reports the token after the value; point at the value itself.
      const std::size_t at = text.rfind(value, start);
      if (at != std::string_view::npos) start = at;
    } else if (message.ends_with("got: ")) {
      code = "unexpected-end";
      said = "the text ends too early";
      help = "is a closing \"}\" missing?";
    } else if (message.find("out of range") != std::string::npos) {
      help = "the number does not fit this field";
    } else {
      help = syntax_help(message);
    }
    if (start > text.size()) start = text.size();
    diagnostics_.error(code, said, source_.at(line + 1, static_cast<int>(start) + 1, static_cast<int>(word_length(text, start))),
                       help);
  }

 private:
  static void collect_enum_values(const Descriptor* message, const std::string& field, std::vector<std::string>& names, int depth) {
    if (depth > 8 || !names.empty()) return;
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor* candidate = message->field(i);
      if (candidate->name() == field && candidate->enum_type() != nullptr) {
        for (int v = 1; v < candidate->enum_type()->value_count(); ++v) names.push_back(candidate->enum_type()->value(v)->name());
        return;
      }
      if (candidate->message_type() != nullptr && candidate->message_type() != message) {
        collect_enum_values(candidate->message_type(), field, names, depth + 1);
      }
    }
  }

  const SourceText& source_;
  const TabStops& tabs_;
  const Descriptor* root_;
  Diagnostics& diagnostics_;
};

}  // namespace

TabStops::TabStops(std::string_view text) {
  if (text.find('\t') == std::string_view::npos) return;
  int line = 0;
  int byte = 0;
  int column = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      byte = column = 0;
      continue;
    }
    ++byte;
    column += c == '\t' ? 8 - column % 8 : 1;
    if (c == '\t') tabs_.push_back({line, byte, column});
  }
}

int TabStops::bytes_before(int line, int column) const {
  const auto is_after = [](const std::pair<int, int>& place, const Tab& tab) {
    return place < std::pair(tab.line, tab.end_column);
  };
  const auto after = std::upper_bound(tabs_.begin(), tabs_.end(), std::pair(line, column), is_after);
  if (after == tabs_.begin() || std::prev(after)->line != line) return column;
  return std::prev(after)->end_byte + column - std::prev(after)->end_column;
}

SourcePlace FieldPlaces::of(const google::protobuf::Message& message, const std::string& name, int index) const {
  if (tree_ == nullptr) return source_->whole_file();
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) return source_->whole_file();
  const auto location = tree_->GetLocation(field, field->is_repeated() ? index : -1);
  if (location.line < 0) return source_->whole_file();
  const std::string_view text = source_->line(static_cast<std::size_t>(location.line) + 1);
  // The library gives the place of the field's name; the value is what a reader wants to see
  // underlined.
  auto column = static_cast<std::size_t>(tabs_->bytes_before(location.line, location.column));
  const std::size_t after_name = column + name.size();
  if (text.substr(std::min(column, text.size()), name.size()) == name && after_name < text.size()) {
    std::size_t value = after_name;
    while (value < text.size() && (text[value] == ':' || text[value] == ' ')) ++value;
    if (value < text.size() && text[value] != '#') column = value;
  }
  return source_->at(location.line + 1, static_cast<int>(column) + 1, static_cast<int>(word_length(text, column)));
}

FieldPlaces FieldPlaces::inside(const google::protobuf::Message& message, const std::string& name, int index) const {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (tree_ == nullptr || field == nullptr) return {*source_, nullptr, nullptr};
  return {*source_, tree_->GetTreeForNested(field, field->is_repeated() ? index : -1), tabs_};
}

TextprotoDocument::TextprotoDocument(const SourceText& source, google::protobuf::Message& message, Diagnostics& diagnostics)
    : source_(&source), tabs_(source.text()) {
  source.require_utf8_text("protobuf text file");
  const std::string text(source.text());
  Diagnostics first;
  Collector first_collector(source, tabs_, message.GetDescriptor(), first);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&first_collector);
  parser.WriteLocationsTo(&tree_);
  parser.SetRecursionLimit(nesting_max);
  if (parser.ParseFromString(text, &message) && !first.has_errors()) return;
  if (first.has_errors() && first.all().front().code != "unknown-field") {
    for (const Diagnostic& diagnostic : first.all()) diagnostics.add(diagnostic);
    return;
  }
  // The parser stops at a field that does not exist. Once more, stepping over it, to report them
  // all.
  Collector collector(source, tabs_, message.GetDescriptor(), diagnostics);
  const std::unique_ptr<google::protobuf::Message> discarded(message.New());
  google::protobuf::TextFormat::Parser lenient;
  lenient.RecordErrorsTo(&collector);
  lenient.SetRecursionLimit(nesting_max);
  lenient.AllowUnknownField(true);
  lenient.ParseFromString(text, discarded.get());
  if (!diagnostics.has_errors()) diagnostics.error("syntax", "the file is not protobuf text", source.whole_file());
}

}  // namespace weft
