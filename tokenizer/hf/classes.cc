// Two tables: the classes, and the class that a model_type stands for.

#include "tokenizer/hf/classes.h"

#include <algorithm>
#include <iterator>

namespace signalbox::tokenizer {
namespace {

using Kind = ClassKind;
using Roles = std::array<std::string_view, 7>;

constexpr std::string_view kEnding = "<|endoftext|>";  // of GPT-2 and Qwen

// bos, eos, unk, sep, pad, cls, mask
constexpr Roles kBertRoles = {"", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr Roles kMpnetRoles = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"};
constexpr Roles kRobertaRoles = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr Roles kDebertaRoles = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr Roles kAlbertRoles = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"};
constexpr Roles kGpt2Roles = {kEnding, kEnding, kEnding, "", "", "", ""};
constexpr Roles kQwenRoles = {"", kEnding, kEnding, "", kEnding, "", ""};
constexpr Roles kT5Roles = {"", "</s>", "<unk>", "", "<pad>", "", ""};
constexpr Roles kLlamaRoles = {"<s>", "</s>", "<unk>", "", "", "", ""};
constexpr Roles kGemmaRoles = {"<bos>", "<eos>", "<unk>", "", "<pad>", "", ""};

constexpr TokenizerClass kClasses[] = {
    {"AlbertTokenizer", Kind::kOther, kAlbertRoles, true},
    {"BartTokenizer", Kind::kRoberta, kRobertaRoles, true, false},
    {"BertTokenizer", Kind::kBert, kBertRoles},
    {"CamembertTokenizer", Kind::kOther, kRobertaRoles, true, false},
    {"CodeLlamaTokenizer", Kind::kMarking, kLlamaRoles, false, false},
    {"CohereTokenizer", Kind::kMarking, {}, false, false},
    {"DebertaV2Tokenizer", Kind::kOther, kDebertaRoles},
    {"DistilBertTokenizer", Kind::kBert, kBertRoles, false, false},
    {"ElectraTokenizer", Kind::kBert, kBertRoles},
    {"GPT2Tokenizer", Kind::kByteLevel, kGpt2Roles, false, false},
    {"GemmaTokenizer", Kind::kMarking, kGemmaRoles, false, false},
    {"LlamaTokenizer", Kind::kMarking, kLlamaRoles, false, false},
    {"LongformerTokenizer", Kind::kRoberta, kRobertaRoles, true, false},
    {"MPNetTokenizer", Kind::kBert, kMpnetRoles, true, false},
    {"PreTrainedTokenizer", Kind::kPlain},
    {"Qwen2Tokenizer", Kind::kOther, kQwenRoles, false, false},
    {"RobertaTokenizer", Kind::kRoberta, kRobertaRoles, true, false},
    {"T5Tokenizer", Kind::kOther, kT5Roles, false, false},
    {"TokenizersBackend", Kind::kPlain},  // the plain class of release 5
    {"XLMRobertaTokenizer", Kind::kOther, kRobertaRoles, true, false},
};

struct Type {
  std::string_view model_type;
  std::string_view tokenizer;
};
constexpr Type kTypes[] = {
    {"albert", "AlbertTokenizer"},         {"bert", "BertTokenizer"},
    {"camembert", "CamembertTokenizer"},   {"deberta-v2", "DebertaV2Tokenizer"},
    {"distilbert", "DistilBertTokenizer"}, {"electra", "ElectraTokenizer"},
    {"gemma3_text", "GemmaTokenizer"},     {"mpnet", "MPNetTokenizer"},
    {"nomic_bert", "BertTokenizer"},       {"qwen3", "Qwen2Tokenizer"},
    {"roberta", "RobertaTokenizer"},       {"t5", "T5Tokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"}};

}  // namespace

TokenizerClass class_named(std::string_view name) {
  const auto found = std::ranges::find(kClasses, name, &TokenizerClass::name);
  return found == std::end(kClasses) ? TokenizerClass{} : *found;
}

std::string_view class_of_model_type(std::string_view model_type) {
  const auto found = std::ranges::find(kTypes, model_type, &Type::model_type);
  return found == std::end(kTypes) ? "" : found->tokenizer;
}

std::string_view without_fast(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  return name;
}

}  // namespace signalbox::tokenizer
