// SPDX-License-Identifier: Apache-2.0

#include "file_root.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "content_type.hpp"

namespace troupe::http::detail {
namespace {

namespace fs = std::filesystem;

/// A directory with a neighbour that must never be served.
class file_root_lookup : public testing::TestWithParam<file_root::resolution> {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "troupe-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = name;
    fs::create_directories(base_ / "public" / "sub");
    write("secret.txt", "secret");
    write("public/a.txt", "hello");
    write("public/index.html", "<p>");
    write("public/sub/b.txt", "below");
  }
  void TearDown() override { fs::remove_all(base_); }

  void write(const fs::path& name, std::string_view text) { std::ofstream{base_ / name} << text; }
  file_root root() const { return file_root{base_ / "public", GetParam()}; }

  static bool is_file(const file_root::found& f) {
    return std::holds_alternative<file_root::file>(f);
  }
  static bool is_missing(const file_root::found& f) {
    return std::holds_alternative<file_root::not_there>(f);
  }

  fs::path base_;
};

TEST_P(file_root_lookup, finds_files_with_size_and_tag) {
  const auto found = root().open("a.txt");
  ASSERT_TRUE(is_file(found));
  const auto& file = std::get<file_root::file>(found);
  EXPECT_EQ(file.size, 5u);
  EXPECT_EQ(file.name, "a.txt");
  EXPECT_TRUE(file.etag.starts_with('"') && file.etag.ends_with('"'));
  EXPECT_TRUE(is_file(root().open("sub/b.txt")));
}

TEST_P(file_root_lookup, a_directory_is_its_index) {
  const auto found = root().open("");
  ASSERT_TRUE(is_file(found));
  EXPECT_EQ(std::get<file_root::file>(found).name, "index.html");
  EXPECT_TRUE(is_missing(root().open("sub/")));
  EXPECT_TRUE(std::holds_alternative<file_root::is_directory>(root().open("sub")));
}

TEST_P(file_root_lookup, a_dot_is_the_directory_whatever_failed_before) {
  errno = EAGAIN;
  EXPECT_TRUE(std::holds_alternative<file_root::is_directory>(root().open(".")));
  EXPECT_TRUE(std::holds_alternative<file_root::is_directory>(root().open("sub/.")));
}

TEST_P(file_root_lookup, dots_do_not_lead_out) {
  EXPECT_TRUE(is_missing(root().open("../secret.txt")));
  EXPECT_TRUE(is_missing(root().open("sub/../../secret.txt")));
  EXPECT_TRUE(is_missing(root().open("/etc/passwd")));
  EXPECT_TRUE(is_missing(root().open("sub/../../../../../../../etc/passwd")));
}

TEST_P(file_root_lookup, names_that_begin_with_a_dot_are_not_served) {
  fs::create_directories(base_ / "public" / ".git");
  fs::create_directories(base_ / "public" / ".well-known" / "acme-challenge");
  for (const char* hidden : {".env", ".git/config", "sub/.htpasswd", ".well-known/.secret",
                             ".git/index.html", "..data", "...", ".well-known.txt"}) {
    write(fs::path("public") / hidden, "secret");
    EXPECT_TRUE(is_missing(root().open(hidden))) << hidden;
    EXPECT_TRUE(is_missing(root().open("sub/../" + std::string(hidden)))) << hidden;
    EXPECT_TRUE(is_missing(root().open("./" + std::string(hidden)))) << hidden;
  }
  EXPECT_TRUE(is_missing(root().open(".git/")));
  EXPECT_TRUE(is_missing(root().open(".git")));
  write("public/.well-known/acme-challenge/token", "key");
  EXPECT_TRUE(is_file(root().open(".well-known/acme-challenge/token")));
  write("public/a.b.txt", "x");
  EXPECT_TRUE(is_file(root().open("a.b.txt")));
  EXPECT_TRUE(is_file(root().open("./a.txt")));
}

TEST_P(file_root_lookup, symbolic_links_do_not_lead_out) {
  fs::create_symlink("../secret.txt", base_ / "public" / "out");
  fs::create_symlink(base_ / "secret.txt", base_ / "public" / "absolute");
  fs::create_directory_symlink("..", base_ / "public" / "up");
  EXPECT_TRUE(is_missing(root().open("out")));
  EXPECT_TRUE(is_missing(root().open("absolute")));
  EXPECT_TRUE(is_missing(root().open("up/secret.txt")));
}

TEST_P(file_root_lookup, paths_that_are_not_regular_files_are_missing) {
  ASSERT_EQ(::mkfifo((base_ / "public" / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(is_missing(root().open("fifo")));
  EXPECT_TRUE(is_missing(root().open("nothing")));
  EXPECT_TRUE(is_missing(root().open("a.txt/b")));
  EXPECT_TRUE(is_missing(root().open(std::string(5'000, 'x'))));
}

TEST_P(file_root_lookup, the_tag_changes_with_the_content) {
  const auto before = std::get<file_root::file>(root().open("a.txt")).etag;
  write("public/a.txt", "hello again");
  EXPECT_NE(std::get<file_root::file>(root().open("a.txt")).etag, before);
}

INSTANTIATE_TEST_SUITE_P(either, file_root_lookup,
                         testing::Values(file_root::resolution::by_the_kernel,
                                         file_root::resolution::stepwise));

TEST(file_root, a_missing_directory_is_an_error) {
  EXPECT_THROW(file_root{"/nowhere/at/all"}, std::system_error);
}

TEST(content_type, follows_the_extension) {
  EXPECT_EQ(content_type_of("a/index.HTML"), "text/html; charset=utf-8");
  EXPECT_EQ(content_type_of("app.js"), "text/javascript; charset=utf-8");
  EXPECT_EQ(content_type_of("a.svg"), "image/svg+xml");
  EXPECT_EQ(content_type_of("a"), "application/octet-stream");
  EXPECT_EQ(content_type_of("a.html/b"), "application/octet-stream");
}

}  // namespace
}  // namespace troupe::http::detail
