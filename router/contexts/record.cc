// There is exactly one way to write a head. The reader therefore writes the head again from what it
// read and rejects any difference.

#include "router/contexts/record.h"

#include <charconv>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/sha256.h"
#include "router/contexts/zstd.h"

namespace signalbox::contexts {
namespace {

constexpr std::string_view kMagic = "signalbox context 1\n";
constexpr std::string_view kSum = "sum ";
constexpr size_t kSumLine = kSum.size() + 64 + 2;  // including the empty line

/// Returns the value of the next line, whose key must be `key`.
Result<std::string_view> take(std::string_view& rest, std::string_view key) {
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos || !rest.starts_with(key) || rest.size() == key.size() ||
      rest[key.size()] != ' ' || end <= key.size())
    return fail(Code::kCorrupt, "its head has no line \"{}\"", key);
  const std::string_view value = rest.substr(key.size() + 1, end - key.size() - 1);
  rest.remove_prefix(end + 1);
  return value;
}

Result<uint64_t> take_number(std::string_view& rest, std::string_view key, uint64_t most) {
  SIGNALBOX_TRY(const std::string_view text, take(rest, key));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most)
    return fail(Code::kCorrupt, "its head has no valid number \"{}\"", key);
  return value;
}

std::string lines_of(const Context& context, uint64_t packed_bytes) {
  return fmt::format("{}id {}\ntenant {}\ncreated {}\nmessages {}\nbytes {}\npacked {}\n", kMagic,
                     context.key.id, json::quote(context.key.tenant), context.created,
                     context.messages, context.bytes, packed_bytes);
}

Result<std::string> tenant_of(std::string_view quoted) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(fmt::format("[{}]", quoted)));
  for (const json::Value& value : document.root().items()) {
    if (value.is_string()) return std::string(value.text());
    break;
  }
  return fail(Code::kCorrupt, "its head has no valid \"tenant\"");
}

}  // namespace

std::string write_head(const Context& context, uint64_t packed_bytes) {
  std::string out = lines_of(context, packed_bytes);
  const std::string sum = sha256_hex(out);
  return out.append(kSum).append(sum).append("\n\n");
}

Result<Head> read_head(std::string_view front) {
  front = front.substr(0, kHeadBytesMax);
  if (!front.starts_with(kMagic))
    return fail(Code::kCorrupt, "it is not a context of this version");
  std::string_view rest = front.substr(kMagic.size());
  Head out;
  Context& context = out.context;
  SIGNALBOX_TRY(const std::string_view id, take(rest, "id"));
  context.key.id = id;
  if (!is_id(id)) return fail(Code::kCorrupt, "its head has no id");
  SIGNALBOX_TRY(const std::string_view tenant, take(rest, "tenant"));
  auto named = tenant_of(tenant);
  if (!named) return fail(Code::kCorrupt, "its head has no valid \"tenant\"");
  context.key.tenant = *std::move(named);
  SIGNALBOX_TRY(const uint64_t created, take_number(rest, "created", INT64_MAX));
  context.created = static_cast<int64_t>(created);
  SIGNALBOX_TRY(const uint64_t messages, take_number(rest, "messages", UINT32_MAX));
  context.messages = static_cast<uint32_t>(messages);
  SIGNALBOX_TRY(context.bytes, take_number(rest, "bytes", kContentBytesMax));
  SIGNALBOX_TRY(out.packed_bytes, take_number(rest, "packed", INT64_MAX));
  out.bytes = front.size() - rest.size() + kSumLine;
  if (front.substr(0, out.bytes) != write_head(context, out.packed_bytes))
    return fail(Code::kCorrupt, "its head does not match its checksum");
  return out;
}

Result<std::string> read_content(std::string_view file, size_t bytes_max) {
  SIGNALBOX_TRY(const Head head, read_head(file));
  const std::string_view packed = file.substr(head.bytes);
  if (packed.size() != head.packed_bytes)
    return fail(Code::kCorrupt, "it ends after {} of {} compressed bytes", packed.size(),
                head.packed_bytes);
  if (head.context.bytes > bytes_max)
    return fail(Code::kTooLarge, "it has {} bytes; at most {}", head.context.bytes, bytes_max);
  SIGNALBOX_TRY(std::string content, decompress(packed, head.context.bytes));
  if (id_of(content) != head.context.key.id)
    return fail(Code::kCorrupt, "its content does not match its id");
  return content;
}

}  // namespace signalbox::contexts
