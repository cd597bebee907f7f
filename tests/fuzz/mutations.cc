// Structured mutations, see mutations.h.

#include "tests/fuzz/mutations.h"

#include <array>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::fuzz {
namespace {

constexpr size_t kDepthMax = 64;

// Values at which readers of numbers, texts and nesting have their limits.
constexpr auto kValues = std::to_array<std::string_view>({"null",
                                                          "true",
                                                          "false",
                                                          "0",
                                                          "-0",
                                                          "-1",
                                                          "1e400",
                                                          "1e-400",
                                                          "0.1",
                                                          "2147483648",
                                                          "4294967296",
                                                          "9007199254740993",
                                                          "18446744073709551616",
                                                          "\"\"",
                                                          R"("\u0000")",
                                                          R"("\ud83d\ude00")",
                                                          R"("\ud800")",
                                                          R"("\\\"\/\b\f\n\r\t")",
                                                          "[]",
                                                          "{}",
                                                          "[[[[[[[[]]]]]]]]",
                                                          R"({"":{}})",
                                                          R"([null,1,"",[],{}])"});

// Names that the APIs of models know.
constexpr auto kNames = std::to_array<std::string_view>(
    {"",         "model",         "messages",         "role",   "content",    "type",
     "text",     "input",         "output",           "tools",  "tool_calls", "tool_use_id",
     "function", "name",          "arguments",        "stream", "usage",      "choices",
     "delta",    "index",         "finish_reason",    "id",     "error",      "message",
     "metadata", "prompt_tokens", "completion_tokens"});

constexpr auto kFields = std::to_array<std::string_view>({"Content-Length: 0",
                                                          "Content-Length: 5",
                                                          "Content-Length: +5",
                                                          "Content-Length: 5, 5",
                                                          "Content-Length: 18446744073709551616",
                                                          "Content-Length : 5",
                                                          "Transfer-Encoding: chunked",
                                                          "Transfer-Encoding: identity, chunked",
                                                          "Transfer-Encoding: chunked, chunked",
                                                          "Transfer-Encoding: xchunked",
                                                          "Transfer-Encoding:\tchunked",
                                                          "Host: a",
                                                          "Host: b",
                                                          "Connection: close",
                                                          "Connection: keep-alive, close",
                                                          "Expect: 100-continue",
                                                          "Upgrade: websocket",
                                                          "Trailer: x",
                                                          ": empty",
                                                          "no colon",
                                                          " folded",
                                                          "x:"});

constexpr auto kChunkSizes = std::to_array<std::string_view>(
    {"0", "00", "5", "5;x=y", "5 ", "+5", "0x5", "-1", "ffffffffffffffff", "10000000000000000"});

size_t below(Random& random, size_t count) {
  return count == 0 ? 0 : random() % count;
}

template <typename List>
auto& one_of(List& list, Random& random) {
  return list[below(random, std::size(list))];
}

// A value, with the name of a member in front of it.
struct Part {
  size_t begin;        // of the name, or of the value if it has none
  size_t value_begin;  // == begin in an array
  size_t end;
  bool is_string;
};

void collect(const json::Value& value, std::string_view source, std::vector<Part>& out) {
  size_t last = value.begin() + 1;
  for (const json::Value& item : value.items()) {
    out.push_back({item.begin(), item.begin(), item.end(), item.is_string()});
    collect(item, source, out);
  }
  for (const json::Member& member : value.members()) {
    out.push_back({source.find('"', last), member.value.begin(), member.value.end(),
                   member.value.is_string()});
    last = member.value.end();
    collect(member.value, source, out);
  }
}

std::string replaced(std::string_view text, size_t begin, size_t end, std::string_view by) {
  return std::string(text.substr(0, begin)).append(by).append(text.substr(end));
}

// Removes a member or an element with the comma on one of its sides.
std::string removed(std::string_view text, const Part& part) {
  const size_t after = text.find_first_not_of(" \t\r\n", part.end);
  if (after != text.npos && text[after] == ',') return replaced(text, part.begin, after + 1, "");
  const size_t before = text.find_last_not_of(" \t\r\n", part.begin - 1);
  return replaced(text, text[before] == ',' ? before : part.begin, part.end, "");
}

// Writes one character of a string as an escape.
std::string escaped(std::string_view text, const Part& part, Random& random) {
  const size_t at = part.value_begin + 1 + below(random, part.end - part.value_begin - 1);
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x20 || byte >= 0x7f || byte == '"' ||
      text.substr(part.value_begin, part.end - part.value_begin).find('\\') != text.npos)
    return std::string(text);
  constexpr std::string_view kDigits = "0123456789abcdef";
  return replaced(text, at, at + 1, std::string("\\u00") + kDigits[byte >> 4] + kDigits[byte & 15]);
}

std::string mutate_part(std::string_view text, const Part& part, const std::vector<Part>& parts,
                        Random& random, const ChangeBytes& change) {
  const std::string_view value = text.substr(part.value_begin, part.end - part.value_begin);
  const std::string_view whole = text.substr(part.begin, part.end - part.begin);
  const bool has_name = part.begin != part.value_begin;
  switch (below(random, 10)) {
    case 0:
      return removed(text, part);
    case 1:
      return replaced(text, part.end, part.end, "," + std::string(whole));
    case 2: {
      const Part& other = one_of(parts, random);
      return replaced(text, part.value_begin, part.end,
                      text.substr(other.value_begin, other.end - other.value_begin));
    }
    case 3:
      return replaced(text, part.value_begin, part.end, "[" + std::string(value) + "]");
    case 4:
      return replaced(
          text, part.value_begin, part.end,
          "{\"" + std::string(one_of(kNames, random)) + "\":" + std::string(value) + "}");
    case 5:
      if (!has_name) break;
      return replaced(text, part.begin, part.value_begin,
                      "\"" + std::string(one_of(kNames, random)) + "\":");
    case 6:
      return replaced(text, part.value_begin, part.value_begin,
                      std::string(1 + below(random, 3), " \t\n\r"[below(random, 4)]));
    case 7:
      return part.is_string ? escaped(text, part, random) : std::string(text);
    case 8:
      if (!part.is_string) break;
      return replaced(text, part.value_begin, part.end,
                      json::quote(change(value.substr(1, value.size() - 2))));
    default:
      break;
  }
  return replaced(text, part.value_begin, part.end, one_of(kValues, random));
}

std::vector<std::string> split(std::string_view text, std::string_view end) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t found = text.find(end);
    const size_t length = found == text.npos ? text.size() : found + end.size();
    out.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

// Removes, repeats or moves one of the parts, or changes nothing if there is none.
void reorder(std::vector<std::string>& parts, Random& random) {
  if (parts.empty()) return;
  const size_t at = below(random, parts.size());
  const auto place = parts.begin() + static_cast<std::ptrdiff_t>(at);
  const std::string copy = *place;
  const size_t kind = below(random, 3);
  if (kind != 1) parts.erase(place);
  if (kind != 0)
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(below(random, parts.size() + 1)),
                 copy);
}

void replace_first(std::string& text, std::string_view what, std::string_view by) {
  if (const size_t at = text.find(what); at != text.npos) text.replace(at, what.size(), by);
}

void mutate_data(std::string& event, Random& random, const ChangeBytes& change) {
  const size_t begin = event.find("data:");
  if (begin == event.npos) return;
  const size_t from = event.find_first_not_of(" ", begin + 5), end = event.find('\n', begin);
  if (from == event.npos || end == event.npos || from >= end) return;
  const std::string data = event.substr(from, end - from);
  const bool is_json = json::Document::parse(data, {.depth = kDepthMax}).has_value();
  event.replace(from, end - from, is_json ? mutate_json(data, random, change) : change(data));
}

bool is_events(std::string_view text) {
  return text.starts_with("data:") || text.starts_with("event:") || text.starts_with("id:") ||
         text.starts_with(":");
}

bool is_http(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.find("HTTP/1.") != line.npos;
}

}  // namespace

std::string mutate_json(std::string_view text, Random& random, const ChangeBytes& change) {
  const auto document = json::Document::parse(std::string(text), {.depth = kDepthMax});
  if (!document) return change(text);
  const json::Value root = document->root();
  std::vector<Part> parts;
  collect(root, document->source(), parts);
  if (parts.empty() || below(random, 32) == 0)
    parts.push_back({root.begin(), root.begin(), root.end(), root.is_string()});
  const Part& part = one_of(parts, random);
  if (part.begin == root.begin())
    return replaced(text, root.begin(), root.end(), one_of(kValues, random));
  return mutate_part(text, part, parts, random, change);
}

std::string mutate_events(std::string_view text, Random& random, const ChangeBytes& change) {
  std::vector<std::string> events = split(text, "\n\n");
  if (events.empty()) return change(text);
  std::string& event = one_of(events, random);
  switch (below(random, 9)) {
    case 0:
    case 1:
      reorder(events, random);
      break;
    case 2:
      replace_first(event, "\n", "\r\n");
      break;
    case 3:
      replace_first(event, "data: ", below(random, 2) ? "data:" : "data: \ndata: ");
      break;
    case 4:
      event.insert(0, below(random, 2) ? ": comment\n" : "event: error\nid: 1\nretry: 5\n");
      break;
    case 5:
      events.insert(events.begin() + static_cast<std::ptrdiff_t>(below(random, events.size() + 1)),
                    "data: [DONE]\n\n");
      break;
    case 6:
      event.resize(below(random, event.size() + 1));
      break;
    default:
      mutate_data(event, random, change);
  }
  return joined(events);
}

std::string mutate_http(std::string_view text, Random& random, const ChangeBytes& change) {
  const size_t end = text.find("\r\n\r\n");
  if (end == text.npos) return change(text);
  std::vector<std::string> lines = split(text.substr(0, end + 2), "\r\n");
  std::string body(text.substr(end + 4));
  const size_t kind = below(random, 9);
  std::string& line = one_of(lines, random);
  if (kind <= 1) {
    lines.insert(lines.begin() + 1 + static_cast<std::ptrdiff_t>(below(random, lines.size())),
                 std::string(one_of(kFields, random)) + "\r\n");
  } else if (kind == 2) {
    const std::string first = lines[0];
    lines.erase(lines.begin());
    reorder(lines, random);
    lines.insert(lines.begin(), first);
  } else if (kind == 3) {
    replace_first(line, "\r\n", below(random, 2) ? "\n" : "\r");
  } else if (kind == 4) {
    replace_first(line, ": ", below(random, 2) ? ":" : " : ");
  } else if (kind == 5) {
    line = change(line.substr(0, line.size() - 2)) + "\r\n";
  } else if (kind == 6) {
    std::vector<std::string> chunks = split(body, "\r\n");
    if (!chunks.empty() && below(random, 2))
      one_of(chunks, random) = std::string(one_of(kChunkSizes, random)) + "\r\n";
    reorder(chunks, random);
    body = joined(chunks);
  } else if (kind == 7) {
    body += std::string(text);  // another message follows at once
  } else {
    body = change(body);
  }
  return joined(lines) + "\r\n" + body;
}

std::optional<std::string> mutate(std::string_view input, Random& random,
                                  const ChangeBytes& change) {
  for (size_t mode = 0; mode <= 2 && mode < input.size(); ++mode) {
    const std::string_view text = input.substr(mode);
    const std::string front(input.substr(0, mode));
    if (is_events(text)) return front + mutate_events(text, random, change);
    if (is_http(text)) return front + mutate_http(text, random, change);
    if ((text[0] == '{' || text[0] == '[') &&
        json::Document::parse(std::string(text), {.depth = kDepthMax}))
      return front + mutate_json(text, random, change);
  }
  return std::nullopt;
}

}  // namespace signalbox::fuzz
