#pragma once
// Compares two answers to the same request: how similar they are, whether one contradicts the
// other, and whether they agree.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/patience.h"
#include "router/config/config.h"
#include "router/models/models.h"
#include "router/safety/grounding/inference_judge.h"

namespace signalbox::shadow {

struct Comparison {
  std::optional<double> similarity;  // cosine, -1 to 1; nullopt: no embedder, or it failed
  std::optional<bool> agrees;        // nullopt: nothing could decide it
  bool contradicts = false;          // then they do not agree
  std::string_view error;            // name of the code of an error of a model; "": none
};

/// The models that compare. Immutable and thread-safe.
class Comparer {
 public:
  /// kInvalid for an inference model without the labels that it needs. The models must outlive it.
  static Result<std::unique_ptr<const Comparer>> create(const config::Config& config,
                                                        const models::Models& models);

  /// Equal texts agree. Otherwise the judge decides, if `how` names one; without a judge, texts
  /// agree if their cosine reaches the threshold and the inference model, if there is one, finds no
  /// contradiction. Runs models on the caller's thread.
  Comparison compare(const config::ShadowDispatchPlugin::Comparison& how, std::string_view answer,
                     std::string_view shadow, const engine::Patience& patience) const;

  /// Notices for the operator, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  explicit Comparer(const models::Models& models) : models_(models) {}
  Result<double> similarity(std::string_view answer, std::string_view shadow,
                            const engine::Patience& patience) const;
  Result<bool> contradict(std::string_view answer, std::string_view shadow,
                          const engine::Patience& patience) const;
  Result<void> judge(const engine::TextModel& model, std::string_view answer,
                     std::string_view shadow, const engine::Patience& patience,
                     Comparison& out) const;

  const models::Models& models_;
  std::optional<grounding::InferenceJudge> inference_;
  std::vector<std::string> notices_;
};

}  // namespace signalbox::shadow
