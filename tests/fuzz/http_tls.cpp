// SPDX-License-Identifier: Apache-2.0

// TLS: a server's engine that receives arbitrary bytes in place of a handshake; and two connected
// engines whose traffic a third party changes.

#include <memory>
#include <span>
#include <string>

#include "fuzz.hpp"
#include "http/test_certificate.hpp"
#include "http/tls_engine.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::http::detail;
using outcome = tls_engine::outcome;

struct contexts {
  const troupe::http::test::certificate_folder folder;
  const troupe::http::tls_options files =
      folder.write("one", troupe::http::test::test_certificate{});
  const std::shared_ptr<const tls_context> server = tls_context::for_server(files);
  const std::shared_ptr<const tls_context> client =
      tls_context::for_client({.authorities = files.certificate});
};

const contexts& both() {
  static const contexts made;
  return made;
}

struct heard {
  outcome what;
  tls_engine::failure why;
};

heard greeted(std::string_view input, std::size_t piece) {
  tls_engine server(both().server);
  outcome last = outcome::needs_input;
  std::string unread;
  while (!input.empty() && last == outcome::needs_input) {
    unread += input.substr(0, piece);
    input.remove_prefix(std::min(piece, input.size()));
    std::span<char> in(unread);
    last = server.handshake(in);
    require(last != outcome::done, "nobody can make a handshake out of what lies in a file");
    require(last != outcome::needs_input || in.empty(), "who needs more has used up all");
    require(server.output().size() < 64 * 1024, "an answer is not without end");
    unread.erase(0, unread.size() - in.size());
  }
  require((last == outcome::failed) == static_cast<bool>(server.error()), "who fails says why");
  return {last, server.why()};
}

void check_greeting(std::string_view input) {
  const heard whole = greeted(input, input.size());
  const heard piecemeal = greeted(input, 1 + hash_of(input) % 7);
  require(whole.what == piecemeal.what && whole.why == piecemeal.why, "in pieces it is the same");
}

void hear(tls_engine& who, std::string& bytes) {
  std::span<char> in(bytes);
  (void)who.handshake(in);
  bytes.erase(0, bytes.size() - in.size());
}

/// `changes`: pairs of a position and the change of the byte there.
void check_talking(std::string_view changes) {
  tls_engine client(both().client, "localhost"), server(both().server);
  std::string to_client, to_server;
  while (!client.is_established() || !server.is_established()) {
    if (!client.is_established()) hear(client, to_client);
    to_server += std::exchange(client.output(), {});
    if (!server.is_established()) hear(server, to_server);
    to_client += std::exchange(server.output(), {});
  }
  const std::string said(100, 'x');
  for (int i = 0; i < 3; ++i) require(client.write(said), "it can be said");
  to_server += std::exchange(client.output(), {});
  std::size_t first_changed = to_server.size();
  for (; changes.size() >= 2; changes.remove_prefix(2)) {
    const std::size_t at = static_cast<unsigned char>(changes[0]) * to_server.size() / 256;
    to_server[at] = static_cast<char>(to_server[at] ^ changes[1]);
    if (changes[1] != 0) first_changed = std::min(first_changed, at);
  }
  std::string heard;
  std::span<char> in(to_server);
  outcome last = outcome::done;
  while (last == outcome::done) {
    char into[77];
    std::size_t bytes = 0;
    last = server.read(in, into, bytes);
    heard.append(into, bytes);
  }
  const std::string all = said + said + said;
  require(all.starts_with(heard), "what is heard was said");
  const std::size_t record = to_server.size() / 3;
  require(heard.size() >= first_changed / record * said.size(),
          "what came before a change is heard");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = text_of(data, size);
  if (input.starts_with("!")) {
    check_talking(input.substr(1));
  } else if (!input.empty()) {
    check_greeting(input);
  }
  return 0;
}
