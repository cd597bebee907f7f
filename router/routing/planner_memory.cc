// The plugin memory in both steps of the planner. The first step embeds the user's text and finds
// memories that are similar to it; the second adds them, once the model is known.

#include <algorithm>
#include <chrono>
#include <set>

#include "router/config/access.h"
#include "router/models/shaped_embedder.h"
#include "router/plugins/memory/memory.h"
#include "router/routing/planner.h"
#include "router/routing/selection/pii_policy.h"

namespace signalbox::routing {
namespace {

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// The model sees earlier turns of the same conversation anyway.
void remove_known(const request::ChatRequest& request, const std::vector<pii::Mask>& masks,
                  std::vector<memories::Found>& found) {
  if (found.empty()) return;
  std::set<std::string> known;
  const plugins::Placeholders placeholders = plugins::placeholders_of(masks);
  for (const request::ChatMessage& message : request.messages)
    known.insert(plugins::stored_text(message.text, placeholders));
  std::erase_if(found,
                [&](const memories::Found& each) { return known.contains(each.memory.text); });
}

}  // namespace

Result<void> Planner::add_memory_rules(bool lacks_embedder) {
  for (const config::Decision& decision : routing_.decisions) {
    const config::MemoryPlugin* const plugin = config::memory_of(config_.memory, decision);
    if (plugin == nullptr || decision.fast_response || !decision.missing_plugins.empty()) continue;
    const std::string where =
        fmt::format("{}:{}: decision \"{}\": memory", config_.source, decision.line, decision.name);
    auto rules = plugins::MemoryRules::create(config_.memory, *plugin);
    if (!rules) return fail_in(where, std::move(rules).error());
    if (lacks_embedder) {
      notices_.push_back(fmt::format(
          "{}: there is no embedding model; every search fails, and nothing is stored", where));
    }
    memory_rules_.emplace(&decision, *std::move(rules));
  }
  const bool any_stores =
      config_.memory.auto_store ||
      std::ranges::any_of(memory_rules_, [](const auto& each) { return each.second.stores(); });
  if (!memory_rules_.empty() && !any_stores) {
    notices_.push_back(
        fmt::format("{}: decisions have memories and none of them stores any: set auto_store of "
                    "the plugin memory or of global.stores.memory",
                    config_.source));
  }
  return {};
}

ModelResults Planner::begin_results() const {
  ModelResults out;
  if (stores_.memories != nullptr && !memory_rules_.empty())
    out.moment = stores_.memories->moment();
  return out;
}

const plugins::MemoryRules* Planner::memory_rules_of(const PlanTarget& target) const {
  if (target.decision == nullptr || memory_rules_.empty()) return nullptr;
  const auto found = memory_rules_.find(target.decision);
  return found == memory_rules_.end() ? nullptr : &found->second;
}

bool Planner::declines_memories(const signals::Inputs& inputs) const {
  const config::MemoryStore& store = config_.memory;
  return inputs.header(kNoMemoryHeader) == "true" ||
         is_among(store.disabled_routes, inputs.header(":path").value_or("")) ||
         is_among(store.disabled_models, inputs.request().model);
}

void Planner::find_memories(const PlanTarget& target, signals::Inputs& inputs,
                            ModelResults& results) const {
  using plugins::MemoryOutcome;
  const plugins::MemoryRules& rules = *memory_rules_of(target);
  plugins::FoundMemories& out = results.memories;
  const std::string_view user =
      config::identity_of(inputs.header(config_.authz.identity.user_id_header).value_or(""));
  if (user.empty() || declines_memories(inputs)) {
    out.outcome = user.empty() ? MemoryOutcome::kNameless : MemoryOutcome::kOff;
    return;
  }
  out.outcome = MemoryOutcome::kFailed;
  // If masking failed, the plan refuses the request.
  if (!inputs.embeds() || (mask_of(target) != nullptr && !results.masked)) return;
  const std::optional<std::string_view> text = searched_text(inputs, results);
  if (!text) return;
  out.outcome = MemoryOutcome::kNothing;
  if (text->empty() || stores_.memories == nullptr) return;
  const auto embedding = inputs.embedding(inputs.digest("embedding", *text));
  const auto now = memories::TimePoint::clock::now();
  auto turn = std::make_shared<plugins::OpenTurn>();
  turn->moment = results.moment;
  turn->mask = mask_of(target);
  if (embedding) {
    turn->vector = {models::space_of(config_.embedding_model, embedding->size()),
                    {embedding->begin(), embedding->end()}};
  }
  const request::ChatRequest& request = results.searched ? *results.searched : inputs.request();
  const size_t most = rules.searched(request.user_texts().size());
  memories::WordQuery words{*text};
  if (rules.hybrid() != nullptr) words.hybrid = *rules.hybrid();
  auto found = embedding
                   ? stores_.memories->search(user, turn->vector, most, rules.similarity_min(),
                                              rules.hybrid() == nullptr ? nullptr : &words, now)
                   : tl::unexpected<Error>(embedding.error());
  if (!found) {
    out.outcome = MemoryOutcome::kFailed;
    return;
  }
  remove_known(request, results.masked ? results.masked->masks : std::vector<pii::Mask>(), *found);
  const auto chosen = rules.select(*std::move(found), plugins::mask_name(turn->mask), now);
  out.user = user;
  for (const memories::Found& each : chosen) out.ids.push_back(each.memory.id);
  if (!chosen.empty()) {
    out.outcome = MemoryOutcome::kAdded;
    out.text = plugins::memory_prompt(chosen);
  }
  if (!rules.stores()) return;
  turn->text = *text;
  out.turn = std::move(turn);
}

// A memory may hold personal data that the policy of the request's model does not allow, and no
// model has looked for it there.
void Planner::add_memories(const PlanInputs& inputs, Plan& plan) const {
  using plugins::MemoryOutcome;
  const plugins::MemoryRules* const rules = memory_rules_of(inputs.target);
  if (rules == nullptr) return;
  plan.memory_rules = rules;
  plugins::FoundMemories& memories = plan.memories;
  memories = inputs.results.memories;
  if (plan.drops()) memories.turn = nullptr;
  // There was no time for the first step.
  if (memories.outcome == MemoryOutcome::kUnused) memories.outcome = MemoryOutcome::kFailed;
  if (is_among(config_.memory.disabled_models, plan.model->name)) {
    memories = {};
    memories.outcome = MemoryOutcome::kOff;
  }
  if (memories.outcome != MemoryOutcome::kAdded || !selection::restricts(*plan.model)) return;
  memories.outcome = MemoryOutcome::kWithheld;
  memories.ids.clear();
  memories.text.clear();
}

}  // namespace signalbox::routing
