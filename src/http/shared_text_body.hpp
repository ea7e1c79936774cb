// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/optional.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "beast.hpp"

namespace troupe::http::detail {

/// A Beast Body that sends a text which other responses send as well. It is never null.
struct shared_text_body {
  using value_type = std::shared_ptr<const std::string>;

  static std::uint64_t size(const value_type& text) noexcept { return text->size(); }

  class writer {
   public:
    using const_buffers_type = boost::asio::const_buffer;

    template <bool IsRequest, class Fields>
    writer(const beast::http::header<IsRequest, Fields>&, const value_type& text) : text_(text) {}

    void init(beast::error_code& error) noexcept { error = {}; }

    boost::optional<std::pair<const_buffers_type, bool>> get(beast::error_code& error) noexcept {
      error = {};
      return {{const_buffers_type{text_->data(), text_->size()}, false}};
    }

   private:
    const value_type& text_;
  };
};

}  // namespace troupe::http::detail
