// SPDX-License-Identifier: Apache-2.0
//
// A pressroom. A thousand pages go to three presses behind one recipient; each press prints the
// pages of its own sections, in order. Printed pages go to an archive, which files all waiting
// pages as one batch. A recall overtakes the waiting pages, so the last page is not printed.
#include <cstddef>
#include <cstdio>
#include <latch>
#include <span>
#include <utility>

#include <troupe/supervision/router.hpp>
#include <troupe/troupe.hpp>

namespace {

struct page {
  int section;
  int number;
};

struct recall {
  static constexpr auto priority = troupe::priority::high;
  int section;
  int number;
};

constexpr int sections = 7;

class archive : public troupe::actor {
 public:
  explicit archive(std::latch& all_filed) : all_filed_(all_filed) {}

  void on(std::span<const page> pages) {
    filed_ += pages.size();
    all_filed_.count_down(static_cast<std::ptrdiff_t>(pages.size()));
  }
  void on_stop() { std::printf("the archive: %zu pages\n", filed_); }

 private:
  std::latch& all_filed_;
  std::size_t filed_ = 0;
};

class press : public troupe::actor {
 public:
  explicit press(troupe::ref<archive> to) : to_(std::move(to)) {}

  void on(page p) {
    if (p.number != recalled_) to_.send(p);
  }
  void on(recall r) { recalled_ = r.number; }

 private:
  const troupe::ref<archive> to_;
  int recalled_ = -1;
};

// Knows the recipient of the pages, but not the presses.
void publish(const troupe::recipient<page>& presses, int pages) {
  for (int i = 0; i < pages; ++i) presses.send(page{i % sections, i});
}

}  // namespace

int main() {
  constexpr int pages = 1'000;
  std::latch filed(pages - 1);
  troupe::system system;
  troupe::pump pump{system};  // the presses run on this thread, inside run_until_idle()
  const auto to = system.spawn<archive>(filed);

  const auto section = [](const auto& m) { return m.section; };
  const auto presses = troupe::router<page, recall>::spawn<press>(
      system, 3, troupe::by_hash{section}, troupe::spawn_options{.where = bound_to(pump)}, to);

  publish(presses.handle(), pages);
  presses.send(recall{(pages - 1) % sections, pages - 1});
  pump.run_until_idle();
  filed.wait();
}
