// Reads rows one by one and assigns each to a part by a hash of its text.

#include "tools/fit/examples.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <tuple>

#include "tools/jsonl.h"

namespace signalbox::tools {
namespace {

constexpr size_t kRowsMax = 5'000'000;
constexpr size_t kLabelsMax = 4096;
// With this many texts, the best temperature is accurate to about a tenth.
constexpr size_t kValidationMin = 100;
constexpr int32_t kFolds = 5;

// FNV-1a with a final mix, because its low digits alone hardly depend on the last bytes.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  hash ^= hash >> 32;
  return (hash * 0x9E3779B97F4A7C15ULL) >> 32;
}

using ReadRow = std::function<Result<void>(const json::Value& row, Example& out)>;

Result<Examples> read(const std::filesystem::path& file, const ReadRow& read_row) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(Code::kNotFound, "{}: cannot be read", file.string());
  Examples out;
  size_t rows = 0;
  const auto done = read_rows(in, [&](const json::Value& row, size_t) -> Result<void> {
    Example example;
    SIGNALBOX_TRY(const std::string_view text, string_member(row, "text"));
    example.text = text;
    SIGNALBOX_TRY_VOID(read_row(row, example));
    if (++rows > kRowsMax) return fail(Code::kTooLarge, "more than {} rows", kRowsMax);
    const uint64_t part = hash_of(text) % 10;
    (part == 0   ? out.held_out
     : part == 1 ? out.validation
                 : out.train)
        .push_back(std::move(example));
    return {};
  });
  if (!done) return fail_in(file.string(), done.error());
  if (out.train.empty() || out.validation.empty() || out.held_out.empty()) {
    return fail(Code::kInvalid,
                "{}: too few rows ({}): a hash of each text chose {} for training, {} for "
                "validation and {} for the report, and each part needs one; add lines",
                file.string(), rows, out.train.size(), out.validation.size(), out.held_out.size());
  }
  return out;
}

// Sorts by label and text, so the order of rows in the file does not matter; equal texts share a
// fold.
void assign_folds(Examples& examples) {
  if (examples.validation.size() >= kValidationMin) return;
  examples.folds = kFolds;
  std::vector<Example*> all;
  for (auto* part : {&examples.train, &examples.validation}) {
    for (Example& example : *part) all.push_back(&example);
  }
  const auto key = [](const Example* example) { return std::tie(example->label, example->text); };
  std::ranges::sort(all, {}, key);
  int32_t place = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && key(all[i]) != key(all[i - 1])) ++place;
    all[i]->fold = place % kFolds;
  }
}

}  // namespace

Result<Examples> read_classified(const std::filesystem::path& file) {
  std::map<std::string, int32_t> known;  // label to its number in file order
  std::vector<std::string> names;
  auto examples = read(file, [&](const json::Value& row, Example& out) -> Result<void> {
    SIGNALBOX_TRY(std::string label, label_member(row, "label"));
    const auto [found, is_new] = known.emplace(label, static_cast<int32_t>(names.size()));
    if (is_new) names.push_back(std::move(label));
    if (names.size() > kLabelsMax) return fail(Code::kTooLarge, "more than {} labels", kLabelsMax);
    out.label = found->second;
    return {};
  });
  if (!examples) return examples;
  std::vector<int32_t> place(names.size());
  for (const auto& [name, first] : known) {
    place[first] = static_cast<int32_t>(examples->labels.size());
    examples->labels.push_back(name);
  }
  for (auto* part : {&examples->train, &examples->validation, &examples->held_out}) {
    for (Example& example : *part) example.label = place[example.label];
  }
  if (names.size() < 2)
    return fail(Code::kInvalid, "{}: only one label, \"{}\"", file.string(), names[0]);
  std::vector<bool> learnt(names.size());
  for (const Example& example : examples->train) learnt[example.label] = true;
  for (size_t i = 0; i < learnt.size(); ++i) {
    if (!learnt[i]) {
      return fail(Code::kInvalid, "{}: too few rows with the label \"{}\" to learn it",
                  file.string(), examples->labels[i]);
    }
  }
  assign_folds(*examples);
  return examples;
}

Result<Examples> read_tagged(const std::filesystem::path& file) {
  auto examples = read(file, [](const json::Value& row, Example& out) -> Result<void> {
    SIGNALBOX_TRY(out.spans, read_spans(row, out.text));
    return {};
  });
  if (!examples) return examples;
  for (const Example& example : examples->train) {
    for (const LabelledSpan& span : example.spans) examples->labels.push_back(span.type);
  }
  std::ranges::sort(examples->labels);
  const auto rest = std::unique(examples->labels.begin(), examples->labels.end());
  examples->labels.erase(rest, examples->labels.end());
  if (examples->labels.empty())
    return fail(Code::kInvalid, "{}: no spans to learn from", file.string());
  if (examples->labels.size() > kLabelsMax)
    return fail(Code::kTooLarge, "{}: more than {} types", file.string(), kLabelsMax);
  assign_folds(*examples);
  return examples;
}

}  // namespace signalbox::tools
