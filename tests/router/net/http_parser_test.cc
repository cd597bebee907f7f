// Tests the parser of requests and responses alone, with every step size, every ambiguity and every
// limit.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "router/http/message.h"

namespace signalbox::http {
namespace {

struct Outcome {
  Request request;
  std::optional<Refusal> refusal;
  bool done = false;
  std::string rest;
};

/// Feeds `wire` in steps of `step` bytes, as a socket would.
Outcome read(std::string_view wire, size_t step = std::string_view::npos) {
  Outcome out;
  RequestParser parser(out.request, 1024, 64);
  std::string pending;
  for (size_t at = 0; at < wire.size() && !parser.done();) {
    const std::string_view piece = wire.substr(at, step);
    at += piece.size();
    pending += piece;
    for (bool again = true; again && !parser.done();) {
      const bool header = parser.header_done();
      const auto used = parser.feed(pending);
      if (!used) {
        out.refusal = used.error();
        return out;
      }
      pending.erase(0, *used);
      again = header != parser.header_done() && !pending.empty();
    }
  }
  out.done = parser.done();
  out.rest = pending;
  return out;
}

int status_of(std::string_view wire) {
  const Outcome out = read(wire);
  return out.refusal ? out.refusal->status : out.done ? 200 : 0;
}

TEST(RequestParser, reads_the_same_at_every_step_size) {
  const std::string_view wire =
      "\r\nPOST /v1/chat?x=1 HTTP/1.1\r\nHost: a\r\nX-A:  b c \r\nTransfer-Encoding: "
      "chunked\r\n\r\n"
      "5;note=\"x\"\r\nhello\r\n1\r\n!\r\n0\r\nX-Trailer: t\r\n\r\nGET";
  for (size_t step = 1; step < wire.size() + 1; ++step) {
    const Outcome out = read(wire, step);
    ASSERT_FALSE(out.refusal) << step << ": " << out.refusal->message;
    ASSERT_TRUE(out.done) << step;
    EXPECT_EQ(out.request.method, "POST");
    EXPECT_EQ(out.request.path(), "/v1/chat");
    EXPECT_EQ(out.request.query(), "?x=1");
    EXPECT_EQ(out.request.headers.find("x-a"), "b c");
    EXPECT_FALSE(out.request.headers.find("x-trailer"));
    EXPECT_EQ(out.request.body, "hello!");
  }
  EXPECT_EQ(read(wire).rest, "GET");
}

TEST(RequestParser, reads_a_higher_minor_version_as_1_1) {
  for (const char minor : {'2', '9'}) {
    const std::string wire =
        fmt::format("POST /a HTTP/1.{}\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET", minor);
    for (size_t step = 1; step < wire.size(); ++step) {
      const Outcome out = read(wire, step);
      EXPECT_EQ(out.request.version, 11);
      EXPECT_EQ(out.request.target, "/a");
      EXPECT_EQ(out.request.body, "hi");
    }
  }
  for (const std::string_view version :
       {"1.10", "1.12", "1.-1", "01.2", "1.2 ", "1.2\t", "1.2\n", "1.", "1.x", "1,2", "2.0", "2.1",
        "3.0", "1.0HTTP/1.2", "1.1 HTTP/1.2"})
    EXPECT_EQ(status_of(fmt::format("GET / HTTP/{}\r\nHost: a\r\n\r\n", version)), 400) << version;
  for (const std::string_view line :
       {"GET /HTTP/1.2", "GET / http/1.2", "GET / XHTTP/1.2", "HTTP/1.2"})
    EXPECT_EQ(status_of(fmt::format("{}\r\nHost: a\r\n\r\n", line)), 400) << line;
}

TEST(RequestParser, frames_a_higher_minor_version_as_1_1) {
  const auto with = [](std::string_view fields, std::string_view body) {
    return fmt::format("POST / HTTP/1.2\r\nHost: a\r\n{}\r\n{}", fields, body);
  };
  const std::string chunks = with("Transfer-Encoding: chunked\r\n", "2\r\nhi\r\n0\r\n\r\nGET /b");
  for (size_t step = 1; step <= chunks.size(); ++step) {
    const Outcome out = read(chunks, step);
    ASSERT_TRUE(out.done) << step;
    EXPECT_EQ(out.request.body, "hi");
    EXPECT_TRUE(std::string_view("GET /b").starts_with(out.rest)) << out.rest;
  }
  EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "")), 400);
  EXPECT_EQ(status_of(with("Content-Length: 2\r\nContent-Length: 2\r\n", "hi")), 400);
  EXPECT_EQ(status_of(with("Transfer-Encoding: gzip\r\n", "")), 501);
  EXPECT_EQ(status_of(with("X: a\r\n b\r\n", "")), 400);
  EXPECT_EQ(status_of(with(fmt::format("X: {}\r\n", std::string(1024, 'x')), "")), 431);
  EXPECT_EQ(status_of("GET / HTTP/1.2\r\n\r\n"), 400) << "no Host";
  for (const std::string_view connection : {"keep-alive", "close"}) {
    Request request;
    RequestParser parser(request, 1024, 64);
    const auto used = parser.feed(with(fmt::format("Connection: {}\r\n", connection), ""));
    ASSERT_TRUE(used);
    EXPECT_EQ(parser.keep_alive(), connection == "keep-alive");
  }
}

TEST(RequestParser, takes_the_path_out_of_an_absolute_target) {
  EXPECT_EQ(read("GET http://h:1/v1?a=http://b HTTP/1.1\r\nHost: h\r\n\r\n").request.target,
            "/v1?a=http://b");
  EXPECT_EQ(read("GET HTTP://h HTTP/1.1\r\nHost: h\r\n\r\n").request.target, "/");
}

TEST(RequestParser, refuses_an_invalid_host) {
  const auto status = [](std::string_view host, std::string_view version = "1.1") {
    return status_of(fmt::format("GET / HTTP/{}\r\nHost:{}\r\n\r\n", version, host));
  };
  for (const char* host :
       {"",     " ",   "a b", "a\tb",    "a/b",  "a?b",  "a#b", "a\\b",   "u@a",   "a, b",
        "\x80", ":80", "a:b", "a:80:80", "a:-1", "[::1", "[]",  "[::1]a", "[a b]", "::1"}) {
    EXPECT_EQ(status(host), 400) << host;
    EXPECT_EQ(status(host, "1.0"), 400) << host;
  }
  for (const char* host : {"a", " a ", "A.b-c_d", "a:80", "a:", "127.0.0.1:1", "[::1]", "[::1]:80",
                           "[fe80::1.2.3.4]:1", "a%62", "a.", "xn--a"}) {
    EXPECT_EQ(status(host), 200) << host;
  }
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200);
}

TEST(RequestParser, refuses_ambiguous_requests) {
  const auto with = [](std::string_view headers, std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(headers) + "\r\n" + std::string(body);
  };
  EXPECT_EQ(status_of(with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
            400);
  EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n")),
            400);
  EXPECT_EQ(status_of(with("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd")), 400);
  EXPECT_EQ(status_of(with("Content-Length: 3\r\nContent-Length: 3\r\n", "abc")), 400);
  EXPECT_EQ(status_of(with("Content-Length: 3, 3\r\n", "abc")), 400);
  EXPECT_EQ(status_of(with("Content-Length: +3\r\n", "abc")), 400);
  EXPECT_EQ(status_of(with("Content-Length: -1\r\n", "abc")), 400);
  EXPECT_EQ(status_of(with("Content-Length: 0x3\r\n", "abc")), 400);
  EXPECT_EQ(status_of(with("Content-Length: 99999999999999999999\r\n", "abc")), 400);
  EXPECT_EQ(status_of(with("Content-Length : 3\r\n", "abc")), 400);
  EXPECT_EQ(status_of(with("Transfer-Encoding: gzip\r\n", "")), 501);
  EXPECT_EQ(status_of(with("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")), 501);
  EXPECT_EQ(
      status_of(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
      400);
  EXPECT_EQ(status_of(with("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")), 501);
  EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\n", "-1\r\n\r\n")), 400);
  EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\n", "g\r\n\r\n")), 400);
  EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\n", "10000000000000000\r\n")), 400);
  EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n0\r\n\r\n")), 400);
  EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\n", "3 \nabc\r\n0\r\n\r\n")), 400);
  EXPECT_EQ(status_of(with("X: a\nContent-Length: 3\r\n", "abc")), 400);
  EXPECT_EQ(status_of(with("X-A: b\r\n c\r\n", "")), 400);
  EXPECT_EQ(status_of(with("X-A: b\r\n\tc\r\n", "")), 400);
  EXPECT_EQ(status_of(with("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n")), 400);
  EXPECT_EQ(status_of(with("Host: b\r\n", "")), 400);
  EXPECT_EQ(status_of(with(std::string_view("X: a\0b\r\n", 8), "")), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET v1 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("\x16\x03\x01 a TLS hello\r\n\r\n"), 400);
}

TEST(RequestParser, names_the_exceeded_limit) {
  const Outcome header =
      read("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  EXPECT_EQ(header.refusal->status, 431);
  EXPECT_EQ(header.refusal->message, "the request header is longer than 1024 bytes");
  EXPECT_EQ(status_of("GET /" + std::string(2000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 431);
  const Outcome both = read("GET /" + std::string(600, 'x') +
                            " HTTP/1.1\r\nHost: a\r\nX: " + std::string(600, 'x') + "\r\n\r\n");
  EXPECT_EQ(both.refusal->message, "the request header is longer than 1024 bytes");
  const Outcome body = read("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65\r\n\r\n");
  EXPECT_EQ(body.refusal->status, 413);
  EXPECT_EQ(body.refusal->message, "the request body is longer than 64 bytes");
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n" +
                      std::string(32, 'x') + "\r\n21\r\n"),
            413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;" +
                      std::string(9000, 'x')),
            400);
}

TEST(RequestParser, bounds_trailers_that_come_at_once) {
  const std::string chunks =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  EXPECT_EQ(status_of(chunks + "X: y\r\n\r\n"), 200);
  const Outcome out = read(chunks + "X: " + std::string(9000, 'y') + "\r\n\r\n");
  EXPECT_EQ(out.refusal->status, 431);
  EXPECT_EQ(out.refusal->message, "the request trailer is longer than 8192 bytes");
}

TEST(RequestParser, refuses_a_size_line_and_a_trailer_the_same_at_every_step_size) {
  const std::string start = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string zeros(9000, '0'), letters(9000, 'x');
  const std::pair<std::string, int> cases[] = {
      {zeros + "1\r\na\r\n0\r\n\r\n", 400},
      {"1;" + letters + "\r\na\r\n0\r\n\r\n", 400},
      {"1\r\na\r\n" + zeros + "\r\n\r\n", 400},
      {"1\r\na\r\n0;" + letters + "\r\n\r\n", 400},
      {"1\r\na\r\n0\r\nX: " + letters + "\r\n\r\n", 431},
      {"1\r\na\r\n0\r\nX:" + std::string(9000, ' ') + "y\r\n\r\n", 431},
      {"1\r\na\r\n0\r\nX: y\r\n z\r\n\r\n", 400},
      {"1\r\na\r\n0\r\n X: y\r\n\r\n", 400},
      {"1\r\na\r\n0\r\nX: " + letters.substr(0, 8000) + "\r\n\r\n", 200},
      {zeros.substr(0, 8000) + "1\r\na\r\n0\r\n\r\n", 200}};
  for (const auto& [body, expected] : cases) {
    for (const size_t step : {size_t{1}, size_t{100}, size_t{4096}, std::string::npos}) {
      const Outcome out = read(start + body, step);
      EXPECT_EQ(out.refusal ? out.refusal->status : 200, expected)
          << step << ": " << body.substr(0, 40);
      EXPECT_NE(out.done, out.refusal.has_value()) << step << ": " << body.substr(0, 40);
    }
  }
}

TEST(RequestParser, accepts_only_the_expectation_100_continue) {
  Request request;
  RequestParser parser(request, 1024, 64);
  ASSERT_TRUE(parser.feed(
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n"));
  EXPECT_TRUE(parser.header_done());
  EXPECT_FALSE(parser.done());
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\nExpect: payment\r\nContent-Length: 3\r\n\r\n"),
            417);
}

struct Answer {
  Response response;
  std::optional<Error> error;
  bool done = false;
  bool keep_alive = false;
};

Answer answer(std::string_view wire, bool closes = false) {
  Answer out;
  ResponseParser parser(out.response, 1024);
  while (!wire.empty() && !parser.done()) {
    const auto used = parser.feed(wire);
    if (!used) {
      out.error = used.error();
      return out;
    }
    if (*used == 0) break;
    wire.remove_prefix(*used);
  }
  if (closes) {
    if (auto end = parser.end(); !end) out.error = end.error();
  }
  out.done = parser.done();
  if (out.done) out.keep_alive = parser.keep_alive();
  return out;
}

TEST(ResponseParser, finds_the_end_of_each_kind_of_body) {
  const Answer sized = answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcREST");
  EXPECT_EQ(sized.response.body, "abc");
  EXPECT_EQ(sized.response.content_length, 3U);
  EXPECT_TRUE(sized.done && sized.keep_alive);

  const Answer empty = answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(empty.done && empty.keep_alive);
  EXPECT_EQ(empty.response.content_length, 0U);

  const Answer chunked =
      answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.response.body, "abc");
  EXPECT_FALSE(chunked.response.content_length);
  EXPECT_TRUE(chunked.done && chunked.keep_alive);

  const Answer open = answer("HTTP/1.0 200 OK\r\n\r\nabc", true);
  EXPECT_EQ(open.response.body, "abc");
  EXPECT_TRUE(open.done);
  EXPECT_FALSE(open.keep_alive);

  // Its chunks may mean something else to a server of HTTP/1.0.
  const Answer old = answer(
      "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_TRUE(old.done);
  EXPECT_FALSE(old.keep_alive);

  EXPECT_TRUE(answer("HTTP/1.1 204 No Content\r\n\r\n").done);
  EXPECT_TRUE(answer("HTTP/1.1 100 Continue\r\n\r\n").done);
}

TEST(ResponseParser, errors_name_the_wrong_part) {
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", true).error->message,
            "it closed the connection in the middle of its reply");
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", true)
                .error->message,
            "it closed the connection in the middle of its reply");
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nContent-Le", true).error->message,
            "it closed the connection in the middle of its reply header");
  EXPECT_EQ(answer("", true).error->message, "it closed the connection without a reply");
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nX: " + std::string(2000, 'x')).error->message,
            "its reply header is longer than 1024 bytes");
  const std::string without_value = "HTTP/1.1 200 OK\r\nX: \r\n\r\n";
  const auto header_of = [&](size_t bytes) {
    std::string out = without_value;
    return out.insert(without_value.size() - 4, bytes - without_value.size(), 'x');
  };
  EXPECT_FALSE(answer(header_of(1024)).error);
  EXPECT_EQ(answer(header_of(1025)).error->message, "its reply header is longer than 1024 bytes");
  EXPECT_TRUE(answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n").error);
  EXPECT_TRUE(
      answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n").error);
  EXPECT_TRUE(answer("220 smtp.example.com ESMTP\r\n").error);
}

}  // namespace
}  // namespace signalbox::http
