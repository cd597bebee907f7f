// NLI models are trained on premises of one or a few sentences. The best sentences are tried one by
// one and then together, because a claim may rest on two.

#include "router/safety/grounding/inference_judge.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::grounding {
namespace {

using namespace text;

constexpr size_t kPremises = 3;

}  // namespace

Result<InferenceJudge> InferenceJudge::create(std::shared_ptr<const engine::TextModel> model,
                                              size_t head) {
  InferenceJudge out;
  const auto heads = model->heads();
  if (head >= heads.size() || heads[head].kind != engine::HeadKind::kSequence)
    return fail(Code::kInvalid, "the model has no head that classifies texts");
  bool found = false;
  std::string all;
  const auto& labels = heads[head].labels;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string label = ascii::lower_case(labels[i]);
    if (label.starts_with("entail")) {
      out.entailment_ = i;
      found = true;
    } else if (label.starts_with("contradict")) {
      out.contradiction_ = i;
    }
    all += fmt::format("{}{}", i == 0 ? "" : ", ", labels[i]);
  }
  if (!found) return fail(Code::kInvalid, "no label means entailment: {}", all);
  out.model_ = std::move(model);
  out.head_ = head;
  out.adapter_ = heads[head].adapter;
  return out;
}

Result<std::optional<Inference>> InferenceJudge::judge(const ReadText& context,
                                                       const SentenceIndex& index,
                                                       const ReadText& answer,
                                                       const Sentence& sentence,
                                                       const engine::Patience& patience) const {
  std::vector<uint32_t> chosen =
      best(index.scores(answer, sentence.first_token, sentence.last_token), kPremises);
  if (chosen.empty()) return std::optional<Inference>();
  std::vector<std::string> premises;
  const auto text_of = [&](uint32_t s) {
    const Sentence& of = context.sentences()[s];
    return std::string(context.text().substr(of.begin, of.end - of.begin));
  };
  for (const uint32_t s : chosen) premises.push_back(text_of(s));
  if (chosen.size() > 1) {
    std::ranges::sort(chosen);
    std::string together;
    for (const uint32_t s : chosen)
      together += fmt::format("{}{}", together.empty() ? "" : " ", text_of(s));
    premises.push_back(std::move(together));
  }
  const std::string_view hypothesis =
      answer.text().substr(sentence.begin, sentence.end - sentence.begin);
  std::vector<engine::Input> inputs;
  for (const std::string& premise : premises)
    inputs.push_back({.text = premise, .pair = hypothesis, .adapter = adapter_});
  SIGNALBOX_TRY(const auto answers, model_->answer_within(patience, inputs));
  Inference out;
  const size_t heads = model_->heads().size();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& scores = answers[i * heads + head_].scores;
    out.entailment = std::max(out.entailment, scores[entailment_]);
    if (contradiction_) out.contradiction = std::max(out.contradiction, scores[*contradiction_]);
  }
  return std::optional(out);
}

}  // namespace signalbox::grounding
