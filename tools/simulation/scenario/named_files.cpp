#include "tools/simulation/scenario/named_files.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace weft {

namespace {

std::string flag_of(const google::protobuf::FieldDescriptor& field) {
  std::string flag = "--" + field.name();
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

/// Does `text` hold `flag` at `position`, and not a longer one?
bool has_flag_at(const std::string& text, std::size_t position, const std::string& flag) {
  if (text.compare(position, flag.size(), flag) != 0) return false;
  const std::size_t end = position + flag.size();
  return end == text.size() || (std::isalnum(static_cast<unsigned char>(text[end])) == 0 && text[end] != '-');
}

bool is_unreadable(const Diagnostic& diagnostic) {
  return diagnostic.code == "no-file" || diagnostic.code == "is-directory" || diagnostic.code == "unreadable";
}

/// The field of `message` that a reader complains about; "" where it complains about what the file
/// holds.
std::string culprit_of(const Diagnostic& diagnostic, const google::protobuf::Message& message, const Loading& loading) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (field.is_repeated() || !message.GetReflection()->HasField(message, &field)) continue;
    const std::string flag = flag_of(field);
    if (has_flag_at(diagnostic.place.file, 0, flag) || has_flag_at(diagnostic.message, 0, flag)) return field.name();
    const bool is_text = field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
    const std::string text = is_text ? message.GetReflection()->GetString(message, &field) : "";
    if (is_unreadable(diagnostic) && is_text && loading.beside_scenario(text) == diagnostic.place.file) return field.name();
    if (diagnostic.code == "unknown-format" && field.name() == "format") return field.name();
  }
  return "";
}

}  // namespace

std::string with_fields(std::string text, const google::protobuf::Message& message) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (field.is_repeated()) continue;
    const std::string flag = flag_of(field);
    for (std::size_t at = text.find(flag); at != std::string::npos; at = text.find(flag, at + 1)) {
      if (!has_flag_at(text, at, flag)) continue;
      const bool has_value = at + flag.size() < text.size() && text[at + flag.size()] == '=';
      text.replace(at, flag.size() + (has_value ? 1 : 0), field.name() + (has_value ? ": " : ""));
    }
  }
  return text;
}

InputError about_fields(const InputError& error, const Loading& loading, const google::protobuf::Message& message,
                        const FieldPlaces& places) {
  std::vector<Diagnostic> diagnostics;
  for (Diagnostic diagnostic : error.diagnostics()) {
    const std::string culprit = diagnostic.place.line > 0 ? "" : culprit_of(diagnostic, message, loading);
    if (!culprit.empty()) {
      if (is_unreadable(diagnostic)) diagnostic.message = diagnostic.place.file + ": " + diagnostic.message;
      diagnostic.place = places.of(message, culprit);
    }
    if (diagnostic.code == "unused-flag") diagnostic.code = "unused-field";
    diagnostic.message = with_fields(std::move(diagnostic.message), message);
    diagnostic.help = with_fields(std::move(diagnostic.help), message);
    diagnostics.push_back(std::move(diagnostic));
  }
  return InputError(std::move(diagnostics));
}

}  // namespace weft
