#pragma once
// Verifies the chain of an audit log over its files.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "router/audit/entry.h"

namespace signalbox::audit {

struct Verified {
  uint64_t first = 0;  // number of the first entry; 0: there is none
  Link last;
  size_t torn_bytes = 0;  // behind the last line break: a line whose writing was cut off
};

/// Checks lines one after another.
class ChainReader {
 public:
  /// Adds the bytes of a file, which need not end at a line; `name` is for messages. Errors: the
  /// first broken line, "audit.jsonl:7: ...".
  Result<void> add(std::string_view bytes, std::string_view name);
  /// Begins the next file. Errors: the file before ends within a line.
  Result<void> next_file();
  Verified result() const;

 private:
  Result<void> check(std::string_view line, std::string_view name);

  Link end_;
  uint64_t first_ = 0;
  std::string rest_;  // of a line that has begun
  size_t line_ = 0;   // of the file
  std::string name_;
  std::string before_;  // "audit.jsonl:6", where the last entry is
};

/// Files may come in any order; their first entries put them in order. Errors: the first broken
/// line; kNotFound, kIo.
Result<Verified> verify(std::vector<std::filesystem::path> files);

}  // namespace signalbox::audit
