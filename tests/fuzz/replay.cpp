// SPDX-License-Identifier: Apache-2.0

// The main() of a fuzz target without a fuzzer: every file of the given folders goes through the
// target once. It exits with 1 if a folder is missing or empty.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "fuzz.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> all;
  for (const auto& each : fs::directory_iterator(folder)) {
    if (each.is_regular_file()) all.push_back(each.path());
  }
  if (all.empty()) throw std::runtime_error(folder.string() + " has no file in it");
  std::sort(all.begin(), all.end());
  return all;
}

void replay(const fs::path& file) {
  // Printed before the run, so that the last line of a failed test names the input.
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file.string() + " cannot be read");
  // Exactly this size, like the fuzzer's.
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s FOLDER...\n", arguments[0]);
    return 2;
  }
  try {
    for (int i = 1; i < count; ++i) {
      for (const fs::path& each : files_of(arguments[i])) replay(each);
    }
  } catch (const std::exception& why) {
    std::fprintf(stderr, "%s\n", why.what());
    return 1;
  }
}
