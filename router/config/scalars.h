#pragma once
// Scalars of the file as values. Each function reports what is wrong and leaves `out` alone then.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/reader.h"

namespace signalbox::config {

/// True for a value that asks for nothing: null, empty, or a mapping with `enabled: false` or
/// `mode: disabled`.
bool is_idle(const yaml::Node& node);

/// A scalar that is not empty.
void read_text(Reader& reader, const yaml::Node& node, std::string& out);
/// A list of such; null is an empty list.
void read_texts(Reader& reader, const yaml::Node& node, std::vector<std::string>& out);
bool read_boolean(Reader& reader, const yaml::Node& node, bool& out);
/// Bounds are inclusive; `expected` says them in words.
bool read_integer(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t low,
                  int64_t high, int64_t& out);
bool read_number(Reader& reader, const yaml::Node& node, std::string_view expected, double low,
                 double high, double& out);
/// An integer, or one with KiB, MiB or GiB behind it, which may be quoted.
bool read_bytes(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t low,
                int64_t high, int64_t& out);
/// A number with ms, s, m or h behind it, or several: "1m30s"; quoted or not.
void read_duration(Reader& reader, const yaml::Node& node, std::string_view expected,
                   std::chrono::milliseconds low, std::chrono::milliseconds high,
                   std::chrono::milliseconds& out);
/// A number of tokens, in thousands with K and in millions with M behind it; quoted or not.
bool read_tokens(Reader& reader, const yaml::Node& node, std::string_view expected, int64_t& out);
/// A list of numbers; null is an empty list.
void read_numbers(Reader& reader, const yaml::Node& node, std::vector<double>& out);
/// Mappings from names to scalars or lists of strings; null is an empty one.
void read_text_map(Reader& reader, const yaml::Node& node, std::map<std::string, std::string>& out);
void read_number_map(Reader& reader, const yaml::Node& node, std::map<std::string, double>& out);
void read_texts_map(Reader& reader, const yaml::Node& node,
                    std::map<std::string, std::vector<std::string>>& out);
/// Any node as JSON: plain scalars that are numbers, booleans or null become such.
std::string to_json(const yaml::Node& node);
/// The index of the word, upper and lower case alike.
std::optional<size_t> read_choice(Reader& reader, const yaml::Node& node, std::string_view expected,
                                  const std::vector<std::string_view>& words);

}  // namespace signalbox::config
