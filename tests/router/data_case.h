#pragma once
// Helpers for lines of data about requests: the members that describe models, a request and its
// headers, and the files that contain the lines.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/json_writer.h"
#include "router/routing/router.h"
#include "tests/router/fake_classifier.h"
#include "tests/router/fake_embedder.h"

namespace signalbox::routing {

/// Returns the JSON text of a member, or `fallback`. "DATA" at the start of a string stands for the
/// folder.
inline std::string member_text(const json::Value& row, std::string_view key,
                               std::string_view fallback, const std::filesystem::path& data) {
  const auto found = row.find(key);
  std::string out(found ? found->raw() : fallback);
  constexpr std::string_view kData = "\"DATA";
  for (size_t at = out.find(kData); at != std::string::npos; at = out.find(kData, at + 1))
    out.replace(at + 1, kData.size() - 1, data.string());
  return out;
}

/// Reads "no_embedder": true?, "classifiers": {DIRECTORY: {"labels", "tokens": true?, "fails":
/// true?, "raw": true?, "independent": true?}}?
inline models::Models models_of(const json::Value& row) {
  models::Models out;
  if (!row.find("no_embedder")) out.embedder = std::make_unique<test::FakeEmbedder>();
  const auto classifiers = row.find("classifiers");
  if (!classifiers) return out;
  for (const json::Member& each : classifiers->members()) {
    std::vector<std::string> labels;
    for (const json::Value& label : each.value.find("labels")->items())
      labels.emplace_back(label.text());
    std::vector<std::string> languages;
    if (const auto given = each.value.find("languages")) {
      for (const json::Value& language : given->items()) languages.emplace_back(language.text());
    }
    const auto kind =
        each.value.find("tokens") ? engine::HeadKind::kTokens : engine::HeadKind::kSequence;
    const bool fails = each.value.find("fails").has_value();
    const auto scores = each.value.find("raw")           ? engine::Scores::kRaw
                        : each.value.find("independent") ? engine::Scores::kSigmoid
                                                         : engine::Scores::kSoftmax;
    out.classifiers.emplace(each.key, std::make_unique<test::FakeClassifier>(
                                          labels, kind, fails, scores, std::move(languages)));
  }
  return out;
}

/// Reads "request": {...}, or "text": ..., which becomes the only user message.
inline Result<request::ChatRequest> request_of(const json::Value& row) {
  if (const auto request = row.find("request"))
    return request::ChatRequest::parse(std::string(request->raw()));
  json::Writer out;
  out.begin_object().member("model", "auto").key("messages").begin_array();
  const auto text = row.find("text");
  out.begin_object().member("role", "user").member("content", text ? text->text() : "");
  return request::ChatRequest::parse(out.end_object().end_array().end_object().take());
}

/// Reads "headers": {...}? The row must outlive the result.
inline signals::HeaderLookup headers_of(const json::Value& row) {
  return [headers = row.find("headers")](std::string_view name) -> std::optional<std::string_view> {
    const auto found = headers ? headers->find(name) : std::nullopt;
    if (!found) return std::nullopt;
    return found->text();
  };
}

/// Runs every line of the folder's *.jsonl files, of which at least one must exist.
inline void run_cases(const std::filesystem::path& folder,
                      const std::function<void(const json::Value& row)>& run) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    ++files;
    std::ifstream file(entry.path());
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (line.empty()) continue;
      const auto row = json::Document::parse(line);
      const std::string where = fmt::format("{}:{}", entry.path().filename().string(), number);
      ASSERT_TRUE(row) << where << ": " << row.error().message;
      const auto name = row->root().find("name");
      ASSERT_TRUE(name) << where;
      SCOPED_TRACE(fmt::format("{}: {}", where, name->text()));
      run(row->root());
    }
  }
  EXPECT_GT(files, 0U);
}

}  // namespace signalbox::routing
