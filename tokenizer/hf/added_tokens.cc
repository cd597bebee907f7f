// Reads `added_tokens`.

#include "tokenizer/hf/sections.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace signalbox::tokenizer {
namespace {

constexpr size_t kAddedBytesMax = 1024;  // limits the cost per text position

// An added token either is a piece of the model with the piece's id, or extends the vocabulary at
// its end. The reference assigns ids by this rule and warns if the file differs. Here a
// contradiction is an error.
Result<int32_t> added_id(const Field& token, std::string_view content, const Vocabulary& vocabulary,
                         int32_t& ids_end) {
  SIGNALBOX_TRY(const Field id, token.member("id"));
  SIGNALBOX_TRY(const int64_t number, id.integer(0, kIdMax));
  const int32_t piece = vocabulary.find(content);
  const int64_t expected = piece >= 0 ? piece : ids_end;
  if (number != expected) {
    return id.corrupt(
        "expected {}, {}, found {}", expected,
        piece >= 0 ? "the id of this piece in model.vocab" : "the first after the vocabulary",
        number);
  }
  ids_end = std::max(ids_end, static_cast<int32_t>(number) + 1);
  return static_cast<int32_t>(number);
}

Result<AddedToken> read_added_token(const Field& token, const Vocabulary& vocabulary,
                                    int32_t& ids_end) {
  AddedToken out;
  SIGNALBOX_TRY(const Field content, token.member("content"));
  SIGNALBOX_TRY(out.content, content.string());
  if (out.content.empty()) return content.corrupt("expected a token, found nothing");
  if (out.content.size() > kAddedBytesMax) {
    return content.corrupt("a token of {} bytes, expected at most {}", out.content.size(),
                           kAddedBytesMax);
  }
  SIGNALBOX_TRY(out.id, added_id(token, out.content, vocabulary, ids_end));
  SIGNALBOX_TRY(out.normalized, flag(token, "normalized"));
  SIGNALBOX_TRY(out.lstrip, flag(token, "lstrip"));
  SIGNALBOX_TRY(out.rstrip, flag(token, "rstrip"));
  SIGNALBOX_TRY(out.single_word, flag(token, "single_word"));
  // This flag only affects decoding. When encoding, special tokens are matched like any other.
  SIGNALBOX_TRY_VOID(flag(token, "special"));
  return out;
}

// Applies the normalizers to a token's content.
std::string normalized(std::string_view content, const Normalizers& normalizers) {
  std::string text(content);
  for (const auto& normalizer : normalizers) {
    Normalized out;
    normalizer->normalize(TextView(text, 0), out);
    text = std::move(out.text);
  }
  return text;
}

}  // namespace

Result<Added> read_added_tokens(const Field& root, const Normalizers& normalizers,
                                const Vocabulary& vocabulary, int32_t& ids_end) {
  Added added;
  SIGNALBOX_TRY(const auto section, root.optional_member("added_tokens"));
  if (!section) return added;
  SIGNALBOX_TRY(const auto tokens, section->elements());
  std::unordered_map<std::string, std::string> raw_seen, normalized_seen;  // content to path
  for (const Field& field : tokens) {
    SIGNALBOX_TRY(AddedToken token, read_added_token(field, vocabulary, ids_end));
    if (const auto [other, is_new] = raw_seen.emplace(token.content, field.path()); !is_new) {
      return field.corrupt("{} is {} already", in_quotes(token.content), other->second);
    }
    if (!token.normalized) {
      added.raw.push_back(std::move(token));
      continue;
    }
    token.content = normalized(token.content, normalizers);
    if (token.content.empty()) continue;  // can never match
    if (token.content.size() > kAddedBytesMax) {
      return field.corrupt("normalised to {} bytes, expected at most {}", token.content.size(),
                           kAddedBytesMax);
    }
    if (const auto [other, is_new] = normalized_seen.emplace(token.content, field.path());
        !is_new) {
      return field.corrupt("normalised to {}, as {} is", in_quotes(token.content), other->second);
    }
    added.normalized.push_back(std::move(token));
  }
  return added;
}

}  // namespace signalbox::tokenizer
