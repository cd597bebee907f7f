// Lengths come before the texts, so that a record that was cut off is noticed.

#include "router/shared_responses/record.h"

#include <array>

namespace signalbox::shared_responses {
namespace {

constexpr std::string_view kMagic = "SBR1";
constexpr size_t kTexts = 4, kLengthBytes = 4;
constexpr size_t kHeadBytes = kMagic.size() + kTexts * kLengthBytes;

template <class Response>
auto texts_of(Response& response) {
  return std::array{&response.owner, &response.response, &response.input, &response.messages};
}

}  // namespace

std::string write_record(const dialects::StoredResponse& response) {
  std::string out(kMagic);
  for (const std::string* text : texts_of(response)) {
    for (size_t byte = 0; byte < kLengthBytes; ++byte)
      out += static_cast<char>((text->size() >> (8 * byte)) & 0xFF);
  }
  for (const std::string* text : texts_of(response)) out += *text;
  return out;
}

Result<dialects::StoredResponse> read_record(std::string_view record) {
  if (record.size() < kHeadBytes || record.size() > kRecordBytesMax || !record.starts_with(kMagic))
    return fail(Code::kCorrupt, "it is no stored response");
  std::string_view lengths = record.substr(kMagic.size());
  record.remove_prefix(kHeadBytes);
  dialects::StoredResponse out;
  for (std::string* text : texts_of(out)) {
    size_t length = 0;
    for (size_t byte = kLengthBytes; byte-- > 0;)
      length = length << 8 | static_cast<unsigned char>(lengths[byte]);
    lengths.remove_prefix(kLengthBytes);
    if (length > record.size()) return fail(Code::kCorrupt, "the stored response is cut off");
    *text = record.substr(0, length);
    record.remove_prefix(length);
  }
  if (!record.empty()) return fail(Code::kCorrupt, "bytes follow the stored response");
  return out;
}

}  // namespace signalbox::shared_responses
