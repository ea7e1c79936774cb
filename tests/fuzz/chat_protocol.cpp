// SPDX-License-Identifier: Apache-2.0

// Messages from the page of the chat to the server, and their replies.

#include "examples/chat/protocol.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using nlohmann::json;

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void check_text(const std::string& text, std::size_t characters_max) {
  require(is_utf8(text), "a text is UTF-8");
  require(text.find_first_not_of(" \t\r\n") != std::string::npos, "a text is not blank");
  require(characters(text) <= characters_max, "a text is not too long");
}

void check_name(const std::string& name, std::size_t characters_max) {
  check_text(name, characters_max);
  require(std::none_of(name.begin(), name.end(), is_control), "a name is shown on one line");
}

json check_event(const chat::event& e, const char* type) {
  require(is_utf8(*e), "what goes to the page is UTF-8");
  json object = json::parse(*e);
  require(object.at("type") == type, "an event has its type");
  return object;
}

// A request survives a round trip through JSON. Then it goes to the page in the events that it
// causes.
void check(const chat::join_request& r) {
  check_name(r.room, chat::room_characters_max);
  check_name(r.name, chat::name_characters_max);
  const auto again = std::get<chat::join_request>(
      chat::parse(json{{"type", "join"}, {"room", r.room}, {"name", r.name}}.dump()));
  require(again.room == r.room && again.name == r.name, "a request to join comes back");
  const json joined = check_event(
      chat::joined(r.room, r.name, {r.name}, {{.id = 1, .from = r.name, .text = r.room, .at = 2}}),
      "joined");
  require(joined.at("people").at(0) == r.name && joined.at("history").at(0).at("text") == r.room,
          "who joined is told of people and history");
  require(check_event(chat::arrived(r.name), "arrived").at("name") == r.name, "arrived: who");
  require(check_event(chat::left(r.name), "left").at("name") == r.name, "left: who");
}

void check(const chat::say_request& r) {
  check_text(r.text, chat::text_characters_max);
  const auto again =
      std::get<chat::say_request>(chat::parse(json{{"type", "say"}, {"text", r.text}}.dump()));
  require(again.text == r.text, "a text comes back");
  const json said = check_event(
      chat::said({.id = ~std::uint64_t{0}, .from = "a", .text = r.text, .at = -1}), "said");
  require(said.at("text") == r.text && said.at("id") == ~std::uint64_t{0}, "said: what and which");
}

void check(const chat::leave_request&) {}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  std::optional<chat::request> asked;
  try {
    asked = chat::parse(text);
  } catch (const chat::bad_request& why) {
    require(*why.what() != '\0', "an error says what is wrong");
    const json error = check_event(chat::error(why.what()), "error");
    require(!error.at("reason").get<std::string>().empty(), "the page is told what is wrong");
  }
  if (asked) std::visit([](const auto& r) { check(r); }, *asked);
  return 0;
}
