#pragma once
// The settings of a tokenizer: the files beside its tokenizer.json, or beside the vocabulary from
// which one is made. They have the same effect on ids and lengths as in Hugging Face's
// transformers. Release 5 of the library replaces the marks around a text for every class, release
// 4 only for the classes of Settings::replaces_marks. Here other classes never lose a mark.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/hf/file_names.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// A token that the files name.
struct StatedToken {
  AddedToken token;        // its id is -1 if the files state none
  bool special = false;    // see Settings::splits_special_tokens
  bool has_flags = false;  // false: the token keeps the flags that it has elsewhere
  std::string path;        // "mask_token of tokenizer_config.json", for errors
};

/// The keys of the tokens that have a role. Lists of further tokens have other keys.
inline constexpr std::array<std::string_view, 7> kRoles = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
inline constexpr size_t kBosRole = 0;
inline constexpr size_t kEosRole = 1;

struct Settings {
  // The classes that tokenizer_config.json and config.json name, without the ending "Fast", and the
  // one that the model_type of config.json stands for; "" if none.
  std::string own_class;
  std::string model_class;
  std::string type_class;

  // Options of a BertNormalizer:
  std::optional<bool> lowercase;
  std::optional<bool> handle_chinese_chars;
  std::optional<std::optional<bool>> strip_accents;  // null: as `lowercase`
  bool keeps_normalizer = false;                     // the three options have no effect

  std::optional<bool> add_prefix_space;  // of the pre-tokenizer ByteLevel
  std::optional<bool> trim_offsets;      // of RobertaProcessing, or ByteLevel as post-processor

  // Options that only matter where a tokenizer.json is made from a vocabulary:
  std::optional<bool> keep_accents;
  std::optional<bool> remove_space;
  std::optional<bool> split_by_punct;
  std::optional<bool> legacy;
  std::optional<int32_t> extra_ids;

  // The marks around a text.
  std::optional<bool> adds_bos;
  std::optional<bool> adds_eos;
  bool replaces_marks = false;  // otherwise a mark is only added where the tokenizer.json has none
  // The name of the class if it adds bos_token and no eos_token when the two keys are missing; else
  // "".
  std::string_view begins_by_default;

  std::optional<bool> has_types;  // false: every token has the type 0, whatever the file says

  std::vector<StatedToken> added;  // of added_tokens_decoder or added_tokens.json, by id
  std::string added_file;          // "tokenizer_config.json: added_tokens_decoder", for errors
  std::array<std::optional<StatedToken>, kRoles.size()> roles;
  std::array<bool, kRoles.size()> states_role =
      {};                              // a role that is null is stated, too: it has no token
  std::vector<StatedToken> listed;     // further special tokens
  bool splits_special_tokens = false;  // special tokens are not found in a text

  std::optional<TruncationSide> side;
  int32_t tokens_max = 0;  // 0: no limit

  /// The token that the files name for a role ("cls_token"), or `otherwise`.
  std::string token_for(std::string_view role, std::string_view otherwise) const;
};

/// The texts of the files, as far as they exist.
struct SettingsFiles {
  std::optional<std::string> config = {};   // kTokenizerConfigFile
  std::optional<std::string> special = {};  // kSpecialTokensFile
  std::optional<std::string> added = {};    // kAddedTokensFile
  std::optional<std::string> model = {};    // kModelConfigFile
};

/// Reads the files as Python does: the last of several members with one name counts, and numbers
/// may be infinite. The tokens of special_tokens_map.json replace those of tokenizer_config.json;
/// its added_tokens_decoder replaces special_tokens_map.json and added_tokens.json. Only options
/// that are stated are set. Errors: kCorrupt with file and key, but none for config.json.
Result<Settings> parse_settings(SettingsFiles files);

/// parse_settings() for the files beside a tokenizer.json, with the defaults of the class for keys
/// that are missing. Errors: also kIo.
Result<Settings> read_settings(const std::filesystem::path& directory);

/// Sets missing options to the defaults of the class, if these change the meaning of the
/// tokenizer.json.
void apply_class_defaults(Settings& settings);

}  // namespace signalbox::tokenizer
