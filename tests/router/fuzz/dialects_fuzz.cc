// Feeds arbitrary messages of clients and servers. Nothing may crash, the output must be JSON, and
// a stream must give the same output however it is split. The first byte selects the kind of the
// rest.

#include <array>
#include <cstdint>

#include "base/json.h"
#include "router/dialects/events.h"
#include "router/dialects/whole_events.h"
#include "tests/router/dialects/case.h"

namespace {

using namespace signalbox;
using namespace signalbox::dialects;
using test::read;

constexpr std::array<std::string_view, 4> kSurfaces = {"messages", "completions", "responses",
                                                       "server"};
constexpr std::array<std::string_view, 4> kRequests = {
    R"({"model":"m","max_tokens":1,"messages":[],"thinking":{"type":"enabled","budget_tokens":1}})",
    R"({"model":"m","prompt":"x"})",
    R"({"model":"m","input":"x"})",
    R"({"model":"m","messages":[],"stream_options":{"include_usage":true}})",
};

void check_json(const std::string& text) {
  SIGNALBOX_CHECK(json::Document::parse(text));
}

void check_events(const std::string& events) {
  EventReader reader;
  const EventReader::Take take = [](std::string_view data) -> Result<void> {
    SIGNALBOX_CHECK(data == "[DONE]" || json::Document::parse(std::string(data)));
    return {};
  };
  SIGNALBOX_CHECK(reader.push(events, take));
}

void try_request(size_t surface, const std::string& body) {
  ResponseStore store{{}};
  store.put("resp_a", {"me", "{}", {}, R"({"role":"user","content":"before"})"}, 1000);
  const auto incoming = read(kSurfaces[surface], body, store);
  if (!incoming) return;
  check_json(incoming->chat);
  const std::string lost = incoming->losses.contents();
  if (!lost.empty()) check_json(lost);
  if (kSurfaces[surface] != "completions") return;
  const auto back = CompletionsDialect().outgoing(incoming->chat);
  SIGNALBOX_CHECK(back);
  check_json(*back);
  const auto chat = CompletionsDialect().as_chat(incoming->chat);
  if (chat) check_json(*chat);
}

void try_reply(size_t surface, const std::string& body) {
  ResponseStore store{{}};
  const auto incoming = read(kSurfaces[surface], std::string(kRequests[surface]), store);
  SIGNALBOX_CHECK(incoming);
  const auto whole = incoming->replies->whole(body);
  if (whole) check_json(*whole);
  if (surface == 0 || surface == 3) check_json(incoming->replies->refusal(500, body));
  if (const auto native = json::Document::parse(body)) {
    check_events(message_events(native->root()));
    check_events(response_events(native->root()));
  }
  for (const auto& [id, owner] : {std::pair("resp_0f", "me")}) {
    const auto stored = store.get(id, owner, test::kRequestContext.now);
    SIGNALBOX_CHECK(surface != 2 || !whole || stored);
    if (stored) check_json("[" + stored->messages + "]");
  }
}

void try_stream(size_t surface, std::string_view bytes, size_t piece) {
  ResponseStore store{{}};
  const auto whole = read(kSurfaces[surface], std::string(kRequests[surface]), store);
  const auto cut = read(kSurfaces[surface], std::string(kRequests[surface]), store);
  SIGNALBOX_CHECK(whole && cut);
  test::Streamed got = test::stream(*whole->replies, bytes, bytes.size() + 1);
  SIGNALBOX_CHECK(got == test::stream(*cut->replies, bytes, piece));
  got.out += whole->replies->broken(R"({"error":{"message":"x"}})");
  check_events(got.out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t surface = data[0] % kSurfaces.size();
  const size_t what = data[0] / kSurfaces.size() % 3;
  const std::string body(reinterpret_cast<const char*>(data + 1), size - 1);
  if (what == 0) try_request(surface, body);
  if (what == 1) try_reply(surface, body);
  if (what == 2) try_stream(surface, body, 1 + data[0] / 12);
  return 0;
}
