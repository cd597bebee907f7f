// A member that is there twice makes a key unusable, because another reader might take the other
// one.

#include "router/tokens/key_set.h"

#include <algorithm>

#include "base/base64.h"
#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::tokens {
namespace {

constexpr uint32_t kSetDepthMax = 8;
constexpr size_t kReasonsMax = 3;

/// Returns "" for a member that is absent.
Result<std::string_view> member_text(const json::Value& key, std::string_view name) {
  const auto value = key.find(name);
  if (!value) return std::string_view();
  if (key.count(name) > 1) return fail(Code::kInvalid, "{} is there twice", name);
  if (!value->is_string()) return fail(Code::kInvalid, "{}: expected a string", name);
  return value->text();
}

Result<std::string> bytes_in(const json::Value& key, std::string_view name) {
  SIGNALBOX_TRY(const std::string_view text, member_text(key, name));
  if (text.empty()) return fail(Code::kInvalid, "{} is missing", name);
  auto bytes = base64::decode_url(text);
  if (!bytes) return fail_in(name, bytes.error());
  return bytes;
}

/// Refuses keys that are not meant for signatures.
Result<void> check_use(const json::Value& key) {
  SIGNALBOX_TRY(const std::string_view use, member_text(key, "use"));
  if (!use.empty() && use != "sig") return fail(Code::kInvalid, "use: it is not for signatures");
  const auto operations = key.find("key_ops");
  if (!operations) return {};
  for (const json::Value& each : operations->items()) {
    if (each.is_string() && each.text() == "verify") return {};
  }
  return fail(Code::kInvalid, "key_ops: it is not for verifying");
}

Result<PublicKey> read_public_key(const json::Value& key) {
  SIGNALBOX_TRY(const std::string_view type, member_text(key, "kty"));
  if (type == "RSA") {
    SIGNALBOX_TRY(const std::string modulus, bytes_in(key, "n"));
    SIGNALBOX_TRY(const std::string exponent, bytes_in(key, "e"));
    return PublicKey::rsa(modulus, exponent);
  }
  if (type != "EC" && type != "OKP") return fail(Code::kInvalid, "kty: expected RSA, EC or OKP");
  SIGNALBOX_TRY(const std::string_view curve, member_text(key, "crv"));
  SIGNALBOX_TRY(const std::string x, bytes_in(key, "x"));
  if (type == "OKP") {
    if (curve != "Ed25519") return fail(Code::kInvalid, "crv: expected Ed25519");
    return PublicKey::ed25519(x);
  }
  SIGNALBOX_TRY(const std::string y, bytes_in(key, "y"));
  return PublicKey::ec(curve, x, y);
}

}  // namespace

Result<KeySet> KeySet::parse(std::string_view text) {
  if (text.size() > kKeySetBytesMax)
    return fail(Code::kTooLarge, "a key set of {} bytes, at most {} are read", text.size(),
                kKeySetBytesMax);
  SIGNALBOX_TRY(const json::Document document,
                json::Document::parse(std::string(text), {kKeySetBytesMax, kSetDepthMax}));
  const auto keys = document.root().find("keys");
  if (!keys || !keys->is_array())
    return fail(Code::kInvalid, "expected a key set, an object with an array \"keys\"");
  KeySet out;
  size_t seen = 0;
  for (const json::Value& key : keys->items()) {
    if (seen++ == kKeysMax)
      return fail(Code::kTooLarge, "a key set of more than {} keys", kKeysMax);
    const auto read = [&]() -> Result<Row> {
      if (!key.is_object()) return fail(Code::kInvalid, "expected an object");
      SIGNALBOX_TRY_VOID(check_use(key));
      SIGNALBOX_TRY(const std::string_view id, member_text(key, "kid"));
      SIGNALBOX_TRY(const std::string_view name, member_text(key, "alg"));
      SIGNALBOX_TRY(PublicKey made, read_public_key(key));
      const auto only = algorithm_of(name);
      if (!name.empty() && (!only || !made.fits(*only)))
        return fail(Code::kInvalid, "alg: {} is not for this key", json::quote_briefly(name));
      return Row{std::string(id), only, std::move(made)};
    };
    auto row = read();
    if (row) {
      out.rows_.push_back(*std::move(row));
    } else if (seen <= kReasonsMax) {
      out.left_out_ += fmt::format("; key {}: {}", seen, row.error().message);
    }
  }
  return out;
}

const PublicKey* KeySet::find(const std::optional<std::string>& id, Algorithm algorithm) const {
  const PublicKey* found = nullptr;
  for (const Row& row : rows_) {
    if (!row.fits(algorithm) || (id && row.id != *id)) continue;
    if (id) return &row.key;
    if (found != nullptr) return nullptr;
    found = &row.key;
  }
  return found;
}

bool KeySet::has(std::string_view id) const {
  return std::ranges::any_of(rows_, [id](const Row& row) { return row.id == id; });
}

}  // namespace signalbox::tokens
