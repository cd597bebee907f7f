// Reads arbitrary bytes as the files of a model that has no tokenizer.json: a class, its settings
// and its vocabulary. The result must be an error, or a text that the reader of tokenizer.json
// accepts or refuses.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tokenizer/tokenizer.h"
#include "tools/vocabulary/make_tokenizer.h"

namespace {

using namespace signalbox;
using namespace signalbox::tools;

constexpr std::array<const char*, 12> kTypes = {
    "albert", "bert",        "camembert",   "deberta-v2", "gpt2",  "roberta",
    "t5",     "xlm-roberta", "gemma3_text", "llama",      "mpnet", "qwen3"};
constexpr char kEnd = '\x1e';  // ends every file but the vocabulary, which comes last

std::string_view next_file(std::string_view& bytes) {
  const size_t end = bytes.find(kEnd);
  const std::string_view out = bytes.substr(0, end);
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::map<std::string, std::string> files;
  const std::string type = kTypes[data[0] % kTypes.size()];
  files["config.json"] = type == "gpt2"    ? R"({"tokenizer_class": "GPT2Tokenizer"})"
                         : type == "llama" ? R"({"tokenizer_class": "LlamaTokenizer"})"
                                           : R"({"model_type": ")" + type + "\"}";
  for (const char* name :
       {kTokenizerConfigFile, kSpecialTokensFile, kAddedTokensFile, kBytePairMerges}) {
    const std::string_view file = next_file(bytes);
    if (!file.empty() || name == std::string_view(kBytePairMerges)) files[name] = file;
  }
  for (const char* name : kVocabularyFiles)
    if (!files.contains(name)) files[name] = bytes;
  const ModelFiles model{
      .has = [&](const std::string& name) { return files.contains(name); },
      .read = [&](const std::string& name) -> Result<std::string> { return files.at(name); }};
  const auto choice = choose_vocabulary(model);
  if (!choice || choice->found == nullptr) return 0;
  const auto made = make_tokenizer(*choice->found, model);
  if (made) (void)tokenizer::Tokenizer::parse(*made, "made");
  return 0;
}
