// The member goes to the front of the object, so that the rest of the line keeps its bytes.

#include "router/replies/first_chunk.h"

#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::replies {
namespace {

constexpr std::string_view kChunkData = "data:";
constexpr size_t kChunkLineBytesMax = size_t{1} << 20;

/// The place behind the brace of a chunk with choices; npos for any other line.
size_t inside_of_chunk(std::string_view line) {
  if (!line.starts_with(kChunkData)) return std::string_view::npos;
  const size_t brace = line.find_first_not_of(" \t", kChunkData.size());
  if (brace == std::string_view::npos || line[brace] != '{') return std::string_view::npos;
  const auto document = json::Document::parse(std::string(line.substr(brace)));
  if (!document || !document->root().find("choices")) return std::string_view::npos;
  return brace + 1;
}

}  // namespace

FirstChunkEditor::FirstChunkEditor(std::string_view name, std::string_view json)
    : member_(json::quote(name) + ":" + std::string(json)) {}

void FirstChunkEditor::pass(std::string_view line, std::string& out) {
  const size_t at = done_ ? std::string_view::npos : inside_of_chunk(line);
  if (at == std::string_view::npos) {
    out += line;
    return;
  }
  done_ = true;
  out.append(line.substr(0, at)).append(member_).append(",").append(line.substr(at));
}

void FirstChunkEditor::push(std::string_view bytes, bool last, std::string& out) {
  while (!done_) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    rest_ += bytes.substr(0, end + 1);
    bytes.remove_prefix(end + 1);
    if (rest_.size() > kChunkLineBytesMax) {
      done_ = true;
      out += rest_;
    } else {
      pass(rest_, out);
    }
    rest_.clear();
  }
  if (done_) {
    out += bytes;
    return;
  }
  rest_ += bytes;
  done_ = rest_.size() > kChunkLineBytesMax;
  if (!last && !done_) return;
  out += rest_;
  rest_.clear();
}

}  // namespace signalbox::replies
