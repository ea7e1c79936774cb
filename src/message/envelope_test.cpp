// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <utility>

namespace troupe {
namespace {

using detail::dispatch;
using detail::dispatch_of;
using detail::envelope;
using detail::make_envelope;

// Counts its objects, owns memory, and throws on request.
struct parcel {
  parcel() { ++alive; }
  parcel(const parcel& other) : text(other.text) {
    if (throws) throw std::runtime_error("no copy");
    ++alive;
  }
  parcel(parcel&& other) : text(std::move(other.text)) {
    if (throws) throw std::runtime_error("no move");
    ++alive;
  }
  ~parcel() { --alive; }

  static inline int alive = 0;
  static inline bool throws = false;
  std::string text = "long enough to need memory of its own";
};

struct receiver {
  void on(const parcel& p) { got = p.text; }
  void on(int, address from) { sender = from; }
  void on(std::unique_ptr<int> p) { got = std::to_string(*p); }
  void on(parcel*) { throw std::runtime_error("broken"); }

  std::string got;
  address sender;
};

address someone() { return detail::address_access::make(nullptr, 7); }

TEST(envelope, runs_its_handler_and_is_freed) {
  receiver r;
  const dispatch& how = dispatch_of<receiver, parcel>;
  envelope* const e = make_envelope<false>(how, parcel{});
  EXPECT_EQ(parcel::alive, 1);
  EXPECT_EQ(e->how, &how);
  how.run(&r, *e);
  EXPECT_EQ(parcel::alive, 0);
  EXPECT_EQ(r.got, parcel{}.text);
}

TEST(envelope, is_freed_without_being_handled) {
  const dispatch& how = dispatch_of<receiver, parcel>;
  how.discard(*make_envelope<false>(how, parcel{}));
  EXPECT_EQ(parcel::alive, 0);
}

TEST(envelope, is_freed_when_its_handler_throws) {
  struct fragile {
    void on(const parcel&) { throw std::runtime_error("broken"); }
  } r;
  const dispatch& how = dispatch_of<fragile, parcel>;
  EXPECT_THROW(how.run(&r, *make_envelope<false>(how, parcel{})), std::runtime_error);
  EXPECT_EQ(parcel::alive, 0);
}

TEST(envelope, copies_lvalues_and_moves_rvalues) {
  const dispatch& how = dispatch_of<receiver, parcel>;
  parcel mine;
  envelope* const copy = make_envelope<false>(how, std::as_const(mine));
  EXPECT_NE(mine.text, "");
  envelope* const moved = make_envelope<false>(how, std::move(mine));
  EXPECT_EQ(mine.text, "");  // NOLINT: the test checks the moved-from object
  how.discard(*copy);
  how.discard(*moved);
}

TEST(envelope, is_not_made_if_copying_or_moving_throws) {
  const dispatch& how = dispatch_of<receiver, parcel>;
  const parcel mine;
  parcel::throws = true;
  EXPECT_THROW((void)make_envelope<false>(how, mine), std::runtime_error);
  EXPECT_THROW((void)make_envelope<false>(how, parcel{}), std::runtime_error);
  EXPECT_THROW((void)make_envelope<true>(how, mine), std::runtime_error);
  parcel::throws = false;
  EXPECT_EQ(parcel::alive, 1);
}

TEST(envelope, carries_the_sender_for_a_handler_that_takes_it) {
  receiver r;
  const dispatch& how = dispatch_of<receiver, int>;
  auto* const e = make_envelope<true>(how, 1);
  EXPECT_EQ(e->sender, address{});
  e->sender = someone();
  how.run(&r, *e);
  EXPECT_EQ(r.sender, someone());
}

TEST(envelope, carries_move_only_messages) {
  receiver r;
  const dispatch& how = dispatch_of<receiver, std::unique_ptr<int>>;
  how.run(&r, *make_envelope<false>(how, std::make_unique<int>(42)));
  EXPECT_EQ(r.got, "42");
}

TEST(envelope, is_aligned_as_its_message) {
  struct alignas(256) aligned {
    std::array<char, 300> bytes;
  };
  struct taker {
    void on(const aligned& m) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&m) % 256, 0u);
      ++got;
    }
    int got = 0;
  } t;
  const dispatch& how = dispatch_of<taker, aligned>;
  for (int i = 0; i < 10; ++i) how.run(&t, *make_envelope<false>(how, aligned{}));
  EXPECT_EQ(t.got, 10);
}

TEST(envelope, of_an_empty_message_is_its_head) {
  struct empty {};
  EXPECT_EQ(sizeof(envelope), 2 * sizeof(void*));
  EXPECT_EQ(sizeof(detail::message_envelope<empty, false>), sizeof(envelope));
  EXPECT_EQ(sizeof(detail::message_envelope<empty, true>), sizeof(envelope) + sizeof(address));
  EXPECT_EQ(sizeof(detail::message_envelope<long, false>), 2 * sizeof(envelope))
      << "a multiple of 16";
}

TEST(dispatch, is_one_static_record_for_each_pair) {
  const dispatch& how = dispatch_of<receiver, parcel>;
  EXPECT_EQ(&how, (&dispatch_of<receiver, parcel>));
  EXPECT_NE(&how, (&dispatch_of<receiver, int>));
  EXPECT_EQ(how.message, type_name<parcel>());
  EXPECT_FALSE(how.internal);
  EXPECT_FALSE(how.wants_sender);
  EXPECT_TRUE((dispatch_of<receiver, int>.wants_sender));
}

}  // namespace
}  // namespace troupe
