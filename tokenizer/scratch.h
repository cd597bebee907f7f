#pragma once
// What models need while they work on a word. One to a thread, reused by every call.

namespace signalbox::tokenizer {

struct ModelScratch {};

}  // namespace signalbox::tokenizer
