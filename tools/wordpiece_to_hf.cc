// Writes section by section, in the order of the file.

#include "tools/wordpiece_to_hf.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "base/json_writer.h"

namespace signalbox::tools {
namespace {

constexpr std::array<std::string_view, 5> kSpecial = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

using Ids = std::unordered_map<std::string_view, int64_t>;

void write_added_tokens(const Ids& ids, std::span<const std::string> tokens, json::Writer& out) {
  out.key("added_tokens").begin_array();
  for (const std::string& token : tokens) {
    if (std::ranges::find(kSpecial, token) == kSpecial.end()) continue;
    out.begin_object().member("id", ids.at(token)).member("content", token);
    out.member("single_word", false).member("lstrip", false).member("rstrip", false);
    out.member("normalized", false).member("special", true).end_object();
  }
  out.end_array();
}

void write_special(std::string_view token, int type, json::Writer& out) {
  out.begin_object().key("SpecialToken").begin_object();
  out.member("id", token).member("type_id", type).end_object().end_object();
}

void write_sequence(std::string_view id, int type, json::Writer& out) {
  out.begin_object().key("Sequence").begin_object();
  out.member("id", id).member("type_id", type).end_object().end_object();
}

void write_template(const Ids& ids, json::Writer& out) {
  out.key("post_processor").begin_object().member("type", "TemplateProcessing");
  for (const bool pair : {false, true}) {
    out.key(pair ? "pair" : "single").begin_array();
    write_special("[CLS]", 0, out);
    write_sequence("A", 0, out);
    write_special("[SEP]", 0, out);
    if (pair) {
      write_sequence("B", 1, out);
      write_special("[SEP]", 1, out);
    }
    out.end_array();
  }
  out.key("special_tokens").begin_object();
  for (const std::string_view token : {"[CLS]", "[SEP]"}) {
    out.key(token).begin_object().member("id", token);
    out.key("ids").begin_array().integer(ids.at(token)).end_array();
    out.key("tokens").begin_array().string(token).end_array().end_object();
  }
  out.end_object().end_object();
}

}  // namespace

Result<std::string> wordpiece_to_hf(std::span<const std::string> tokens, bool lowercase) {
  Ids ids;
  for (const std::string& token : tokens) {
    const auto id = static_cast<int64_t>(ids.size());
    if (ids.emplace(token, id).second) continue;
    return fail(Code::kCorrupt, "vocabulary token {}: duplicate \"{}\"", id, token);
  }
  for (const std::string_view token : {"[CLS]", "[SEP]", "[UNK]"}) {
    if (ids.contains(token)) continue;
    return fail(Code::kCorrupt, "the vocabulary lacks {}, which BERT requires", token);
  }
  json::Writer out;
  out.begin_object().member("version", "1.0").key("truncation").null().key("padding").null();
  write_added_tokens(ids, tokens, out);
  out.key("normalizer").begin_object().member("type", "BertNormalizer");
  out.member("clean_text", true).member("handle_chinese_chars", true).key("strip_accents").null();
  out.member("lowercase", lowercase).end_object();
  out.key("pre_tokenizer").begin_object().member("type", "BertPreTokenizer").end_object();
  write_template(ids, out);
  out.key("decoder").begin_object().member("type", "WordPiece").member("prefix", "##");
  out.member("cleanup", true).end_object();
  out.key("model").begin_object().member("type", "WordPiece").member("unk_token", "[UNK]");
  out.member("continuing_subword_prefix", "##").member("max_input_chars_per_word", 100);
  out.key("vocab").begin_object();
  for (const std::string& token : tokens) out.member(token, ids.at(token));
  out.end_object().end_object().end_object();
  return out.take();
}

}  // namespace signalbox::tools
