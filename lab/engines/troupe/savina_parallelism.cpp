// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <latch>
#include <utility>
#include <vector>

#include "lab/engines/troupe/savina.hpp"

namespace troupe::lab::savina {

namespace {

// ── fibonacci ─────────────────────────────────────────────────────────────────────────────────

// No reference keeps a node after its response: it stops by itself.
class node : public actor {
 public:
  struct request {
    std::uint64_t index;
  };
  struct response {
    std::uint64_t value;
  };

  explicit node(recipient<response> parent) : parent_(std::move(parent)) {}

  void on(request r) {
    if (r.index <= 2) {
      parent_.send(response{1});
      return;
    }
    for (const std::uint64_t before : {r.index - 1, r.index - 2}) {
      system().spawn<node>(self(this)).send(request{before});
    }
  }
  void on(response r) {
    sum_ += r.value;
    if (++responses_ == 2) parent_.send(response{sum_});
  }

 private:
  const recipient<response> parent_;
  std::uint64_t sum_ = 0;
  unsigned responses_ = 0;
};

class root : public actor {
 public:
  struct begin {
    std::uint64_t index;
  };

  root(std::uint64_t& found, std::latch& done) : found_(found), done_(done) {}

  void on(begin b) { system().spawn<node>(self(this)).send(node::request{b.index}); }
  void on(node::response r) {
    found_ = r.value;
    done_.count_down();
  }

 private:
  std::uint64_t& found_;
  std::latch& done_;
};

// ── sieve ─────────────────────────────────────────────────────────────────────────────────────

class filter : public actor {
 public:
  struct candidate {
    std::uint64_t number;
  };
  struct end {};

  filter(std::uint64_t before, std::uint64_t first, std::size_t most, std::uint64_t& found,
         std::latch& done)
      : before_(before), most_(most), found_(found), done_(done) {
    primes_.reserve(most);
    primes_.push_back(first);
  }

  void on(candidate c) {
    if (!is_locally_prime(c.number, primes_)) return;
    if (next_) {
      next_.send(c);
    } else if (primes_.size() < most_) {
      primes_.push_back(c.number);
    } else {
      next_ = system().spawn<filter>(before_ + most_, c.number, most_, found_, done_);
    }
  }
  void on(end e) {
    if (next_) {
      next_.send(e);
    } else {
      found_ = before_ + primes_.size();
      done_.count_down();
    }
  }

 private:
  const std::uint64_t before_;  // how many primes the earlier filters have
  const std::size_t most_;
  std::vector<std::uint64_t> primes_;
  ref<filter> next_;
  std::uint64_t& found_;
  std::latch& done_;
};

// Sends all candidates in one turn, as published.
class number_producer : public actor {
 public:
  struct begin {
    std::uint64_t limit;
  };

  explicit number_producer(ref<filter> to) : to_(std::move(to)) {}

  void on(begin b) {
    for (std::uint64_t number = 3; number < b.limit; number += 2) {
      to_.send(filter::candidate{number});
    }
    to_.send(filter::end{});
  }

 private:
  const ref<filter> to_;
};

// ── queens ────────────────────────────────────────────────────────────────────────────────────

class solver;

struct queens_work {
  board queens;
  std::uint32_t rows;
};
struct queens_solution {};
struct queens_done {};

class queens_master : public actor {
 public:
  struct begin {
    std::uint64_t solvers;
    std::size_t size;
    std::size_t threshold;
  };

  queens_master(std::uint64_t& found, std::latch& done) : found_(found), done_(done) {}

  void on(const begin& b);
  void on(queens_work w) { pass_on(w); }
  void on(queens_solution) { ++found_; }
  void on(queens_done);

 private:
  void pass_on(const queens_work& w);

  std::vector<ref<solver>> solvers_;
  std::size_t next_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t solved_ = 0;
  std::uint64_t& found_;
  std::latch& done_;
};

class solver : public actor {
 public:
  struct leave {};

  solver(ref<queens_master> of, std::size_t size, std::size_t threshold)
      : of_(std::move(of)), size_(size), threshold_(threshold) {}

  void on(queens_work w) {
    if (w.rows >= threshold_ || w.rows == size_) {
      place_queens(w.queens, w.rows, size_, [this] { of_.send(queens_solution{}); });
    } else {
      queens_work more{w.queens, w.rows + 1};
      for (std::size_t column = 0; column < size_; ++column) {
        more.queens[w.rows] = static_cast<std::uint8_t>(column);
        if (is_valid(more.queens, more.rows)) of_.send(more);
      }
    }
    of_.send(queens_done{});
  }
  void on(leave) { stop(); }

 private:
  const ref<queens_master> of_;
  const std::size_t size_;
  const std::size_t threshold_;
};

void queens_master::on(const begin& b) {
  for (std::uint64_t i = 0; i < b.solvers; ++i) {
    solvers_.push_back(system().spawn<solver>(self(this), b.size, b.threshold));
  }
  pass_on({});
}

void queens_master::pass_on(const queens_work& w) {
  solvers_[next_].send(w);
  next_ = (next_ + 1) % solvers_.size();
  ++sent_;
}

void queens_master::on(queens_done) {
  if (++solved_ < sent_) return;
  done_.count_down();
  for (const auto& each : solvers_) each.send(solver::leave{});
  stop();
}

}  // namespace

double fibonacci(class system& system, const trial& t) {
  const std::uint64_t index = t["fibonacci_index"];
  std::uint64_t found = 0;
  std::latch done(1);
  const auto began = steady::now();
  system.spawn<root>(found, done).send(root::begin{index});
  done.wait();
  const double took = seconds_since(began);
  expect(found == fibonacci_number(index), "the number is wrong");
  return took;
}

double sieve(class system& system, const trial& t) {
  const std::uint64_t limit = t["sieve_limit"];
  std::uint64_t found = 0;
  std::latch done(1);
  const auto began = steady::now();
  auto first = system.spawn<filter>(0ULL, 2ULL, t["sieve_primes"], found, done);
  system.spawn<number_producer>(std::move(first)).send(number_producer::begin{limit});
  done.wait();
  const double took = seconds_since(began);
  expect(found == count_primes(limit), "the number of primes is wrong");
  return took;
}

double queens(class system& system, const trial& t) {
  const std::size_t size = t["queens_size"];
  std::uint64_t found = 0;
  std::latch done(1);
  const auto began = steady::now();
  const queens_master::begin begin{t["queens_solvers"], size, t["queens_threshold"]};
  system.spawn<queens_master>(found, done).send(begin);
  done.wait();
  const double took = seconds_since(began);
  expect(found == expected_solutions(size), "the number of solutions is wrong");
  return took;
}

}  // namespace troupe::lab::savina
