// SPDX-License-Identifier: Apache-2.0
#include "calibration/profile.hpp"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/profile.pb.h"
#include "core/text/diagnostics.hpp"
#include "core/text/textproto.hpp"

namespace weft {

namespace {

void write(const CalibrationProfile::Errors& from, calibration::Errors& to) {
  to.set_count(from.count);
  to.set_mape(from.mape);
  to.set_ordering_accuracy(from.ordering_accuracy);
}

CalibrationProfile::Errors read_errors(const calibration::Errors& from) {
  return {from.count(), from.mape(), from.ordering_accuracy()};
}

void write(const Alignment& from, calibration::Alignment& to) {
  to.set_gpus(from.counted == AlignedGpus::cluster ? calibration::CLUSTER : calibration::JOB);
  for (std::size_t i = 0; i < Alignment::term_count; ++i) {
    if (!from.is_fitted[i]) continue;
    calibration::Term& term = *to.add_term();
    term.set_name(std::string(Alignment::term_names[i]));
    term.set_coefficient(from.coefficients[i]);
  }
  to.set_count(from.count);
  to.set_mape_before(from.mape_before);
  to.set_mape_after(from.mape_after);
  to.set_mape_leave_one_out(from.mape_leave_one_out);
}

Alignment read_alignment(const calibration::Alignment& from, const FieldPlaces& places, Diagnostics& diagnostics) {
  Alignment to;
  to.counted = from.gpus() == calibration::JOB ? AlignedGpus::job : AlignedGpus::cluster;
  for (int i = 0; i < from.term_size(); ++i) {
    const auto name = std::ranges::find(Alignment::term_names, from.term(i).name());
    if (name == Alignment::term_names.end()) {
      diagnostics.error("unknown-term", "an alignment has no term " + in_quotes(from.term(i).name()), places.of(from, "term", i),
                        "terms are N, N T, ln N, 1/N, T and 1");
      continue;
    }
    const auto term = static_cast<std::size_t>(name - Alignment::term_names.begin());
    if (to.is_fitted[term])
      diagnostics.error("duplicate-setting", "the term " + in_quotes(*name) + " stands twice", places.of(from, "term", i),
                        "keep one of the two");
    if (!std::isfinite(from.term(i).coefficient()))
      diagnostics.error("bad-value", "the coefficient is no number", places.of(from, "term", i),
                        "`weft calibrate --align` fits it");
    to.coefficients[term] = from.term(i).coefficient();
    to.is_fitted[term] = true;
  }
  if (from.term().empty())
    diagnostics.error("missing-field", "the alignment has no term", places.of(from, "term"), "`weft calibrate --align` fits them");
  to.count = from.count();
  to.mape_before = from.mape_before();
  to.mape_after = from.mape_after();
  to.mape_leave_one_out = from.mape_leave_one_out();
  return to;
}

}  // namespace

std::string_view to_text(CalibrationProfile::Knowledge knowledge) {
  switch (knowledge) {
    case CalibrationProfile::Knowledge::unknown:
      return "unknown";
    case CalibrationProfile::Knowledge::identified:
      return "identified";
    case CalibrationProfile::Knowledge::loose:
      return "loose";
    case CalibrationProfile::Knowledge::free:
      return "free";
  }
  return "";
}

CalibrationProfile::Knowledge knowledge_called(std::string_view name) {
  using Knowledge = CalibrationProfile::Knowledge;
  for (const Knowledge knowledge : {Knowledge::identified, Knowledge::loose, Knowledge::free}) {
    if (name == to_text(knowledge)) return knowledge;
  }
  return Knowledge::unknown;
}

std::string_view to_text(CalibrationProfile::Stamp stamp) {
  return stamp == CalibrationProfile::Stamp::calibrated ? "calibrated" : "transferred";
}

std::string to_text(const std::vector<CalibrationProfile::Weight>& weights) {
  std::vector<std::string> parts;
  for (const CalibrationProfile::Weight& one : weights) parts.push_back(fmt::format("{} {}", one.of, one.weight));
  return fmt::format("{}; else 1", fmt::join(parts, ", "));
}

std::string CalibrationProfile::to_text() const {
  calibration::Profile message;
  message.set_weft_version(weft_version);
  message.set_date(date);
  message.set_machine(machine);
  for (const Input& from : inputs) {
    calibration::Input& to = *message.add_input();
    to.set_role(from.role);
    to.set_path(from.path);
    to.set_sha256(from.sha256);
  }
  for (const Parameter& from : parameters) {
    calibration::Parameter& to = *message.add_parameter();
    to.set_name(from.name);
    to.set_value(from.value);
    to.set_start(from.start);
    to.set_minimum(from.minimum);
    to.set_maximum(from.maximum);
    to.set_low(from.low);
    to.set_high(from.high);
    to.set_knowledge(from.knowledge == Knowledge::identified ? calibration::IDENTIFIED
                     : from.knowledge == Knowledge::loose    ? calibration::LOOSE
                     : from.knowledge == Knowledge::free     ? calibration::FREE
                                                             : calibration::KNOWLEDGE_UNSPECIFIED);
    to.set_stamp(from.stamp == Stamp::calibrated ? calibration::CALIBRATED : calibration::TRANSFERRED);
  }
  write(before, *message.mutable_before());
  write(training, *message.mutable_training());
  if (hold_out.count > 0) write(hold_out, *message.mutable_hold_out());
  message.set_lambda(lambda);
  message.set_unmatched(unmatched);
  message.set_outliers(outliers);
  message.set_search(search);
  message.set_runs(runs);
  message.set_night(night);
  if (alignment) write(*alignment, *message.mutable_alignment());
  for (const Weight& from : weights) {
    calibration::Weight& to = *message.add_weight();
    to.set_of(from.of);
    to.set_weight(from.weight);
  }
  std::string text = "# proto-file: calibration/profile.proto\n# proto-message: weft.calibration.Profile\n";
  std::string fields;
  google::protobuf::TextFormat::PrintToString(message, &fields);
  return text + fields;
}

CalibrationProfile CalibrationProfile::read(const SourceText& source) {
  calibration::Profile message;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, message, diagnostics);
  diagnostics.throw_if_errors();
  CalibrationProfile profile;
  profile.weft_version = message.weft_version();
  profile.date = message.date();
  profile.machine = message.machine();
  for (const calibration::Input& from : message.input()) profile.inputs.push_back({from.role(), from.path(), from.sha256()});
  for (int i = 0; i < message.parameter_size(); ++i) {
    const calibration::Parameter& from = message.parameter(i);
    const SourcePlace place = document.places().of(message, "parameter", i);
    if (from.name().empty() || from.value().empty()) {
      diagnostics.error("missing-field", "the parameter has no name or no value", place,
                        "write parameter { name: \"flow.wqe_latency\" value: \"1.2us\" }");
    }
    if (std::ranges::find(profile.parameters, from.name(), &Parameter::name) != profile.parameters.end())
      diagnostics.error("duplicate-setting", in_quotes(from.name()) + " stands twice", place, "keep one of the two");
    Parameter& to = profile.parameters.emplace_back();
    to = {from.name(), from.value(), from.start(), from.minimum(), from.maximum(), from.low(), from.high()};
    to.knowledge = from.knowledge() == calibration::IDENTIFIED ? Knowledge::identified
                   : from.knowledge() == calibration::FREE     ? Knowledge::free
                   : from.knowledge() == calibration::LOOSE    ? Knowledge::loose
                                                               : Knowledge::unknown;
    to.stamp = from.stamp() == calibration::TRANSFERRED ? Stamp::transferred : Stamp::calibrated;
    to.line = place.line;
  }
  if (profile.parameters.empty()) {
    diagnostics.error("missing-field", "the profile has no parameter", SourcePlace::named(source.name()),
                      "`weft calibrate` writes profiles");
  }
  if (message.has_alignment())
    profile.alignment = read_alignment(message.alignment(), document.places().inside(message, "alignment"), diagnostics);
  diagnostics.throw_if_errors();
  profile.before = read_errors(message.before());
  profile.training = read_errors(message.training());
  profile.hold_out = read_errors(message.hold_out());
  profile.lambda = message.lambda();
  profile.unmatched = message.unmatched();
  profile.outliers = message.outliers();
  profile.search = message.search();
  profile.runs = message.runs();
  profile.night = message.night();
  for (const calibration::Weight& from : message.weight()) profile.weights.push_back({from.of(), from.weight()});
  return profile;
}

}  // namespace weft
