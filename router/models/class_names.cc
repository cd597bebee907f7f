// The names are the Semantic Router's, so that its files and models fit.

#include "router/models/class_names.h"

#include <algorithm>

#include "base/json.h"
#include "base/mapped_file.h"
#include "router/models/stand_ins.h"

namespace signalbox::models {
namespace {

constexpr std::string_view kDomains[] = {
    "biology",   "business",    "chemistry", "computer science",
    "economics", "engineering", "health",    "history",
    "law",       "math",        "other",     "philosophy",
    "physics",   "psychology"};
constexpr std::string_view kFacts[] = {"needs_fact_check", "no_fact_check_needed"};
constexpr std::string_view kOpinions[] = {"satisfied", "need_clarification", "wrong_answer",
                                          "want_different"};
constexpr std::string_view kModalityClasses[] = {"AR", "DIFFUSION", "BOTH"};
constexpr std::string_view kLevels[] = {"hard", "medium", "easy"};
constexpr size_t kNamesMax = 4096;

}  // namespace

std::span<const std::string_view> classes_of_task(std::string_view task) {
  if (task == "domain") return kDomains;
  if (task == "fact_check") return kFacts;
  if (task == "user_feedback") return kOpinions;
  if (task == "modality") return kModalityClasses;
  if (task == "complexity") return kLevels;
  return {};
}

std::vector<std::string> classes_of(const config::Config& config, std::string_view task) {
  std::vector<std::string> out;
  const auto add = [&out](std::string_view name) {
    const std::string plain = plain_label(name);
    const auto is_same = [&](const std::string& each) { return plain_label(each) == plain; };
    if (std::ranges::none_of(out, is_same)) out.emplace_back(name);
  };
  for (const std::string_view name : classes_of_task(task)) add(name);
  if (task != "domain") return out;
  for (const config::Routing* routing : config::routings_of(config)) {
    for (const config::DomainSignal& signal : routing->domains) {
      add(signal.name);
      for (const std::string& name : signal.mmlu_categories) add(name);
    }
  }
  return out;
}

Result<std::vector<std::string>> read_class_names(const std::string& path, size_t count) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  auto document = json::Document::parse(std::string(file.text()));
  if (!document) return fail_in(path, std::move(document).error());
  for (const std::string_view key : {"idx_to_label", "idx_to_category", "id_to_label"}) {
    const auto names = document->root().find(key);
    if (!names) continue;
    std::vector<std::string> out;
    for (size_t i = 0; i < (count == 0 ? kNamesMax : count); ++i) {
      const auto name = names->find(fmt::format("{}", i));
      if (!name && count == 0) break;
      if (!name || !name->is_string())
        return fail(Code::kInvalid, "{}: {}.{}: expected a string", path, key, i);
      out.emplace_back(name->text());
    }
    return out;
  }
  return fail(Code::kInvalid, "{}: expected idx_to_label, idx_to_category or id_to_label", path);
}

}  // namespace signalbox::models
