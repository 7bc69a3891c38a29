// SPDX-License-Identifier: Apache-2.0
#include "core/text/textproto_override.hpp"

#include <google/protobuf/descriptor.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"

namespace weft {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// Sets one field of one message from a text.
class FieldSetter {
 public:
  FieldSetter(Message& message, const FieldDescriptor& field, const SourcePlace& place)
      : message_(message), field_(field), reflection_(*message.GetReflection()), place_(place) {}

  void set(const std::string& text) {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        return put(&Reflection::SetUInt32, &Reflection::AddUInt32, read<std::uint32_t>(text, "a whole number"));
      case FieldDescriptor::CPPTYPE_UINT64:
        return put(&Reflection::SetUInt64, &Reflection::AddUInt64, read<std::uint64_t>(text, "a whole number"));
      case FieldDescriptor::CPPTYPE_INT32:
        return put(&Reflection::SetInt32, &Reflection::AddInt32, read<std::int32_t>(text, "a whole number"));
      case FieldDescriptor::CPPTYPE_INT64:
        return put(&Reflection::SetInt64, &Reflection::AddInt64, read<std::int64_t>(text, "a whole number"));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return put(&Reflection::SetDouble, &Reflection::AddDouble, read_real(text));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return put(&Reflection::SetFloat, &Reflection::AddFloat, static_cast<float>(read_real(text)));
      case FieldDescriptor::CPPTYPE_BOOL:
        return put(&Reflection::SetBool, &Reflection::AddBool, read_boolean(text));
      case FieldDescriptor::CPPTYPE_ENUM:
        return put(&Reflection::SetEnum, &Reflection::AddEnum, read_enum(text));
      case FieldDescriptor::CPPTYPE_STRING:
        return put(&Reflection::SetString, &Reflection::AddString, text);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        bad(text, "a message, whose fields are set one by one", fmt::format("write {}.FIELD=VALUE", field_.name()));
    }
  }

 private:
  template <class Setter, class Adder, class Value>
  void put(Setter one, Adder another, Value value) {
    if (field_.is_repeated()) {
      (reflection_.*another)(&message_, &field_, std::move(value));
    } else {
      (reflection_.*one)(&message_, &field_, std::move(value));
    }
  }

  template <class Number>
  Number read(const std::string& text, const char* what) const {
    const std::optional<Number> number = plain_number<Number>(text);
    if (!number) bad(text, what);
    return *number;
  }
  double read_real(const std::string& text) const {
    const auto number = read<double>(text, "a number");
    if (!std::isfinite(number)) bad(text, "a number");
    return number;
  }
  bool read_boolean(const std::string& text) const {
    if (text != "true" && text != "false") bad(text, "true or false");
    return text == "true";
  }
  const EnumValueDescriptor* read_enum(const std::string& text) const {
    if (const EnumValueDescriptor* value = field_.enum_type()->FindValueByName(text)) return value;
    std::vector<std::string> names;
    for (int i = 0; i < field_.enum_type()->value_count(); ++i) {
      const EnumValueDescriptor* value = field_.enum_type()->value(i);
      if (value->number() != 0) names.emplace_back(value->name());  // 0 is unspecified
    }
    bad(text, "one of its values", suggestion(text, names, "value"));
  }
  [[noreturn]] void bad(const std::string& text, const char* what, const std::string& help = "") const {
    fail("bad-value", fmt::format("{} = {}: it takes {}", field_.name(), in_quotes(text), what), place_, help);
  }

  Message& message_;
  const FieldDescriptor& field_;
  const Reflection& reflection_;
  const SourcePlace& place_;
};

const FieldDescriptor& field_named(const Message& message, const std::string& name, const SourcePlace& place) {
  const Descriptor& type = *message.GetDescriptor();
  if (const FieldDescriptor* field = type.FindFieldByName(name)) return *field;
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.emplace_back(type.field(i)->name());
  fail("unknown-field", fmt::format("{} has no field {}", type.name(), in_quotes(name)), place, suggestion(name, names, "field"));
}

}  // namespace

void override_field(Message& message, std::string_view setting, const SourcePlace& place) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos) {
    fail("bad-setting", fmt::format("{} has no value", in_quotes(setting)), place, "write FIELD=VALUE");
  }
  std::string_view path = setting.substr(0, equals);
  Message* inside = &message;
  while (true) {
    const std::size_t dot = path.find('.');
    const FieldDescriptor& field = field_named(*inside, std::string(path.substr(0, dot)), place);
    if (dot == std::string_view::npos) return FieldSetter(*inside, field, place).set(std::string(setting.substr(equals + 1)));
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field.is_repeated()) {
      fail("unknown-field", fmt::format("{} has no fields of its own to set", field.name()), place);
    }
    inside = inside->GetReflection()->MutableMessage(inside, &field);
    path.remove_prefix(dot + 1);
  }
}

}  // namespace weft
