// Tests which models a second configuration takes over from the first.

#include "router/models/model_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/router/fake_classifier.h"

namespace signalbox::models {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
 protected:
  Cache() : folder_(fs::temp_directory_path() / fmt::format("signalbox_cache_{}", ::getpid())) {
    write("a/config.json", "{}");
    write("a/model.safetensors", "weights");
    write("b/config.json", "{}");
  }
  ~Cache() override { fs::remove_all(folder_); }

  void write(std::string_view name, std::string_view text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  // Replaces a file as tools for models do: with a new file of the same name.
  void replace(std::string_view name, std::string_view text) const {
    write("new", text);
    fs::rename(folder_ / "new", folder_ / name);
  }
  ModelCache::Model get(std::string_view name) {
    auto model = cache_.get((folder_ / name).string());
    EXPECT_TRUE(model);
    return model ? *model : nullptr;
  }

  fs::path folder_;
  int opened_ = 0;
  ModelCache cache_{[this](const std::string& directory) -> Result<ModelCache::Model> {
    if (!fs::exists(directory)) return fail(Code::kNotFound, "{}: no such directory", directory);
    ++opened_;
    return std::make_shared<const test::FakeClassifier>(std::vector<std::string>{"x", "y"},
                                                        engine::HeadKind::kSequence, false);
  }};
};

TEST_F(Cache, opens_a_model_in_use_once) {
  const auto first = get("a");
  EXPECT_EQ(get("a"), first);
  EXPECT_NE(get("b"), first);
  EXPECT_EQ(opened_, 2);
}

TEST_F(Cache, opens_changed_files_again) {
  const auto first = get("a");
  replace("a/model.safetensors", "WEIGHTS");
  const auto second = get("a");
  EXPECT_NE(second, first) << "the same size, another file";
  write("a/tokenizer.json", "{}");
  EXPECT_NE(get("a"), second) << "a file more";
  fs::create_symlink("../b", folder_ / "a/pooling");
  const auto linked = get("a");
  replace("b/config.json", "[]");
  EXPECT_NE(get("a"), linked) << "a file behind a link";
  EXPECT_EQ(opened_, 5);
}

TEST_F(Cache, keeps_no_unused_model_in_memory) {
  const std::weak_ptr<const engine::TextModel> model = get("a");
  EXPECT_TRUE(model.expired());
  get("a");
  EXPECT_EQ(opened_, 2);
}

TEST_F(Cache, tries_again_after_an_error) {
  EXPECT_EQ(cache_.get((folder_ / "c").string()).error().code, Code::kNotFound);
  write("c/config.json", "{}");
  EXPECT_NE(get("c"), nullptr);
}

}  // namespace
}  // namespace signalbox::models
