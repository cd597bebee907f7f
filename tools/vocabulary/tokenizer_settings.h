#pragma once
// The settings of a tokenizer that is not a tokenizer.json: its class, its special tokens, and the
// tokens that were added to its vocabulary.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "tools/vocabulary/hf_sections.h"
#include "weights/hf_config.h"

namespace signalbox::tools {

/// The files of a model.
struct ModelFiles {
  std::function<bool(const std::string& name)> has;
  /// Reads a file that is there. Errors name it.
  std::function<Result<std::string>(const std::string& name)> read;
};

/// A token as a file states it.
struct StatedToken {
  HfAddedToken token;
  bool has_flags = false;  // otherwise those that the token has by its class hold
};

struct TokenizerSettings {
  /// Reads tokenizer_config.json, special_tokens_map.json and added_tokens.json, as far as they are
  /// there, as Hugging Face's library does: the tokens of special_tokens_map.json replace those of
  /// tokenizer_config.json, unless this file has an added_tokens_decoder. That one replaces the
  /// other two files. Errors: kCorrupt with file and key.
  static Result<TokenizerSettings> read(const ModelFiles& files);

  /// The token that the files name for a role ("cls_token"), or `otherwise`.
  std::string token_for(std::string_view role, std::string_view otherwise) const;

  weights::HfConfig config;  // tokenizer_config.json; an empty object without one
  /// By their key: "cls_token".
  std::map<std::string, StatedToken, std::less<>> named = {};
  std::vector<StatedToken> additional = {};
  std::vector<StatedToken> added = {};  // with ids
  /// The file that lists `added`, for errors.
  std::string added_file = {};
};

/// The vocabulary that added tokens extend.
struct KnownPieces {
  std::unordered_map<std::string_view, int64_t> ids;  // views of the caller's pieces
  int64_t size = 0;                                   // the first id after the vocabulary
};

/// Returns the added tokens with their ids, by id. `known` are those that the class has by itself;
/// tokens of the settings follow, and replace known ones of the same content. Errors: kCorrupt for
/// an id that contradicts the vocabulary.
Result<std::vector<HfAddedToken>> join_added_tokens(const std::vector<HfAddedToken>& known,
                                                    const TokenizerSettings& settings,
                                                    const KnownPieces& pieces);

}  // namespace signalbox::tools
