// Creates keys, and changes a keys file. Only one process at a time changes the file.

#include "router/access/key_file.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/file.h"
#include "base/sha256.h"
#include "router/access/folder_lock.h"

namespace signalbox::access {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileBytesMax = size_t{16} << 20;
constexpr std::string_view kSecretPrefix = "sb-";
constexpr size_t kSecretDigits = 43;  // of 64 values each: 258 bits

auto named(std::string_view name) {
  return [name](const config::ClientKey& key) { return key.name == name; };
}

}  // namespace

fs::path keys_file_of(const config::ClientAccess& access, const fs::path& config_file) {
  return access.keys_file.empty() ? fs::path() : config_file.parent_path() / access.keys_file;
}

Result<std::vector<config::ClientKey>> read_keys(const fs::path& file) {
  const Result<std::string> text = read_file(file, kFileBytesMax);
  if (!text && text.error().code == Code::kNotFound) return std::vector<config::ClientKey>();
  if (!text) return tl::unexpected<Error>(text.error());
  return config::parse_keys(*text, file.string());
}

Result<void> change_keys(const fs::path& file, const KeyChange& change) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return fail(Code::kIo, "{}: {}", folder.string(), failed.message());
  const FolderLock lock(folder);
  if (lock.error() != 0)
    return fail(Code::kIo, "{}: {}", folder.string(), std::strerror(lock.error()));
  SIGNALBOX_TRY(std::vector<config::ClientKey> keys, read_keys(file));
  SIGNALBOX_TRY_VOID(change(keys));
  FileWriter writer(file, Readers::kFolderOwner);
  writer.append(config::keys_text(keys));
  return writer.commit();
}

Result<void> check_key_name(std::string_view name,
                            const std::vector<config::TokenIssuer>& issuers) {
  for (const config::TokenIssuer& issuer : issuers) {
    if (!name.starts_with(issuer.name + "/")) continue;
    return fail(Code::kInvalid,
                "the key \"{}\" could be a token of the issuer \"{}\"; give it a name that does "
                "not begin with \"{}/\"",
                name, issuer.name, issuer.name);
  }
  return {};
}

KeyChange adding(const config::ClientKey& key) {
  return [key](std::vector<config::ClientKey>& keys) -> Result<void> {
    if (key.name == "." || key.name == "..")
      return fail(Code::kInvalid,
                  "a key cannot have the name \"{}\", because clients resolve it in the path that "
                  "revokes the key; choose another name",
                  key.name);
    if (std::ranges::any_of(keys, named(key.name)))
      return fail(Code::kInvalid, "there is a key \"{}\" already; choose another name", key.name);
    const auto same = std::ranges::find(keys, key.hash, &config::ClientKey::hash);
    if (same != keys.end())
      return fail(Code::kInvalid, "the keys \"{}\" and \"{}\" have the same hash", same->name,
                  key.name);
    keys.push_back(key);
    return {};
  };
}

KeyChange removing(std::string_view name) {
  return [name = std::string(name)](std::vector<config::ClientKey>& keys) -> Result<void> {
    if (std::erase_if(keys, named(name)) == 0)
      return fail(Code::kNotFound, "there is no key \"{}\"", name);
    return {};
  };
}

std::string hash_of(std::string_view secret) {
  return "sha256:" + sha256_hex(secret);
}

NewKey new_key() {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::random_device random;  // the system's source, without a state of ours
  NewKey out{.secret = std::string(kSecretPrefix), .hash = {}};
  for (size_t i = 0; i < kSecretDigits; ++i) out.secret += kDigits[random() % kDigits.size()];
  out.hash = hash_of(out.secret);
  return out;
}

}  // namespace signalbox::access
