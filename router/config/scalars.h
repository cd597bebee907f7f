#pragma once
// Values of the file as C++ values. A function that finds an error reports it and does not change
// `out`.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/reader.h"

namespace signalbox::config {

/// True for a value that requests nothing: null, empty, or a mapping that is switched off or has
/// `mode: disabled`.
bool is_idle(const yaml::Node& node);

/// True for a mapping whose `enabled` is an unquoted false, no or off.
bool is_switched_off(const yaml::Node& node);

/// The value of a key; null if the file does not have the key or leaves it empty.
const yaml::Node* given(const yaml::Node& node, std::string_view key);

constexpr size_t kTableNameBytesMax = 59;   // PostgreSQL cuts names after 63
constexpr size_t kTablesNameBytesMax = 48;  // "_shadows_by_day" may follow
/// True for a name of a table that PostgreSQL takes without quotes, unless it is a reserved word:
/// at most kTableNameBytesMax of a-z, 0-9 and _, not a digit at its beginning.
bool is_table_name(std::string_view text);

/// A scalar that is not empty.
void read_text(Reader& reader, const yaml::Node& node, std::string& out);
/// A list of scalars that are not empty; null is an empty list.
void read_texts(Reader& reader, const yaml::Node& node, std::vector<std::string>& out);
bool read_boolean(Reader& reader, const yaml::Node& node, bool& out);
/// Bounds are inclusive; `expected` is the same in words.
bool read_integer(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t low,
                  int64_t high, int64_t& out);
bool read_number(Reader& reader, const yaml::Node& node, std::string_view expected, double low,
                 double high, double& out);
/// An integer, or one with KiB, MiB or GiB behind it, which may be quoted.
bool read_bytes(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t low,
                int64_t high, int64_t& out);
/// A number with ms, s, m or h behind it, or several: "1m30s"; or 0; quoted or not, and with or
/// without spaces around it.
bool read_milliseconds(Reader& reader, const yaml::Node& node, std::string_view expected,
                       int64_t low, int64_t high, int64_t& out);
/// A number of tokens, in thousands with K and in millions with M behind it; quoted or not.
bool read_tokens(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t& out);
/// A price, which some files have as a string.
void read_price(Reader& reader, const yaml::Node& node, double& out);
/// A list of numbers; null is an empty list.
void read_numbers(Reader& reader, const yaml::Node& node, std::vector<double>& out);
/// Mappings from names to scalars or lists of strings; null is an empty one.
void read_text_map(Reader& reader, const yaml::Node& node, std::map<std::string, std::string>& out);
void read_number_map(Reader& reader, const yaml::Node& node, std::map<std::string, double>& out);
void read_texts_map(Reader& reader, const yaml::Node& node,
                    std::map<std::string, std::vector<std::string>>& out);
/// The index of the word, compared without case.
std::optional<size_t> read_choice(Reader& reader, const yaml::Node& node, std::string_view expected,
                                  const std::vector<std::string_view>& words);

}  // namespace signalbox::config
