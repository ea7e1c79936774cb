// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <utility>
#include <vector>

#include "lab/engines/troupe/savina.hpp"

namespace troupe::lab::savina {

namespace {

// ── counting ──────────────────────────────────────────────────────────────────────────────────

struct total {
  std::uint64_t count;
};

class counter : public actor {
 public:
  struct increment {};
  struct retrieve {
    recipient<total> to;
  };

  void on(increment) { ++count_; }
  void on(const retrieve& r) { r.to.send(total{count_}); }

 private:
  std::uint64_t count_ = 0;
};

// Sends everything in one turn, as published.
class counting_producer : public actor {
 public:
  struct begin {
    std::uint64_t messages;
  };

  counting_producer(ref<counter> to, std::uint64_t& found, std::latch& done)
      : to_(std::move(to)), found_(found), done_(done) {}

  void on(begin b) {
    for (std::uint64_t i = 0; i < b.messages; ++i) to_.send(counter::increment{});
    to_.send(counter::retrieve{self(this)});
  }
  void on(total t) {
    found_ = t.count;
    done_.count_down();
  }

 private:
  const ref<counter> to_;
  std::uint64_t& found_;
  std::latch& done_;
};

// ── ring ──────────────────────────────────────────────────────────────────────────────────────

class link_of_ring : public actor {
 public:
  struct meet {
    ref<link_of_ring> next;
  };
  struct ping {
    std::uint64_t left;
  };
  struct leave {
    std::uint64_t left;
  };

  link_of_ring(std::uint64_t number, std::uint64_t actors, std::uint64_t& last, std::latch& done)
      : number_(number), actors_(actors), last_(last), done_(done) {}

  void on(meet m) { next_ = std::move(m.next); }
  void on(ping p) {
    if (p.left > 0) {
      next_.send(ping{p.left - 1});
    } else {
      last_ = number_;
      next_.send(leave{actors_});
    }
  }
  void on(leave l) {
    if (l.left > 1) {
      next_.send(leave{l.left - 1});
    } else {
      done_.count_down();
    }
    stop();
  }

 private:
  const std::uint64_t number_;
  const std::uint64_t actors_;
  std::uint64_t& last_;
  std::latch& done_;
  ref<link_of_ring> next_;
};

// ── create ────────────────────────────────────────────────────────────────────────────────────

class worker : public actor {
 public:
  struct work {
    double theta;
  };

  worker(std::atomic<std::uint64_t>& sum, std::latch& done) : sum_(sum), done_(done) {}

  // No reference keeps it: it stops by itself.
  void on(work w) {
    sum_.fetch_add(compute_sine(w.theta), std::memory_order_relaxed);
    done_.count_down();
  }

 private:
  std::atomic<std::uint64_t>& sum_;
  std::latch& done_;
};

// ── chameneos ─────────────────────────────────────────────────────────────────────────────────

class creature;

struct meeting {
  colour of;
  ref<creature> from;
};
struct faded {
  std::uint64_t meetings;
};

class mall : public actor {
 public:
  mall(std::uint64_t meetings, std::uint64_t creatures, std::uint64_t& found, std::latch& done)
      : left_(meetings), creatures_(creatures), found_(found), done_(done) {}

  void on(meeting m);
  void on(faded f) {
    found_ += f.meetings;
    if (--creatures_ == 0) done_.count_down();
  }

 private:
  std::uint64_t left_;
  std::uint64_t creatures_;
  ref<creature> waiting_;
  std::uint64_t& found_;
  std::latch& done_;
};

class creature : public actor {
 public:
  struct change {
    colour to;
  };
  struct leave {};

  creature(ref<mall> in, colour first) : in_(std::move(in)), colour_(first) {}

  void on_start() { look_for_another(); }
  void on(meeting m) {
    colour_ = complement(colour_, m.of);
    ++meetings_;
    m.from.send(change{colour_});
    look_for_another();
  }
  void on(change c) {
    colour_ = c.to;
    ++meetings_;
    look_for_another();
  }
  void on(leave) { in_.send(faded{meetings_}); }

 private:
  void look_for_another() { in_.send(meeting{colour_, self(this)}); }

  const ref<mall> in_;
  colour colour_;
  std::uint64_t meetings_ = 0;
};

void mall::on(meeting m) {
  if (left_ == 0) {
    m.from.send(creature::leave{});
  } else if (!waiting_) {
    waiting_ = std::move(m.from);
  } else {
    --left_;
    const ref<creature> first = std::move(waiting_);
    first.send(std::move(m));
  }
}

// ── big ───────────────────────────────────────────────────────────────────────────────────────

struct finished {
  std::uint64_t pongs;
};

class sink : public actor {
 public:
  sink(std::uint64_t actors, std::uint64_t& found, std::latch& done)
      : left_(actors), found_(found), done_(done) {}

  void on(finished f) {
    found_ += f.pongs;
    if (--left_ == 0) done_.count_down();
  }

 private:
  std::uint64_t left_;
  std::uint64_t& found_;
  std::latch& done_;
};

class pinger : public actor {
 public:
  using all = std::shared_ptr<const std::vector<ref<pinger>>>;
  struct meet {
    all others;
  };
  struct ping {
    std::uint32_t from;
  };
  struct pong {
    std::uint32_t from;
  };
  struct leave {};

  pinger(std::uint32_t number, std::uint64_t pings, ref<sink> to)
      : number_(number), pings_(pings), to_(std::move(to)), random_(number) {}

  // The first pong is its own.
  void on(meet m) {
    others_ = std::move(m.others);
    expected_ = number_;
  }
  void on(ping p) { (*others_)[p.from].send(pong{number_}); }
  void on(pong p) {
    if (p.from != expected_) return;  // the sum will be wrong
    if (pongs_ == pings_) {
      to_.send(finished{pongs_});
      return;
    }
    ++pongs_;
    expected_ = static_cast<std::uint32_t>(random_.next() % others_->size());
    (*others_)[expected_].send(ping{number_});
  }
  void on(leave) {
    others_.reset();
    stop();
  }

 private:
  const std::uint32_t number_;
  const std::uint64_t pings_;
  const ref<sink> to_;
  small_random random_;
  all others_;
  std::uint32_t expected_ = 0;
  std::uint64_t pongs_ = 0;
};

}  // namespace

double counting(class system& system, const trial& t) {
  const std::uint64_t messages = t["counting_messages"];
  std::uint64_t found = 0;
  std::latch done(1);
  const auto began = steady::now();
  // Like the mailboxes of the other engines, that of the counter has no limit.
  const spawn_options unlimited{.max_messages = no_limit, .max_bytes = no_limit};
  const auto to = system.spawn<counter>(unlimited);
  system.spawn<counting_producer>(to, found, done).send(counting_producer::begin{messages});
  done.wait();
  const double took = seconds_since(began);
  expect(found == messages, "a message was lost");
  return took;
}

double ring(class system& system, const trial& t) {
  const std::uint64_t actors = t["ring_actors"];
  const std::uint64_t hops = t["ring_hops"];
  std::uint64_t last = 0;
  std::latch done(1);
  const auto began = steady::now();
  std::vector<ref<link_of_ring>> all;
  for (std::uint64_t i = 0; i < actors; ++i) {
    all.push_back(system.spawn<link_of_ring>(i, actors, last, done));
  }
  for (std::uint64_t i = 0; i < actors; ++i) {
    all[i].send(link_of_ring::meet{all[(i + 1) % actors]});
  }
  all[0].send(link_of_ring::ping{hops});
  done.wait();
  const double took = seconds_since(began);
  expect(last == hops % actors, "the ring has another order");
  return took;
}

double create(class system& system, const trial& t) {
  const std::uint64_t actors = t["create_actors"];
  std::atomic<std::uint64_t> sum{0};
  std::latch done(static_cast<std::ptrdiff_t>(actors));
  const auto began = steady::now();
  for (std::uint64_t i = 0; i < actors; ++i) {
    system.spawn<worker>(sum, done).send(worker::work{theta});
  }
  done.wait();
  const double took = seconds_since(began);
  expect(sum == actors * compute_sine(theta), "a computation is wrong");
  return took;
}

double chameneos(class system& system, const trial& t) {
  const std::uint64_t creatures = t["chameneos_creatures"];
  const std::uint64_t meetings = t["chameneos_meetings"];
  std::uint64_t found = 0;
  std::latch done(1);
  const auto began = steady::now();
  const auto in = system.spawn<mall>(meetings, creatures, found, done);
  for (std::uint64_t i = 0; i < creatures; ++i) {
    system.spawn<creature>(in, static_cast<colour>(i % 3));
  }
  done.wait();
  const double took = seconds_since(began);
  expect(found == 2 * meetings, "a meeting has not two participants");
  return took;
}

double big(class system& system, const trial& t) {
  const std::uint64_t actors = t["big_actors"];
  const std::uint64_t pings = t["big_pings"];
  std::uint64_t found = 0;
  std::latch done(1);
  const auto began = steady::now();
  const auto to = system.spawn<sink>(actors, found, done);
  std::vector<ref<pinger>> some;
  for (std::uint64_t i = 0; i < actors; ++i) {
    some.push_back(system.spawn<pinger>(static_cast<std::uint32_t>(i), pings, to));
  }
  const auto all = std::make_shared<const std::vector<ref<pinger>>>(std::move(some));
  for (const auto& one : *all) one.send(pinger::meet{all});
  for (std::uint32_t i = 0; i < actors; ++i) (*all)[i].send(pinger::pong{i});
  done.wait();
  const double took = seconds_since(began);
  for (const auto& one : *all) one.send(pinger::leave{});
  expect(found == actors * pings, "a pong is missing");
  return took;
}

}  // namespace troupe::lab::savina
