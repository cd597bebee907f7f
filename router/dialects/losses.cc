// Names go to a header and to the log, so they contain no text that a client may choose freely.

#include "router/dialects/losses.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace signalbox::dialects {
namespace {

// The tools that providers define, without the date of a version.
constexpr auto kTools = std::to_array<std::string_view>({"apply_patch",
                                                         "bash",
                                                         "code_execution",
                                                         "code_interpreter",
                                                         "computer",
                                                         "computer_use",
                                                         "computer_use_preview",
                                                         "custom",
                                                         "file_search",
                                                         "function",
                                                         "google_search",
                                                         "image_generation",
                                                         "local_shell",
                                                         "mcp",
                                                         "mcp_toolset",
                                                         "memory",
                                                         "namespace",
                                                         "shell",
                                                         "text_editor",
                                                         "tool_search",
                                                         "tool_search_tool_bm25",
                                                         "tool_search_tool_regex",
                                                         "url_context",
                                                         "web_fetch",
                                                         "web_search",
                                                         "web_search_preview"});
// Parts that a client may include in a response.
constexpr auto kIncluded = std::to_array<std::string_view>(
    {"code_interpreter_call.outputs", "computer_call_output.output.image_url",
     "file_search_call.results", "message.input_image.image_url", "message.output_text.logprobs",
     "web_search_call.action.sources", "web_search_call.results"});
// Parts of messages.
constexpr auto kParts = std::to_array<std::string_view>(
    {"audio_url", "document", "file", "image", "image_url", "input_audio", "input_file",
     "input_image", "search_result", "tool_reference", "video_url"});
// Parameters of chat completions at common servers.
constexpr auto kParameters = std::to_array<std::string_view>({"add_generation_prompt",
                                                              "best_of",
                                                              "chat_template_kwargs",
                                                              "extra_body",
                                                              "frequency_penalty",
                                                              "guided_choice",
                                                              "guided_grammar",
                                                              "guided_json",
                                                              "guided_regex",
                                                              "ignore_eos",
                                                              "logit_bias",
                                                              "logprobs",
                                                              "min_p",
                                                              "min_tokens",
                                                              "prediction",
                                                              "presence_penalty",
                                                              "repetition_penalty",
                                                              "seed",
                                                              "skip_special_tokens",
                                                              "stop_token_ids",
                                                              "structured_outputs",
                                                              "top_logprobs",
                                                              "verbosity",
                                                              "web_search_options"});

// Removes the date from "web_search_20250305" or "web_search_preview_2025_03_11".
std::string_view without_date(std::string_view kind) {
  for (const std::string_view form : {"_0000_00_00", "_00000000"}) {
    if (kind.size() <= form.size()) continue;
    const std::string_view end = kind.substr(kind.size() - form.size());
    const bool is_date = std::ranges::equal(
        end, form, [](char c, char of) { return of == '_' ? c == '_' : ascii::is_digit(c); });
    if (is_date) return kind.substr(0, kind.size() - form.size());
  }
  return kind;
}

bool is_known(std::string_view kind) {
  const auto in = [&](const auto& list) { return std::ranges::find(list, kind) != list.end(); };
  return in(kTools) || in(kIncluded) || in(kParts) || in(kParameters);
}

}  // namespace

void Losses::name(std::string_view name) {
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) return;
  if (names_.size() < kNamesMax) {
    names_.emplace_back(name);
  } else {
    ++unnamed_;
  }
}

void Losses::hint(std::string_view name) {
  this->name(name);
}

void Losses::drop(std::string_view name, const std::optional<json::Value>& content) {
  this->name(name);
  if (dropped_.empty()) dropped_ = name;
  if (content && (content->is_object() || content->is_array() || content->is_string()))
    show(content->raw());
}

void Losses::drop_kind(std::string_view list, std::string_view kind,
                       const std::optional<json::Value>& content) {
  drop(is_known(without_date(kind)) ? fmt::format("{}.{}", list, kind) : std::string(list),
       content);
}

void Losses::drop_parameter(std::string_view name) {
  drop(is_known(name) ? name : "other parameters");
}

void Losses::show(std::string_view json) {
  contents_.append(contents_.empty() ? "" : ",").append(json);
}

void Losses::refuse(Error why) {
  if (!refusal_) refusal_ = std::move(why);
}

std::string Losses::names() const {
  std::string out;
  for (const std::string& name : names_) out.append(out.empty() ? "" : ", ").append(name);
  if (unnamed_ > 0) out += fmt::format(", and {} more", unnamed_);
  return out;
}

std::optional<Error> Losses::refusal(bool strict) const {
  if (refusal_) return refusal_;
  if (!strict || dropped_.empty()) return std::nullopt;
  return Error{Code::kInvalid,
               fmt::format("{}: the API of the model's server does not take it as it is, and "
                           "global.api.untranslatable is refuse",
                           dropped_)};
}

std::string Losses::contents() const {
  return contents_.empty() ? std::string() : fmt::format("[{}]", contents_);
}

void Losses::add(const Losses& other) {
  for (const std::string& name : other.names_) this->name(name);
  unnamed_ += other.unnamed_;
  if (dropped_.empty()) dropped_ = other.dropped_;
  if (!refusal_) refusal_ = other.refusal_;
}

}  // namespace signalbox::dialects
