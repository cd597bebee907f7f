#pragma once
// Builds replacement tables for the Precompiled normalizer in the layout of darts-clone's tries,
// but without saving space: each node gets a block of 256 units.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::tokenizer {

inline void append_u32(std::string& out, uint32_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

inline std::string charsmap(const std::vector<std::pair<std::string, std::string>>& rules) {
  std::string replacements;
  std::map<std::string, uint32_t> values;            // by key
  std::map<std::string, uint32_t> nodes{{"", 256}};  // by key and key prefix
  for (const auto& [key, replacement] : rules) {
    values[key] = static_cast<uint32_t>(replacements.size());
    replacements += replacement;
    replacements.push_back('\0');
    for (size_t size = 1; size <= key.size(); ++size) {
      nodes.emplace(key.substr(0, size), static_cast<uint32_t>(256 * (nodes.size() + 1)));
    }
  }
  std::vector<uint32_t> units(256 * (nodes.size() + 1));
  units[0] = nodes[""] << 10;
  for (const auto& [key, node] : nodes) {
    const auto value = values.find(key);
    if (value != values.end()) units[node] = 0x80000000 | value->second;
    if (key.empty()) continue;
    const auto label = static_cast<unsigned char>(key.back());
    const uint32_t unit = nodes[key.substr(0, key.size() - 1)] ^ label;
    units[unit] = (unit ^ node) << 10 | (value != values.end() ? 1u << 8 : 0u) | label;
  }
  std::string blob;
  append_u32(blob, static_cast<uint32_t>(4 * units.size()));
  for (const uint32_t unit : units) append_u32(blob, unit);
  return blob + replacements;
}

}  // namespace signalbox::tokenizer
