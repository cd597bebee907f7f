// The file is ours, but users can edit it, so it is read with the same care as a foreign one.

#include "tools/hub/receipt.h"

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "tools/hub/client.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReceiptBytesMax = size_t{4} << 20;

tl::unexpected<Error> expected(std::string_view what) {
  return fail(Code::kCorrupt, "expected {}", what);
}

std::string text_of(const json::Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? std::string(value->text()) : "";
}

Result<std::vector<RepositoryFile>> read_files(const json::Value& root, const char* key,
                                               std::vector<std::string>& checked) {
  std::vector<RepositoryFile> files;
  const auto list = root.find(key);
  if (!list) return files;
  for (const json::Value& item : list->items()) {
    RepositoryFile file;
    file.path = text_of(item, "path");
    file.sha256 = text_of(item, "sha256");
    const auto bytes = item.find("bytes");
    const auto number = bytes ? bytes->integer() : fail(Code::kCorrupt, "missing");
    if (!is_safe_path(file.path) || !number || *number < 0 || !is_hex(file.sha256, 64)) {
      return expected(fmt::format("{}: objects with path, bytes and sha256", key));
    }
    file.bytes = static_cast<uint64_t>(*number);
    if (text_of(item, "source") == "stated") checked.push_back(file.path);
    files.push_back(std::move(file));
  }
  return files;
}

void write_files(json::Writer& json, const char* key, const std::vector<RepositoryFile>& files,
                 const PullReceipt& receipt) {
  json.key(key).begin_array();
  for (const RepositoryFile& file : files) {
    const bool stated = std::ranges::find(receipt.checked, file.path) != receipt.checked.end();
    json.begin_object().member("path", file.path);
    json.member("bytes", static_cast<int64_t>(file.bytes)).member("sha256", file.sha256);
    json.member("source", stated ? "stated" : "first use").end_object();
  }
  json.end_array();
}

}  // namespace

const RepositoryFile* PullReceipt::find(std::string_view path) const {
  for (const auto* list : {&files, &converted_from}) {
    const auto found = std::ranges::find(*list, path, &RepositoryFile::path);
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

Result<PullReceipt> parse_receipt(std::string text) {
  const auto document =
      json::Document::parse(std::move(text), {.bytes = kReceiptBytesMax, .depth = 8});
  if (!document) return fail(Code::kCorrupt, "{}", document.error().message);
  const json::Value root = document->root();
  PullReceipt out;
  SIGNALBOX_TRY(const RepositoryName name, parse_repository_name(text_of(root, "repository")));
  out.id = name.id;
  out.commit = text_of(root, "commit");
  if (!out.commit.empty() && !is_commit(out.commit))
    return expected("commit: 40 hexadecimal digits");
  SIGNALBOX_TRY(out.files, read_files(root, "files", out.checked));
  SIGNALBOX_TRY(out.converted_from, read_files(root, "converted_from", out.checked));
  if (out.files.empty()) return expected("files: at least one");
  return out;
}

Result<std::optional<PullReceipt>> read_receipt(const fs::path& directory) {
  const fs::path path = directory / kReceiptName;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::optional<PullReceipt>();
  SIGNALBOX_TRY(std::string text, read_file(path, kReceiptBytesMax));
  auto receipt = parse_receipt(std::move(text));
  if (!receipt) return fail(Code::kCorrupt, "{}: {}", path.string(), receipt.error().message);
  return std::optional(*std::move(receipt));
}

std::string receipt_text(const PullReceipt& receipt) {
  json::Writer json;
  json.begin_object().member("repository", receipt.id).member("commit", receipt.commit);
  write_files(json, "files", receipt.files, receipt);
  if (!receipt.converted_from.empty())
    write_files(json, "converted_from", receipt.converted_from, receipt);
  json.end_object();
  return json.take() + "\n";
}

Result<void> write_receipt(const fs::path& directory, const PullReceipt& receipt) {
  return write_file(directory / kReceiptName, receipt_text(receipt));
}

std::vector<std::string> find_damage(const fs::path& directory, const PullReceipt& receipt,
                                     bool sizes_only) {
  std::vector<std::string> out;
  for (RepositoryFile file : receipt.files) {
    if (sizes_only) file.sha256.clear();
    if (const auto checked = check_file(directory / file.path, file); !checked)
      out.push_back(checked.error().message);
  }
  return out;
}

}  // namespace signalbox::tools
