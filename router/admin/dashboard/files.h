#pragma once
// The dashboard's files, compiled in as the folder dist holds them; the sources beside it make
// that folder.

#include <optional>
#include <string_view>

namespace signalbox::dashboard {

struct File {
  std::string_view content_type;
  std::string_view etag;    // with its quotes
  std::string_view bytes;   // as they are
  std::string_view zipped;  // the same in gzip
};

/// Finds a file by the path that a browser requests: "/", "/app.js"; nothing for others.
std::optional<File> file(std::string_view path);

}  // namespace signalbox::dashboard
