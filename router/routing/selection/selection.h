#pragma once
// Which of a decision's models answers. One interface for all algorithms: candidates and what is
// known go in, one of the candidates comes out, with the reason in words. Pure: figures of the
// running models and randomness are parameters.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/config.h"

namespace signalbox::selection {

struct Candidate {
  const config::ModelRef* ref;
  const config::Model* model;
  const config::ModelCard* card;  // nullptr: the file has none
};

/// How a model has been doing lately.
struct Figures {
  std::vector<double> ttft_ms;  // to the first token, ascending
  std::vector<double> tpot_ms;  // of each further token, ascending
  uint32_t in_flight = 0;       // requests now
};

/// What is known of the request and of the candidates.
struct SelectionInputs {
  std::string_view decision = {};
  std::span<const std::string_view> domains = {};  // names of those that match
  std::span<const float> query = {};      // (dim), L2-normalised; empty: it could not be embedded
  std::span<const Figures> figures = {};  // (candidates), or empty: nothing is measured
  double draw = 0;                        // uniform in [0, 1)
};

struct Choice {
  size_t candidate = 0;
  std::string reason = {};  // for people: "cheapest of those within the bounds"
};

/// Immutable and thread-safe.
class Selector {
 public:
  virtual ~Selector() = default;
  /// As the configuration calls it.
  virtual std::string_view method() const = 0;
  virtual bool needs_query() const { return false; }
  virtual bool needs_figures() const { return false; }
  /// `candidates` are two or more of those that the selector was made for. kOverloaded when the
  /// configuration wants no request to go where every candidate is out of bounds.
  virtual Result<Choice> choose(std::span<const Candidate> candidates,
                                const SelectionInputs& known) const = 0;
};

}  // namespace signalbox::selection
