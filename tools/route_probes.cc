// Reads the file as YAML and walks it as JSON, because its requests are JSON already.

#include "tools/route_probes.h"

#include <algorithm>
#include <set>

#include "base/json_writer.h"
#include "base/yaml.h"
#include "base/yaml_tree.h"

namespace signalbox::tools {
namespace {

using json::Value;

// A query of a hundred bytes, repeated this often, is a text of ten megabytes.
constexpr int64_t kRepeatMax = 100'000;
constexpr size_t kRequestBytesMax = size_t{64} << 20;

Result<std::string> text_at(const Value& object, std::string_view key, const std::string& path) {
  const auto found = object.find(key);
  if (!found) return fail(Code::kInvalid, "{}.{}: missing", path, key);
  if (!found->is_string()) return fail(Code::kInvalid, "{}.{}: expected a string", path, key);
  return std::string(found->text());
}

Result<std::vector<std::string>> texts_of(const Value& list, const std::string& path) {
  std::vector<std::string> out;
  if (!list.is_array()) return fail(Code::kInvalid, "{}: expected a list", path);
  for (const Value& item : list.items()) {
    if (!item.is_string()) return fail(Code::kInvalid, "{}: expected strings", path);
    out.emplace_back(item.text());
  }
  return out;
}

// Keys are signal types, or their plurals.
std::string type_of(std::string_view key) {
  std::string type(key == "preferences" ? "preference" : key);
  if (type.ends_with('s') && type != "metadata") type.pop_back();
  return type;
}

Result<void> read_signals(const Value& from, std::string_view key, const std::string& path,
                          std::map<std::string, std::vector<std::string>>& out) {
  const auto found = from.find(key);
  if (!found) return {};
  for (const json::Member& each : found->members()) {
    SIGNALBOX_TRY(std::vector<std::string> names,
                  texts_of(each.value, fmt::format("{}.{}.{}", path, key, each.key)));
    auto& all = out[type_of(each.key)];
    all.insert(all.end(), names.begin(), names.end());
  }
  return {};
}

// Reads the expectations of a group, which hold for all its variants, or those that a variant adds.
Result<void> read_expectations(const Value& from, const std::string& path, Probe& out) {
  for (const auto& [key, slot] :
       {std::pair{"expected_decision", &out.decision},
        std::pair{"expected_algorithm", &out.algorithm}, std::pair{"expected_alias", &out.alias}}) {
    if (!from.find(key)) continue;
    SIGNALBOX_TRY(*slot, text_at(from, key, path));
  }
  if (const auto plugins = from.find("expected_plugins")) {
    SIGNALBOX_TRY(out.plugins, texts_of(*plugins, path + ".expected_plugins"));
  }
  if (const auto tags = from.find("tags")) {
    SIGNALBOX_TRY(const auto more, texts_of(*tags, path + ".tags"));
    out.tags.insert(out.tags.end(), more.begin(), more.end());
  }
  SIGNALBOX_TRY_VOID(read_signals(from, "expected_signals", path, out.signals));
  return read_signals(from, "forbidden_signals", path, out.forbidden);
}

Result<std::string> repeated(const Value& variant, const std::string& path) {
  SIGNALBOX_TRY(const std::string query, text_at(variant, "query", path));
  int64_t times = 1;
  if (const auto repeat = variant.find("repeat")) {
    SIGNALBOX_TRY(times, repeat->integer());
  }
  if (times < 1 || times > kRepeatMax ||
      query.size() * static_cast<size_t>(times) > kRequestBytesMax) {
    return fail(Code::kTooLarge, "{}.repeat: expected 1 to {} and a text within {} MiB, found {}",
                path, kRepeatMax, kRequestBytesMax >> 20, times);
  }
  std::string out;
  for (int64_t i = 0; i < times; ++i) out.append(i == 0 ? "" : " ").append(query);
  return out;
}

// The recipe and the model that requests name. The file, a group or a variant can set them; the
// narrowest setting wins.
struct Address {
  std::string recipe, model;

  Result<void> read(const Value& from, const std::string& path) {
    for (const auto& [key, slot] : {std::pair{"recipe", &recipe}, std::pair{"model", &model}}) {
      if (!from.find(key)) continue;
      SIGNALBOX_TRY(*slot, text_at(from, key, path));
    }
    return {};
  }
};

Result<std::string> request_of(const Value& variant, std::string_view model,
                               const std::string& path) {
  json::Writer out;
  out.begin_object().member("model", model).key("messages");
  if (const auto messages = variant.find("messages")) {
    out.raw(messages->raw());
  } else {
    SIGNALBOX_TRY(const std::string query, repeated(variant, path));
    out.begin_array().begin_object().member("role", "user").member("content", query);
    out.end_object().end_array();
  }
  for (const std::string_view key : {"tools", "tool_choice", "metadata"}) {
    if (const auto found = variant.find(key)) out.key(key).raw(found->raw());
  }
  return out.end_object().take();
}

// --- results ---

std::set<std::string> plugins_of(const config::Decision& decision) {
  const auto names = config::plugin_names(decision);
  return {names.begin(), names.end()};
}

std::string joined(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out.empty() ? "none" : out;
}

class Blame {
 public:
  Blame(const Value& explained, ProbeFailure& out) : explained_(explained), out_(out) {}

  void blame(const std::string& expected) {
    std::vector<std::string>& causes = out_.causes;
    for (const Value& each : explained_.find("trace")->items()) {
      if (each.find("decision")->text() != expected) continue;
      blame(*each.find("rules"), true);
      if (causes.empty()) causes.push_back("it matches, but another decision comes first");
    }
    if (causes.empty()) causes.push_back("no decision has this name");
  }

 private:
  // Collects the leaves that keep a node from matching or, under NOT, that make it match. If the
  // node's result is unknown, collects its leaves with unknown results.
  void blame(const Value& node, bool should_match) {
    const std::string_view matched = node.find("matched")->raw();
    const bool is_open = matched == "null";
    if (matched == (should_match ? "true" : "false")) return;
    if (const auto type = node.find("type")) return blame_leaf(node, type->text(), matched);
    const bool negates = node.find("operator")->text() == "NOT";
    for (const Value& child : node.find("conditions")->items()) {
      if (is_open && child.find("matched")->raw() != "null") continue;
      blame(child, negates ? !should_match : should_match);
    }
  }

  void blame_leaf(const Value& leaf, std::string_view type, std::string_view matched) {
    const std::string_view name = leaf.find("name")->text();
    const auto why = leaf.find("why");
    if (why) return blame_unknown(type, name, why->text(), "");
    out_.causes.push_back(
        fmt::format("{} {} {}", type, name, matched == "true" ? "matches" : "does not match"));
    if (type != "projection") return;
    const auto outputs = explained_.find("signals")->find(type);
    const auto found = outputs ? outputs->find(name) : std::nullopt;
    if (!found) return;
    for (const Value& input : found->find("inputs")->items()) {
      const auto missing = input.find("why");
      const auto named = input.find(input.find("name") ? "name" : "metric");
      if (missing) {
        blame_unknown(input.find("type")->text(), named ? named->text() : "", missing->text(),
                      fmt::format(" (an input of projection {})", name));
      }
    }
  }

  void blame_unknown(std::string_view type, std::string_view name, std::string_view why,
                     std::string_view role) {
    out_.causes.push_back(fmt::format("{} {} is unknown{}: {}", type, name, role, why));
    out_.lacking.insert(fmt::format("{}: {}", type, why));
  }

  const Value& explained_;
  ProbeFailure& out_;
};

class Judge {
 public:
  Judge(const Probe& probe, const routing::Evaluation& evaluation, ProbeReport& report)
      : probe_(probe), evaluation_(evaluation), report_(report) {}

  void judge() {
    const config::Decision* found = evaluation_.decision();
    check("decision", probe_.decision, probe_.decision, found != nullptr ? found->name : "none");
    if (!probe_.algorithm.empty()) {
      check("algorithm", probe_.algorithm, probe_.algorithm,
            found != nullptr ? found->algorithm.type : "none");
    }
    if (!probe_.alias.empty()) {
      const bool has = found != nullptr && !found->model_refs.empty();
      check("model", probe_.alias, probe_.alias, has ? found->model_refs.front().model : "none");
    }
    if (probe_.plugins) {
      const std::set<std::string> expected(probe_.plugins->begin(), probe_.plugins->end());
      const std::set<std::string> actual =
          found != nullptr ? plugins_of(*found) : std::set<std::string>{};
      check("plugin", joined(expected), joined(expected), joined(actual));
    }
    for (const auto& [type, names] : probe_.signals) {
      for (const std::string& name : names) check_signal(type, name, true);
    }
    for (const auto& [type, names] : probe_.forbidden) {
      for (const std::string& name : names) check_signal(type, name, false);
    }
    const bool passed = failure_.checks.empty();
    report_.variants.add(passed);
    for (const std::string& tag : std::set<std::string>(probe_.tags.begin(), probe_.tags.end()))
      report_.rates["tag"][tag].add(passed);
    if (passed) return;
    failure_.id = probe_.id;
    if (found == nullptr || found->name != probe_.decision) {
      const auto explained = json::Document::parse(evaluation_.explain_json());
      SIGNALBOX_CHECK(explained.has_value());
      Blame(explained->root(), failure_).blame(probe_.decision);
    }
    for (const std::string& lack : failure_.lacking) ++report_.lacking[lack];
    report_.failures.push_back(std::move(failure_));
  }

 private:
  void check(const std::string& kind, const std::string& row, const std::string& expected,
             const std::string& actual) {
    const bool pass = expected == actual;
    report_.rates[kind][row].add(pass);
    if (!pass)
      failure_.checks.push_back(fmt::format("{}: expected {}, found {}", kind, expected, actual));
  }

  void check_signal(const std::string& type, const std::string& name, bool expected) {
    bool actual = false;
    for (const routing::Plan::Matched& matched : evaluation_.matched()) {
      const auto& names = matched.names;
      if (matched.type == type) actual = std::find(names.begin(), names.end(), name) != names.end();
    }
    const bool is_projection = type == "projection";
    const std::string row = is_projection ? name : fmt::format("{}:{}", type, name);
    const bool pass = expected == actual;
    report_.rates[is_projection ? "projection" : "signal"][row].add(pass);
    if (!pass) {
      failure_.checks.push_back(
          fmt::format("{} {}: expected {}", type, name,
                      expected ? "a match, found none" : "no match, found one"));
    }
  }

  const Probe& probe_;
  const routing::Evaluation& evaluation_;
  ProbeReport& report_;
  ProbeFailure failure_;
};

void write_rate(json::Writer& out, const Rate& rate) {
  out.begin_object().member("passed", static_cast<int64_t>(rate.passed));
  out.member("total", static_cast<int64_t>(rate.total)).end_object();
}

void write_texts(json::Writer& out, std::string_view key, const std::vector<std::string>& texts) {
  out.key(key).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

}  // namespace

Result<std::vector<Probe>> load_probes(const std::filesystem::path& path, std::string_view model) {
  SIGNALBOX_TRY(const yaml::Node tree, yaml::load(path));
  if (tree.kind != yaml::Kind::kMapping)
    return fail(Code::kInvalid, "{}: expected a mapping with decisions", path.string());
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(yaml::to_json(tree)));
  Address whole{.recipe = {}, .model = std::string(model)};
  if (document.root().is_object())
    SIGNALBOX_TRY_VOID(whole.read(document.root(), path.string() + ": $"));
  const auto groups = document.root().find("decisions");
  if (!groups || !groups->is_array())
    return fail(Code::kInvalid, "{}: decisions: expected a list", path.string());
  std::vector<Probe> probes;
  size_t g = 0;
  for (const Value& group : groups->items()) {
    const std::string where = fmt::format("{}: decisions[{}]", path.string(), g++);
    SIGNALBOX_TRY(const std::string id, text_at(group, "id", where));
    Probe shared;
    SIGNALBOX_TRY_VOID(read_expectations(group, where, shared));
    Address address = whole;
    SIGNALBOX_TRY_VOID(address.read(group, where));
    const auto variants = group.find("variants");
    if (!variants) return fail(Code::kInvalid, "{}.variants: missing", where);
    size_t v = 0;
    for (const Value& variant : variants->items()) {
      const std::string at = fmt::format("{}.variants[{}]", where, v++);
      Probe probe = shared;
      SIGNALBOX_TRY(const std::string variant_id, text_at(variant, "id", at));
      probe.id = fmt::format("{}/{}", id, variant_id);
      SIGNALBOX_TRY_VOID(read_expectations(variant, at, probe));
      if (probe.decision.empty()) return fail(Code::kInvalid, "{}.expected_decision: missing", at);
      Address own = address;
      SIGNALBOX_TRY_VOID(own.read(variant, at));
      probe.recipe = own.recipe;
      SIGNALBOX_TRY(probe.request, request_of(variant, own.model, at));
      probes.push_back(std::move(probe));
    }
  }
  if (probes.empty()) return fail(Code::kInvalid, "{}: there are no probes", path.string());
  return probes;
}

Result<ProbeReport> run_probes(const routing::Router& router, const std::vector<Probe>& probes) {
  ProbeReport report;
  for (const Probe& probe : probes) {
    auto request = request::ChatRequest::parse(probe.request);
    if (!request) return fail_in(probe.id, std::move(request).error());
    auto begun = probe.recipe.empty() ? router.evaluate(*request)
                                      : router.evaluate_recipe(probe.recipe, *request);
    if (!begun) return fail_in(probe.id, std::move(begun).error());
    routing::Evaluation evaluation = *std::move(begun);
    auto done = evaluation.run_all();
    if (!done) return fail_in(probe.id, std::move(done).error());
    Judge(probe, evaluation, report).judge();
  }
  return report;
}

std::string probe_report_json(const ProbeReport& report) {
  json::Writer out;
  out.begin_object().key("variants");
  write_rate(out, report.variants);
  out.key("rates").begin_object();
  for (const auto& [kind, rows] : report.rates) {
    out.key(kind).begin_object();
    for (const auto& [row, rate] : rows) {
      out.key(row);
      write_rate(out, rate);
    }
    out.end_object();
  }
  out.end_object().key("lacking").begin_object();
  for (const auto& [what, failures] : report.lacking)
    out.member(what, static_cast<int64_t>(failures));
  out.end_object().key("failures").begin_array();
  for (const ProbeFailure& failure : report.failures) {
    out.begin_object().member("id", failure.id);
    write_texts(out, "checks", failure.checks);
    write_texts(out, "causes", failure.causes);
    out.end_object();
  }
  return out.end_array().end_object().take();
}

std::string probe_report_text(const ProbeReport& report) {
  std::string out =
      fmt::format("{} of {} variants pass\n", report.variants.passed, report.variants.total);
  for (const auto& [kind, rows] : report.rates) {
    Rate all;
    for (const auto& [row, rate] : rows) {
      all.passed += rate.passed;
      all.total += rate.total;
    }
    out += fmt::format("{}: {} of {}\n", kind, all.passed, all.total);
    for (const auto& [row, rate] : rows)
      out += fmt::format("  {:3}/{:<3} {}\n", rate.passed, rate.total, row);
  }
  for (const auto& [what, failures] : report.lacking)
    out += fmt::format("{} failures with an unavailable signal: {}\n", failures, what);
  for (const ProbeFailure& failure : report.failures) {
    out += fmt::format("{}\n", failure.id);
    for (const std::string& check : failure.checks) out += fmt::format("  {}\n", check);
    for (const std::string& cause : failure.causes) out += fmt::format("    {}\n", cause);
  }
  return out;
}

}  // namespace signalbox::tools
