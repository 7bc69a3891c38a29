// SPDX-License-Identifier: Apache-2.0
#include "tools/python/messages.hpp"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "tools/calibrate/calibrate.pb.h"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/parameters.hpp"
#include "tools/study/study.pb.h"
#include "topologies/topology.pb.h"
#include "workloads/workload.pb.h"

namespace weft::python {

namespace {

namespace py = pybind11;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Fields that name files, perhaps with a format behind a colon.
constexpr std::array<std::string_view, 19> file_fields = {"weft.scenario.Topology.file",
                                                          "weft.scenario.Workload.file",
                                                          "weft.scenario.Workload.process_groups",
                                                          "weft.scenario.JobTrace.file",
                                                          "weft.scenario.JobTrace.throughputs",
                                                          "weft.scenario.MeasuredIteration.file",
                                                          "weft.study.Base.scenario",
                                                          "weft.study.Base.topology",
                                                          "weft.study.Base.workload",
                                                          "weft.study.Base.flows",
                                                          "weft.study.Base.jobs",
                                                          "weft.study.Study.prices",
                                                          "weft.calibration.Case.scenario",
                                                          "weft.calibration.Case.topology",
                                                          "weft.calibration.Case.workload",
                                                          "weft.calibration.Case.flows",
                                                          "weft.calibration.Case.measured",
                                                          "weft.calibration.Nightly.profile",
                                                          "weft.calibration.Nightly.history"};
/// Fields that name a file or one of the presets.
constexpr std::array<std::string_view, 3> file_or_preset_fields = {"weft.scenario.Workload.model", "weft.scenario.Workload.plan",
                                                                   "weft.scenario.Workload.gpu"};
/// Names of a study's axes whose values are files.
constexpr std::array<std::string_view, 5> file_axes = {"scenario", "topology", "workload", "flows", "jobs"};

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().string(); }

class MessageFiller {
 public:
  explicit MessageFiller(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void fill(Message& message, const py::dict& fields, const std::string& called) {
    const Descriptor& type = *message.GetDescriptor();
    for (const auto& [key, value] : fields) {
      const std::string name = py::str(key);
      if (value.is_none()) continue;
      const FieldDescriptor* const field = type.FindFieldByName(name);
      if (field == nullptr) {
        std::vector<std::string> known;
        for (int i = 0; i < type.field_count(); ++i) known.push_back(type.field(i)->name());
        diagnostics_.error("unknown-field", fmt::format("{} has no field {}", called, in_quotes(name)), SourcePlace::named(called),
                           suggestion(name, known, "field"));
        continue;
      }
      fill_field(message, *field, py::reinterpret_borrow<py::object>(value), fmt::format("{}.{}", called, name));
    }
    make_files_absolute(message);
  }

 private:
  static bool is_setting(const Descriptor& type) {
    return type.field_count() == 2 && type.FindFieldByName("name") != nullptr && type.FindFieldByName("value") != nullptr &&
           !type.FindFieldByName("value")->is_repeated();
  }
  /// A condition of a metric goes by the same way.
  static bool is_condition(const Descriptor& type) {
    return type.field_count() == 2 && type.FindFieldByName("column") != nullptr && type.FindFieldByName("value") != nullptr;
  }

  void fill_field(Message& message, const FieldDescriptor& field, const py::object& value, const std::string& called) {
    if (!field.is_repeated()) return fill_value(message, field, value, called);
    const Descriptor* const type = field.message_type();
    if (py::isinstance<py::dict>(value) && type != nullptr && (is_setting(*type) || is_condition(*type))) {
      const bool has_own_names = py::dict(value).contains(is_setting(*type) ? "name" : "column") && py::len(value) == 2;
      if (!has_own_names) {
        for (const auto& [name, said] : py::dict(value)) {
          py::dict entry;
          entry[is_setting(*type) ? "name" : "column"] = name;
          entry["value"] = said;
          fill_value(message, field, entry, fmt::format("{}[{}]", called, in_quotes(std::string(py::str(name)))));
        }
        return;
      }
    }
    if (!py::isinstance<py::list>(value) && !py::isinstance<py::tuple>(value)) return fill_value(message, field, value, called);
    std::size_t number = 0;
    for (const py::handle one : value)
      fill_value(message, field, py::reinterpret_borrow<py::object>(one), fmt::format("{}[{}]", called, number++));
  }

  void refuse(const py::object& value, const std::string& called, const std::string& wanted) {
    diagnostics_.error("bad-value", fmt::format("{} is {}, and wants {}", called, std::string(py::repr(value)), wanted),
                       SourcePlace::named(called));
  }

  /// Sets the field, or adds a value to it.
  void fill_value(Message& message, const FieldDescriptor& field, const py::object& value, const std::string& called) {
    const google::protobuf::Reflection& access = *message.GetReflection();
    const auto put = [&](auto set, auto add, const auto& what) {
      if (field.is_repeated()) {
        (access.*add)(&message, &field, what);
      } else {
        (access.*set)(&message, &field, what);
      }
    };
    using R = google::protobuf::Reflection;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        if (!py::isinstance<py::dict>(value)) return refuse(value, called, "a dictionary of its fields");
        Message* const inner = field.is_repeated() ? access.AddMessage(&message, &field) : access.MutableMessage(&message, &field);
        return fill(*inner, py::dict(value), called);
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string text;
        if (!take_text(value, text)) return refuse(value, called, "text");
        return put(&R::SetString, &R::AddString, text);
      }
      case FieldDescriptor::CPPTYPE_ENUM: {
        if (const auto* const one = enumerator(*field.enum_type(), value)) return put(&R::SetEnum, &R::AddEnum, one);
        return refuse(value, called, enumerators(*field.enum_type()));
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        if (!py::isinstance<py::bool_>(value)) return refuse(value, called, "True or False");
        return put(&R::SetBool, &R::AddBool, value.cast<bool>());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        if (!is_number(value)) return refuse(value, called, "a number");
        return put(&R::SetDouble, &R::AddDouble, value.cast<double>());
      case FieldDescriptor::CPPTYPE_UINT32:
        if (const auto number = whole(value, 0, std::numeric_limits<std::uint32_t>::max()))
          return put(&R::SetUInt32, &R::AddUInt32, static_cast<std::uint32_t>(*number));
        return refuse(value, called, "a whole number from 0 up");
      case FieldDescriptor::CPPTYPE_INT32:
        if (const auto number = whole(value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()))
          return put(&R::SetInt32, &R::AddInt32, static_cast<std::int32_t>(*number));
        return refuse(value, called, "a whole number");
      case FieldDescriptor::CPPTYPE_UINT64:
        if (const auto number = unsigned_whole(value)) return put(&R::SetUInt64, &R::AddUInt64, *number);
        return refuse(value, called, "a whole number from 0 up");
      default:
        return refuse(value, called, "a field that a person writes");
    }
  }

  static bool is_number(const py::object& value) {
    return !py::isinstance<py::bool_>(value) && PyNumber_Check(value.ptr()) != 0 && !py::isinstance<py::str>(value);
  }

  /// A number without a fraction of 64 bits, NumPy's among them.
  static std::optional<std::uint64_t> unsigned_whole(const py::object& value) {
    if (py::isinstance<py::bool_>(value) || PyIndex_Check(value.ptr()) == 0) return std::nullopt;
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    const std::uint64_t number = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred() == nullptr) return number;
    PyErr_Clear();
    return std::nullopt;
  }

  /// A number without a fraction between the two, NumPy's among them.
  static std::optional<std::int64_t> whole(const py::object& value, std::int64_t least, std::int64_t most) {
    if (py::isinstance<py::bool_>(value) || PyIndex_Check(value.ptr()) == 0) return std::nullopt;
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    int is_beyond = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(index.ptr(), &is_beyond);
    if (is_beyond != 0 || number < least || number > most) return std::nullopt;
    return number;
  }

  static bool take_text(const py::object& value, std::string& text) {
    if (py::isinstance<py::str>(value)) {
      text = value.cast<std::string>();
    } else if (py::isinstance<py::bool_>(value)) {
      text = value.cast<bool>() ? "true" : "false";
    } else if (py::hasattr(value, "__fspath__")) {
      text = absolute(py::module_::import("os").attr("fspath")(value).cast<std::string>());
    } else if (is_number(value)) {
      text = py::str(value);
    } else {
      return false;
    }
    return true;
  }

  static const google::protobuf::EnumValueDescriptor* enumerator(const google::protobuf::EnumDescriptor& type,
                                                                 const py::object& value) {
    if (!py::isinstance<py::str>(value)) return nullptr;
    std::string name = value.cast<std::string>();
    std::ranges::transform(name, name.begin(), [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    const auto* const one = type.FindValueByName(name);
    return one == nullptr || one->number() == 0 ? nullptr : one;
  }

  static std::string enumerators(const google::protobuf::EnumDescriptor& type) {
    std::string text = "one of";
    for (int i = 0; i < type.value_count(); ++i) {
      if (type.value(i)->number() == 0) continue;
      std::string name = type.value(i)->name();
      std::ranges::transform(name, name.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
      text += (i > 1 ? ", \"" : " \"") + name + "\"";
    }
    return text;
  }

  void make_files_absolute(Message& message) const {
    const Descriptor& type = *message.GetDescriptor();
    const google::protobuf::Reflection& access = *message.GetReflection();
    const bool are_values_files =
        is_setting(type) || type.full_name() == "weft.study.Axis" || type.full_name() == "weft.study.Along"
            ? names_files(access.GetString(message, type.FindFieldByName("name")))
            : false;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
      const bool is_file =
          std::ranges::find(file_fields, field.full_name()) != file_fields.end() || (are_values_files && field.name() == "value");
      const bool may_be_file = std::ranges::find(file_or_preset_fields, field.full_name()) != file_or_preset_fields.end();
      if (!is_file && !may_be_file) continue;
      const auto located = [&](const std::string& text) {
        return !text.empty() && (is_file || std::filesystem::exists(text)) ? absolute(text) : text;
      };
      if (!field.is_repeated()) {
        access.SetString(&message, &field, located(access.GetString(message, &field)));
        continue;
      }
      for (int k = 0; k < access.FieldSize(message, &field); ++k)
        access.SetRepeatedString(&message, &field, k, located(access.GetRepeatedString(message, &field, k)));
    }
  }

  bool names_files(const std::string& name) const {
    return std::ranges::find(file_axes, name) != file_axes.end() || parameters_.is_file(name);
  }

  Diagnostics& diagnostics_;
  Parameters parameters_;
};

std::unique_ptr<Message> empty_message(const std::string& type) {
  if (type == "scenario") return std::make_unique<scenario::Scenario>();
  if (type == "topology") return std::make_unique<topology_file::TopologyFile>();
  if (type == "workload") return std::make_unique<workload_file::Workload>();
  if (type == "study") return std::make_unique<study::Study>();
  if (type == "cases") return std::make_unique<calibration::Cases>();
  throw py::key_error(type);
}

}  // namespace

std::string message_text(const std::string& type, const py::dict& fields, const std::string& called) {
  const std::unique_ptr<Message> message = empty_message(type);
  Diagnostics diagnostics;
  MessageFiller(diagnostics).fill(*message, fields, called);
  diagnostics.throw_if_errors();
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  printer.PrintToString(*message, &text);
  return text;
}

}  // namespace weft::python
