// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of passing a message through a mailbox: pushed and popped at once; in batches;
// pushed by threads other than the reader, which sleeps when the mailbox is empty. Prints
// nanoseconds per message.

#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/detail/mailbox/mailbox.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>

namespace {

using troupe::detail::envelope;
using troupe::detail::mailbox;
using troupe::detail::whole_mailbox;

template <class Run>
void report(const char* what, std::size_t messages, Run&& run) {
  const auto start = troupe::clock::now();
  run();
  const std::chrono::duration<double, std::nano> took = troupe::clock::now() - start;
  std::printf("%-44s %8.2f ns\n", what, took.count() / static_cast<double>(messages));
}

void one_thread(const char* what, std::size_t messages, std::size_t batch) {
  whole_mailbox box;
  box.open_busy();
  std::vector<envelope> some(batch);
  report(what, messages, [&] {
    for (std::size_t i = 0; i < messages; i += batch) {
      for (envelope& each : some) (void)box.push(each);
      while (box.pop() != nullptr) {
      }
    }
  });
}

// The pattern of a turn: idle, one message, idle again.
void idle_in_between(std::size_t messages) {
  whole_mailbox box;
  box.open_busy();
  (void)box.rest();
  envelope one;
  report("found idle, popped, rested", messages, [&] {
    for (std::size_t i = 0; i < messages; ++i) {
      (void)box.push(one);
      (void)box.pop();
      (void)box.rest();
    }
  });
}

void many_to_one(const char* what, std::size_t messages, std::size_t senders) {
  whole_mailbox box;
  box.open_busy();
  troupe::parker reader;
  std::vector<std::vector<envelope>> sent(senders);
  for (auto& mine : sent) mine.resize(messages / senders);
  const std::size_t all = messages / senders * senders;
  report(what, all, [&] {
    std::vector<troupe::jthread> threads;
    for (auto& mine : sent) {
      threads.emplace_back([&] {
        for (envelope& each : mine) {
          if (box.push(each) == mailbox::pushed::to_idle) reader.notify();
        }
      });
    }
    for (std::size_t received = 0; received < all;) {
      if (box.pop() != nullptr) {
        ++received;
      } else if (box.rest()) {
        reader.park();
      }
    }
  });
}

}  // namespace

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::string_view(arguments[1]) == "--smoke";
  const std::size_t messages = smoke ? 10'000 : 10'000'000;
  one_thread("pushed and popped at once", messages, 1);
  one_thread("a hundred pushed, a hundred popped", messages, 100);
  idle_in_between(messages);
  many_to_one("pushed by one other thread", messages, 1);
  many_to_one("pushed by four other threads", messages, 4);
}
