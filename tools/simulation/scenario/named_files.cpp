// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/named_files.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weft {

namespace {

bool is_unreadable(const Diagnostic& diagnostic) {
  return diagnostic.code == "no-file" || diagnostic.code == "is-directory" || diagnostic.code == "unreadable";
}

/// Whether the field was written.
bool has_field(const google::protobuf::Message& message, const std::string& name) {
  const google::protobuf::FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) return false;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  return field->is_repeated() ? reflection.FieldSize(message, field) > 0 : reflection.HasField(message, field);
}

/// The field of `message` that names the file; "" if none does.
std::string field_of_file(const std::string& file, const google::protobuf::Message& message, const Loading& loading) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (field.is_repeated() || field.cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING ||
        !has_field(message, field.name()))
      continue;
    if (loading.beside_scenario(message.GetReflection()->GetString(message, &field)) == file) return field.name();
  }
  return "";
}

/// The field of `message` that a reader complains about; "" where it complains about what the file
/// holds.
std::string culprit_of(const Diagnostic& diagnostic, const google::protobuf::Message& message, const Loading& loading) {
  if (diagnostic.place.line > 0) return "";
  if (has_field(message, diagnostic.option)) return diagnostic.option;
  return is_unreadable(diagnostic) ? field_of_file(diagnostic.place.file, message, loading) : "";
}

}  // namespace

InputError about_fields(const InputError& error, const Loading& loading, const google::protobuf::Message& message,
                        const FieldPlaces& places) {
  std::vector<Diagnostic> diagnostics;
  for (Diagnostic diagnostic : error.diagnostics()) {
    const std::string culprit = culprit_of(diagnostic, message, loading);
    if (!culprit.empty()) {
      if (is_unreadable(diagnostic)) diagnostic.message = fmt::format("{}: {}", diagnostic.place.file, diagnostic.message);
      diagnostic.place = places.of(message, culprit);
    }
    diagnostics.push_back(std::move(diagnostic));
  }
  return InputError(std::move(diagnostics));
}

}  // namespace weft
