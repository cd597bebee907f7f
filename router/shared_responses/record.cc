// Lengths come before the texts, so that a record that was cut off is noticed.

#include "router/shared_responses/record.h"

#include <array>
#include <numeric>

#include "router/stores/record_numbers.h"

namespace signalbox::shared_responses {
namespace {

using stores::read_number;
using stores::write_number;

constexpr std::string_view kMagic = "SBR1";
constexpr size_t kTexts = 4, kLengthBytes = 4, kTimeBytes = 8;
constexpr size_t kHeadBytes = kMagic.size() + kTimeBytes + kTexts * kLengthBytes;

}  // namespace

std::string write_record(const dialects::StoredResponse& response) {
  std::string out(kMagic);
  write_number(static_cast<uint64_t>(response.since), kTimeBytes, out);
  const std::array<size_t, kTexts> sizes{response.owner.size(), response.response.size(),
                                         response.input.size(), response.messages.size()};
  for (const size_t size : sizes) write_number(size, kLengthBytes, out);
  out.reserve(std::accumulate(sizes.begin(), sizes.end(), out.size()));
  out += response.owner;
  out += response.response;
  response.input.append_to(out, response.messages);
  out += response.messages;
  return out;
}

Result<dialects::StoredResponse> read_record(std::string_view record) {
  if (record.size() < kHeadBytes || record.size() > kRecordBytesMax || !record.starts_with(kMagic))
    return fail(Code::kCorrupt, "it is not a stored response");
  std::string_view head = record.substr(kMagic.size());
  record.remove_prefix(kHeadBytes);
  dialects::StoredResponse out;
  out.since = static_cast<int64_t>(read_number(head, kTimeBytes));
  if (out.since < 0) return fail(Code::kCorrupt, "the stored response has no time");
  for (std::string* text : {&out.owner, &out.response, &out.input.kept, &out.messages}) {
    const size_t length = read_number(head, kLengthBytes);
    if (length > record.size()) return fail(Code::kCorrupt, "the stored response is cut off");
    *text = record.substr(0, length);
    record.remove_prefix(length);
  }
  if (!record.empty()) return fail(Code::kCorrupt, "bytes follow the stored response");
  return out;
}

}  // namespace signalbox::shared_responses
