// A manifest is read as YAML, which JSON is a part of, and walked as a tree, so that errors name
// the line.

#include "router/knowledge/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/file.h"
#include "base/yaml.h"

namespace signalbox::knowledge {
namespace {

namespace fs = std::filesystem;

/// Reads the nodes of one file; the first error stays.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<void> status() const {
    if (error_.empty()) return {};
    return fail(Code::kInvalid, "{}", error_);
  }

  std::string text(const yaml::Node& node, std::string_view what) {
    if (node.kind == yaml::Kind::kScalar && !node.scalar.empty()) return node.scalar;
    expect(node, what, "a string");
    return {};
  }

  double number(const yaml::Node& node, std::string_view what) {
    double out = 0;
    const std::string& text = node.scalar;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    const bool is_number = node.kind == yaml::Kind::kScalar && code == std::errc() &&
                           end == text.data() + text.size() && out >= -1 && out <= 1;
    if (!is_number) expect(node, what, "a number from -1 to 1");
    return out;
  }

  std::vector<std::string> texts(const yaml::Node& node, std::string_view what) {
    std::vector<std::string> out;
    if (node.kind != yaml::Kind::kSequence) expect(node, what, "a list of strings");
    for (const yaml::Node& item : node.items) out.push_back(text(item, what));
    return out;
  }

  const std::vector<yaml::Entry>& entries(const yaml::Node& node, std::string_view what) {
    if (node.kind != yaml::Kind::kMapping) expect(node, what, "a mapping");
    return node.entries;
  }

  void expect(const yaml::Node& node, std::string_view what, std::string_view expected) {
    if (error_.empty())
      error_ = fmt::format("{}:{}: {}: expected {}", path_, node.line, what, expected);
  }

 private:
  const std::string& path_;
  std::string error_;
};

void read_labels(Reader& reader, const yaml::Node& node, Manifest& out) {
  for (const yaml::Entry& entry : reader.entries(node, "labels")) {
    const std::string where = fmt::format("labels.{}", entry.key);
    const yaml::Node* examples = &entry.value;
    if (examples->kind == yaml::Kind::kMapping) {
      examples = entry.value.find("exemplars");
      const yaml::Node* const slip = entry.value.find("examples");
      if (slip != nullptr) reader.expect(*slip, where + ".examples", "the key \"exemplars\"");
    }
    if (examples == nullptr || examples->kind == yaml::Kind::kNull) continue;
    Label label{entry.key, reader.texts(*examples, where)};
    if (!label.examples.empty()) out.labels.push_back(std::move(label));
  }
}

void read_metrics(Reader& reader, const yaml::Node& node, Manifest& out) {
  if (node.kind != yaml::Kind::kSequence) return reader.expect(node, "metrics", "a list");
  for (const yaml::Node& item : node.items) {
    config::KnowledgeBase::Metric metric;
    for (const yaml::Entry& entry : reader.entries(item, "metrics")) {
      const std::array<std::pair<std::string_view, std::string*>, 4> members{
          {{"name", &metric.name},
           {"type", &metric.type},
           {"positive_group", &metric.positive_group},
           {"negative_group", &metric.negative_group}}};
      for (const auto& [key, member] : members) {
        if (entry.key == key) *member = reader.text(entry.value, "metrics");
      }
    }
    out.metrics.push_back(std::move(metric));
  }
}

Result<void> check_groups(const Manifest& manifest) {
  for (const auto& [group, members] : manifest.groups) {
    for (const std::string& member : members) {
      const bool is_known = std::any_of(manifest.labels.begin(), manifest.labels.end(),
                                        [&](const Label& label) { return label.name == member; });
      if (!is_known)
        return fail(Code::kInvalid, "{}: groups.{}: no label \"{}\" with examples", manifest.path,
                    group, member);
    }
  }
  for (const auto& metric : manifest.metrics) {
    for (const std::string& group : {metric.positive_group, metric.negative_group}) {
      if (!manifest.groups.contains(group))
        return fail(Code::kInvalid, "{}: metrics: metric \"{}\": no group \"{}\"", manifest.path,
                    metric.name, group);
    }
  }
  return {};
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The places where the manifest may be, best first.
std::vector<fs::path> places(const config::KnowledgeBase& config, const fs::path& base) {
  std::vector<fs::path> out;
  const std::string file = config.source.manifest.empty() ? "labels.json" : config.source.manifest;
  const auto add = [&](const fs::path& folder) {
    for (const fs::path& root : {base, fs::path()}) {
      const fs::path path = root / folder;
      if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(path);
    }
  };
  for (const char* models : {"", "models", "kbs"}) {
    if (config.source.path.empty()) continue;
    add(fs::path(models) / config.source.path / file);
    add(fs::path(models) / config.source.path);
  }
  for (const fs::path& root : {base, fs::path()}) {
    for (const char* models : {"kbs", "models"}) {
      out.push_back(root / models / (config.name + ".yaml"));
      out.push_back(root / models / config.name / file);
    }
  }
  return out;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text, const std::string& path) {
  SIGNALBOX_TRY(const yaml::Node root,
                yaml::parse(text, path, {.bytes = kManifestBytesMax, .aliases = false}));
  Reader reader(path);
  Manifest out;
  out.path = path;
  for (const yaml::Entry& entry : reader.entries(root, "the knowledge base")) {
    const yaml::Node& value = entry.value;
    if (entry.key == "labels") read_labels(reader, value, out);
    if (entry.key == "threshold") out.threshold = reader.number(value, entry.key);
    if (entry.key == "metrics") read_metrics(reader, value, out);
    if (entry.key == "label_thresholds") {
      for (const yaml::Entry& each : reader.entries(value, entry.key))
        out.label_thresholds[each.key] = reader.number(each.value, entry.key);
    }
    if (entry.key == "groups") {
      for (const yaml::Entry& each : reader.entries(value, entry.key))
        out.groups[each.key] = reader.texts(each.value, entry.key);
    }
  }
  SIGNALBOX_TRY_VOID(reader.status());
  if (out.labels.empty())
    return fail(Code::kInvalid, "{}: labels: expected at least one with examples", path);
  if (out.labels.size() > kLabelsMax)
    return fail(Code::kTooLarge, "{}: labels: at most {}, found {}", path, kLabelsMax,
                out.labels.size());
  SIGNALBOX_TRY_VOID(check_groups(out));
  return out;
}

Result<Manifest> find_manifest(const config::KnowledgeBase& config, const fs::path& base) {
  std::string searched;
  for (const fs::path& path : places(config, base)) {
    searched += fmt::format("{}{}", searched.empty() ? "" : ", ", path.string());
    if (!is_file(path)) continue;
    SIGNALBOX_TRY(const std::string text, read_file(path, kManifestBytesMax));
    return parse_manifest(text, path.string());
  }
  const std::string_view text = built_in(config.name);
  if (text.empty())
    return fail(Code::kNotFound, "knowledge base \"{}\": no manifest (searched: {})", config.name,
                searched);
  return parse_manifest(text, fmt::format("built-in {}", config.name));
}

config::KnowledgeBase complete(const config::KnowledgeBase& config, const Manifest& manifest) {
  config::KnowledgeBase out = config;
  if (out.threshold == 0) out.threshold = manifest.threshold;
  if (out.label_thresholds.empty()) out.label_thresholds = manifest.label_thresholds;
  if (out.groups.empty()) out.groups = manifest.groups;
  if (out.metrics.empty()) out.metrics = manifest.metrics;
  return out;
}

}  // namespace signalbox::knowledge
