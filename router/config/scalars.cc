// Exact conversions: the whole scalar must be the value; nothing is rounded or cut silently.

#include "router/config/reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/ascii.h"

namespace signalbox::config {
namespace {

template <class T>
std::optional<T> convert(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "42", and "42.0" and "4e3" as well, because programs write integers like that.
std::optional<int64_t> to_integer(std::string_view text) {
  if (const auto value = convert<int64_t>(text)) return value;
  const auto value = convert<double>(text);
  if (!value || !(std::abs(*value) < 1e15) || *value != std::trunc(*value)) return std::nullopt;
  return static_cast<int64_t>(*value);
}

std::optional<int64_t> to_bytes(std::string_view text) {
  int64_t unit = 1;
  for (const auto& [suffix, size] :
       {std::pair{"KiB", int64_t{1} << 10}, {"MiB", int64_t{1} << 20}, {"GiB", int64_t{1} << 30}}) {
    if (text.ends_with(suffix)) {
      unit = size;
      text.remove_suffix(3);
    }
  }
  const auto count = convert<int64_t>(text);
  int64_t value = 0;
  if (!count || __builtin_mul_overflow(*count, unit, &value)) return std::nullopt;
  return value;
}

// "1m30s", "250ms", "1.5s", "0".
std::optional<int64_t> to_milliseconds(std::string_view text) {
  double total = 0;
  text = ascii::trimmed(text);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto count = convert<double>(text.substr(0, digits));
    text.remove_prefix(digits);
    const size_t letters = std::min(text.find_first_of("0123456789."), text.size());
    const std::string_view unit = text.substr(0, letters);
    text.remove_prefix(letters);
    const double scale = unit == "ms"  ? 1
                         : unit == "s" ? 1e3
                         : unit == "m" ? 60e3
                         : unit == "h" ? 3600e3
                                       : 0;
    if (!count || scale == 0) return std::nullopt;
    total += *count * scale;
  }
  if (!(total < 1e15)) return std::nullopt;
  return std::llround(total);
}

// "999", "32K", "1.5m".
std::optional<int64_t> to_tokens(std::string_view text) {
  text = ascii::trimmed(text);
  double scale = 1;
  if (text.ends_with('K') || text.ends_with('k')) scale = 1e3;
  if (text.ends_with('M') || text.ends_with('m')) scale = 1e6;
  if (scale != 1) text.remove_suffix(1);
  const auto count = convert<double>(text);
  if (!count || !(*count >= 0 && *count * scale <= 1e12)) return std::nullopt;
  return static_cast<int64_t>(*count * scale);
}

void report(Reader& reader, const yaml::Node& node, bool quoted, std::string_view expected) {
  if (quoted) {
    reader.error(node.line, fmt::format("expected {}, found the string {}", expected, found(node)));
  } else {
    reader.expected(node, expected);
  }
}

// Text with a unit is not a number in any notation, so quotes do not change its type. JSON has to
// quote it.
bool has_unit(std::string_view text) {
  return !text.empty() && text.back() >= 'A' && text.back() <= 'z';
}

// Converts the scalar by `convert_text` and checks its bounds. Quoted text without a unit is a
// string, not a number.
template <class T, class Convert>
bool read_between(Reader& reader, const yaml::Node& node, std::string_view expected, T low, T high,
                  T& out, const Convert& convert_text) {
  const auto scalar = reader.scalar(node, expected);
  if (!scalar) return false;
  const bool is_string = scalar->quoted && !has_unit(scalar->text);
  const std::optional<T> value = is_string ? std::nullopt : convert_text(scalar->text);
  if (!value || !(*value >= low && *value <= high)) {
    report(reader, node, scalar->quoted, expected);
    return false;
  }
  out = *value;
  return true;
}

// Runs read(name, value) for each entry.
template <class Read>
void for_each_entry(Reader& reader, const yaml::Node& node, std::string_view expected,
                    const Read& read) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kMapping) return reader.expected(node, expected);
  for (const yaml::Entry& entry : node.entries) {
    reader.at_key(entry.key, [&] { read(entry.key, entry.value); });
  }
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return ascii::iequals(text, word); });
}

// YAML 1.1 has the other words as well, and older files use them.
bool is_yes(std::string_view text) {
  return is_one_of(text, {"true", "yes", "on"});
}
bool is_no(std::string_view text) {
  return is_one_of(text, {"false", "no", "off"});
}

constexpr double kNumberMax = 1e9;
constexpr std::string_view kNumber = "a number";

}  // namespace

bool is_idle(const yaml::Node& node) {
  if (node.kind == yaml::Kind::kNull) return true;
  if (node.kind == yaml::Kind::kSequence) return node.items.empty();
  if (node.kind != yaml::Kind::kMapping) return false;
  const yaml::Node* mode = node.find("mode");
  return node.entries.empty() || is_switched_off(node) ||
         (mode != nullptr && mode->scalar == "disabled");
}

bool is_switched_off(const yaml::Node& node) {
  const yaml::Node* enabled = node.find("enabled");
  return enabled != nullptr && !enabled->quoted && is_no(enabled->scalar);
}

const yaml::Node* given(const yaml::Node& node, std::string_view key) {
  const yaml::Node* value = node.find(key);
  return value == nullptr || value->kind == yaml::Kind::kNull ? nullptr : value;
}

bool is_table_name(std::string_view text) {
  return !text.empty() && text.size() <= kTableNameBytesMax && !ascii::is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return ascii::is_lower(c) || ascii::is_digit(c) || c == '_'; });
}

void read_text(Reader& reader, const yaml::Node& node, std::string& out) {
  auto scalar = reader.scalar(node, "a string");
  if (!scalar) return;
  if (scalar->text.empty()) return reader.error(node.line, "expected a string, found an empty one");
  out = std::move(scalar->text);
}

bool read_boolean(Reader& reader, const yaml::Node& node, bool& out) {
  const auto scalar = reader.scalar(node, "true or false");
  if (!scalar) return false;
  const bool yes = !scalar->quoted && is_yes(scalar->text);
  if (!yes && (scalar->quoted || !is_no(scalar->text))) {
    report(reader, node, scalar->quoted, "true or false");
    return false;
  }
  out = yes;
  return true;
}

bool read_integer(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t low,
                  int64_t high, int64_t& out) {
  return read_between(reader, node, expected, low, high, out, to_integer);
}

bool read_number(Reader& reader, const yaml::Node& node, std::string_view expected, double low,
                 double high, double& out) {
  return read_between(reader, node, expected, low, high, out, convert<double>);
}

bool read_bytes(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t low,
                int64_t high, int64_t& out) {
  return read_between(reader, node, expected, low, high, out, to_bytes);
}

bool read_tokens(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t& out) {
  const auto scalar = reader.scalar(node, expected);
  if (!scalar) return false;
  const std::optional<int64_t> value = to_tokens(scalar->text);
  if (value) {
    out = *value;
  } else {
    report(reader, node, false, expected);
  }
  return value.has_value();
}

bool read_milliseconds(Reader& reader, const yaml::Node& node, std::string_view expected,
                       int64_t low, int64_t high, int64_t& out) {
  const auto scalar = reader.scalar(node, expected);
  if (!scalar) return false;
  const std::optional<int64_t> value = to_milliseconds(scalar->text);
  if (!value || *value < low || *value > high) {
    report(reader, node, scalar->quoted, expected);
    return false;
  }
  out = *value;
  return true;
}

std::optional<size_t> read_choice(Reader& reader, const yaml::Node& node, std::string_view expected,
                                  const std::vector<std::string_view>& words) {
  const auto scalar = reader.scalar(node, expected);
  if (!scalar) return std::nullopt;
  for (size_t i = 0; i < words.size(); ++i) {
    if (ascii::iequals(scalar->text, words[i])) return i;
  }
  reader.expected(node, expected);
  return std::nullopt;
}

void read_texts(Reader& reader, const yaml::Node& node, std::vector<std::string>& out) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, "a list of strings");
  for (size_t i = 0; i < node.items.size(); ++i) {
    reader.at_index(i, [&] {
      std::string item;
      read_text(reader, node.items[i], item);
      if (!item.empty()) out.push_back(std::move(item));
    });
  }
}

void read_price(Reader& reader, const yaml::Node& node, double& out) {
  yaml::Node number = node;
  number.quoted = false;
  read_number(reader, number, "a number that is not negative", 0, 1e9, out);
}

void read_numbers(Reader& reader, const yaml::Node& node, std::vector<double>& out) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, "a list of numbers");
  for (size_t i = 0; i < node.items.size(); ++i) {
    reader.at_index(i, [&] {
      double item = 0;
      if (read_number(reader, node.items[i], kNumber, -kNumberMax, kNumberMax, item))
        out.push_back(item);
    });
  }
}

void read_text_map(Reader& reader, const yaml::Node& node,
                   std::map<std::string, std::string>& out) {
  for_each_entry(reader, node, "a mapping from names to strings",
                 [&](const std::string& name, const yaml::Node& value) {
                   if (value.kind == yaml::Kind::kNull) return;
                   if (auto scalar = reader.scalar(value, "a string"))
                     out[name] = std::move(scalar->text);
                 });
}

void read_number_map(Reader& reader, const yaml::Node& node, std::map<std::string, double>& out) {
  for_each_entry(reader, node, "a mapping from names to numbers",
                 [&](const std::string& name, const yaml::Node& value) {
                   read_number(reader, value, kNumber, -kNumberMax, kNumberMax, out[name]);
                 });
}

void read_texts_map(Reader& reader, const yaml::Node& node,
                    std::map<std::string, std::vector<std::string>>& out) {
  for_each_entry(reader, node, "a mapping from names to lists of strings",
                 [&](const std::string& name, const yaml::Node& value) {
                   read_texts(reader, value, out[name]);
                 });
}

}  // namespace signalbox::config
