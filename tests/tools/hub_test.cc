// The parts of the hub client that need no server; tests/e2e/hub.test.mjs tests the whole.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/hub/client.h"
#include "tools/hub/http.h"
#include "tools/hub/repository.h"
#include "tools/hub/selection.h"
#include "tools/progress_bar.h"

namespace signalbox::tools {
namespace {

TEST(HubNames, consist_of_an_owner_a_name_and_a_revision) {
  const auto name = parse_repository_name("hf:BAAI/bge-small-en-v1.5@refs/pr/3");
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(name->id, "BAAI/bge-small-en-v1.5");
  EXPECT_EQ(name->name(), "bge-small-en-v1.5");
  EXPECT_EQ(name->revision, "refs/pr/3");
  EXPECT_EQ(name->text(), "hf:BAAI/bge-small-en-v1.5@refs/pr/3");
  EXPECT_EQ(parse_repository_name("bert-base-uncased")->name(), "bert-base-uncased");
  for (const char* text : {"", "hf:", "a/b/c", "/a", "a/", "a/..", "../a", "a/b@", "a/b@..",
                           "a b/c", "-a/b", "a/.b", "a/b@x//y", "a/b\n", "a/b@x y", "\xC3\xA4/b"}) {
    EXPECT_FALSE(parse_repository_name(text)) << text;
  }
  EXPECT_FALSE(parse_repository_name(std::string(97, 'a')));
}

TEST(HubPaths, stay_inside_of_the_repository) {
  for (const char* path :
       {"a", "a/b", "1_Pooling/config.json", ".gitattributes", "a b", "\xC3\xA4"}) {
    EXPECT_TRUE(is_safe_path(path)) << path;
  }
  for (const char* path :
       {"", "/a", "a/", "a//b", "..", "a/../b", "./a", "a\\b", "a\nb", "a\x7F"}) {
    EXPECT_FALSE(is_safe_path(path)) << path;
  }
  EXPECT_FALSE(is_safe_path(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_safe_path(std::string(256, 'a')));
}

TEST(HubAddresses, have_an_origin_that_decides_who_gets_the_token) {
  EXPECT_EQ(origin_of("https://HuggingFace.co/a/b"), "https://huggingface.co:443");
  EXPECT_EQ(origin_of("http://127.0.0.1:80"), origin_of("http://127.0.0.1/x?y"));
  EXPECT_EQ(origin_of("http://[::1]:8080/a"), "http://[::1]:8080");
  EXPECT_EQ(origin_of("http://[::1]/a"), "http://[::1]:80");
  EXPECT_NE(origin_of("https://huggingface.co.evil.example/"),
            origin_of("https://huggingface.co/"));
  EXPECT_NE(origin_of("https://huggingface.co:444/"), origin_of("https://huggingface.co/"));
  for (const char* address : {"", "ftp://a", "file:///etc/passwd", "https://", "https:///a",
                              "https://huggingface.co@evil.example/", "https://a b/",
                              "https://a\"/", "https://a/\n", "https://:443/"}) {
    EXPECT_EQ(origin_of(address), "") << address;
  }
}

TEST(HubAddresses, redirects_are_resolved_and_never_weaken_the_connection) {
  const std::string from = "https://hub.example:8443/a/b";
  EXPECT_EQ(resolve_location(from, "/c?d"), "https://hub.example:8443/c?d");
  EXPECT_EQ(resolve_location(from, "https://cdn.example/c"), "https://cdn.example/c");
  EXPECT_EQ(resolve_location(from, "//cdn.example/c"), "https://cdn.example/c");
  EXPECT_EQ(resolve_location("http://127.0.0.1:1", "/c"), "http://127.0.0.1:1/c");
  for (const char* to : {"http://hub.example/c", "file:///etc/passwd", "c", "", "https://a\r\nb"}) {
    EXPECT_EQ(resolve_location(from, to), "") << to;
  }
  EXPECT_EQ(escape_url("a/b c%\xC3", true), "a/b%20c%25%C3");
  EXPECT_EQ(escape_url("refs/pr/1", false), "refs%2Fpr%2F1");
}

TEST(HubReplies, the_last_header_block_counts) {
  const HttpReply reply = parse_header_dump(
      "HTTP/1.1 200 Connection established\r\n\r\nHTTP/2 302 \r\nLocation: https://a/b\r\n"
      "X-Linked-Size:  12 \r\nnonsense\r\n\r\n");
  EXPECT_EQ(reply.status, 302);
  EXPECT_EQ(reply.header("location"), "https://a/b");
  EXPECT_EQ(reply.header("x-linked-size"), "12");
  EXPECT_EQ(reply.header("etag"), "");
  for (const char* dump : {"", "HTTP/", "HTTP/1.1", "HTTP/1.1 \r\n", "HTTP/1.1 abc\r\n",
                           "HTTP/1.1 -02\r\n", ":\r\n"}) {
    EXPECT_EQ(parse_header_dump(dump).status, 0) << dump;
  }
}

TEST(HubReplies, the_requested_wait_is_read_in_seconds) {
  EXPECT_EQ(retry_after("", 0.5), 0.5);
  EXPECT_EQ(retry_after("0", 0.5), 0.5);
  EXPECT_EQ(retry_after("17", 0.5), 17);
  EXPECT_EQ(retry_after("Wed, 21 Oct 2026 07:28:00 GMT", 2), 2);
  EXPECT_EQ(retry_after("-5", 2), 2);
}

Repository listing(const std::vector<std::string>& paths) {
  Repository out;
  for (const std::string& path : paths) out.files.push_back({path, 1, "", ""});
  return out;
}

std::string weights_of(const std::vector<std::string>& paths) {
  const auto selection = select_files(listing(paths));
  return selection ? selection->weights : selection.error().message;
}

TEST(HubSelection, prefers_safetensors_over_pytorch_over_onnx) {
  EXPECT_EQ(weights_of({"config.json", "onnx/model.onnx", "pytorch_model.bin", "model.safetensors",
                        "model.safetensors.index.json"}),
            "model.safetensors");
  EXPECT_EQ(weights_of({"config.json", "pytorch_model.bin", "model.safetensors.index.json"}),
            "model.safetensors.index.json");
  EXPECT_EQ(weights_of({"config.json", "onnx/model.onnx", "pytorch_model.bin"}),
            "pytorch_model.bin");
  EXPECT_EQ(weights_of({"config.json", "onnx/model_quantized.onnx", "onnx/model.onnx"}),
            "onnx/model.onnx");
  EXPECT_EQ(weights_of({"adapter_config.json", "adapter_model.safetensors"}),
            "adapter_model.safetensors");
  EXPECT_EQ(weights_of({"model.safetensors"}),
            "the repository has no config.json; it has model.safetensors");
  EXPECT_NE(weights_of({"config.json"}).find("no weights that can be read"), std::string::npos);
  EXPECT_EQ(weights_of({"modules.json", "0_Transformer/config.json", "0_Transformer/vocab.txt",
                        "0_Transformer/pytorch_model.bin", "1_Pooling/config.json"}),
            "the encoder is in 0_Transformer/, as sentence-transformers wrote it before version 2: "
            "load the model with a newer version and save it again");
}

TEST(HubSelection, takes_settings_and_steps_and_leaves_the_rest) {
  const auto selection = select_files(
      listing({".gitattributes", "1_Pooling/config.json", "2_Dense/config.json",
               "2_Dense/model.safetensors", "2_Dense/pytorch_model.bin",
               "3_Dense/pytorch_model.bin", "README.md", "config.json", "model.onnx",
               "model.onnx_data", "optimizer.pt", "checkpoint-1/config.json",
               "sentence_roberta_config.json", "tokenizer.json", "vocab.txt", "x_1/config.json"}));
  ASSERT_TRUE(selection) << selection.error().message;
  EXPECT_EQ(
      selection->settings,
      (std::vector<std::string>{"config.json", "tokenizer.json", "sentence_roberta_config.json",
                                "1_Pooling/config.json", "2_Dense/config.json",
                                "2_Dense/model.safetensors", "3_Dense/pytorch_model.bin"}));
  EXPECT_EQ(selection->more_weights, std::vector<std::string>{"model.onnx_data"});
}

TEST(HubSelection, takes_vocabularies_where_there_is_no_tokenizer) {
  const auto settings_of = [](std::vector<std::string> paths) {
    paths.insert(paths.end(), {"added_tokens.json", "model.safetensors"});
    const auto selection = select_files(listing(paths));
    return selection ? selection->settings : std::vector<std::string>{selection.error().message};
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(settings_of({"config.json", "merges.txt", "vocab.json"}),
            (Names{"config.json", "vocab.json", "merges.txt", "added_tokens.json"}));
  for (const char* name :
       {"vocab.txt", "spm.model", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model"}) {
    EXPECT_EQ(settings_of({"config.json", name}),
              (Names{"config.json", name, "added_tokens.json"}));
    EXPECT_EQ(settings_of({"config.json", name, "tokenizer.json"}),
              (Names{"config.json", "tokenizer.json", "added_tokens.json"}));
  }
  EXPECT_EQ(settings_of({"config.json"}), Names{"config.json"});
  const auto adapter =
      select_files(listing({"adapter_config.json", "adapter_model.safetensors", "vocab.txt"}));
  ASSERT_TRUE(adapter);
  EXPECT_EQ(adapter->settings, Names{"adapter_config.json"});
}

TEST(ProgressBar, shows_share_speed_and_the_time_left) {
  EXPECT_EQ(progress_text("tiny", 0, 45'000'000, 90'000'000, 0.5),
            "tiny [###############...............]  50 %  45.0 MB of 90.0 MB");
  EXPECT_EQ(progress_text("tiny", 15'000'000, 45'000'000, 90'000'000, 2),
            "tiny [###############...............]  50 %  45.0 MB of 90.0 MB, 15.0 MB/s, 3 s left");
  EXPECT_EQ(progress_text("tiny", 0, 10, 10, 2),
            "tiny [##############################] 100 %  10 bytes of 10 bytes, 5 bytes/s");
  EXPECT_EQ(progress_text("tiny", 0, 0, 0, 0),
            "tiny [##############################] 100 %  0 bytes of 0 bytes");
  EXPECT_EQ(bytes_text(2'270'000'000), "2.3 GB");
}

}  // namespace
}  // namespace signalbox::tools
