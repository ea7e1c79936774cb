// SPDX-License-Identifier: Apache-2.0

#include "ticket_keys.hpp"

#include <gtest/gtest.h>

namespace troupe::http::detail {
namespace {

using namespace std::chrono_literals;

TEST(ticket_keys, are_replaced_after_one_period_and_expire_after_two) {
  ticket_keys keys(1h);
  const time_point begin{5h};
  const ticket_key first = keys.for_encrypting(begin);
  EXPECT_EQ(keys.for_encrypting(begin + 59min).name, first.name);
  ASSERT_TRUE(keys.for_decrypting(first.name, begin + 59min));
  EXPECT_FALSE(keys.for_decrypting(first.name, begin + 59min)->is_old);

  const ticket_key second = keys.for_encrypting(begin + 60min);
  EXPECT_NE(second.name, first.name);
  EXPECT_NE(second.cipher, first.cipher);
  EXPECT_NE(second.mac, first.mac);
  const auto old = keys.for_decrypting(first.name, begin + 119min);
  ASSERT_TRUE(old);
  EXPECT_TRUE(old->is_old);
  EXPECT_EQ(old->key.cipher, first.cipher);
  EXPECT_FALSE(keys.for_decrypting(first.name, begin + 120min));
  EXPECT_TRUE(keys.for_decrypting(second.name, begin + 120min));
}

TEST(ticket_keys, of_an_idle_server_expire_before_its_next_handshake) {
  ticket_keys keys(1h);
  const time_point begin{5h};
  const ticket_key first = keys.for_encrypting(begin);
  EXPECT_FALSE(keys.for_decrypting(first.name, begin + 48h));
  EXPECT_NE(keys.for_encrypting(begin + 48h).name, first.name);
  EXPECT_FALSE(keys.for_decrypting(first.name, begin + 1min)) << "not even if time went back";
}

TEST(ticket_keys, of_another_server_are_not_known) {
  ticket_keys ours, theirs;
  const time_point now{1h};
  EXPECT_FALSE(ours.for_decrypting(theirs.for_encrypting(now).name, now));
}

}  // namespace
}  // namespace troupe::http::detail
