// An outcome counts for the decision and the model in the record of its request. So nobody can move
// the score of a model that did not answer.

#include <algorithm>
#include <array>

#include "base/log.h"
#include "router/access/access.h"
#include "router/admin/classify.h"
#include "router/admin/replay.h"
#include "router/learning/rules.h"

namespace signalbox::admin {
namespace {

using learning::Outcomes;
using learning::Verdict;

constexpr std::string_view kPath = "/v1/router/outcomes";
constexpr std::string_view kInvalid = "INVALID_OUTCOME";
constexpr size_t kKeyBytesMax = 256;
constexpr size_t kReasonBytesMax = 1024;
constexpr std::array<std::string_view, 6> kTargets{"model",     "route",    "policy",
                                                   "stability", "provider", "router"};

struct Outcome {
  std::string replay_id, target, target_ref, reason;
  Verdict verdict = Verdict::kGoodFit;
  std::optional<double> score;
};

tl::unexpected<access::Failure> refused(int status, std::string_view code, std::string message) {
  return tl::unexpected<access::Failure>(access::Failure{status, code, std::move(message)});
}

/// "a, b or c".
template <class Names>
std::string either(const Names& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i)
    out.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
  return out;
}

/// A member that is one of `names`.
template <class Names>
OrFailure<std::string> one_of(const json::Value& root, std::string_view key, const Names& names) {
  const auto found = root.find(key);
  const bool is_text = found && found->is_string();
  if (is_text && std::find(names.begin(), names.end(), found->text()) != names.end())
    return std::string(found->text());
  return refused(
      400, kInvalid,
      fmt::format("{}: expected {}, found {}", key, either(names),
                  is_text ? json::quote_briefly(found->text()) : "nothing of that kind"));
}

OrFailure<std::string> optional_text(const json::Value& root, std::string_view key,
                                     size_t bytes_max) {
  const auto found = root.find(key);
  if (!found || found->is_null()) return std::string();
  if (!found->is_string() || found->text().size() > bytes_max) {
    return refused(400, kInvalid,
                   fmt::format("{}: expected a text of at most {} bytes", key, bytes_max));
  }
  return std::string(found->text());
}

// Ignores the source and the metadata that the Semantic Router's clients send, because the caller's
// role identifies the source.
OrFailure<Outcome> read_outcome(const json::Value& root) {
  Outcome out;
  SIGNALBOX_OR_FAIL(out.replay_id, optional_text(root, "replay_id", kKeyBytesMax));
  if (out.replay_id.empty())
    return refused(400, kInvalid, "replay_id: expected the value of the header x-vsr-replay-id");
  SIGNALBOX_OR_FAIL(const std::string verdict, one_of(root, "verdict", learning::kVerdicts));
  out.verdict = *learning::verdict_of(verdict);
  out.target = kTargets.front();
  if (const auto target = root.find("target"); target && !target->is_null()) {
    SIGNALBOX_OR_FAIL(out.target, one_of(root, "target", kTargets));
  }
  SIGNALBOX_OR_FAIL(out.target_ref, optional_text(root, "target_ref", kReasonBytesMax));
  SIGNALBOX_OR_FAIL(out.reason, optional_text(root, "reason", kReasonBytesMax));
  if (const auto score = root.find("score"); score && !score->is_null()) {
    const double value = score->is_number() ? score->number().value_or(-1) : -1;
    if (value < 0 || value > 1)
      return refused(400, kInvalid, "score: expected a number from 0 to 1");
    out.score = value;
  }
  return out;
}

OrFailure<std::string> idempotency_key(const http::Request& request) {
  const auto key = request.headers.find("idempotency-key");
  if (!key || key->empty()) {
    return refused(400, "MISSING_IDEMPOTENCY_KEY",
                   "expected the header Idempotency-Key, which makes a repetition count once");
  }
  if (key->size() > kKeyBytesMax) {
    return refused(400, "INVALID_IDEMPOTENCY_KEY",
                   fmt::format("Idempotency-Key: expected at most {} bytes, found {}", kKeyBytesMax,
                               key->size()));
  }
  return std::string(*key);
}

std::string to_json(const Outcome& outcome) {
  json::Writer out;
  out.begin_object().member("target", outcome.target);
  out.member("verdict", learning::kVerdicts[static_cast<size_t>(outcome.verdict)]);
  if (!outcome.target_ref.empty()) out.member("target_ref", outcome.target_ref);
  if (!outcome.reason.empty()) out.member("reason", outcome.reason);
  if (outcome.score) out.member("score", *outcome.score);
  return out.end_object().take();
}

class OutcomeRoutes {
 public:
  OutcomeRoutes(Outcomes& outcomes, observe::Replay& replay, observe::Metrics& metrics)
      : outcomes_(outcomes), replay_(replay), metrics_(metrics) {}

  OrFailure<std::string> add(const http::Request& request,
                             const serving::ServingState& state) const {
    if (!state.config().router.learning.enabled) {
      return refused(503, "NO_ROUTER_LEARNING_RUNTIME",
                     "outcomes are counted if global.router.learning.enabled is true");
    }
    SIGNALBOX_OR_FAIL(const std::string key, idempotency_key(request));
    SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
    SIGNALBOX_OR_FAIL(const Outcome outcome, read_outcome(document.root()));
    const auto found = replay_.answered(outcome.replay_id);
    if (!found) return refused(503, "SERVICE_UNAVAILABLE", found.error().message);
    const auto& answered = *found;
    if (!answered) {
      return refused(404, "REPLAY_NOT_FOUND",
                     fmt::format("replay_id: there is no record {}, or it has been removed",
                                 json::quote_briefly(outcome.replay_id)));
    }
    const bool is_about_model = outcome.target == kTargets.front();
    if (is_about_model && !outcome.target_ref.empty() && outcome.target_ref != answered->model) {
      return refused(
          409, "OUTCOME_OWNERSHIP_MISMATCH",
          fmt::format("target_ref: the model that answered is {}, not {}",
                      json::quote(answered->model), json::quote_briefly(outcome.target_ref)));
    }
    const std::string content = to_json(outcome);
    const std::string whole = outcome.replay_id + content;
    switch (outcomes_.claim(key, whole)) {
      case Outcomes::Added::kConflict:
        return refused(409, "IDEMPOTENCY_CONFLICT",
                       "Idempotency-Key: another outcome came with this key; give each its own");
      case Outcomes::Added::kRepeated:
        return reply(false, false, true);
      case Outcomes::Added::kNew:
        break;
    }
    const bool counts = is_about_model && !answered->decision.empty() && !answered->model.empty();
    const auto features = learning::Features::read(answered->features);
    const bool updated =
        counts && outcomes_.add(learning::scope_of(answered->recipe, answered->decision),
                                answered->model, outcome.verdict, features ? &*features : nullptr,
                                key.empty() ? "" : key + whole);
    if (updated) {
      const std::string_view verdict = learning::kVerdicts[static_cast<size_t>(outcome.verdict)];
      metrics_.outcomes.with({std::string(verdict)}).add();
    }
    return reply(updated, replay_.add_outcome(outcome.replay_id, content).value_or(false), false);
  }

  AdminReply list() const {
    json::Writer out;
    out.begin_object().key("models").begin_array();
    for (const Outcomes::Line& line : outcomes_.lines()) {
      out.begin_object().member("decision", line.decision).member("model", line.model);
      const learning::Tally& tally = line.known.tally;
      out.member("score", tally.score());
      for (size_t i = 0; i < learning::kVerdicts.size(); ++i) {
        const auto count = static_cast<int64_t>(tally.counts[i]);
        if (count > 0) out.member(learning::kVerdicts[i], count);
      }
      if (line.known.regression) out.member("with_features", line.known.regression->count);
      out.end_object();
    }
    return {200, out.end_array().end_object().take()};
  }

  AdminReply reset() const {
    const size_t count = outcomes_.reset();
    log::info("learning", "the outcomes of {} models were reset", count);
    json::Writer out;
    out.begin_object().member("reset", static_cast<int64_t>(count));
    return {200, out.end_object().take()};
  }

 private:
  static std::string reply(bool updated, bool recorded, bool is_duplicate) {
    json::Writer out;
    out.begin_object().member("success", true).member("updated", int64_t{updated});
    out.member("recorded", recorded);
    if (is_duplicate) out.member("duplicate", true);
    out.member("timestamp", access::timestamp(std::chrono::system_clock::now()));
    return out.end_object().take();
  }

  Outcomes& outcomes_;
  observe::Replay& replay_;
  observe::Metrics& metrics_;
};

}  // namespace

std::vector<http::Route> outcome_routes(learning::Outcomes& outcomes, observe::Replay& replay,
                                        observe::Metrics& metrics,
                                        const serving::CurrentState& current,
                                        http::ThreadPool& pool) {
  const OutcomeRoutes routes(outcomes, replay, metrics);
  const std::string path(kPath);
  return {
      management_route("POST", path, access::kLearn, current, pool,
                       [routes](const http::Request& request, const serving::ServingState& state) {
                         return answer_of(routes.add(request, state));
                       }),
      management_route("GET", path, "replay.read", current, pool,
                       [routes](const auto&, const auto&) { return routes.list(); }),
      management_route("DELETE", path, access::kLearn, current, pool,
                       [routes](const auto&, const auto&) { return routes.reset(); })};
}

}  // namespace signalbox::admin
