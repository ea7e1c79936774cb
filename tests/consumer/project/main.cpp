// SPDX-License-Identifier: Apache-2.0
#include <troupe/troupe.hpp>

#include <cstdio>

struct deposit {
  long cents;
};

class account : public troupe::actor {
 public:
  explicit account(long& total) : total_(total) {}
  void on(deposit m) { total_ += m.cents; }

 private:
  long& total_;
};

int main() {
  long total = 0;
  troupe::system system;
  troupe::ref<account> alice = system.spawn<account>(total);
  alice.send(deposit{70});
  alice.send(deposit{30});
  alice.stop();
  const troupe::exit_reason reason = alice.join();
  std::printf("%ld cents\n", total);
  return reason == troupe::exit_reason::stopped && total == 100 ? 0 : 1;
}
