#pragma once
// The files of a knowledge base: labels with examples, and what is fixed about them: thresholds,
// groups and metrics. Two forms are read, both as YAML or JSON. Ours is
//
//   threshold: 0.5
//   groups: {private: [code]}
//   labels:
//     code: [Review our private repository., Explain our internal SDK.]
//
// The Semantic Router's has the examples as {"labels": {"code": {"exemplars": [...]}}}, and nothing
// else.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/catalog.h"

namespace signalbox::knowledge {

/// A larger file is refused. Unit: bytes.
inline constexpr size_t kManifestBytesMax = size_t{16} << 20;
inline constexpr size_t kLabelsMax = 10'000;

struct Label {
  std::string name;
  std::vector<std::string> examples;  // not empty
};

struct Manifest {
  std::string path;           // the file, or "built-in NAME"
  std::vector<Label> labels;  // in the order of the file, without labels that have no examples
  double threshold = 0;       // 0: none
  std::map<std::string, double> label_thresholds;
  std::map<std::string, std::vector<std::string>> groups;
  std::vector<config::KnowledgeBase::Metric> metrics;
};

/// Reads a manifest from memory. Errors start with `path`: kInvalid, kTooLarge.
Result<Manifest> parse_manifest(std::string_view text, const std::string& path);

/// Finds and reads the manifest of a knowledge base: that of its source beside the configuration
/// file, in the working directory, or under models/ or kbs/ in either; a file NAME.yaml or a folder
/// NAME under models/ or kbs/; then the one of this name that is compiled in. `base` is the folder
/// of the configuration file. kNotFound lists the places.
Result<Manifest> find_manifest(const config::KnowledgeBase& config,
                               const std::filesystem::path& base);

/// Fills what `config` leaves open from its manifest.
config::KnowledgeBase complete(const config::KnowledgeBase& config, const Manifest& manifest);

/// The text of a knowledge base that is compiled in: "privacy_kb" or "mmlu_kb"; "" for others.
std::string_view built_in(std::string_view name);

}  // namespace signalbox::knowledge
