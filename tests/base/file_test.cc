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

TEST_F(File, a_link_in_place_of_the_temporary_file_is_not_followed) {
  ASSERT_TRUE(write_file(at("other"), "of somebody else"));
  fs::create_symlink(at("other"), at("a.partial"));
  ASSERT_TRUE(write_file(at("a"), "text"));
  EXPECT_EQ(read_file(at("other"), 100).value(), "of somebody else");
  EXPECT_EQ(read_file(at("a"), 100).value(), "text");
  EXPECT_FALSE(fs::is_symlink(at("a")));
}

TEST_F(File, that_root_writes_belongs_to_the_owner_of_the_old_one_or_of_the_folder) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kService = 64123;
  const auto owner_of = [&](std::string_view name) {
    struct stat found {};
    EXPECT_EQ(::stat(at(name).c_str(), &found), 0);
    return found.st_uid;
  };
  const auto write_private = [&](std::string_view name, Readers readers) {
    FileWriter writer(at(name), readers);
    writer.append("text");
    ASSERT_TRUE(writer.commit());
  };
  ASSERT_TRUE(write_file(at("open"), "one"));
  ASSERT_EQ(::chown(at("open").c_str(), kService, kService), 0);
  ASSERT_TRUE(write_file(at("open"), "two"));
  EXPECT_EQ(owner_of("open"), kService);
  ASSERT_EQ(::chown(folder_.c_str(), kService, kService), 0);
  write_private("own", Readers::kOwner);
  EXPECT_EQ(owner_of("own"), 0u);
  write_private("secret", Readers::kFolderOwner);
  EXPECT_EQ(owner_of("secret"), kService);
  EXPECT_EQ(fs::status(at("secret")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_EQ(::chown(at("secret").c_str(), 0, 0), 0);
  write_private("secret", Readers::kFolderOwner);
  EXPECT_EQ(owner_of("secret"), 0u);
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
