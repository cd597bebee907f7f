// A member that is added to a stream of chunks, whose bytes may come in any pieces.

#include "router/replies/first_chunk.h"

#include <gtest/gtest.h>

namespace signalbox::replies {
namespace {

std::string extended(std::string_view stream, size_t piece) {
  FirstChunkEditor editor("fusion", R"({"a":1})");
  std::string out;
  for (size_t at = 0; at < stream.size(); at += piece)
    editor.push(stream.substr(at, piece), at + piece >= stream.size(), out);
  return out;
}

struct ChunkCase {
  std::string_view server, client;
};

const ChunkCase kChunkCases[] = {
    {"data: {\"choices\":[]}\n\ndata: {\"choices\":[1]}\n\ndata: [DONE]\n\n",
     "data: {\"fusion\":{\"a\":1},\"choices\":[]}\n\ndata: {\"choices\":[1]}\n\ndata: "
     "[DONE]\n\n"},
    {": comment\r\n\r\ndata:{ \"id\":1,\"choices\":[]}\r\n\r\n",
     ": comment\r\n\r\ndata:{\"fusion\":{\"a\":1}, \"id\":1,\"choices\":[]}\r\n\r\n"},
    {"data: {\"error\":{}}\n\n", "data: {\"error\":{}}\n\n"},
    {"data: {}\n\ndata: not {\"choices\"\n\n", "data: {}\n\ndata: not {\"choices\"\n\n"},
    {"data: {\"choices\":[]}", "data: {\"choices\":[]}"},
    {"", ""},
};

TEST(FirstChunk, has_the_member_and_all_other_bytes_stay) {
  for (const auto& [server, client] : kChunkCases) {
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{1000}})
      EXPECT_EQ(extended(server, piece), client) << piece;
  }
}

TEST(FirstChunk, passes_as_it_comes_if_it_is_too_long) {
  const std::string stream =
      "data: {\"choices\":[\"" + std::string(2 << 20, 'x') + "\"]}\n\ndata: {\"choices\":[]}\n\n";
  for (const size_t piece : {size_t{65536}, stream.size()})
    EXPECT_EQ(extended(stream, piece), stream) << piece;
}

}  // namespace
}  // namespace signalbox::replies
