// Writes the files that the engine reads.

#include "tests/engine/checkpoint.h"

#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/json_writer.h"
#include "kernels/ref/ref.h"

namespace signalbox::engine {
namespace {

// For values that are normal numbers or zero in half precision.
uint16_t half_bits(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const auto half =
      static_cast<uint16_t>(x == 0 ? sign : sign | (((bits & 0x7FFFFFFFu) >> 13) - (112u << 10)));
  SIGNALBOX_CHECK(kernels::ref::half_value(half) == x);
  return half;
}

std::string encode_value(float x, const std::string& dtype) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (dtype == "F32") return {reinterpret_cast<const char*>(&bits), 4};
  const uint16_t narrow = dtype == "BF16" ? static_cast<uint16_t>(bits >> 16) : half_bits(x);
  return {reinterpret_cast<const char*>(&narrow), 2};
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  static std::atomic<int> made = 0;
  path_ = std::filesystem::temp_directory_path() /
          fmt::format("signalbox-engine-{}-{}", ::getpid(), made++);
  std::filesystem::create_directories(path_);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::filesystem::remove_all(path_);
}

float coarse(float x) {
  return std::round(x * 64.0f) / 64.0f;
}

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& tensors,
                      const std::string& dtype, const std::string& prefix) {
  json::Writer header;
  std::string data;
  header.begin_object();
  for (const auto& [name, tensor] : tensors) {
    const auto begin = static_cast<int64_t>(data.size());
    for (const float x : tensor.values) data += encode_value(x, dtype);
    header.key(prefix + name).begin_object().member("dtype", dtype).key("shape").begin_array();
    for (const int64_t extent : tensor.shape) header.integer(extent);
    header.end_array().key("data_offsets").begin_array().integer(begin);
    header.integer(static_cast<int64_t>(data.size())).end_array().end_object();
  }
  const std::string text = header.end_object().take();
  const uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length) << text << data;
}

void write_letter_tokenizer(const std::filesystem::path& path, int32_t vocabulary) {
  json::Writer out;
  out.begin_object().member("version", "1.0").key("truncation").null().key("padding").null();
  out.key("added_tokens").begin_array();
  int32_t id = 0;
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    out.begin_object().member("id", id++).member("content", token).member("special", true);
    out.member("single_word", false).member("lstrip", false).member("rstrip", false);
    out.member("normalized", false).end_object();
  }
  out.end_array();
  out.key("normalizer")
      .raw(R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)"
           R"("strip_accents":null,"lowercase":true})");
  out.key("pre_tokenizer").raw(R"({"type":"BertPreTokenizer"})");
  out.key("post_processor")
      .raw(R"({"type":"TemplateProcessing","single":[)"
           R"({"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
           R"({"SpecialToken":{"id":"[SEP]","type_id":0}}],"pair":[)"
           R"({"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
           R"({"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},)"
           R"({"SpecialToken":{"id":"[SEP]","type_id":1}}],"special_tokens":{)"
           R"("[CLS]":{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]},)"
           R"("[SEP]":{"id":"[SEP]","ids":[3],"tokens":["[SEP]"]}}})");
  out.key("decoder").null();
  out.key("model").begin_object().member("type", "WordPiece").member("unk_token", "[UNK]");
  out.member("continuing_subword_prefix", "##").member("max_input_chars_per_word", 100);
  out.key("vocab").begin_object();
  id = 0;
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) out.member(token, id++);
  for (const char* prefix : {"", "##"}) {
    for (char letter = 'a'; letter <= 'z' && id < vocabulary; ++letter)
      out.member(fmt::format("{}{}", prefix, letter), id++);
  }
  out.end_object().end_object().end_object();
  std::ofstream(path) << out.take();
}

}  // namespace signalbox::engine
