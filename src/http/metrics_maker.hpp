// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <troupe/http/figures.hpp>
#include <troupe/troupe.hpp>

namespace troupe::http::detail {

struct server_context;

/// To a connection: the text that it has asked a metrics_maker for.
struct metrics_text {
  std::uint64_t number = 0;                 // that of the request
  std::shared_ptr<const std::string> text;  // null: it could not be made
};

/// Makes the text of server::metrics() for connections, away from the threads that serve sockets.
///
/// It has a thread of its own: a pool whose workers are all busy is when metrics are looked at. The
/// requests that have come while a text was made get the next one together, so any number of
/// clients at a time costs two texts.
///
/// Threads:   own_thread.
/// Invariant: each request gets one metrics_text, unless there is no memory for it, or this stops.
class metrics_maker : public actor {
 public:
  struct wanted {
    recipient<metrics_text> by;
    std::uint64_t number = 0;
  };
  static constexpr std::size_t batch_max = 1024;

  /// `of`: the server that the figures are of, as long as it exists. `bytes_max`: of the text.
  metrics_maker(std::weak_ptr<const server_context> of, figure_source also, std::size_t bytes_max);

  void on(std::span<wanted> together);

 private:
  [[nodiscard]] std::shared_ptr<const std::string> make() const noexcept;

  const std::weak_ptr<const server_context> of_;
  const figure_source also_;
  const std::size_t bytes_max_;
};

}  // namespace troupe::http::detail
