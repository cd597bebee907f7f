#pragma once
// What models need while they work on a word. One to a thread, reused by every call.

#include "tokenizer/bpe.h"
#include "tokenizer/unigram.h"
#include "tokenizer/word_cache.h"

namespace signalbox::tokenizer {

struct ModelScratch {
  WordCache words;
  BpeScratch bpe;
  UnigramScratch unigram;
};

}  // namespace signalbox::tokenizer
