// Shows that each rule about the tree fails on what it forbids and passes on what it allows.

#include "tests/layers/rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace signalbox::layers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Table kRooms = parse_table(
    "base:  # the floor\n"
    "base/yaml: base\n"
    "engine: base\n"
    "router: base engine router/config\n"
    "router/config: base base/yaml\n"
    "router/decision: base router/config\n"
    "tests: *\n");

Problems arrows(const std::string& path, const std::string& text) {
  return check_arrows({path, text}, kRooms);
}

TEST(Arrows, an_include_of_a_lower_room_passes) {
  EXPECT_THAT(arrows("engine/bert.cc", "#include \"engine/bert.h\"\n#include \"base/error.h\"\n"),
              IsEmpty());
}

TEST(Arrows, an_upward_include_is_named_with_its_line_and_the_allowed_rooms) {
  EXPECT_THAT(arrows("engine/bert.cc", "// A comment.\n#include \"router/router.h\"\n"),
              ElementsAre("engine/bert.cc:2: includes router/router.h: engine may include base"));
}

TEST(Arrows, base_may_include_nothing_but_itself) {
  EXPECT_THAT(arrows("base/log.cc", "#include \"engine/engine.h\""),
              ElementsAre("base/log.cc:1: includes engine/engine.h: base may include nothing"));
}

TEST(Arrows, the_longest_room_that_fits_decides) {
  EXPECT_THAT(arrows("router/decision/tree.cc", "#include \"router/config/config.h\""), IsEmpty());
  EXPECT_THAT(arrows("router/decision/tree.cc", "#include \"router/router.h\""),
              ElementsAre(HasSubstr("router/decision may")));
  EXPECT_THAT(arrows("router/decision/tree.cc", "#include \"engine/engine.h\""),
              ElementsAre(HasSubstr("router/decision may")));
  EXPECT_THAT(arrows("router/config/load.cc", "#include \"base/yaml.h\""), IsEmpty());
  EXPECT_THAT(arrows("engine/engine.cc", "#include \"base/yaml.h\""),
              ElementsAre(HasSubstr("engine may include base")));
}

TEST(Arrows, a_room_ends_at_a_slash_or_a_dot) {
  EXPECT_THAT(arrows("base/yaml_emitter.cc", "#include \"base/yaml.h\""),
              ElementsAre(HasSubstr("base may include")));
}

TEST(Arrows, a_star_allows_everything_that_is_a_room) {
  EXPECT_THAT(arrows("tests/base/json_test.cc", "#include \"router/router.h\""), IsEmpty());
}

TEST(Arrows, a_relative_include_or_an_unknown_room_is_refused) {
  EXPECT_THAT(arrows("engine/bert.cc", "#include \"bert.h\""),
              ElementsAre(HasSubstr("expected a path from the root")));
  EXPECT_THAT(arrows("engine/bert.cc", "#include \"../base/error.h\""),
              ElementsAre(HasSubstr("expected a path from the root")));
  EXPECT_THAT(arrows("attic/old.cc", "#include \"base/error.h\""),
              ElementsAre(HasSubstr("stands in no room")));
}

TEST(Arrows, blanks_around_the_directive_are_ignored) {
  EXPECT_THAT(arrows("base/a.h", "  #  include   \"engine/engine.h\""),
              ElementsAre(HasSubstr("base/a.h:1")));
}

const Table kLibraries = parse_table(
    "boost/: router/http tests\nimmintrin.h: kernels/x86\nnlohmann/:\nsimdjson: base/json.cc\n");

TEST(Libraries, a_confined_header_is_refused_elsewhere) {
  EXPECT_THAT(
      check_libraries({"engine/a.cc", "#include <boost/beast.hpp>"}, kLibraries),
      ElementsAre("engine/a.cc:1: includes <boost/beast.hpp>, which only router/http, tests may"));
  EXPECT_THAT(check_libraries({"kernels/tier_avx2.cc", "#include <immintrin.h>"}, kLibraries),
              ElementsAre(HasSubstr("only kernels/x86 may")));
  EXPECT_THAT(check_libraries({"base/utf8.cc", "#include \"simdjson.h\""}, kLibraries),
              ElementsAre(HasSubstr("only base/json.cc may")));
  EXPECT_THAT(check_libraries({"base/json.cc", "#include <nlohmann/json.hpp>"}, kLibraries),
              ElementsAre(HasSubstr("only nothing may")));
}

TEST(Libraries, a_confined_header_passes_in_its_place) {
  EXPECT_THAT(check_libraries({"router/http/server.cc", "#include <boost/beast.hpp>"}, kLibraries),
              IsEmpty());
  EXPECT_THAT(check_libraries({"kernels/x86/gemm.h", "#include <immintrin.h>"}, kLibraries),
              IsEmpty());
  EXPECT_THAT(
      check_libraries({"base/json.cc", "#include <simdjson.h>\n#include <string>"}, kLibraries),
      IsEmpty());
}

TEST(Purity, a_room_that_promises_no_clock_may_not_include_one) {
  const Table purity = parse_table("router/decision: chrono sys/\nkernels/tier_: string");
  EXPECT_THAT(
      check_purity({"router/decision/a.cc", "#include <chrono>\n#include <sys/socket.h>"}, purity),
      ElementsAre(HasSubstr("<chrono>, which router/decision does without"), HasSubstr("a.cc:2")));
  EXPECT_THAT(check_purity({"kernels/tier_avx2.cc", "#include <string>"}, purity),
              ElementsAre(HasSubstr("<string>")));
  EXPECT_THAT(check_purity({"router/signals/a.cc", "#include <chrono>"}, purity), IsEmpty());
  EXPECT_THAT(check_purity({"router/decision/a.cc", "#include <string_view>"}, purity), IsEmpty());
}

TEST(Length, six_hundred_lines_pass_and_one_more_does_not) {
  std::string text;
  for (int i = 0; i < 600; ++i) text += "x\n";
  EXPECT_THAT(check_length({"base/a.cc", text}), IsEmpty());
  EXPECT_THAT(check_length({"base/a.cc", text + "x\n"}), ElementsAre(HasSubstr("601 lines")));
  EXPECT_THAT(check_length({"data/a.jsonl", text + "x\n"}), IsEmpty());
}

TEST(Opening, a_header_starts_with_pragma_once_and_a_comment) {
  EXPECT_THAT(check_opening({"base/a.h", "#pragma once\n// What it is.\n"}), IsEmpty());
  EXPECT_THAT(check_opening({"base/a.h", "// What it is.\n#pragma once\n"}),
              ElementsAre(HasSubstr("#pragma once")));
  EXPECT_THAT(check_opening({"base/a.h", ""}), ElementsAre(HasSubstr("#pragma once")));
  EXPECT_THAT(check_opening({"base/a.h", "#pragma once\n\n#include <string>\n"}),
              ElementsAre(HasSubstr("base/a.h:2: a comment")));
}

TEST(Opening, a_source_file_and_a_script_start_with_a_comment) {
  EXPECT_THAT(check_opening({"base/a.cc", "// What it is.\n"}), IsEmpty());
  EXPECT_THAT(check_opening({"base/a.cc", "#include <string>\n"}),
              ElementsAre(HasSubstr("base/a.cc:1: a comment")));
  EXPECT_THAT(check_opening({"base/a.cc", ""}), ElementsAre(HasSubstr("base/a.cc:1: a comment")));
  EXPECT_THAT(check_opening({"tools/run", "#!/bin/sh\n# What it is.\n"}), IsEmpty());
  EXPECT_THAT(check_opening({"tools/run", "#!/bin/sh\nset -e\n"}),
              ElementsAre(HasSubstr("tools/run:2")));
  EXPECT_THAT(check_opening({"tests/a.mjs", "// What it is.\n"}), IsEmpty());
  EXPECT_THAT(check_opening({"docs/a.md", "Words.\n"}), IsEmpty());
}

TEST(Built, a_file_is_named_from_the_directory_of_a_list_above_it) {
  const File source{"tests/base/a_test.cc", "// What it is.\n"};
  EXPECT_THAT(check_built({{"tests/CMakeLists.txt", "test(a SOURCES base/a_test.cc)"}, source}),
              IsEmpty());
  EXPECT_THAT(check_built({{"tests/base/CMakeLists.txt", "test(a SOURCES a_test.cc)"}, source}),
              IsEmpty());
  EXPECT_THAT(check_built({{"base/CMakeLists.txt", "base/a_test.cc a_test.cc"}, source}),
              ElementsAre(HasSubstr("tests/base/a_test.cc:1: no CMakeLists.txt")));
  EXPECT_THAT(check_built({{"README.md", "tests/base/a_test.cc"}, source}), SizeIs(1));
  EXPECT_THAT(check_built({{"tests/base/CMakeLists.txt", "file(GLOB sources *.cc)"}, source}),
              IsEmpty());
  EXPECT_THAT(check_built({{"tests/CMakeLists.txt", "file(GLOB sources *.cc)"}, source}),
              SizeIs(1));

  const File plugin{"router/plugins/rag/rag.cc", "// What it is.\n"};
  const std::string lists = "file(GLOB found f/*.cc)\nroom(plugins FOLDERS ";
  EXPECT_THAT(check_built({{"router/CMakeLists.txt", lists + "plugins/*\n"}, plugin}), IsEmpty());
  EXPECT_THAT(check_built({{"router/CMakeLists.txt", lists + "other/*\n"}, plugin}), SizeIs(1));

  const File target{"tests/base/fuzz/a_fuzz.cc", "// What it is.\n"};
  const auto listed = [&](std::string_view line) {
    return check_built({{"tests/base/CMakeLists.txt", std::string(line)}, target});
  };
  EXPECT_THAT(listed("signalbox_fuzz(a_fuzz LINKS base)"), IsEmpty());
  EXPECT_THAT(listed("signalbox_fuzz(b_fuzz LINKS base)"), SizeIs(1));
  EXPECT_THAT(listed("signalbox_fuzz(a_fuzz SOURCE fuzz/b.cc LINKS base)"), SizeIs(1));
}

TEST(Words, a_note_to_self_is_found_as_a_whole_word) {
  EXPECT_THAT(check_words({"base/a.cc",
                           "x\n// TO"
                           "DO: later\n"}),
              ElementsAre(HasSubstr("base/a.cc:2")));
  EXPECT_THAT(check_words({"base/a.cc",
                           "// FIX"
                           "ME"}),
              ElementsAre(HasSubstr("no notes to self")));
  EXPECT_THAT(check_words({"base/a.cc",
                           "// XX"
                           "X"}),
              ElementsAre(HasSubstr("no notes to self")));
  EXPECT_THAT(check_words({"tools/run",
                           "#!/bin/sh\n# HA"
                           "CK"}),
              ElementsAre(HasSubstr("no notes to self")));
  EXPECT_THAT(check_words({"base/a.cc", "auto name = \"pull-XXXXXX\";"}), IsEmpty());
}

TEST(Words, a_path_of_one_machine_is_found_in_every_file) {
  EXPECT_THAT(check_words({"docs/a.md",
                           "see /ho"
                           "me/me/notes"}),
              ElementsAre(HasSubstr("docs/a.md:1")));
  EXPECT_THAT(check_words({"deploy/a.yaml",
                           "path: /ro"
                           "ot/models"}),
              ElementsAre(HasSubstr("a path of one machine")));
  EXPECT_THAT(check_words({"base/a.cc",
                           "\"/wo"
                           "rk/main\""}),
              ElementsAre(HasSubstr("a path of one machine")));
  EXPECT_THAT(check_words({"docs/a.md",
                           "an app's page: example.org/ho"
                           "me/"}),
              IsEmpty());
}

TEST(Words, emoji_are_found_by_code_point_and_other_letters_are_not) {
  EXPECT_THAT(check_words({"base/a.cc", "// \xF0\x9F\x9A\x80 fast"}),
              ElementsAre(HasSubstr("U+1F680")));
  EXPECT_THAT(check_words({"base/a.cc", "// \xE2\x9C\x85"}), ElementsAre(HasSubstr("U+2705")));
  EXPECT_THAT(check_words({"base/a.cc", "// na\xC3\xAFve \xE4\xB8\xAD\xE6\x96\x87 \xE2\x86\x92"}),
              IsEmpty());
}

TEST(ReadTree, build_trees_and_fetched_packages_are_left_out) {
  const auto root = std::filesystem::path(testing::TempDir()) / "signalbox_layers_tree";
  std::filesystem::remove_all(root);
  for (const char* path : {"base/a.cc", "build/release/b.cc", "tests/e2e/node_modules/c.mjs",
                           "models/d.json", ".git/e"}) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << "text of " << path;
  }
  const auto files = read_tree(root);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].path, "base/a.cc");
  EXPECT_EQ(files[0].text, "text of base/a.cc");
  std::filesystem::remove_all(root);
}

TEST(Rules, a_circle_of_rooms_is_named) {
  const Table rooms = parse_table("a: b\nb: c\nc: a b\nd: a\n");
  const Problems problems = check_acyclic(rooms);
  ASSERT_THAT(problems, SizeIs(2));
  EXPECT_EQ(problems[0], "rooms include each other: a -> b -> c -> a");
  EXPECT_THAT(check_acyclic(parse_table("a: a b\nb:\ntools: *\n")), SizeIs(0));
}

TEST(Rules, a_file_without_a_room_and_a_room_with_too_many_files_are_problems) {
  const Table rooms = parse_table("router/a:\nrouter/b:\n");
  std::vector<File> tree{{"router/loose.cc", ""}, {"router/c/x.cc", ""}, {"router/a/x.cc", ""}};
  EXPECT_THAT(check_rooms(tree, rooms, "router"), SizeIs(2));
  for (int i = 0; i < 46; ++i) tree.push_back({fmt::format("router/b/{}.cc", i), ""});
  EXPECT_THAT(check_rooms(tree, rooms, "router"), SizeIs(3));
}

TEST(Rules, a_long_function_is_a_problem) {
  std::string text = "void f() {\n";
  for (int i = 0; i < 78; ++i) text += "  g();\n";
  EXPECT_THAT(check_functions({"a.cc", text + "}\n"}), SizeIs(0));
  EXPECT_THAT(check_functions({"a.cc", text + "  g();\n}\n"}), SizeIs(1));
  EXPECT_THAT(check_functions({"a.cc", "namespace a {\n" + text + "  g();\n"}), SizeIs(0));
}

Problems glossary(const std::string& rows) {
  return check_glossary({"docs/glossary.md", "| term | meaning |\n| --- | --- |\n" + rows});
}

TEST(Glossary, terms_in_order_with_one_sentence_each_pass) {
  EXPECT_THAT(glossary("| plan | A thing. |\n| Plugin | A change, or a check. |\n"), IsEmpty());
}

TEST(Glossary, a_term_out_of_order_and_one_that_is_there_twice_are_found) {
  EXPECT_THAT(glossary("| plugin | A. |\n| plan | B. |\n"),
              ElementsAre("docs/glossary.md:4: plan stands after plugin"));
  EXPECT_THAT(glossary("| plan | A. |\n| plan | B. |\n"), SizeIs(1));
}

TEST(Glossary, no_sentence_and_two_sentences_are_found) {
  EXPECT_THAT(glossary("| plan | a thing |\n"),
              ElementsAre("docs/glossary.md:3: plan: expected one sentence"));
  EXPECT_THAT(glossary("| plan | A thing. Another. |\n"), SizeIs(1));
  EXPECT_THAT(glossary("| plan |\n"), SizeIs(1));
}

TEST(Glossary, too_many_terms_are_found) {
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += "| w" + std::to_string(100 + i) + " | A word. |\n";
  EXPECT_THAT(glossary(rows), IsEmpty());
  EXPECT_THAT(glossary(rows + "| x | A word. |\n"), ElementsAre(HasSubstr("more than 60 terms")));
  EXPECT_THAT(glossary(""), ElementsAre(HasSubstr("no terms")));
}

}  // namespace
}  // namespace signalbox::layers
