// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_trace.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "core/text/plain_number.hpp"
#include "core/text/source_text.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

namespace json = simdjson::ondemand;

constexpr std::int64_t ns_per_us = 1000;
/// Beyond this (126 years) a time in microseconds is damaged; differences of two still fit 63 bits
/// as nanoseconds.
constexpr std::int64_t us_max = 4'000'000'000'000'000;
constexpr std::int64_t id_max = std::int64_t{1} << 53;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

/// "12.345" microseconds -> 12345 ns, exactly; more than three decimals are cut. None if it is no
/// number or beyond us_max.
std::optional<std::int64_t> nanoseconds(std::string_view token) {
  const std::size_t dot = token.find('.');
  const auto whole = plain_number<std::int64_t>(token.substr(0, dot));
  if (whole && dot != std::string_view::npos) {
    std::int64_t fraction = 0;
    std::size_t digits = 0;
    for (const char c : token.substr(dot + 1)) {
      if (c < '0' || c > '9') break;
      if (digits < 3) fraction = fraction * 10 + (c - '0');
      ++digits;
    }
    for (std::size_t d = digits; d < 3; ++d) fraction *= 10;
    if (digits > 0 && dot + 1 + digits == token.size() && *whole <= us_max && *whole >= -us_max) {
      return *whole * ns_per_us + (token.front() == '-' ? -fraction : fraction);
    }
  } else if (whole && *whole <= us_max && *whole >= -us_max) {
    return *whole * ns_per_us;
  }
  // With an exponent.
  const auto value = plain_number<double>(token);
  if (!value || !(*value >= -static_cast<double>(us_max) && *value <= static_cast<double>(us_max))) return std::nullopt;
  return static_cast<std::int64_t>(*value * static_cast<double>(ns_per_us));
}

enum class Category : std::uint8_t { cpu_op, annotation, runtime, gpu, sync, ignored, unknown };

Category category_of(std::string_view name) {
  struct Known {
    std::string_view name;
    Category category;
  };
  static constexpr std::array categories = {
      Known{"cpu_op", Category::cpu_op},
      Known{"kernel", Category::gpu},
      Known{"cuda_runtime", Category::runtime},
      Known{"cuda_driver", Category::runtime},
      Known{"gpu_memcpy", Category::gpu},
      Known{"gpu_memset", Category::gpu},
      Known{"user_annotation", Category::annotation},
      Known{"cuda_sync", Category::sync},
      Known{"Operator", Category::cpu_op},
      Known{"Runtime", Category::runtime},
      Known{"Kernel", Category::gpu},
      Known{"Memcpy", Category::gpu},
      Known{"Memset", Category::gpu},
      Known{"gpu_user_annotation", Category::ignored},
      Known{"python_function", Category::ignored},
      Known{"cpu_instant_event", Category::ignored},
      Known{"cuda_event", Category::ignored},
      Known{"cuda_profiler_range", Category::ignored},
      Known{"overhead", Category::ignored},
      Known{"Trace", Category::ignored},
      Known{"ac2g", Category::ignored},
      Known{"fwdbwd", Category::ignored},
      Known{"async_gpu", Category::ignored},
      Known{"async_cpu_to_gpu", Category::ignored},
      Known{"forward_backward", Category::ignored},
  };
  for (const Known& known : categories) {
    if (known.name == name) return known.category;
  }
  return Category::unknown;
}

/// What an event says, as raw text of the file; empty = not there.
struct RawEvent {
  Category kind = Category::unknown;
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view process;
  std::string_view thread;
  std::string_view begin;
  std::string_view duration;

  std::string_view correlation;
  std::string_view external_id;
  std::string_view device;
  std::string_view stream;
  std::string_view wait_on_stream;
  std::string_view record_correlation;
  std::string_view collective;
  std::string_view type;
  std::string_view elements_in;
  std::string_view elements_out;
  std::string_view group_size;
  std::string_view group_name;
  std::string_view group_description;
  std::string_view group_ranks;
  std::string_view rank_start;
  std::string_view rank_stride;
  std::string_view root;
  std::string_view splits_in;
  std::string_view splits_out;
  std::string_view source;
  std::string_view destination;
  std::string_view input_dims;
  std::string_view input_types;
};

struct KinetoField {
  std::string_view key;
  std::string_view RawEvent::*member;
};

constexpr std::array event_fields = {
    KinetoField{"ph", &RawEvent::phase},   KinetoField{"cat", &RawEvent::category}, KinetoField{"name", &RawEvent::name},
    KinetoField{"ts", &RawEvent::begin},   KinetoField{"dur", &RawEvent::duration}, KinetoField{"pid", &RawEvent::process},
    KinetoField{"tid", &RawEvent::thread},
};

constexpr std::array argument_fields = {
    KinetoField{"External id", &RawEvent::external_id},
    KinetoField{"external id", &RawEvent::external_id},
    KinetoField{"correlation", &RawEvent::correlation},
    KinetoField{"device", &RawEvent::device},
    KinetoField{"stream", &RawEvent::stream},
    KinetoField{"wait_on_stream", &RawEvent::wait_on_stream},
    KinetoField{"wait_on_cuda_event_record_corr_id", &RawEvent::record_correlation},
    KinetoField{"Collective name", &RawEvent::collective},
    KinetoField{"dtype", &RawEvent::type},
    KinetoField{"In msg nelems", &RawEvent::elements_in},
    KinetoField{"Out msg nelems", &RawEvent::elements_out},
    KinetoField{"Group size", &RawEvent::group_size},
    KinetoField{"Process Group Name", &RawEvent::group_name},
    KinetoField{"Process Group Description", &RawEvent::group_description},
    KinetoField{"Process Group Ranks", &RawEvent::group_ranks},
    KinetoField{"Global rank start", &RawEvent::rank_start},
    KinetoField{"Global rank stride", &RawEvent::rank_stride},
    KinetoField{"Rank", &RawEvent::root},
    KinetoField{"In split size", &RawEvent::splits_in},
    KinetoField{"Out split size", &RawEvent::splits_out},
    KinetoField{"Src Rank", &RawEvent::source},
    KinetoField{"Dst Rank", &RawEvent::destination},
    KinetoField{"Input Dims", &RawEvent::input_dims},
    KinetoField{"Input type", &RawEvent::input_types},
};

/// Elements of all tensors of "[[384], [2, 3]]"; none if the text is something else or the number
/// is absurd.
std::optional<std::int64_t> element_count(std::string_view dims) {
  std::int64_t sum = 0;
  std::int64_t product = 1;
  std::int64_t number = -1;
  int depth = 0;
  bool has_number = false;
  for (const char c : dims) {
    if (c >= '0' && c <= '9') {
      number = std::max<std::int64_t>(number, 0) * 10 + (c - '0');
      if (number > id_max) return std::nullopt;
      continue;
    }
    if (number >= 0) {
      if (__builtin_mul_overflow(product, number, &product)) return std::nullopt;
      number = -1;
      has_number = true;
    }
    if (c == '[') {
      product = 1;
      has_number = false;
      ++depth;
    } else if (c == ']') {
      if (has_number && __builtin_add_overflow(sum, product, &sum)) return std::nullopt;
      has_number = false;
      --depth;
    } else if (c != ',' && static_cast<unsigned char>(c) > ' ') {
      return std::nullopt;
    }
    if (depth < 0) return std::nullopt;
  }
  return depth == 0 ? std::optional(sum) : std::nullopt;
}

/// The first text of ["float", "float"].
std::string_view first_text(std::string_view list) {
  const std::size_t begin = list.find('"');
  if (begin == std::string_view::npos) return {};
  const std::size_t end = list.find('"', begin + 1);
  return end == std::string_view::npos ? std::string_view() : list.substr(begin + 1, end - begin - 1);
}

class KinetoTraceReader {
 public:
  explicit KinetoTraceReader(const std::string& path) : source_(SourceText::read(path)) {
    source_.require_utf8_text("Kineto trace");
    text_ = simdjson::padded_string(source_.text());
  }

  KinetoTrace read() {
    try {
      read_document();
    } catch (const simdjson::simdjson_error& error) {
      throw_json_error(error.error());
    }
    if (!has_events_) {
      fail("not-kineto", "this JSON file has no traceEvents", source_.whole_file(),
           "a trace is what torch.profiler's export_chrome_trace() writes");
    }
    diagnostics_.throw_if_errors();
    if (trace_.calls.empty() && trace_.kernels.empty()) {
      fail("no-ops", "the trace has no cpu_op, runtime or kernel events", source_.whole_file(),
           "record it with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])");
    }
    shift_to_first_event();
    diagnostics_.throw_if_errors();
    sort();
    return std::move(trace_);
  }

 private:
  void read_document() {
    const auto failed = parser_.iterate(text_).get(document_);
    if (failed) throw simdjson::simdjson_error(failed);
    has_document_ = true;
    if (document_.type().value() != json::json_type::object) {
      fail("not-kineto", "this is JSON, but no object with traceEvents", source_.at_offset(0),
           "a trace is what torch.profiler's export_chrome_trace() writes");
    }
    json::object file = document_.get_object().value();
    for (auto field : file) {
      const std::string_view key = field.unescaped_key().value();
      json::value value = field.value();
      if (key == "distributedInfo") {
        read_distributed_info(value);
      } else if (key == "traceEvents") {
        has_events_ = true;
        if (value.type().value() != json::json_type::array) {
          fail("not-kineto", "traceEvents is no list", here(), "a trace is what torch.profiler's export_chrome_trace() writes");
        }
        json::array events = value.get_array().value();
        for (auto element : events) read_event(element.value());
      }
    }
  }

  [[noreturn]] void throw_json_error(simdjson::error_code error) {
    const std::size_t end = trimmed(source_.text()).size();
    std::size_t offset = end;
    if (has_document_) {
      const char* at = nullptr;
      if (!document_.current_location().get(at)) offset = std::min(end, static_cast<std::size_t>(at - text_.data()));
    }
    const bool incomplete = error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT || error == simdjson::UNCLOSED_STRING ||
                            error == simdjson::OUT_OF_BOUNDS || offset + 1 >= end;
    if (incomplete) {
      fail("truncated-file", fmt::format("the JSON ends at byte {} before all its brackets are closed", end),
           source_.at_offset(end == 0 ? 0 : end - 1), "it was cut off; fetch it again");
    }
    fail("bad-json", fmt::format("this is no valid JSON: {}", simdjson::error_message(error)), source_.at_offset(offset),
         "the file is damaged; fetch it again");
  }

  /// Where the parser stands.
  SourcePlace here() {
    const char* at = nullptr;
    if (!has_document_ || document_.current_location().get(at)) return source_.whole_file();
    return place_of_text(std::string_view(at, 1));
  }
  /// Requires: a piece of `text_`.
  SourcePlace place_of_text(std::string_view raw, int length = 1) {
    return source_.at_offset(std::min(static_cast<std::size_t>(raw.data() - text_.data()), source_.text().size()), length);
  }

  /// Raw text of a scalar; of a list all of it. Blanks behind it are cut off.
  static std::string_view raw_text(json::value& value) {
    const json::json_type type = value.type().value();
    if (type == json::json_type::array) {
      json::array list = value.get_array().value();
      return trimmed(list.raw_json().value());
    }
    if (type == json::json_type::object) return {};
    return trimmed(value.raw_json_token());
  }
  /// What a JSON text means, without its quotes. Escapes stay, but for the simple ones.
  static std::string unquoted(std::string_view raw) {
    if (raw.size() < 2 || raw.front() != '"' || raw.back() != '"') return std::string(raw);
    raw = raw.substr(1, raw.size() - 2);
    std::string text;
    text.reserve(raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == '\\' && i + 1 < raw.size() && (raw[i + 1] == '"' || raw[i + 1] == '\\' || raw[i + 1] == '/')) ++i;
      text += raw[i];
    }
    return text;
  }
  static std::string_view without_quotes(std::string_view raw) {
    return raw.size() >= 2 && raw.front() == '"' && raw.back() == '"' ? raw.substr(1, raw.size() - 2) : raw;
  }

  void read_distributed_info(json::value& value) {
    if (value.type().value() != json::json_type::object) return;
    json::object object = value.get_object().value();
    for (auto field : object) {
      const std::string_view key = field.unescaped_key().value();
      json::value inner = field.value();
      if (key == "rank" || key == "world_size") {
        const std::string_view raw = raw_text(inner);
        const auto number = plain_number<std::int64_t>(raw);
        const bool valid = number && *number >= (key == "rank" ? 0 : 1) && *number <= workload_rank_count_max;
        if (!valid) {
          diagnostics_.error("bad-value", fmt::format("distributedInfo's {} is no number of ranks", key), place_of_text(raw),
                             "ranks count from 0");
          continue;
        }
        (key == "rank" ? trace_.rank : trace_.world_size) = static_cast<std::uint32_t>(*number);
      } else if (key == "pg_config" && inner.type().value() == json::json_type::array) {
        json::array list = inner.get_array().value();
        for (auto group : list) read_group(group.value());
      }
    }
  }

  void read_group(json::value value) {
    if (value.type().value() != json::json_type::object) return;
    ProcessGroup group;
    bool has_name = false;
    json::object object = value.get_object().value();
    for (auto field : object) {
      const std::string_view key = field.unescaped_key().value();
      json::value inner = field.value();
      if (key == "pg_name") {
        group.name = unquoted(raw_text(inner));
        has_name = true;
      } else if (key == "pg_desc") {
        group.description = unquoted(raw_text(inner));
      } else if (key == "ranks") {
        // Long lists are cut short; the kernels may say more.
        if (auto ranks = parse_kineto_ranks(without_quotes(raw_text(inner)))) group.ranks = std::move(*ranks);
      }
    }
    if (has_name && !group.ranks.empty()) trace_.groups.push_back(std::move(group));
  }

  void read_event(json::value value) {
    if (value.type().value() != json::json_type::object) {
      diagnostics_.error("bad-value", "an entry of traceEvents is no object", here(), "the file is damaged; record it again");
      return;
    }
    RawEvent event;
    json::object object = value.get_object().value();
    for (auto field : object) {
      const std::string_view key = field.unescaped_key().value();
      json::value inner = field.value();
      if (key == "args") {
        if (inner.type().value() != json::json_type::object) continue;
        json::object arguments = inner.get_object().value();
        for (auto argument : arguments) {
          const std::string_view argument_key = argument.unescaped_key().value();
          json::value argument_value = argument.value();
          fill(event, argument_fields, argument_key, argument_value);
        }
      } else {
        fill(event, event_fields, key, inner);
        // What is left out says so first. Flow events alone are a quarter of a file.
        if (key == "ph" && event.phase != "\"X\"") return;
        if (key == "cat") {
          event.kind = category_of(without_quotes(event.category));
          if (event.kind == Category::ignored) return;
        }
      }
    }
    if (event.phase == "\"X\"") add_event(event);
  }

  template <class Fields>
  static void fill(RawEvent& event, const Fields& fields, std::string_view key, json::value& value) {
    for (const KinetoField& field : fields) {
      if (field.key != key) continue;
      event.*field.member = raw_text(value);
      return;
    }
  }

  void add_event(const RawEvent& event) {
    const Category category = event.kind;
    if (category == Category::unknown) {
      // Text of the file as key: as many different ones as there are events at most.
      ++trace_.unknown_categories[std::string(without_quotes(event.category).substr(0, 40))];
      return;
    }
    const auto begin = time_of(event, event.begin, "ts");
    if (!begin) return;
    if (category == Category::sync) {
      add_sync(event);
      return;
    }
    const auto duration = time_of(event, event.duration, "dur");
    if (!duration) return;
    if (*duration < 0) {
      diagnostics_.error(
          "negative-duration", fmt::format("event {} lasts less than nothing", in_quotes(without_quotes(event.name))),
          place_of_text(event.duration, static_cast<int>(event.duration.size())), "the trace is damaged; record it again");
      return;
    }
    if (*duration > op_duration_max.in_ticks() / Duration::ticks_per_ns) {
      diagnostics_.error("out-of-range", fmt::format("event {} lasts more than a year", in_quotes(without_quotes(event.name))),
                         place_of_text(event.duration, static_cast<int>(event.duration.size())), "durations are microseconds");
      return;
    }
    if (trace_.calls.size() + trace_.kernels.size() >= kineto_none - 1) {
      fail("too-large", "the trace holds more events than 32 bits can count", source_.whole_file(), "record fewer iterations");
    }
    if (category == Category::gpu) {
      add_kernel(event, *begin, *begin + *duration);
    } else {
      add_call(event, category, *begin, *begin + *duration);
    }
  }

  std::optional<std::int64_t> time_of(const RawEvent& event, std::string_view raw, const char* key) {
    // Anything of the event that the file really has tells the place.
    if (raw.empty()) {
      diagnostics_.error("missing-attribute", fmt::format("event {} has no {}", in_quotes(without_quotes(event.name)), key),
                         place_of_text(event.phase), "the trace is damaged; record it again");
      return std::nullopt;
    }
    const auto value = nanoseconds(raw);
    if (!value) {
      diagnostics_.error("bad-value", fmt::format("{} is no time in microseconds: {}", key, raw.substr(0, 40)),
                         place_of_text(raw, static_cast<int>(std::min<std::size_t>(raw.size(), 40))),
                         "the trace is damaged; record it again");
    }
    return value;
  }

  /// -1 if it is not there; an error if it is something else than a number.
  std::int64_t id_of(std::string_view raw, const char* key) {
    if (raw.empty()) return -1;
    const auto value = plain_number<std::int64_t>(without_quotes(raw));
    if (value && *value >= -1 && *value <= id_max) return *value;
    // CUPTI writes "invalid" as a 32-bit or 64-bit -1.
    diagnostics_.error("bad-value", fmt::format("{} is no number: {}", key, raw.substr(0, 40)),
                       place_of_text(raw, static_cast<int>(std::min<std::size_t>(raw.size(), 40))),
                       "the trace is damaged; record it again");
    return -1;
  }

  void add_call(const RawEvent& event, Category category, std::int64_t begin, std::int64_t end) {
    KinetoCall call;
    call.begin_ns = begin;
    call.end_ns = end;
    call.kind = category == Category::runtime  ? KinetoCall::Kind::runtime
                : category == Category::cpu_op ? KinetoCall::Kind::op
                                               : KinetoCall::Kind::annotation;
    call.thread = thread_of(event);
    call.name = name_of(event.name);
    if (category == Category::runtime) call.correlation = id_of(event.correlation, "correlation");
    if (category == Category::cpu_op) call.external_id = id_of(event.external_id, "External id");
    call.communication = communication_of(event);
    trace_.calls.push_back(call);
  }

  void add_kernel(const RawEvent& event, std::int64_t begin, std::int64_t end) {
    KinetoKernel kernel;
    kernel.begin_ns = begin;
    kernel.end_ns = end;
    kernel.correlation = id_of(event.correlation, "correlation");
    kernel.external_id = id_of(event.external_id, "External id");
    kernel.stream = stream_of(event, event.stream);
    kernel.name = name_of(event.name);
    kernel.communication = communication_of(event);
    trace_.kernels.push_back(kernel);
  }

  void add_sync(const RawEvent& event) {
    KinetoSync sync;
    sync.correlation = id_of(event.correlation, "correlation");
    sync.record_correlation = id_of(event.record_correlation, "wait_on_cuda_event_record_corr_id");
    if (!event.stream.empty() && event.stream != "-1") sync.stream = stream_of(event, event.stream);
    if (!event.wait_on_stream.empty() && event.wait_on_stream != "-1") sync.wait_on_stream = stream_of(event, event.wait_on_stream);
    if (sync.correlation >= 0) trace_.syncs.push_back(sync);
  }

  std::uint32_t communication_of(const RawEvent& event) {
    const std::string_view name = without_quotes(event.name);
    constexpr std::string_view prefix = "nccl:";
    const bool is_annotation = name.substr(0, prefix.size()) == prefix;
    if (event.collective.empty() && !is_annotation) return kineto_none;
    KinetoCommunication communication;
    communication.collective = event.collective.empty() ? unquoted(event.name).substr(prefix.size()) : unquoted(event.collective);
    communication.type = unquoted(event.type);
    communication.group_name = unquoted(event.group_name);
    communication.group_description = unquoted(event.group_description);
    communication.group_ranks = unquoted(event.group_ranks);
    communication.elements_in = id_of(event.elements_in, "In msg nelems");
    communication.elements_out = id_of(event.elements_out, "Out msg nelems");
    communication.group_size = id_of(event.group_size, "Group size");
    communication.rank_start = id_of(event.rank_start, "Global rank start");
    communication.rank_stride = id_of(event.rank_stride, "Global rank stride");
    communication.splits_in = unquoted(event.splits_in);
    communication.splits_out = unquoted(event.splits_out);
    communication.root = id_of(event.root, "Rank");
    communication.source = id_of(event.source, "Src Rank");
    communication.destination = id_of(event.destination, "Dst Rank");
    if (event.collective.empty() && !event.input_dims.empty()) {
      if (const auto elements = element_count(event.input_dims)) {
        communication.elements_in = *elements;
        communication.elements_out = -1;
        communication.type = std::string(first_text(event.input_types));
      }
    }
    const std::string_view where = event.collective.empty() ? event.name : event.collective;
    communication.offset = static_cast<std::uint64_t>(where.data() - text_.data());
    trace_.communications.push_back(std::move(communication));
    return static_cast<std::uint32_t>(trace_.communications.size() - 1);
  }

  std::uint32_t name_of(std::string_view raw) {
    const auto [known, is_new] = names_.try_emplace(raw, static_cast<std::uint32_t>(trace_.names.size()));
    if (is_new) trace_.names.push_back(unquoted(raw));
    return known->second;
  }
  std::uint32_t thread_of(const RawEvent& event) {
    thread_name_.clear();
    fmt::format_to(std::back_inserter(thread_name_), "{}/{}", without_quotes(event.process), without_quotes(event.thread));
    const auto [known, is_new] = threads_.try_emplace(thread_name_, static_cast<std::uint32_t>(trace_.threads.size()));
    if (is_new) trace_.threads.push_back(thread_name_);
    return known->second;
  }
  std::uint32_t stream_of(const RawEvent& event, std::string_view raw) {
    // Where the arguments are missing, the row of the trace viewer says the same.
    const std::int64_t device = id_of(event.device.empty() ? event.process : event.device, "device");
    const std::int64_t stream = id_of(raw.empty() ? event.thread : raw, "stream");
    const auto [known, is_new] = streams_.try_emplace({device, stream}, static_cast<std::uint32_t>(trace_.streams.size()));
    if (is_new) trace_.streams.emplace_back(device, stream);
    return known->second;
  }

  void shift_to_first_event() {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    const auto widen = [&](const auto& events) {
      for (const auto& event : events) {
        first = std::min(first, event.begin_ns);
        last = std::max(last, event.end_ns);
      }
    };
    widen(trace_.calls);
    widen(trace_.kernels);
    // Both lie within us_max, so the difference fits.
    if ((last - first) / ns_per_us > op_duration_max.in_ticks() / Duration::ticks_per_us) {
      diagnostics_.error("out-of-range", "first and last event lie more than a year apart", source_.whole_file(),
                         "the trace is damaged; record it again");
      return;
    }
    const auto shift = [&](auto& events) {
      for (auto& event : events) {
        event.begin_ns -= first;
        event.end_ns -= first;
      }
    };
    shift(trace_.calls);
    shift(trace_.kernels);
  }

  void sort() {
    std::stable_sort(trace_.calls.begin(), trace_.calls.end(), [](const KinetoCall& a, const KinetoCall& b) {
      return std::tuple(a.thread, a.begin_ns, -a.end_ns) < std::tuple(b.thread, b.begin_ns, -b.end_ns);
    });
    std::stable_sort(trace_.kernels.begin(), trace_.kernels.end(), [](const KinetoKernel& a, const KinetoKernel& b) {
      return std::pair(a.begin_ns, a.end_ns) < std::pair(b.begin_ns, b.end_ns);
    });
    find_launches();
  }

  void find_launches() {
    std::unordered_map<std::int64_t, std::uint32_t> call_of_correlation;  // lookup only
    call_of_correlation.reserve(trace_.kernels.size());
    for (const KinetoKernel& kernel : trace_.kernels) {
      if (kernel.correlation >= 0) call_of_correlation.try_emplace(kernel.correlation, kineto_none);
    }
    for (std::uint32_t c = 0; c < trace_.calls.size(); ++c) {
      if (trace_.calls[c].correlation < 0) continue;
      const auto wanted = call_of_correlation.find(trace_.calls[c].correlation);
      if (wanted != call_of_correlation.end() && wanted->second == kineto_none) wanted->second = c;
    }
    for (KinetoKernel& kernel : trace_.kernels) {
      if (kernel.correlation >= 0) kernel.launch = call_of_correlation.at(kernel.correlation);
    }
  }

  SourceText source_;
  simdjson::padded_string text_;
  json::parser parser_;
  json::document document_;
  bool has_document_ = false;
  Diagnostics diagnostics_;
  bool has_events_ = false;
  KinetoTrace trace_;
  /// Raw texts of `text_`; used for lookup only.
  std::unordered_map<std::string_view, std::uint32_t> names_;
  std::unordered_map<std::string, std::uint32_t> threads_;  ///< index by name
  std::string thread_name_;                                 ///< that of the event in hand
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> streams_;
};

}  // namespace

KinetoTrace read_kineto_trace(const std::string& path) { return KinetoTraceReader(path).read(); }

std::optional<std::vector<std::uint32_t>> parse_kineto_ranks(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::uint32_t> ranks;
  while (!text.empty()) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    std::uint32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc{} || rank >= workload_rank_count_max) return std::nullopt;
    ranks.push_back(rank);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  return ranks;
}

std::optional<std::vector<std::uint32_t>> complete_kineto_ranks(std::string_view text, std::int64_t size) {
  constexpr std::string_view cut = ", ...]";
  if (text.size() < cut.size() || text.substr(text.size() - cut.size()) != cut) return std::nullopt;
  auto ranks = parse_kineto_ranks(fmt::format("{}]", text.substr(0, text.size() - cut.size())));
  if (!ranks || ranks->size() < 2 || size <= static_cast<std::int64_t>(ranks->size()) || size > workload_rank_count_max) {
    return std::nullopt;
  }
  const std::int64_t start = ranks->front();
  const std::int64_t stride = (*ranks)[1] - start;
  if (stride <= 0 || start + (size - 1) * stride >= workload_rank_count_max) return std::nullopt;
  for (std::size_t i = 0; i < ranks->size(); ++i) {
    if ((*ranks)[i] != start + static_cast<std::int64_t>(i) * stride) return std::nullopt;
  }
  for (auto i = static_cast<std::int64_t>(ranks->size()); i < size; ++i) {
    ranks->push_back(static_cast<std::uint32_t>(start + i * stride));
  }
  return ranks;
}

}  // namespace weft
