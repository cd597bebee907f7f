// Reads `added_tokens`.

#include "tokenizer/hf/sections.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace signalbox::tokenizer {
namespace {

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

// An added token and where it is stated, for errors.
struct ListedToken {
  AddedToken token;
  bool special = false;
  std::string path;
};

Result<ListedToken> read_added_token(const Field& token, const Vocabulary& vocabulary,
                                     int32_t& ids_end) {
  ListedToken listed{.token = {}, .path = token.path()};
  AddedToken& out = listed.token;
  SIGNALBOX_TRY(const Field content, token.member("content"));
  SIGNALBOX_TRY(out.content, content.string());
  if (out.content.empty()) return content.corrupt("expected a token, found nothing");
  SIGNALBOX_TRY_VOID(check_added_size(content, out.content));
  SIGNALBOX_TRY(out.id, added_id(token, out.content, vocabulary, ids_end));
  SIGNALBOX_TRY(out.normalized, flag(token, "normalized"));
  SIGNALBOX_TRY(out.lstrip, flag(token, "lstrip"));
  SIGNALBOX_TRY(out.rstrip, flag(token, "rstrip"));
  SIGNALBOX_TRY(out.single_word, flag(token, "single_word"));
  SIGNALBOX_TRY(listed.special, flag(token, "special"));
  return listed;
}

// Puts the tokens of the settings into the list. Added tokens extend the vocabulary, and those of
// added_tokens_decoder replace the flags of tokens in the list. Tokens with a role do neither,
// because a network may have no row for them.
class Extension {
 public:
  Extension(const Vocabulary& vocabulary, std::vector<ListedToken>& list, int32_t& ids_end)
      : vocabulary_(vocabulary), list_(list), ids_end_(ids_end) {
    for (size_t i = 0; i < list.size(); ++i) places_.emplace(list[i].token.content, i);
  }

  Result<void> add(const StatedToken& stated) {
    const auto found = places_.find(stated.token.content);
    const int32_t piece = vocabulary_.find(stated.token.content);
    const bool is_new = found == places_.end() && piece < 0;
    const int32_t id = is_new                   ? ids_end_
                       : found != places_.end() ? list_[found->second].token.id
                                                : piece;
    if (stated.token.id != id) {
      return fail(Code::kCorrupt, "expected the id {} for {}{}, found {} in {}", id,
                  in_quotes(stated.token.content), is_new ? ", the first after the vocabulary" : "",
                  stated.token.id, stated.path);
    }
    ids_end_ = std::max(ids_end_, id + 1);
    if (found == places_.end()) {
      append(stated, id);
    } else if (stated.has_flags) {
      list_[found->second] = {stated.token, stated.special, stated.path};
    }
    return {};
  }

  void name(const StatedToken& stated) {
    const int32_t piece = vocabulary_.find(stated.token.content);
    if (piece >= 0 && places_.count(stated.token.content) == 0) append(stated, piece);
  }

  /// Returns the id of a token, or -1 for one that the tokenizer does not have.
  int32_t find(const std::string& content) const {
    const auto found = places_.find(content);
    return found != places_.end() ? list_[found->second].token.id : vocabulary_.find(content);
  }

 private:
  void append(const StatedToken& stated, int32_t id) {
    places_.emplace(stated.token.content, list_.size());
    list_.push_back({stated.token, stated.special, stated.path});
    list_.back().token.id = id;
  }

  const Vocabulary& vocabulary_;
  std::vector<ListedToken>& list_;
  int32_t& ids_end_;
  std::unordered_map<std::string, size_t> places_;  // by content
};

// Returns the id of a token that begins or ends a text, or -1 if the settings name none. Only a
// token that must be added has to exist.
Result<int32_t> mark_id(const std::optional<StatedToken>& mark, std::optional<bool> adds,
                        const Extension& tokens) {
  const int32_t id = mark ? tokens.find(mark->token.content) : -1;
  if (!mark || id >= 0 || adds != true) return id;
  return fail(Code::kCorrupt, "expected the token {}, which is the {}",
              in_quotes(mark->token.content), mark->path);
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

Result<std::vector<ListedToken>> read_list(const Field& root, const Vocabulary& vocabulary,
                                           int32_t& ids_end) {
  std::vector<ListedToken> out;
  SIGNALBOX_TRY(const auto section, root.optional_member("added_tokens"));
  if (!section) return out;
  SIGNALBOX_TRY(const auto tokens, section->elements());
  std::unordered_map<std::string, std::string> seen;  // content to path
  for (const Field& field : tokens) {
    SIGNALBOX_TRY(ListedToken listed, read_added_token(field, vocabulary, ids_end));
    if (const auto [other, is_new] = seen.emplace(listed.token.content, field.path()); !is_new) {
      return field.corrupt("{} is {} already", in_quotes(listed.token.content), other->second);
    }
    out.push_back(std::move(listed));
  }
  return out;
}

// Adds the tokens of the settings.
Result<MarkIds> extend(const Settings& settings, const Vocabulary& vocabulary,
                       std::vector<ListedToken>& list, int32_t& ids_end) {
  Extension tokens(vocabulary, list, ids_end);
  for (const StatedToken& stated : settings.added) SIGNALBOX_TRY_VOID(tokens.add(stated));
  for (const auto& stated : settings.roles) {
    if (stated) tokens.name(*stated);
  }
  for (const StatedToken& stated : settings.listed) tokens.name(stated);
  MarkIds out;
  SIGNALBOX_TRY(out.bos, mark_id(settings.roles[kBosRole], settings.adds_bos, tokens));
  SIGNALBOX_TRY(out.eos, mark_id(settings.roles[kEosRole], settings.adds_eos, tokens));
  return out;
}

}  // namespace

Result<Added> read_added_tokens(const Field& root, const Settings& settings,
                                const Normalizers& normalizers, const Vocabulary& vocabulary,
                                int32_t& ids_end) {
  Added added;
  SIGNALBOX_TRY(std::vector<ListedToken> list, read_list(root, vocabulary, ids_end));
  SIGNALBOX_TRY(added.marks, extend(settings, vocabulary, list, ids_end));
  // If several tokens become equal, the first one counts, and special tokens come before others.
  // The reference did the same until it began to choose one at random.
  std::stable_partition(list.begin(), list.end(),
                        [](const ListedToken& listed) { return listed.special; });
  std::unordered_set<std::string> seen;  // normalised contents
  for (ListedToken& listed : list) {
    AddedToken& token = listed.token;
    if (listed.special && settings.splits_special_tokens) continue;
    if (!token.normalized) {
      added.raw.push_back(std::move(token));
      continue;
    }
    token.content = normalized(token.content, normalizers);
    if (token.content.empty()) {
      return fail(Code::kUnsupported,
                  "{}: normalised to nothing, which is not supported (the reference then splits "
                  "texts at every byte)",
                  listed.path);
    }
    if (token.content.size() > kAddedBytesMax) {
      return fail(Code::kCorrupt, "{}: normalised to {} bytes, expected at most {}", listed.path,
                  token.content.size(), kAddedBytesMax);
    }
    if (seen.insert(token.content).second) added.normalized.push_back(std::move(token));
  }
  return added;
}

}  // namespace signalbox::tokenizer
