// Decisions of the older forms. A category combined a class of the classifier, the models for it
// and the handling of its requests; v0.3 has a signal and a decision instead. Settings and plugins
// refused requests; v0.3 has a signal and a decision that answers at once.

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/yaml_tree.h"
#include "router/config/migrate.h"

namespace signalbox::config {

namespace tree = yaml::tree;

namespace {

constexpr std::string_view kCategoryPriority = "100";
constexpr int64_t kRefusalPriority = 1000;
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
    for (yaml::Node& refusal : refusals_)
      list_at(out_, "routing.decisions", refusal.line).items.push_back(std::move(refusal));
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
    add_signal("jailbreak", "jailbreak", guard->line, guard->find("threshold"), nullptr);
    std::vector<yaml::Node> conditions{condition("jailbreak", "jailbreak", guard->line)};
    for (const std::string& name : with_own_setting_) {
      conditions.push_back(combined("NOT", {condition("domain", name, guard->line)}, guard->line));
    }
    add_refusal("block_jailbreak", kRefusalPriority,
                combined("AND", std::move(conditions), guard->line));
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
    add_signal("jailbreak", name, line, threshold, nullptr);
    add_refusal(
        "block_" + name, kRefusalPriority,
        combined("AND",
                 {condition("domain", category_name, line), condition("jailbreak", name, line)},
                 line));
  }

  // Plugins of decisions refused requests.
  void refuse_by_plugins() {
    const std::vector<yaml::Node> decisions = list_at(out_, "routing.decisions", old_.line).items;
    const int64_t priority = highest_priority(decisions) + 1;
    std::vector<yaml::Node> changed;
    for (const yaml::Node& decision : decisions) {
      yaml::Node kept = decision;
      for (yaml::Entry& entry : kept.entries) {
        if (entry.key == "plugins") take_refusals(decision, entry.value, priority);
      }
      changed.push_back(std::move(kept));
    }
    list_at(out_, "routing.decisions", old_.line).items = std::move(changed);
  }

  static int64_t highest_priority(const std::vector<yaml::Node>& decisions) {
    int64_t highest = kRefusalPriority - 1;
    for (const yaml::Node& decision : decisions) {
      const std::string_view text = tree::scalar(decision, "priority");
      int64_t priority = 0;
      std::from_chars(text.data(), text.data() + text.size(), priority);
      highest = std::max(highest, std::min<int64_t>(priority, INT32_MAX - 1));
    }
    return highest;
  }

  void take_refusals(const yaml::Node& decision, yaml::Node& plugins, int64_t priority) {
    std::vector<yaml::Node> kept;
    for (yaml::Node& each : plugins.items) {
      const std::string_view type = tree::scalar(each, "type");
      if (is_refusing(type)) {
        refuse_in_decision(decision, type, each, priority);
      } else {
        kept.push_back(std::move(each));
      }
    }
    plugins.items = std::move(kept);
  }

  void refuse_in_decision(const yaml::Node& decision, std::string_view type, const yaml::Node& from,
                          int64_t priority) {
    const yaml::Node nothing = tree::mapping(from.line);
    const yaml::Node* given = from.find("configuration");
    const yaml::Node& configuration = given == nullptr ? nothing : *given;
    if (configuration.find("enabled") != nullptr && !tree::is_true(configuration, "enabled"))
      return;
    const std::string name = fmt::format("{}_{}", type, tree::scalar(decision, "name"));
    add_signal(type, name, from.line, configuration.find("threshold"),
               configuration.find("pii_types_allowed"));
    std::vector<yaml::Node> conditions;
    if (const yaml::Node* rules = decision.find("rules");
        rules != nullptr && !rules->entries.empty()) {
      conditions.push_back(*rules);
    }
    conditions.push_back(condition(type, name, from.line));
    add_refusal("block_" + name, priority, combined("AND", std::move(conditions), from.line));
  }

  void add_signal(std::string_view type, std::string_view name, uint32_t line,
                  const yaml::Node* threshold, const yaml::Node* allowed) {
    yaml::Node signal = tree::mapping(line);
    tree::add(signal, "name", tree::text(name, line));
    if (threshold != nullptr) tree::add(signal, "threshold", *threshold);
    if (allowed != nullptr) tree::add(signal, "pii_types_allowed", *allowed);
    list_at(out_, fmt::format("routing.signals.{}", type), line).items.push_back(std::move(signal));
  }

  void add_refusal(std::string_view name, int64_t priority, yaml::Node rules) {
    const uint32_t line = rules.line;
    yaml::Node decision = tree::mapping(line);
    tree::add(decision, "name", tree::text(name, line));
    tree::add(decision, "priority", tree::plain(fmt::format("{}", priority), line));
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
  const yaml::Node old = holder;
  Decisions(reader, old, holder).run_for_plugins();
}

}  // namespace signalbox::config
