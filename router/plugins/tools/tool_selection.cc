// The tools of a request are read again from its document each time: stored views would not survive
// moving the document, and reading a list of tools takes microseconds.

#include "router/plugins/tools/tool_selection.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "router/signals/prototypes.h"

namespace signalbox::plugins {
namespace {

namespace fs = std::filesystem;

constexpr size_t kEmbeddedMax = 512;        // texts that one request may embed
constexpr double kRelevanceDefault = 0.25;  // for `filter`
constexpr size_t kComparedBytesMax = 8192;  // bytes of the user's text that are compared
constexpr int64_t kBytesToken = 4;

std::string string_member(const std::optional<json::Value>& object, std::string_view key) {
  const auto found = object ? object->find(key) : std::nullopt;
  return found && found->is_string() ? std::string(found->text()) : std::string();
}

// Returns the request's tools in order. A tool that is not a function has no name. A tool that the
// server provides ({"type": "web_search"}) has its type as the category, which allow and block
// lists use.
std::vector<Tool> tools_of(const request::ChatRequest& request) {
  std::vector<Tool> out;
  const auto list = request.document.root().find("tools");
  if (!list || !list->is_array()) return out;
  for (const json::Value& item : list->items()) {
    Tool& tool = out.emplace_back();
    tool.definition = item.raw();
    const auto function = item.find("function");
    tool.name = string_member(function, "name");
    tool.description = string_member(function, "description");
    if (tool.name.empty()) tool.category = string_member(item, "type");
  }
  return out;
}

const std::string& label_of(const Tool& tool) {
  return tool.name.empty() ? tool.category : tool.name;
}

// Returns the names of the functions that the conversation has called.
std::unordered_set<std::string_view> called_in(const request::ChatRequest& request) {
  std::unordered_set<std::string_view> out;
  const auto add = [&](const std::optional<json::Value>& function) {
    const auto name = function ? function->find("name") : std::nullopt;
    if (name && name->is_string()) out.insert(name->text());
  };
  const auto messages = request.document.root().find("messages");
  if (!messages) return out;
  for (const json::Value& message : messages->items()) {
    add(message.find("function_call"));
    const auto calls = message.find("tool_calls");
    if (!calls) continue;
    for (const json::Value& call : calls->items()) add(call.find("function"));
  }
  return out;
}

bool lets_model_choose(const request::ChatRequest& request) {
  const auto choice = request.document.root().find("tool_choice");
  if (!choice || choice->is_null()) return request.tools > 0;
  return choice->is_string() && choice->text() == "auto";
}

const config::ToolsPlugin* enabled_tools(const config::Decision* decision) {
  if (decision == nullptr || !decision->tools || !decision->tools->enabled) return nullptr;
  return &*decision->tools;
}

const config::ToolSelectionPlugin* enabled_selection(const config::Decision* decision) {
  if (decision == nullptr || !decision->tool_selection || !decision->tool_selection->enabled)
    return nullptr;
  return &*decision->tool_selection;
}

}  // namespace

Result<std::shared_ptr<const ToolDatabase>> ToolShelf::database(const std::string& path) {
  const auto known = databases_.find(path);
  if (known != databases_.end()) return known->second;
  std::error_code ignored;
  fs::path place = fs::path(source_).parent_path() / path;
  if (!fs::exists(place, ignored)) place = path;
  auto read = plugins::read_database(place.string());
  if (!read && read.error().code == Code::kNotFound) {
    missing_.push_back(path);
    return databases_[path] = nullptr;
  }
  if (!read) return tl::unexpected<Error>(std::move(read).error());
  auto made = std::make_shared<ToolDatabase>();
  made->tools = *std::move(read);
  if (embedder_ != nullptr) {
    std::vector<std::string> texts;
    for (const Tool& tool : made->tools)
      texts.push_back(plugins::words_of_tool(tool.name, tool.description));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    SIGNALBOX_TRY(made->vectors, signals::embed_all(*embedder_, views));
  }
  return databases_[path] = std::move(made);
}

void ToolSelector::read_filtering(const config::ToolFiltering& filtering, Policy& policy) {
  if (!filtering.enabled) return;
  const config::ToolFiltering::Weights& w = filtering.weights;
  policy.weights = {w.embed, w.lexical, w.tag, w.name, w.category};
  policy.bounds.pool = filtering.candidate_pool_size;
  if (policy.bounds.pool > 0)
    policy.bounds.pool = std::max(policy.bounds.pool, policy.bounds.top_k);
  policy.bounds.overlap_min = filtering.min_lexical_overlap;
  policy.bounds.score_min = filtering.min_combined_score;
  policy.bounds.only_category = filtering.use_category_filter;
  policy.category_confidence = filtering.category_confidence_threshold;
  policy.allow.push_back(&filtering.allow_tools);
  policy.block.push_back(&filtering.block_tools);
}

Result<std::unique_ptr<const ToolSelector>> ToolSelector::create(const config::Config& config,
                                                                 const config::Decision* decision,
                                                                 ToolShelf& shelf) {
  const config::ToolsPlugin* lists = enabled_tools(decision);
  const config::ToolSelectionPlugin* own = enabled_selection(decision);
  const config::ToolsIntegration& global = config.tools;
  const bool fits = lists != nullptr && lists->semantic_selection;
  if (lists != nullptr && lists->mode == config::ToolsPlugin::Mode::kNone) return nullptr;
  if (own == nullptr && !fits && (lists != nullptr || !global.enabled)) return nullptr;

  Policy policy;
  std::string path = global.enabled ? global.tools_db_path : "";
  policy.bounds.top_k = global.top_k;
  policy.bounds.similarity_min = global.similarity_threshold;
  policy.fallback_to_empty = global.fallback_to_empty;
  policy.mode = fits ? Mode::kFit : Mode::kAdd;
  if (own != nullptr) {
    const bool filters = own->mode == config::ToolSelectionPlugin::Mode::kFilter;
    policy.mode = filters ? Mode::kFilter : Mode::kAdd;
    policy.bounds.top_k = filters ? 0 : own->top_k;
    const double relevance = own->relevance_threshold;
    policy.bounds.similarity_min = !filters         ? own->similarity_threshold
                                   : relevance == 0 ? kRelevanceDefault
                                                    : relevance;
    policy.preserve = own->preserve_count;
    policy.fallback_to_empty = own->fallback_to_empty;
    path = filters ? "" : own->tools_db_path.empty() ? global.tools_db_path : own->tools_db_path;
  }
  const bool own_filtering = own != nullptr && own->advanced_filtering.enabled;
  read_filtering(own_filtering ? own->advanced_filtering : global.advanced_filtering, policy);
  if (lists != nullptr && lists->mode == config::ToolsPlugin::Mode::kFiltered) {
    policy.allow.push_back(&lists->allow_tools);
    policy.block.push_back(&lists->block_tools);
  }
  std::shared_ptr<const ToolDatabase> database;
  if (!path.empty()) {
    SIGNALBOX_TRY(database, shelf.database(path));
  }
  return std::unique_ptr<const ToolSelector>(
      new ToolSelector(std::move(policy), std::move(database), shelf));
}

bool ToolSelector::is_allowed(std::string_view name) const {
  const auto holds = [&](const std::vector<std::string>* list) {
    return std::find(list->begin(), list->end(), name) != list->end();
  };
  return std::all_of(policy_.allow.begin(), policy_.allow.end(),
                     [&](const auto* list) { return list->empty() || holds(list); }) &&
         std::none_of(policy_.block.begin(), policy_.block.end(), holds);
}

bool ToolSelector::offers_database() const {
  return database_ != nullptr && !database_->tools.empty();
}

bool ToolSelector::applies_to(const request::ChatRequest& request) const {
  const bool something = (policy_.mode != Mode::kAdd && request.tools > 0) || offers_database();
  return something && !request.user_text().empty() && lets_model_choose(request);
}

Result<double> ToolSelector::similarity(signals::Inputs& inputs, std::span<const float> query,
                                        std::string text, ToolSimilarities& out) const {
  Vector known = cache_->find(text);
  if (known == nullptr) {
    if (out.texts.size() == kEmbeddedMax) return 0;
    const std::string& kept = out.texts.emplace_back(std::move(text));
    SIGNALBOX_TRY(const std::span<const float> vector, inputs.embedding(kept));
    known = std::make_shared<const std::vector<float>>(vector.begin(), vector.end());
    cache_->put(kept, known);
  }
  return signals::cosine(query, *known);
}

Result<void> ToolSelector::compare(signals::Inputs& inputs, ToolSimilarities& out) const {
  const request::ChatRequest& request = inputs.request();
  SIGNALBOX_TRY(const std::span<const float> query,
                inputs.embedding(inputs.digest("embedding", request.user_text())));
  if (policy_.mode != Mode::kAdd) {
    const std::vector<Tool> own = tools_of(request);
    out.own.assign(own.size(), 0);
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i].name.empty() || !is_allowed(own[i].name)) continue;
      std::string text = plugins::words_of_tool(own[i].name, own[i].description);
      SIGNALBOX_TRY(out.own[i], similarity(inputs, query, std::move(text), out));
    }
  }
  if (offers_database()) {
    const size_t dim = query.size();
    for (size_t i = 0; i < database_->tools.size(); ++i)
      out.database.push_back(
          signals::cosine(query, std::span(database_->vectors).subspan(i * dim, dim)));
  }
  out.ready = true;
  return {};
}

// Without a ranking, all tools are equal.
void ToolSelector::fall_back(const std::vector<Tool>& own, ToolSelection& selection) const {
  selection.report.fallback = policy_.fallback_to_empty ? "empty" : "unchanged";
  if (policy_.fallback_to_empty) return;
  for (size_t i = 0; i < own.size(); ++i) selection.keep[i] = is_allowed(label_of(own[i]));
}

// Returns the tools to rank: the request's functions, then those of the database that it lacks.
std::vector<Candidate> ToolSelector::candidates(const std::vector<Tool>& own,
                                                const ToolSimilarities& similarities,
                                                std::vector<size_t>& places) const {
  std::vector<Candidate> out;
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < own.size(); ++i) {
    names.insert(own[i].name);
    if (policy_.mode == Mode::kAdd || own[i].name.empty() || !is_allowed(own[i].name)) continue;
    out.push_back({&own[i], similarities.ready ? similarities.own[i] : 0});
    places.push_back(i);
  }
  for (size_t i = 0; offers_database() && i < database_->tools.size(); ++i) {
    const Tool& tool = database_->tools[i];
    if (names.contains(tool.name) || !is_allowed(tool.name)) continue;
    out.push_back({&tool, similarities.ready ? similarities.database[i] : 0});
  }
  return out;
}

void ToolSelector::choose_ranked(std::string_view user_text, std::string_view category,
                                 const std::vector<Tool>& own, const ToolSimilarities& similarities,
                                 ToolSelection& selection) const {
  std::vector<size_t> places;  // positions of the first candidates in the request's list
  const std::vector<Candidate> all = candidates(own, similarities, places);
  std::vector<Ranked> ranked =
      plugins::rank(user_text, category, all, policy_.weights, policy_.bounds);
  if (!ranked.empty()) selection.report.confidence = ranked.front().score;
  if (ranked.size() < policy_.preserve)
    ranked = plugins::rank(user_text, category, all, policy_.weights, {.top_k = policy_.preserve});
  for (const Ranked& each : ranked) {
    if (each.candidate < places.size()) {
      selection.keep[places[each.candidate]] = true;
    } else {
      selection.added.push_back(all[each.candidate].tool->definition);
    }
  }
}

ToolSelection ToolSelector::choose(const request::ChatRequest& request,
                                   const ToolSimilarities& similarities, std::string_view category,
                                   double confidence) const {
  const std::vector<Tool> own = tools_of(request);
  const std::unordered_set<std::string_view> called = called_in(request);
  ToolSelection out;
  out.report.strategy = strategy();
  for (const Tool& tool : own) {
    const bool stays =
        tool.name.empty() || called.contains(tool.name) || policy_.mode == Mode::kAdd;
    out.keep.push_back(stays && is_allowed(label_of(tool)));
  }
  if (policy_.weights.needs_embedder() && !similarities.ready) {
    fall_back(own, out);
  } else {
    if (confidence < policy_.category_confidence) category = {};
    choose_ranked(request.user_text().substr(0, kComparedBytesMax), category, own, similarities,
                  out);
  }
  report(own, out);
  return out;
}

std::string_view ToolSelector::strategy() const {
  switch (policy_.mode) {
    case Mode::kAdd:
      return "add";
    case Mode::kFilter:
      return "filter";
    case Mode::kFit:
      return "fit";
  }
  return "";
}

void ToolSelector::report(const std::vector<Tool>& own, ToolSelection& selection) {
  int64_t bytes = 0;
  size_t kept = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    kept += selection.keep[i] ? 1 : 0;
    bytes += selection.keep[i] ? 0 : static_cast<int64_t>(own[i].definition.size());
  }
  for (const std::string& added : selection.added) bytes -= static_cast<int64_t>(added.size());
  selection.report.offered = static_cast<uint32_t>(own.size());
  selection.report.sent = static_cast<uint32_t>(kept + selection.added.size());
  selection.report.tokens_saved = bytes / kBytesToken;
}

}  // namespace signalbox::plugins
