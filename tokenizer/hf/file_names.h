#pragma once
// The names of the files that state the settings of a tokenizer in Hugging Face's library.

namespace signalbox::tokenizer {

inline constexpr const char* kTokenizerConfigFile = "tokenizer_config.json";
inline constexpr const char* kSpecialTokensFile = "special_tokens_map.json";
inline constexpr const char* kAddedTokensFile = "added_tokens.json";
inline constexpr const char* kModelConfigFile = "config.json";

}  // namespace signalbox::tokenizer
