// A line that is being written has no line break yet and is left out.

#include "router/audit/newest.h"

#include <algorithm>
#include <fstream>

#include "router/audit/entry.h"

namespace signalbox::audit {
namespace {

constexpr std::streamoff kTailBytesMax = 1 << 20;

}  // namespace

Result<std::vector<std::string>> newest_lines(const std::filesystem::path& file, size_t count) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return fail(Code::kNotFound, "{}: cannot be read", file.string());
  const std::streamoff size = in.tellg(), begin = std::max<std::streamoff>(0, size - kTailBytesMax);
  std::string tail(static_cast<size_t>(size - begin), '\0');
  in.seekg(begin);
  if (!in.read(tail.data(), static_cast<std::streamsize>(tail.size())))
    return fail(Code::kIo, "{}: cannot be read", file.string());
  // If the tail begins inside a line, that rest is not an entry and is left out.
  std::string_view rest = tail;
  rest.remove_suffix(rest.size() - (rest.rfind('\n') + 1));
  std::vector<std::string> out;
  while (!rest.empty() && out.size() < count) {
    rest.remove_suffix(1);
    const size_t line = rest.rfind('\n') + 1;
    if (read_line(rest.substr(line))) out.emplace_back(rest.substr(line));
    rest.remove_suffix(rest.size() - line);
  }
  return out;
}

}  // namespace signalbox::audit
