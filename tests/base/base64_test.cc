// The examples of RFC 4648, and texts that a lenient reader would accept.

#include "base/base64.h"

#include <gtest/gtest.h>

namespace signalbox::base64 {
namespace {

TEST(Base64, encodes_and_decodes_the_examples_of_the_standard) {
  const std::pair<std::string, std::string> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"},
                                                          {"\xFB\xFF\xFE", "+//+"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(encode(bytes), text);
    EXPECT_EQ(decode(text).value(), bytes);
  }
}

TEST(Base64, every_byte_comes_back) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(decode(encode(bytes)).value(), bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
}

TEST(Base64, reads_the_alphabet_for_urls) {
  EXPECT_EQ(decode_url("-__-").value(), "\xFB\xFF\xFE");
  EXPECT_EQ(decode_url("").value(), "");
  EXPECT_EQ(decode_url("Zg").value(), "f");
  EXPECT_EQ(decode_url("Zm8").value(), "fo");
  for (const char* text : {"Z", "Zg==", "Zg=", "Zh", "Zm9", "+//+", "Zm 9", "Zm9vZ", "Zg\n"})
    EXPECT_FALSE(decode_url(text)) << text;
}

TEST(Base64, refuses_invalid_and_noncanonical_texts) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "=", "====", "Z===", "Zg==Zg==", "Zh==",
                           "Zm9=", "Zm 9", "Zm9v\n", "Zm-_", "Zg=a"}) {
    const auto bytes = decode(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_EQ(bytes.error().code, Code::kInvalid);
  }
}

}  // namespace
}  // namespace signalbox::base64
