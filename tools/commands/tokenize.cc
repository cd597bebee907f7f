// `signalbox tokenize`: rows of text in, rows of ids out.

#include <cxxopts.hpp>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "tokenizer/tokenizer.h"
#include "tools/code_points.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

using tokenizer::EncodeOptions;
using tokenizer::Encoding;
using tokenizer::Tokenizer;

std::string to_json(const Encoding& encoding, std::string_view first, std::string_view second) {
  const auto before_first = code_points_before(first);
  const auto before_second = code_points_before(second);
  json::Writer out;
  out.begin_object().key("ids").begin_array();
  for (const int32_t id : encoding.ids) out.integer(id);
  out.end_array().key("offsets").begin_array();
  for (uint32_t i = 0; i < encoding.offsets.size(); ++i) {
    const bool is_second = i >= encoding.second_tokens.begin && i < encoding.second_tokens.end;
    const auto& before = is_second ? before_second : before_first;
    const tokenizer::Span span = encoding.offsets[i];
    out.begin_array().integer(before[span.begin]).integer(before[span.end]).end_array();
  }
  out.end_array().key("type_ids").begin_array();
  for (const uint8_t type_id : encoding.type_ids) out.integer(type_id);
  return out.end_array().end_object().take();
}

Result<std::string> tokenize_row(const Tokenizer& tokenizer, const EncodeOptions& options,
                                 const json::Value& row, Encoding& encoding) {
  SIGNALBOX_TRY(const std::string_view first, string_member(row, "text"));
  if (!row.find("pair")) {
    tokenizer.encode(first, options, encoding);
    return to_json(encoding, first, {});
  }
  SIGNALBOX_TRY(const std::string_view second, string_member(row, "pair"));
  tokenizer.encode_pair(first, second, options, encoding);
  return to_json(encoding, first, second);
}

int tokenize(const std::string& path, const EncodeOptions& options) {
  const auto tokenizer = Tokenizer::open(path);
  if (!tokenizer) return report(tokenizer.error());
  std::ios::sync_with_stdio(false);
  Encoding encoding;
  const auto done = for_each_row(std::cin, [&](const json::Value& row) {
    return tokenize_row(**tokenizer, options, row, encoding);
  });
  return done ? kExitOk : report(done.error());
}

int run(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox tokenize",
      "Reads {\"text\", \"pair\"?} rows from standard input, writes {\"ids\", \"offsets\", "
      "\"type_ids\"} rows.\nOffsets count Unicode code points of the original text.");
  auto add = options.add_options();
  add("tokenizer", "Hugging Face's tokenizer.json", cxxopts::value<std::string>(), "FILE");
  add("max-tokens", "cut each row to N tokens, special tokens included", cxxopts::value<int32_t>(),
      "N");
  return with_options(options, argc, argv, {"tokenizer"}, [](const cxxopts::ParseResult& parsed) {
    EncodeOptions encode_options;
    if (parsed.count("max-tokens") != 0) {
      encode_options.tokens_max = parsed["max-tokens"].as<int32_t>();
      if (encode_options.tokens_max < 1) {
        std::fputs("signalbox tokenize: --max-tokens: expected at least 1\n", stderr);
        return kExitUsage;
      }
    }
    return tokenize(parsed["tokenizer"].as<std::string>(), encode_options);
  });
}

}  // namespace

const Command kTokenizeCommand = {"tokenize", "text to token ids with offsets", run};

}  // namespace signalbox::tools
