// SPDX-License-Identifier: Apache-2.0

// Checks that docs/guide/configuration.md describes each key as the code does, and no other keys.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <troupe/server/configuration.hpp>

#include "from_bin.hpp"
#include "lua/temporary_folder.hpp"

namespace troupe::server {
namespace {

std::string the_page() {
  std::ifstream in(troupe::test::from_bin(TROUPE_CONFIGURATION_PAGE));
  return {std::istreambuf_iterator<char>(in), {}};
}

using row = std::vector<std::string>;  // default, allowed

TEST(configuration_page, lists_exactly_the_existing_keys_with_defaults_and_allowed_values) {
  std::map<std::string, row> in_page, in_code;
  const std::string page = the_page();
  const std::regex line("\\| `([^`]+)` \\| `([^`]*)` \\| ([^|]*) \\| ([^|]+) \\|\n");
  for (std::sregex_iterator at(page.begin(), page.end(), line), end; at != end; ++at) {
    EXPECT_TRUE(in_page.emplace((*at)[1], row{(*at)[2], (*at)[3]}).second) << (*at)[1];
  }
  for (const documented_key& each : all_keys()) {
    in_code.emplace(each.name, row{each.initially, each.allowed});
  }
  EXPECT_EQ(in_page, in_code);
}

TEST(configuration_page, marks_the_keys_that_a_reload_applies) {
  for (const documented_key& each : all_keys()) {
    const bool is_of_upgrades = each.name == "applications.NAME.config" ||
                                (each.name.starts_with("applications.NAME.limits.") &&
                                 each.name.find("mailbox") == std::string::npos &&
                                 each.name.find("metrics_bytes") == std::string::npos);
    const bool takes_effect =
        each.name.starts_with("log.") || each.name.starts_with("tls.") || is_of_upgrades;
    EXPECT_EQ(each.reloads, takes_effect) << each.name;
  }
}

TEST(configuration_page, shows_an_example_that_is_accepted_and_errors_that_are_real) {
  const std::string page = the_page();
  const std::string fence = "```toml\n";
  const std::size_t from = page.find(fence) + fence.size();
  const std::string example = page.substr(from, page.find("```", from) - from);
  const temporary_folder folder;
  folder.write("apps/echo/main.lua", "return {}\n");
  folder.write("apps/echo/page/index.html", "");
  folder.write("apps/clock.lua", "return {}\n");
  const auto parse = [&](const std::string& text) {
    return parse_configuration(text, folder.path() / "troupe.toml");
  };
  const configuration all = parse(example);
  ASSERT_EQ(all.applications.size(), 2u);
  EXPECT_EQ(all.applications[1].options.config,
            R"({"greeting":"hello","rooms":["lobby","kitchen"]})");

  const std::string wrong[] = {"\n[listen]\nport = 70000\n",
                               "\n\n\n\n[limits]\nmesage_bytes = 1\n"};
  for (const std::string& text : wrong) {
    try {
      (void)parse(text);
      ADD_FAILURE() << text;
    } catch (const configuration_error& why) {
      const std::string said = std::string(why.what()).substr(folder.path().string().size() + 1);
      EXPECT_THAT(page, testing::HasSubstr("\n" + said + "\n"));
    }
  }
}

}  // namespace
}  // namespace troupe::server
