// SPDX-License-Identifier: Apache-2.0
#include "lab/pipeline/requests.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace troupe::lab::pipeline {

namespace {

using std::chrono::microseconds;

// ── Generating ────────────────────────────────────────────────────────────────────────────────

struct placed {
  double at;  // position in the whole, from 0 to 1
  request what;
};

void spread(std::vector<placed>& over, std::uint64_t count, const request& what) {
  for (std::uint64_t i = 0; i < count; ++i) {
    over.push_back({(static_cast<double>(i) + 0.5) / static_cast<double>(count), what});
  }
}

// ── Reading ───────────────────────────────────────────────────────────────────────────────────

constexpr std::uint64_t requests_max = 10'000'000;
constexpr std::uint32_t rounds_max = 1'000'000'000;
constexpr std::uint32_t yields_max = 1'000'000;
constexpr std::uint32_t sleep_max = 60'000'000;

class line_reader {
 public:
  explicit line_reader(const std::string& text) : words_(text) {}

  std::string word() {
    std::string next;
    words_ >> next;
    return next;
  }

  std::uint32_t number(const char* what, std::uint32_t most) {
    const std::string text = word();
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty())
      throw std::runtime_error(std::string("the number of ") + what + " is missing");
    if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > most) {
      throw std::runtime_error("'" + text + "' is not a valid number of " + what + " from 1 to " +
                               std::to_string(most));
    }
    return value;
  }

  void expect_end() {
    const std::string rest = word();
    if (!rest.empty()) throw std::runtime_error("'" + rest + "' is an unexpected extra word");
  }

 private:
  std::istringstream words_;
};

bool is_blank(const std::string& line) {
  const auto first = line.find_first_not_of(" \t\r");
  return first == std::string::npos || line[first] == '#';
}

request read_request(const std::string& line) {
  line_reader words(line);
  const std::string kind = words.word();
  if (kind != "compute" && kind != "yield" && kind != "sleep") {
    throw std::runtime_error("'" + kind + "' is not compute, yield or sleep");
  }
  request one;
  one.rounds = words.number("rounds", rounds_max);
  if (kind == "yield") one.yields = words.number("yields", yields_max);
  if (kind == "sleep") one.sleep = microseconds(words.number("microseconds", sleep_max));
  words.expect_end();
  return one;
}

}  // namespace

// xorshift: each step depends on the one before, so that the compiler cannot omit any. Marsaglia,
// 2003.
void computation::next_part() noexcept {
  const std::uint64_t parts = of_->yields + 1;
  const std::uint64_t from = of_->rounds * std::uint64_t{parts_} / parts;
  const std::uint64_t to = of_->rounds * (std::uint64_t{parts_} + 1) / parts;
  std::uint64_t x = value_;
  for (std::uint64_t i = from; i < to; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  value_ = x;
  ++parts_;
}

requests generate(std::uint64_t count, std::chrono::milliseconds longest) {
  const auto of_count = [&](std::uint64_t of_all) {
    return std::max<std::uint64_t>(1, of_all * count / per);
  };
  std::vector<placed> all;
  for (const sleepers& each : sleepers_of_all) {
    spread(all, of_count(each.count),
           {.sleep = microseconds(each.sleep) * longest.count() /
                     sleepers_of_all.front().sleep.count()});
  }
  spread(all, of_count(yielders), {.yields = yields_each});
  spread(all, count - std::min<std::uint64_t>(count, all.size()), {});
  std::stable_sort(all.begin(), all.end(),
                   [](const placed& a, const placed& b) { return a.at < b.at; });

  requests result;
  std::mt19937_64 random;
  for (placed& each : all) {
    each.what.number = result.size() + 1;
    each.what.rounds =
        rounds_least + static_cast<std::uint32_t>(random() % (rounds_most - rounds_least + 1));
    result.push_back(each.what);
  }
  return result;
}

requests read_requests(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file + " cannot be read");
  requests all;
  std::uint64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (is_blank(line)) continue;
    try {
      if (all.size() == requests_max) {
        throw std::runtime_error("no more than " + std::to_string(requests_max) + " requests");
      }
      all.push_back(read_request(line));
      all.back().number = all.size();
    } catch (const std::runtime_error& wrong) {
      throw std::runtime_error(file + ":" + std::to_string(number) + ": " + wrong.what());
    }
  }
  if (in.bad()) throw std::runtime_error(file + " cannot be read");
  if (all.empty())
    throw std::runtime_error(file + ":" + std::to_string(number + 1) +
                             ": the file contains no request");
  return all;
}

void write_requests(const std::string& file, const requests& all) {
  std::ofstream out(file);
  out << "# compute ROUNDS, yield ROUNDS TIMES, or sleep ROUNDS MICROSECONDS\n";
  for (const request& each : all) {
    if (each.sleep.count() != 0) {
      out << "sleep " << each.rounds << ' ' << each.sleep.count() << '\n';
    } else if (each.yields != 0) {
      out << "yield " << each.rounds << ' ' << each.yields << '\n';
    } else {
      out << "compute " << each.rounds << '\n';
    }
  }
  if (!out.flush()) throw std::runtime_error(file + " cannot be written");
}

}  // namespace troupe::lab::pipeline
