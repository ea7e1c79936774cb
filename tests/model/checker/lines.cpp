// SPDX-License-Identifier: Apache-2.0
// Maps instructions to source lines. Used only for output: a run without findings never calls it.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "trace.hpp"

namespace troupe::model {
namespace {

constexpr std::string_view before = "code 0x";

// The program's file, and its load address.
struct image {
  std::string file;
  std::uintptr_t begin = 0;
};

image image_of(std::uintptr_t instruction) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(instruction), &info) == 0) return {};
  std::array<char, 4096> link{};
  const ssize_t length = ::readlink("/proc/self/exe", link.data(), link.size() - 1);
  if (length <= 0) return {};
  return {std::string(link.data(), static_cast<std::size_t>(length)),
          reinterpret_cast<std::uintptr_t>(info.dli_fbase)};
}

// "/a/b.cpp:12 (discriminator 2)" → "b.cpp:12"; empty if the text is not a line, or one in the
// checker itself.
std::string short_line(std::string_view text) {
  text = text.substr(0, text.find_first_of(" \n"));
  const std::size_t slash = text.rfind('/');
  if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
  if (text.starts_with("?") || text.ends_with(":?") || text.ends_with(":0") ||
      text.starts_with("plain.hpp:")) {
    return {};
  }
  return std::string(text);
}

// One call of addr2line for all addresses. It prints each address, followed by the chain of
// functions inlined there, innermost first. The first one outside the checker is the user's line.
std::map<std::uintptr_t, std::string> lines_of(const std::map<std::uintptr_t, std::string>& all) {
  std::map<std::uintptr_t, std::string> found;
  if (all.empty()) return found;
  const image of = image_of(all.begin()->first);
  if (of.file.empty() || of.file.find('\'') != std::string::npos) return found;
  std::string command = "addr2line -aie '" + of.file + "'";
  std::map<std::uintptr_t, std::uintptr_t> whose;  // by the form that addr2line prints
  for (const auto& [instruction, text] : all) {
    whose[instruction - of.begin] = instruction;
    command += " " + hexadecimal(instruction - of.begin);
  }
  command += " 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(::popen(command.c_str(), "r"),
                                                            ::pclose);
  if (out == nullptr) return found;
  std::array<char, 4096> line{};
  std::uintptr_t now = 0;
  while (std::fgets(line.data(), static_cast<int>(line.size()), out.get()) != nullptr) {
    const std::string_view text(line.data());
    if (text.starts_with("0x")) {
      const auto it = whose.find(std::strtoull(line.data(), nullptr, 16));
      now = it == whose.end() ? 0 : it->second;
    } else if (now != 0 && !found.contains(now)) {
      if (std::string name = short_line(text); !name.empty()) found[now] = std::move(name);
    }
  }
  return found;
}

std::size_t end_of_hexadecimal(const std::string& text, std::size_t at) {
  const std::size_t end = text.find_first_not_of("0123456789abcdef", at);
  return end == std::string::npos ? text.size() : end;
}

}  // namespace

std::string with_lines(std::string text) {
  std::map<std::uintptr_t, std::string> all;  // with the form in the text
  for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
    const std::size_t digits = at + before.size();
    const std::size_t end = end_of_hexadecimal(text, digits);
    all[std::strtoull(text.c_str() + digits, nullptr, 16)] = text.substr(at, end - at);
    at = end;
  }
  for (const auto& [instruction, line] : lines_of(all)) {
    const std::string& called = all[instruction];
    for (std::size_t at = text.find(called); at != std::string::npos; at = text.find(called, at)) {
      std::size_t replaced = called.size();
      std::string with = line;
      // In the column of a trace, the width is kept.
      if (text.substr(at + replaced, 1) == " ") {
        if (with.size() < replaced) with.append(replaced - with.size(), ' ');
        while (replaced < with.size() && text.substr(at + replaced, 2) == "  ") ++replaced;
      }
      text.replace(at, replaced, with);
      at += with.size();
    }
  }
  return text;
}

}  // namespace troupe::model
