#pragma once
// A server that has one set of clients' keys for several routers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace signalbox::shared_keys {

/// Identifies a set, without its keys.
struct Stamp {
  std::string epoch = {};   // random; a set that is made anew has another one
  uint64_t version = 0;     // grows by one with each change; 0: there is no set
  std::string digest = {};  // SHA-256 of the text, in hexadecimal digits

  bool operator==(const Stamp&) const = default;
};

struct Found {
  Stamp stamp;
  std::optional<std::string>
      text;  // as config::keys_text() writes it; nullopt: it is the known set
};

/// The largest text, which every side checks.
inline constexpr size_t kTextBytesMax = size_t{16} << 20;

/// Reads the parts of a set: epoch, version, digest and, unless the set is known, the text. Errors:
/// kCorrupt.
Result<Found> read_set(std::vector<std::string> parts, const Stamp& known);

/// Thread-safe; calls block. Each call changes the set in one step. Errors: kIo, kDeadline and
/// kUpstream if the server does not answer or refuses, kCorrupt for a set that no router wrote.
class KeyServer {
 public:
  virtual ~KeyServer() = default;
  /// For log lines: "redis 127.0.0.1:6379".
  virtual const std::string& name() const = 0;
  virtual Result<Found> read(const Stamp& known) = 0;
  /// kChanged: the server has another set than `expected`. kWait: the set was restored a moment
  /// ago, or the server is not the one of the last change, so routers that know a later set need
  /// time to restore it. write() may be repeated.
  enum class Written : uint8_t { kDone, kChanged, kWait };
  virtual Result<Written> write(const Stamp& expected, const Stamp& next,
                                const std::string& text) = 0;
  /// Puts a set back that the server has lost: if it has none, or an earlier version of this set.
  /// Returns whether it did.
  virtual Result<bool> restore(const Stamp& stamp, const std::string& text) = 0;
};

}  // namespace signalbox::shared_keys
