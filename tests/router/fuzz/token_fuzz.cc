// Feeds arbitrary texts as tokens, and their claims as if the signature had been verified. They
// must be refused with a short message, or have an identity that header fields keep.

#include <cstdint>
#include <string>

#include "router/tokens/claims.h"
#include "router/tokens/token.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto token = tokens::parse_token(text);
  if (!token) {
    SIGNALBOX_CHECK(token.error().message.size() < 1000);
    return 0;
  }
  SIGNALBOX_CHECK(text.starts_with(token->signed_text));
  config::TokenIssuer issuer;
  issuer.audiences = {"signalbox"};
  issuer.groups_claim = "realm.roles";
  issuer.groups = {{.name = "ops", .models = {}, .recipes = {}, .limits = {}},
                   {.name = "*", .models = {}, .recipes = {}, .limits = {}}};
  constexpr int64_t kNow = 1'800'000'000;
  const auto identity = tokens::check_claims(token->claims.root(), issuer, kNow);
  if (!identity) {
    SIGNALBOX_CHECK(identity.error().message.size() < 1000 && identity.error().status != 200);
    return 0;
  }
  SIGNALBOX_CHECK(identity->until > kNow && !identity->user.empty() && identity->rights != nullptr);
  std::string names = identity->user;
  for (const std::string& group : identity->groups) names += group;
  SIGNALBOX_CHECK(names.find_first_of(",\r\n") == std::string::npos);
  return 0;
}
