#pragma once
// Tests a reader of foreign bytes with truncated files and false claims.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::weights {

/// Checks that every truncated version of the file gives an error that names the file as `name`.
/// `read` takes the bytes and returns a Result.
template <class Read>
void expect_cut_files_fail(const std::string& file, std::string_view name, const Read& read) {
  for (size_t n = 0; n < file.size(); ++n) {
    const std::string cut(file, 0, n);  // a copy of exact size, so that a sanitizer detects reads
                                        // past its end
    const auto found = read(cut);
    ASSERT_FALSE(found) << "the first " << n << " of " << file.size() << " bytes";
    EXPECT_TRUE(found.error().message.starts_with(name)) << found.error().message;
  }
}

struct HostileFile {
  std::string bytes;
  std::string message;  // of the error, after the file's name
};

template <class Read>
void expect_messages(const std::vector<HostileFile>& files, std::string_view name,
                     const Read& read) {
  for (const HostileFile& file : files) {
    const auto found = read(file.bytes);
    ASSERT_FALSE(found) << file.message;
    EXPECT_EQ(found.error().message, fmt::format("{}: {}", name, file.message));
  }
}

}  // namespace signalbox::weights
