// Reading and writing whole files, in the test's own folder.

#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  File() : folder_(fs::temp_directory_path() / fmt::format("signalbox_file_{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~File() override { fs::remove_all(folder_); }
  fs::path at(std::string_view name) const { return folder_ / name; }

  fs::path folder_;
};

TEST_F(File, comes_back_as_it_was_written) {
  const std::string text("a\0b\n", 4);
  ASSERT_TRUE(write_file(at("new/folder/a"), text));
  EXPECT_EQ(read_file(at("new/folder/a"), 4).value(), text);
  EXPECT_EQ(read_file(at("new/folder/a"), 3).error().code, Code::kTooLarge);
  ASSERT_TRUE(write_file(at("new/folder/a"), ""));
  EXPECT_EQ(read_file(at("new/folder/a"), 0).value(), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(at("new/folder")), {}), 1) << "left overs";
}

TEST_F(File, keeps_permissions_and_links) {
  ASSERT_TRUE(write_file(at("real"), "one"));
  fs::permissions(at("real"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", at("link"));
  ASSERT_TRUE(write_file(at("link"), "two"));
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("real"), 10).value(), "two");
  EXPECT_EQ(fs::status(at("real")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(File, a_pipe_is_written_to_and_stays_one) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  const int reader = ::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(write_file(at("pipe"), "text"));
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  char read[8];
  EXPECT_EQ(::read(reader, read, sizeof read), 4);
  ::close(reader);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "left overs";
}

TEST_F(File, a_failed_read_or_write_returns_an_error) {
  EXPECT_EQ(read_file(at("none"), 10).error().code, Code::kNotFound);
  EXPECT_EQ(read_file(folder_, 10).error().code, Code::kIo);
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(at("pipe"), 10).error().code, Code::kIo) << "and does not wait for a writer";
  fs::create_directories(at("full/x"));
  const auto written = write_file(at("full"), "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kIo);
  EXPECT_TRUE(fs::exists(at("full/x")));
  EXPECT_FALSE(fs::exists(at("full.partial")));
}

}  // namespace
}  // namespace signalbox
