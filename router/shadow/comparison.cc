// Long answers are embedded in windows, whose mean stands for the answer: a model that cuts its
// input would compare the beginnings only.

#include "router/shadow/comparison.h"

#include <algorithm>
#include <cmath>

#include "router/models/judges.h"
#include "router/shadow/answer.h"
#include "router/text/windows.h"

namespace signalbox::shadow {
namespace {

constexpr size_t kWindowBytes = 1'000;  // some 250 tokens, which every embedder reads whole
constexpr float kContradiction = 0.5F;
constexpr size_t kSentencesMax = 16;       // that the inference model reads
constexpr size_t kJudgedBytes = 12 << 10;  // of each answer; both fit into one window of a judge

// The sum of rows (windows, dim), which has the direction of their mean.
std::vector<double> sum_of(std::span<const float> rows, size_t dim) {
  std::vector<double> out(dim, 0);
  for (size_t i = 0; i < rows.size(); ++i) out[i % dim] += static_cast<double>(rows[i]);
  return out;
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double product = 0, of_a = 0, of_b = 0;
  for (size_t d = 0; d < a.size(); ++d) {
    product += a[d] * b[d];
    of_a += a[d] * a[d];
    of_b += b[d] * b[d];
  }
  const double length = std::sqrt(of_a) * std::sqrt(of_b);
  return length > 0 ? std::clamp(product / length, -1.0, 1.0) : 0;
}

}  // namespace

Result<std::unique_ptr<const Comparer>> Comparer::create(const config::Config& config,
                                                         const models::Models& models) {
  std::unique_ptr<Comparer> out(new Comparer(models));
  const auto found = models.classifiers.find(models::classifier_directory(config, "nli"));
  if (found != models.classifiers.end()) {
    SIGNALBOX_TRY(out->inference_, grounding::InferenceJudge::create(found->second, 0));
  }
  const bool compares = std::ranges::any_of(config::shadows_of(config), [](const auto* plugin) {
    return plugin->comparison.judge.empty();
  });
  if (compares && models.embedder == nullptr) {
    out->notices_.push_back(
        fmt::format("{}: shadow_dispatch: there is no embedding model "
                    "(global.model_catalog.embeddings.semantic), so that answers are compared only "
                    "where `comparison.judge` names a model",
                    config.source));
  }
  return out;
}

Result<double> Comparer::similarity(std::string_view answer, std::string_view shadow,
                                    const engine::Patience& patience) const {
  std::vector<std::string_view> pieces = text::windows_of({answer}, kWindowBytes).pieces;
  const size_t of_answer = pieces.size();
  const auto more = text::windows_of({shadow}, kWindowBytes).pieces;
  pieces.insert(pieces.end(), more.begin(), more.end());
  const auto dim = static_cast<size_t>(models_.embedder->dim());
  std::vector<float> rows(pieces.size() * dim);
  SIGNALBOX_TRY_VOID(models_.embedder->embed_within(patience, pieces, rows));
  const std::span<const float> all(rows);
  return cosine(sum_of(all.first(of_answer * dim), dim), sum_of(all.subspan(of_answer * dim), dim));
}

Result<bool> Comparer::contradict(std::string_view answer, std::string_view shadow,
                                  const engine::Patience& patience) const {
  const text::ReadText premise(answer, text::Side::kContext);
  const text::ReadText read(shadow);
  const grounding::SentenceIndex index(premise);
  size_t count = 0;
  for (const text::Sentence& sentence : read.sentences()) {
    if (sentence.code) continue;
    if (++count > kSentencesMax || patience.stop.stop_requested() ||
        std::chrono::steady_clock::now() > patience.deadline)
      break;
    SIGNALBOX_TRY(const auto found, inference_->judge(premise, index, read, sentence));
    if (found && found->contradiction >= kContradiction && found->contradiction > found->entailment)
      return true;
  }
  return false;
}

Result<void> Comparer::judge(const engine::TextModel& model, std::string_view answer,
                             std::string_view shadow, const engine::Patience& patience,
                             Comparison& out) const {
  const std::string text =
      fmt::format("First answer:\n{}\n\nSecond answer:\n{}", beginning_of(answer, kJudgedBytes),
                  beginning_of(shadow, kJudgedBytes));
  const engine::Input input{.text = text};
  SIGNALBOX_TRY(const auto answers, model.answer_within(patience, {&input, 1}));
  const std::vector<float>& scores = answers.front().scores;
  const auto& labels = model.heads().front().labels;
  const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
  const std::string& label = labels[static_cast<size_t>(best)];
  out.agrees = label == models::kShadowAgrees;
  out.contradicts = label == models::kShadowContradicts;
  return {};
}

Comparison Comparer::compare(const config::ShadowDispatchPlugin::Comparison& how,
                             std::string_view answer, std::string_view shadow,
                             const engine::Patience& patience) const {
  if (answer == shadow) return {.similarity = 1, .agrees = true, .contradicts = false, .error = {}};
  Comparison out;
  const auto note = [&out](const Error& error) { out.error = code_name(error.code); };
  if (models_.embedder != nullptr) {
    if (const auto found = similarity(answer, shadow, patience)) {
      out.similarity = *found;
    } else {
      note(found.error());
    }
  }
  if (!how.judge.empty()) {
    const auto found = models_.classifiers.find(models::shadow_judge_key(how.judge));
    if (found == models_.classifiers.end()) return out;
    if (const auto judged = judge(*found->second, answer, shadow, patience, out); !judged)
      note(judged.error());
    return out;
  }
  if (!out.similarity) return out;
  out.agrees = *out.similarity >= how.similarity_threshold;
  if (!inference_) return out;
  const auto contradicts = contradict(answer, shadow, patience);
  if (!contradicts) {
    note(contradicts.error());
    out.agrees.reset();
    return out;
  }
  out.contradicts = *contradicts;
  out.agrees = *out.agrees && !out.contradicts;
  return out;
}

}  // namespace signalbox::shadow
