#pragma once
// What models need while they work on a word. One to a thread, reused by every call.

#include "tokenizer/unigram.h"

namespace signalbox::tokenizer {

struct ModelScratch {
  UnigramScratch unigram;
};

}  // namespace signalbox::tokenizer
