#pragma once
// The files beside a tokenizer.json that change what it does: tokenizer_config.json and
// special_tokens_map.json. They have the effect that they have in Hugging Face's transformers, as
// far as it concerns ids and lengths. The library's defaults of missing keys are not applied: a
// missing key leaves the tokenizer.json as it is.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// A token that the files name.
struct StatedToken {
  AddedToken token;      // its id is -1 if the files state none
  bool special = false;  // see Settings::splits_special_tokens
  std::string path;      // "tokenizer_config.json: mask_token", for errors
};

struct Settings {
  // Of a BertNormalizer.
  std::optional<bool> lowercase;
  std::optional<bool> handle_chinese_chars;
  std::optional<std::optional<bool>> strip_accents;  // null: as `lowercase`

  std::optional<bool> add_prefix_space;  // of the pre-tokenizer ByteLevel

  // The marks around a text. The library's class decides if "false" removes a mark.
  std::optional<bool> adds_bos;
  std::optional<bool> adds_eos;
  std::optional<StatedToken> bos;
  std::optional<StatedToken> eos;

  std::vector<StatedToken> added;      // of added_tokens_decoder, by id
  std::vector<StatedToken> named;      // with a role, such as mask_token
  bool splits_special_tokens = false;  // they are not found in a text

  std::optional<TruncationSide> side;
  int32_t tokens_max = 0;  // 0: no limit
};

/// Reads the texts of tokenizer_config.json and special_tokens_map.json, as far as they exist. The
/// second counts only if the first has no added_tokens_decoder. Errors: kCorrupt with file and key.
Result<Settings> parse_settings(std::optional<std::string> config, std::optional<std::string> map);

/// parse_settings() for the files of a model directory. Errors: also kIo.
Result<Settings> read_settings(const std::filesystem::path& directory);

}  // namespace signalbox::tokenizer
