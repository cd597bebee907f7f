// The daemon's processor time per routed request: user and system time of its process, read from
// /proc before and after 20,000 keyword-routed requests over kept connections. The clients' own
// time does not count.
//
// usage: serve_cpu build/release/signalbox [REQUESTS]

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/child_daemon.h"
#include "tests/router/net/sockets.h"

namespace signalbox::bench {
namespace {

using test::Wire;

constexpr int kThreads = 1;  // of the daemon, because this measures cost and not scaling

constexpr const char* kBody =
    R"({"model":"auto","messages":[{"role":"system","content":"You are a helpful assistant."},)"
    R"({"role":"user","content":"Explain the proof of Fermat's Last Theorem step-by-step, and say which parts of it )"
    R"(an undergraduate can follow without a course in algebraic number theory."}],"temperature":0.7,"max_tokens":256})";

std::string configuration(uint16_t port, uint16_t management_port, uint16_t upstream_port) {
  std::ostringstream out;
  out << "version: v0.3\nlisteners:\n  - {name: http, address: 127.0.0.1, port: " << port << "}\n"
      << "providers:\n  defaults: {default_model: general}\n  models:\n"
      << "    - {name: general, backend_refs: [{name: echo, type: echo}]}\n"
      << "    - {name: mathematician, backend_refs: [";
  if (upstream_port == 0) {
    out << "{name: echo, type: echo}";
  } else {
    out << "{name: a, endpoint: \"127.0.0.1:" << upstream_port << "\"}";
  }
  out << "]}\nrouting:\n  signals:\n    keywords:\n";
  // Fourteen signals, like the domains of the default configuration. The matching one is last.
  std::ostringstream decisions;
  for (int i = 0; i < 13; ++i) {
    out << "      - {name: k" << i << ", operator: OR, keywords: [alpha" << i << ", beta" << i
        << ", gamma" << i << "]}\n";
    decisions << "    - {name: d" << i
              << ", priority: 10, rules: {operator: AND, conditions: [{type: keyword, name: k" << i
              << "}]}, modelRefs: [{model: general}]}\n";
  }
  out << "      - {name: proof, operator: OR, keywords: [theorem, proof, algebra]}\n  decisions:\n"
      << decisions.str()
      << "    - name: math\n      priority: 5\n      rules: {operator: AND, conditions: [{type: "
         "keyword, name: proof}]}\n"
      << "      modelRefs: [{model: mathematician}]\n"
      << "      plugins: [{type: system_prompt, configuration: {system_prompt: \"You are a "
         "mathematician.\"}}]\n"
      << "global:\n  services:\n    http: {threads: " << kThreads
      << "}\n    management_api: {bind_address: 127.0.0.1, port: " << management_port << "}\n";
  return out.str();
}

void expect_routed(const test::Reply& reply) {
  const auto decision = reply.headers.find("x-vsr-selected-decision");
  if (reply.status == 200 && decision != reply.headers.end() && decision->second == "math" &&
      reply.complete)
    return;
  std::fprintf(stderr, "serve_cpu: wrong answer: status %d, %s\n", reply.status,
               reply.body.c_str());
  std::exit(1);
}

void measure(const char* name, const std::string& program, int requests, int connections,
             uint16_t upstream_port) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("serve_cpu_" + std::to_string(::getpid()) + ".yaml");
  const uint16_t port = test::closed_port();
  std::ofstream(file) << configuration(port, test::closed_port(), upstream_port);
  {
    const ChildDaemon daemon(program, file.string());
    const std::string request = test::post(
        "/v1/chat/completions", kBody, "Authorization: Bearer key\r\nAccept: application/json\r\n");
    std::vector<Wire> clients;
    for (int i = 0; i < connections; ++i) {
      clients.push_back(Wire::connect(port));
      clients.back().send(request);
      expect_routed(clients.back().read_reply());
    }
    const double before = daemon.cpu_seconds();
    for (int sent = 0; sent < requests; sent += connections) {
      for (Wire& client : clients) client.send(request);
      for (Wire& client : clients) expect_routed(client.read_reply());
    }
    const int done = (requests + connections - 1) / connections * connections;
    std::printf(
        "%-14s %6d requests, %d connections: %5.1f us of CPU each; resident %.1f MB, ready in %.0f "
        "ms\n",
        name, done, connections, (daemon.cpu_seconds() - before) * 1e6 / done, daemon.resident_mb(),
        daemon.ready_ms());
  }
  std::filesystem::remove(file);
}

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: serve_cpu build/release/signalbox [REQUESTS]\n", stderr);
    return 2;
  }
  const int requests = argc > 2 ? std::atoi(argv[2]) : 20'000;
  std::printf("%s, %d event loop\n", processor().c_str(), kThreads);
  // With one connection every request pays for a pass through the event loop; several connections
  // share it.
  measure("echo backend", argv[1], requests, 1, 0);
  measure("echo backend", argv[1], requests, 16, 0);
  const std::string answer =
      R"({"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant",)"
      R"("content":"It rests on the modularity of semistable elliptic curves."},"finish_reason":"stop"}]})";
  const std::string reply =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(answer.size()) + "\r\n\r\n" + answer;
  test::Upstream upstream([&](Wire& wire, int) {
    while (!wire.read_request().empty()) wire.send(reply);
  });
  measure("http upstream", argv[1], requests, 1, upstream.port());
  measure("http upstream", argv[1], requests, 16, upstream.port());
  return 0;
}

}  // namespace
}  // namespace signalbox::bench

int main(int argc, char** argv) {
  return signalbox::bench::run(argc, argv);
}
