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
  if (error) return fail(Code::kIo, "{}: {}", path.string(), error.message());
  return {};
}

// The tokenizer.json of a sentencepiece model.
Result<std::string> convert_sentencepiece(std::string_view in,
                                          const SentencePieceToHfOptions& options) {
  SIGNALBOX_TRY(const auto model, SentencePieceModel::parse(in));
  SIGNALBOX_TRY(std::string json, sentencepiece_to_hf(model, options));
  // What is written must be what the engine reads.
  const auto read = tokenizer::Tokenizer::parse(json, "the tokenizer.json made of it");
  if (!read) return tl::unexpected<Error>(read.error());
  return json;
}

Result<void> convert(const fs::path& in, const fs::path& out,
                     const SentencePieceToHfOptions& options) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(in));
  if (!SentencePieceModel::is_one(file.text())) {
    return fail(Code::kUnsupported, "{}: expected a sentencepiece model", in.string());
  }
  const auto json = convert_sentencepiece(file.text(), options);
  if (!json) return fail_in(in.string(), json.error());
  return write_file(out.extension() == ".json" ? out : out / "tokenizer.json", *json);
}

int run(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox convert",
      "Converts IN, a sentencepiece model of kind unigram or bpe, to Hugging Face's tokenizer.json "
      "OUT,\nor to OUT/tokenizer.json where OUT does not end in .json. Tokens are those that "
      "sentencepiece\ngives; no <s> or </s> is added unless asked for.\n");
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
