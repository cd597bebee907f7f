#pragma once
// A signal is a question asked of a request: does a keyword occur, is it close in meaning to an
// example. All signals of one type are asked together, since they share their work: one scan of the
// text, one run of a model. A type is one file; signals/factory makes them all.

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

/// What one signal says of one request.
struct Reading {
  bool matched = false;
  double confidence = 0;  // 0 to 1; of the match, 0 without one
  double score = 0;       // the type's own measure, matched or not: share of keywords, similarity
  bool known = true;      // not: what the type lacks() would have to say; as if unavailable
  bool whole = true;      // not: what was too long to be looked at may hold a match; as if failed
};

/// Of a request with a Reading that is not whole.
inline constexpr std::string_view kNotReadWhole = "the request is too long to be looked at whole";

/// What a type works with: the request as it is, or a model besides. In the order of cost, which is
/// that of evaluation: microseconds; a pass of a small network; passes of larger ones.
enum class Needs : uint8_t { kRequest, kEmbedder, kClassifier };

/// How explanations speak of a type's numbers. Empty: they do not.
struct Wording {
  std::string_view score;     // "tokens (estimated)"
  std::string_view evidence;  // "nearest"
};

/// All signals of one type, in the order of the configuration. Immutable and thread-safe.
class SignalType {
 public:
  virtual ~SignalType() = default;
  /// As conditions name it: "keyword".
  virtual std::string_view type() const = 0;
  virtual Needs needs() const = 0;
  virtual size_t size() const = 0;
  virtual std::string_view name(size_t signal) const = 0;
  /// Why a signal can never be computed ("no classifier is configured"); "" when it can. Its
  /// reading then means nothing, and conditions on it do not match, nor does NOT of them.
  virtual std::string_view unavailable(size_t signal) const {
    static_cast<void>(signal);
    return {};
  }
  /// What a signal that can be computed has to do without ("there is no embedding model"); "" when
  /// nothing.
  virtual std::string_view lacks(size_t signal) const {
    static_cast<void>(signal);
    return {};
  }
  virtual Wording wording() const { return {}; }
  /// The score from which on a signal matches, for explanations; none where more than one number
  /// decides.
  virtual std::optional<double> threshold(size_t signal) const {
    static_cast<void>(signal);
    return {};
  }
  /// The similarity that the nearest example must have beside the score, for explanations; none
  /// where the score alone decides.
  virtual std::optional<double> least_similarity(size_t signal) const {
    static_cast<void>(signal);
    return {};
  }
  /// Whether the request has nothing for these signals to look at: then none of them matches, and
  /// that is known without a model, there or not.
  virtual bool is_moot(const request::ChatRequest& request) const {
    static_cast<void>(request);
    return false;
  }
  /// Called by several threads at a time, for several types of one request, where models are
  /// needed. Reads every signal; `out` is (size()) and default-initialised. Appends to `evidence`.
  /// An error leaves both unspecified. Not called when every signal is unavailable, nor for a
  /// request that is_moot().
  virtual Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                                std::vector<Evidence>& evidence) const = 0;
};

using SignalTypes = std::vector<std::unique_ptr<const SignalType>>;

}  // namespace signalbox::signals
