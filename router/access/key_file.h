#pragma once
// The file of clients' keys. It holds their hashes, so that nobody who reads it can use the keys.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/access.h"

namespace signalbox::access {

/// Returns the path of the keys file, or "" if there is none. The configured path is relative to
/// the folder of the configuration file.
std::filesystem::path keys_file_of(const config::ClientAccess& access,
                                   const std::filesystem::path& config_file);

/// A file that does not exist holds no keys. Errors: kInvalid, kIo, kTooLarge.
Result<std::vector<config::ClientKey>> read_keys(const std::filesystem::path& file);

/// Replaces the file by one with the changed keys, whole or not at all; only its owner may read it.
/// Other processes wait meanwhile. Errors: those of `change` and of read_keys().
using KeyChange = std::function<Result<void>(std::vector<config::ClientKey>& keys)>;
Result<void> change_keys(const std::filesystem::path& file, const KeyChange& change);

/// Errors: kInvalid for a name that a token could have, "ISSUER/USER", because limits, budgets and
/// reports go by names.
Result<void> check_key_name(std::string_view name, const std::vector<config::TokenIssuer>& issuers);

/// Changes that add or remove one key. Errors: kInvalid for a name that is taken or cannot be used,
/// and for the hash of another key; kNotFound.
KeyChange adding(const config::ClientKey& key);
KeyChange removing(std::string_view name);

/// A new key of 256 random bits, "sb-...", and the hash to store.
struct NewKey {
  std::string secret;
  std::string hash;
};
NewKey new_key();
/// Returns the hash of a key as the file has it.
std::string hash_of(std::string_view secret);

}  // namespace signalbox::access
