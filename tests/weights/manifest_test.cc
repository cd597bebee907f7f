// The manifest's reader: accepted input, and every wrong value is reported with its line and key
// path.

#include "weights/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/sha256.h"
#include "weights/manifest_places.h"
#include "weights/shipped.h"

namespace signalbox::weights {
namespace {

const std::string kSha(64, 'a');

std::string with(std::string_view key, std::string_view value) {
  const auto pick = [key, value](std::string_view name, std::string_view standard) {
    return std::string(key == name ? value : standard);
  };
  return "default: " + pick("default", "[tiny]") + "\n" + "models:\n  " + pick("model", "tiny") +
         ":\n" + "    summary: " + pick("summary", "a test") + "\n" +
         "    licence: MIT\n"
         "    sources:\n"
         "      - npm: " +
         pick("npm", "\"@scope/tiny\"") + "\n" + "        version: " + pick("version", "1.0.0") +
         "\n" +
         "        files:\n"
         "          - name: " +
         pick("name", "config.json") + "\n" +
         "            path: " + pick("path", "model/config.json") + "\n" +
         "            bytes: " + pick("bytes", "12") + "\n" +
         "            sha256: " + pick("sha256", kSha) + "\n" + pick("extra", "");
}

std::string error_of(const std::string& text) {
  const auto manifest = Manifest::parse(text, "m.yaml");
  return manifest ? "accepted" : manifest.error().message;
}

TEST(Manifest, a_model_is_read_whole) {
  const auto manifest = Manifest::parse(with("", ""), "m.yaml");
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->defaults, std::vector<std::string>{"tiny"});
  const ManifestModel* model = manifest->find("tiny");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->licence, "MIT");
  const ManifestSource* source = model->find("npm");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->origin, "@scope/tiny");
  EXPECT_EQ(source->version, "1.0.0");
  ASSERT_EQ(source->files.size(), 1u);
  EXPECT_EQ(source->files[0].path, "model/config.json");
  EXPECT_EQ(source->bytes(), 12u);
  EXPECT_EQ(model->find("hub"), nullptr);
  EXPECT_EQ(manifest->find("other"), nullptr);
}

TEST(Manifest, the_built_in_copy_is_the_file_of_the_tree) {
  const auto built_in = Manifest::built_in();
  ASSERT_TRUE(built_in) << built_in.error().message;
  const auto file = Manifest::load(SIGNALBOX_SOURCE_DIR "/weights/manifest.yaml");
  ASSERT_TRUE(file) << file.error().message;
  const ManifestModel* minilm = built_in->find("minilm");
  ASSERT_NE(minilm, nullptr);
  ASSERT_EQ(built_in->models.size(), file->models.size());
  EXPECT_EQ(minilm->sources[0].files[0].sha256, file->find("minilm")->sources[0].files[0].sha256);
  EXPECT_EQ(minilm->sources[0].files[0].bytes, 45'441'937u);
  EXPECT_EQ(minilm->find("hub")->origin, "sentence-transformers/all-MiniLM-L6-v2");
}

TEST(Manifest, a_wrong_value_is_named_with_its_line_and_path_and_the_expected_value) {
  EXPECT_EQ(error_of(with("sha256", "abc")),
            "m.yaml:13: models.tiny.sources[0].files[0].sha256: expected 64 lower-case hexadecimal "
            "digits, found \"abc\"");
  EXPECT_EQ(
      error_of(with("bytes", "-1")),
      "m.yaml:12: models.tiny.sources[0].files[0].bytes: expected a whole number of bytes, at "
      "least 1, found \"-1\"");
  EXPECT_EQ(error_of(with("default", "[gone]")),
            "m.yaml:1: default[0]: expected the name of a model of this file, found \"gone\"");
}

TEST(Manifest, a_key_that_is_unknown_or_missing_is_named) {
  EXPECT_EQ(error_of(with("extra", "            mode: 7\n")),
            "m.yaml:14: models.tiny.sources[0].files[0].mode: unknown key (known: name, path, "
            "bytes, sha256)");
  EXPECT_EQ(error_of("models: {}\n"), "m.yaml:1: default: missing");
}

TEST(Manifest, names_that_leave_the_directory_or_look_like_options_are_refused) {
  for (const char* name : {"../config.json", "a/../b", "/a", "\"\"", ".partial", "a/.b", "-rf",
                           "\"a b\"", "[a]", "\"a\\0b\""}) {
    EXPECT_NE(error_of(with("name", name)).find("expected a relative path"), std::string::npos)
        << name;
  }
  for (const char* path : {"../x", "/etc/passwd", "a//b", "a/../b", "a/", "\"\"", "-x", "a/./b"}) {
    EXPECT_NE(error_of(with("path", path)).find("expected a relative path"), std::string::npos)
        << path;
  }
  for (const char* package :
       {"--prefix", "\"@a/b/c\"", "\"@a\"", "\"a b\"", "\"git+ssh://x\"", "../x"}) {
    EXPECT_NE(error_of(with("npm", package)).find("expected a package name"), std::string::npos)
        << package;
  }
  for (const char* version : {"\"\"", "\"^1.0.0\"", "\"1 || 2\"", "-1"}) {
    EXPECT_NE(error_of(with("version", version)).find("expected an exact version"),
              std::string::npos)
        << version;
  }
  EXPECT_NE(error_of(with("model", "../up")).find("expected a plain name"), std::string::npos);
}

TEST(Manifest, an_adapter_is_found_by_its_heads_and_comes_after_its_base) {
  const std::string adapter = R"(
default: [trunk, tone]
models:
  trunk:
    summary: s
    licence: MIT
    sources: [{npm: p, version: 1.0.0, files: [{name: a/b, path: c, bytes: 1, sha256: )" +
                              std::string(64, 'a') + R"(}]}]
  voice:
    summary: s
    licence: MIT
    base: trunk
    heads: [tone, topic]
    sources: [{built-in: voice, files: [{name: a, path: a, bytes: 1, sha256: )" +
                              std::string(64, 'b') + R"(}]}]
)";
  const auto manifest = Manifest::parse(adapter, "m.yaml");
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->find("topic"), &manifest->models[1]);
  EXPECT_EQ(manifest->models[1].base, "trunk");
  EXPECT_EQ(kind_name(manifest->models[1].sources[0].kind), "built-in");
  std::string backwards = adapter;
  backwards.replace(backwards.find("base: trunk"), 11, "base: other");
  EXPECT_NE(error_of(backwards).find("models.voice.base: expected a model before this one"),
            std::string::npos);
}

TEST(Manifest, a_hub_source_without_files_has_the_name_of_its_repository) {
  const std::string text = R"(
default: []
models:
  bge:
    summary: s
    licence: MIT
    purpose: embedding
    parameters: 33 M
    quality: good
    aliases: [light, small]
    gated: true
    prompts: {query: "find: ", passage: ""}
    sources: [{hub: Owner/bge}]
)";
  const auto manifest = Manifest::parse(text, "m.yaml");
  ASSERT_TRUE(manifest) << manifest.error().message;
  const ManifestModel& model = manifest->models[0];
  EXPECT_FALSE(model.sources[0].is_pinned());
  EXPECT_TRUE(model.is_gated);
  EXPECT_EQ(manifest->find("small"), &model);
  EXPECT_EQ(manifest->find_repository("owner/BGE"), &model);
  EXPECT_EQ(manifest->find_repository("bge"), nullptr);
  EXPECT_EQ(*model.prompt("query"), "find: ");
  EXPECT_EQ(*model.prompt("passage"), "");
  EXPECT_EQ(model.prompt("other"), nullptr);
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return error_of(other);
  };
  EXPECT_EQ(changed("Owner/bge", "Owner/other"),
            "m.yaml:13: models.bge.sources[0].hub: expected a repository with the name of the "
            "model, because no files are listed, found \"Owner/other\"");
  EXPECT_EQ(changed("gated: true", "gated: 1"),
            "m.yaml:11: models.bge.gated: expected true or false, found \"1\"");
  EXPECT_EQ(changed("passage: \"\"", "document: \"\""),
            "m.yaml:12: models.bge.prompts.document: unknown key (known: query, passage)");
}

TEST(Manifest, each_name_of_the_built_in_list_means_one_model) {
  const Manifest manifest = Manifest::built_in().value();
  std::set<std::string> names;
  for (const ManifestModel& model : manifest.models) {
    EXPECT_FALSE(model.purpose.empty()) << model.name;
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    for (const std::string& alias : model.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    for (const std::string& head : model.heads) EXPECT_TRUE(names.insert(head).second) << head;
  }
  EXPECT_EQ(manifest.find_repository("llm-semantic-router/mmbert32k-pii-detector-merged")->purpose,
            "pii");
}

TEST(ManifestPlaces, a_model_is_found_where_pull_puts_it) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "places";
  std::filesystem::create_directories(root / "lettucedect-base-modernbert-en-v1");
  const std::string named = (root / "mom-halugate-detector").string();
  EXPECT_EQ(installed_directory(named), named);  // there is no config.json yet
  std::ofstream(root / "lettucedect-base-modernbert-en-v1/config.json") << "{}";
  EXPECT_EQ(installed_directory(named), (root / "lettucedect-base-modernbert-en-v1").string());
  EXPECT_EQ(installed_directory(named + "/"), installed_directory(named));
  EXPECT_EQ(installed_directory((root / "none").string()), (root / "none").string());
  std::filesystem::create_directories(named);
  EXPECT_EQ(installed_directory(named), named);
  EXPECT_EQ(installed_directory(""), "");
  std::filesystem::remove_all(root);
}

TEST(ManifestPlaces, the_command_puts_the_model_where_it_is_searched) {
  EXPECT_EQ(pull_command("models/mmbert32k-intent-classifier-merged"),
            "signalbox models pull hf:llm-semantic-router/mmbert32k-intent-classifier-merged");
  EXPECT_EQ(
      pull_command("/var/models/mom-halugate-detector/"),
      "signalbox models pull hf:KRLabsOrg/lettucedect-base-modernbert-en-v1 --to /var/models");
  EXPECT_EQ(pull_command("sentence-transformers/all-MiniLM-L12-v2"),
            "signalbox models pull hf:sentence-transformers/all-MiniLM-L12-v2");
  for (const char* network : {"bert", "roberta", "modernbert"}) {
    const std::string command =
        pull_command(fmt::format("models/lora_jailbreak_classifier_{}_model", network));
    EXPECT_NE(command.find("/lora_jailbreak_classifier_"), std::string::npos) << network;
  }
  EXPECT_EQ(pull_command("models/signals/domain"), "signalbox models pull signals");
  EXPECT_EQ(pull_command("/x/signals/pii"), "signalbox models pull signals --to /x");
  EXPECT_EQ(pull_command("models/domain"), "");  // a head is not a model of its own
  EXPECT_EQ(pull_command("models/unheard-of"), "");
  EXPECT_EQ(pull_command("models/Vela-1.0-Encoder-307M-Guard"),
            "signalbox models pull hf:vllm-sr/Vela-1.0-Encoder-307M-Guard");
  EXPECT_EQ(pull_command("models/mmbert32k-intent"),
            "signalbox models pull hf:llm-semantic-router/mmbert32k-intent-classifier-lora");
}

// The build stores the list and the files separately.
TEST(Manifest, built_in_files_match_the_manifest) {
  const Manifest manifest = Manifest::built_in().value();
  for (const ManifestModel& model : manifest.models) {
    const ManifestSource* source = model.find("built-in");
    if (source == nullptr) continue;
    for (const ManifestFile& file : source->files) {
      const auto bytes = shipped_file(fmt::format("{}/{}", source->origin, file.path));
      ASSERT_TRUE(bytes) << model.name << " " << file.path;
      EXPECT_EQ(bytes->size(), file.bytes) << file.path;
      EXPECT_EQ(sha256_hex(*bytes), file.sha256) << file.path;
    }
  }
}

TEST(Manifest, bytes_that_do_not_fit_or_are_not_a_number_are_refused) {
  for (const char* bytes :
       {"0", "1.5", "1e6", "99999999999999999999999", "twelve", "\"\"", "[1]", "12 "}) {
    const bool accepted = error_of(with("bytes", bytes)) == "accepted";
    EXPECT_EQ(accepted, std::string_view(bytes) == "12 ") << bytes;
  }
}

TEST(Manifest, two_files_of_one_name_are_refused) {
  const std::string twice =
      "          - {name: config.json, path: b.json, bytes: 1, sha256: " + kSha + "}\n";
  EXPECT_NE(error_of(with("extra", twice)).find("files[1]: expected a new name"),
            std::string::npos);
}

TEST(Manifest, other_yaml_is_refused) {
  for (const char* text : {"", "[]", "a", "default: [\n", "default: x\nmodels: {}\n",
                           "default: []\nmodels: []\n", "default: []\nmodels: {a: 1}\n",
                           "default: []\nmodels: {a: {summary: s, licence: l, sources: []}}\n"}) {
    EXPECT_NE(error_of(text), "accepted") << text;
  }
}

}  // namespace
}  // namespace signalbox::weights
