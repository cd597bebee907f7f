#pragma once
// The plan of one request: where it goes and how it is changed.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.h"
#include "router/learning/choice.h"
#include "router/looper/voice.h"
#include "router/plugins/context_compression/context_compression.h"
#include "router/plugins/memory/memory.h"
#include "router/plugins/rag/rag.h"
#include "router/plugins/tools/report.h"
#include "router/routing/selection/selection.h"
#include "router/safety/pii/mask.h"

namespace signalbox::routing {

/// Run-time input of a plan besides the request. The defaults mean: no measurements, and every draw
/// picks the first.
struct RuntimeConditions {
  std::function<selection::Figures(std::string_view model)> figures = {};
  double draw = 0;                                // uniform in [0, 1)
  std::span<const std::string_view> failed = {};  // models that have already failed, in order
  bool cheapest = false;                          // a budget is spent: take the cheapest model
  std::span<const std::string> allowed = {};      // models that the client may use; empty: all
  std::string_view voice = {};  // the model of one call of a looper; "": the whole request
  const learning::Situation* learning = nullptr;  // null: nothing is learnt
  std::optional<uint32_t> seed = {};  // for experiments of learning; nullopt: there are none
  bool draws = false;                 // with a voice: an image server answers that call
  bool keeps_api = false;  // with a voice: servers of the client's API get the request in it
};

/// "true" switches memories off for a request.
inline constexpr std::string_view kNoMemoryHeader = "x-disable-router-memory";

/// Pointers refer to the Router's configuration.
struct Plan {
  /// Signals of one type that match.
  struct Matched {
    std::string_view type;  // as in conditions
    std::vector<std::string> names;
  };
  enum class Path : uint8_t {
    kUpstream,      // `body` goes to `model`
    kFastResponse,  // `message` is the answer
    kBlocked,       // refused; `message` is the reason
    kUnable,        // too few models of the route can serve it; `message` is the reason
  };
  /// Why a request was blocked: the matching jailbreak and personal-data conditions, a missing
  /// identity, or a key that may not use the models.
  struct Guarded {
    std::string jailbreak;            // the signal's name; "": none
    double jailbreak_confidence = 0;  // 0 to 1
    /// The language of a text for which a guard matched without an attack; "": none. Static.
    std::string_view unsupported_language;
    bool pii = false;
    std::vector<std::string> pii_types;  // found types, never the data; may be empty
    bool missing_identity = false;
    bool forbidden = false;  // the client's key may use no model of the route
  };

  /// A model of the route that must not see the request.
  struct LeftOut {
    std::string model;
    std::string reason;  // names types of personal data, never the data
  };

  Path path = Path::kUpstream;
  const config::Model* model = nullptr;  // if path is kUpstream
  std::string upstream_name;             // the value of `model` in the upstream request
  std::string message;
  bool too_long = false;  // kUnable, and context windows alone are the reason
  Guarded guarded;
  std::string recipe;             // the routing that decided; "": nothing was decided
  std::string decision;           // "": no decision matched, or the client named a model
  std::string category;           // the decision's domain as the client sees it; "" like decision
  double confidence = 0;          // of the decision, 0 to 1
  std::string algorithm;          // the decision's algorithm; "" like decision
  std::string selection_method;   // how the model was chosen; "": there was no choice
  std::string selection_reason;   // why this model was chosen; "" like selection_method
  std::optional<bool> reasoning;  // nullopt: unchanged from the client's request
  std::string reasoning_effort;
  bool injected_system_prompt = false;
  // nullptr: keep the client's headers
  const config::HeaderMutationPlugin* header_mutation = nullptr;
  const config::PromptCachePlugin* prompt_cache = nullptr;      // nullptr: no marks
  const config::ResponseCachePlugin* response_cache = nullptr;  // nullptr: no caching
  const config::ShadowDispatchPlugin* shadow = nullptr;         // nullptr: no shadows
  const config::Emit::Retention* retention = nullptr;           // nullptr: nothing is required
  std::optional<learning::Report> learning;                     // nullopt: it had no part
  std::vector<std::string> instead_of;                          // models that failed before
  std::vector<LeftOut> left_out;                                // in the order of the decision
  // The decision whose algorithm calls several models; nullptr: `model` alone is called, once.
  const config::Decision* loop = nullptr;
  std::vector<looper::Voice> voices;  // the models that it may call, in the decision's order
  plugins::Report tools;              // the selection of tools
  plugins::ContextReport context;     // the results of tools that were shortened
  plugins::FoundDocuments documents;  // that the plugin rag adds
  plugins::FoundMemories memories;    // that the plugin memory adds, and the turn that it stores
  const plugins::MemoryRules* memory_rules = nullptr;  // null: the decision has no memories
  // An image server gets `body` and answers for `model`; nullptr: the model answers.
  const config::ImageGenPlugin* image = nullptr;
  // `model` answers with a text, and an image server draws for this one meanwhile. They are the two
  // voices, and `loop` is set. nullptr: the answer has no second part.
  const config::Model* painter = nullptr;
  bool bypassed = false;         // the client named a concrete model: nothing was evaluated
  std::vector<Matched> matched;  // in the order of the configuration's keys, projections last
  std::string body;              // the client's bytes with the edits spliced in
  bool native = false;           // `body` is in the client's own API, which the servers have
  bool takes_usage = false;      // the usage of the stream is requested, and not for the client
  const config::HallucinationPlugin* grounding = nullptr;      // nullptr: the reply is not checked
                                                               // against the request's context
  const config::ResponseJailbreakPlugin* jailbreak = nullptr;  // nullptr: no check for attacks
  bool needs_facts = false;  // a signal requires the facts of the reply to be checked
  // Placeholders in `body` and their originals, to restore in the reply
  std::vector<pii::Mask> masks;

  /// True if nothing of the answer may be stored.
  bool drops() const { return retention != nullptr && retention->drop.value_or(false); }

  /// The algorithm, or the plugin's name if the answer is a text with an image.
  std::string_view algorithm_that_ran() const {
    return painter != nullptr ? std::string_view("image_gen") : algorithm;
  }
};

}  // namespace signalbox::routing
