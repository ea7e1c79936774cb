// SPDX-License-Identifier: Apache-2.0
#include "lab/all/results_folder.hpp"

#include <fstream>
#include <utility>

namespace troupe::lab {

namespace {

namespace fs = std::filesystem;

constexpr const char* readme = "README";
constexpr const char* says =
    "Results of `troupe lab all`: a file for each experiment, as --json writes it.\n"
    "The same command measures the experiments that are missing here.\n";

// Writes a temporary file beside it, and renames that.
void write_whole(const fs::path& file, const std::string& text) {
  const fs::path part = file.string() + ".part";
  {
    std::ofstream out(part);
    out << text;
    if (!out.flush()) throw std::runtime_error(part.string() + " cannot be written");
  }
  fs::rename(part, file);
}

bool is_ours(const fs::path& folder) {
  std::ifstream file(folder / readme);
  std::string first;
  return std::getline(file, first) && std::string_view(says).starts_with(first);
}

}  // namespace

results_folder::results_folder(fs::path folder) : folder_(std::move(folder)) {
  if (fs::exists(folder_) && !fs::is_directory(folder_)) {
    throw unsuitable_folder(folder_.string() +
                            " is not a folder; choose another one with --folder");
  }
  if (fs::exists(folder_) && !fs::is_empty(folder_) && !is_ours(folder_)) {
    throw unsuitable_folder(
        folder_.string() +
        " contains files that are not results; choose another folder with --folder");
  }
  fs::create_directories(folder_);
  if (!fs::exists(folder_ / readme)) write_whole(folder_ / readme, says);
}

fs::path results_folder::file_of(const std::string& experiment) const {
  return folder_ / (experiment + ".json");
}

std::optional<nlohmann::ordered_json> results_folder::find(const std::string& experiment) const {
  std::ifstream in(file_of(experiment));
  if (!in) return std::nullopt;
  auto result = nlohmann::ordered_json::parse(in, nullptr, false);
  if (!result.is_object() || result.value("experiment", "") != experiment) {
    throw unsuitable_folder(file_of(experiment).string() + " is not a result of " + experiment +
                            "; remove it, or measure everything again with --fresh");
  }
  return result;
}

fs::file_time_type results_folder::written(const std::string& experiment) const {
  return fs::last_write_time(file_of(experiment));
}

void results_folder::remove(const std::string& experiment) { fs::remove(file_of(experiment)); }

void results_folder::write(const std::string& experiment, const nlohmann::ordered_json& result) {
  write_whole(file_of(experiment), result.dump(2) + "\n");
}

}  // namespace troupe::lab
