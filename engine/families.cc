// A list of families, and the names that Hugging Face's library forms from them.

#include "engine/families.h"

#include <algorithm>

#include "engine/bert.h"
#include "engine/bert_config.h"
#include "engine/deberta.h"
#include "engine/gemma3.h"
#include "engine/modern_bert.h"
#include "engine/qwen3.h"
#include "engine/t5.h"

namespace signalbox::engine {
namespace {

// Opens an encoder that is built like BERT.
template <Result<BertConfig> (*read)(const weights::HfObject& config)>
Result<std::unique_ptr<const Trunk>> like_bert(const weights::HfConfig& config,
                                               const weights::SafeTensors& file,
                                               const TrunkOptions& options) {
  SIGNALBOX_TRY(BertConfig bert, read(config.root()));
  return open_bert(std::move(bert), file, options);
}

constexpr FirstTokenHead kPooler{"pooler.dense", Activation::kTanh};
constexpr FirstTokenHead kRobertaHead{"classifier.dense", Activation::kTanh, "",
                                      "classifier.out_proj"};

constexpr Family kFamilies[] = {
    {"albert", {"Albert"}, like_bert<read_albert>, HeadForm::kFirst, {"pooler", Activation::kTanh}},
    {"bert", {"Bert"}, like_bert<read_bert>, HeadForm::kFirst, kPooler},
    {"camembert", {"Camembert"}, like_bert<read_xlm_roberta>, HeadForm::kFirst, kRobertaHead},
    {"deberta-v2",
     {"DebertaV2"},
     open_deberta,
     HeadForm::kFirst,
     {"pooler.dense", Activation::kGelu, "pooler_hidden_act"}},
    {"distilbert",
     {"DistilBert"},
     like_bert<read_distilbert>,
     HeadForm::kFirst,
     {"pre_classifier", Activation::kRelu}},
    {"electra",
     {"Electra"},
     like_bert<read_electra>,
     HeadForm::kFirst,
     {"classifier.dense", Activation::kGelu, "", "classifier.out_proj"}},
    {"gemma3_text", {"Gemma3Text", "Gemma3"}, open_gemma3, HeadForm::kLast},
    {"modernbert", {"ModernBert"}, open_modern_bert, HeadForm::kPrediction},
    {"mpnet", {"MPNet"}, like_bert<read_mpnet>, HeadForm::kFirst, kRobertaHead},
    {"nomic_bert", {"NomicBert"}, like_bert<read_nomic_bert>, HeadForm::kNone},
    {"qwen3", {"Qwen3"}, open_qwen3, HeadForm::kLast},
    {"roberta", {"Roberta", "XLMRoberta"}, like_bert<read_roberta>, HeadForm::kFirst, kRobertaHead},
    {"t5", {"T5"}, open_t5, HeadForm::kTokens},
    {"xlm-roberta",
     {"XLMRoberta", "Roberta"},
     like_bert<read_xlm_roberta>,
     HeadForm::kFirst,
     kRobertaHead}};

constexpr Architecture kArchitectures[] = {{"Model", {}},
                                           {"EncoderModel", {}},
                                           {"ForMaskedLM", {}},
                                           {"ForPreTraining", {}},
                                           {"ForCausalLM", {}},
                                           {"ForConditionalGeneration", {}},
                                           {"ForSequenceClassification", HeadKind::kSequence},
                                           {"ForTokenClassification", HeadKind::kTokens}};

bool has_head(const Family& family, std::optional<HeadKind> head) {
  return !head || (family.form != HeadForm::kNone &&
                   (family.form != HeadForm::kTokens || head == HeadKind::kTokens));
}

// Returns the architecture of a class with that name, or null if the family has none.
const Architecture* architecture_of(const Family& family, std::string_view name) {
  for (const std::string_view begin : family.classes) {
    if (begin.empty() || !name.starts_with(begin)) continue;
    const auto found =
        std::ranges::find(kArchitectures, name.substr(begin.size()), &Architecture::suffix);
    if (found != std::end(kArchitectures) && has_head(family, found->head)) return found;
  }
  return nullptr;
}

std::string names_of(const Family& family) {
  std::string out;
  for (const Architecture& known : kArchitectures) {
    if (!has_head(family, known.head)) continue;
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", family.classes[0], known.suffix);
  }
  return out;
}

}  // namespace

Result<const Family*> find_family(const weights::HfObject& config) {
  SIGNALBOX_TRY(const std::string type, config.string("model_type", ""));
  const auto found = std::ranges::find(kFamilies, type, &Family::model_type);
  if (found != std::end(kFamilies)) return &*found;
  std::string known;
  for (const Family& family : kFamilies)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", family.model_type);
  return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: {})",
              config.where("model_type"), type, known);
}

Result<const Architecture*> find_architecture(const weights::HfObject& config,
                                              const Family& family) {
  SIGNALBOX_TRY(const std::vector<std::string> names, config.strings("architectures"));
  if (names.empty()) return nullptr;
  if (const Architecture* found = architecture_of(family, names[0])) return found;
  const auto belongs = [&](const Family& other) { return architecture_of(other, names[0]); };
  if (std::ranges::any_of(kFamilies, belongs)) {
    return fail(Code::kCorrupt, "{}: \"{}\" does not match model_type \"{}\"",
                config.where("architectures[0]"), names[0], family.model_type);
  }
  return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: {})",
              config.where("architectures[0]"), names[0], names_of(family));
}

}  // namespace signalbox::engine
