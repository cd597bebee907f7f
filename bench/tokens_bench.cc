// Measures the cost of a token: the whole verification of a new one by algorithm, and that of a
// known one.
// usage: tokens_bench

#include <benchmark/benchmark.h>

#include <fstream>

#include "router/tokens/verifier.h"

namespace signalbox::tokens {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/router/tokens";
constexpr int64_t kNow = 1'800'000'000;

std::string token_of(const std::string& name) {
  std::ifstream file(kFolder / "cases.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto row = json::Document::parse(line);
    if (row && row->root().find("name")->text() == name)
      return std::string(row->root().find("token")->text());
  }
  SIGNALBOX_CHECK(false);
}

config::TokenIssuer issuer() {
  config::TokenIssuer out;
  out.name = "login";
  out.issuer = "https://issuer.example";
  out.audiences = {"signalbox"};
  out.jwks_file = "keys.json";
  return out;
}

void known_token(benchmark::State& state, const std::string& name) {
  KeySources sources;
  const auto verifier = Verifier::create({issuer()}, kFolder / "config.yaml", sources).value();
  const std::string token = token_of(name);
  SIGNALBOX_CHECK(verifier->verify(token, kNow).owner != nullptr);
  for (auto _ : state) benchmark::DoNotOptimize(verifier->verify(token, kNow));
}

// A verifier that has forgotten the token because it remembers none: the time of the verification.
void new_token(benchmark::State& state, const std::string& name) {
  KeySources sources;
  const auto verifier = Verifier::create({issuer()}, kFolder / "config.yaml", sources, 0).value();
  const std::string token = token_of(name);
  SIGNALBOX_CHECK(verifier->verify(token, kNow).owner != nullptr);
  for (auto _ : state) benchmark::DoNotOptimize(verifier->verify(token, kNow));
}

}  // namespace
}  // namespace signalbox::tokens

int main(int argc, char** argv) {
  using namespace signalbox;
  for (const std::string_view name : config::kTokenAlgorithms)
    benchmark::RegisterBenchmark(("new/" + std::string(name)).c_str(), tokens::new_token,
                                 std::string(name))
        ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("known/RS256", tokens::known_token, "RS256")
      ->Unit(benchmark::kMicrosecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
