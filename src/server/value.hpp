// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server::detail {

/// Quotes a text of the user for one line of a message: without characters that would break the
/// line, and shortened.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Throws configuration_error: "troupe.toml:12:8: TEXT".
[[noreturn]] void refuse_at(const std::filesystem::path& file, const toml::source_region& where,
                            const std::string& text);

/// One value of a file, with its full name.
///
/// Threads: a view; the file's tree must outlive it.
class value {
 public:
  value(const std::filesystem::path& file, std::string name, const toml::node& node)
      : file_(file), name_(std::move(name)), node_(node) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const toml::node& node() const noexcept { return node_; }

  /// Each returns nothing if the value has another type.
  [[nodiscard]] std::optional<std::int64_t> number() const;
  [[nodiscard]] std::optional<std::string> text() const;
  [[nodiscard]] std::optional<bool> flag() const;
  [[nodiscard]] std::optional<std::vector<std::string>> texts() const;
  /// The value as JSON. Refuses values that JSON cannot represent.
  [[nodiscard]] std::string json() const;

  /// Resolves a path relative to the file's folder.
  [[nodiscard]] std::filesystem::path path(const std::string& text) const;

  /// Throws, for example, "listen.port is 70000; allowed are 0 to 65535".
  [[noreturn]] void refuse(const std::string& allowed) const;
  /// Throws the name, a space, and `what`.
  [[noreturn]] void refuse_as(const std::string& what) const;

 private:
  const std::filesystem::path& file_;
  std::string name_;
  const toml::node& node_;
};

}  // namespace troupe::server::detail
