#pragma once
// The names of vocabularies from which a tokenizer.json can be made, and of the settings that are
// read with them. They are those of Hugging Face's library.

namespace signalbox::tools {

inline constexpr const char* kBertVocabulary = "vocab.txt";
inline constexpr const char* kDebertaVocabulary = "spm.model";
inline constexpr const char* kFairseqVocabulary = "sentencepiece.bpe.model";  // XLM-R, CamemBERT
inline constexpr const char* kAlbertVocabulary = "spiece.model";              // ALBERT, T5
inline constexpr const char* kDecoderVocabulary = "tokenizer.model";          // Llama, Gemma
inline constexpr const char* kBytePairVocabulary = "vocab.json";  // RoBERTa, GPT-2, Qwen
inline constexpr const char* kBytePairMerges = "merges.txt";

inline constexpr const char* kVocabularyFiles[] = {
    kBertVocabulary,    kDebertaVocabulary,  kFairseqVocabulary, kAlbertVocabulary,
    kDecoderVocabulary, kBytePairVocabulary, kBytePairMerges};

inline constexpr const char* kTokenizerConfigFile = "tokenizer_config.json";
inline constexpr const char* kSpecialTokensFile = "special_tokens_map.json";
inline constexpr const char* kAddedTokensFile = "added_tokens.json";

}  // namespace signalbox::tools
