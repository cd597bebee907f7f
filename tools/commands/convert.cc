// `signalbox convert`: converts a file of another format to one that the engine reads. The format
// of IN is detected from its contents; the format of OUT follows from its name.

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
#include "tools/vocabulary/sentencepiece_model.h"
#include "tools/vocabulary/sentencepiece_to_hf.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompiled = ".sbtok";

// The marks that the user requests around every text.
struct Marks {
  bool begin;
  bool end;
};

// Returns IN itself if it is a tokenizer.json, or the tokenizer.json converted from it.
Result<std::string> tokenizer_json(std::string_view in, const Marks& marks) {
  if (!SentencePieceModel::is_one(in)) return std::string(in);
  SIGNALBOX_TRY(const auto model, SentencePieceModel::parse(in));
  SIGNALBOX_TRY(HfMarks added, sentencepiece_marks(model, marks.begin, marks.end));
  return sentencepiece_to_hf(model, {.marks = std::move(added)});
}

Result<std::string> converted(std::string_view in, bool compiled, const Marks& marks) {
  constexpr size_t kJsonBlanks = 64;  // white space allowed in front of the opening brace
  const size_t brace = in.substr(0, kJsonBlanks).find_first_not_of(" \t\r\n");
  const bool is_json = brace != std::string_view::npos && in[brace] == '{';
  if (!is_json && !SentencePieceModel::is_one(in)) {
    return fail(Code::kUnsupported, "expected a sentencepiece model or a tokenizer.json");
  }
  if (is_json && !compiled) {
    return fail(Code::kInvalid, "already is a tokenizer.json: OUT must end in {}", kCompiled);
  }
  SIGNALBOX_TRY(std::string json, tokenizer_json(in, marks));
  if (compiled) return tokenizer::Tokenizer::compile(json, "the tokenizer.json");
  // Check that the engine can read the result.
  const auto read = tokenizer::Tokenizer::parse(json, "the converted tokenizer.json");
  if (!read) return tl::unexpected<Error>(read.error());
  return json;
}

Result<void> convert_tokenizer(const fs::path& in, const fs::path& out, const Marks& marks) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(in));
  const bool compiled = out.extension() == kCompiled;
  const auto bytes = converted(file.text(), compiled, marks);
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
    return fail(Code::kInvalid, "{}: IN is a model, so OUT must be a directory", out.string());
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
  options.print = print_line;
  SIGNALBOX_TRY(const std::string line, convert_model(file, *format, out, options));
  std::puts(line.c_str());
  return {};
}

int convert_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox convert",
      "Converts a model IN to a directory OUT that the engine reads. IN is ONNX, GGUF, PyTorch's\n"
      ".bin or safetensors, as one file or as the files that an .index.json names, or a directory\n"
      "with one of these. Files of the tokenizer and the pooling next to IN are copied. Every\n"
      "tensor is read back and compared; a line of JSON summarises the result.\n\n"
      "Converts a sentencepiece model IN (unigram or bpe) to a Hugging Face tokenizer.json: OUT,\n"
      "or OUT/tokenizer.json if OUT does not end in .json. The tokens are those of sentencepiece;\n"
      "no <s> or </s> is added unless requested.\n\n"
      "If OUT ends in .sbtok, writes the compiled form of IN, a tokenizer.json or a sentencepiece\n"
      "model. It can replace any tokenizer.json and opens without building its tables. Only this\n"
      "version of signalbox reads it, so keep the tokenizer.json.\n");
  options.positional_help("IN OUT");
  auto add = options.add_options();
  add("bos", "Put the model's <s> in front of every text");
  add("config", "Use this config.json instead of the one next to IN", cxxopts::value<std::string>(),
      "FILE");
  add("dtype", "Pack a model's matrices for the kernels, in f32, bf16 or int8",
      cxxopts::value<std::string>(), "TYPE");
  add("eos", "Put the model's </s> after every text (as T5 does)");
  add("in", "Input; the word --in may be omitted", cxxopts::value<std::string>(), "IN");
  add("merge-lora", "Merge this PEFT adapter into the weights", cxxopts::value<std::string>(),
      "DIR");
  add("out", "Output; the word --out may be omitted", cxxopts::value<std::string>(), "OUT");
  options.parse_positional({"in", "out"});
  return with_options(options, argc, argv, {"in", "out"}, [](const cxxopts::ParseResult& parsed) {
    const auto done = convert(parsed);
    return done ? kExitOk : report(done.error());
  });
}

}  // namespace

const Command kConvertCommand{
    "convert", "converts models and tokenizers to files that the engine reads", convert_command};

}  // namespace signalbox::tools
