// Measures how often the decision for the extract of a long prompt equals the decision for the
// whole prompt. Builds long prompts from labelled lines ({"text", "label"}), routes each with
// prompt_compression off and on, and prints how often both give the same decision.
//
//   build/release/compression_agreement CONFIG PROMPTS_OF_A_KIND FILE.jsonl ...
//
// Prompts have 2,000 to 16,000 tokens and are of three kinds. `one`: texts of one label. `asked`: a
// text among others of its label, with the request itself at the end. `mixed`: a third of the texts
// have other labels. The random choices are the same in every run.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/routing/router.h"

namespace {

using namespace signalbox;
using Labelled = std::map<std::string, std::vector<std::string>>;

constexpr std::array<std::string_view, 3> kKinds = {"one", "asked", "mixed"};

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  std::exit(1);
}

void read(const std::string& path, Labelled& out) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto row = json::Document::parse(line);
    if (!row) give_up(row.error());
    const auto text = row->root().find("text"), label = row->root().find("label");
    if (text && label && text->is_string() && label->is_string())
      out[std::string(label->text())].emplace_back(text->text());
  }
}

class Prompts {
 public:
  explicit Prompts(const Labelled& texts) : texts_(texts) {
    for (const auto& [label, all] : texts) {
      if (all.size() >= 20) labels_.push_back(label);
    }
    if (labels_.empty()) give_up({Code::kInvalid, "no label has twenty texts"});
  }

  std::string make(std::string_view kind) {
    const std::string& label = label_ = labels_[draw(labels_.size())];
    const size_t bytes = 4 * (2000 + draw(14000));
    const std::string ask = some(label);
    std::string out = kind == "asked" ? ask + "\n\n" : "";
    while (out.size() < bytes) {
      const bool foreign = kind == "mixed" && draw(3) == 0;
      out += some(foreign ? labels_[draw(labels_.size())] : label) + "\n";
    }
    if (kind == "asked") out += "\nNow answer the first question above: " + ask;
    return out;
  }

  const std::string& label() const { return label_; }  // of the last prompt

 private:
  size_t draw(size_t below) { return static_cast<size_t>(random_() % below); }
  const std::string& some(const std::string& label) {
    const auto& all = texts_.at(label);
    return all[draw(all.size())];
  }

  const Labelled& texts_;
  std::vector<std::string> labels_;
  std::string label_;
  std::mt19937_64 random_{20041231};
};

std::string decided(const routing::Router& router, const request::ChatRequest& request) {
  routing::Evaluation evaluation = router.evaluate(request);
  if (!evaluation.run_cheap()) {
    if (auto done = evaluation.run_needed(); !done) give_up(done.error());
  }
  const config::Decision* decision = evaluation.decision();
  return decision == nullptr ? "" : decision->name;
}

request::ChatRequest request_of(const std::string& text) {
  json::Writer out;
  out.begin_object().member("model", "auto").key("messages").begin_array();
  out.begin_object().member("role", "user").member("content", text).end_object();
  auto request = request::ChatRequest::parse(out.end_array().end_object().take());
  if (!request) give_up(request.error());
  return *std::move(request);
}

std::unique_ptr<const routing::Router> make_router(const std::string& path, bool compresses,
                                                   models::Models& models) {
  auto loaded = config::load(path);
  if (!loaded) give_up(loaded.error());
  config::Config config = std::move(loaded->config);
  config.modules.prompt_compression.enabled = compresses;
  if (models.classifiers.empty() && models.embedder == nullptr) {
    auto opened = models::open_models(config, models::MissingModels{.stand_in = false},
                                      models::open_directly(config.http));
    if (!opened) give_up(opened.error());
    models = *std::move(opened);
  }
  auto made = routing::Router::create(std::move(config), models);
  if (!made) give_up(made.error());
  return *std::move(made);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: {} CONFIG PROMPTS_OF_A_KIND FILE.jsonl ...\n", argv[0]);
    return 2;
  }
  Labelled texts;
  for (int i = 3; i < argc; ++i) read(argv[i], texts);
  models::Models models;
  const auto whole = make_router(argv[1], false, models);
  const auto short_of = make_router(argv[1], true, models);
  Prompts prompts(texts);
  int all = 0, same = 0;
  for (const std::string_view kind : kKinds) {
    int agreed = 0;
    const int count = std::atoi(argv[2]);
    for (int i = 0; i < count; ++i) {
      const request::ChatRequest request = request_of(prompts.make(kind));
      const std::string of_whole = decided(*whole, request), of_short = decided(*short_of, request);
      agreed += of_whole == of_short ? 1 : 0;
      if (of_whole != of_short)
        fmt::print("  {}: \"{}\" of the whole, \"{}\" of the skeleton\n", prompts.label(), of_whole,
                   of_short);
    }
    fmt::print("{:6} {} of {} decisions agree ({:.1f} %)\n", kind, agreed, count,
               100.0 * agreed / std::max(count, 1));
    std::fflush(stdout);
    all += count;
    same += agreed;
  }
  fmt::print("all    {} of {} ({:.1f} %)\n", same, all, 100.0 * same / std::max(all, 1));
  return 0;
}
