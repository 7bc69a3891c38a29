// SPDX-License-Identifier: Apache-2.0
// Strong units: instants, durations, sizes, rates and lengths.
//
// A `Time` is an instant on the simulated clock; a `Duration` is the distance between two instants.
// One tick of either is 10 ps in a signed 64-bit integer: exact per byte up to 800 Gb/s and for
// every even packet size at 1.6 Tb/s, and 2.9 years long. `Bytes` are sizes, `Bandwidth` is bits
// per second, `Length` is metres of fibre.
//
//   Time - Time = Duration        Time + Duration = Time        Duration * integer = Duration
//   transmit_time(Bytes, Bandwidth) = Duration, rounded up
//   propagation_delay(Length) = Duration
//
// Nothing else mixes. The factor 8 and the powers of ten live in this file and its source only.
//
// Invariants
//   1. Arithmetic never wraps: an overflow throws OverflowFailure (the run stops).
//   2. Text always carries a unit: parse() refuses a bare number and to_text() never prints one.
//   3. Every text printed by to_text() is read back by parse() to the same value.
// Thread safety: values; freely copied between threads.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// Stops the run: 64-bit simulated arithmetic overflowed. Never returns.
[[noreturn]] void fail_unit_overflow(const char* operation);

namespace unit_detail {
inline std::int64_t add(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) fail_unit_overflow(what);
  return r;
}
inline std::int64_t sub(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t r = 0;
  if (__builtin_sub_overflow(a, b, &r)) fail_unit_overflow(what);
  return r;
}
inline std::int64_t mul(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) fail_unit_overflow(what);
  return r;
}
}  // namespace unit_detail

/// A span of simulated time. May be negative as a difference; delays are checked to be >= 0 where
/// they are used.
class Duration {
 public:
  static constexpr std::int64_t ticks_per_ns = 100;
  static constexpr std::int64_t ticks_per_us = 1000 * ticks_per_ns;
  static constexpr std::int64_t ticks_per_ms = 1000 * ticks_per_us;
  static constexpr std::int64_t ticks_per_s = 1000 * ticks_per_ms;

  constexpr Duration() = default;
  static constexpr Duration ticks(std::int64_t n) { return Duration(n); }
  static Duration ns(std::int64_t n) { return Duration(unit_detail::mul(n, ticks_per_ns, "Duration::ns")); }
  static Duration us(std::int64_t n) { return Duration(unit_detail::mul(n, ticks_per_us, "Duration::us")); }
  static Duration ms(std::int64_t n) { return Duration(unit_detail::mul(n, ticks_per_ms, "Duration::ms")); }
  static Duration s(std::int64_t n) { return Duration(unit_detail::mul(n, ticks_per_s, "Duration::s")); }
  /// Nearest tick to a real number of seconds. Stops the run if it does not fit.
  static Duration from_seconds(double seconds);
  /// Likewise of microseconds, in which kernels are measured.
  static Duration from_us(double us);
  static constexpr Duration zero() { return Duration(0); }
  static constexpr Duration max() { return Duration(INT64_MAX); }

  constexpr std::int64_t in_ticks() const { return ticks_; }
  constexpr double in_ns() const { return static_cast<double>(ticks_) / ticks_per_ns; }
  constexpr double in_us() const { return static_cast<double>(ticks_) / ticks_per_us; }
  constexpr double in_s() const { return static_cast<double>(ticks_) / ticks_per_s; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend Duration operator+(Duration a, Duration b) { return Duration(unit_detail::add(a.ticks_, b.ticks_, "Duration +")); }
  friend Duration operator-(Duration a, Duration b) { return Duration(unit_detail::sub(a.ticks_, b.ticks_, "Duration -")); }
  friend Duration operator*(Duration a, std::int64_t k) { return Duration(unit_detail::mul(a.ticks_, k, "Duration *")); }
  friend Duration operator*(std::int64_t k, Duration a) { return a * k; }
  Duration& operator+=(Duration b) { return *this = *this + b; }
  Duration& operator-=(Duration b) { return *this = *this - b; }

 private:
  constexpr explicit Duration(std::int64_t ticks) : ticks_(ticks) {}
  std::int64_t ticks_ = 0;
};

/// The longest duration that a file may give for one thing: an op, a job, a field of a table.
constexpr Duration one_year = Duration::ticks(365LL * 24 * 3600 * Duration::ticks_per_s);

/// floor(time * numerator / denominator), without overflow in between. Requires: time >= 0,
/// denominator > 0, and the result fits.
inline Duration scaled(Duration time, std::uint64_t numerator, std::uint64_t denominator) {
  __extension__ using Wide = unsigned __int128;
  return Duration::ticks(static_cast<std::int64_t>(static_cast<Wide>(time.in_ticks()) * numerator / denominator));
}

/// An instant of simulated time, counted from the start of the run.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time zero() { return Time(0); }
  /// Later than every event: "never".
  static constexpr Time max() { return Time(INT64_MAX); }
  static constexpr Time at_ticks(std::int64_t ticks) { return Time(ticks); }

  constexpr std::int64_t in_ticks() const { return ticks_; }
  constexpr double in_ns() const { return static_cast<double>(ticks_) / Duration::ticks_per_ns; }
  constexpr double in_s() const { return static_cast<double>(ticks_) / Duration::ticks_per_s; }
  constexpr Duration since_start() const { return Duration::ticks(ticks_); }

  friend constexpr auto operator<=>(Time, Time) = default;
  friend Time operator+(Time t, Duration d) { return Time(unit_detail::add(t.ticks_, d.in_ticks(), "Time +")); }
  friend Time operator-(Time t, Duration d) { return Time(unit_detail::sub(t.ticks_, d.in_ticks(), "Time -")); }
  friend Duration operator-(Time a, Time b) { return Duration::ticks(unit_detail::sub(a.ticks_, b.ticks_, "Time -")); }
  Time& operator+=(Duration d) { return *this = *this + d; }

 private:
  constexpr explicit Time(std::int64_t ticks) : ticks_(ticks) {}
  std::int64_t ticks_ = 0;
};

/// A size in bytes.
class Bytes {
 public:
  constexpr Bytes() = default;
  static constexpr Bytes of(std::int64_t n) { return Bytes(n); }
  static Bytes kib(std::int64_t n) { return Bytes(unit_detail::mul(n, 1024, "Bytes::kib")); }
  static Bytes mib(std::int64_t n) { return Bytes(unit_detail::mul(n, 1024 * 1024, "Bytes::mib")); }
  static constexpr Bytes zero() { return Bytes(0); }

  constexpr std::int64_t count() const { return count_; }
  constexpr double in_bits() const { return static_cast<double>(count_) * 8.0; }

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend Bytes operator+(Bytes a, Bytes b) { return Bytes(unit_detail::add(a.count_, b.count_, "Bytes +")); }
  friend Bytes operator-(Bytes a, Bytes b) { return Bytes(unit_detail::sub(a.count_, b.count_, "Bytes -")); }
  friend Bytes operator*(Bytes a, std::int64_t k) { return Bytes(unit_detail::mul(a.count_, k, "Bytes *")); }
  Bytes& operator+=(Bytes b) { return *this = *this + b; }

 private:
  constexpr explicit Bytes(std::int64_t n) : count_(n) {}
  std::int64_t count_ = 0;
};

/// A rate in bits per second.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth bps(std::int64_t n) { return Bandwidth(n); }
  static Bandwidth gbps(std::int64_t n) { return Bandwidth(unit_detail::mul(n, 1'000'000'000, "Bandwidth::gbps")); }
  static constexpr Bandwidth zero() { return Bandwidth(0); }

  constexpr std::int64_t in_bps() const { return bps_; }
  constexpr double in_gbps() const { return static_cast<double>(bps_) / 1e9; }

  friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;
  friend Bandwidth operator*(Bandwidth a, std::int64_t k) { return Bandwidth(unit_detail::mul(a.bps_, k, "Bandwidth *")); }

 private:
  constexpr explicit Bandwidth(std::int64_t bps) : bps_(bps) {}
  std::int64_t bps_ = 0;
};

/// A length of fibre or cable, in millimetres.
class Length {
 public:
  constexpr Length() = default;
  static Length metres(std::int64_t n) { return Length(unit_detail::mul(n, 1000, "Length::metres")); }
  static constexpr Length millimetres(std::int64_t n) { return Length(n); }

  constexpr std::int64_t in_millimetres() const { return millimetres_; }

  friend constexpr auto operator<=>(Length, Length) = default;

 private:
  constexpr explicit Length(std::int64_t mm) : millimetres_(mm) {}
  std::int64_t millimetres_ = 0;
};

/// Time to put `size` on a wire of `rate`, rounded up to a tick. Requires: size >= 0, rate > 0.
Duration transmit_time(Bytes size, Bandwidth rate);

/// Time to move `bits` (may be fractional: what is left of a flow) at `rate_bps`, to the nearest
/// tick but never less than one tick when bits > 0. Returns Duration::max() when rate_bps is 0.
/// Used by fluid models, whose rates are real.
inline Duration fluid_transmit_time(double bits, double rate_bps) {
  if (bits <= 0.0) return Duration::zero();
  if (rate_bps <= 0.0) return Duration::max();
  const double ticks = bits / rate_bps * static_cast<double>(Duration::ticks_per_s);
  if (!(ticks < 9.2e18)) return Duration::max();
  const auto whole = static_cast<std::int64_t>(ticks);
  const std::int64_t nearest = whole + static_cast<std::int64_t>(ticks - static_cast<double>(whole) >= 0.5);
  return Duration::ticks(nearest < 1 ? 1 : nearest);
}

/// Bits that a fluid of `rate_bps` moves in `elapsed`.
inline double fluid_bits(double rate_bps, Duration elapsed) {
  return rate_bps * static_cast<double>(elapsed.in_ticks()) / static_cast<double>(Duration::ticks_per_s);
}

/// Light in fibre: 5 ns per metre (group index about 1.5), rounded up to a tick. Requires: length
/// >= 0.
Duration propagation_delay(Length length);

// --- Text ---
// A number, optional fraction and exponent, optional blanks, then a unit:
//   Duration   ps ns us ms s min h d            "1.5us"
//   Bytes      B kB MB GB TB KiB MiB GiB TiB    "4MiB"
//   Bandwidth  bps Kbps Mbps Gbps Tbps          "400Gbps"
//   Length     mm cm m km                       "30m"

/// Why a text is not a quantity, ready to be the message of a diagnostic.
struct QuantityError {
  std::string message;
  std::string help;
};

/// Result of reading a quantity: a value or the reason why not.
template <class Quantity>
struct ParsedQuantity {
  std::optional<Quantity> value;
  QuantityError error;
};

ParsedQuantity<Duration> parse_duration(std::string_view text);
ParsedQuantity<Bytes> parse_bytes(std::string_view text);
ParsedQuantity<Bandwidth> parse_bandwidth(std::string_view text);
ParsedQuantity<Length> parse_length(std::string_view text);

/// Shortest exact text with the largest unit that keeps the number whole or short: "1.5us", "4MiB",
/// "400Gbps", "30m".
std::string to_text(Duration value);
std::string to_text(Bytes value);
std::string to_text(Bandwidth value);
std::string to_text(Length value);

/// `size` in `parts` parts that differ by at most one byte and add up exactly; the i-th, with the
/// larger ones first.
Bytes part_of(Bytes size, std::uint32_t parts, std::uint32_t i);

}  // namespace weft
