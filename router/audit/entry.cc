// The order of the members is fixed, and those of the chain come first, so that a person can read a
// file with `less`.

#include "router/audit/entry.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/sha256.h"

namespace signalbox::audit {
namespace {

constexpr size_t kValueBytesMax = 256;
constexpr size_t kDigestDigits = 64;

}  // namespace

Entry& Entry::text(std::string_view name, std::string_view value) {
  if (value.empty() || members_.size() > kLineBytesMax / 2) return *this;
  members_ += ',';
  json::append_string(members_, name);
  members_ += ':';
  json::append_string(members_, value.substr(0, kValueBytesMax));
  return *this;
}

Entry& Entry::number(std::string_view name, int64_t value) {
  members_ += ',';
  json::append_string(members_, name);
  members_ += fmt::format(":{}", value);
  return *this;
}

std::string line_of(const Entry& entry, const Link& end, std::string_view time) {
  return fmt::format(R"({{"entry":{},"time":"{}","previous":"{}","event":"{}"{}}})", end.number + 1,
                     time, end.digest, entry.event(), entry.members());
}

Link link_of(std::string_view line, uint64_t number) {
  return {number, sha256_hex(line)};
}

Result<Continued> read_line(std::string_view line) {
  if (line.size() > kLineBytesMax)
    return fail(Code::kTooLarge, "a line of {} bytes, an entry has at most {}", line.size(),
                kLineBytesMax);
  SIGNALBOX_TRY(const json::Document document,
                json::Document::parse(std::string(line), {kLineBytesMax, 4}));
  const json::Value root = document.root();
  const auto number = root.find("entry"), previous = root.find("previous");
  if (!number || !previous || !previous->is_string() || root.count("entry") > 1 ||
      root.count("previous") > 1 || previous->text().size() != kDigestDigits)
    return fail(Code::kInvalid, "expected an entry with \"entry\" and \"previous\"");
  SIGNALBOX_TRY(const int64_t value, number->integer());
  if (value < 1) return fail(Code::kInvalid, "entry: expected a number from 1, found {}", value);
  return Continued{static_cast<uint64_t>(value), std::string(previous->text())};
}

}  // namespace signalbox::audit
