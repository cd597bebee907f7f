// Measures the effect of reloads on requests. This process sends a fixed rate over kept connections
// to a daemon in another process, alternating between no reloads and one every 100 ms. A request's
// time is measured from when it was due, not from when it was sent, so that a stall counts for
// every request it delays. Each reload switches between two configurations whose decisions select
// different models; an answer that mixes them is wrong.
//
// usage: reload_rate build/release/signalbox [REQUESTS_A_SECOND] [SECONDS_A_TURN] [MODEL]
// With the directory of an embedding model, every reload embeds 200 examples as well.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "bench/child_daemon.h"
#include "tests/router/net/sockets.h"

namespace signalbox::bench {
namespace {

using Clock = std::chrono::steady_clock;
using test::Wire;

constexpr int kConnections = 16;
constexpr int kTurns = 4;  // of each kind
constexpr std::chrono::milliseconds kReloadPeriod{100};
constexpr const char* kBody =
    R"({"model":"auto","messages":[{"role":"user","content":"Explain the proof of the theorem."}]})";

/// Two hundred decisions of three keywords, so that building takes some time. The last one selects
/// the version's own model.
std::string configuration(char version, uint16_t port, uint16_t management_port,
                          const std::string& model) {
  std::string out = "version: v0.3\nlisteners:\n  - {name: http, address: 127.0.0.1, port: " +
                    std::to_string(port) + "}\nproviders:\n  defaults: {default_model: general}\n" +
                    "  models:\n    - {name: general, backend_refs: [{name: a, type: echo}]}\n" +
                    "    - {name: model-" + version + ", backend_refs: [{name: a, type: echo}]}\n" +
                    "routing:\n  signals:\n    keywords:\n";
  std::string decisions;
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    out += "      - {name: k" + n + ", operator: OR, keywords: [alpha" + n + ", beta" + n +
           ", gamma" + n + "]}\n";
    decisions += "    - {name: d" + n + ", priority: 10, rules: {operator: AND, conditions: [" +
                 "{type: keyword, name: k" + n + "}]}, modelRefs: [{model: general}]}\n";
  }
  out += "      - {name: proof, operator: OR, keywords: [theorem, proof]}\n";
  if (!model.empty()) {
    out += "    embeddings:\n      - {name: near, threshold: 0.9, candidates: [";
    for (int i = 0; i < 200; ++i)
      out += "example number " + std::to_string(i) + " of what somebody might ask,";
    out += "]}\n";
    decisions += "    - {name: far, priority: 1, rules: {operator: AND, conditions: [" +
                 std::string("{type: embedding, name: near}]}, modelRefs: [{model: general}]}\n");
  }
  out += "  decisions:\n" + decisions + "    - {name: decision-" + version +
         ", priority: 5, rules: {operator: AND, conditions: [{type: keyword, name: proof}]}, " +
         "modelRefs: [{model: model-" + version + "}]}\n" +
         "global:\n  services:\n    management_api: {bind_address: 127.0.0.1, port: " +
         std::to_string(management_port) + "}\n";
  if (!model.empty())
    out += "  model_catalog: {embeddings: {semantic: {minilm_model_path: \"" + model + "\"}}}\n";
  return out;
}

/// Returns how many configurations the daemon has served.
int generation(uint16_t management_port) {
  Wire wire = Wire::connect(management_port);
  wire.send(test::get("/config/status"));
  const std::string body = wire.read_reply().body;
  const size_t at = body.find("\"generation\":");
  return at == std::string::npos ? 0 : std::atoi(body.c_str() + at + 13);
}

/// Returns 'a' or 'b' if the answer is complete and from one version, 0 otherwise.
char version_of(const test::Reply& reply) {
  const auto decision = reply.headers.find("x-vsr-selected-decision");
  const auto model = reply.headers.find("x-vsr-selected-model");
  if (reply.status != 200 || !reply.complete || decision == reply.headers.end() ||
      model == reply.headers.end())
    return 0;
  for (const char version : {'a', 'b'}) {
    if (decision->second == std::string("decision-") + version &&
        model->second == std::string("model-") + version &&
        reply.body.find(std::string("model-") + version) != std::string::npos)
      return version;
  }
  return 0;
}

struct Turn {
  std::vector<double> delays_ms;
  int wrong = 0;
  int lost = 0;
  int of_a = 0;
  int of_b = 0;

  void add(const Turn& other) {
    delays_ms.insert(delays_ms.end(), other.delays_ms.begin(), other.delays_ms.end());
    wrong += other.wrong;
    lost += other.lost;
    of_a += other.of_a;
    of_b += other.of_b;
  }
};

/// Sends the requests of one connection, `period` apart. If the connection is lost, the remaining
/// requests count as lost.
Turn send_all(Wire& wire, Clock::time_point due, std::chrono::nanoseconds period, int count) {
  const std::string request = test::post("/v1/chat/completions", kBody);
  Turn turn;
  for (int i = 0; i < count; ++i, due += period) {
    std::this_thread::sleep_until(due);
    if (!wire.send(request)) {
      turn.lost += count - i;
      return turn;
    }
    const test::Reply reply = wire.read_reply();
    if (reply.status == 0) {
      turn.lost += count - i;
      return turn;
    }
    turn.delays_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - due).count());
    const char version = version_of(reply);
    (version == 'a' ? turn.of_a : version == 'b' ? turn.of_b : turn.wrong) += 1;
  }
  return turn;
}

Turn run_turn(std::vector<Wire>& wires, int rate, double seconds) {
  const auto period = std::chrono::nanoseconds(int64_t{1'000'000'000} * kConnections / rate);
  const int count = static_cast<int>(seconds * rate / kConnections);
  const auto begin = Clock::now() + std::chrono::milliseconds(20);
  std::vector<Turn> turns(wires.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < wires.size(); ++i) {
    threads.emplace_back([&, i] {
      turns[i] =
          send_all(wires[i], begin + period * static_cast<int>(i) / kConnections, period, count);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Turn all;
  for (const Turn& turn : turns) all.add(turn);
  return all;
}

void print(const char* name, Turn& turn) {
  std::sort(turn.delays_ms.begin(), turn.delays_ms.end());
  const auto at = [&](double share) {
    if (turn.delays_ms.empty()) return 0.0;
    const auto last = static_cast<double>(turn.delays_ms.size() - 1);
    return turn.delays_ms[static_cast<size_t>(share * last)];
  };
  std::printf(
      "%-16s %7zu answers, %d lost, %d wrong; ms from due to answered: median %.2f, 99 %% %.2f, "
      "99.9 %% %.2f, most %.2f\n",
      name, turn.delays_ms.size(), turn.lost, turn.wrong, at(0.5), at(0.99), at(0.999), at(1));
}

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fputs(
        "usage: reload_rate build/release/signalbox [REQUESTS_A_SECOND] [SECONDS_A_TURN] "
        "[MODEL]\n",
        stderr);
    return 2;
  }
  const int rate = argc > 2 ? std::atoi(argv[2]) : 2'000;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 5;
  const std::string model = argc > 4 ? std::filesystem::absolute(argv[4]).string() : "";
  const auto file = std::filesystem::temp_directory_path() /
                    ("reload_rate_" + std::to_string(::getpid()) + ".yaml");
  const uint16_t port = test::closed_port();
  const uint16_t management_port = test::closed_port();
  const auto replace = [&](char version) {
    const std::string next = file.string() + ".next";
    std::ofstream(next) << configuration(version, port, management_port, model);
    std::filesystem::rename(next, file);
  };
  replace('a');
  std::printf("%s, %u processors, %d requests a second over %d connections, turns of %.0f s\n",
              processor().c_str(), std::thread::hardware_concurrency(), rate, kConnections,
              seconds);
  int failed = 0;
  {
    const ChildDaemon daemon(argv[1], file.string(), "error");
    std::vector<Wire> wires;
    for (int i = 0; i < kConnections; ++i) wires.push_back(Wire::connect(port));
    run_turn(wires, rate, 1);  // warm-up
    Turn quiet, busy;
    int swaps = 0;
    for (int i = 0; i < kTurns; ++i) {
      quiet.add(run_turn(wires, rate, seconds));
      std::atomic<bool> over = false;
      std::thread reloading([&] {
        for (; !over; std::this_thread::sleep_for(kReloadPeriod)) {
          replace(swaps++ % 2 == 0 ? 'b' : 'a');
          daemon.send(SIGHUP);
        }
      });
      busy.add(run_turn(wires, rate, seconds));
      over = true;
      reloading.join();
    }
    print("without reloads", quiet);
    print("with reloads", busy);
    std::printf("%d reloads; answers by version a %d, b %d; added to the longest: %.2f ms\n",
                generation(management_port) - 1, busy.of_a, busy.of_b,
                busy.delays_ms.back() - quiet.delays_ms.back());
    failed = quiet.lost + quiet.wrong + busy.lost + busy.wrong + (busy.of_b == 0 ? 1 : 0);
  }
  std::filesystem::remove(file);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace signalbox::bench

int main(int argc, char** argv) {
  return signalbox::bench::run(argc, argv);
}
