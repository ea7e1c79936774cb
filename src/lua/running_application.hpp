// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: serves an application from a text.

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <troupe/lua/application.hpp>

#include "http/test_server.hpp"
#include "temporary_folder.hpp"

namespace troupe::lua::test {

using http::test::raw_client;

class running_application : public http::test::served {
 protected:
  running_application() {
    options_.name = "app";
    options_.limits.run_timeout = std::chrono::seconds(20);  // a busy host needs time
  }
  ~running_application() override {
    server_.reset();
    application_.reset();
  }

  /// Serves a main.lua at /app.
  void start(const std::string& main) { start(main, on_free_port()); }
  void start(const std::string& main, http::options with) {
    options_.from = write("app", main);
    application_ = std::make_unique<application>(among_, options_);
    served::start(std::move(with), [&](http::server& on) { application_->serve(on, "/app"); });
  }

  /// Writes another main.lua. Returns why it does not take over.
  std::string upgrade(const std::string& main) {
    write("app", main);
    return application_->upgrade();
  }

  /// Makes another application, without clients.
  application make(const std::string& name, const std::string& main) {
    application_options its;
    its.name = name;
    its.from = write(name, main);
    return application(among_, its);
  }

  raw_client open(const std::string& path = "/app") { return served::open(path); }

  /// Returns the reason why an application cannot start.
  std::string problem(const std::string& main) {
    options_.from = write("app", main);
    options_.limits.run_timeout = std::chrono::milliseconds(50);
    try {
      application_ = std::make_unique<application>(among_, options_);
    } catch (const application_error& e) {
      return e.what();
    }
    return {};
  }

  http::test::diary log_;
  application_options options_;
  std::map<std::string, std::string> files_;  // besides main.lua

 private:
  std::filesystem::path write(const std::string& name, const std::string& main) {
    for (const auto& [file, text] : files_) folder_.write(name + "/" + file, text);
    folder_.write(name + "/main.lua", main);
    return folder_.path() / name;
  }
  static std::string_view word(severity how) {
    constexpr std::string_view words[] = {"debug", "info", "warning", "error"};
    return words[static_cast<std::size_t>(how)];
  }

 protected:
  const temporary_folder folder_;
  community among_{system_, [this](const log_line& line) {
                     log_.write(std::string(word(line.how)) + ": " + std::string(line.text));
                   }};
  std::unique_ptr<application> application_;
};

}  // namespace troupe::lua::test
