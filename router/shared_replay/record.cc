// A digest of 128 bits replaces a value, so that all names are equally long and no key contains the
// name of a user.

#include "router/shared_replay/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "base/json.h"
#include "base/sha256.h"

namespace signalbox::shared_replay {
namespace {

constexpr std::string_view kIdBegins = "replay-";
constexpr size_t kIdDigits = 16, kDigestDigits = 32;
constexpr uint32_t kDepthMax = 16;

bool are_digits(std::string_view text, size_t count) {
  return text.size() == count && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_index(std::string_view name, Property property) {
  return !name.empty() && name.front() == static_cast<char>(property) &&
         are_digits(name.substr(1), kDigestDigits);
}

Result<json::Document> parse(std::string_view text) {
  auto out = json::Document::parse(std::string(text), {.bytes = kTextBytesMax, .depth = kDepthMax});
  // The message of the parser is left out, because it may quote the text.
  if (!out || !out->root().is_object() ||
      !(out->root().members().begin() != out->root().members().end()))
    return fail(Code::kCorrupt, "a record is not a JSON object with members");
  return out;
}

}  // namespace

bool is_record_id(std::string_view id) {
  return id.starts_with(kIdBegins) && are_digits(id.substr(kIdBegins.size()), kIdDigits);
}

std::string index_name(Property property, std::string_view value) {
  return static_cast<char>(property) + sha256_hex(value).substr(0, kDigestDigits);
}

std::string Deletion::scope() const {
  if (user.empty() && key.empty()) return "*";
  return user.empty() || key.empty() ? user + key : user + "+" + key;
}

std::vector<std::string> Deletion::indices() const {
  std::vector<std::string> out;
  if (!user.empty()) out.push_back(user);
  if (!key.empty()) out.push_back(key);
  return out;
}

std::string Deletion::name() const {
  return fmt::format("{} {}", moment, scope());
}

Deletion read_deletion(std::string_view name) {
  Deletion out;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data(), end, out.moment);
  if (error != std::errc() || out.moment == 0 || out.moment > kMomentMax || at == end || *at != ' ')
    return {};
  std::string_view scope(at + 1, static_cast<size_t>(end - at - 1));
  const size_t plus = scope.find('+');
  for (const std::string_view each :
       {scope.substr(0, plus), plus == scope.npos ? "" : scope.substr(plus + 1)}) {
    if (is_index(each, Property::kUser)) out.user = each;
    if (is_index(each, Property::kKey)) out.key = each;
  }
  return out.name() == name ? out : Deletion{};
}

std::string new_token() {
  thread_local std::mt19937_64 random{std::random_device()()};
  return fmt::format("{:016x}", random());
}

Result<std::string> read_object(std::string_view text) {
  SIGNALBOX_TRY(const json::Document document, parse(text));
  return std::string(document.root().raw());
}

Result<observe::Replay::Answered> read_answered(std::string_view text) {
  SIGNALBOX_TRY(const json::Document document, parse(text));
  const auto text_of = [&](std::string_view key) {
    const auto value = document.root().find(key);
    return value && value->is_string() ? std::string(value->text()) : std::string();
  };
  return observe::Replay::Answered{text_of("recipe"), text_of("decision"),
                                   text_of("selected_model"), text_of("learning_features")};
}

}  // namespace signalbox::shared_replay
