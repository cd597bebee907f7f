// Runs run, classify, tag, embed and bench, and checks their output rows and exit codes.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "base/json.h"
#include "engine/engine.h"
#include "kernels/kernels.h"
#include "tests/engine/random_adapter.h"
#include "tests/engine/random_network.h"

namespace signalbox::tools {
namespace {

using engine::RandomNetwork;

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs `signalbox COMMAND --model DIR MORE` on the rows of `input`.
Outcome run(const char* command, const RandomNetwork& network, const std::string& input,
            const std::string& more = "") {
  const engine::TemporaryDirectory folder;
  const auto in = folder.path() / "in", out = folder.path() / "out", err = folder.path() / "err";
  std::ofstream(in, std::ios::binary) << input;
  const std::string line =
      fmt::format("{} {} --model {} {} <{} >{} 2>{}", SIGNALBOX_PROGRAM, command,
                  network.directory().string(), more, in.string(), out.string(), err.string());
  const int status = std::system(line.c_str());
  return {WEXITSTATUS(status), read_file(out), read_file(err)};
}

json::Document parse(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  auto document = json::Document::parse(outcome.out);
  EXPECT_TRUE(document) << outcome.out;
  return *std::move(document);
}

RandomNetwork network(std::string_view architecture, std::string_view more = "",
                      bool tokenizer = true) {
  return RandomNetwork(fmt::format("{{{}{}}}", engine::small_modern_bert(architecture), more),
                       tokenizer);
}

constexpr const char* kSequence = "ModernBertForSequenceClassification";
constexpr const char* kTokens = "ModernBertForTokenClassification";
constexpr const char* kLabels =
    R"(,"id2label":{"0":"law","1":"maths","2":"physics","3":"health","4":"other"})";

void expect_row(const json::Value& row, const double* expected, size_t count) {
  size_t i = 0;
  for (const json::Value& x : row.items()) {
    ASSERT_LT(i, count);
    EXPECT_NEAR(x.number().value(), expected[i++], 1e-4);
  }
  EXPECT_EQ(i, count);
}

TEST(RunCommand, writes_the_logits_of_a_sequence_and_its_hidden_states_on_request) {
  const RandomNetwork random = network(kSequence, "", false);  // ids need no tokenizer
  const auto expected = random.reference({5, 6, 7});
  const std::string input = "{\"ids\": [5, 6, 7]}\n";
  const auto plain = parse(run("run", random, input));
  expect_row(plain.root().find("logits").value(), expected.logits.data(), 5);
  EXPECT_FALSE(plain.root().find("last_hidden_state"));
  const auto with_hidden = parse(run("run", random, input, "--hidden"));
  EXPECT_TRUE(with_hidden.root().find("logits"));
  size_t row = 0;
  for (const json::Value& states : with_hidden.root().find("last_hidden_state")->items())
    expect_row(states, &expected.hidden[48 * row++], 48);
  EXPECT_EQ(row, 3u);
}

TEST(RunCommand, writes_a_row_of_logits_per_token) {
  const RandomNetwork random = network(kTokens);
  const auto expected = random.reference({5, 6, 7});
  const auto found = parse(run("run", random, "{\"ids\": [5, 6, 7]}\n"));
  size_t row = 0;
  for (const json::Value& logits : found.root().find("logits")->items())
    expect_row(logits, &expected.logits[5 * row++], 5);
  EXPECT_EQ(row, 3u);
  EXPECT_EQ(run("run", random, "{\"text\": \"abc\"}\n{\"text\": \"d\"}\n").exit_code, 0);
}

TEST(RunCommand, names_a_bad_row) {
  const RandomNetwork random = network(kSequence);
  const struct {
    const char *input, *message;
  } cases[] = {
      {"{\"ids\": [5, 56]}", "signalbox: line 1: id 56 is outside the vocabulary of 56\n"},
      {"{\"ids\": [5, 1.5]}", "signalbox: line 1: ids[1]: expected a token id, found 1.5\n"},
      {"{\"ids\": 3}", "signalbox: line 1: ids: expected an array of integers\n"},
      {"{\"ids\": []}", "signalbox: line 1: no ids, expected at least one\n"},
      {"{}", "signalbox: line 1: text: missing\n"},
      {"{\"ids\": [5], \"types\": [0]}",
       "signalbox: line 1: types: unknown member (known: ids, type_ids, text)\n"},
      {"{\"ids\": [5], \"text\": \"a\"}", "signalbox: line 1: text: not together with ids\n"},
      {"{\"text\": \"a\", \"type_ids\": [0]}",
       "signalbox: line 1: type_ids: only together with ids\n"},
      {"{\"ids\": [5], \"type_ids\": [0, 0]}",
       "signalbox: line 1: 2 types for 1 ids, expected as many\n"},
      {"{\"ids\": [5], \"type_ids\": [1]}",
       "signalbox: line 1: type 1 of an id, the model has 1 segment type\n"},
      {"{\"ids\": [5], \"type_ids\": [-1]}",
       "signalbox: line 1: type_ids[0]: expected a segment type from 0 to 255, found -1\n"},
  };
  for (const auto& [input, message] : cases) {
    const Outcome outcome = run("run", random, input);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, message);
  }
}

TEST(RunCommand, a_model_without_a_head_needs_hidden) {
  const RandomNetwork bare = network("ModernBertModel");
  const Outcome outcome = run("run", bare, "{\"ids\": [5]}\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("no head that returns logits; use --hidden"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(run("run", bare, "{\"ids\": [5]}\n", "--hidden").exit_code, 0);
}

TEST(ClassifyCommand, writes_the_best_label_and_every_score) {
  const RandomNetwork random = network(kSequence, kLabels);
  const auto found = parse(run("classify", random, "{\"text\": \"a small text\"}\n"));
  const json::Value scores = found.root().find("scores").value();
  double total = 0, best = 0;
  std::string best_label;
  for (const json::Member& member : scores.members()) {
    const double score = member.value.number().value();
    total += score;
    if (score > best) best_label = member.key;
    best = std::max(best, score);
  }
  EXPECT_NEAR(total, 1, 1e-5);
  EXPECT_EQ(found.root().find("label")->text(), best_label);
  EXPECT_EQ(found.root().find("score")->number().value(), best);
  EXPECT_TRUE(scores.find("physics"));
}

TEST(ClassifyCommand, reads_pairs) {
  const RandomNetwork random = network(kSequence, kLabels);
  const Outcome alone = run("classify", random, "{\"text\": \"a\"}\n");
  const Outcome pair = run("classify", random, "{\"text\": \"a\", \"pair\": \"b\"}\n");
  EXPECT_EQ(pair.exit_code, 0) << pair.err;
  EXPECT_NE(alone.out, pair.out);
  const Outcome bad = run("classify", random, "{\"text\": \"a\", \"pair\": 1}\n");
  EXPECT_EQ(bad.err, "signalbox: line 1: pair: expected a string, found number\n");
}

TEST(ClassifyCommand, names_the_command_that_a_token_head_needs) {
  const Outcome outcome = run("classify", network(kTokens), "");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("no head that classifies texts; its heads: "), std::string::npos)
      << outcome.err;
  EXPECT_NE(run("tag", network(kSequence), "").err.find("(classifies texts)"), std::string::npos);
}

TEST(TagCommand, counts_code_points) {
  // Every token begins an entity, so each word is in one.
  const RandomNetwork random =
      network(kTokens, R"(,"id2label":{"0":"B-A","1":"B-B","2":"B-C","3":"B-D","4":"B-E"})");
  const auto found =
      parse(run("tag", random, "{\"text\": \"\xC3\xA9\xC3\xA9 b \xF0\x9F\x8C\x8D c\"}\n"));
  std::vector<std::string> texts;
  std::vector<int64_t> starts, ends;
  for (const json::Value& entity : found.root().find("entities")->items()) {
    texts.emplace_back(entity.find("text")->text());
    starts.push_back(entity.find("start")->integer().value());
    ends.push_back(entity.find("end")->integer().value());
    EXPECT_EQ(entity.find("type")->text().size(), 1u);
    EXPECT_GT(entity.find("score")->number().value(), 0.2);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"\xC3\xA9\xC3\xA9", "b", "\xF0\x9F\x8C\x8D", "c"}));
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 3, 5, 7}));
  EXPECT_EQ(ends, (std::vector<int64_t>{2, 4, 6, 8}));
}

TEST(TagCommand, an_empty_text_has_no_entities) {
  EXPECT_EQ(run("tag", network(kTokens), "{\"text\": \"\"}\n").out, "{\"entities\":[]}\n");
}

// Returns words of one letter each; a letter is one token.
std::string row_of_words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "x ";
  return "{\"text\": \"" + text + "y\"}\n";
}

constexpr const char* kCut =
    "1 of 2 texts is longer than 256 windows of 256 tokens; not all of it was read\n";

TEST(ClassifyCommand, reads_a_whole_text_or_reports_how_many_were_cut) {
  const RandomNetwork random = network(kSequence, kLabels);
  const Outcome outcome = run("classify", random, row_of_words(80'000) + row_of_words(700));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, std::string("signalbox classify: ") + kCut);
  EXPECT_EQ(run("classify", random, row_of_words(700)).err, "");
}

TEST(ClassifyCommand, takes_a_document_and_refuses_another_mark) {
  const RandomNetwork random = network(kSequence, kLabels);
  const Outcome plain = run("classify", random, "{\"text\": \"a b\"}\n");
  EXPECT_EQ(run("classify", random, "{\"text\": \"a b\", \"document\": true}\n").out, plain.out);
  EXPECT_EQ(run("classify", random, "{\"text\": \"a b\", \"document\": 1}\n").err,
            "signalbox: line 1: document: expected true or false, found 1\n");
}

TEST(TagCommand, reads_a_whole_text_like_the_router) {
  const RandomNetwork random =
      network(kTokens, R"(,"id2label":{"0":"B-A","1":"B-B","2":"B-C","3":"B-D","4":"B-E"})");
  const std::string rows = row_of_words(7) + row_of_words(700);
  const auto last_end = [](const Outcome& outcome) {
    const std::string last = outcome.out.substr(outcome.out.find('\n') + 1);
    int64_t end = 0;
    const auto document = json::Document::parse(last);
    for (const json::Value& entity : document->root().find("entities")->items())
      end = entity.find("end")->integer().value();
    return end;
  };
  for (const char* more : {"", "--rules"}) {
    const Outcome outcome = run("tag", random, rows, more);
    EXPECT_EQ(last_end(outcome), 1401) << more;
    EXPECT_EQ(outcome.err, "");
  }
  EXPECT_EQ(run("tag", random, row_of_words(80'000) + row_of_words(7)).err,
            std::string("signalbox tag: ") + kCut);
}

constexpr const char* kRanker =
    R"({"model_type":"bert","architectures":["BertForSequenceClassification"],"vocab_size":56,)"
    R"("hidden_size":24,"intermediate_size":20,"num_hidden_layers":2,"num_attention_heads":2,)"
    R"("max_position_embeddings":64,"type_vocab_size":2,"layer_norm_eps":1e-12,"num_labels":1)";

// The scores by the index of the document; checks that they are in descending order.
std::vector<double> ranked(const Outcome& outcome) {
  const auto document = parse(outcome);
  std::vector<double> out(3, NAN);
  double last = INFINITY;
  for (const json::Value& row : document.root().find("results")->items()) {
    const double score = row.find("score")->number().value();
    EXPECT_LE(score, last);
    last = score;
    out.at(row.find("index")->integer().value()) = score;
  }
  return out;
}

TEST(RerankCommand, orders_documents_by_the_score_of_each_pair) {
  const RandomNetwork sigmoid(fmt::format("{}}}", kRanker), true);
  const RandomNetwork raw(
      fmt::format(R"({},"sentence_transformers":{{"activation_fn":"torch.nn.modules.linear.)"
                  R"(Identity"}}}})",
                  kRanker),
      true);
  const std::string input = R"({"query": "a b", "documents": ["c d", {"text": "e f"}, "g h"]})";
  const auto scores = ranked(run("rerank", sigmoid, input)),
             logits = ranked(run("rerank", raw, input));
  const auto model = engine::TextModel::open(raw.directory());
  ASSERT_TRUE(model);
  const char* documents[] = {"c d", "e f", "g h"};
  for (size_t i = 0; i < 3; ++i) {
    const engine::Input pair{.text = "a b", .pair = documents[i]};
    const double logit = (*model)->answer({&pair, 1})->front().scores.front();
    EXPECT_NEAR(logits[i], logit, 1e-6);
    EXPECT_NEAR(scores[i], 1 / (1 + std::exp(-logit)), 1e-6);
  }
}

TEST(RerankCommand, gives_a_long_document_the_score_of_its_best_window) {
  const RandomNetwork raw(
      fmt::format(R"({},"sentence_transformers":{{"activation_fn":"torch.nn.modules.linear.)"
                  R"(Identity"}}}})",
                  kRanker),
      true);
  const auto model = engine::TextModel::open(raw.directory()).value();
  std::string text;
  while (text.size() < 3u * static_cast<size_t>(model->tokens_max()))
    text += static_cast<char>('a' + text.size() * 7 % 26), text += ' ';
  const int32_t room = model->tokens_max() - model->tokens({.text = "a b"}).value();
  float best = -1e30f;
  const auto windows = model->windows(text, room, room / 8).value();
  ASSERT_GT(windows.size(), 1u);
  for (const std::string_view window : windows) {
    const engine::Input pair{.text = "a b", .pair = window};
    EXPECT_FALSE(model->is_cut(pair).value());
    best = std::max(best, model->answer({&pair, 1})->front().scores.front());
  }
  const Outcome whole = run("rerank", raw, R"({"query": "a b", "documents": [")" + text + "\"]}");
  EXPECT_NEAR(ranked(whole).at(0), best, 1e-6);
  EXPECT_EQ(whole.out.find("truncated"), std::string::npos);
  std::string longer;
  for (int i = 0; i < 70; ++i) longer += text;
  const std::string row = R"({"query": "a b", "documents": ["c", ")" + longer + "\"]}";
  const Outcome cut = run("rerank", raw, row);
  EXPECT_NE(cut.out.find("\"truncated\":true"), std::string::npos) << cut.out;
  EXPECT_NE(cut.err.find("1 of 2 texts is longer than a query of"), std::string::npos) << cut.err;
}

TEST(RerankCommand, refuses_other_heads_and_names_the_place_of_a_bad_row) {
  const RandomNetwork ranker(fmt::format("{}}}", kRanker), true);
  const Outcome labels = run("rerank", network(kSequence, kLabels), "");
  EXPECT_EQ(labels.exit_code, 1);
  EXPECT_NE(labels.err.find("has 5 labels; a reranker has one label"), std::string::npos);
  EXPECT_EQ(run("rerank", ranker, R"({"query": "a", "documents": ["b", 7]})").err,
            "signalbox: line 1: documents[1]: expected a string or an object with \"text\"\n");
  EXPECT_EQ(run("rerank", ranker, R"({"query": "a"})").err,
            "signalbox: line 1: documents: expected an array of strings\n");
  EXPECT_EQ(run("rerank", ranker, R"({"query": "a", "documents": []})").out, "{\"results\":[]}\n");
}

TEST(EmbedCommand, puts_the_models_own_prompt_in_front) {
  const RandomNetwork random = network("ModernBertModel");
  const auto embedding = [&](const std::string& text, const std::string& more = "") {
    return run("embed", random, "{\"text\": \"" + text + "\"}\n", more).out;
  };
  const Outcome none = run("embed", random, "{\"text\": \"a\"}\n", "--as query");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("config_sentence_transformers.json"), std::string::npos) << none.err;
  const auto path = random.directory() / "config_sentence_transformers.json";
  std::ofstream(path) << R"({"prompts":{"query":"q r ","document":"d e "},)"
                         R"("default_prompt_name":null})";
  EXPECT_EQ(embedding("a", "--as query"), embedding("q r a"));
  EXPECT_EQ(embedding("a", "--as passage"), embedding("d e a"));
  EXPECT_NE(embedding("a", "--as passage"), embedding("a"));
  EXPECT_EQ(run("embed", random, "", "--as title").exit_code, 2);
  std::ofstream(path) << R"({"prompts":{"query":"q r "},"default_prompt_name":"query"})";
  EXPECT_EQ(embedding("a"), embedding("a", "--as query"));
  EXPECT_NE(embedding("a"), embedding("a", "--as passage")) << "this kind has no prompt";
  std::ofstream(path) << R"({"prompts":{"query":"q "},"default_prompt_name":"other"})";
  EXPECT_NE(run("embed", random, "").err.find("default_prompt_name: \"other\" is not among"),
            std::string::npos);
}

TEST(EmbedCommand, obeys_dim_layers_and_pooling) {
  const RandomNetwork random = network("ModernBertModel");
  const std::string input = "{\"text\": \"a small text\"}\n";
  const auto plain = parse(run("embed", random, input));
  size_t count = 0;
  for (const json::Value& x : plain.root().find("embedding")->items())
    count += x.is_number() ? 1 : 0;
  EXPECT_EQ(count, 48u);
  const auto short_one = parse(run("embed", random, input, "--dim 8 --layers 2 --pooling last"));
  double squares = 0;
  count = 0;
  for (const json::Value& x : short_one.root().find("embedding")->items()) {
    squares += x.number().value() * x.number().value();
    ++count;
  }
  EXPECT_EQ(count, 8u);
  EXPECT_NEAR(squares, 1, 1e-5);
}

TEST(EmbedCommand, refuses_options_by_name) {
  const RandomNetwork random = network("ModernBertModel");
  const Outcome pooling = run("embed", random, "", "--pooling sum");
  EXPECT_EQ(pooling.exit_code, 2);
  EXPECT_EQ(pooling.err,
            "signalbox embed: --pooling: expected mean, cls, last or max, found \"sum\"\n");
  EXPECT_EQ(run("embed", random, "", "--dim 0").exit_code, 2);
  const Outcome layers = run("embed", random, "{\"text\": \"a\"}\n", "--layers 9");
  EXPECT_EQ(layers.exit_code, 1);
  EXPECT_EQ(layers.err, "signalbox: line 1: 9 layers, the model has 4\n");
}

// The multiply-adds of one layer of a small ModernBERT: four matrix products, and two products for
// each pair of tokens within the window.
double multiply_adds_of_layer(int tokens, int window) {
  constexpr double kHidden = 48, kWide = 40;
  double pairs = 0;
  for (int i = 0; i < tokens; ++i) {
    for (int j = 0; j < tokens; ++j) pairs += std::abs(i - j) <= window ? 1 : 0;
  }
  return tokens * kHidden * (4 * kHidden + 3 * kWide) + 2 * kHidden * pairs;
}

TEST(BenchCommand, counts_exactly_the_operations_that_run) {
  const RandomNetwork random = network("ModernBertModel", "", false);
  const Outcome outcome = run("bench", random, "", "--tokens 2,40 --runs 4 --threads 2");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string line;
  for (const int tokens : {2, 40}) {
    ASSERT_TRUE(std::getline(lines, line));
    const auto row = json::Document::parse(line).value();
    const auto number = [&](const char* key) { return row.root().find(key)->number().value(); };
    EXPECT_EQ(number("tokens"), tokens);
    EXPECT_EQ(number("runs"), 4);
    EXPECT_EQ(number("threads"), 2);
    EXPECT_EQ(row.root().find("dtype")->text(), "f32");
    EXPECT_EQ(row.root().find("gemm")->text(), kernels::active_table().value()->gemm);
    EXPECT_GT(number("min_ms"), 0);
    EXPECT_LE(number("min_ms"), number("median_ms"));
    EXPECT_GT(number("peak_share"), 0);
    EXPECT_LT(number("peak_share"), 1);
    EXPECT_GT(number("peak_rss_mb"), 1);
    // Two of the four layers have a window of 4 tokens.
    const double operations =
        2 * (2 * multiply_adds_of_layer(tokens, tokens) + 2 * multiply_adds_of_layer(tokens, 4));
    EXPECT_NEAR(number("gflops") * number("min_ms") * 1e6, operations, 1e-6 * operations);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(BenchCommand, serves_texts_at_a_rate_whether_the_model_embeds_or_classifies) {
  double texts = 0;
  for (const char* architecture : {"ModernBertModel", kSequence, kTokens}) {
    const RandomNetwork random = network(architecture);
    const auto row = parse(run("bench", random, "", "--requests 300 --seconds 0.5 --workers 2"));
    const auto number = [&](const char* key) { return row.root().find(key)->number().value(); };
    EXPECT_EQ(number("requests_per_s"), 300);
    EXPECT_EQ(number("workers"), 2);
    // The arrivals are the same in every run.
    const double arrived = number("answered") + number("refused");
    EXPECT_GT(arrived, 50);
    if (texts == 0) texts = arrived;
    EXPECT_EQ(arrived, texts) << architecture;
    EXPECT_GT(number("p50_ms"), 0);
    EXPECT_LE(number("p50_ms"), number("p99_ms"));
    EXPECT_LE(number("p99_ms"), number("max_ms"));
    EXPECT_GT(number("texts_per_s"), 0);
    EXPECT_GE(number("mean_tokens"), 20);
    EXPECT_LE(number("mean_tokens"), 410);
    EXPECT_GT(number("cpu_ms"), 0);
  }
}

TEST(BenchCommand, refuses_options_by_name_and_value) {
  const RandomNetwork random = network("ModernBertModel", "", false);
  const struct {
    const char *options, *message;
    int exit_code;
  } cases[] = {
      {"--tokens 16,", "signalbox bench: --tokens: expected lengths of at least 1, found \"\"\n",
       2},
      {"--tokens 0", "signalbox bench: --tokens: expected lengths of at least 1, found \"0\"\n", 2},
      {"--tokens 8x", "signalbox bench: --tokens: expected lengths of at least 1, found \"8x\"\n",
       2},
      {"--dtype f64", "signalbox bench: --dtype: expected f32, bf16 or int8, found \"f64\"\n", 2},
      {"--threads 0", "signalbox bench: --threads: expected 1 to 256, found 0\n", 2},
      {"--runs 0", "signalbox bench: --runs: expected 1 to 1000, found 0\n", 2},
      {"--requests 0",
       "signalbox bench: --requests: expected more than 0 and at most 100000, found 0\n", 2},
      {"--requests 10 --seconds 601",
       "signalbox bench: --seconds: expected more than 0 and at most 600, found 601\n", 2},
      {"--requests 100000 --seconds 11",
       "signalbox bench: --requests: 100000 per second for 11 s are more than 1000000 texts\n", 2},
      {"--seconds 3", "signalbox bench: --seconds: needs --requests\n", 2},
      {"--workers 2", "signalbox bench: --workers: needs --requests\n", 2},
      {"--requests 10 --tokens 16", "signalbox bench: --tokens: not together with --requests\n", 2},
      {"--requests 10 --runs 2", "signalbox bench: --runs: not together with --requests\n", 2},
      {"--tokens 2,601", "signalbox: --tokens: 601 is above the model's limit of 600\n", 1},
  };
  for (const auto& [options, message, exit_code] : cases) {
    const Outcome outcome = run("bench", random, "", options);
    EXPECT_EQ(outcome.exit_code, exit_code) << options;
    EXPECT_EQ(outcome.err, message);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(ModelCommands, text_without_a_tokenizer_is_refused) {
  const RandomNetwork random = network(kSequence, "", false);
  const Outcome outcome = run("classify", random, "{\"text\": \"a\"}\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err,
            "signalbox: line 1: " + (random.directory() / "tokenizer.json").string() +
                ": missing from the model directory, so the model takes ids but no text; "
                "`signalbox convert` makes it from a vocabulary\n");
}

/// An adapter that replaces the head by one of three classes.
constexpr const char* kReplacesHead =
    R"({"adapter":{"peft_type":"LORA","task_type":"SEQ_CLS","r":4,"lora_alpha":8},)"
    R"("targets":{"Wqkv":{"rank":4,"scale":2}},)"
    R"("saved":{"classifier.weight":[3,48],"classifier.bias":[3]}})";

TEST(ModelCommands, merge_an_adapter) {
  const RandomNetwork random = network(kSequence, "", false);
  const auto row = json::Document::parse(kReplacesHead);
  const engine::RandomAdapter adapter(row->root(), random.tensors(), 3);
  const auto config =
      json::Document::parse(fmt::format("{{{}}}", engine::small_modern_bert(kSequence)));
  const auto expected = engine::reference(config->root(), adapter.merged(), {5, 6, 7});
  const auto found = parse(run("run", random, "{\"ids\": [5, 6, 7]}\n",
                               fmt::format("--adapter {}", adapter.directory().string())));
  expect_row(found.root().find("logits").value(), expected.logits.data(), 3);
  const engine::TemporaryDirectory out;
  const std::string convert =
      fmt::format("{} convert {} {} --merge-lora {} --dtype f32 >/dev/null 2>&1", SIGNALBOX_PROGRAM,
                  random.directory().string(), out.path().string(), adapter.directory().string());
  ASSERT_EQ(WEXITSTATUS(std::system(convert.c_str())), 0);
  const auto merged = engine::TextModel::open(out.path());
  ASSERT_TRUE(merged) << merged.error().message;
  const auto states = (*merged)->states(std::vector<int32_t>{5, 6, 7});
  ASSERT_TRUE(states);
  for (size_t i = 0; i < expected.logits.size(); ++i)
    EXPECT_NEAR(states->logits[0][i], expected.logits[i], 1e-4);
  const Outcome missing = run("run", random, "", "--adapter /nowhere");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.err.find("/nowhere/adapter_config.json"), std::string::npos) << missing.err;
}

TEST(ModelCommands, a_merged_head_has_no_labels_of_the_one_before) {
  constexpr const char* kMapping = "category_mapping.json";
  const RandomNetwork random = network(kSequence, "", false);
  const auto row = json::Document::parse(kReplacesHead);
  const engine::RandomAdapter adapter(row->root(), random.tensors(), 3);
  const auto merged_labels = [&]() -> std::vector<std::string> {
    const engine::TemporaryDirectory out;
    const std::string convert = fmt::format(
        "{} convert {} {} --merge-lora {} --dtype f32 >/dev/null 2>&1", SIGNALBOX_PROGRAM,
        random.directory().string(), out.path().string(), adapter.directory().string());
    if (std::system(convert.c_str()) != 0) return {"not converted"};
    const auto merged = engine::TextModel::open(out.path());
    if (!merged) return {merged.error().message};
    return (*merged)->heads().front().labels;
  };
  std::ofstream(random.directory() / kMapping)
      << R"({"idx_to_category":{"0":"a","1":"b","2":"c","3":"d","4":"e"}})";
  EXPECT_EQ(merged_labels(), (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
  std::ofstream(adapter.directory() / kMapping)
      << R"({"idx_to_category":{"0":"x","1":"y","2":"z"}})";
  EXPECT_EQ(merged_labels(), (std::vector<std::string>{"x", "y", "z"}));
}

TEST(ModelCommands, name_the_option_that_cannot_be_parsed) {
  const Outcome outcome = run("embed", network(kSequence), "", "--threads many");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--threads: cannot read \"many\""), std::string::npos) << outcome.err;
}

TEST(ModelCommands, bad_usage_exits_with_two) {
  for (const char* command : {"run", "classify", "tag", "embed", "bench"}) {
    const std::string line =
        fmt::format("{} {} --nonsense >/dev/null 2>&1", SIGNALBOX_PROGRAM, command);
    EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2) << command;
  }
}

}  // namespace
}  // namespace signalbox::tools
