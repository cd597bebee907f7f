// Applies the rules to the tree. A failure lists all problems at once.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/layers/rules.h"

namespace signalbox::layers {
namespace {

const std::vector<File>& tree() {
  static const std::vector<File> files = read_tree(SIGNALBOX_SOURCE_DIR);
  return files;
}

Table table(std::string_view name) {
  for (const File& file : tree()) {
    if (file.path == fmt::format("tests/layers/{}.txt", name)) return parse_table(file.text);
  }
  ADD_FAILURE() << "tests/layers/" << name << ".txt: not found";
  return {};
}

void expect_none(const std::function<Problems(const File&)>& rule) {
  ASSERT_GT(tree().size(), 30u) << "the tree was not found at " << SIGNALBOX_SOURCE_DIR;
  for (const File& file : tree()) {
    for (const std::string& problem : rule(file)) ADD_FAILURE() << problem;
  }
}

TEST(Tree, includes_follow_the_arrows_of_the_house) {
  const Table rooms = table("rooms");
  expect_none([&rooms](const File& file) { return check_arrows(file, rooms); });
}

TEST(Tree, no_rooms_include_each_other_in_a_circle) {
  for (const std::string& problem : check_acyclic(table("rooms"))) ADD_FAILURE() << problem;
}

TEST(Tree, every_file_of_the_router_lies_in_a_room_of_bounded_size) {
  for (const std::string& problem : check_rooms(tree(), table("rooms"), "router"))
    ADD_FAILURE() << problem;
}

TEST(Tree, each_library_is_included_by_its_adapter_only) {
  const Table libraries = table("libraries");
  expect_none([&libraries](const File& file) { return check_libraries(file, libraries); });
}

TEST(Tree, rooms_include_nothing_that_breaks_their_promise) {
  const Table purity = table("purity");
  expect_none([&purity](const File& file) { return check_purity(file, purity); });
}

TEST(Tree, every_source_file_is_built) {
  for (const std::string& problem : check_built(tree())) ADD_FAILURE() << problem;
}

TEST(Tree, no_source_file_is_over_the_limit_of_lines) {
  expect_none(check_length);
}

TEST(Tree, no_function_is_over_the_limit_of_lines) {
  expect_none(check_functions);
}

TEST(Tree, every_source_file_opens_with_a_comment_on_its_purpose) {
  expect_none(check_opening);
}

TEST(Tree, no_file_has_notes_to_self_or_machine_paths_or_emoji) {
  expect_none(check_words);
}

TEST(Tree, the_glossary_is_short_enough_to_be_read) {
  expect_none(check_glossary);
}

}  // namespace
}  // namespace signalbox::layers
