#pragma once
// Checks whether an answer is supported by its context, in up to three layers: a look-up of
// figures, dates, names and addresses, which needs no model; a model that marks unsupported tokens;
// and an NLI model that judges the sentences with findings. Each model is optional.
//
//   const auto checker = Checker::create({}, {});  // no model
//   auto report = checker->check(context, question, answer);
//   // report->spans, report->supported

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"

namespace signalbox::grounding {

/// Why a span is reported.
enum class SpanVerdict : uint8_t {
  kFabricatedNumber,
  kFabricatedDate,
  kFabricatedUnit,  // the context has the number, but with another unit
  kFabricatedName,
  kHallucinated,  // marked by the token model and judged no further
  kUnsupported,   // does not follow from the context
  kContradicted,  // the context contradicts it
  kUnchecked,     // a missing figure that may be computed from the context; no finding
};

/// The name in JSON, such as "fabricated_number".
std::string_view verdict_name(SpanVerdict verdict);

struct Span {
  uint32_t begin = 0, end = 0;  // bytes of the answer, half-open
  SpanVerdict verdict = SpanVerdict::kUnsupported;
  double score = 0;  // confidence, 0 to 1; 0 if unchecked
};

struct Report {
  std::vector<Span> spans;  // in the order of the answer, without overlaps
  double supported = 1;  // probability that the whole answer is supported; ignores unchecked spans
  bool facts = false;    // which layers ran
  bool tokens = false;
  bool inference = false;
};

struct CheckOptions {
  double threshold = 0.5;    // findings with a lower score are dropped
  double entailment = 0.75;  // a sentence with this entailment is supported despite its marks
  /// Limits the cost of the models for one answer: context windows for each piece of the answer,
  /// and sentences that the NLI model judges.
  size_t windows_max = 16;
  size_t inference_sentences_max = 64;
  size_t context_bytes_max = size_t{4} << 20;
  size_t question_bytes_max = size_t{64} << 10;
  size_t answer_bytes_max = size_t{256} << 10;
};

/// A model and the head to use. The layer does not run if `model` is null.
struct Model {
  std::shared_ptr<const engine::TextModel> model = nullptr;
  size_t head = 0;
};

struct Models {
  Model hallucination = {};  // its head marks tokens
  Model inference = {};      // its head classifies pairs
};

/// A context and a question, prepared for any number of answers. Immutable; valid only for the
/// checker that prepared it.
class PreparedContext;

/// Immutable and thread-safe.
class Checker {
 public:
  /// Returns kInvalid for a head of the wrong kind or without the labels that the layer needs.
  static Result<Checker> create(const CheckOptions& options, const Models& models);
  Checker(Checker&&) noexcept;
  Checker& operator=(Checker&&) noexcept;
  ~Checker();

  /// Returns kTooLarge over a limit, and errors of the models.
  Result<std::shared_ptr<const PreparedContext>> prepare(std::string context,
                                                         std::string question) const;
  /// Checks an answer, or one or more sentences of it. Offsets count from the start of `answer`. No
  /// layer runs if the context is empty. `patience` limits the wait for the models. Returns
  /// kTooLarge over a limit, and errors of the models.
  Result<Report> check(const PreparedContext& context, std::string_view answer,
                       const engine::Patience& patience = {}) const;
  Result<Report> check(std::string context, std::string question, std::string_view answer) const;

 private:
  struct Layers;
  explicit Checker(std::unique_ptr<const Layers> layers);

  std::unique_ptr<const Layers> layers_;
};

}  // namespace signalbox::grounding
