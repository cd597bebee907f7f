// A partial file beside the one that is meant, then a rename.

#include "tools/write_file.h"

#include <fstream>
#include <string>
#include <system_error>

namespace signalbox::tools {

Result<void> write_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path partial = path;
  partial += ".partial";
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) {
    std::filesystem::remove(partial, error);
    return fail(Code::kIo, "{}: cannot be written", path.string());
  }
  std::filesystem::rename(partial, path, error);
  if (!error) return {};
  const std::string reason = error.message();
  std::filesystem::remove(partial, error);
  return fail(Code::kIo, "{}: {}", path.string(), reason);
}

}  // namespace signalbox::tools
