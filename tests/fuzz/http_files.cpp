// SPDX-License-Identifier: Apache-2.0

// The path from a request target to a file: the target is parsed, assigned to a served folder, and
// resolved there to a file or to nothing, with each way in which the kernel resolves names.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <troupe/http/response.hpp>

#include "fuzz.hpp"
#include "http/file_root.hpp"
#include "http/router.hpp"
#include "http/target.hpp"
#include "served_folder.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::http::detail;
namespace fs = std::filesystem;

struct served {
  served_folder folder;
  router routes;
  file_root by_the_kernel{folder.path(), file_root::resolution::by_the_kernel};
  file_root stepwise{folder.path(), file_root::resolution::stepwise};

  served() {
    routes.add_files("/", folder.path());
    routes.add_files("/docs", folder.path() / "sub");
    routes.add_files("/docs/more/", folder.path() / "sub" / "deep");
    routes.add("GET", "/docs",
               [](const troupe::http::request&) { return troupe::http::response::text("docs"); });
  }
};

fs::path path_of(const descriptor& fd) {
  std::array<char, 4096> name;
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  const ssize_t size = ::readlink(link.c_str(), name.data(), name.size());
  require(size > 0, "an open file has a path");
  return std::string{name.data(), static_cast<std::size_t>(size)};
}

void check_file(const file_root::file& file, std::string_view asked, const fs::path& root) {
  const std::string where = path_of(file.fd).string();
  require(where.starts_with(root.string() + "/"), "a file lies below its root");
  std::array<char, 64> text;
  const ssize_t size = ::read(file.fd.get(), text.data(), text.size());
  require(size >= 0 && static_cast<std::uint64_t>(size) == file.size, "a file has its size");
  require((std::string_view{text.data(), static_cast<std::size_t>(size)} != served_folder::secret),
          "no secret is served");
  require(file.name == asked || file.name == std::string{asked} + "index.html",
          "a file has the name that was asked, or is its index");
  require(!file.name.ends_with('/'), "a file is no folder");
  require(file.etag.size() > 2 && file.etag.front() == '"' && file.etag.back() == '"' &&
              file.etag.find_first_not_of("0123456789abcdef-", 1) == file.etag.size() - 1,
          "a tag is one word in quotes");
}

void check_both_ways(const served& all, std::string_view path) {
  // An earlier error must not matter.
  errno = EAGAIN;
  const auto one = all.by_the_kernel.open(path);
  errno = EAGAIN;
  const auto other = all.stepwise.open(path);
  for (const auto* each : {&one, &other}) {
    require(!std::holds_alternative<file_root::out_of_means>(*each), "there are descriptors");
    if (const auto* file = std::get_if<file_root::file>(each)) {
      check_file(*file, path, all.folder.path());
    }
    if (std::holds_alternative<file_root::is_directory>(*each)) {
      require(!path.empty() && !path.ends_with('/'), "a folder lacks its slash");
    }
  }
  // One component at a time, it follows no link and does not go up.
  if (std::holds_alternative<file_root::not_there>(other)) {
    const auto* file = std::get_if<file_root::file>(&one);
    if (file == nullptr) return;
    const fs::path named = (all.folder.path() / file->name).lexically_normal();
    require(path.find("..") != std::string_view::npos || named != path_of(file->fd),
            "what is found without links and without going up is found stepwise too");
    return;
  }
  require(one.index() == other.index(), "what is found stepwise is found by the kernel");
  if (const auto* file = std::get_if<file_root::file>(&other)) {
    require(std::get<file_root::file>(one).etag == file->etag, "both ways lead to the same file");
  }
}

void check_route(const served& all, std::string_view path, std::string_view sent) {
  const router::match match = all.routes.find(path, sent);
  require((match.at != nullptr) == (path == "/docs"), "a route has its path alone");
  if (match.at != nullptr) return;
  const mount* const in = match.files;
  const auto is_in = [&](std::string_view prefix) {
    return path == prefix || path.starts_with(std::string{prefix} + "/");
  };
  const std::string_view expected = is_in("/docs/more") ? "/docs/more/"
                                    : is_in("/docs")    ? "/docs/"
                                                        : "/";
  require(in != nullptr && in->prefix == expected, "the longest prefix is chosen");
  if (path.size() < in->prefix.size()) return;
  const auto found = in->root->open(path.substr(in->prefix.size()));
  const auto* file = std::get_if<file_root::file>(&found);
  if (file == nullptr) return;
  const fs::path root = expected == "/"        ? all.folder.path()
                        : expected == "/docs/" ? all.folder.path() / "sub"
                                               : all.folder.path() / "sub" / "deep";
  require(path_of(file->fd).string().starts_with(root.string() + "/"),
          "a file lies below the folder of its prefix");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const served all;
  const auto target = parse_target(text_of(data, size));
  if (!target) return 0;
  check_route(all, target->path, target->sent_path);
  check_both_ways(all, std::string_view{target->path}.substr(1));
  return 0;
}
