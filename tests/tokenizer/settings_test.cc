// The files beside a tokenizer.json. Each line of data/settings.jsonl states them with the parts of
// a tokenizer.json that give the same result without them.

#include <unistd.h>

#include <cstring>
#include <sstream>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

namespace fs = std::filesystem;

class SettingsFiles : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(testing::TempDir()) / fmt::format("signalbox_settings_{}", getpid());
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }

  // Writes the small tokenizer with a row's parts and the row's files.
  void write_row(const json::Value& row) const {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    const auto with = row.find("with");
    write("tokenizer.json", small_json(with ? with->raw() : "{}"));
    const json::Value files = row.find("files").value();
    for (const json::Member& file : files.members()) write(std::string(file.key), file.value.raw());
  }

  std::unique_ptr<const Tokenizer> open() const {
    auto tokenizer = Tokenizer::open_directory(directory_);
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    return tokenizer ? std::move(*tokenizer) : nullptr;
  }

  fs::path directory_;
};

// Calls check(row) for each line of a file.
template <class Check>
int for_each_line(std::string_view name, const Check& check) {
  std::istringstream rows(read_file(data_file(name)));
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    SCOPED_TRACE(line);
    const auto row = json::Document::parse(line);
    EXPECT_TRUE(row);
    if (row) check(row->root());
  }
  return count;
}

struct Ids {
  std::vector<int32_t> ids;
  Ranges offsets;
  std::vector<uint8_t> types;
  bool operator==(const Ids&) const = default;
};

// Encodes the texts of a row alone and as pairs.
std::vector<Ids> encode_all(const Tokenizer& tokenizer, const json::Value& row) {
  std::vector<Ids> out;
  Encoding encoding;
  const auto keep = [&] {
    out.push_back({encoding.ids, byte_offsets(encoding), encoding.type_ids});
  };
  const json::Value texts = row.find("texts").value();
  for (const json::Value& text : texts.items()) {
    tokenizer.encode(text.text(), {}, encoding);
    keep();
    tokenizer.encode_pair(text.text(), "the a", {}, encoding);
    keep();
  }
  return out;
}

TEST_F(SettingsFiles, change_the_tokenizer_as_stated) {
  const int count = for_each_line("settings.jsonl", [&](const json::Value& row) {
    write_row(row);
    const auto with_files = open();
    const auto without = Tokenizer::open(directory_ / "tokenizer.json");
    const auto same = small_tokenizer(row.find("same")->raw());
    ASSERT_TRUE(with_files != nullptr && without && same != nullptr);
    const auto found = encode_all(*with_files, row);
    EXPECT_TRUE(found == encode_all(*same, row)) << testing::PrintToString(found.front().ids);
    EXPECT_EQ(found != encode_all(**without, row), row.find("differs")->boolean());
  });
  EXPECT_GE(count, 55);
}

TEST_F(SettingsFiles, that_contradict_the_tokenizer_are_refused) {
  const int count = for_each_line("settings_refused.jsonl", [&](const json::Value& row) {
    write_row(row);
    const auto tokenizer = Tokenizer::open_directory(directory_);
    ASSERT_FALSE(tokenizer);
    EXPECT_EQ(tokenizer.error().code, Code::kCorrupt);
    const std::string message(row.find("message")->text());
    EXPECT_EQ(tokenizer.error().message, directory_.string() + message.substr(strlen("DIR")));
  });
  EXPECT_GE(count, 17);
}

// A file that cannot be read is not the same as one that is not there.
TEST_F(SettingsFiles, that_are_links_to_themselves_are_refused) {
  write("tokenizer.json", small_json());
  fs::create_symlink("tokenizer_config.json", directory_ / "tokenizer_config.json");
  const auto tokenizer = Tokenizer::open_directory(directory_);
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().message, (directory_ / "tokenizer_config.json").string() +
                                           ": Too many levels of symbolic links");
}

TEST_F(SettingsFiles, state_a_limit_and_the_side_that_is_cut) {
  write("tokenizer.json", small_json());
  const auto limit = [&](std::string_view config) {
    write("tokenizer_config.json", config);
    return open()->tokens_max();
  };
  EXPECT_EQ(open()->tokens_max(), 0);
  EXPECT_EQ(limit(R"({"model_max_length": 512})"), 512);
  EXPECT_EQ(limit(R"({"model_max_length": 512.0})"), 512);
  EXPECT_EQ(limit(R"({"model_max_length": null})"), 0);
  // Hugging Face's library writes its "very large integer" if there is no limit.
  EXPECT_EQ(limit(R"({"model_max_length": 1000000000000000019884624838656})"), 0);
  EXPECT_EQ(limit(R"({"model_max_length": 1e+30})"), 0);
  EXPECT_EQ(limit(R"({"x": "NaN \" Infinity", "model_max_length": Infinity, "y": [NaN]})"), 0);
  EXPECT_EQ(limit(R"({"model_max_length": 7, "model_max_length": 8})"), 8);

  EXPECT_EQ(open()->side(), TruncationSide::kRight);
  write("tokenizer_config.json", R"({"truncation_side": "left"})");
  EXPECT_EQ(open()->side(), TruncationSide::kLeft);
  write("tokenizer.json", small_json(R"({"truncation": {"direction": "Left"}})"));
  EXPECT_EQ(open()->side(), TruncationSide::kLeft);
  write("tokenizer_config.json", R"({"truncation_side": "right"})");
  EXPECT_EQ(open()->side(), TruncationSide::kRight);
  fs::remove(directory_ / "tokenizer_config.json");
  EXPECT_EQ(open()->side(), TruncationSide::kLeft);
}

}  // namespace
}  // namespace signalbox::tokenizer
