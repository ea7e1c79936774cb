// SPDX-License-Identifier: Apache-2.0
#include "cli/lab.hpp"

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/lab_all.hpp"
#include "cli/wrong_usage.hpp"
#include "lab/advice/advice.hpp"
#include "lab/built.hpp"
#include "lab/frame/catalogue.hpp"
#include "lab/frame/comparable.hpp"
#include "lab/frame/measuring.hpp"
#include "lab/frame/run.hpp"
#include "lab/peers/peers.hpp"
#include "lab/report/page.hpp"

namespace troupe::cli {
namespace {

void add_run_options(CLI::App& command, lab::run_options& options,
                     const std::set<std::string>& engines) {
  add_number(command, "--repeat", {1, 1'000}, "runs of each variant; the median is shown",
             [&](std::uint64_t value) { options.repeat = static_cast<unsigned>(value); })
      ->default_str("3");
  command.add_flag("--smoke", options.smoke, "tiny sizes, to check that everything works")
      ->disable_flag_override();
  command
      .add_option("--json", options.json,
                  "write the results as one JSON object to a file; -: stdout")
      ->check(is_named)
      ->type_name("FILE");
  command
      .add_option("--engine", options.engines, "run only this engine; may be given several times")
      ->check(one_of("engine", {engines.begin(), engines.end()}))
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_number(command, "--timeout", {1, 86'400}, "seconds after which a run fails",
             [&](std::uint64_t value) {
               options.limit = std::chrono::seconds(static_cast<std::int64_t>(value));
             })
      ->default_str("120");
}

struct peers_options {
  std::vector<std::string> workloads;
  lab::engine_folders folders{lab::built::engines(), lab::built::cache()};
};

// `--requests FILE` and `--write FILE`.
void add_input(CLI::App& command, const lab::input_file& input, lab::run_options& options) {
  CLI::Option* const from =
      command.add_option("--" + std::string(input.name), options.input, std::string(input.help))
          ->check(is_named)
          ->type_name("FILE");
  command.add_option("--write", options.write, "write the input to a file without measuring")
      ->check(is_named)
      ->type_name("FILE")
      ->excludes(from);
}

// `troupe lab NAME`: the sizes of the experiment, and the options of every experiment.
void add_experiment(CLI::App& lab_command, const lab::catalogue_entry& which,
                    lab::run_options& options, lab::sizes& given, int& result) {
  CLI::App* command =
      lab_command.add_subcommand(std::string(which.name), std::string(which.what.asks));
  for (const lab::size_option& size : which.what.options) {
    add_number(*command, "--" + std::string(size.name), {size.least, size.most},
               std::string(size.help),
               [&given, size](std::uint64_t value) { given.set(size.name, value); })
        ->default_str(std::to_string(size.value));
  }
  if (which.what.input) add_input(*command, *which.what.input, options);
  std::set<std::string> engines;
  for (const lab::variant& each : which.what.variants) engines.insert(each.engine);
  add_run_options(*command, options, engines);
  command
      ->add_option(
          "--trace", options.trace,
          "write a trace of the threads for ui.perfetto.dev, and print where Troupe spent its time")
      ->check(is_named)
      ->type_name("FILE");
  command->callback([&] { result = lab::run_experiment(which, given, options); });
}

// `troupe lab peers WORKLOAD…`
void add_peers(CLI::App& lab_command, peers_options& peers, lab::run_options& options,
               lab::sizes& given, int& result) {
  CLI::App* command =
      lab_command.add_subcommand(std::string(lab::peers_name), std::string(lab::peers_asks));
  const std::vector<std::string> all = lab::peer_workloads();
  std::vector<std::string> choices = all;
  choices.emplace_back("all");
  command
      ->add_option("WORKLOAD", peers.workloads,
                   "one or more workloads; all: print a table in Markdown")
      ->required()
      ->check(one_of("workload", choices))
      ->type_name("NAME");
  add_number(*command, "--workers", {1, 1'024}, "worker threads of each engine",
             [&given](std::uint64_t value) { given.set("workers", value); })
      ->default_str("2");
  command->add_option("--engines", peers.folders.sources, "the folder of the engines' sources")
      ->check(is_folder)
      ->type_name("DIR")
      ->capture_default_str();
  const std::vector<std::string> engines = lab::engine_names();
  add_run_options(*command, options, {engines.begin(), engines.end()});
  command->callback([&peers, &given, &options, &result, all] {
    if (const std::string why = lab::why_peers_are_not_comparable(); why.empty()) {
      std::cerr << lab::note_of_flags() << '\n';
    } else if (!options.smoke) {
      result = lab::refuse_comparison("troupe lab peers", why);
      return;
    }
    const std::set<std::string> asked(peers.workloads.begin(), peers.workloads.end());
    std::vector<std::string> chosen;
    for (const std::string& each : all) {
      if (asked.contains(each) || asked.contains("all")) chosen.push_back(each);
    }
    result = lab::run_peers(chosen, given, options, peers.folders);
  });
}

// `troupe lab advise`
void add_advise(CLI::App& lab_command, lab::advice_options& options, int& result) {
  CLI::App* command =
      lab_command.add_subcommand("advise", "Recommends settings of the runtime for this host");
  command
      ->add_option("--rounds", options.rounds,
                   "runs of each setting; with fewer than 5, every difference counts as noise")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--smoke", options.smoke, "tiny sizes, to check that everything works");
  command->add_option("--json", options.json,
                      "write the results as one JSON object to a file; -: stdout");
  command
      ->add_option("--write", options.write,
                   "write the settings to a file for troupe::read_settings()")
      ->check(is_named)
      ->type_name("FILE");
  command->callback([&] { result = lab::advise(options); });
}

struct report_options {
  std::vector<std::string> files;
  std::string html;
};

// `troupe lab report --html FILE RESULT…`
void add_report(CLI::App& lab_command, report_options& report, int& result) {
  CLI::App* command = lab_command.add_subcommand("report", "writes results as one page of HTML");
  command->add_option("RESULT", report.files, "a file written by --json or --trace")
      ->required()
      ->check(is_named);
  command->add_option("--html", report.html, "the file for the page; -: stdout")
      ->required()
      ->check(is_named)
      ->type_name("FILE");
  command->callback([&report, &result] {
    if (lab::is_one_of(report.html, report.files)) {
      throw CLI::ValidationError("--html", "would overwrite the result " + report.html);
    }
    result = lab::write_report(report.files, report.html);
  });
}

}  // namespace

struct lab_options {
  lab::run_options run;
  lab::sizes given;
  peers_options peers;
  lab::all_options all;
  lab::advice_options advice;
  report_options report;
};

std::shared_ptr<void> add_lab(CLI::App& program, int& result) {
  const auto options = std::make_shared<lab_options>();
  CLI::App* lab_command =
      program.add_subcommand("lab", "runs an experiment; without a name, lists all experiments");
  lab_command->require_subcommand(0, 1);
  lab_command->add_subcommand("list", "lists the experiments");
  for (const lab::catalogue_entry& each : lab::catalogue()) {
    add_experiment(*lab_command, each, options->run, options->given, result);
  }
  add_peers(*lab_command, options->peers, options->run, options->given, result);
  add_all(*lab_command, options->all, result);
  add_advise(*lab_command, options->advice, result);
  add_report(*lab_command, options->report, result);
  lab_command->callback([lab_command] {
    if (lab_command->get_subcommands().empty() || lab_command->got_subcommand("list")) {
      lab::list_experiments();
    }
  });
  return options;
}

}  // namespace troupe::cli
