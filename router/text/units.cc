// A table of all names, with plurals and metric prefixes. A table is shorter than rules that derive
// the names.

#include "router/text/units.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace signalbox::text {
namespace {

struct Named {
  std::string_view names;  // separated by spaces
  Unit unit;
};

constexpr double kDay = 86400, kYear = kYears.factor;
constexpr double kInch = 0.0254, kFoot = 0.3048, kYard = 0.9144, kMile = 1609.344;
// kDollar and kCrown are of any country. Those of one country are from kUsd to before kDollarsEnd
// and from kSek to before kCrownsEnd.
constexpr uint8_t kDollar = 1, kUsd = 15, kDollarsEnd = 21;
constexpr uint8_t kCrown = 14, kSek = 21, kCrownsEnd = 25;
constexpr double kPound = 0.45359237, kGallon = 3.785411784;

using enum Dimension;

constexpr auto kUnits = std::to_array<Named>({
    {"nm nanometer nanometers nanometre nanometres", {kLength, 1e-9}},
    {"µm μm um micron microns micrometer micrometers micrometre micrometres", {kLength, 1e-6}},
    {"mm millimeter millimeters millimetre millimetres", {kLength, 1e-3}},
    {"cm centimeter centimeters centimetre centimetres", {kLength, 1e-2}},
    {"m meter meters metre metres", {kLength, 1}},
    {"km kms kilometer kilometers kilometre kilometres", {kLength, 1e3}},
    {"inch inches", {kLength, kInch}},
    {"ft foot feet", {kLength, kFoot}},
    {"yd yds yard yards", {kLength, kYard}},
    {"mi mile miles", {kLength, kMile}},
    {"ly light-year light-years lightyear lightyears", {kLength, 9.4607e15}},
    {"ha hectare hectares", {kArea, 1e4}},
    {"acre acres", {kArea, 4046.8564224}},
    {"sqft", {kArea, kFoot* kFoot}},
    {"sqm m²", {kArea, 1}},
    {"km²", {kArea, 1e6}},
    {"ml mls milliliter milliliters millilitre millilitres cc", {kVolume, 1e-3}},
    {"cl centiliter centiliters centilitre centilitres", {kVolume, 1e-2}},
    {"dl deciliter deciliters decilitre decilitres", {kVolume, 0.1}},
    {"l liter liters litre litres", {kVolume, 1}},
    {"m³", {kVolume, 1e3}},
    {"gal gallon gallons", {kVolume, kGallon}},
    {"qt quart quarts", {kVolume, kGallon / 4}},
    {"pint pints", {kVolume, kGallon / 8}},
    {"cup cups", {kVolume, kGallon / 16}},
    {"tbsp tablespoon tablespoons", {kVolume, kGallon / 256}},
    {"tsp teaspoon teaspoons", {kVolume, kGallon / 768}},
    {"barrel barrels bbl", {kVolume, 158.987}},
    {"µg μg ug mcg microgram micrograms", {kMass, 1e-9}},
    {"mg mgs milligram milligrams milligramme milligrammes", {kMass, 1e-6}},
    {"g gram grams gramme grammes", {kMass, 1e-3}},
    {"kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes", {kMass, 1}},
    {"t tonne tonnes", {kMass, 1e3}},
    {"ton tons", {kMass, 1e3}},
    {"oz ounce ounces", {kMass, kPound / 16}},
    {"lb lbs pound pounds", {kMass, kPound}},
    {"ns nanosecond nanoseconds", {kTime, 1e-9}},
    {"µs μs microsecond microseconds", {kTime, 1e-6}},
    {"ms millisecond milliseconds", {kTime, 1e-3}},
    {"s sec secs second seconds sekunden secondes segundos", {kTime, 1}},
    {"min mins minute minutes minuten minutos", {kTime, 60}},
    {"h hr hrs hour hours std stunde stunden heure heures hora horas", {kTime, 3600}},
    {"day days tage tagen jour jours días", {kTime, kDay}},
    {"wk wks week weeks woche wochen semaine semaines semana semanas", {kTime, 7 * kDay}},
    {"fortnight fortnights", {kTime, 14 * kDay}},
    {"mo mos month months monat monate monaten mois meses", {kTime, kYear / 12}},
    {"yr yrs year years jahr jahre jahren ans années años", {kTime, kYear}},
    {"decade decades", {kTime, 10 * kYear}},
    {"century centuries", {kTime, 100 * kYear}},
    {"millennium millennia", {kTime, 1000 * kYear}},
    {"mph", {kSpeed, kMile / 3600}},
    {"kph kmh kmph", {kSpeed, 1 / 3.6}},
    {"knot knots kn", {kSpeed, 1852.0 / 3600}},
    {"kelvin kelvins", {kTemperature, 1}},
    {"celsius centigrade", {kTemperature, 1, 273.15}},
    {"fahrenheit", {kTemperature, 5.0 / 9, 273.15 - 32 * 5.0 / 9}},
    {"bit bits", {kData, 0.125}},
    {"kbit kbits kilobit kilobits kbps", {kData, 125}},
    {"mbit mbits megabit megabits mbps", {kData, 1.25e5}},
    {"gbit gbits gigabit gigabits gbps", {kData, 1.25e8}},
    {"byte bytes", {kData, 1}},
    {"kb kilobyte kilobytes kib", {kData, 1e3}},
    {"mb megabyte megabytes mib", {kData, 1e6}},
    {"gb gigabyte gigabytes gib", {kData, 1e9}},
    {"tb terabyte terabytes tib", {kData, 1e12}},
    {"pb petabyte petabytes pib", {kData, 1e15}},
    {"j joule joules", {kEnergy, 1}},
    {"kj kilojoule kilojoules", {kEnergy, 1e3}},
    {"mj megajoule megajoules", {kEnergy, 1e6}},
    {"gj gigajoule gigajoules", {kEnergy, 1e9}},
    {"calorie calories kcal kcals kilocalorie kilocalories", {kEnergy, 4184}},
    {"wh", {kEnergy, 3600}},
    {"kwh", {kEnergy, 3.6e6}},
    {"mwh", {kEnergy, 3.6e9}},
    {"gwh", {kEnergy, 3.6e12}},
    {"twh", {kEnergy, 3.6e15}},
    {"w watt watts", {kPower, 1}},
    {"milliwatt milliwatts", {kPower, 1e-3}},
    {"kw kilowatt kilowatts", {kPower, 1e3}},
    {"mw megawatt megawatts", {kPower, 1e6}},
    {"gw gigawatt gigawatts", {kPower, 1e9}},
    {"hp horsepower bhp", {kPower, 745.7}},
    {"pa pascal pascals", {kPressure, 1}},
    {"kpa kilopascal kilopascals", {kPressure, 1e3}},
    {"mpa megapascal megapascals", {kPressure, 1e6}},
    {"psi", {kPressure, 6894.757}},
    {"bar", {kPressure, 1e5}},
    {"mbar millibar millibars", {kPressure, 100}},
    {"atm atmospheres", {kPressure, 101325}},
    {"hz hertz", {kFrequency, 1}},
    {"khz kilohertz", {kFrequency, 1e3}},
    {"mhz megahertz", {kFrequency, 1e6}},
    {"ghz gigahertz", {kFrequency, 1e9}},
    {"v volt volts", {kVoltage, 1}},
    {"kv kilovolt kilovolts", {kVoltage, 1e3}},
    {"amp amps ampere amperes", {kCurrent, 1}},
    {"ma milliamp milliamps", {kCurrent, 1e-3}},
    {"ah", {kCharge, 3600}},
    {"mah", {kCharge, 3.6}},
    {"% percent pct prozent", {kShare, 0.01}},
    {"‰", {kShare, 0.001}},
    {"bps", {kShare, 1e-4}},  // basis points
    {"mol mole moles", {kSubstance, 1}},
    {"mmol millimole millimoles", {kSubstance, 1e-3}},
    {"µmol μmol micromole micromoles", {kSubstance, 1e-6}},
    {"nmol nanomole nanomoles", {kSubstance, 1e-9}},
    {"$ dollar dollars buck bucks", {kMoney, 1, 0, kDollar}},
    {"cent cents ct cts", {kMoney, 0.01}},
    {"€ eur euro euros", {kMoney, 1, 0, 2}},
    {"£ gbp", {kMoney, 1, 0, 3}},
    {"pence p", {kMoney, 0.01, 0, 3}},
    {"¥ jpy yen", {kMoney, 1, 0, 4}},
    {"₹ inr rupee rupees", {kMoney, 1, 0, 5}},
    {"cny rmb yuan renminbi", {kMoney, 1, 0, 6}},
    {"chf franc francs", {kMoney, 1, 0, 7}},
    {"₩ krw", {kMoney, 1, 0, 8}},
    {"₽ rub ruble rubles rouble roubles", {kMoney, 1, 0, 9}},
    {"₿ btc bitcoin bitcoins", {kMoney, 1, 0, 10}},
    {"usd", {kMoney, 1, 0, kUsd}},
    {"cad", {kMoney, 1, 0, kUsd + 1}},
    {"aud", {kMoney, 1, 0, kUsd + 2}},
    {"nzd", {kMoney, 1, 0, kUsd + 3}},
    {"hkd", {kMoney, 1, 0, kUsd + 4}},
    {"sgd", {kMoney, 1, 0, kUsd + 5}},
    {"peso pesos mxn", {kMoney, 1, 0, 13}},
    {"krona kronor krone kroner kr", {kMoney, 1, 0, kCrown}},
    {"sek", {kMoney, 1, 0, kSek}},
    {"nok", {kMoney, 1, 0, kSek + 1}},
    {"dkk", {kMoney, 1, 0, kSek + 2}},
    {"isk", {kMoney, 1, 0, kSek + 3}},
    {"pln zloty zlotys", {kMoney, 1, 0, 25}},
    {"czk koruna korunas", {kMoney, 1, 0, 26}},
    {"huf forint forints", {kMoney, 1, 0, 27}},
    {"zar", {kMoney, 1, 0, 28}},
    {"thb baht", {kMoney, 1, 0, 29}},
    {"brl", {kMoney, 1, 0, 30}},
    {"lira liras", {kMoney, 1, 0, 31}},
    {"dinar dinars", {kMoney, 1, 0, 32}},
    {"aed dirham dirhams", {kMoney, 1, 0, 33}},
});

// Names that differ from another one only in case: milliwatt and megawatt, megabit and megabyte.
constexpr auto kCased = std::to_array<Named>({
    {"mW", {kPower, 1e-3}},
    {"mJ", {kEnergy, 1e-3}},
    {"mPa", {kPressure, 1e-3}},
    {"Mb", {kData, 1.25e5}},
    {"Gb", {kData, 1.25e8}},
    {"Tb", {kData, 1.25e11}},
    {"MBps", {kData, 1e6}},
    {"GBps", {kData, 1e9}},
});

// Bytes, only if glued to the number: "512Mi".
constexpr auto kBinary = std::to_array<Named>(
    {{"Ki", {kData, 1e3}}, {"Mi", {kData, 1e6}}, {"Gi", {kData, 1e9}}, {"Ti", {kData, 1e12}}});

using Table = std::unordered_map<std::string_view, Unit>;

const Table& table() {
  static const Table kTable = [] {
    Table out;
    for (const Named& named : kUnits) {
      for (size_t at = 0; at < named.names.size();) {
        const size_t end = std::min(named.names.find(' ', at), named.names.size());
        out.emplace(named.names.substr(at, end - at), named.unit);
        at = end + 1;
      }
    }
    return out;
  }();
  return kTable;
}

const Unit* named(std::string_view lower) {
  const auto found = table().find(lower);
  return found == table().end() ? nullptr : &found->second;
}

// Like named(), for a token whose case may matter.
const Unit* unit_at(const ReadText& text, size_t token) {
  const Token& name = text.at(token);
  const auto cased = std::ranges::find(kCased, name.text, &Named::names);
  if (cased != kCased.end()) return &cased->unit;
  const auto binary = std::ranges::find(kBinary, name.text, &Named::names);
  if (binary != kBinary.end() && text.glued(token)) return &binary->unit;
  return named(name.lower);
}

// The dollar of the letters before "$": "A$", "NZ$".
const Unit* dollar_of(std::string_view country) {
  if (is_one_of(country, {"US", "U.S"})) return named("usd");
  if (is_one_of(country, {"A", "AU", "Au"})) return named("aud");
  if (is_one_of(country, {"C", "CA", "Can"})) return named("cad");
  if (country == "NZ") return named("nzd");
  if (country == "HK") return named("hkd");
  return is_one_of(country, {"S", "SG"}) ? named("sgd") : nullptr;
}

// True if a unit of one letter is in its usual case.
bool fits_case(const Token& token) {
  if (token.text.size() != 1) return true;
  return std::string_view("mglshtjwvLWVJ$%").find(token.text[0]) != std::string_view::npos;
}

Unit area_of(const Unit& length) {
  return {kArea, length.factor * length.factor};
}

Unit volume_of(const Unit& length) {
  return {kVolume, length.factor * length.factor * length.factor * 1e3};
}

std::optional<FoundUnit> power_of_length(const ReadText& text, size_t token) {
  const std::string_view first = text.at(token).lower;
  const bool square = is_one_of(first, {"square", "sq"}), cubic = is_one_of(first, {"cubic", "cu"});
  if (!square && !cubic) return std::nullopt;
  size_t next = token + 1;
  if (text.at(next).is(".")) ++next;
  if (text.at(next).is("-")) ++next;
  const Unit* unit = named(text.at(next).lower);
  if (unit == nullptr || unit->dimension != kLength) return std::nullopt;
  return FoundUnit{square ? area_of(*unit) : volume_of(*unit), next + 1};
}

// Reads "° C", "°F", "degrees Celsius", "degrees".
std::optional<FoundUnit> temperature(const ReadText& text, size_t token) {
  const Token& first = text.at(token);
  const bool sign = first.is("°"), word = is_one_of(first.lower, {"degree", "degrees", "deg"});
  if (!sign && !word) {
    if (first.text == "C" || first.text == "℃")
      return FoundUnit{{kTemperature, 1, 273.15}, token + 1};
    if (first.text == "F" || first.text == "℉") return FoundUnit{*named("fahrenheit"), token + 1};
    return std::nullopt;
  }
  const Token& scale = text.at(token + 1);
  if (scale.text == "C" || scale.is("celsius") || scale.is("centigrade"))
    return FoundUnit{{kTemperature, 1, 273.15}, token + 2};
  if (scale.text == "F" || scale.is("fahrenheit"))
    return FoundUnit{*named("fahrenheit"), token + 2};
  if (scale.text == "K" || scale.is("kelvin")) return FoundUnit{{kTemperature, 1}, token + 2};
  return FoundUnit{{}, token + 1};
}

// Reads the rest of "km/h", "m/s", "miles per hour", "kilometres an hour" after the length.
std::optional<FoundUnit> speed(const ReadText& text, size_t token, const Unit& length) {
  if (length.dimension != kLength) return std::nullopt;
  if (!is_one_of(text.at(token).lower, {"/", "per", "an", "a"})) return std::nullopt;
  const Unit* time = named(text.at(token + 1).lower);
  if (time == nullptr || time->dimension != kTime) return std::nullopt;
  return FoundUnit{{kSpeed, length.factor / time->factor}, token + 2};
}

// Reads the rest of "kilowatt-hours", "watt hours", "milliamp hours".
std::optional<FoundUnit> over_hours(const ReadText& text, size_t token, const Unit& unit) {
  if (unit.dimension != kPower && unit.dimension != kCurrent) return std::nullopt;
  if (text.at(token).is("-")) ++token;
  if (!is_one_of(text.at(token).lower, {"hour", "hours"})) return std::nullopt;
  return FoundUnit{{unit.dimension == kPower ? kEnergy : kCharge, unit.factor * 3600}, token + 1};
}

// Reads "US dollars", "New Zealand dollars", "pounds sterling", "Swiss francs".
std::optional<FoundUnit> money(const ReadText& text, size_t token) {
  const Token& first = text.at(token);
  const Token& second = text.at(token + 1);
  if (is_one_of(second.lower, {"dollar", "dollars"})) {
    if (is_one_of(first.lower, {"us", "u.s", "american"}))
      return FoundUnit{*named("usd"), token + 2};
    if (first.is("canadian")) return FoundUnit{*named("cad"), token + 2};
    if (first.is("australian")) return FoundUnit{*named("aud"), token + 2};
    if (first.is("singapore")) return FoundUnit{*named("sgd"), token + 2};
  }
  if (is_one_of(text.at(token + 2).lower, {"dollar", "dollars"})) {
    if (first.is("new") && second.is("zealand")) return FoundUnit{*named("nzd"), token + 3};
    if (first.is("hong") && second.is("kong")) return FoundUnit{*named("hkd"), token + 3};
  }
  if (is_upper_start(first.text) && second.kind == TokenKind::kWord && !text.opens_line(token) &&
      dimension_of(second.lower) == kMoney && named(first.lower) == nullptr)
    return FoundUnit{*named(second.lower), token + 2};
  if (is_one_of(first.lower, {"pound", "pounds"}) && second.is("sterling"))
    return FoundUnit{*named("gbp"), token + 2};
  return std::nullopt;
}

}  // namespace

std::optional<FoundUnit> read_unit(const ReadText& text, size_t token) {
  if (text.at(token).is("-") && text.glued(token) && text.glued(token + 1)) ++token;  // "5-mile"
  const Token& first = text.at(token);
  if (first.text.empty()) return std::nullopt;
  if (first.is("per") && text.at(token + 1).is("cent")) return FoundUnit{{kShare, 0.01}, token + 2};
  if (is_one_of(first.lower, {"percentage", "percent"}) &&
      is_one_of(text.at(token + 1).lower, {"point", "points"}))
    return FoundUnit{{kShare, 0.01}, token + 2};
  if (first.is("basis") && is_one_of(text.at(token + 1).lower, {"point", "points"}))
    return FoundUnit{*named("bps"), token + 2};
  if (auto found = power_of_length(text, token)) return found;
  if (auto found = temperature(text, token)) return found;
  if (auto found = money(text, token)) return found;
  const Unit* unit = unit_at(text, token);
  if (unit == nullptr && first.kind == TokenKind::kIdentifier) {  // "km2", "m3"
    const std::string_view stem = first.lower.substr(0, first.lower.size() - 1);
    const Unit* length = named(stem);
    if (length != nullptr && length->dimension == kLength) {
      if (first.lower.back() == '2') return FoundUnit{area_of(*length), token + 1};
      if (first.lower.back() == '3') return FoundUnit{volume_of(*length), token + 1};
    }
  }
  const bool pence = first.text == "p" && text.glued(token);  // "15p", but not "15 p"
  if (unit == nullptr || !(fits_case(first) || pence)) return std::nullopt;
  if (unit->dimension == kLength) {
    if (text.at(token + 1).is("²")) return FoundUnit{area_of(*unit), token + 2};
    if (text.at(token + 1).is("³")) return FoundUnit{volume_of(*unit), token + 2};
  }
  if (auto found = speed(text, token + 1, *unit)) return found;
  if (auto found = over_hours(text, token + 1, *unit)) return found;
  return FoundUnit{*unit, token + 1};
}

std::optional<Unit> read_currency_before(const ReadText& text, size_t token) {
  if (token == 0) return std::nullopt;
  const Token& before = text.at(token - 1);
  const Unit* unit = named(before.lower);
  if (unit == nullptr || unit->dimension != kMoney) return std::nullopt;
  if (before.is("$") && token > 1 && text.glued(token - 1)) {
    const Unit* of_country = dollar_of(text.at(token - 2).text);
    if (of_country != nullptr) return *of_country;
  }
  if (before.kind == TokenKind::kSymbol && before.text != "%") return *unit;
  if (is_all_upper(before.text)) return *unit;  // "USD 5"
  return std::nullopt;
}

bool may_be_currency(uint8_t mine, uint8_t theirs) {
  if (mine == theirs || mine == 0 || theirs == 0) return true;
  if (mine == kUsd) return theirs == kDollar;
  if (mine == kDollar) return theirs >= kUsd && theirs < kDollarsEnd;
  if (mine == kCrown) return theirs >= kSek && theirs < kCrownsEnd;
  return theirs == kCrown && mine >= kSek && mine < kCrownsEnd;
}

std::optional<Unit> unit_named(std::string_view lower) {
  const Unit* unit = named(lower);
  return unit == nullptr ? std::nullopt : std::optional(*unit);
}

Dimension dimension_of(std::string_view lower) {
  return unit_named(lower).value_or(Unit{}).dimension;
}

}  // namespace signalbox::text
