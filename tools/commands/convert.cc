// `signalbox convert`: a file of another kind into one that the engine reads. What IN is is seen in
// its bytes, what OUT shall be in its name.

#include <cxxopts.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/mapped_file.h"
#include "tokenizer/tokenizer.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "tools/sentencepiece_model.h"
#include "tools/sentencepiece_to_hf.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompiled = ".sbtok";

// All of it or nothing.
Result<void> write_file(const fs::path& path, std::string_view text) {
  fs::path partial = path;
  partial += ".partial";
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) {
    fs::remove(partial, error);
    return fail(Code::kIo, "{}: cannot be written", path.string());
  }
  fs::rename(partial, path, error);
  if (!error) return {};
  const std::string reason = error.message();
  fs::remove(partial, error);
  return fail(Code::kIo, "{}: {}", path.string(), reason);
}

// The tokenizer.json that IN is, or that it becomes.
Result<std::string> tokenizer_json(std::string_view in, const SentencePieceToHfOptions& options) {
  if (!SentencePieceModel::is_one(in)) return std::string(in);
  SIGNALBOX_TRY(const auto model, SentencePieceModel::parse(in));
  return sentencepiece_to_hf(model, options);
}

Result<std::string> converted(std::string_view in, bool compiled,
                              const SentencePieceToHfOptions& options) {
  constexpr size_t kJsonBlanks = 64;  // how far its brace may be
  const size_t brace = in.substr(0, kJsonBlanks).find_first_not_of(" \t\r\n");
  const bool is_json = brace != std::string_view::npos && in[brace] == '{';
  if (!is_json && !SentencePieceModel::is_one(in)) {
    return fail(Code::kUnsupported, "expected a sentencepiece model or a tokenizer.json");
  }
  if (is_json && !compiled) {
    return fail(Code::kInvalid, "is a tokenizer.json already: OUT must end in {}", kCompiled);
  }
  SIGNALBOX_TRY(std::string json, tokenizer_json(in, options));
  if (compiled) return tokenizer::Tokenizer::compile(json, "the tokenizer.json");
  // What is written must be what the engine reads.
  const auto read = tokenizer::Tokenizer::parse(json, "the tokenizer.json made of it");
  if (!read) return tl::unexpected<Error>(read.error());
  return json;
}

Result<void> convert(const fs::path& in, const fs::path& out,
                     const SentencePieceToHfOptions& options) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(in));
  const bool compiled = out.extension() == kCompiled;
  const auto bytes = converted(file.text(), compiled, options);
  if (!bytes) return fail_in(in.string(), bytes.error());
  const bool is_file = compiled || out.extension() == ".json";
  return write_file(is_file ? out : out / "tokenizer.json", *bytes);
}

int run(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox convert",
      "Converts IN, a sentencepiece model of kind unigram or bpe, to Hugging Face's tokenizer.json "
      "OUT,\nor to OUT/tokenizer.json where OUT does not end in .json. Tokens are those that "
      "sentencepiece\ngives; no <s> or </s> is added unless asked for.\n\nWhere OUT ends in "
      ".sbtok, "
      "writes the compiled form of IN, a tokenizer.json or such a model: whatever\nreads a "
      "tokenizer.json reads it too, and opens it without building its tables. It is of this\n"
      "version of signalbox: keep the tokenizer.json.\n");
  options.positional_help("IN OUT");
  auto add = options.add_options();
  add("bos", "Put the model's <s> in front of every text");
  add("eos", "Put the model's </s> behind every text (T5 does)");
  add("in", "What to convert; --in may be left out", cxxopts::value<std::string>(), "IN");
  add("out", "Where to; --out may be left out", cxxopts::value<std::string>(), "OUT");
  options.parse_positional({"in", "out"});
  return with_options(options, argc, argv, {"in", "out"}, [](const cxxopts::ParseResult& parsed) {
    const auto done = convert(parsed["in"].as<std::string>(), parsed["out"].as<std::string>(),
                              {.begin = parsed.count("bos") > 0, .end = parsed.count("eos") > 0});
    return done ? kExitOk : report(done.error());
  });
}

}  // namespace

const Command kConvertCommand{"convert", "files of other kinds to those that the engine reads",
                              run};

}  // namespace signalbox::tools
