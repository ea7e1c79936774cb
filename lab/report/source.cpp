// SPDX-License-Identifier: Apache-2.0
#include "lab/report/source.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <utility>

namespace troupe::lab {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* expected =
    "expected a file that `troupe lab NAME` wrote with --json FILE or --trace FILE";

struct closing {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

std::string contents(const std::string& file) {
  std::string text;
  const std::unique_ptr<std::FILE, closing> in(std::fopen(file.c_str(), "rb"));
  char part[65536];
  while (in != nullptr) {
    const std::size_t size = std::fread(part, 1, sizeof part, in.get());
    if (size == 0) break;
    text.append(part, size);
  }
  if (in == nullptr || std::ferror(in.get()) != 0) {
    throw std::runtime_error(file + " cannot be read: " + std::strerror(errno) + "; " + expected);
  }
  return text;
}

void demand(bool is_so, const std::string& what) {
  if (!is_so) throw std::runtime_error(what);
}

void demand_texts(const json& object, const std::string& where,
                  std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = object.find(name);
    demand(found != object.end() && found->is_string(), where + name + " is not a string");
  }
}

// Checks the fields on which the page relies.
void check_result(const json& all) {
  demand_texts(all, "", {"experiment"});
  const auto has = [&](const char* name, bool (json::*is)() const noexcept) {
    return all.contains(name) && (all[name].*is)();
  };
  demand(has("host", &json::is_object), "host is not an object");
  demand(!all.contains("options") || has("options", &json::is_object), "options is not an object");
  demand(has("failures", &json::is_array), "failures is not a list");
  for (const json& failure : all["failures"])
    demand(failure.is_string(), "a failure is not a string");
  if (all.contains("answer")) demand_texts(all, "", {"answer"});
  demand(!all.contains("notes") || has("notes", &json::is_array), "notes is not a list");
  for (const json& note : all.value("notes", json::array())) {
    demand(note.is_string(), "a note is not a string");
  }
  demand(has("results", &json::is_array), "results is not a list");
  std::size_t at = 0;
  for (const json& one : all["results"]) {
    const std::string where = "results[" + std::to_string(at++) + "]";
    demand(one.is_object(), where + " is not an object");
    demand_texts(one, where + ".", {"engine", "variant", "metric", "unit"});
    if (one.contains("workload")) demand_texts(one, where + ".", {"workload"});
    for (const char* name : {"median", "min", "max", "runs"}) {
      demand(one.contains(name) && one[name].is_number(), where + "." + name + " is not a number");
    }
  }
  for (const char* list : {"engines", "left_out"}) {
    if (!all.contains(list)) continue;
    demand(all[list].is_array(), std::string(list) + " is not a list");
    for (const json& one : all[list]) {
      demand(one.is_object(), std::string(list) + " contains an element that is not an object");
      demand_texts(one, std::string(list) + ": ",
                   {"engine", std::strcmp(list, "engines") == 0 ? "version" : "why"});
    }
  }
}

source parse(const std::string& file, const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  demand(first != std::string::npos, "the file is empty");
  if (text[first] == '[') return {.file = file, .trace = read_timeline(text)};
  json all = json::parse(text, nullptr, false);
  demand(!all.is_discarded(), "this is not JSON");
  demand(all.is_object(), "this is JSON, but neither an object nor a list");
  if (all.contains("traceEvents")) return {.file = file, .trace = read_timeline(text)};
  check_result(all);
  return {.file = file, .result = std::move(all)};
}

}  // namespace

source read_source(const std::string& file) {
  const std::string text = contents(file);
  try {
    return parse(file, text);
  } catch (const std::exception& wrong) {
    throw std::runtime_error(file + ": " + wrong.what() + "; " + expected);
  }
}

}  // namespace troupe::lab
