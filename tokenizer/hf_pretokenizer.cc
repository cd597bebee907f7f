// `pre_tokenizer`.

#include "tokenizer/hf_sections.h"

#include "tokenizer/bert_splitter.h"

namespace signalbox::tokenizer {

Result<Pretokenizer> read_pretokenizer(const Field& root) {
  SIGNALBOX_TRY(const Field pretokenizer, root.member("pre_tokenizer"));
  if (pretokenizer.value().is_null()) return not_built(pretokenizer, "BertPreTokenizer");
  SIGNALBOX_TRY(const Field type, type_of(pretokenizer));
  if (type.value().text() != "BertPreTokenizer") return not_built(type, "BertPreTokenizer");
  Pretokenizer out;
  out.steps.push_back({std::make_unique<BertSplitter>(), nullptr});
  return out;
}

}  // namespace signalbox::tokenizer
