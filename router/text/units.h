#pragma once
// Units of measurement and currencies, and their conversion.

#include <cstdint>
#include <optional>
#include <string_view>

#include "router/text/read_text.h"

namespace signalbox::text {

/// Quantities of one dimension are compared in its base unit. kNone is a plain number.
enum class Dimension : uint8_t {
  kNone,
  kLength,       // metre
  kArea,         // square metre
  kVolume,       // litre
  kMass,         // kilogram
  kTime,         // second
  kSpeed,        // metre a second
  kTemperature,  // kelvin
  kData,         // byte
  kEnergy,       // joule
  kPower,        // watt
  kPressure,     // pascal
  kFrequency,    // hertz
  kVoltage,      // volt
  kCurrent,      // ampere
  kCharge,       // coulomb
  kSubstance,    // mole
  kShare,        // one: percent is 0.01
  kMoney,        // of the currency
};
inline constexpr size_t kDimensions = 19;

struct Unit {
  Dimension dimension = Dimension::kNone;
  double factor = 1;     // the unit in base units
  double offset = 0;     // added after the factor
  uint8_t currency = 0;  // 0: none or unknown; for may_be_currency()

  double to_base(double value) const { return value * factor + offset; }
  bool operator==(const Unit&) const = default;
};

inline bool is_plain(const Unit& unit) {
  return unit.dimension == Dimension::kNone;
}
inline bool is_share(const Unit& unit) {
  return unit.dimension == Dimension::kShare;
}
inline bool is_money(const Unit& unit) {
  return unit.dimension == Dimension::kMoney;
}

inline constexpr Unit kYears = {Dimension::kTime, 365.25 * 86400};
inline constexpr Unit kInDays = {Dimension::kTime, 86400};
inline constexpr Unit kInMinutes = {Dimension::kTime, 60};

struct FoundUnit {
  Unit unit;
  size_t last_token;  // half-open
};

/// The unit at `token`, which follows a number: "km", "square feet", "%", "km/h", "US dollars".
std::optional<FoundUnit> read_unit(const ReadText& text, size_t token);

/// The currency that ends before `token`: "$", "US$", "A$", "EUR".
std::optional<Unit> read_currency_before(const ReadText& text, size_t token);

/// True if an answer's currency `mine` may be a context's currency `theirs`: "$" may be any dollar,
/// "USD" may be "$", "kroner" may be NOK.
bool may_be_currency(uint8_t mine, uint8_t theirs);

/// The unit with this name in lower case, and its dimension.
std::optional<Unit> unit_named(std::string_view lower);
Dimension dimension_of(std::string_view lower);

}  // namespace signalbox::text
