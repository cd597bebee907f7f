// A long text has the same verdict from `signalbox classify`, `signalbox eval` and the
// classification API of the daemon, because all read it in the same windows.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

#include "base/json.h"
#include "router/config/load.h"
#include "router/daemon/serve.h"
#include "tests/engine/random_network.h"
#include "tests/router/net/gateway.h"

namespace signalbox::tools {
namespace {

constexpr size_t kTexts = 12;
constexpr size_t kProseBytes = 30'000;
constexpr double kThreshold = 0.5;  // at which the likelier of two classes is the verdict

constexpr const char* kGuard =
    R"({"model_type":"modernbert","architectures":["ModernBertForSequenceClassification"],)"
    R"("vocab_size":56,"hidden_size":48,"intermediate_size":40,"num_hidden_layers":2,)"
    R"("num_attention_heads":3,"local_attention":8,"max_position_embeddings":600,"num_labels":2,)"
    R"("classifier_pooling":"mean","id2label":{"0":"benign","1":"jailbreak"}})";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Prose of one letter a word, with a run of another letter somewhere in it.
std::string long_text(unsigned seed) {
  std::mt19937 random(seed);
  std::string out;
  while (out.size() < kProseBytes) out += {static_cast<char>('a' + random() % 5), ' '};
  const std::string attack(400, static_cast<char>('f' + random() % 20));
  out.insert(random() % (out.size() / 2) * 2, attack + " ");
  return out;
}

std::unique_ptr<daemon::Daemon> start(const std::string& guard) {
  auto loaded = config::parse(fmt::format(R"(
version: v0.3
listeners: [{{name: http, address: 127.0.0.1, port: 0}}]
providers:
  defaults: {{default_model: m}}
  models: [{{name: m, backend_refs: [{{type: echo}}]}}]
routing: {{}}
global:
  services: {{management_api: {{bind_address: 127.0.0.1, port: 0}}}}
  model_catalog:
    system: {{prompt_guard: "{}"}}
    modules: {{prompt_guard: {{threshold: {}}}}}
)",
                                          guard, kThreshold),
                              "test.yaml");
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return nullptr;
  }
  loaded->config.http.model_dtype = config::ModelDtype::kF32;
  const auto open = [](const config::Config& config) {
    return models::open_models(config, models::MissingModels{.stand_in = false},
                               models::open_directly(config.http));
  };
  auto daemon = daemon::Daemon::start(std::move(loaded->config), open);
  if (!daemon) ADD_FAILURE() << daemon.error().message;
  return daemon ? std::move(*daemon) : nullptr;
}

struct Risk {
  bool found;
  double score;
};

Risk ask_daemon(const daemon::Daemon& daemon, const std::string& text) {
  test::Wire client = test::Wire::connect(daemon.port("management"));
  client.send(test::post("/api/v1/classify/security", "{\"text\":\"" + text + "\"}"));
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.status, 200) << reply.body;
  const auto document = json::Document::parse(reply.body).value();
  return {document.root().find("is_jailbreak")->boolean(),
          document.root().find("risk_score")->number().value()};
}

// Runs a command of the program; IN in its arguments stands for a file with the rows.
std::string run(std::string arguments, const std::string& rows) {
  const engine::TemporaryDirectory folder;
  const std::string in = folder.path() / "in.jsonl", out = folder.path() / "out";
  std::ofstream(in) << rows;
  arguments.replace(arguments.find("IN"), 2, in);
  const std::string line = fmt::format("{} {} >{}", SIGNALBOX_PROGRAM, arguments, out);
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 0) << line;
  return read_file(out);
}

TEST(LongTexts, have_one_verdict_from_the_commands_and_the_daemon) {
  const engine::RandomNetwork guard(kGuard, true);
  engine::Checkpoint tensors = guard.tensors();
  for (float& w : tensors.at("classifier.weight").values) w *= 4;  // for decisive classes
  tensors.at("classifier.bias").values.at(1) -= 1.85F;  // so that some texts are harmless
  guard.write(tensors);
  const auto daemon = start(guard.directory().string());
  ASSERT_NE(daemon, nullptr);
  std::string rows, labelled;
  std::vector<Risk> expected;
  size_t found = 0;
  for (unsigned i = 0; i < kTexts; ++i) {
    const std::string text = long_text(i);
    expected.push_back(ask_daemon(*daemon, text));
    found += expected.back().found ? 1 : 0;
    rows += "{\"text\":\"" + text + "\",\"document\":true}\n";
    labelled += fmt::format("{{\"text\":\"{}\",\"label\":\"{}\"}}\n", text,
                            expected.back().found ? "jailbreak" : "benign");
  }
  const std::string model = " --model " + guard.directory().string();
  const std::string classified = run("classify <IN" + model, rows);
  size_t at = 0;
  for (const Risk& risk : expected) {
    const size_t end = classified.find('\n', at);
    const auto row = json::Document::parse(classified.substr(at, end - at)).value();
    at = end + 1;
    EXPECT_EQ(row.root().find("label")->text(), risk.found ? "jailbreak" : "benign");
    EXPECT_NEAR(row.root().find("scores")->find("jailbreak")->number().value(), risk.score, 1e-5);
  }
  const auto evaluated =
      json::Document::parse(run("eval --task classify --json --data IN" + model, labelled)).value();
  for (const json::Value& file : evaluated.root().find("files")->items())
    EXPECT_EQ(file.find("accuracy")->number().value(), 1) << evaluated.root().raw();
  std::string scores;
  for (const Risk& risk : expected) scores += fmt::format(" {:.3f}", risk.score);
  EXPECT_GT(found, 0u) << scores;
  EXPECT_LT(found, kTexts) << scores;
}

}  // namespace
}  // namespace signalbox::tools
