#pragma once
// Makes streams with placeholders as upstreams send them, and reads the result as a client does.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "router/replies/pii_unmask.h"

namespace signalbox::replies {

inline const ReplyMasks& masks() {
  static const ReplyMasks kMasks({{"[EMAIL_ADDRESS_1]", "ann@example.com"},
                                  {"[PERSON_1]", "Ann \"Q\" O\nNeil"},
                                  {"[IP_ADDRESS_1]", "10.0.0.1"}});
  return kMasks;
}

inline double seconds_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t from = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
  }
  return best;
}

inline std::string chunk(std::string_view choices) {
  return fmt::format(
      "data: "
      "{{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{}]}}\n\n",
      choices);
}

inline std::string content(std::string_view text, std::string_view reason = "null",
                           int choice = 0) {
  return chunk(fmt::format(R"({{"index":{},"delta":{{"content":{}}},"finish_reason":{}}})", choice,
                           json::quote(text), reason));
}

inline std::string streamed(std::string_view stream, size_t piece) {
  StreamUnmasker unmasker(masks());
  std::string out;
  for (size_t at = 0; at < stream.size(); at += piece)
    EXPECT_TRUE(unmasker.push(stream.substr(at, piece), out));
  unmasker.finish(out);
  return out;
}

/// The texts of choice 0 and of its two calls, as a client reads them from a stream.
struct Heard {
  std::string content, other, first_call, second_call;
  size_t events = 0;
};

inline Heard heard(std::string_view stream) {
  Heard out;
  while (!stream.empty()) {
    const size_t end = stream.find("\n\n");
    if (end == std::string_view::npos || !stream.starts_with("data: ")) {
      ADD_FAILURE() << stream;
      break;
    }
    const std::string data(stream.substr(6, end - 6));
    stream.remove_prefix(end + 2);
    ++out.events;
    if (data == "[DONE]") continue;
    const auto event = json::Document::parse(data);
    if (!event) {
      ADD_FAILURE() << data;
      continue;
    }
    EXPECT_EQ(event->root().find("id")->text(), "c1");
    for (const json::Value& choice : event->root().find("choices")->items()) {
      const json::Value delta = *choice.find("delta");
      if (const auto text = delta.find("content"))
        (*choice.find("index")->integer() == 0 ? out.content : out.other) += text->text();
      const auto calls = delta.find("tool_calls");
      if (!calls) continue;
      for (const json::Value& call : calls->items()) {
        (*call.find("index")->integer() == 0 ? out.first_call : out.second_call) +=
            call.find("function")->find("arguments")->text();
      }
    }
  }
  return out;
}

/// Returns a delta of choice 0.
inline std::string delta(std::string_view members, std::string_view reason = "null") {
  return chunk(fmt::format(R"({{"index":0,"delta":{{{}}},"finish_reason":{}}})", members, reason));
}

}  // namespace signalbox::replies
