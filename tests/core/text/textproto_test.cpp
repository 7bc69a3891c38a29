// SPDX-License-Identifier: Apache-2.0
// Strict protobuf text, tried on a schema that the protobuf library brings along
// (descriptor.proto).
#include "core/text/textproto.hpp"

#include <fmt/format.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"

namespace weft::textproto_test {
namespace {

using google::protobuf::FileDescriptorProto;

struct Parsed {
  FileDescriptorProto message;
  Diagnostics diagnostics;

  std::string errors() const {
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics.all()) text += diagnostic.to_text();
    return text;
  }
};

Parsed parse(const std::string& text) {
  Parsed parsed;
  const SourceText source("s.textproto", text);
  const TextprotoDocument document(source, parsed.message, parsed.diagnostics);
  return parsed;
}

TEST(Textproto, ReadsAGoodFile) {
  const Parsed parsed = parse("# comment\nname: \"a\"\nmessage_type { name: \"M\" field { number: 3 type: TYPE_INT32 } }\n");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << parsed.errors();
  EXPECT_EQ(parsed.message.message_type(0).field(0).number(), 3);
}

TEST(Textproto, UnknownFieldWithSuggestion) {
  EXPECT_EQ(parse("name: \"a\"\npakage: \"b\"\n").errors(),
            "s.textproto:2:1: error: there is no field \"pakage\" in FileDescriptorProto [unknown-field]\n"
            "    2 | pakage: \"b\"\n"
            "      | ^~~~~~\n"
            "  help: did you mean \"package\"?\n");
}

TEST(Textproto, UnknownFieldInsideANestedMessage) {
  EXPECT_EQ(parse("message_type {\n  name: \"M\"\n\tfield { numbr: 3 }\n}\n").errors(),
            "s.textproto:3:10: error: there is no field \"numbr\" in FieldDescriptorProto [unknown-field]\n"
            "    3 |  field { numbr: 3 }\n"
            "      |          ^~~~~\n"
            "  help: did you mean \"number\"?\n");
}

// Parsing used to stop at the first field that does not exist, so that three misspelt names were
// found in three runs.
TEST(Textproto, AllUnknownFieldsAreReported) {
  const Parsed parsed =
      parse("pakage: \"b\"\nmessage_type { nam: \"M\" inner { x: 1 } field { numbr: [1, 2] } }\nsyntx: 'proto3'\n");
  std::string found;
  for (const Diagnostic& diagnostic : parsed.diagnostics.all()) {
    found += fmt::format("{} {}:{}; ", diagnostic.code, diagnostic.place.line, diagnostic.place.column);
  }
  // What stands inside an unknown message is not looked at.
  EXPECT_EQ(found, "unknown-field 1:1; unknown-field 2:16; unknown-field 2:25; unknown-field 2:48; unknown-field 3:1; ");
}

// A field that does not exist is stepped over, whatever it holds: a million nested messages or
// lists must not exhaust the stack.
TEST(Textproto, UnknownFieldsMayNotNestDeeply) {
  const std::size_t depth = 1'000'000;
  std::string messages = "unknown ";
  for (std::size_t i = 0; i < depth; ++i) messages += "{ a ";
  EXPECT_NE(parse(messages).errors().find("[unknown-field]"), std::string::npos);
  EXPECT_NE(parse("unknown: " + std::string(depth, '[')).errors().find("[unknown-field]"), std::string::npos);
}

TEST(Textproto, UnknownEnumValue) {
  const std::string errors = parse("message_type { field { type: TYPE_INT23 } }\n").errors();
  EXPECT_NE(errors.find("[unknown-value]"), std::string::npos) << errors;
  EXPECT_NE(errors.find("did you mean \"TYPE_INT32\"?"), std::string::npos) << errors;
}

TEST(Textproto, DuplicateFieldWrongTypeAndRange) {
  EXPECT_NE(parse("name: \"a\"\nname: \"b\"\n").errors().find("s.textproto:2:"), std::string::npos);
  EXPECT_NE(parse("name: \"a\"\nname: \"b\"\n").errors().find("[duplicate-field]"), std::string::npos);
  EXPECT_TRUE(parse("name: 5\n").diagnostics.has_errors());
  EXPECT_TRUE(parse("message_type { field { number: \"x\" } }\n").diagnostics.has_errors());
  const std::string range = parse("message_type { field { number: 99999999999999 } }\n").errors();
  EXPECT_NE(range.find("s.textproto:1:32: error:"), std::string::npos) << range;
  EXPECT_NE(range.find("help: the number does not fit this field"), std::string::npos) << range;
}

TEST(Textproto, BrokenSyntax) {
  for (const char* text : {"name", "name:", "name: \"a", "message_type {", "message_type { name: \"a\" ", "}", "name: \"a\" }",
                           "name \"a\" x", "name: \"\\xZZ\""}) {
    EXPECT_TRUE(parse(text).diagnostics.has_errors()) << text;
  }
  EXPECT_THROW(parse(""), InputError);
  EXPECT_THROW(parse("name: \"\xff\""), InputError);
}

TEST(Textproto, DeepNestingIsRefusedNotFollowed) {
  std::string deep = "message_type {";
  for (int i = 0; i < 500; ++i) deep += " nested_type {";
  EXPECT_TRUE(parse(deep).diagnostics.has_errors());
}

TEST(Textproto, PlacesOfFields) {
  const SourceText source("s.textproto", "name: \"a\"\ndependency: \"x\"\ndependency: \"yy\"\nmessage_type {\n  name: \"M\"\n}\n");
  FileDescriptorProto message;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, message, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors());
  const FieldPlaces places = document.places();
  const SourcePlace second = places.of(message, "dependency", 1);
  EXPECT_EQ(second.line, 3);
  EXPECT_EQ(second.column, 13);
  EXPECT_EQ(second.length, 4);
  EXPECT_EQ(second.line_text, "dependency: \"yy\"");
  const SourcePlace nested = places.inside(message, "message_type", 0).of(message.message_type(0), "name");
  EXPECT_EQ(nested.line, 5);
  EXPECT_EQ(nested.column, 9);
  // Not written: the whole file.
  EXPECT_EQ(places.of(message, "package").line, 0);
}

}  // namespace
}  // namespace weft::textproto_test
