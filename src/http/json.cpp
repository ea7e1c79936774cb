// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "text.hpp"

namespace troupe::http::detail {
namespace {

using json = nlohmann::json;

std::string escaped(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

// A name in an error, which repeats no more of a request than this.
std::string_view shown(std::string_view name) noexcept { return name.substr(0, 64); }

// RFC 6901, 3.
std::string as_part(std::string_view name) {
  std::string part;
  for (const char c : shown(name)) {
    if (c == '~') {
      part += "~0";
    } else if (c == '/') {
      part += "~1";
    } else {
      part += c;
    }
  }
  return part;
}

/// Looks for text that the parser accepts and this layer refuses: deep nesting, and names that
/// occur twice in one object. It returns false as soon as it finds something.
class strict_check final : public json::json_sax_t {
 public:
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    names_.emplace_back();
    return enter();
  }
  bool key(string_t& name) override {
    if (names_.back().insert(name).second) return true;
    why_ = "has two members of the name " + escaped(shown(name));
    return false;
  }
  bool end_object() override {
    names_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    why_ = "is not valid JSON (RFC 8259)";
    return false;
  }

 private:
  bool enter() {
    if (++depth_ <= json_document::depth_max) return true;
    why_ = "is nested more than " + std::to_string(json_document::depth_max) + " deep";
    return false;
  }

  std::size_t depth_ = 0;
  std::vector<std::unordered_set<std::string>> names_;
  std::string why_;
};

const json& value_of(const void* value) noexcept { return *static_cast<const json*>(value); }

}  // namespace

struct json_document::parsed {
  json value;
};

json_document::json_document(std::string_view text) {
  strict_check check;
  // For the parser, a zero byte is the end of the text.
  if (text.find('\0') != std::string_view::npos) {
    add("", "is not valid JSON (RFC 8259)");
  } else if (!json::sax_parse(text.begin(), text.end(), &check)) {
    add("", check.why());
  } else {
    value_ = std::make_unique<parsed>(parsed{json::parse(text.begin(), text.end())});
  }
}

json_document::~json_document() = default;

std::optional<json_cursor> json_document::root() noexcept {
  if (value_ == nullptr) return std::nullopt;
  return json_cursor(*this, &value_->value, nullptr, {}, 0);
}

void json_document::add(std::string pointer, std::string detail) {
  if (errors_.size() == errors_max) return;
  errors_.push_back({std::move(pointer), std::move(detail)});
}

std::vector<field_error> json_document::take_errors() noexcept {
  return std::exchange(errors_, {});
}

bool json_cursor::is_null() const noexcept { return value_of(value_).is_null(); }

bool json_cursor::read(bool& into) const {
  const json& value = value_of(value_);
  if (!value.is_boolean()) return add_error("must be true or false"), false;
  into = value.get<bool>();
  return true;
}

bool json_cursor::read(std::string& into) const {
  const json& value = value_of(value_);
  if (!value.is_string()) return add_error("must be a string"), false;
  into = value.get_ref<const std::string&>();
  return true;
}

bool json_cursor::read(double& into) const {
  const json& value = value_of(value_);
  if (!value.is_number()) return add_error("must be a number"), false;
  into = value.get<double>();
  return true;
}

bool json_cursor::read_integer(std::int64_t& into, std::int64_t least, std::int64_t most) const {
  const json& value = value_of(value_);
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <=
                              static_cast<std::uint64_t>(std::max<std::int64_t>(most, 0))
                        : value.is_number_integer() && value.get<std::int64_t>() >= least &&
                              value.get<std::int64_t>() <= most;
  if (!fits) {
    add_error("must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return false;
  }
  into = value.get<std::int64_t>();
  return true;
}

bool json_cursor::read_unsigned(std::uint64_t& into, std::uint64_t most) const {
  const json& value = value_of(value_);
  const bool is_positive = value.is_number_unsigned() ||  // -0 is not, as the parser says
                           (value.is_number_integer() && value.get<std::int64_t>() == 0);
  if (!is_positive || value.get<std::uint64_t>() > most) {
    add_error("must be an integer from 0 to " + std::to_string(most));
    return false;
  }
  into = value.get<std::uint64_t>();
  return true;
}

std::optional<std::size_t> json_cursor::elements() const {
  const json& value = value_of(value_);
  if (!value.is_array()) return add_error("must be an array"), std::nullopt;
  return value.size();
}

json_cursor json_cursor::element(std::size_t index) const {
  return {*in_, &value_of(value_)[index], this, {}, index};
}

bool json_cursor::is_object() const {
  if (value_of(value_).is_object()) return true;
  add_error("must be an object");
  return false;
}

json_cursor json_cursor::member(std::string_view name) const {
  const json& value = value_of(value_);
  const auto found = value.find(std::string{name});
  return {*in_, found == value.end() ? nullptr : &*found, this, name, 0};
}

std::vector<std::string_view> json_cursor::names() const {
  std::vector<std::string_view> all;
  for (const auto& each : value_of(value_).items()) all.emplace_back(each.key());
  return all;
}

void json_cursor::expect_only(const std::vector<std::string_view>& allowed) const {
  for (const auto& each : value_of(value_).items()) {
    if (has_all_errors()) return;
    if (std::find(allowed.begin(), allowed.end(), each.key()) != allowed.end()) continue;
    std::string detail = "is unknown; allowed are:";
    for (const std::string_view name : allowed) {
      detail.append(name == allowed.front() ? " " : ", ").append(name);
    }
    in_->add(pointer() + '/' + as_part(each.key()), std::move(detail));
  }
}

void json_cursor::add_error(std::string detail) const {
  if (!has_all_errors()) in_->add(pointer(), std::move(detail));
}

bool json_cursor::has_all_errors() const noexcept {
  return in_->errors_.size() == json_document::errors_max;
}

std::string json_cursor::pointer() const {
  if (parent_ == nullptr) return {};
  return parent_->pointer() + '/' +
         (name_.data() == nullptr ? std::to_string(index_) : as_part(name_));
}

void append_json(std::string& to, std::string_view text) { to += escaped(text); }

void append_json(std::string& to, double value) {
  if (!std::isfinite(value)) return void(to += "null");
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  to.append(text.data(), end.ptr);
}

void expect_json(const request& asked) {
  std::string_view type = asked.header("Content-Type");
  type = trimmed(type.substr(0, type.find(';')));
  const std::size_t plus = type.rfind('+');
  if (equal_ignoring_case(type, "application/json") ||
      (plus != std::string_view::npos && equal_ignoring_case(type.substr(plus), "+json"))) {
    return;
  }
  throw request_error(415, "Content-Type must be application/json");
}

void append_json_integer(std::string& to, std::int64_t value) { to += std::to_string(value); }
void append_json_unsigned(std::string& to, std::uint64_t value) { to += std::to_string(value); }

}  // namespace troupe::http::detail

namespace troupe::http {

invalid_json::invalid_json(std::vector<field_error> errors)
    : request_error(400, "the body is not the expected JSON"), errors_(std::move(errors)) {}

response invalid_json::to_response() const {
  response r = problem(status(), detail(), title());
  // The members of problem() are always there.
  r.body.pop_back();
  r.body += ",\"errors\":[";
  for (const field_error& each : errors_) {
    if (&each != &errors_.front()) r.body += ',';
    r.body += "{\"pointer\":";
    detail::append_json(r.body, each.field);
    r.body += ",\"detail\":";
    detail::append_json(r.body, each.detail);
    r.body += '}';
  }
  r.body += "]}";
  return r;
}

}  // namespace troupe::http
