// The YAML tree: lines, rejected input, and limits against hostile files.

#include "base/yaml.h"

#include <gtest/gtest.h>

#include <string>

namespace signalbox::yaml {
namespace {

std::string message_of(std::string_view text, const Limits& limits = {}) {
  const auto node = parse(text, "f.yaml", limits);
  return node ? "accepted" : node.error().message;
}

TEST(Yaml, every_node_has_its_line) {
  const auto root =
      parse("# comment\na: 1\nb:\n  - x\n  - {c: 'two', d: }\nempty:\nlast: ~\n", "f.yaml");
  ASSERT_TRUE(root) << root.error().message;
  ASSERT_EQ(root->kind, Kind::kMapping);
  EXPECT_EQ(root->line, 2u);
  EXPECT_EQ(root->find("a")->scalar, "1");
  EXPECT_FALSE(root->find("a")->quoted);
  const Node& list = *root->find("b");
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0].line, 4u);
  EXPECT_EQ(list.items[0].column, 5u);
  EXPECT_EQ(list.items[1].entries[0].column, 6u);
  EXPECT_TRUE(list.items[1].find("c")->quoted);
  EXPECT_EQ(list.items[1].find("d")->kind, Kind::kNull);
  EXPECT_EQ(root->find("empty")->kind, Kind::kNull);
  EXPECT_EQ(root->find("empty")->line, 6u);
  EXPECT_EQ(root->find("last")->kind, Kind::kNull);
  EXPECT_EQ(root->find("nothing"), nullptr);
}

TEST(Yaml, text_in_quotes_or_with_a_string_tag_is_a_string) {
  const auto block = parse("- 1\n- !!str 1\n- \"~\"\n- |\n  1\n", "f.yaml");
  ASSERT_TRUE(block) << block.error().message;
  EXPECT_FALSE(block->items[0].quoted);
  EXPECT_TRUE(block->items[1].quoted);
  EXPECT_EQ(block->items[2].scalar, "~");
  EXPECT_EQ(block->items[3].scalar, "1\n");
}

TEST(Yaml, an_empty_file_is_null) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "\xEF\xBB\xBF"}) {
    const auto root = parse(text, "f.yaml");
    ASSERT_TRUE(root) << text << root.error().message;
    EXPECT_EQ(root->kind, Kind::kNull) << text;
  }
}

TEST(Yaml, aliases_become_copies) {
  const auto root = parse(
      "base: &b {x: 1, y: [2]}\ncopy: *b\nlist: [*b, *b]\nname: &n text\n*n : key\n", "f.yaml");
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(root->find("copy")->find("y")->items[0].scalar, "2");
  EXPECT_EQ(root->find("list")->items[1].find("x")->scalar, "1");
  EXPECT_EQ(root->find("text")->scalar, "key");
}

TEST(Yaml, merge_keys_add_only_keys_that_are_not_written_out) {
  const auto root = parse(
      "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\none:\n  <<: *a\n  y: 9\nmany: {<<: [*a, *b], w: "
      "0}\nplain: {\"<<\": 1}\n",
      "f.yaml");
  ASSERT_TRUE(root) << root.error().message;
  const Node& one = *root->find("one");
  EXPECT_EQ(one.entries.size(), 2u);
  EXPECT_EQ(one.find("x")->scalar, "1");
  EXPECT_EQ(one.find("y")->scalar, "9");
  const Node& many = *root->find("many");
  EXPECT_EQ(many.entries.size(), 4u);
  EXPECT_EQ(many.find("y")->scalar, "1");
  EXPECT_EQ(many.find("z")->scalar, "2");
  EXPECT_EQ(root->find("plain")->find("<<")->scalar, "1");
}

TEST(Yaml, errors_name_the_problem_and_the_line) {
  EXPECT_EQ(message_of("a: 1\nb: 2\na: 3\n"),
            "f.yaml:3: the key \"a\" is given twice, first on line 1");
  EXPECT_EQ(message_of("a: &x [1, *x]\n"), "f.yaml:1: the alias refers to a node it is part of");
  EXPECT_EQ(message_of("a: 1\nb: {<<: 3}\n"),
            "f.yaml:2: expected a mapping, or a list of mappings, to merge with <<");
  EXPECT_EQ(message_of("a: 1\n---\nb: 2\n"), "f.yaml:2: expected one document, found another");
  EXPECT_EQ(message_of("a: !python/object 1\n"), "f.yaml:1: unknown tag \"!python/object\"");
  EXPECT_EQ(message_of("? [1]\n: 2\n"), "f.yaml:1: expected a scalar as a key");
  EXPECT_EQ(message_of("a: 1\nb: \xFF\n"), "f.yaml:2: bytes that are not UTF-8");
  EXPECT_EQ(message_of(std::string("a: 1\nb: x\0N\n", 12)), "f.yaml:2: a byte that is zero");
  EXPECT_EQ(message_of("a: *nowhere\n").substr(0, 16), "f.yaml:1: YAML: ");
  EXPECT_EQ(message_of("a: 1\n  b: 2\n").substr(0, 16), "f.yaml:2: YAML: ");
  EXPECT_EQ(message_of("a: [1, 2\n").substr(0, 16), "f.yaml:2: YAML: ");
}

TEST(Yaml, replaces_cryptic_messages_of_the_yaml_library) {
  EXPECT_EQ(message_of("a:\n\tb: 1\n"), "f.yaml:2: a tab before the first word; expected spaces");
  EXPECT_EQ(message_of("a:\n  - b\n \t- c: 1\n"),
            "f.yaml:3: a tab before the first word; expected spaces");
  EXPECT_EQ(message_of("a: {b: ${VAR}, c: 1}\nd: 2\n"),
            "f.yaml:1: inside braces or brackets ${...} needs quotes around it");
  EXPECT_EQ(message_of("a: ${VAR}\nb: [${VAR}, 1]\n"),
            "f.yaml:2: inside braces or brackets ${...} needs quotes around it");
  const std::string open =
      "YAML: a bracket, a brace or a quote is not closed or is one too many, or a comma is "
      "missing, "
      "here or above";
  EXPECT_EQ(message_of("a: {b: \"${VAR}\", c: 1\nd: 2\n"), "f.yaml:2: " + open);
  EXPECT_EQ(message_of("a: [{b: 1]\nc: 1\n"), "f.yaml:1: " + open);
  EXPECT_EQ(message_of("a: {b: \"1}\nc: 1\n").substr(10), open);
  EXPECT_EQ(message_of("a: [1, 2]]\n"), "f.yaml:1: " + open);
  const std::string aside =
      "YAML: expected \"key: value\" or \"- item\", indented like its neighbours";
  EXPECT_EQ(message_of("a:\n  b: 1\n c: 2\n"), "f.yaml:3: " + aside);
  EXPECT_EQ(message_of("a: Note: b\n"),
            "f.yaml:1: YAML: expected \"key: value\", indented like its neighbours; a value with "
            "\": \" needs quotes");
  EXPECT_EQ(message_of("a:\n  - b\n  c: 1\n"), "f.yaml:3: " + aside);
}

TEST(Yaml, limits_hold) {
  EXPECT_EQ(message_of("a: 123456", {.bytes = 8}), "f.yaml: 9 bytes, at most 8 are read");
  EXPECT_EQ(message_of("[[[1]]]", {.depth = 2}), "f.yaml:1: nested deeper than 2 levels");
  EXPECT_EQ(message_of("[[1]]", {.depth = 3}), "accepted");
  EXPECT_EQ(message_of("[1, 2, 3]", {.nodes = 3}),
            "f.yaml:1: more than 3 nodes once aliases are expanded");
  EXPECT_EQ(message_of("a: &x 1\nb: *x\n", {.aliases = false}),
            "f.yaml:2: an alias (*name); expected the value itself, written out");
  EXPECT_EQ(message_of("a: &x 1\n", {.aliases = false}), "accepted");
  EXPECT_NE(message_of(std::string(100'000, '[')), "accepted");
  EXPECT_NE(message_of(std::string(100'000, '{')), "accepted");
}

TEST(Yaml, an_alias_bomb_is_refused_before_it_grows) {
  std::string bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 12; ++i) {
    std::string ten;
    for (int j = 0; j < 10; ++j) ten += fmt::format("*a{},", i - 1);
    bomb += fmt::format("a{0}: &a{0} [{1}]\n", i, ten);
  }
  EXPECT_EQ(message_of(bomb), "f.yaml:6: more than 1000000 nodes once aliases are expanded");

  std::string fat = "a: &a " + std::string(100'000, 'x') + "\nb: [";
  for (int i = 0; i < 1000; ++i) fat += "*a,";
  EXPECT_EQ(message_of(fat + "]"), "f.yaml:2: more than 16777216 bytes once aliases are expanded");

  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 80; ++i) deep += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  EXPECT_EQ(message_of(deep), "f.yaml:63: nested deeper than 64 levels");
}

TEST(Yaml, a_missing_file_is_not_found) {
  EXPECT_EQ(load("/nowhere/at/all.yaml").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace signalbox::yaml
