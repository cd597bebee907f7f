// Converts texts to vectors, fits a linear layer to the vectors, and writes the layer to a
// directory. The report comes from the engine running that directory, so it measures what users
// will get.

#include "tools/fit/fit.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "engine/model_path.h"
#include "tokenizer/tokenizer.h"
#include "tools/fit/examples.h"
#include "tools/fit/head_folder.h"
#include "tools/fit/layer.h"
#include "tools/fit/model_card.h"
#include "tools/unreachable_spans.h"

namespace signalbox::tools {
namespace {

constexpr uint64_t kFeatureBytesMax = uint64_t{4} << 30;
constexpr size_t kTextsAtOnce = 32;

using engine::TextModel;

// Calls step(begin, end) for chunks of [0, count). Returns the first error.
Result<void> in_chunks(size_t count, engine::Workers& workers,
                       const std::function<Result<void>(size_t begin, size_t end)>& step) {
  std::vector<Result<void>> done((count + kTextsAtOnce - 1) / kTextsAtOnce);
  std::atomic<bool> failed = false;
  workers.for_each(static_cast<int32_t>(done.size()), [&](int32_t i, int32_t) {
    if (failed) return;
    const size_t begin = static_cast<size_t>(i) * kTextsAtOnce;
    done[i] = step(begin, std::min(count, begin + kTextsAtOnce));
    if (!done[i]) failed = true;
  });
  for (Result<void>& each : done) SIGNALBOX_TRY_VOID(std::move(each));
  return {};
}

Result<void> check_size(uint64_t vectors, int32_t dim, int32_t folds) {
  // The vectors take this memory once, and their packed form twice. Each fold takes the same again.
  const uint64_t times = 3 * (1 + static_cast<uint64_t>(folds));
  const uint64_t bytes = times * sizeof(float) * vectors * static_cast<uint64_t>(dim);
  if (bytes <= kFeatureBytesMax) return {};
  return fail(Code::kTooLarge,
              "{} vectors of {} numbers take {} bytes; the limit is {}: fit to fewer texts",
              vectors, dim, bytes, kFeatureBytesMax);
}

Result<std::unique_ptr<const TextModel>> open_fitted(const FitOptions& options) {
  return TextModel::open(options.trunk, {.precision = options.precision, .heads = {options.out}});
}

// --- classes ---

Result<Vectors> embed(const TextModel& model, const std::vector<Example>& examples, int32_t folds,
                      const FitOptions& options, engine::Workers& workers) {
  Vectors out;
  out.dim = model.dim();
  SIGNALBOX_TRY_VOID(check_size(examples.size(), out.dim, folds));
  out.x.resize(examples.size() * out.dim);
  const engine::EmbedOptions how{.pooling = options.first_token ? engine::Pooling::kFirst
                                                                : engine::Pooling::kMean};
  SIGNALBOX_TRY_VOID(in_chunks(examples.size(), workers, [&](size_t begin, size_t end) {
    std::vector<std::string_view> texts;
    for (size_t i = begin; i < end; ++i) texts.emplace_back(examples[i].text);
    return model.embed(texts, how,
                       std::span(out.x).subspan(begin * out.dim, (end - begin) * out.dim));
  }));
  for (const Example& example : examples) {
    out.labels.push_back(example.label);
    out.folds.push_back(example.fold);
  }
  return out;
}

// --- spans ---

std::vector<std::string> tags_of(const std::vector<std::string>& types) {
  std::vector<std::string> out{"O"};
  for (const std::string& type : types) {
    out.push_back("B-" + type);
    out.push_back("I-" + type);
  }
  return out;
}

using TypeNumbers = std::map<std::string, int32_t, std::less<>>;

// The tag of each token: the first token of a span gets B, the others get I.
std::vector<int32_t> tags_of(const tokenizer::Encoding& encoding, const Example& example,
                             const TypeNumbers& types) {
  std::vector<int32_t> out(encoding.ids.size(), 0);
  for (const LabelledSpan& span : example.spans) {
    const auto type = types.find(span.type);
    if (type == types.end()) continue;
    bool first = true;
    for (uint32_t t = encoding.first_tokens.begin; t < encoding.first_tokens.end; ++t) {
      const tokenizer::Span& at = encoding.offsets[t];
      if (at.end <= span.begin || at.begin >= span.end || at.begin == at.end) continue;
      out[t] = 1 + 2 * type->second + (first ? 0 : 1);
      first = false;
    }
  }
  return out;
}

// Returns a vector and a tag for each token of the texts, without special tokens.
Result<Vectors> token_states(const TextModel& model, const tokenizer::Tokenizer& tokenizer,
                             const std::vector<Example>& examples,
                             const std::vector<std::string>& types, int32_t folds,
                             engine::Workers& workers) {
  TypeNumbers numbers;
  for (const std::string& type : types) numbers.emplace(type, static_cast<int32_t>(numbers.size()));
  std::vector<Vectors> parts(examples.size());
  std::atomic<uint64_t> tokens = 0;
  SIGNALBOX_TRY_VOID(
      in_chunks(examples.size(), workers, [&](size_t begin, size_t end) -> Result<void> {
        tokenizer::Encoding encoding;
        for (size_t i = begin; i < end; ++i) {
          tokenizer.encode(examples[i].text,
                           {.tokens_max = model.tokens_max(), .side = tokenizer.side()}, encoding);
          if (encoding.ids.empty()) continue;
          SIGNALBOX_TRY(const engine::States states, model.states(encoding.ids));
          const auto tags = tags_of(encoding, examples[i], numbers);
          const auto& own = encoding.first_tokens;
          Vectors& part = parts[i];
          const int32_t dim = model.hidden();
          part.x.assign(states.last_hidden_state.begin() + int64_t{own.begin} * dim,
                        states.last_hidden_state.begin() + int64_t{own.end} * dim);
          part.labels.assign(tags.begin() + own.begin, tags.begin() + own.end);
          part.folds.assign(part.labels.size(), examples[i].fold);
          tokens += own.end - own.begin;
          SIGNALBOX_TRY_VOID(check_size(tokens, dim, folds));
        }
        return {};
      }));
  Vectors out;
  out.dim = model.hidden();
  for (Vectors& part : parts) {
    out.x.insert(out.x.end(), part.x.begin(), part.x.end());
    out.labels.insert(out.labels.end(), part.labels.begin(), part.labels.end());
    out.folds.insert(out.folds.end(), part.folds.begin(), part.folds.end());
    part = {};
  }
  return out;
}

Result<SpanQuality> measure_spans(const TextModel& model, const std::vector<Example>& examples,
                                  const std::vector<std::string>& types) {
  SpanCounter counter(types);
  for (const Example& example : examples) {
    const engine::Input input{.text = example.text};
    SIGNALBOX_TRY(const auto answers, model.answer({&input, 1}));
    counter.add(example.spans, answers.back().entities);
  }
  return counter.quality();
}

FitReport report_on(const Examples& examples) {
  FitReport out;
  out.train = examples.train.size();
  out.validation = examples.validation.size();
  out.held_out = examples.held_out.size();
  out.folds = examples.folds;
  return out;
}

}  // namespace

Result<FitReport> fit_classifier(const FitOptions& options) {
  SIGNALBOX_TRY_VOID(check_output(options));
  SIGNALBOX_TRY(const Examples examples, read_classified(options.data));
  FitReport report = report_on(examples);
  engine::Workers workers(options.threads);
  const auto classes = static_cast<int32_t>(examples.labels.size());
  {
    SIGNALBOX_TRY(const auto model,
                  TextModel::open(options.trunk, {.precision = options.precision}));
    options.print(fmt::format("{} texts, {} labels", report.train + report.validation, classes));
    SIGNALBOX_TRY(Vectors train, embed(*model, examples.train, examples.folds, options, workers));
    SIGNALBOX_TRY(Vectors validation,
                  embed(*model, examples.validation, examples.folds, options, workers));
    SIGNALBOX_TRY(const LinearClassifier layer,
                  fit_layer(options, classes, examples.folds, std::move(train),
                            std::move(validation), workers, report));
    SIGNALBOX_TRY_VOID(
        write_head(options, "LinearForSequenceClassification", examples.labels, layer));
  }
  SIGNALBOX_TRY(const auto model, open_fitted(options));
  std::vector<float> scores(examples.held_out.size() * classes);
  std::vector<int32_t> truths;
  for (const Example& example : examples.held_out) truths.push_back(example.label);
  SIGNALBOX_TRY_VOID(
      in_chunks(examples.held_out.size(), workers, [&](size_t begin, size_t end) -> Result<void> {
        std::vector<engine::Input> inputs;
        for (size_t i = begin; i < end; ++i) inputs.push_back({.text = examples.held_out[i].text});
        SIGNALBOX_TRY(const auto answers, model->answer(inputs));
        const size_t heads = model->heads().size();
        for (size_t i = begin; i < end; ++i) {
          std::ranges::copy(answers[(i - begin + 1) * heads - 1].scores,
                            scores.begin() + static_cast<int64_t>(i * classes));
        }
        return {};
      }));
  report.quality = classifier_quality(examples.labels, truths, scores);
  write_card(options, report);
  return report;
}

Result<FitReport> fit_tagger(const FitOptions& options) {
  SIGNALBOX_TRY_VOID(check_output(options));
  SIGNALBOX_TRY(const Examples examples, read_tagged(options.data));
  FitReport report = report_on(examples);
  engine::Workers workers(options.threads);
  const auto tags = tags_of(examples.labels);
  {
    SIGNALBOX_TRY(const auto model,
                  TextModel::open(options.trunk, {.precision = options.precision}));
    SIGNALBOX_TRY(const auto path, engine::find_model(options.trunk));
    SIGNALBOX_TRY(const auto tokenizer, tokenizer::Tokenizer::open_directory(path.trunk));
    options.print(fmt::format("{} texts, {} types of spans", report.train + report.validation,
                              examples.labels.size()));
    int64_t lost = 0;
    for (const auto* part : {&examples.train, &examples.validation, &examples.held_out}) {
      for (const Example& each : *part)
        lost += count_unreachable_spans(*tokenizer, model->tokens_max(), each.text, each.spans);
    }
    if (lost > 0) options.print(unreachable_spans_note(lost));
    SIGNALBOX_TRY(Vectors train, token_states(*model, *tokenizer, examples.train, examples.labels,
                                              examples.folds, workers));
    SIGNALBOX_TRY(Vectors validation, token_states(*model, *tokenizer, examples.validation,
                                                   examples.labels, examples.folds, workers));
    SIGNALBOX_TRY(const LinearClassifier layer,
                  fit_layer(options, static_cast<int32_t>(tags.size()), examples.folds,
                            std::move(train), std::move(validation), workers, report));
    SIGNALBOX_TRY_VOID(write_head(options, "LinearForTokenClassification", tags, layer));
  }
  SIGNALBOX_TRY(const auto model, open_fitted(options));
  SIGNALBOX_TRY(report.spans, measure_spans(*model, examples.held_out, examples.labels));
  write_card(options, report);
  return report;
}

}  // namespace signalbox::tools
