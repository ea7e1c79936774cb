// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

namespace fs = std::filesystem;

class files : public served {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "troupe-http-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = name;
    fs::create_directories(base_ / "public" / "sub");
    fs::create_directories(base_ / "other");
    write("secret.txt", "secret");
    write("public/index.html", "<p>index");
    write("public/a b.txt", "spaces");
    write("public/empty.txt", "");
    write("public/large.bin", large_);
    write("public/sub/index.html", "<p>sub");
    write("other/x.css", "p{}");
    fs::create_symlink(base_ / "secret.txt", base_ / "public" / "link.txt");
    start(on_free_port(), [this](http::server& s) {
      s.files("/", base_ / "public");
      s.files("/other", base_ / "other");
      s.resource("/logo.svg", "image/svg+xml", "<svg/>");
      s.route("GET", "/route", [](const request&) { return response::text("route"); });
    });
  }
  void TearDown() override { fs::remove_all(base_); }

  void write(const char* name, const std::string& text) const {
    std::ofstream{base_ / name} << text;
  }

  fs::path base_;
  std::string large_ = std::string(5 * 1024 * 1024 + 17, 'x');
};

TEST_F(files, are_served_with_type_and_validators) {
  raw_client c = connect();
  const answer a = c.get("/");
  EXPECT_EQ(a.status, 200u);
  EXPECT_EQ(a.body, "<p>index");
  EXPECT_EQ(a.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(a.headers.at("x-content-type-options"), "nosniff");
  EXPECT_TRUE(a.headers.contains("etag"));
  EXPECT_TRUE(a.headers.contains("last-modified"));
  EXPECT_EQ(c.get("/a%20b.txt?version=1").body, "spaces");
  EXPECT_EQ(c.get("/empty.txt").headers.at("content-length"), "0");
  EXPECT_EQ(c.get("/other/x.css").headers.at("content-type"), "text/css; charset=utf-8");
  EXPECT_EQ(c.get("/route").body, "route");
}

TEST_F(files, large_files_are_sent_completely) {
  raw_client c = connect();
  EXPECT_TRUE(c.get("/large.bin").body == large_);
  EXPECT_TRUE(c.get("/large.bin").body == large_);
}

TEST_F(files, head_returns_the_size) {
  raw_client c = connect();
  c.send("HEAD /large.bin HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_EQ(c.read_answer(false).headers.at("content-length"), std::to_string(large_.size()));
  EXPECT_EQ(c.get("/").status, 200u);
}

TEST_F(files, nothing_outside_is_served) {
  raw_client c = connect();
  for (const char* target :
       {"/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/sub/../../secret.txt",
        "//etc/passwd", "/%2fetc%2fpasswd", "/link.txt", "/other/../../secret.txt",
        "/other/..%2f..%2fsecret.txt", "/sub/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd"}) {
    EXPECT_EQ(c.get(target).status, 404u) << target;
  }
}

TEST_F(files, a_directory_without_its_slash_is_redirected) {
  raw_client c = connect();
  const answer a = c.get("/sub?x=1");
  EXPECT_EQ(a.status, 301u);
  EXPECT_EQ(a.headers.at("location"), "/sub/?x=1");
  EXPECT_EQ(c.get("/sub/").body, "<p>sub");
  EXPECT_EQ(c.get("/other").headers.at("location"), "/other/");
  EXPECT_EQ(c.get("/other/").status, 404u);
}

TEST_F(files, unchanged_files_get_304) {
  raw_client c = connect();
  const answer whole = c.get("/");
  const std::string etag = whole.headers.at("etag");
  const std::string date = whole.headers.at("last-modified");
  for (const std::string& condition :
       {"If-None-Match: " + etag, "If-None-Match: \"other\", W/" + etag,
        std::string{"If-None-Match: *"}, "If-Modified-Since: " + date}) {
    c.send("GET / HTTP/1.1\r\nHost: here\r\n" + condition + "\r\n\r\n");
    const answer a = c.read_answer(false);
    EXPECT_EQ(a.status, 304u) << condition;
    EXPECT_EQ(a.headers.at("etag"), etag);
  }
  for (const std::string& condition :
       {std::string{"If-None-Match: \"other\""}, std::string{"If-None-Match: "},
        "If-None-Match: \"other\"\r\nIf-Modified-Since: " + date,
        std::string{"If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"},
        std::string{"If-Modified-Since: yesterday"}}) {
    EXPECT_EQ(c.get("/", condition + "\r\n").status, 200u) << condition;
  }
  write("public/index.html", "<p>another");
  EXPECT_EQ(c.get("/", "If-None-Match: " + etag + "\r\n").body, "<p>another");
}

TEST_F(files, date_conditions_accept_old_formats_and_yield_to_entity_tags) {
  raw_client c = connect();
  const std::string etag = c.get("/").headers.at("etag");
  const std::string long_ago = "Sunday, 06-Nov-94 08:49:37 GMT";
  const std::string to_come = "Fri Nov  6 08:49:37 2037";
  EXPECT_EQ(c.get("/", "If-Unmodified-Since: " + long_ago + "\r\n").status, 412u);
  for (const std::string& condition :
       {"If-Unmodified-Since: " + to_come, std::string{"If-Unmodified-Since: yesterday"},
        "If-Match: " + etag + "\r\nIf-Unmodified-Since: " + long_ago,
        "If-Modified-Since: " + long_ago,
        "If-None-Match: \"other\"\r\nIf-Modified-Since: " + to_come}) {
    EXPECT_EQ(c.get("/", condition + "\r\n").status, 200u) << condition;
  }
  c.send("GET / HTTP/1.1\r\nHost: here\r\nIf-Modified-Since: " + to_come + "\r\n\r\n");
  EXPECT_EQ(c.read_answer(false).status, 304u);
}

TEST_F(files, other_methods_are_405) {
  for (const char* path : {"/", "/logo.svg"}) {
    raw_client c = connect();
    c.send("PUT " + std::string{path} + " HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\nx");
    const answer a = c.read_answer();
    EXPECT_EQ(a.status, 405u);
    EXPECT_EQ(a.headers.at("allow"), "GET, HEAD, OPTIONS");
  }
}

TEST_F(files, resources_are_part_of_the_program) {
  raw_client c = connect();
  const answer a = c.get("/logo.svg");
  EXPECT_EQ(a.body, "<svg/>");
  EXPECT_EQ(a.headers.at("content-type"), "image/svg+xml");
  c.send("GET /logo.svg HTTP/1.1\r\nHost: here\r\nIf-None-Match: " + a.headers.at("etag") +
         "\r\n\r\n");
  EXPECT_EQ(c.read_answer(false).status, 304u);
}

TEST_F(files, one_that_shrinks_while_it_is_sent_ends_the_connection) {
  const std::string big(64 * 1024 * 1024, 'x');
  write("public/shrinking.bin", big);
  raw_client c{server_->port(), 4096};
  c.send("GET /shrinking.bin HTTP/1.1\r\nHost: here\r\n\r\n");
  c.read_until("\r\n\r\n");
  fs::resize_file(base_ / "public" / "shrinking.bin", 100);
  EXPECT_LT(c.read_to_end().size(), big.size());
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

}  // namespace
}  // namespace troupe::http::test
