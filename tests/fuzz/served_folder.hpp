// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz.hpp"

namespace troupe::fuzz {

/// A folder of files to be served, beside one that must not be served. Both are removed at the end.
class served_folder {
 public:
  static constexpr std::string_view secret = "secret";

  served_folder() {
    namespace fs = std::filesystem;
    std::string name = (fs::temp_directory_path() / "troupe-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "a folder can be made");
    base_ = fs::canonical(name);
    fs::create_directories(path() / "sub" / "deep");
    fs::create_directories(path() / "empty");
    write(base_ / "secret.txt", secret);
    write(path() / "index.html", "<p>index");
    write(path() / "a.txt", "a");
    write(path() / "\xc3\xa4 %41.CSS", "b {}");
    write(path() / "sub" / "index.html", "<p>below");
    write(path() / "sub" / "b.js", "b()");
    write(path() / "sub" / "deep" / "c.svg", "<svg/>");
    fs::create_symlink("sub/b.js", path() / "within");
    fs::create_symlink("../secret.txt", path() / "out");
    fs::create_symlink(base_ / "secret.txt", path() / "absolute");
    fs::create_directory_symlink("..", path() / "up");
    require(::mkfifo((path() / "fifo").c_str(), 0600) == 0, "a pipe can be made");
  }
  served_folder(const served_folder&) = delete;
  served_folder& operator=(const served_folder&) = delete;
  ~served_folder() {
    std::error_code none;
    std::filesystem::remove_all(base_, none);
  }

  [[nodiscard]] std::filesystem::path path() const { return base_ / "public"; }

 private:
  static void write(const std::filesystem::path& file, std::string_view text) {
    std::ofstream{file} << text;
  }

  std::filesystem::path base_;
};

}  // namespace troupe::fuzz
