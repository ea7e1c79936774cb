// SPDX-License-Identifier: Apache-2.0
// Which handler gets a message, and how the message gets there. (Which types an actor understands
// at all: src/message/handler_test.cpp; what does not compile: tests/compile_fail.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

TEST(handlers, take_a_message_by_value_by_reference_or_by_rvalue) {
  struct value {
    std::string text;
  };
  struct reference {
    std::string text;
  };
  struct rvalue {
    std::string text;
  };
  class all : public actor {
   public:
    explicit all(journal& log) : log_(log) {}
    void on(value m) { log_.write("value " + m.text); }
    void on(const reference& m) { log_.write("reference " + m.text); }
    void on(rvalue&& m) { log_.write("rvalue " + std::exchange(m.text, "")); }

   private:
    journal& log_;
  };
  journal log;
  stage s;
  const auto a = s.spawn<all>(log);
  a.send(value{"1"});
  a.send(reference{"2"});
  a.send(rvalue{"3"});
  const value kept{"4"};
  const rvalue kept_too{"5"};
  a.send(kept);
  a.send(kept_too);
  s.play();
  EXPECT_THAT(log.lines(),
              ElementsAre("value 1", "reference 2", "rvalue 3", "value 4", "rvalue 5"));
  EXPECT_EQ(kept.text, "4");
  EXPECT_EQ(kept_too.text, "5");
}

TEST(handlers, are_chosen_by_the_exact_type) {
  class exact : public actor {
   public:
    explicit exact(journal& log) : log_(log) {}
    void on(int) { log_.write("int"); }
    void on(long) { log_.write("long"); }
    void on(double) { log_.write("double"); }
    void on(bool) { log_.write("bool"); }
    void on(char) { log_.write("char"); }
    void on(std::string) { log_.write("string"); }
    void on(const char*) { log_.write("const char*"); }
    void on(std::shared_ptr<const int>) { log_.write("pointer to const"); }
    void on(std::shared_ptr<int>) { log_.write("pointer"); }

   private:
    journal& log_;
  };
  journal log;
  stage s;
  const auto a = s.spawn<exact>(log);
  a.send(1);
  a.send(1L);
  a.send(1.0);
  a.send(true);
  a.send('1');
  a.send(std::string("1"));
  const char* const text = "1";
  a.send(text);
  a.send(std::make_shared<int>(1));
  a.send(std::make_shared<const int>(1));
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("int", "long", "double", "bool", "char", "string",
                                       "const char*", "pointer", "pointer to const"));
}

TEST(handlers, of_a_base_class_are_inherited_and_may_be_added_to) {
  class base : public actor {
   public:
    explicit base(journal& log) : log_(log) {}
    void on(int) { log_.write("base int"); }
    void on(long, address) { log_.write("base long"); }

   protected:
    journal& log_;
  };
  class same : public base {
   public:
    using base::base;
  };
  class more : public base {
   public:
    using base::base;
    using base::on;
    void on(double) { log_.write("derived double"); }
    void on(int) { log_.write("derived int"); }
  };
  journal log;
  stage s;
  const auto a = s.spawn<same>(log);
  const auto b = s.spawn<more>(log);
  a.send(1);
  a.send(1L);
  b.send(1);
  b.send(1L);
  b.send(1.0);
  s.play();
  EXPECT_THAT(log.lines(),
              ElementsAre("base int", "base long", "derived int", "base long", "derived double"));
}

TEST(handlers, may_be_const_and_noexcept_and_return_something) {
  class odd : public actor {
   public:
    explicit odd(journal& log) : log_(log) {}
    void on(const std::string&) const { log_.write("const"); }
    void on(long) noexcept { log_.write("noexcept"); }
    bool on(double) { return log_.write("returns"), true; }

   private:
    journal& log_;
  };
  journal log;
  stage s;
  const auto a = s.spawn<odd>(log);
  a.send(std::string("1"));
  a.send(1L);
  a.send(1.0);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("const", "noexcept", "returns"));
}

TEST(handlers, receive_the_sender_if_they_take_an_address) {
  class asker : public actor {
   public:
    explicit asker(std::vector<address>& senders) : senders_(senders) {}
    void on(int, address sender) { senders_.push_back(sender); }
    void on(const long&, const address& sender) { senders_.push_back(sender); }
    void on(std::string&& text, address sender) {
      EXPECT_EQ(text, "a string that does not fit into the string itself");
      senders_.push_back(sender);
    }

   private:
    std::vector<address>& senders_;
  };
  journal log;
  std::vector<address> senders;
  stage s;
  const auto a = s.spawn<asker>(senders);
  const auto b = s.spawn<probe>(log);
  const auto send_all = [&] {
    a.send(1);
    a.send(1L);
    a.send(std::string("a string that does not fit into the string itself"));
  };
  send_all();
  b.send(call{[&](probe&) { send_all(); }});
  s.play();
  EXPECT_THAT(senders,
              ElementsAre(address{}, address{}, address{}, b.address(), b.address(), b.address()));
}

TEST(handlers, take_messages_that_can_only_be_moved) {
  struct moved {
    std::unique_ptr<int> content;
  };
  class taker : public actor {
   public:
    explicit taker(std::vector<int>& got) : got_(got) {}
    void on(moved m) { got_.push_back(*m.content); }
    void on(std::unique_ptr<int> p) { got_.push_back(*p); }
    void on(std::vector<std::unique_ptr<int>>&& all) {
      for (const auto& each : all) got_.push_back(*each);
    }

   private:
    std::vector<int>& got_;
  };
  std::vector<int> got;
  stage s;
  const auto a = s.spawn<taker>(got);
  a.send(moved{std::make_unique<int>(1)});
  a.send(std::make_unique<int>(2));
  auto named = std::make_unique<int>(3);
  a.send(std::move(named));
  std::vector<std::unique_ptr<int>> several;
  several.push_back(std::make_unique<int>(4));
  a.send(std::move(several));
  s.play();
  a.send(moved{std::make_unique<int>(5)});  // never handled
  a.stop_now();
  s.play();
  EXPECT_THAT(got, ElementsAre(1, 2, 3, 4));
}

// Messages of all sizes keep their content and are aligned.
template <std::size_t Bytes, std::size_t Alignment>
struct shaped {
  alignas(Alignment) std::array<unsigned char, Bytes> bytes;
};
using small = shaped<1, 1>;
using line = shaped<64, 64>;
using lines = shaped<128, 128>;
using page = shaped<4096, 4096>;
using odd_size = shaped<1001, 8>;
using huge = shaped<1'000'000, 16>;

class shapes : public actor {
 public:
  explicit shapes(int& right) : right_(right) {}
  void on(const small& m) { check(m); }
  void on(const line& m) { check(m); }
  void on(const lines& m) { check(m); }
  void on(const page& m, address) { check(m); }
  void on(const odd_size& m) { check(m); }
  void on(const huge& m) { check(m); }

 private:
  template <std::size_t Bytes, std::size_t Alignment>
  void check(const shaped<Bytes, Alignment>& m) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&m) % Alignment, 0u);
    std::array<unsigned char, Bytes> expected;
    std::iota(expected.begin(), expected.end(), std::uint8_t{1});
    right_ += m.bytes == expected ? 1 : 0;
  }
  int& right_;
};

TEST(handlers, take_messages_of_any_size_and_alignment) {
  int right = 0;
  stage s;
  const auto a = s.spawn<shapes>(right);
  const auto send = [&]<class M>(std::type_identity<M>) {
    auto m = std::make_unique<M>();
    std::iota(m->bytes.begin(), m->bytes.end(), std::uint8_t{1});
    for (int i = 0; i < 5; ++i) a.send(*m);
  };
  send(std::type_identity<small>{});
  send(std::type_identity<line>{});
  send(std::type_identity<lines>{});
  send(std::type_identity<page>{});
  send(std::type_identity<odd_size>{});
  send(std::type_identity<huge>{});
  s.play();
  EXPECT_EQ(right, 30);
}

TEST(handlers, take_empty_messages) {
  struct empty {};
  class taker : public actor {
   public:
    explicit taker(int& got) : got_(got) {}
    void on(empty) { ++got_; }

   private:
    int& got_;
  };
  int got = 0;
  stage s;
  const auto a = s.spawn<taker>(got);
  a.send(empty{});
  const empty named;
  a.send(named);
  s.play();
  EXPECT_EQ(got, 2);
}

}  // namespace
}  // namespace troupe::test
