#pragma once
// Working memory of the models. Each thread has one, reused by every call.

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
