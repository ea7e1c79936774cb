// SPDX-License-Identifier: Apache-2.0
#include "serve.hpp"

#include <string>

#include "lobby.hpp"
#include "member.hpp"
#include "page.hpp"

namespace chat {

void serve(troupe::http::server& on, troupe::system& in, std::string_view folder) {
  const auto lobby = in.spawn<chat::lobby>();
  for (const page_file& file : page()) {
    const std::string path = std::string(folder).append(file.path.substr(1));
    on.resource(path, std::string(file.content_type), file.bytes);
  }
  on.websocket<member>("/chat", lobby);
}

}  // namespace chat
