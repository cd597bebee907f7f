// A threshold holds for the scores that it was chosen for, so a file that describes other scores is
// refused.

#include "router/models/operating_point.h"

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "weights/manifest_places.h"

namespace signalbox::models {
namespace {

struct Meaning {
  std::string_view key, value;
};
constexpr Meaning kScores[] = {{"score_type", "independent_sigmoid"},
                               {"comparison", "score >= threshold"}};
constexpr std::string_view kAggregation = "per-label maximum sigmoid over all covering windows";

Result<void> check_meaning(const json::Value& root) {
  const auto version = root.find("version");
  const double number = version ? version->number().value_or(0) : 0;
  if (number != 2 && number != 3) return fail(Code::kInvalid, "version: expected 2 or 3");
  const auto check = [](const json::Value& object, const Meaning& expected) -> Result<void> {
    const auto found = object.find(expected.key);
    if (found && found->is_string() && found->text() == expected.value) return {};
    return fail(Code::kInvalid, "{}: expected \"{}\"", expected.key, expected.value);
  };
  for (const Meaning& each : kScores) SIGNALBOX_TRY_VOID(check(root, each));
  const auto input = root.find("input_policy");
  if (!input || !input->is_object())
    return fail(Code::kInvalid, "input_policy: expected an object");
  return check(*input, {"aggregation", kAggregation});
}

Result<LabelThresholds> read(std::string text) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::move(text)));
  const json::Value root = document.root();
  if (!root.is_object()) return fail(Code::kInvalid, "expected an object");
  SIGNALBOX_TRY_VOID(check_meaning(root));
  const auto labels = root.find("labels"), thresholds = root.find("thresholds");
  if (!labels || !labels->is_array() || !thresholds || !thresholds->is_array())
    return fail(Code::kInvalid, "expected arrays of labels and of thresholds");
  LabelThresholds out;
  for (const json::Value label : labels->items()) {
    if (!label.is_string() || label.text().empty() ||
        std::ranges::find(out.labels, label.text()) != out.labels.end())
      return fail(Code::kInvalid, "labels[{}]: expected another label", out.labels.size());
    out.labels.emplace_back(label.text());
  }
  for (const json::Value each : thresholds->items()) {
    const auto least = each.number();
    if (!least || *least < 0 || *least > 1)
      return fail(Code::kInvalid, "thresholds[{}]: expected a number from 0 to 1",
                  out.least.size());
    out.least.push_back(static_cast<float>(*least));
  }
  if (out.labels.size() == out.least.size()) return out;
  return fail(Code::kInvalid, "expected a threshold for each of {} labels, found {}",
              out.labels.size(), out.least.size());
}

}  // namespace

Result<LabelThresholds> read_thresholds(const config::OperatingPoint& file,
                                        const std::string& directory) {
  const std::filesystem::path path =
      std::filesystem::path(weights::installed_directory(directory)) / file.path;
  SIGNALBOX_TRY(const MappedFile content, MappedFile::open(path));
  if (!file.sha256.empty() && sha256_hex(content.text()) != file.sha256)
    return fail(Code::kInvalid, "{}: expected the SHA-256 {}, found {}", path.string(), file.sha256,
                sha256_hex(content.text()));
  auto out = read(std::string(content.text()));
  if (!out) return fail_in(path.string(), std::move(out).error());
  return out;
}

}  // namespace signalbox::models
