// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/comparable.hpp"

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "lab/built.hpp"

namespace troupe::lab {

namespace {

std::vector<std::string> words_of(const std::string& flags) {
  std::istringstream text(flags);
  std::vector<std::string> all;
  for (std::string word; text >> word;) all.push_back(word);
  return all;
}

// The last of several levels is in effect.
bool is_optimised(const std::vector<std::string>& flags) {
  std::string level;
  for (const std::string& each : flags) {
    if (each.starts_with("-O")) level = each;
  }
  return level == "-O2" || level == "-O3";
}

bool has_sanitizer(const std::vector<std::string>& flags) {
  for (const std::string& each : flags) {
    if (each.starts_with("-fsanitize=")) return true;
  }
  return false;
}

std::string quoted(const compiled& one) {
  return one.what + " is compiled with '" + one.flags + "'";
}

std::vector<compiled> of_lab() {
  return {{"Troupe", built::library_flags}, {"the lab", built::flags}};
}

}  // namespace

std::string why_not_comparable(const std::vector<compiled>& all) {
  for (const compiled& each : all) {
    const std::vector<std::string> flags = words_of(each.flags);
    if (flags != words_of(all.front().flags)) {
      return quoted(all.front()) + ", and " + quoted(each);
    }
  }
  for (const compiled& each : all) {
    const std::vector<std::string> flags = words_of(each.flags);
    if (!is_optimised(flags)) return quoted(each) + ", without -O2 or -O3";
    if (has_sanitizer(flags)) return quoted(each) + ", with a sanitizer";
  }
  return {};
}

std::string why_lab_is_not_comparable() { return why_not_comparable(of_lab()); }

std::string why_peers_are_not_comparable() {
  std::vector<compiled> all = of_lab();
  std::istringstream lines(built::engine_flags);
  for (compiled one; lines >> one.what && std::getline(lines >> std::ws, one.flags);) {
    all.push_back(one);
  }
  if (std::string why = why_not_comparable(all); !why.empty()) return why;
  const char* const more = std::getenv("CXXFLAGS");
  if (more == nullptr || words_of(more).empty()) return {};
  return "the environment variable CXXFLAGS adds '" + std::string(more) +
         "' to the other engines alone";
}

int refuse_comparison(const std::string& command, const std::string& why) {
  std::cerr << "troupe: `" << command << "` compares C++ programs, but " << why
            << "; measure in the preset bench (`make lab`), or check with --smoke that it works\n";
  return 2;
}

}  // namespace troupe::lab
