#pragma once
// Shared by the tests of this room: the small tokenizer with replaced parts, and encodings in the
// units of the data files.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::filesystem::path data_file(std::string_view name) {
  return std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/tokenizer/data" / name;
}

/// Returns tests/tokenizer/data/small.json with the members of `with` (a JSON object) in place of
/// its own.
inline std::string small_json(std::string_view with = "{}") {
  const auto base = json::Document::parse(read_file(data_file("small.json")));
  const auto other = json::Document::parse(std::string(with));
  EXPECT_TRUE(base && other) << with;
  json::Writer out;
  out.begin_object();
  for (const json::Member& member : base->root().members()) {
    if (!other->root().find(member.key)) out.key(member.key).raw(member.value.raw());
  }
  for (const json::Member& member : other->root().members())
    out.key(member.key).raw(member.value.raw());
  return out.end_object().take();
}

inline std::unique_ptr<const Tokenizer> small_tokenizer(std::string_view with = "{}") {
  auto tokenizer = Tokenizer::parse(small_json(with), "small.json");
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

inline Ranges byte_offsets(const Encoding& encoding) {
  Ranges out;
  for (const Span span : encoding.offsets) out.emplace_back(span.begin, span.end);
  return out;
}

/// Returns offsets in code points, as in Hugging Face's tokenizers.
inline Ranges code_point_offsets(const Encoding& encoding, std::string_view first,
                                 std::string_view second = {}) {
  Ranges out;
  for (uint32_t i = 0; i < encoding.offsets.size(); ++i) {
    const bool is_second = i >= encoding.second_tokens.begin && i < encoding.second_tokens.end;
    const std::string_view text = is_second ? second : first;
    const Span span = encoding.offsets[i];
    out.emplace_back(utf8::count(text.substr(0, span.begin)),
                     utf8::count(text.substr(0, span.end)));
  }
  return out;
}

inline std::vector<int32_t> integers(const json::Value& array) {
  std::vector<int32_t> out;
  for (const json::Value& item : array.items())
    out.push_back(static_cast<int32_t>(item.integer().value()));
  return out;
}

inline Ranges ranges(const json::Value& array) {
  Ranges out;
  for (const json::Value& item : array.items()) {
    const auto range = integers(item);
    out.emplace_back(range.at(0), range.at(1));
  }
  return out;
}

}  // namespace signalbox::tokenizer
