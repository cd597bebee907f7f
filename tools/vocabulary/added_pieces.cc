// The list keeps the order in which tokens were stated until all ids are known.

#include "tools/vocabulary/added_pieces.h"

#include <algorithm>
#include <unordered_map>

namespace signalbox::tools {
namespace {

using tokenizer::Settings;
using tokenizer::StatedToken;

HfAddedToken to_hf(const StatedToken& stated) {
  const tokenizer::AddedToken& token = stated.token;
  return {token.content, token.id,         token.single_word, token.lstrip,
          token.rstrip,  token.normalized, stated.special};
}

// The tokens so far, in the order in which they were stated.
class Tokens {
 public:
  void put(const HfAddedToken& token) {
    if (index_.emplace(token.content, list_.size()).second) list_.push_back(token);
  }
  void put(const StatedToken& stated) {
    const auto [at, is_new] = index_.emplace(stated.token.content, list_.size());
    if (is_new) {
      list_.push_back(to_hf(stated));
    } else if (stated.has_flags) {
      list_[at->second] = to_hf(stated);
    } else {
      list_[at->second].id = stated.token.id;
    }
  }
  std::vector<HfAddedToken>& list() { return list_; }

 private:
  std::vector<HfAddedToken> list_;
  std::unordered_map<std::string, size_t> index_;
};

// Gives tokens that extend the vocabulary their ids. Those with an id come first and must fit.
Result<void> number_new_tokens(std::vector<HfAddedToken*>& tokens, const std::string& file,
                               int64_t next) {
  std::ranges::stable_sort(tokens, {}, [](const HfAddedToken* token) {
    return token->id < 0 ? kHfIdMax + 1 : token->id;
  });
  for (HfAddedToken* const token : tokens) {
    if (token->id >= 0 && token->id != next) {
      return fail(Code::kCorrupt,
                  "{}: {}: expected the id {}, the first after the vocabulary, "
                  "found {}",
                  file, json::quote_briefly(token->content), next, token->id);
    }
    token->id = next++;
  }
  return {};
}

}  // namespace

Result<std::vector<HfAddedToken>> join_added_tokens(const std::vector<HfAddedToken>& known,
                                                    const Settings& settings,
                                                    const KnownPieces& pieces) {
  Tokens tokens;
  for (const HfAddedToken& token : known) tokens.put(token);
  for (const auto& token : settings.roles) {
    if (token) tokens.put(*token);
  }
  for (const StatedToken& token : settings.listed) tokens.put(token);
  for (const StatedToken& token : settings.added) tokens.put(token);
  std::vector<HfAddedToken*> added;
  for (HfAddedToken& token : tokens.list()) {
    const auto found = pieces.ids.find(token.content);
    if (found == pieces.ids.end()) {
      added.push_back(&token);
      continue;
    }
    if (token.id >= 0 && token.id != found->second) {
      return fail(Code::kCorrupt,
                  "{}: {}: expected the id {}, which this piece has in the "
                  "vocabulary, found {}",
                  settings.added_file, json::quote_briefly(token.content), found->second, token.id);
    }
    token.id = found->second;
  }
  SIGNALBOX_TRY_VOID(number_new_tokens(added, settings.added_file, pieces.size));
  std::ranges::sort(tokens.list(), {}, &HfAddedToken::id);
  return std::move(tokens.list());
}

}  // namespace signalbox::tools
