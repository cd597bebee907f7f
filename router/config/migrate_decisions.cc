// Decisions of the older forms. A category combined a class of the classifier, the models for it
// and the handling of its requests; v0.3 has a signal and a decision instead. Settings and plugins
// refused requests; v0.3 has a signal and a decision that answers at once.

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/yaml_tree.h"
#include "router/config/migrate.h"
#include "router/config/reader.h"

namespace signalbox::config {

namespace tree = yaml::tree;

namespace {

constexpr std::string_view kCategoryPriority = "100";
constexpr int64_t kTierMax = INT32_MAX - 1;  // raise_tiers() adds one to each tier of the file
constexpr std::string_view kRefusal = "This request was refused by policy.";

// The keys of a category that are converted; others are left out.
constexpr auto kCategoryKeys = std::to_array<std::string_view>(
    {"name", "description", "mmlu_categories", "model_scores", "model", "use_reasoning",
     "reasoning_description", "reasoning_effort", "system_prompt", "system_prompt_enabled",
     "system_prompt_mode", "semantic_cache_enabled", "semantic_cache_similarity_threshold",
     "jailbreak_enabled", "jailbreak_threshold"});

yaml::Node condition(std::string_view type, std::string_view name, uint32_t line) {
  yaml::Node out = tree::mapping(line);
  tree::add(out, "type", tree::plain(type, line));
  tree::add(out, "name", tree::text(name, line));
  return out;
}

yaml::Node combined(std::string_view op, std::vector<yaml::Node> conditions, uint32_t line) {
  yaml::Node out = tree::mapping(line);
  tree::add(out, "operator", tree::plain(op, line));
  yaml::Node list = tree::sequence(line);
  list.items = std::move(conditions);
  tree::add(out, "conditions", std::move(list));
  return out;
}

yaml::Node plugin(std::string_view type, yaml::Node configuration) {
  yaml::Node out = tree::mapping(configuration.line);
  tree::add(out, "type", tree::plain(type, configuration.line));
  tree::add(out, "configuration", std::move(configuration));
  return out;
}

double score_of(const yaml::Node& model_score) {
  const std::string_view text = tree::scalar(model_score, "score");
  double score = 0;
  std::from_chars(text.data(), text.data() + text.size(), score);
  return score;
}

yaml::Node& list_at(yaml::Node& out, std::string_view path, uint32_t line) {
  yaml::Node& list = tree::at_path(out, path, line);
  if (list.kind == yaml::Kind::kMapping && list.entries.empty()) list = tree::sequence(line);
  return list;
}

bool is_refusing(std::string_view type) {
  return type == "jailbreak" || type == "pii";
}

class Decisions {
 public:
  Decisions(Reader& reader, const yaml::Node& old, yaml::Node& out)
      : reader_(reader), old_(old), out_(out) {}

  void run() {
    yaml::Node& routing = tree::at_path(out_, "routing", old_.line);
    const bool by_category = routing.find("decisions") == nullptr;
    const yaml::Node* categories = old_.find("categories");
    if (categories != nullptr && categories->kind == yaml::Kind::kSequence) {
      for (size_t i = 0; i < categories->items.size(); ++i)
        add_category(categories->items[i], i, by_category);
    }
    if (by_category) {
      refuse_everywhere();
    } else {
      refuse_by_plugins();
    }
    add_refusals();
  }

  // Converts only the plugins that refused requests.
  void run_for_plugins() {
    refuse_by_plugins();
    add_refusals();
  }

 private:
  void add_refusals() {
    if (refusals_.empty()) return;
    yaml::Node& decisions = list_at(out_, "routing.decisions", old_.line);
    raise_tiers(decisions);
    for (yaml::Node& refusal : refusals_) decisions.items.push_back(std::move(refusal));
  }

  // The refusals have the tier 0 to themselves. With a priority alone, a decision could rank above
  // them by its tier, or by its confidence.
  void raise_tiers(yaml::Node& decisions) {
    for (size_t i = 0; i < decisions.items.size(); ++i) {
      yaml::Node& decision = decisions.items[i];
      if (decision.kind != yaml::Kind::kMapping) continue;
      tree::add(decision, "tier", tree::plain("0", decision.line));
      yaml::Node& value = std::ranges::find(decision.entries, "tier", &yaml::Entry::key)->value;
      int64_t tier = 0;
      if (value.kind != yaml::Kind::kNull)
        reader_.at_key(fmt::format("routing.decisions[{}].tier", i), [&] {
          read_integer(reader_, value, fmt::format("an integer from 0 to {}", kTierMax), 0,
                       kTierMax, tier);
        });
      value = tree::plain(fmt::format("{}", tier + 1), value.line);
    }
  }

  // --- categories ---

  void add_category(const yaml::Node& category, size_t index, bool with_decision) {
    yaml::Node domain = tree::mapping(category.line);
    for (const std::string_view key : {"name", "description", "mmlu_categories"})
      tree::copy(category, key, domain);
    if (const yaml::Node* scores = category.find("model_scores"))
      tree::add(domain, "model_scores", plain_scores(*scores));
    list_at(out_, "routing.signals.domains", category.line).items.push_back(std::move(domain));
    if (with_decision) {
      add_decision(category);
      refuse_in_category(category);
    }
    for (const yaml::Entry& entry : category.entries) {
      const bool known =
          std::find(kCategoryKeys.begin(), kCategoryKeys.end(), entry.key) != kCategoryKeys.end();
      const bool in_domain = entry.key == "name" || entry.key == "description" ||
                             entry.key == "mmlu_categories" || entry.key == "model_scores";
      if (known && (with_decision || in_domain)) continue;
      left_out(reader_, entry, fmt::format("categories[{}]", index),
               known ? "the decisions of the file are used" : "it has no counterpart in v0.3");
    }
  }

  // The keys that a domain's scores have; the decision gets the others.
  static yaml::Node plain_scores(const yaml::Node& scores) {
    yaml::Node out = tree::sequence(scores.line);
    for (const yaml::Node& score : scores.items) {
      yaml::Node kept = tree::mapping(score.line);
      for (const std::string_view key : {"model", "score", "use_reasoning"})
        tree::copy(score, key, kept);
      out.items.push_back(std::move(kept));
    }
    return out;
  }

  void add_decision(const yaml::Node& category) {
    yaml::Node refs = model_refs(category);
    if (refs.items.empty()) return;  // the default model answers, as before
    const uint32_t line = category.line;
    yaml::Node decision = tree::mapping(line);
    tree::copy(category, "name", decision);
    tree::copy(category, "description", decision);
    tree::add(decision, "priority", tree::plain(kCategoryPriority, line));
    tree::add(decision, "rules",
              combined("AND", {condition("domain", tree::scalar(category, "name"), line)}, line));
    tree::add(decision, "modelRefs", std::move(refs));
    yaml::Node plugins = category_plugins(category);
    if (!plugins.items.empty()) tree::add(decision, "plugins", std::move(plugins));
    list_at(out_, "routing.decisions", line).items.push_back(std::move(decision));
  }

  // The best model first, because it answers.
  static yaml::Node model_refs(const yaml::Node& category) {
    yaml::Node refs = tree::sequence(category.line);
    std::vector<yaml::Node> scores;
    if (const yaml::Node* listed = category.find("model_scores")) scores = listed->items;
    if (const yaml::Node* model = category.find("model")) {
      yaml::Node only = tree::mapping(model->line);
      tree::add(only, "model", *model);
      scores.push_back(std::move(only));
    }
    std::stable_sort(scores.begin(), scores.end(), [](const yaml::Node& a, const yaml::Node& b) {
      return score_of(a) > score_of(b);
    });
    for (const yaml::Node& score : scores) {
      yaml::Node ref = tree::mapping(score.line);
      for (const std::string_view key :
           {"model", "lora_name", "use_reasoning", "reasoning_description", "reasoning_effort"}) {
        tree::copy(score, key, ref);
      }
      for (const std::string_view key :
           {"use_reasoning", "reasoning_description", "reasoning_effort"}) {
        tree::copy(category, key, ref);
      }
      refs.items.push_back(std::move(ref));
    }
    return refs;
  }

  yaml::Node category_plugins(const yaml::Node& category) {
    yaml::Node plugins = tree::sequence(category.line);
    if (const yaml::Node* prompt = category.find("system_prompt");
        prompt != nullptr && !prompt->scalar.empty()) {
      yaml::Node configuration = tree::mapping(prompt->line);
      tree::copy(category, "system_prompt_enabled", configuration, "enabled");
      tree::copy(category, "system_prompt_mode", configuration, "mode");
      tree::add(configuration, "system_prompt", *prompt);
      plugins.items.push_back(plugin("system_prompt", std::move(configuration)));
    }
    if (const yaml::Node* cached = keeps_answers(category)) {
      yaml::Node configuration = tree::mapping(cached->line);
      tree::add(configuration, "enabled", *cached);
      if (const yaml::Node* threshold = category.find("semantic_cache_similarity_threshold"))
        tree::put(configuration, "semantic.similarity_threshold", *threshold);
      plugins.items.push_back(plugin("response_cache", std::move(configuration)));
    }
    return plugins;
  }

  // `semantic_cache` applied to every request, except in categories with their own setting.
  const yaml::Node* keeps_answers(const yaml::Node& category) {
    if (const yaml::Node* own = category.find("semantic_cache_enabled")) return own;
    const yaml::Node* cache = old_.find("semantic_cache");
    if (cache == nullptr || !tree::is_true(*cache, "enabled")) return nullptr;
    if (!std::exchange(says_who_keeps_, true))
      reader_.notice(
          cache->line,
          "semantic_cache: in v0.3 decisions keep answers; the decision of each category "
          "does, and answers to requests of no category are not kept");
    return cache->find("enabled");
  }

  // --- refusals ---

  // `prompt_guard` applied to every request, except in categories with their own setting.
  void refuse_everywhere() {
    const yaml::Node* guard = old_.find("prompt_guard");
    if (guard == nullptr || !tree::is_true(*guard, "enabled")) return;
    add_signal("jailbreak", "jailbreak", with_threshold(guard->find("threshold"), guard->line));
    std::vector<yaml::Node> conditions{condition("jailbreak", "jailbreak", guard->line)};
    for (const std::string& name : with_own_setting_) {
      conditions.push_back(combined("NOT", {condition("domain", name, guard->line)}, guard->line));
    }
    add_refusal("block_jailbreak", combined("AND", std::move(conditions), guard->line));
  }

  void refuse_in_category(const yaml::Node& category) {
    const yaml::Node* enabled = category.find("jailbreak_enabled");
    const yaml::Node* threshold = category.find("jailbreak_threshold");
    if (enabled == nullptr && threshold == nullptr) return;
    const std::string category_name(tree::scalar(category, "name"));
    with_own_setting_.push_back(category_name);
    const yaml::Node* guard = old_.find("prompt_guard");
    const bool guarded = enabled != nullptr ? tree::is_true(category, "jailbreak_enabled")
                                            : guard != nullptr && tree::is_true(*guard, "enabled");
    if (!guarded) return;
    if (threshold == nullptr && guard != nullptr) threshold = guard->find("threshold");
    const std::string name = "jailbreak_" + category_name;
    const uint32_t line = category.line;
    add_signal("jailbreak", name, with_threshold(threshold, line));
    add_refusal("block_" + name, combined("AND",
                                          {condition("domain", category_name, line),
                                           condition("jailbreak", name, line)},
                                          line));
  }

  // Plugins of decisions refused requests.
  void refuse_by_plugins() {
    std::vector<yaml::Node> decisions = list_at(out_, "routing.decisions", old_.line).items;
    for (size_t i = 0; i < decisions.size(); ++i) {
      for (yaml::Entry& entry : decisions[i].entries) {
        if (entry.key != "plugins") continue;
        reader_.at_key(fmt::format("routing.decisions[{}].plugins", i),
                       [&] { take_refusals(decisions[i], entry.value); });
      }
    }
    list_at(out_, "routing.decisions", old_.line).items = std::move(decisions);
  }

  void take_refusals(const yaml::Node& decision, yaml::Node& plugins) {
    std::vector<yaml::Node> kept;
    for (size_t i = 0; i < plugins.items.size(); ++i) {
      yaml::Node& each = plugins.items[i];
      if (is_refusing(tree::scalar(each, "type"))) {
        reader_.at_index(i, [&] { refuse_in_decision(decision, each); });
      } else {
        kept.push_back(std::move(each));
      }
    }
    plugins.items = std::move(kept);
  }

  void refuse_in_decision(const yaml::Node& decision, const yaml::Node& from) {
    constexpr auto kKeys = std::to_array<std::string_view>({"type", "configuration"});
    for (const yaml::Entry& entry : from.entries) {
      if (std::ranges::find(kKeys, entry.key) == kKeys.end()) reader_.unknown_key(entry, kKeys);
    }
    const std::string_view type = tree::scalar(from, "type");
    const std::string name = fmt::format("{}_{}", type, tree::scalar(decision, "name"));
    const yaml::Node nothing = tree::mapping(from.line);
    const yaml::Node* configuration = given(from, "configuration");
    if (configuration == nullptr) configuration = &nothing;
    if (configuration->kind != yaml::Kind::kMapping)
      return reader_.at_key("configuration",
                            [&] { reader_.expected(*configuration, "a mapping"); });
    if (!is_enabled(*configuration)) return;
    add_signal(type, name, *configuration);
    std::vector<yaml::Node> conditions;
    if (const yaml::Node* rules = decision.find("rules");
        rules != nullptr && !rules->entries.empty()) {
      conditions.push_back(*rules);
    }
    conditions.push_back(condition(type, name, from.line));
    add_refusal("block_" + name, combined("AND", std::move(conditions), from.line));
  }

  bool is_enabled(const yaml::Node& configuration) {
    bool enabled = true;
    if (const yaml::Node* value = given(configuration, "enabled")) {
      reader_.at_key("configuration.enabled", [&] { read_boolean(reader_, *value, enabled); });
    }
    return enabled;
  }

  static yaml::Node with_threshold(const yaml::Node* threshold, uint32_t line) {
    yaml::Node out = tree::mapping(line);
    if (threshold != nullptr) tree::add(out, "threshold", *threshold);
    return out;
  }

  // The signal gets every setting but the switch, so unknown ones are reported as those of signals
  // are.
  void add_signal(std::string_view type, std::string_view name, const yaml::Node& settings) {
    constexpr auto kKeys =
        std::to_array<std::string_view>({"enabled", "threshold", "include_history"});
    const uint32_t line = settings.line;
    yaml::Node signal = tree::mapping(line);
    tree::add(signal, "name", tree::text(name, line));
    for (const yaml::Entry& entry : settings.entries) {
      if (entry.key == "enabled") continue;
      if (tree::add(signal, entry.key, entry.value))
        signal.entries.back().line = entry.line;
      else
        reader_.unknown_key(entry, kKeys);
    }
    list_at(out_, fmt::format("routing.signals.{}", type), line).items.push_back(std::move(signal));
  }

  void add_refusal(std::string_view name, yaml::Node rules) {
    const uint32_t line = rules.line;
    yaml::Node decision = tree::mapping(line);
    tree::add(decision, "name", tree::text(name, line));
    tree::add(decision, "rules", std::move(rules));
    yaml::Node configuration = tree::mapping(line);
    tree::add(configuration, "message", tree::text(kRefusal, line));
    yaml::Node plugins = tree::sequence(line);
    plugins.items.push_back(plugin("fast_response", std::move(configuration)));
    tree::add(decision, "plugins", std::move(plugins));
    refusals_.push_back(std::move(decision));
  }

  Reader& reader_;
  const yaml::Node& old_;
  yaml::Node& out_;
  bool says_who_keeps_ = false;
  std::vector<std::string> with_own_setting_;
  std::vector<yaml::Node> refusals_;
};

}  // namespace

void migrate_decisions(Reader& reader, const yaml::Node& old, yaml::Node& out) {
  Decisions(reader, old, out).run();
}

bool has_refusing_plugins(const yaml::Node& holder) {
  const yaml::Node* routing = holder.find("routing");
  const yaml::Node* decisions = routing == nullptr ? nullptr : routing->find("decisions");
  if (decisions == nullptr) return false;
  return std::ranges::any_of(decisions->items, [](const yaml::Node& decision) {
    const yaml::Node* plugins = decision.find("plugins");
    return plugins != nullptr && std::ranges::any_of(plugins->items, [](const yaml::Node& each) {
             return is_refusing(tree::scalar(each, "type"));
           });
  });
}

void migrate_refusing_plugins(Reader& reader, yaml::Node& holder) {
  Decisions(reader, holder, holder).run_for_plugins();
}

}  // namespace signalbox::config
