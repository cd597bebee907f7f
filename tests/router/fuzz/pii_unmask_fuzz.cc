// A stream must give the same output wherever it is split, and its text must be that of the whole
// reply.

#include <cstdint>

#include "router/replies/pii_unmask.h"

namespace {

using namespace signalbox;
using namespace signalbox::replies;

std::string streamed(std::string_view bytes, size_t piece, const ReplyMasks& masks) {
  StreamUnmasker unmasker(masks);
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += piece)
    SIGNALBOX_CHECK(unmasker.push(bytes.substr(at, piece), out));
  unmasker.finish(out);
  return out;
}

std::string unmasked_in_pieces(std::string_view text, size_t piece, const pii::MaskTable& masks) {
  pii::Unmasker unmasker(masks);
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) unmasker.push(text.substr(at, piece), out);
  unmasker.finish(out);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ReplyMasks kMasks({{"[A_1]", "one"}, {"[A_10]", "\"ten\"\n"}, {"[B_1]", "[A_1]"}});
  if (size == 0) return 0;
  const size_t piece = 1 + data[0] % 16;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  SIGNALBOX_CHECK(streamed(bytes, piece, kMasks) == streamed(bytes, size, kMasks));
  SIGNALBOX_CHECK(unmasked_in_pieces(bytes, piece, kMasks.in_text) ==
                  unmasked(bytes, kMasks.in_text));
  const std::string reply = unmask_reply(std::string(bytes), kMasks);
  const bool was_json = json::Document::parse(std::string(bytes)).has_value();
  SIGNALBOX_CHECK(!was_json || json::Document::parse(reply));
  return 0;
}
