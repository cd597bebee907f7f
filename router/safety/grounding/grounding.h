#pragma once
// Does an answer say only what its context says? Layers, each of which may be absent: a check
// without any model of numbers, dates, units and names; a model that marks tokens nothing supports;
// a model of inference that is asked about what was marked.
//
//   const auto checker = GroundingChecker::create({}, {});     // no model
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

/// Why a span is not supported.
enum class GroundingVerdict : uint8_t {
  kFabricatedNumber,
  kFabricatedDate,
  kFabricatedUnit,  // the number is the context's, of something else
  kFabricatedName,
  kHallucinated,  // marked by the model, and asked about no further
  kUnsupported,   // does not follow from the context
  kContradicted,  // the context says otherwise
};

/// "fabricated_number" and so on.
std::string_view verdict_name(GroundingVerdict verdict);

struct GroundingSpan {
  uint32_t begin = 0, end = 0;  // bytes of the answer, half-open
  GroundingVerdict verdict = GroundingVerdict::kUnsupported;
  double score = 0;  // how sure, 0 to 1
};

struct GroundingReport {
  std::vector<GroundingSpan> spans;  // in the order of the answer, none over another
  double supported = 1;              // probability that all of it is
  bool facts = false;                // which layers ran
  bool tokens = false;
  bool inference = false;
};

struct GroundingOptions {
  double threshold = 0.5;    // spans below it are not reported, and what is above is contradicted
  double entailment = 0.75;  // from here on what follows is supported, whatever has marked it
  /// What one answer may cost the models: windows of the context for each piece of the answer,
  /// those that share most with it; sentences that the model of inference is asked about.
  size_t windows_max = 16;
  size_t inference_sentences_max = 64;
  size_t context_bytes_max = size_t{4} << 20;
  size_t question_bytes_max = size_t{64} << 10;
  size_t answer_bytes_max = size_t{256} << 10;
};

/// A model and which of its heads answers; none: the layer does not run.
struct GroundingModel {
  std::shared_ptr<const engine::TextModel> model = nullptr;
  size_t head = 0;
};

struct GroundingModels {
  GroundingModel hallucination = {};  // its head marks tokens
  GroundingModel inference = {};      // its head classifies pairs
};

/// A context and a question, read once for any number of answers. Immutable; of use to the checker
/// that has prepared it only.
class GroundingContext;

/// Immutable and thread-safe.
class GroundingChecker {
 public:
  /// kInvalid for a head of the wrong kind, or without a label that is known to mean what is
  /// looked for.
  static Result<GroundingChecker> create(const GroundingOptions& options,
                                         const GroundingModels& models);
  GroundingChecker(GroundingChecker&&) noexcept;
  GroundingChecker& operator=(GroundingChecker&&) noexcept;
  ~GroundingChecker();

  /// kTooLarge over a limit; errors of the models.
  Result<std::shared_ptr<const GroundingContext>> prepare(std::string context,
                                                          std::string question) const;
  /// A whole answer, or as much of one as there is: a sentence or more. Offsets count from its
  /// start. Without a context no layer runs. kTooLarge over a limit; errors of the models.
  Result<GroundingReport> check(const GroundingContext& context, std::string_view answer) const;
  Result<GroundingReport> check(std::string context, std::string question,
                                std::string_view answer) const;

 private:
  struct Layers;
  explicit GroundingChecker(std::unique_ptr<const Layers> layers);

  std::unique_ptr<const Layers> layers_;
};

}  // namespace signalbox::grounding
