// Reads any bytes as pulled.json. The result is an error, or a receipt of files inside of the
// model's folder that is the same after it has been written and read again.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "tools/hub/receipt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const auto receipt = tools::parse_receipt(std::string(reinterpret_cast<const char*>(data), size));
  SIGNALBOX_CHECK(receipt || !receipt.error().message.empty());
  if (!receipt) return 0;
  for (const auto* files : {&receipt->files, &receipt->converted_from}) {
    for (const tools::RepositoryFile& file : *files) {
      const auto inside = (std::filesystem::path("folder") / file.path).lexically_normal();
      SIGNALBOX_CHECK(inside.generic_string().starts_with("folder/"));
      SIGNALBOX_CHECK(tools::is_hex(file.sha256, 64));
    }
  }
  const std::string text = tools::receipt_text(*receipt);
  const auto again = tools::parse_receipt(text);
  SIGNALBOX_CHECK(again && tools::receipt_text(*again) == text);
  return 0;
}
