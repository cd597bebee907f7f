#pragma once
// Chooses one of a decision's models. All algorithms share one interface: candidates and known
// figures go in; one candidate comes out, with the reason as text. Pure: measurements of the
// running models and randomness are parameters.

#include <cstdint>
#include <memory>
#include <optional>
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

/// Recent performance of a model.
struct Figures {
  std::vector<double> ttft_ms;  // times to the first token, ascending
  std::vector<double> tpot_ms;  // times for each further token, ascending
  uint32_t in_flight = 0;       // current requests
};

/// The known properties of the request and of the candidates.
struct SelectionInputs {
  std::string_view decision = {};
  std::span<const std::string_view> domains = {};  // names of the matching ones
  std::span<const float> query = {};               // (dim), L2-normalised; empty: not embedded
  std::span<const Figures> figures = {};           // (candidates), or empty: no measurements
  double draw = 0;                                 // uniform in [0, 1)
};

struct Choice {
  size_t candidate = 0;
  std::string reason = {};  // for people: "cheapest of those within the bounds"
  // (candidates), about 0 to 1, the greatest for the one chosen; empty: the algorithm has none
  std::vector<std::optional<double>> scores = {};
};

/// Immutable and thread-safe.
class Selector {
 public:
  virtual ~Selector() = default;
  /// The algorithm's name in the configuration.
  virtual std::string_view method() const = 0;
  virtual bool needs_query() const { return false; }
  virtual bool needs_figures() const { return false; }
  /// `candidates` are two or more of those that the selector was created for. kOverloaded if every
  /// candidate is out of bounds and the configuration rejects requests in that case.
  virtual Result<Choice> choose(std::span<const Candidate> candidates,
                                const SelectionInputs& inputs) const = 0;
};

}  // namespace signalbox::selection
