// Writes section by section, in the order of the file.

#include "tools/vocabulary/wordpiece_to_hf.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_writer.h"
#include "tools/vocabulary/hf_sections.h"

namespace signalbox::tools {
namespace {

using Ids = std::unordered_map<std::string_view, int64_t>;

}  // namespace

std::vector<HfAddedToken> added_wordpieces(const WordPieceFamily& family,
                                           std::span<const std::string> tokens) {
  const std::array special = {family.begin, family.end, family.unknown, family.padding,
                              family.mask};
  std::vector<HfAddedToken> out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (std::ranges::find(special, tokens[i]) == special.end()) continue;
    out.push_back({.content = tokens[i],
                   .id = static_cast<int64_t>(i),
                   .lstrip = family.is_as_roberta && tokens[i] == family.mask});
  }
  return out;
}

Result<std::string> wordpiece_to_hf(std::span<const std::string> tokens,
                                    const WordPieceOptions& options) {
  Ids ids;
  for (const std::string& token : tokens) {
    const auto id = static_cast<int64_t>(ids.size());
    if (ids.emplace(token, id).second) continue;
    return fail(Code::kCorrupt, "vocabulary token {}: duplicate \"{}\"", id, token);
  }
  for (const std::string& token : {options.begin, options.end, options.unknown}) {
    if (ids.contains(token)) continue;
    return fail(Code::kCorrupt, "the vocabulary lacks {}, which {} requires", token,
                options.family.name);
  }
  json::Writer out;
  out.begin_object().member("version", "1.0").key("truncation").null().key("padding").null();
  write_added_tokens(
      options.added_tokens ? *options.added_tokens : added_wordpieces(options.family, tokens), out);
  out.key("normalizer").begin_object().member("type", "BertNormalizer");
  out.member("clean_text", true).member("handle_chinese_chars", options.split_chinese);
  out.key("strip_accents");
  if (options.strip_accents) {
    out.boolean(*options.strip_accents);
  } else {
    out.null();
  }
  out.member("lowercase", options.lowercase).end_object();
  out.key("pre_tokenizer").begin_object().member("type", "BertPreTokenizer").end_object();
  out.key("post_processor");
  write_template_processing(
      options.family.is_as_roberta ? HfMarks::of_roberta(options.begin, options.end)
                                   : HfMarks::of_bert(options.begin, options.end),
      [&](std::string_view mark) { return ids.at(mark); }, out);
  out.key("decoder").begin_object().member("type", "WordPiece").member("prefix", "##");
  out.member("cleanup", true).end_object();
  out.key("model").begin_object().member("type", "WordPiece").member("unk_token", options.unknown);
  out.member("continuing_subword_prefix", "##").member("max_input_chars_per_word", 100);
  out.key("vocab").begin_object();
  for (const std::string& token : tokens) out.member(token, ids.at(token));
  out.end_object().end_object().end_object();
  return out.take();
}

}  // namespace signalbox::tools
