#pragma once
// A signal computes one property of a request, for example whether a keyword occurs or whether the
// text is close in meaning to an example. All signals of one type are evaluated together, because
// they share work: one scan of the text, one run of a model. Each type is one file; factory.h
// creates them all.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/signals/inputs.h"
#include "router/signals/matching/evidence.h"

namespace signalbox::signals {

/// The result of one signal for one request.
struct Reading {
  bool matched = false;
  double confidence = 0;  // confidence of the match, 0 to 1; 0 without a match
  double score = 0;       // the type's own measure, such as a similarity, also without a match
  /// False if the missing part that lacks() names could change the result. Treated as unavailable.
  bool known = true;
  /// False if a part of the text that was too long to read may match. Treated as a failure.
  bool whole = true;
  /// The language of a text that the model does not support, if it is certain and no attack was
  /// found; otherwise "". Static.
  std::string_view unsupported_language = {};
  /// The guard's label with the greatest part in the score, if it has several for attacks;
  /// otherwise "". Points into the signal type, which outlives the request.
  std::string_view label = {};
  /// Windows that a guard has read, and those of them that its screen has cleared.
  uint32_t windows = 0, windows_cleared = 0;
};

/// Error message for a request with a Reading whose `whole` is false.
inline constexpr std::string_view kNotReadWhole =
    "the request is too long to be examined completely";

/// The input that a type needs: only the request, or also a model. The order is that of cost and of
/// evaluation: microseconds, one pass of a small network, passes of larger networks, calls of a
/// server.
enum class Needs : uint8_t { kRequest, kEmbedder, kClassifier, kServer };

/// Labels of a type's numbers in explanations. Empty: explanations leave the number out.
struct Wording {
  std::string_view score;     // such as "tokens (estimated)"
  std::string_view evidence;  // such as "nearest"
};

/// All signals of one type, in the order of the configuration. Immutable and thread-safe.
class SignalType {
 public:
  virtual ~SignalType() = default;
  /// The name that conditions use, such as "keyword".
  virtual std::string_view type() const = 0;
  virtual Needs needs() const = 0;
  virtual size_t size() const = 0;
  virtual std::string_view name(size_t signal) const = 0;
  /// Returns why a signal can never be computed ("no classifier is configured"), or "" if it can.
  /// The reading of an unavailable signal has no meaning: neither a condition on it nor NOT of it
  /// matches.
  virtual std::string_view unavailable(size_t signal) const {
    static_cast<void>(signal);
    return {};
  }
  /// Returns what is missing for a signal that can still be computed ("there is no embedding
  /// model"), or "" if nothing is.
  virtual std::string_view lacks(size_t signal) const {
    static_cast<void>(signal);
    return {};
  }
  virtual Wording wording() const { return {}; }
  /// Returns the directory of the model that stands in for the configured one; "" if none does.
  virtual std::string_view stand_in() const { return {}; }
  /// Returns the shown name of the server in `global.model_catalog.external` that answers; "" if a
  /// model here does.
  virtual std::string_view server(size_t signal) const {
    static_cast<void>(signal);
    return {};
  }
  /// The least score of a match, for explanations; nullopt if more than one number decides.
  virtual std::optional<double> threshold(size_t signal) const {
    static_cast<void>(signal);
    return {};
  }
  /// The least similarity that the nearest example must have in addition to the score, for
  /// explanations; nullopt if the score alone decides.
  virtual std::optional<double> least_similarity(size_t signal) const {
    static_cast<void>(signal);
    return {};
  }
  /// Returns whether the request has no content for these signals. Then none of them matches, and
  /// this is certain even without a model.
  virtual bool is_moot(const request::ChatRequest& request) const {
    static_cast<void>(request);
    return false;
  }
  /// Returns an error if the request is certainly longer than these signals may read, which takes
  /// milliseconds. Called before any model runs, so that nothing is computed for such a request.
  /// Thread-safe.
  virtual Result<void> check_length(Inputs& inputs) const {
    static_cast<void>(inputs);
    return {};
  }
  /// Computes the reading of every signal; `out` is (size()) and default-initialised. Appends to
  /// `evidence`. After an error the contents of both are unspecified. Thread-safe: if models are
  /// needed, several threads call it for several types of one request. It is not called if every
  /// signal is unavailable, nor for a request that is_moot().
  virtual Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                                std::vector<Evidence>& evidence) const = 0;
};

using SignalTypes = std::vector<std::unique_ptr<const SignalType>>;

}  // namespace signalbox::signals
