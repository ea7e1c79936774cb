// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_all.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/wrong_usage.hpp"
#include "lab/frame/catalogue.hpp"

namespace troupe::cli {

void add_all(CLI::App& lab_command, lab::all_options& options, int& result) {
  CLI::App* command = lab_command.add_subcommand(
      "all", "Runs every experiment, and writes the results to a folder");
  std::vector<CLI::Option*> extents;
  const auto add_extent = [&](const char* name, lab::extent how, const char* help) {
    CLI::Option* const flag = command
                                  ->add_flag_callback(
                                      name, [&options, how] { options.how = how; }, help)
                                  ->disable_flag_override();
    for (CLI::Option* other : extents) flag->excludes(other);
    extents.push_back(flag);
  };
  add_extent("--quick", lab::extent::quick, "small sizes: about four minutes on two cores");
  add_extent("--full", lab::extent::full, "published sizes, 5 rounds, for figures to publish");
  add_extent("--smoke", lab::extent::smoke, "tiny sizes, 1 round, to check that everything works");

  command
      ->add_option("--folder", options.folder,
                   "folder of the results, one JSON file for each experiment")
      ->check(is_named)
      ->type_name("DIR")
      ->capture_default_str();
  command->add_flag("--fresh", options.fresh, "measure again even if the folder has results")
      ->disable_flag_override();
  std::vector<std::string> names;
  for (const lab::catalogue_entry& each : lab::catalogue()) names.emplace_back(each.name);
  command
      ->add_option("--only", options.only, "run only this experiment; may be given several times")
      ->check(one_of("experiment", names))
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_number(*command, "--repeat", {1, 1'000}, "runs of each experiment; overrides the preset",
             [&options](std::uint64_t value) { options.repeat = static_cast<unsigned>(value); });
  add_number(*command, "--timeout", {1, 86'400}, "seconds after which a run fails",
             [&options](std::uint64_t value) {
               options.limit = std::chrono::seconds(static_cast<std::int64_t>(value));
             })
      ->default_str("120");
  command->callback([&options, &result, extents] {
    if (std::none_of(extents.begin(), extents.end(),
                     [](auto* each) { return each->count() > 0; })) {
      throw CLI::RequiredError("one of --quick, --full and --smoke");
    }
    result = lab::run_all(options);
  });
}

}  // namespace troupe::cli
