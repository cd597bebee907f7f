#pragma once
// A reader of foreign bytes against a file cut short and a file with lies in it.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::weights {

/// Every shorter beginning of the file is an error, and one that names the file as `name`. `read`
/// takes the bytes and returns a Result.
template <class Read>
void expect_cut_files_fail(const std::string& file, std::string_view name, const Read& read) {
  for (size_t n = 0; n < file.size(); ++n) {
    const std::string cut(file, 0, n);  // of its own size, so that a sanitizer sees its end
    const auto found = read(cut);
    ASSERT_FALSE(found) << "the first " << n << " of " << file.size() << " bytes";
    EXPECT_TRUE(found.error().message.starts_with(name)) << found.error().message;
  }
}

struct HostileFile {
  std::string bytes;
  std::string message;  // of the error, behind the file's name
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
