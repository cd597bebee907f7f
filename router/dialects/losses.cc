// Names go to a header and to the log, so they contain no text that a client may choose freely.

#include "router/dialects/losses.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::dialects {
namespace {

constexpr size_t kNameBytesMax = 64;

std::string printable(std::string_view name) {
  std::string out(name.substr(0, kNameBytesMax));
  for (char& c : out) {
    if (!ascii::is_alnum(c) && c != '.' && c != '_' && c != '-') c = '?';
  }
  return out;
}

}  // namespace

void Losses::name(std::string_view name) {
  std::string text = printable(name);
  if (std::find(names_.begin(), names_.end(), text) != names_.end()) return;
  if (names_.size() < kNamesMax) {
    names_.push_back(std::move(text));
  } else {
    ++unnamed_;
  }
}

void Losses::hint(std::string_view name) {
  this->name(name);
}

void Losses::drop(std::string_view name, const std::optional<json::Value>& content) {
  this->name(name);
  if (dropped_.empty()) dropped_ = printable(name);
  if (content && (content->is_object() || content->is_array() || content->is_string()))
    show(content->raw());
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
