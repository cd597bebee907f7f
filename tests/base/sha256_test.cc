// The SHA-256 examples of FIPS 180-2.

#include "base/sha256.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

TEST(Sha256, agrees_with_the_examples_of_the_standard) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// `printf 'abc' | git hash-object --stdin`
TEST(GitBlob, is_the_name_that_git_gives) {
  EXPECT_EQ(git_blob_hex(""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(git_blob_hex("abc"), "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f");
}

}  // namespace
}  // namespace signalbox
