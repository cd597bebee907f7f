// `signalbox convert`: a file of another kind into one that the engine reads. What IN is is seen in
// its bytes, what OUT shall be in its name.

#include <cstdio>
#include <cxxopts.hpp>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/mapped_file.h"
#include "tokenizer/tokenizer.h"
#include "tools/command.h"
#include "tools/convert_model.h"
#include "tools/jsonl.h"
#include "tools/options.h"
#include "tools/sentencepiece_model.h"
#include "tools/sentencepiece_to_hf.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompiled = ".sbtok";

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

Result<void> convert_tokenizer(const fs::path& in, const fs::path& out,
                               const SentencePieceToHfOptions& options) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(in));
  const bool compiled = out.extension() == kCompiled;
  const auto bytes = converted(file.text(), compiled, options);
  if (!bytes) return fail_in(in.string(), bytes.error());
  const bool is_file = compiled || out.extension() == ".json";
  return write_file(is_file ? out : out / "tokenizer.json", *bytes);
}

Result<void> convert(const cxxopts::ParseResult& parsed) {
  const fs::path in = parsed["in"].as<std::string>();
  const fs::path out = parsed["out"].as<std::string>();
  if (out.empty()) return fail(Code::kInvalid, "OUT: expected a path, found nothing");
  SIGNALBOX_TRY(const fs::path file, weights_file(in));
  const auto format = model_format(file);
  if (!format) {
    return convert_tokenizer(in, out,
                             {.begin = parsed.count("bos") > 0, .end = parsed.count("eos") > 0});
  }
  if (out.extension() == ".json" || out.extension() == kCompiled) {
    return fail(Code::kInvalid, "{}: of a model, OUT is a directory", out.string());
  }
  ConvertModelOptions options;
  if (parsed.count("config") > 0) options.config = parsed["config"].as<std::string>();
  if (parsed.count("dtype") > 0) {
    SIGNALBOX_TRY(options.precision, parse_dtype(parsed["dtype"].as<std::string>()));
  }
  if (parsed.count("merge-lora") > 0) {
    options.adapter = parsed["merge-lora"].as<std::string>();
    if (options.adapter.empty()) {
      return fail(Code::kInvalid, "--merge-lora: expected a directory, found nothing");
    }
  }
  options.say = print_line;
  SIGNALBOX_TRY(const std::string line, convert_model(file, *format, out, options));
  std::puts(line.c_str());
  return {};
}

int convert_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox convert",
      "Converts a model IN to a directory OUT that the engine reads: ONNX, GGUF, PyTorch's .bin "
      "or\n"
      "safetensors, in one file or in those that an .index.json names, or a directory with one of\n"
      "them. Files of the tokenizer and the pooling that lie beside it come along. Every tensor "
      "is\n"
      "read back and compared; a line of JSON sums up.\n\n"
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
  add("config", "The model's config.json, instead of the one beside IN",
      cxxopts::value<std::string>(), "FILE");
  add("dtype", "Pack a model's matrices for the kernels, in f32, bf16 or int8",
      cxxopts::value<std::string>(), "TYPE");
  add("eos", "Put the model's </s> behind every text (T5 does)");
  add("in", "What to convert; --in may be left out", cxxopts::value<std::string>(), "IN");
  add("merge-lora", "Merge this PEFT adapter into the weights", cxxopts::value<std::string>(),
      "DIR");
  add("out", "Where to; --out may be left out", cxxopts::value<std::string>(), "OUT");
  options.parse_positional({"in", "out"});
  return with_options(options, argc, argv, {"in", "out"}, [](const cxxopts::ParseResult& parsed) {
    const auto done = convert(parsed);
    return done ? kExitOk : report(done.error());
  });
}

}  // namespace

const Command kConvertCommand{"convert", "files of other kinds to those that the engine reads",
                              convert_command};

}  // namespace signalbox::tools
