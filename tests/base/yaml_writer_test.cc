// Written text reads back as the same tree, and looks hand-written.

#include "base/yaml_writer.h"

#include <gtest/gtest.h>

namespace signalbox::yaml {
namespace {

std::string rewritten(std::string_view text) {
  const auto tree = parse(text, "in");
  return tree ? write(*tree) : tree.error().message;
}

void expect_same(const Node& a, const Node& b, const std::string& text) {
  ASSERT_EQ(a.kind, b.kind) << text;
  EXPECT_EQ(a.scalar, b.scalar) << text;
  ASSERT_EQ(a.items.size(), b.items.size()) << text;
  ASSERT_EQ(a.entries.size(), b.entries.size()) << text;
  for (size_t i = 0; i < a.items.size(); ++i) expect_same(a.items[i], b.items[i], text);
  for (size_t i = 0; i < a.entries.size(); ++i) {
    EXPECT_EQ(a.entries[i].key, b.entries[i].key) << text;
    expect_same(a.entries[i].value, b.entries[i].value, text);
  }
}

TEST(YamlWriter, writes_blocks_and_plain_scalars) {
  EXPECT_EQ(rewritten("{a: 1, b: [x, {c: d, e: []}], f: {}, g: null, h: [[1, 2]]}"),
            "a: 1\nb:\n  - x\n  - c: d\n    e: []\nf: {}\ng: null\nh:\n  -\n    - 1\n    - 2\n");
}

TEST(YamlWriter, quotes_texts_that_look_like_other_types) {
  EXPECT_EQ(rewritten("{a: '1', b: \"true\", c: 'no', d: '~', e: '', f: '0x1F', g: '1e3', h: 'x'}"),
            "a: \"1\"\nb: \"true\"\nc: \"no\"\nd: \"~\"\ne: \"\"\nf: \"0x1F\"\ng: \"1e3\"\nh: x\n");
}

TEST(YamlWriter, writes_lines_as_a_block) {
  EXPECT_EQ(rewritten("a: \"one\\ntwo\\n\"\nb: \"one\\n\\n two\"\nc: \"x\\n\\n\"\n"),
            "a: |\n  one\n  two\nb: |-\n  one\n\n   two\nc: |+\n  x\n\n");
}

TEST(YamlWriter, written_text_reads_back) {
  const char* texts[] = {"- x",    "a: b",     "#c",      "x #y",   " lead",  "trail ", "@at",
                         "`tick",  "%p",       "&anchor", "*alias", "!tag",   "|",      ">",
                         "'q'",    "\"q\"",    "{}",      "[x]",    "a, b",   "?",      "- ",
                         "---",    "...",      "-",       "é",      "首先",   "\t",     "a\tb",
                         "\n",     "a\n",      "\na",     " a\nb",  "a \nb",  "a\r\nb", "\x01",
                         "\x7F",   "key:",     "a:b",     "::1",    "=",      "<<",     "null",
                         "1:30",   "2001:db8", "${A:-b}", "a\\b",   "+1",     ".5",     "-5",
                         "\u2028", "\u0085",   "\uFEFFx", "a\n\n",  "a\n\nb", "~x",     "on"};
  for (const char* text : texts) {
    Node scalar;
    scalar.kind = Kind::kScalar;
    scalar.quoted = true;
    scalar.scalar = text;
    Node list;
    list.kind = Kind::kSequence;
    list.items = {scalar, scalar};
    Node root;
    root.kind = Kind::kMapping;
    root.entries = {{text, 1, 1, scalar}, {std::string("k") + text, 1, 1, list}};
    const std::string written = write(root);
    const auto read = parse(written, "out");
    ASSERT_TRUE(read) << read.error().message << "\n" << written;
    expect_same(root, *read, written);
    EXPECT_TRUE(read->entries[0].value.quoted || read->entries[0].value.scalar[0] > '9' ||
                read->entries[0].value.scalar[0] < '0')
        << written;
  }
}

}  // namespace
}  // namespace signalbox::yaml
