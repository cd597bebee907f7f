// Reads any bytes as the metadata of a hub's repository, and as the headers of a reply. The result
// is an error, or files whose paths stay inside of the repository's folder.

#include <cstdint>
#include <filesystem>
#include <string>

#include "tools/hub/http.h"
#include "tools/hub/repository.h"
#include "tools/hub/selection.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const tools::HttpReply reply = tools::parse_header_dump(text);
  SIGNALBOX_CHECK(reply.status >= 0 && reply.status < 1000);
  const std::string next =
      tools::resolve_location("https://hub.example/a", reply.header("location"));
  SIGNALBOX_CHECK(next.empty() || tools::origin_of(next).starts_with("https://"));

  const auto repository = tools::read_repository(text, "fuzz");
  if (!repository) return 0;
  for (const tools::RepositoryFile& file : repository->files) {
    const auto inside = (std::filesystem::path("folder") / file.path).lexically_normal();
    SIGNALBOX_CHECK(inside.generic_string().starts_with("folder/"));
    SIGNALBOX_CHECK(file.sha256.empty() || file.sha256.size() == 64);
  }
  const auto selection = tools::select_files(*repository);
  if (!selection) return 0;
  SIGNALBOX_CHECK(repository->find(selection->weights) != nullptr);
  for (const std::string& path : selection->settings) {
    SIGNALBOX_CHECK(repository->find(path) != nullptr);
  }
  return 0;
}
