#pragma once
// The files beside a tokenizer.json that change what it does: tokenizer_config.json and
// special_tokens_map.json. They have the effect that they have in Hugging Face's transformers, as
// far as it concerns ids and lengths. The library's defaults of missing keys are not applied: a
// missing key leaves the tokenizer.json as it is. Release 5 of the library makes the marks around a
// text anew for any class, release 4 only for the classes of read_marks(). Here other classes never
// lose a mark.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// A token that the files name.
struct StatedToken {
  AddedToken token;      // its id is -1 if the files state none
  bool special = false;  // see Settings::splits_special_tokens
  std::string path;      // "mask_token of tokenizer_config.json", for errors
};

/// The keys of the tokens that have a role. Lists of further tokens have other keys.
inline constexpr std::array<std::string_view, 7> kRoles = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
inline constexpr size_t kBosRole = 0;
inline constexpr size_t kEosRole = 1;

struct Settings {
  // Options of a BertNormalizer:
  std::optional<bool> lowercase;
  std::optional<bool> handle_chinese_chars;
  std::optional<std::optional<bool>> strip_accents;  // null: as `lowercase`

  std::optional<bool> add_prefix_space;  // of the pre-tokenizer ByteLevel

  // The marks around a text.
  std::optional<bool> adds_bos;
  std::optional<bool> adds_eos;
  bool replaces_marks = false;  // otherwise a mark is only added where the tokenizer.json has none

  std::vector<StatedToken> added;  // of added_tokens_decoder, by id
  std::array<std::optional<StatedToken>, kRoles.size()> roles;
  std::vector<StatedToken> listed;     // further special tokens
  bool splits_special_tokens = false;  // they are not found in a text

  std::optional<TruncationSide> side;
  int32_t tokens_max = 0;  // 0: no limit
};

/// Returns true for a class of the library that stands for any tokenizer.json. The name is without
/// the ending "Fast".
bool is_plain_class(std::string_view name);

/// Reads the texts of tokenizer_config.json and special_tokens_map.json, as far as they exist. The
/// second counts only if the first has no added_tokens_decoder. Errors: kCorrupt with file and key.
Result<Settings> parse_settings(std::optional<std::string> config, std::optional<std::string> map);

/// parse_settings() for the files of a model directory. Errors: also kIo.
Result<Settings> read_settings(const std::filesystem::path& directory);

}  // namespace signalbox::tokenizer
