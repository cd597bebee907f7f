#pragma once
// What happens to one request.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.h"
#include "router/plugins/tools/report.h"
#include "router/routing/selection/selection.h"
#include "router/safety/pii/mask.h"

namespace signalbox::routing {

/// What a plan depends on besides the request. Without it nothing is measured and draws fall on the
/// first.
struct RuntimeConditions {
  std::function<selection::Figures(std::string_view model)> figures = {};
  double draw = 0;                                // uniform in [0, 1)
  std::span<const std::string_view> failed = {};  // models that have been asked in vain, in turn
};

/// Pointers lead into the Router's configuration.
struct Plan {
  /// Signals of one type that match.
  struct Matched {
    std::string_view type;  // as conditions name it
    std::vector<std::string> names;
  };
  enum class Path : uint8_t {
    kUpstream,      // `body` goes to `model`
    kFastResponse,  // `message` is the answer
    kBlocked,       // refused, and `message` says why
  };
  /// Why a request was stopped: the conditions on attempts and on personal data that spoke for it,
  /// or that nobody has been named who asks.
  struct Guarded {
    std::string jailbreak;            // the signal's name; "": none
    double jailbreak_confidence = 0;  // 0 to 1
    bool pii = false;
    std::vector<std::string> pii_types;  // of the data, never the data; may be empty
    bool missing_identity = false;
  };

  /// A model of the route that may not see the request.
  struct LeftOut {
    std::string model;
    std::string reason;  // names types of personal data, never the data
  };

  Path path = Path::kUpstream;
  const config::Model* model = nullptr;  // of kUpstream
  std::string asked_for;                 // what the server is asked for: the model's name there
  std::string message;
  Guarded guarded;
  std::string recipe;             // whose routing decided; "": nothing was decided
  std::string decision;           // "": no decision matched, or the client named a model
  std::string category;           // the decision's domain as the client sees it; "" like decision
  double confidence = 0;          // of the decision, 0 to 1
  std::string algorithm;          // that the decision asks for; "" like decision
  std::string selection_method;   // by which the model was chosen; "": there was no choice
  std::string selection_reason;   // why this model, in words; "" like selection_method
  std::optional<bool> reasoning;  // nothing: left as the client sent it
  std::string reasoning_effort;
  bool injected_system_prompt = false;
  const config::HeaderMutationPlugin* header_mutation = nullptr;  // none: the client's go out
  const config::ResponseCachePlugin* response_cache = nullptr;    // none: the model is asked
  std::vector<std::string> instead_of;  // models that were asked in vain before
  std::vector<LeftOut> left_out;        // in the order of the decision
  plugins::Report tools;                // of choosing among them
  bool bypassed = false;                // the client named a concrete model: nothing was evaluated
  std::vector<Matched> matched;  // in the order of the configuration's keys, projections last
  std::string body;              // the client's bytes with the edits spliced in
  const config::HallucinationPlugin* grounding = nullptr;      // none: its reply is not held
                                                               // against the request's context
  const config::ResponseJailbreakPlugin* jailbreak = nullptr;  // none: nor looked at for attempts
  bool asks_facts = false;       // a signal says that the request needs facts checked
  std::vector<pii::Mask> masks;  // what stands in `body` for what; the reply needs it back
};

}  // namespace signalbox::routing
