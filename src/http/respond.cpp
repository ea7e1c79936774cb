// SPDX-License-Identifier: Apache-2.0

#include "respond.hpp"

#include <boost/beast/http/span_body.hpp>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include <troupe/http/problem.hpp>

#include "conditional.hpp"
#include "content_type.hpp"
#include "date.hpp"
#include "file_body.hpp"
#include "handshake.hpp"
#include "metrics.hpp"
#include "request_access.hpp"
#include "shared_text_body.hpp"
#include "text.hpp"

namespace troupe::http::detail {
namespace {

namespace bh = beast::http;
using bh::field;

// ── Writing ───────────────────────────────────────────────────────────────────────────────────

/// The parts of a request that its reply depends on.
struct context {
  const server_context& on;
  unsigned version = 11;
  bool keep_alive = false;
  bool head_only = false;
};

void add_common(bh::fields& to) {
  to.set(field::server, "Troupe");
  to.set(field::date, to_http_date(std::chrono::floor<std::chrono::seconds>(wall_clock::now())));
}

// A head without a body: for HEAD, 304 and 204.
reply only_head(const context& c, bh::response<bh::empty_body>&& m) {
  m.version(c.version);
  m.keep_alive(c.keep_alive);
  add_common(m);
  return std::move(m);
}

template <class Body>
reply whole(const context& c, bh::response<Body>&& m) {
  const std::uint64_t size = Body::size(m.body());
  m.content_length(size);
  if (c.head_only) return only_head(c, bh::response<bh::empty_body>{std::move(m.base())});
  m.version(c.version);
  m.keep_alive(c.keep_alive);
  add_common(m);
  return std::move(m);
}

bool can_stand_in_header(std::string_view text) noexcept {
  return text.find_first_of(std::string_view{"\r\n\0", 3}) == std::string_view::npos;
}

bool is_usable(const response& r) noexcept {
  if (r.status < 200 || r.status > 599 || !can_stand_in_header(r.content_type)) return false;
  for (const auto& [name, value] : r.headers) {
    if (!is_token(name) || !can_stand_in_header(value)) return false;
  }
  return true;
}

// Headers that the server sets itself.
bool is_ours(std::string_view name) noexcept {
  for (const std::string_view own : {"Content-Length", "Date", "Server", "Transfer-Encoding"}) {
    if (equal_ignoring_case(name, own)) return true;
  }
  return false;
}

reply to_reply(const context& c, response&& r) {
  bh::response<bh::string_body> m;
  m.result(r.status);
  for (const auto& [name, value] : r.headers) {
    if (!is_ours(name)) m.insert(name, value);
  }
  if (r.status == 204 || r.status == 304) {
    return only_head(c, bh::response<bh::empty_body>{std::move(m.base())});
  }
  if (!r.content_type.empty()) m.set(field::content_type, r.content_type);
  m.body() = std::move(r.body);
  return whole(c, std::move(m));
}

// ── Kinds of content ──────────────────────────────────────────────────────────────────────────

reply not_allowed(const context& c, const std::string& allowed) {
  response r = response::error(405);
  r.headers.emplace_back("Allow", allowed);
  return to_reply(c, std::move(r));
}

template <class Message>
void describe(Message& m, std::string_view type, const std::string& etag,
              std::optional<date> modified) {
  m.set(field::content_type, type);
  m.set(field::etag, etag);
  m.set(field::cache_control, "no-cache");  // may be stored, but must be validated before use
  m.set("X-Content-Type-Options", "nosniff");
  if (modified) m.set(field::last_modified, to_http_date(*modified));
}

reply unchanged(const context& c, std::string_view type, const std::string& etag,
                std::optional<date> modified) {
  bh::response<bh::empty_body> m{bh::status::not_modified, c.version};
  describe(m, type, etag, modified);
  return only_head(c, std::move(m));
}

reply of_resource(const context& c, const request& asked, const resource& r) {
  switch (condition_of(asked, r.etag, std::nullopt)) {
    case condition::unchanged:
      return unchanged(c, r.content_type, r.etag, std::nullopt);
    case condition::failed:
      return to_reply(c, response::error(412));
    case condition::met:
      break;
  }
  bh::response<bh::span_body<const char>> m{bh::status::ok, c.version};
  describe(m, r.content_type, r.etag, std::nullopt);
  m.body() = {r.bytes.data(), r.bytes.size()};
  return whole(c, std::move(m));
}

reply of_file(const context& c, const request& asked, file_root::file&& file) {
  const std::string_view type = content_type_of(file.name);
  switch (condition_of(asked, file.etag, file.modified)) {
    case condition::unchanged:
      return unchanged(c, type, file.etag, file.modified);
    case condition::failed:
      return to_reply(c, response::error(412));
    case condition::met:
      break;
  }
  bh::response<file_body> m{bh::status::ok, c.version};
  describe(m, type, file.etag, file.modified);
  m.body() = std::move(file);
  return whole(c, std::move(m));
}

// RFC 9110, 9.3.7. To a method that has no handler.
reply without_handler(const context& c, const request& asked, std::string allowed) {
  if (asked.method() != "OPTIONS") return not_allowed(c, allowed);
  response r{.status = 204, .content_type = {}, .body = {}, .headers = {}};
  r.headers.emplace_back("Allow", std::move(allowed));
  return to_reply(c, std::move(r));
}

reply of_files(const context& c, const request& asked, const mount& in) {
  if (asked.method() != "GET" && asked.method() != "HEAD") {
    return without_handler(c, asked, std::string{methods_of_files});
  }
  const std::string_view path = asked.path();
  const bool below = path.size() >= in.prefix.size();
  auto found = below ? in.root->open(path.substr(in.prefix.size())) : file_root::is_directory{};
  if (auto* file = std::get_if<file_root::file>(&found)) return of_file(c, asked, std::move(*file));
  if (std::holds_alternative<file_root::out_of_means>(found)) {
    return to_reply(c, response::error(503));
  }
  if (std::holds_alternative<file_root::is_directory>(found)) {
    // Links in a page are relative to its path, so the slash matters.
    const std::string_view target = asked.target();
    std::string where{target.substr(0, target.find_first_of("?#"))};
    where += '/';
    if (!asked.query().empty()) where.append("?").append(asked.query());
    return to_reply(c, response::redirect(std::move(where), 301));
  }
  return to_reply(c, response::error(404));
}

reply usable_or_failure(const context& c, std::string_view path, response&& r) {
  if (is_usable(r)) return to_reply(c, std::move(r));
  std::fprintf(stderr, "troupe: http: the response to %s has an invalid status or header\n",
               std::string{path}.c_str());
  c.on.counts.handler_failures.add();
  return to_reply(c, response::error(500));
}

reply of_handler(const context& c, const request& asked, const handler& answer) {
  try {
    return usable_or_failure(c, asked.path(), answer(asked));
  } catch (...) {
    handler_result result = result_of_exception(asked.path(), std::current_exception());
    if (result.failed) c.on.counts.handler_failures.add();
    return to_reply(c, std::move(result.with));
  }
}

// ── Choosing a response ───────────────────────────────────────────────────────────────────────

bool wants_websocket(const request_head& head) {
  const request& asked = head.asked;
  return head.version >= 11 && asked.method() == "GET" &&
         request_access::lists(asked, "Connection", "upgrade") &&
         request_access::lists(asked, "Upgrade", "websocket");
}

// RFC 9110, 15.5.22: a 426 names the protocol in Upgrade.
response websocket_required(std::string_view why) {
  response r = response::error(426, why);
  r.headers.emplace_back("Upgrade", "websocket");
  r.headers.emplace_back("Connection", "upgrade");
  return r;
}

// The client may have sent more, in the belief that this is a WebSocket. So this is the last
// response.
reply not_a_websocket(context c, response&& r) {
  c.on.counts.malformed_requests.add();
  c.keep_alive = false;
  return to_reply(c, std::move(r));
}

// As above, it is the last answer.
reply no_room_for_upgrade(context c) {
  c.on.counts.upgrades_refused.add();
  c.keep_alive = false;
  response r = response::error(503, "the memory for the requests of WebSockets is used up");
  r.headers.emplace_back("Retry-After", "1");
  return to_reply(c, std::move(r));
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& each : names) all.append(all.empty() ? "" : ", ").append(each);
  return all;
}

responded of_websocket(const context& c, request&& asked, const route& at, bool has_body) {
  const auto malformed = [&](std::string_view why) {
    c.on.counts.malformed_requests.add();
    return to_reply(c, response::error(400, why));
  };
  if (has_body) return malformed("a WebSocket request must not have a body");
  for (const char* name : {"Origin", "Sec-WebSocket-Key", "Sec-WebSocket-Version"}) {
    if (request_access::count(asked, name) > 1) {
      return malformed(std::string{name} + " must not be repeated");
    }
  }
  if (!c.on.origins.allows(asked.header("Origin"), asked.header("Host"))) {
    c.on.counts.refused_origin.add();
    return to_reply(c, response::error(403, "this origin is not allowed"));
  }
  const std::string_view key = asked.header("Sec-WebSocket-Key");
  if (!is_websocket_key(key)) {
    return not_a_websocket(c, response::error(400, "Sec-WebSocket-Key must be 16 bytes in base64"));
  }
  if (asked.header("Sec-WebSocket-Version") != "13") {
    response r = websocket_required("Sec-WebSocket-Version must be 13");
    r.headers.emplace_back("Sec-WebSocket-Version", "13");
    return not_a_websocket(c, std::move(r));
  }
  const std::string offers = request_access::joined(asked, "Sec-WebSocket-Protocol");
  std::string protocol{choose_protocol(offers, at.protocols)};
  if (protocol.empty() && at.requires_protocol) {
    return malformed("Sec-WebSocket-Protocol must offer one of: " + joined(at.protocols));
  }
  std::string answer = switching_protocols(key, protocol);
  upgrade to{.asked = request_access::compact(asked, at.kept_headers ? &*at.kept_headers : nullptr),
             .session = &at.session,
             .protocol = std::move(protocol),
             .answer = std::move(answer)};
  if (const std::size_t bytes = request_access::bytes_kept(to.asked); bytes > own_request_bytes) {
    to.share = std::make_unique<byte_share>(c.on.upgrade_requests);
    if (!to.share->resize(bytes - own_request_bytes)) return no_room_for_upgrade(c);
  }
  return to;
}

responded of_route(const context& c, const request& asked, const route& at) {
  const bool get = asked.method() == "GET" || asked.method() == "HEAD";
  if (const route_handler* by = at.find(asked.method())) {
    if (by->call.is_coroutine()) return to_handle{by};
    return of_handler(c, asked, by->call);
  }
  if (at.content && get) return of_resource(c, asked, *at.content);
  if (at.session && get) return to_reply(c, websocket_required("this path serves only WebSockets"));
  return without_handler(c, asked, at.allowed());
}

// OPTIONS *: asks about the server as a whole.
reply of_server(const context& c) {
  response r = response::text({});
  r.content_type.clear();
  r.headers.emplace_back("Allow", c.on.routes.allowed());
  return to_reply(c, std::move(r));
}

router::match route_of(const server_context& on, const request& asked) {
  return on.routes.find(asked.path(), request_access::sent_path(asked));
}

reply of_unknown_host(const context& c, const request& asked) {
  c.on.counts.refused_host.add();
  return to_reply(c, response::error(421, "\"" + std::string{asked.header("Host")} +
                                              "\" is not a host name of this server"));
}

}  // namespace

const route_handler* reader_of_body(const server_context& on, const request_head& head) {
  if (!on.hosts.allows(head.asked.header("Host")) || head.form != request_head::target_form::path) {
    return nullptr;
  }
  const route* const at = route_of(on, head.asked).at;
  if (at == nullptr || (at->session && wants_websocket(head))) return nullptr;
  return at->find(head.asked.method());
}

responded respond(const server_context& on, request_head& head, bool keep_alive) {
  request& asked = head.asked;
  const context c{.on = on,
                  .version = head.version,
                  .keep_alive = keep_alive,
                  .head_only = asked.method() == "HEAD"};
  on.counts.requests.add();
  if (!on.hosts.allows(asked.header("Host"))) return of_unknown_host(c, asked);
  // RFC 9110, 9.1. A known method that this path does not allow is answered with 405.
  if (!on.routes.knows(asked.method()) || head.form == request_head::target_form::authority) {
    return to_reply(c, response::error(501));
  }
  if (head.form == request_head::target_form::asterisk) return of_server(c);
  const router::match found = route_of(on, asked);
  if (const route* const at = found.at) {
    request_access::set_pattern(asked, at->parameters);
    if (at->session && wants_websocket(head)) {
      return of_websocket(c, std::move(asked), *at, head.has_body());
    }
    if (at->metrics && (asked.method() == "GET" || c.head_only)) return scrape{&at->metrics};
    return of_route(c, asked, *at);
  }
  if (found.files != nullptr) return of_files(c, asked, *found.files);
  return to_reply(c, response::error(404));
}

reply respond_handled(const server_context& on, const response_form& form, bool keep_alive,
                      std::string_view path, response&& with) {
  const context c{
      .on = on, .version = form.version, .keep_alive = keep_alive, .head_only = form.head_only};
  return usable_or_failure(c, path, std::move(with));
}

handler_result result_of_exception(std::string_view path, const std::exception_ptr& thrown) {
  const std::string where{path};
  try {
    std::rethrow_exception(thrown);
  } catch (const request_error& e) {
    return {.with = e.to_response()};
  } catch (const std::exception& e) {
    std::fprintf(stderr, "troupe: http: the handler of %s failed: %s\n", where.c_str(), e.what());
  } catch (...) {
    std::fprintf(stderr, "troupe: http: the handler of %s failed\n", where.c_str());
  }
  return {.with = response::error(500), .failed = true};
}

reply respond_metrics(const server_context& on, const request_head& asked, bool keep_alive,
                      std::shared_ptr<const std::string> text) {
  const context c{.on = on,
                  .version = asked.version,
                  .keep_alive = keep_alive,
                  .head_only = asked.asked.method() == "HEAD"};
  bh::response<shared_text_body> m{bh::status::ok, c.version};
  m.set(field::content_type, metrics_content_type);
  m.body() = std::move(text);
  return whole(c, std::move(m));
}

reply respond_too_many(const server_context& on, const request_head& asked, bool keep_alive,
                       duration wait) {
  const context c{.on = on,
                  .version = asked.version,
                  .keep_alive = keep_alive,
                  .head_only = asked.asked.method() == "HEAD"};
  response r = response::error(429, "too many requests from this address");
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  r.headers.emplace_back("Retry-After", std::to_string(seconds));
  return to_reply(c, std::move(r));
}

reply respond_error(const server_context& on, const refusal& what, const request_head* asked) {
  context c{.on = on};
  if (asked != nullptr) {
    c.version = asked->version;
    c.head_only = asked->asked.method() == "HEAD";
  }
  response r = response::error(what.status, what.why);
  if (what.status == 503) r.headers.emplace_back("Retry-After", "1");
  return to_reply(c, std::move(r));
}

}  // namespace troupe::http::detail
