// Runs `signalbox convert` on models. One network, written in every format, must give the same
// tensors and the same hidden states, and errors must name what is missing. The real gte-small must
// give the same rank correlation on STS dev as ONNX Runtime.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "base/json.h"
#include "engine/engine.h"
#include "tests/engine/random_network.h"
#include "tests/engine/sts.h"
#include "tests/weights/foreign_files.h"
#include "weights/safetensors.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
using engine::Checkpoint;
using engine::TestTensor;

constexpr const char* kConfig =
    R"({"model_type":"bert","architectures":["BertModel"],"vocab_size":56,"hidden_size":36,)"
    R"("intermediate_size":50,"num_hidden_layers":2,"num_attention_heads":3,"hidden_act":"gelu",)"
    R"("max_position_embeddings":40,"type_vocab_size":2,"layer_norm_eps":1e-12})";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = 0; (at = text.find(from)) != std::string_view::npos;) {
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

std::string bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::vector<float> transposed(const TestTensor& tensor) {
  const size_t rows = tensor.shape[0], columns = tensor.shape[1];
  std::vector<float> out(rows * columns);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) out[j * rows + i] = tensor.values[i * columns + j];
  }
  return out;
}

bool is_product(const std::string& name, const TestTensor& tensor) {
  return tensor.shape.size() == 2 && !name.starts_with("embeddings.");
}

// Writes a checkpoint as torch.onnx does: weights of matrix products are transposed and have
// numbers for names.
std::string onnx_of(const Checkpoint& tensors) {
  std::vector<std::string> nodes, constants;
  for (const auto& [name, tensor] : tensors) {
    if (!is_product(name, tensor)) {
      constants.push_back(weights::onnx_tensor(name, 1, tensor.shape, bytes(tensor.values)));
      continue;
    }
    const std::string number = fmt::format("onnx::MatMul_{}", nodes.size());
    constants.push_back(weights::onnx_tensor(number, 1, {tensor.shape[1], tensor.shape[0]},
                                             bytes(transposed(tensor))));
    const std::string path =
        fmt::format("/{}", replaced(replaced(name, ".", "/"), "layer/", "layer."));
    nodes.push_back(weights::onnx_node("MatMul", replaced(path, "/weight", "/MatMul"),
                                       {"x", number}, fmt::format("{}_output", number)));
  }
  return weights::onnx_model(nodes, constants);
}

std::string torch_of(const Checkpoint& tensors) {
  std::vector<weights::TorchTensor> pickled;
  std::vector<std::pair<std::string, std::string>> storages;
  for (const auto& [name, tensor] : tensors) {
    const auto columns = static_cast<int32_t>(tensor.shape.back());
    const std::vector<int32_t> shape(tensor.shape.begin(), tensor.shape.end());
    const std::string key = std::to_string(storages.size());
    const auto size = static_cast<int32_t>(tensor.values.size());
    if (is_product(name, tensor)) {  // a transposed view
      pickled.push_back({name, "FloatStorage", key, size, 0, shape, {1, shape[0]}});
      storages.emplace_back(key, bytes(transposed(tensor)));
      continue;
    }
    const auto strides = shape.size() == 1 ? std::vector<int32_t>{1} : std::vector{columns, 1};
    pickled.push_back({name, "FloatStorage", key, size, 0, shape, strides});
    storages.emplace_back(key, bytes(tensor.values));
  }
  return weights::torch_file(weights::torch_pickle(pickled), storages);
}

TestTensor doubling() {
  TestTensor w{{36, 36}, std::vector<float>(36 * 36)};
  for (size_t i = 0; i < 36; ++i) w.values[i * 37] = 2;
  return w;
}

// Writes a step of sentence-transformers that doubles each number, and returns its weights' file.
std::string add_dense_layer(const fs::path& folder) {
  write(folder / "config.json", R"({"in_features": 36, "out_features": 36, "bias": false,)"
                                R"("activation_function": "torch.nn.modules.linear.Identity"})");
  engine::write_checkpoint(folder / "model.safetensors", {{"linear.weight", doubling()}}, "F32");
  return read(folder / "model.safetensors");
}

std::string gguf_name(std::string name) {
  const std::pair<const char*, const char*> names[] = {
      {"embeddings.word_embeddings", "token_embd"},
      {"embeddings.token_type_embeddings", "token_types"},
      {"embeddings.position_embeddings", "position_embd"},
      {"embeddings.LayerNorm", "token_embd_norm"},
      {"encoder.layer.", "blk."},
      {"attention.output.LayerNorm", "attn_output_norm"},
      {"attention.output.dense", "attn_output"},
      {"attention.self.query", "attn_q"},
      {"attention.self.key", "attn_k"},
      {"attention.self.value", "attn_v"},
      {"intermediate.dense", "ffn_up"},
      {"output.LayerNorm", "layer_output_norm"},
      {"output.dense", "ffn_down"}};
  for (const auto& [from, to] : names) name = replaced(name, from, to);
  return name;
}

// The tokens of the tests' letter tokenizer, in llama.cpp's form.
std::vector<std::string> gguf_tokens() {
  std::vector<std::string> out = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
  for (const char* prefix : {"\u2581", ""}) {
    for (char letter = 'a'; letter <= 'z'; ++letter) {
      out.push_back(fmt::format("{}{}", prefix, letter));
    }
  }
  return out;
}

struct GgufChoices {
  uint32_t pooling = 2;
  const char* tokenizer = "bert";
  std::vector<std::string> tokens = gguf_tokens();
};

std::string gguf_of(const Checkpoint& tensors, const GgufChoices& choices = {}) {
  weights::GgufWriter out;
  out.string("general.architecture", "bert").u32("bert.block_count", 2);
  out.u32("bert.embedding_length", 36).u32("bert.feed_forward_length", 50);
  out.u32("bert.attention.head_count", 3).f32("bert.attention.layer_norm_epsilon", 1e-12f);
  out.u32("bert.pooling_type", choices.pooling);
  out.string("tokenizer.ggml.model", choices.tokenizer);
  out.strings("tokenizer.ggml.tokens", choices.tokens);
  for (const auto& [name, tensor] : tensors) {
    const std::vector<uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
    out.tensor(gguf_name(name), dims, 0, bytes(tensor.values));
  }
  return out.file();
}

class ConvertModel : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Runs `signalbox convert ARGUMENTS` in the test's folder; returns its exit status.
  int run(const std::string& arguments) {
    const std::string command = fmt::format("cd '{}' && '{}' convert {} >out 2>err",
                                            folder_.string(), SIGNALBOX_PROGRAM, arguments);
    const int status = std::system(command.c_str());
    out_ = read(folder_ / "out");
    err_ = read(folder_ / "err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void expect_same_model(const fs::path& directory) const {
    const auto found = weights::SafeTensors::open(directory / "model.safetensors");
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->tensors().size(), network_.tensors().size());
    for (const weights::Tensor& tensor : found->tensors()) {
      const TestTensor& expected = network_.tensors().at(std::string(tensor.name));
      EXPECT_TRUE(std::ranges::equal(tensor.shape, expected.shape)) << tensor.name;
      EXPECT_TRUE(std::ranges::equal(tensor.bytes, std::as_bytes(std::span(expected.values))))
          << tensor.name;
    }
    const auto ids = network_.ids(9);
    const auto original = engine::TextModel::open(network_.directory());
    const auto converted = engine::TextModel::open(directory);
    ASSERT_TRUE(converted) << converted.error().message;
    EXPECT_EQ((*converted)->states(ids)->last_hidden_state,
              (*original)->states(ids)->last_hidden_state);
    EXPECT_EQ((*converted)->encode("ab c").value(), (*original)->encode("ab c").value());
  }

  void copy(const std::string& name, const fs::path& to) const {
    write(folder_ / to / name, read(network_.directory() / name));
  }

  const engine::RandomNetwork network_{kConfig, true};
  const fs::path folder_ = fs::path(testing::TempDir()) / "signalbox_convert_model" /
                           testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string out_;
  std::string err_;
};

TEST_F(ConvertModel, makes_the_same_model_from_every_format) {
  const Checkpoint& tensors = network_.tensors();
  const auto middle = std::next(tensors.begin(), static_cast<ptrdiff_t>(tensors.size() / 2));
  const Checkpoint first(tensors.begin(), middle), second(middle, tensors.end());
  const auto index = [&](const std::string& extension) {
    std::string out;
    for (const auto& [name, tensor] : tensors) {
      out += fmt::format("{}\"{}\":\"{}.{}\"", out.empty() ? "" : ",", name,
                         first.contains(name) ? 1 : 2, extension);
    }
    return fmt::format("{{\"weight_map\":{{{}}}}}", out);
  };
  write(folder_ / "onnx/x.onnx", onnx_of(tensors));
  write(folder_ / "torch/pytorch_model.bin", torch_of(tensors));
  write(folder_ / "shards/1.bin", torch_of(first));
  write(folder_ / "shards/2.bin", torch_of(second));
  write(folder_ / "shards/pytorch_model.bin.index.json", index("bin"));
  copy("model.safetensors", "single");
  fs::create_directories(folder_ / "several");
  write_checkpoint(folder_ / "several/1.safetensors", first, "F32");
  write_checkpoint(folder_ / "several/2.safetensors", second, "F32");
  write(folder_ / "several/model.safetensors.index.json", index("safetensors"));
  const struct {
    const char* in;
    const char* folder;
    const char* format;
  } cases[] = {{"onnx/x.onnx", "onnx", "onnx"},
               {"torch", "torch", "pytorch"},
               {"shards", "shards", "pytorch"},
               {"single/model.safetensors", "single", "safetensors"},
               {"several", "several", "safetensors"}};
  for (const auto& one : cases) {
    copy("config.json", one.folder);
    copy("tokenizer.json", one.folder);
    SCOPED_TRACE(one.in);
    ASSERT_EQ(run(fmt::format("{} new-{}", one.in, one.folder)), 0) << err_;
    expect_same_model(folder_ / fmt::format("new-{}", one.folder));
    const auto summary = json::Document::parse(out_);
    ASSERT_TRUE(summary) << out_;
    EXPECT_EQ(summary->root().find("format")->text(), one.format);
    EXPECT_EQ(summary->root().find("tensors")->integer(), static_cast<int64_t>(tensors.size()));
    EXPECT_TRUE(summary->root().find("opens")->boolean());
    EXPECT_NE(err_.find("encoder.layer.N.attention.self.query.weight  F32 [36, 36] x 2\n"),
              std::string::npos)
        << err_;
  }
}

TEST_F(ConvertModel, needs_only_the_file_of_a_gguf_model) {
  write(folder_ / "m.gguf", gguf_of(network_.tensors()));
  ASSERT_EQ(run("m.gguf new"), 0) << err_;
  expect_same_model(folder_ / "new");
  // pooling_type 2 means the first token, which is not the default for a model without
  // modules.json.
  std::vector<float> vector(36);
  const std::string_view text = "ab";
  const auto model = engine::TextModel::open(folder_ / "new");
  ASSERT_TRUE((*model)->embed({&text, 1}, vector));
  const auto states = (*model)->states((*model)->encode(text).value())->last_hidden_state;
  float norm = 0;
  for (size_t i = 0; i < vector.size(); ++i) norm += states[i] * states[i];
  EXPECT_NEAR(vector[0], states[0] / std::sqrt(norm), 1e-6f);
}

TEST_F(ConvertModel, names_the_unsupported_part_of_a_gguf) {
  const auto convert = [&](const GgufChoices& choices) {
    write(folder_ / "m.gguf", gguf_of(network_.tensors(), choices));
    return run("m.gguf new");
  };
  ASSERT_EQ(convert({.pooling = 1, .tokenizer = "gpt2"}), 0) << err_;
  EXPECT_TRUE(err_.starts_with("found no tokenizer.json")) << err_;
  EXPECT_FALSE(fs::exists(folder_ / "new/modules.json"));
  std::vector<std::string> cased = gguf_tokens();
  cased.back() = "Z";
  ASSERT_EQ(convert({.tokens = cased}), 0) << err_;
  const auto ids_of = [&](std::string_view text) {
    return engine::TextModel::open(folder_ / "new").value()->encode(text).value();
  };
  const auto ids = [](int32_t last) { return std::vector<int32_t>{2, 4, last, 3}; };
  EXPECT_EQ(ids_of("aZ"), ids(55));
  const std::string settings = R"({"do_lower_case": true, "model_max_length": 9})";
  write(folder_ / "tokenizer_config.json", settings);
  ASSERT_EQ(convert({}), 0) << err_;
  EXPECT_EQ(read(folder_ / "new/tokenizer_config.json"), settings) << "the file beside it counts";
  EXPECT_EQ(ids_of("aZ"), ids(55));
  fs::remove(folder_ / "tokenizer_config.json");
  EXPECT_EQ(convert({.pooling = 4}), 1);
  EXPECT_EQ(err_, "signalbox: m.gguf: bert.pooling_type: 4 is not supported (supported: 0 to 3)\n");
  EXPECT_EQ(convert({.tokens = {"[CLS]", "[SEP]", "[UNK]", "a", "a"}}), 1);
  EXPECT_EQ(err_, "signalbox: m.gguf: vocabulary token 4: duplicate \"##a\"\n");
  write(folder_ / "m.gguf", weights::GgufWriter().string("general.architecture", "bert").file());
  EXPECT_EQ(run("m.gguf new"), 1);
  EXPECT_EQ(err_, "signalbox: m.gguf: metadata \"bert.block_count\" is missing\n");
}

TEST_F(ConvertModel, finds_the_files_in_the_layout_of_a_hub) {
  write(folder_ / "hub/onnx/model.onnx", onnx_of(network_.tensors()));
  copy("config.json", "hub");
  copy("tokenizer.json", "hub");
  write(folder_ / "hub/modules.json",
        R"([{"type": "sentence_transformers.models.Transformer", "path": ""},)"
        R"({"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},)"
        R"({"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])");
  write(folder_ / "hub/1_Pooling/config.json", R"({"pooling_mode_cls_token": true})");
  write(folder_ / "hub/1_Pooling/model.safetensors", "a pooling has no weights");
  const std::string dense = add_dense_layer(folder_ / "hub/2_Dense");
  write(folder_ / "hub/2_Dense/pytorch_model.bin", torch_of({{"linear.weight", doubling()}}));
  const std::string prompts = R"({"prompts": {"query": "q: "}})";
  write(folder_ / "hub/config_sentence_transformers.json", prompts);
  write(folder_ / "hub/sentence_albert_config.json", R"({"max_seq_length": 20})");
  ASSERT_EQ(run("hub hub"), 0) << err_;  // into the same folder
  expect_same_model(folder_ / "hub");
  ASSERT_EQ(run("hub/onnx/model.onnx new"), 0) << err_;
  expect_same_model(folder_ / "new");
  EXPECT_EQ(read(folder_ / "new/1_Pooling/config.json"), R"({"pooling_mode_cls_token": true})");
  EXPECT_FALSE(fs::exists(folder_ / "new/1_Pooling/model.safetensors"));
  EXPECT_EQ(read(folder_ / "new/2_Dense/model.safetensors"), dense);
  EXPECT_FALSE(fs::exists(folder_ / "new/2_Dense/pytorch_model.bin")) << "the same weights again";
  // Older repositories have PyTorch's format of dense layers only.
  const auto vector_of = [&](const char* directory) {
    std::vector<float> out(36);
    const std::string_view text = "ab";
    EXPECT_TRUE(engine::TextModel::open(folder_ / directory).value()->embed({&text, 1}, out));
    return out;
  };
  const std::vector<float> expected = vector_of("new");
  fs::remove(folder_ / "hub/2_Dense/model.safetensors");
  ASSERT_EQ(run("hub/onnx/model.onnx older"), 0) << err_;
  EXPECT_EQ(vector_of("older"), expected);
  EXPECT_EQ(read(folder_ / "new/config_sentence_transformers.json"), prompts);
  EXPECT_EQ(read(folder_ / "new/sentence_albert_config.json"), R"({"max_seq_length": 20})");
  write(folder_ / "hub/modules.json", R"([{"type": "x.Pooling", "path": ".."}])");
  EXPECT_EQ(run("hub/onnx/model.onnx other"), 1);
  EXPECT_EQ(
      err_,
      "signalbox: hub/onnx/model.onnx: modules.json: path: \"..\" is not a plain file name\n");
}

TEST_F(ConvertModel, makes_a_tokenizer_from_a_vocabulary) {
  write(folder_ / "m/pytorch_model.bin", torch_of(network_.tensors()));
  copy("config.json", "m");
  std::string vocabulary = "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n";
  for (const char* prefix : {"", "##"}) {
    for (char letter = 'a'; letter <= 'z'; ++letter) {
      vocabulary += fmt::format("{}{}\r\n", prefix, letter);
    }
  }
  write(folder_ / "m/vocab.txt", vocabulary);
  ASSERT_EQ(run("m new"), 0) << err_;
  expect_same_model(folder_ / "new");
  write(folder_ / "m/tokenizer_config.json", R"({"do_lower_case": false})");
  ASSERT_EQ(run("m cased"), 0) << err_;
  EXPECT_NE(read(folder_ / "cased/tokenizer.json").find("\"lowercase\":false"), std::string::npos);
  write(folder_ / "m/vocab.txt", "[CLS]\n[SEP]\n");
  EXPECT_EQ(run("m other"), 1);
  EXPECT_EQ(err_,
            "signalbox: m/pytorch_model.bin: vocab.txt: the vocabulary lacks [UNK], which "
            "BERT requires\n");
}

TEST_F(ConvertModel, the_names_of_labels_are_kept) {
  write(folder_ / "m/pytorch_model.bin", torch_of(network_.tensors()));
  copy("config.json", "m");
  for (const char* name :
       {"category_mapping.json", "pii_type_mapping.json", "jailbreak_type_mapping.json"}) {
    write(folder_ / "m" / name, name);
    ASSERT_EQ(run("m new"), 0) << err_;
    EXPECT_EQ(read(folder_ / "new" / name), name);
  }
}

TEST_F(ConvertModel, uses_the_config_that_is_named) {
  write(folder_ / "m.onnx", onnx_of(network_.tensors()));
  write(folder_ / "c", kConfig);
  EXPECT_EQ(run("m.onnx new"), 1);
  EXPECT_EQ(err_, "signalbox: m.onnx: found no config.json next to it; name one with --config\n");
  ASSERT_EQ(run("m.onnx new --config c"), 0) << err_;
  EXPECT_EQ(read(folder_ / "new/config.json"), kConfig);
  EXPECT_TRUE(err_.starts_with("found no tokenizer.json")) << err_;
}

TEST_F(ConvertModel, reports_that_the_engine_cannot_open_the_result) {
  copy("model.safetensors", "m");
  write(folder_ / "m/config.json", R"({"model_type": "bert", "hidden_act": "relu"})");
  ASSERT_EQ(run("m new"), 0) << err_;
  EXPECT_NE(err_.find("the engine cannot open it: "), std::string::npos) << err_;
  EXPECT_NE(out_.find("\"opens\":false"), std::string::npos) << out_;
}

TEST_F(ConvertModel, refuses_a_small_file_with_many_large_tensors) {
  std::vector<weights::TorchTensor> views;
  for (int i = 0; i < 100; ++i) {
    views.push_back({fmt::format("t{}", i), "FloatStorage", "0", 25000, 0, {25000}, {1}});
  }
  write(folder_ / "m.bin",
        weights::torch_file(weights::torch_pickle(views), {{"0", std::string(100000, 'x')}}));
  write(folder_ / "config.json", kConfig);
  EXPECT_EQ(run("m.bin new"), 1);
  EXPECT_EQ(
      err_,
      "signalbox: m.bin: its tensors take 10000000 bytes; the limit is 16 times the file's size\n");
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(ConvertModel, names_the_invalid_file_and_keeps_existing_ones) {
  copy("model.safetensors", "m");
  copy("config.json", "m");
  EXPECT_EQ(run("m m"), 1);
  EXPECT_EQ(err_,
            "signalbox: m/model.safetensors: this is the output file itself; choose another OUT\n");
  EXPECT_EQ(run("m x.json"), 1);
  EXPECT_EQ(err_, "signalbox: x.json: IN is a model, so OUT must be a directory\n");
  fs::create_directories(folder_ / "empty");
  EXPECT_EQ(run("empty new"), 1);
  EXPECT_EQ(err_, "signalbox: empty: no weights file with a known name in it\n");
  write(folder_ / "bad.gguf", "GGUFxxxx");
  EXPECT_EQ(run("bad.gguf m"), 1);
  EXPECT_TRUE(err_.starts_with("signalbox: bad.gguf: version ")) << err_;
  write(folder_ / "bad.onnx",
        weights::onnx_model({}, {weights::onnx_tensor("\x1b[2J", 8, {}, "")}));
  EXPECT_EQ(run("bad.onnx m"), 1);  // no control character reaches the terminal
  EXPECT_EQ(err_, "signalbox: bad.onnx: tensor \"?[2J\": data_type 8 is not supported\n");
  write(folder_ / "bad.onnx", "");
  EXPECT_EQ(run("bad.onnx m"), 1);
  EXPECT_EQ(err_, "signalbox: bad.onnx: no graph\n");
  EXPECT_EQ(read(folder_ / "m/model.safetensors"),
            read(network_.directory() / "model.safetensors"));
  EXPECT_EQ(out_, "");
}

TEST_F(ConvertModel, gte_small_has_the_rank_correlation_of_onnx_runtime) {
  const fs::path source = SIGNALBOX_SOURCE_DIR;
  const auto onnx = source / "models/gte-small/model.onnx";
  const auto texts = source / "../shared/data/sts_dev.jsonl";
  if (!fs::exists(onnx)) GTEST_SKIP() << "models/gte-small is not pulled";
  if (!fs::exists(texts)) GTEST_SKIP() << texts << " is not there";
  ASSERT_EQ(run(fmt::format("'{}' gte", onnx.string())), 0) << err_;
  engine::OpenOptions options;
  options.threads = 2;
  const auto model = engine::TextModel::open(folder_ / "gte", options);
  ASSERT_TRUE(model) << model.error().message;
  const double spearman = engine::spearman_on_sts(**model, texts);
  EXPECT_NEAR(spearman, 0.8940, 0.0003);
  RecordProperty("spearman", fmt::format("{:.5f}", spearman));
}

}  // namespace
}  // namespace signalbox
