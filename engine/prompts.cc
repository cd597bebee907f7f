// Cards have no common names for the two kinds; the first name found counts.

#include "engine/prompts.h"

#include <algorithm>

#include "weights/hf_config.h"

namespace signalbox::engine {
namespace {

constexpr std::string_view kQueryNames[] = {"query", "retrieval.query", "search_query"};
constexpr std::string_view kPassageNames[] = {"passage", "document", "corpus", "retrieval.passage",
                                              "search_document"};

}  // namespace

const std::string* Prompts::find(std::string_view name) const {
  const auto found = std::ranges::find(texts, name, [](const auto& each) { return each.first; });
  return found == texts.end() ? nullptr : &found->second;
}

bool Prompts::has_any() const {
  return std::ranges::any_of(texts, [](const auto& each) { return !each.second.empty(); });
}

std::string Prompts::of_query() const {
  for (const std::string_view name : kQueryNames) {
    if (const std::string* text = find(name)) return *text;
  }
  return "";
}

std::string Prompts::of_passage() const {
  for (const std::string_view name : kPassageNames) {
    if (const std::string* text = find(name)) return *text;
  }
  return "";
}

std::string Prompts::by_default() const {
  const std::string* text = find(default_name);
  return text == nullptr ? "" : *text;
}

Result<Prompts> read_prompts(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kPromptsFile;
  Prompts out;
  if (!std::filesystem::exists(path)) return out;
  SIGNALBOX_TRY(const auto file, weights::HfConfig::open(path));
  const weights::HfObject root = file.root();
  SIGNALBOX_TRY(const auto prompts, root.object("prompts"));
  if (prompts) {
    for (const json::Member& member : prompts->value().members()) {
      SIGNALBOX_TRY(std::string text, prompts->string(member.key, ""));
      out.texts.emplace_back(member.key, std::move(text));
    }
  }
  SIGNALBOX_TRY(out.default_name, root.string("default_prompt_name", ""));
  if (!out.default_name.empty() && out.find(out.default_name) == nullptr) {
    return fail(Code::kCorrupt, "{}: \"{}\" is not among the prompts",
                root.where("default_prompt_name"), out.default_name);
  }
  return out;
}

}  // namespace signalbox::engine
