#pragma once
// The names of vocabularies from which a tokenizer.json can be made, and of the settings that are
// read with them. They are those of Hugging Face's library.

#include "tokenizer/hf/file_names.h"

namespace signalbox::tools {

using tokenizer::kAddedTokensFile;
using tokenizer::kSpecialTokensFile;
using tokenizer::kTokenizerConfigFile;

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

}  // namespace signalbox::tools
