#pragma once
// What models need while they work on a word. One to a thread, reused by every call.

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/unigram.h"
#include "tokenizer/models/word_cache.h"

namespace signalbox::tokenizer {

struct ModelScratch {
  WordCache words;
  BpeScratch bpe;
  UnigramScratch unigram;
};

}  // namespace signalbox::tokenizer
