// Tests tokens with cases from a file (cases.mjs writes them), signatures with the examples of the
// RFCs, and key sets.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <fstream>
#include <future>
#include <latch>

#include "base/base64.h"
#include "base/file.h"
#include "router/tokens/token.h"
#include "router/tokens/verifier.h"
#include "tests/router/temporary_directory.h"

namespace {

constexpr std::string_view kHanging = "hanging.example";
std::latch answers(1);  // the name server of kHanging does so once this is counted down

}  // namespace

/// Stands in front of the system's function.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** out) {
  if (host != nullptr && host == kHanging) {
    answers.wait();
    return EAI_AGAIN;
  }
  static const auto system =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return system(host, service, hints, out);
}

namespace signalbox::tokens {
namespace {

const std::filesystem::path kData =
    std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/router/tokens";
constexpr int64_t kNow = 1'800'000'000;

config::TokenIssuer issuer_of(const std::string& file = "keys.json") {
  config::TokenIssuer out;
  out.name = "login";
  out.issuer = "https://issuer.example";
  out.audiences = {"signalbox", "other"};
  out.jwks_file = file;
  out.groups_claim = "realm.roles";
  out.groups.resize(2);
  out.groups[0].name = "interns";
  out.groups[0].models = {"small"};
  out.groups[1].name = "ops";
  return out;
}

std::unique_ptr<Verifier> verifier_of(const config::TokenIssuer& issuer, KeySources& sources,
                                      const std::filesystem::path& folder = kData) {
  auto out = Verifier::create({issuer}, folder / "config.yaml", sources);
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *std::move(out) : nullptr;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

/// A line of cases.jsonl.
struct Case {
  json::Document row;
  std::string text(std::string_view name) const {
    const auto value = row.root().find(name);
    return value ? std::string(value->text()) : std::string();
  }
};

std::vector<Case> cases() {
  std::vector<Case> out;
  std::ifstream file(kData / "cases.jsonl");
  for (std::string line; std::getline(file, line);)
    out.push_back({json::Document::parse(line).value()});
  EXPECT_GT(out.size(), 40U);
  return out;
}

std::string token_of(std::string_view name) {
  for (const Case& each : cases()) {
    if (each.text("name") == name) return each.text("token");
  }
  ADD_FAILURE() << "no case " << name;
  return {};
}

TEST(Tokens, verdicts_on_tokens_match_the_listed_ones) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.text("name"));
    KeySources sources;  // a new one for each, because an unknown key is looked for only once
    const auto verifier = verifier_of(issuer_of(), sources);
    ASSERT_NE(verifier, nullptr);
    const std::string token = each.text("token");
    const Verification verification = verifier->verify(token, kNow);
    if (const auto status = each.row.root().find("status")) {
      ASSERT_EQ(verification.owner, nullptr);
      EXPECT_EQ(verification.refusal.status, status->integer().value());
      EXPECT_EQ(verification.refusal.reason, each.text("reason"));
      EXPECT_NE(verification.refusal.message.find(each.text("message")), std::string::npos)
          << verification.refusal.message;
      EXPECT_LT(verification.refusal.message.size(), 400U);
      continue;
    }
    ASSERT_NE(verification.owner, nullptr) << verification.refusal.message;
    EXPECT_EQ(verification.owner->user, each.text("user"));
    EXPECT_EQ(verification.owner->name, "login/" + each.text("user"));
    EXPECT_EQ(joined(verification.owner->groups), each.text("groups"));
    EXPECT_EQ(joined(verification.owner->models), each.text("models"));
    const auto no = [] { return false; };
    EXPECT_EQ(verifier->verify(token, kNow, no).owner, verification.owner) << "it is remembered";
    EXPECT_EQ(verifier_of(issuer_of(), sources)->verify(token, kNow, no).refusal.status, 429);
    EXPECT_EQ(verifier->verify(token, kNow + 7200).refusal.reason, "expired_token");
  }
}

TEST(Tokens, users_of_tokens_have_the_prefix_of_the_issuer) {
  config::TokenIssuer issuer = issuer_of();
  issuer.prefix = "corp:";
  KeySources sources;
  const auto verifier = verifier_of(issuer, sources);
  const Verification verification = verifier->verify(token_of("RS256"), kNow);
  ASSERT_NE(verification.owner, nullptr);
  EXPECT_EQ(verification.owner->user, "corp:ann");
  EXPECT_EQ(joined(verification.owner->groups), "corp:ops");
}

TEST(Tokens, tokens_of_an_unlisted_group_have_the_rights_of_everybody) {
  config::TokenIssuer issuer = issuer_of();
  issuer.groups[1].name = "*";
  KeySources sources;
  const auto verifier = verifier_of(issuer, sources);
  EXPECT_NE(verifier->verify(token_of("no group"), kNow).owner, nullptr);
  issuer.groups.clear();
  EXPECT_NE(verifier_of(issuer, sources)->verify(token_of("no group"), kNow).owner, nullptr);
}

TEST(Tokens, only_listed_algorithms_are_accepted) {
  config::TokenIssuer issuer = issuer_of();
  issuer.algorithms = {"ES256", "EdDSA"};
  KeySources sources;
  const auto verifier = verifier_of(issuer, sources);
  EXPECT_NE(verifier->verify(token_of("ES256"), kNow).owner, nullptr);
  EXPECT_NE(verifier->verify(token_of("EdDSA"), kNow).owner, nullptr);
  EXPECT_EQ(verifier->verify(token_of("ES384"), kNow).refusal.reason, "invalid_token");
}

TEST(Tokens, tokens_are_refused_once_their_key_or_every_key_is_withdrawn) {
  const test::TemporaryDirectory folder;
  const std::string all = read_file(kData / "keys.json", kKeySetBytesMax).value();
  ASSERT_TRUE(write_file(folder.path() / "own.json", all));
  KeySources sources;
  const config::TokenIssuer issuer = issuer_of("own.json");
  const auto verifier = verifier_of(issuer, sources, folder.path());
  const auto source = sources.of(origin_of(issuer, folder.path() / "config.yaml")).value();
  ASSERT_NE(verifier->verify(token_of("EdDSA"), kNow).owner, nullptr);
  const auto put = [&](const std::string& text) {
    const uint64_t before = source->generation();
    ASSERT_TRUE(write_file(folder.path() / "own.json", text));
    while (source->generation() == before) {
      std::promise<void> read;
      source->refresh();
      if (source->wait([&read] { read.set_value(); })) read.get_future().wait();
    }
  };
  const json::Document keys = json::Document::parse(all).value();
  const json::Value first = *keys.root().find("keys")->items().begin();
  put(fmt::format("{{\"keys\": [{}]}}", first.raw()));
  EXPECT_NE(verifier->verify(token_of("RS256"), kNow).owner, nullptr);
  EXPECT_EQ(verifier->verify(token_of("EdDSA"), kNow).owner, nullptr);
  put(R"({"keys": []})");
  EXPECT_EQ(verifier->verify(token_of("RS256"), kNow).owner, nullptr);
}

TEST(KeySources, a_key_source_is_shared_while_it_is_in_use) {
  KeySources sources;
  const KeyOrigin origin = origin_of(issuer_of(), kData / "config.yaml");
  const auto first = sources.of(origin).value();
  EXPECT_EQ(sources.of(origin).value(), first);
  KeyOrigin other = origin;
  other.age_max += std::chrono::seconds(1);
  EXPECT_NE(sources.of(other).value(), first);
  other.file = "nowhere.json";
  EXPECT_EQ(sources.of(other).error().code, Code::kNotFound);
}

TEST(KeySources, do_not_hold_up_requests_while_a_name_server_does_not_answer) {
  KeySources sources;
  KeyOrigin origin;
  origin.issuer = "https://" + std::string(kHanging);
  origin.age_max = std::chrono::hours(1);
  auto source = sources.of(origin).value();
  std::promise<void> read;
  ASSERT_TRUE(source->wait([&read] { read.set_value(); }));
  auto requests = std::async(std::launch::async, [&] {
    read.get_future().wait();
    EXPECT_NE(source->snapshot().trouble, "");
    EXPECT_EQ(source->generation(), 0U);
    EXPECT_TRUE(source->refresh());
    source.reset();
  });
  // Far more than the limit of a reading; only a failure takes as long.
  EXPECT_EQ(requests.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  answers.count_down();
}

TEST(Remembered, is_bounded_and_forgets_the_oldest) {
  Remembered remembered(4);
  for (const char* digest : {"a", "b", "c", "d", "e"}) remembered.add(digest, {});
  EXPECT_FALSE(remembered.find("a"));
  for (const char* digest : {"c", "d", "e"}) EXPECT_TRUE(remembered.find(digest)) << digest;
}

TEST(Lifetimes, follow_the_field_within_bounds) {
  using std::chrono::seconds;
  EXPECT_EQ(lifetime_of(""), seconds(3600));
  EXPECT_EQ(lifetime_of("public, Max-Age=600, must-revalidate"), seconds(600));
  EXPECT_EQ(lifetime_of("max-age=1"), seconds(60));
  EXPECT_EQ(lifetime_of("max-age=99999999"), seconds(86'400));
  EXPECT_EQ(lifetime_of("max-age=600, no-store"), seconds(60));
  EXPECT_EQ(lifetime_of("max-age=99999999999999999999"), seconds(3600));
  EXPECT_EQ(lifetime_of("s-maxage=600"), seconds(3600));
}

TEST(Discovery, names_the_keys_of_this_issuer_only) {
  const std::string issuer = "https://a.example";
  const auto read = [&](std::string_view text) { return read_discovery(text, issuer); };
  EXPECT_EQ(read(R"({"issuer":"https://a.example","jwks_uri":"https://k.example/k?a=b"})").value(),
            "https://k.example/k?a=b");
  for (const char* wrong : {R"({"issuer":"https://b.example","jwks_uri":"https://k.example/k"})",
                            R"({"issuer":"https://a.example","jwks_uri":"http://k.example/k"})",
                            R"({"issuer":"https://a.example","jwks_uri":"file:///etc/passwd"})",
                            R"({"issuer":"https://a.example","jwks_uri":"http://127.0.0.1/k"})",
                            R"({"issuer":"https://a.example"})", "[]", ""})
    EXPECT_FALSE(read(wrong)) << wrong;
}

std::string bytes(std::string_view text) {
  return base64::decode_url(text).value();
}

constexpr std::string_view kJoe =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlf"
    "Q";

TEST(PublicKeys, verify_the_examples_of_rfc_7515) {
  const auto rsa = PublicKey::rsa(
      bytes(
          "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP"
          "1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kp"
          "aSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG"
          "4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"),
      bytes("AQAB"));
  ASSERT_TRUE(rsa) << rsa.error().message;
  const std::string text = fmt::format("eyJhbGciOiJSUzI1NiJ9.{}", kJoe);
  std::string signature = bytes(
      "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5"
      "jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHl"
      "b1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9"
      "QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw");
  EXPECT_TRUE(rsa->verifies(Algorithm::kRs256, text, signature));
  EXPECT_FALSE(rsa->verifies(Algorithm::kPs256, text, signature));
  EXPECT_FALSE(rsa->verifies(Algorithm::kRs512, text, signature));
  EXPECT_FALSE(rsa->verifies(Algorithm::kRs256, text + " ", signature));

  const auto ec = PublicKey::ec("P-256", bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                                bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"));
  ASSERT_TRUE(ec) << ec.error().message;
  signature = bytes(
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
  EXPECT_TRUE(
      ec->verifies(Algorithm::kEs256, fmt::format("eyJhbGciOiJFUzI1NiJ9.{}", kJoe), signature));
  EXPECT_FALSE(ec->verifies(Algorithm::kEs256, text, signature));
  EXPECT_FALSE(ec->verifies(Algorithm::kRs256, text, signature));
  EXPECT_FALSE(ec->verifies(Algorithm::kEs256, text, std::string(64, '\0')));
}

TEST(PublicKeys, verify_the_example_of_rfc_8037) {
  const auto key = PublicKey::ed25519(bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"));
  ASSERT_TRUE(key);
  const std::string_view text = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  const std::string signature = bytes(
      "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
  EXPECT_TRUE(key->verifies(Algorithm::kEdDsa, text, signature));
  EXPECT_FALSE(key->verifies(Algorithm::kEdDsa, "another text", signature));
}

TEST(Algorithms, exist_for_public_keys_only) {
  for (const std::string_view name : config::kTokenAlgorithms)
    EXPECT_EQ(name_of(algorithm_of(name).value()), name);
  EXPECT_EQ(name_of(Algorithm::kRs256), "RS256");
  EXPECT_EQ(name_of(Algorithm::kEdDsa), "EdDSA");
  for (const char* name : {"none", "None", "HS256", "HS512", "rs256", "ES512", "RSA-OAEP", ""})
    EXPECT_FALSE(algorithm_of(name)) << name;
}

TEST(KeySets, keys_that_cannot_verify_are_left_out) {
  const auto why = [](std::string_view key) {
    const auto keys = KeySet::parse(fmt::format("{{\"keys\": [{}]}}", key));
    if (!keys) return keys.error().message;
    return keys->size() == 1 ? std::string("fine") : keys->left_out();
  };
  const std::string x = "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"";
  EXPECT_EQ(why(R"({"kty":"OKP","crv":"Ed25519","x":)" + x + "}"), "fine");
  EXPECT_EQ(why(R"({"kty":"OKP","crv":"Ed25519","use":"sig","alg":"EdDSA","x":)" + x + "}"),
            "fine");
  const std::pair<std::string, const char*> refused[] = {
      {R"({"kty":"oct","k":"AAAA"})", "kty: expected RSA, EC or OKP"},
      {R"({"kty":"OKP","crv":"Ed25519","use":"enc","x":)" + x + "}", "use"},
      {R"({"kty":"OKP","crv":"Ed25519","key_ops":["sign"],"x":)" + x + "}", "key_ops"},
      {R"({"kty":"OKP","crv":"Ed25519","alg":"RS256","x":)" + x + "}", "alg"},
      {R"({"kty":"OKP","crv":"Ed25519","alg":"HS256","x":)" + x + "}", "alg"},
      {R"({"kty":"OKP","crv":"X25519","x":)" + x + "}", "crv"},
      {R"({"kty":"OKP","crv":"Ed25519","x":"AAAA"})", "3 bytes, expected 32"},
      {R"({"kty":"OKP","crv":"Ed25519","x":"AAAA","x":"AAAA"})", "x is there twice"},
      {R"({"kty":"RSA","n":"AQAB","e":"AQAB"})", "an RSA key of 17 bits"},
      {fmt::format(R"({{"kty":"RSA","n":"{}","e":"AQ"}})", std::string(344, 'A')),
       "e: expected an odd"},
      {fmt::format(R"({{"kty":"RSA","n":"{}","e":"AQAB"}})", std::string(4096, '_')),
       "at most 8192 bits"},
      {fmt::format(R"({{"kty":"EC","crv":"P-256","x":{},"y":{}}})", x, x), "no point of P-256"},
      {fmt::format(R"({{"kty":"EC","crv":"P-521","x":{},"y":{}}})", x, x),
       "expected P-256 or P-384"},
      {R"({"kty":7})", "kty: expected a string"},
      {"7", "expected an object"}};
  for (const auto& [key, reason] : refused)
    EXPECT_NE(why(key).find(reason), std::string::npos) << why(key);
  for (const char* text : {"", "[]", "{}", R"({"keys":{}})"})
    EXPECT_FALSE(KeySet::parse(text)) << text;
  EXPECT_EQ(KeySet::parse(R"({"keys":[]})").value().size(), 0U);
}

TEST(KeySets, are_bounded) {
  const auto set_of = [](size_t count) {
    std::string keys;
    for (size_t i = 0; i < count; ++i)
      keys += fmt::format(R"({}{{"kid":"{}","kty":"OKP","crv":"Ed25519","x":"{}"}})",
                          i == 0 ? "" : ",", i, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
    return KeySet::parse(fmt::format("{{\"keys\": [{}]}}", keys));
  };
  ASSERT_TRUE(set_of(kKeysMax));
  EXPECT_EQ(set_of(kKeysMax + 1).error().code, Code::kTooLarge);
  EXPECT_EQ(KeySet::parse(std::string(kKeySetBytesMax + 1, ' ')).error().code, Code::kTooLarge);
  const auto two = set_of(2);
  EXPECT_NE(two->find("1", Algorithm::kEdDsa), nullptr);
  EXPECT_EQ(two->find("1", Algorithm::kEs256), nullptr);
  EXPECT_EQ(two->find("2", Algorithm::kEdDsa), nullptr);
  EXPECT_EQ(two->find(std::nullopt, Algorithm::kEdDsa), nullptr) << "either of two";
  EXPECT_NE(set_of(1)->find(std::nullopt, Algorithm::kEdDsa), nullptr);
}

}  // namespace
}  // namespace signalbox::tokens
