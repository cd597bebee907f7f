// Reads a set of keys as a server returns it.

#include "router/shared_keys/key_server.h"

#include <charconv>
#include <utility>

#include "base/sha256.h"

namespace signalbox::shared_keys {
namespace {

// Redis counts in doubles, which have each number up to this one.
constexpr uint64_t kVersionMax = uint64_t{1} << 53;

}  // namespace

Result<Found> read_set(std::vector<std::string> parts, const Stamp& known) {
  const auto wrong = [](std::string_view what) {
    return fail(Code::kCorrupt, "the set of keys there was not written by a router: {}", what);
  };
  if (parts.size() != 3 && parts.size() != 4) return wrong("its reply has another form");
  Found out;
  out.stamp.epoch = std::move(parts[0]);
  out.stamp.digest = std::move(parts[2]);
  const std::string& version = parts[1];
  std::from_chars(version.data(), version.data() + version.size(), out.stamp.version);
  // Servers compare versions as texts.
  if (std::to_string(out.stamp.version) != version || out.stamp.version > kVersionMax)
    return wrong("its version is not a number");
  if (out.stamp.epoch.empty() != (out.stamp.version == 0))
    return wrong("its epoch does not fit its version");
  if (out.stamp.version == 0) return Found();
  if (parts.size() == 3) {
    if (out.stamp != known) return wrong("it has no text");
    return out;
  }
  if (parts[3].size() > kTextBytesMax) return wrong("it is too large");
  if (sha256_hex(parts[3]) != out.stamp.digest) return wrong("its digest is another");
  out.text = std::move(parts[3]);
  return out;
}

}  // namespace signalbox::shared_keys
