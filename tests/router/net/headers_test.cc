// Tests that header fields are found, forwarded, and never split.

#include "router/http/headers.h"

#include <gtest/gtest.h>

namespace signalbox::http {
namespace {

TEST(Headers, names_match_in_any_case_and_keep_their_spelling) {
  Headers headers;
  headers.add("X-Request-ID", "abc");
  headers.add("accept", "a/b");
  EXPECT_EQ(headers.find("x-request-id"), "abc");
  EXPECT_EQ(headers.find("ACCEPT"), "a/b");
  EXPECT_FALSE(headers.find("accep"));
  EXPECT_EQ(headers.wire(), "X-Request-ID: abc\r\naccept: a/b\r\n");
}

TEST(Headers, a_value_cannot_add_a_header) {
  Headers headers;
  headers.add("x-vsr-selected-decision", "a\r\nSet-Cookie: b");
  EXPECT_EQ(headers.wire(), "x-vsr-selected-decision: a  Set-Cookie: b\r\n");
}

TEST(Headers, control_characters_become_spaces_wherever_they_stand) {
  for (const char c : {'\0', '\n', '\x1f', '\x7f', '\t', ' ', '~', '\xe9'}) {
    for (size_t at = 0; at < 20; ++at) {
      std::string value(20, 'x');
      value[at] = c;
      Headers headers;
      headers.add("a", value);
      if (c == '\0' || c == '\n' || c == '\x1f' || c == '\x7f') value[at] = ' ';
      EXPECT_EQ(headers.find("a"), value);
    }
  }
}

TEST(Headers, headers_of_the_hop_are_removed_and_the_others_keep_their_order) {
  Headers in;
  in.add("Host", "a");
  in.add("Connection", "keep-alive, X-Hop ,x-other");
  in.add("Keep-Alive", "5");
  in.add("TE", "trailers");
  in.add("Transfer-Encoding", "chunked");
  in.add("Content-Length", "3");
  in.add("Upgrade", "h2c");
  in.add("x-hop", "1");
  in.add("X-OTHER", "2");
  in.add("X-VSR-Debug", "true");
  in.add("Proxy-Authorization", "secret");
  in.add("openai-organization", "org");
  Headers out;
  const EndToEnd passes(in);
  for (size_t i = 0; i < in.size(); ++i) {
    if (passes(i)) out.add(in, i);
  }
  EXPECT_EQ(out.wire(), "Host: a\r\nopenai-organization: org\r\n");
  EXPECT_EQ(out.find("openai-organization"), "org");
}

}  // namespace
}  // namespace signalbox::http
