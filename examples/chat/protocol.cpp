// SPDX-License-Identifier: Apache-2.0
#include "protocol.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace chat {

namespace {

using nlohmann::json;

std::string quoted(const std::string& text) { return "\"" + text.substr(0, 40) + "\""; }

/// The approximate number of characters: code points of UTF-8, which nlohmann::json has validated.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

std::string field(const json& object, const char* name, std::size_t characters_max) {
  const auto at = object.find(name);
  if (at == object.end()) throw bad_request(std::string("\"") + name + "\" is missing");
  if (!at->is_string()) throw bad_request(std::string("\"") + name + "\" must be a string");
  std::string text = at->get<std::string>();
  if (is_blank(text)) throw bad_request(std::string("\"") + name + "\" is empty");
  if (const std::size_t length = characters(text); length > characters_max) {
    throw bad_request(std::string("\"") + name + "\" is too long: " + std::to_string(length) +
                      " characters, and " + std::to_string(characters_max) + " are allowed");
  }
  return text;
}

/// Reads a name, which must fit on one line.
std::string name_field(const json& object, const char* name, std::size_t characters_max) {
  std::string text = field(object, name, characters_max);
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; })) {
    throw bad_request(std::string("\"") + name + "\" contains a control character");
  }
  return text;
}

json to_json(const message& m) {
  return {{"id", m.id}, {"from", m.from}, {"text", m.text}, {"at", m.at}};
}

event encode(const json& object) { return std::make_shared<const std::string>(object.dump()); }

}  // namespace

request parse(std::string_view text) {
  json object;
  try {
    object = json::parse(text);
  } catch (const json::exception& e) {
    throw bad_request(std::string("this is not valid JSON: ") + e.what());
  }
  if (!object.is_object()) throw bad_request("send a JSON object such as {\"type\":\"say\",…}");
  const std::string type = field(object, "type", 4000);
  if (type == "join") {
    return join_request{name_field(object, "room", room_characters_max),
                        name_field(object, "name", name_characters_max)};
  }
  if (type == "say") return say_request{field(object, "text", text_characters_max)};
  if (type == "leave") return leave_request{};
  throw bad_request("the type " + quoted(type) + " is unknown; the types are join, say and leave");
}

event joined(std::string_view room, std::string_view name, const std::vector<std::string>& people,
             const std::vector<message>& history) {
  json messages = json::array();
  for (const message& each : history) messages.push_back(to_json(each));
  return encode({{"type", "joined"},
                 {"room", room},
                 {"name", name},
                 {"people", people},
                 {"history", std::move(messages)}});
}

event said(const message& m) {
  json object = to_json(m);
  object["type"] = "said";
  return encode(object);
}

event arrived(std::string_view name) { return encode({{"type", "arrived"}, {"name", name}}); }
event left(std::string_view name) { return encode({{"type", "left"}, {"name", name}}); }
event left_room() { return encode({{"type", "left_room"}}); }
event error(std::string_view reason) {
  // The reason may quote an incomplete UTF-8 character of the client's message.
  return std::make_shared<const std::string>(json{{"type", "error"}, {"reason", reason}}.dump(
      -1, ' ', false, json::error_handler_t::replace));
}

}  // namespace chat
