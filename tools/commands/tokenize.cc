// `signalbox tokenize`: reads rows of text and writes rows of token ids.

#include <cxxopts.hpp>

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
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
using tokenizer::TruncationSide;
using tokenizer::TruncationStrategy;

// The limit on all tokens of a row's windows. If the stride is almost as long as a window, the
// windows together are many times as long as the text.
constexpr size_t kWindowTokensMax = size_t{1} << 22;

struct TokenizeOptions {
  EncodeOptions encode;
  bool windows = false;
};

// The text or the two texts of a row.
struct Row {
  std::string_view first;
  std::optional<std::string_view> second;
  std::vector<uint32_t> before_first;  // code points before each byte
  std::vector<uint32_t> before_second;
};

Result<Row> read_row(const json::Value& row) {
  Row out;
  SIGNALBOX_TRY(out.first, string_member(row, "text"));
  out.before_first = code_points_before(out.first);
  if (row.find("pair")) {
    SIGNALBOX_TRY(out.second, string_member(row, "pair"));
    out.before_second = code_points_before(*out.second);
  }
  return out;
}

// Writes members into an object that the caller has begun.
void write(const Encoding& encoding, const Row& row, json::Writer& out) {
  out.key("ids").begin_array();
  for (const int32_t id : encoding.ids) out.integer(id);
  out.end_array().key("offsets").begin_array();
  for (uint32_t i = 0; i < encoding.offsets.size(); ++i) {
    const bool is_second = i >= encoding.second_tokens.begin && i < encoding.second_tokens.end;
    const auto& before = is_second ? row.before_second : row.before_first;
    const tokenizer::Span span = encoding.offsets[i];
    out.begin_array().integer(before[span.begin]).integer(before[span.end]).end_array();
  }
  out.end_array().key("type_ids").begin_array();
  for (const uint8_t type_id : encoding.type_ids) out.integer(type_id);
  out.end_array();
}

// Writes the first window as the row itself and the others as its "overflow".
Result<std::string> write_windows(const Tokenizer& tokenizer, const TokenizeOptions& options,
                                  const Row& row) {
  json::Writer out;
  out.begin_object();
  size_t windows = 0;
  size_t tokens = 0;
  const auto take = [&](const Encoding& window) {
    tokens += window.ids.size();
    if (tokens > kWindowTokensMax) return false;
    const bool is_first = windows++ == 0;
    if (!is_first) out.begin_object();
    write(window, row, out);
    if (is_first) {
      out.key("overflow").begin_array();
    } else {
      out.end_object();
    }
    return true;
  };
  if (row.second) {
    tokenizer.encode_pair_windows(row.first, *row.second, options.encode, take);
  } else {
    tokenizer.encode_windows(row.first, options.encode, take);
  }
  if (tokens > kWindowTokensMax) {
    return fail(Code::kTooLarge, "more than {} tokens in all windows", kWindowTokensMax);
  }
  return out.end_array().end_object().take();
}

Result<std::string> tokenize_row(const Tokenizer& tokenizer, const TokenizeOptions& options,
                                 const json::Value& value, Encoding& encoding) {
  SIGNALBOX_TRY(const Row row, read_row(value));
  if (options.windows) return write_windows(tokenizer, options, row);
  if (row.second) {
    tokenizer.encode_pair(row.first, *row.second, options.encode, encoding);
  } else {
    tokenizer.encode(row.first, options.encode, encoding);
  }
  json::Writer out;
  out.begin_object();
  write(encoding, row, out);
  return out.end_object().take();
}

int tokenize(const std::string& path, const TokenizeOptions& options) {
  std::error_code ignored;
  const auto tokenizer = std::filesystem::is_directory(path, ignored)
                             ? Tokenizer::open_directory(path)
                             : Tokenizer::open(path);
  if (!tokenizer) return report(tokenizer.error());
  Encoding encoding;
  const auto done = for_each_row(
      [&](const json::Value& row) { return tokenize_row(**tokenizer, options, row, encoding); });
  return done ? kExitOk : report(done.error());
}

// Parses an option whose value is one of a few names.
template <class Value>
Result<Value> choice(const cxxopts::ParseResult& parsed, const char* option,
                     std::initializer_list<std::pair<std::string_view, Value>> choices) {
  const std::string name = parsed[option].as<std::string>();
  std::string names;
  for (const auto& known : choices) {
    if (name == known.first) return known.second;
    names = names.empty() ? std::string(known.first) : fmt::format("{}, {}", names, known.first);
  }
  return fail(Code::kInvalid, "--{}: expected one of {}, found {}", option, names,
              json::quote(name));
}

Result<int32_t> number(const cxxopts::ParseResult& parsed, const char* option, int32_t least) {
  const auto value = parsed[option].as<int32_t>();
  if (value < least) return fail(Code::kInvalid, "--{}: expected at least {}", option, least);
  return value;
}

Result<TokenizeOptions> read_options(const cxxopts::ParseResult& parsed) {
  TokenizeOptions out;
  out.encode.special_tokens = parsed.count("no-special-tokens") == 0;
  if (parsed.count("max-tokens") != 0) {
    SIGNALBOX_TRY(out.encode.tokens_max, number(parsed, "max-tokens", 1));
  }
  SIGNALBOX_TRY(out.encode.strategy,
                (choice<TruncationStrategy>(parsed, "truncation",
                                            {{"longest_first", TruncationStrategy::kLongestFirst},
                                             {"only_first", TruncationStrategy::kOnlyFirst},
                                             {"only_second", TruncationStrategy::kOnlySecond}})));
  SIGNALBOX_TRY(out.encode.side, (choice<TruncationSide>(parsed, "truncation-side",
                                                         {{"right", TruncationSide::kRight},
                                                          {"left", TruncationSide::kLeft}})));
  out.windows = parsed.count("stride") != 0;
  if (out.windows) {
    SIGNALBOX_TRY(out.encode.stride, number(parsed, "stride", 0));
  }
  return out;
}

int tokenize_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox tokenize",
      "Reads {\"text\", \"pair\"?} rows from standard input and writes {\"ids\", \"offsets\", "
      "\"type_ids\"} rows.\nOffsets count Unicode code points of the original text.");
  auto add = options.add_options();
  add("tokenizer", "Hugging Face's tokenizer.json, or a model directory with its other settings",
      cxxopts::value<std::string>(), "PATH");
  add("max-tokens", "truncate each row to N tokens, including special tokens",
      cxxopts::value<int32_t>(), "N");
  add("truncation", "which text of a pair is truncated: longest_first, only_first or only_second",
      cxxopts::value<std::string>()->default_value("longest_first"), "HOW");
  add("truncation-side", "the side that is truncated: right or left",
      cxxopts::value<std::string>()->default_value("right"), "SIDE");
  add("stride",
      "also write the truncated part, as windows that overlap by N tokens, in \"overflow\" of each "
      "row",
      cxxopts::value<int32_t>(), "N");
  add("no-special-tokens", "omit special tokens such as [CLS]");
  return with_options(options, argc, argv, {"tokenizer"}, [](const cxxopts::ParseResult& parsed) {
    const auto chosen = read_options(parsed);
    if (chosen) return tokenize(parsed["tokenizer"].as<std::string>(), *chosen);
    std::fprintf(stderr, "signalbox tokenize: %s\n", chosen.error().message.c_str());
    return static_cast<int>(kExitUsage);
  });
}

}  // namespace

const Command kTokenizeCommand = {"tokenize", "converts texts to token ids with offsets",
                                  tokenize_command};

}  // namespace signalbox::tools
