// SPDX-License-Identifier: Apache-2.0
// A message that is handled only in batches cannot be a request in the list of a recipient.
// expect-error: batch_handler_answers_no_question
// expect-error: account
// expect-error: deposit
#include <span>
#include <troupe/troupe.hpp>

struct deposit {};

class account : public troupe::actor {
 public:
  void on(std::span<deposit>) {}
};

void use(const troupe::ref<account>& alice) {
  const troupe::recipient<deposit> fine = alice;
#ifdef MUST_NOT_COMPILE
  const troupe::recipient<bool(deposit)> wrong = alice;
#endif
}
