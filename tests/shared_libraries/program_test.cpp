// SPDX-License-Identifier: Apache-2.0
// A program that contains Troupe, and two libraries that it loads: hidden symbols, RTLD_LOCAL. Each
// has its own copies of the code of the shared header, and all agree on the identity of classes and
// messages.
#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <troupe/supervision/registry.hpp>

#include "from_bin.hpp"
#include "shared.hpp"

namespace {

using shared::greet;
using shared::greeter;
using troupe::test::from_bin;

const shared::library& load(const char* file) {
  void* const handle = ::dlopen(from_bin(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(::dlerror());
  const auto get =
      reinterpret_cast<shared::library_function>(::dlsym(handle, "troupe_test_library"));
  if (get == nullptr) throw std::runtime_error(::dlerror());
  return *get();
}

class shared_libraries : public testing::Test {
 protected:
  shared_libraries() {
    first.begin(system);
    second.begin(system);
  }
  ~shared_libraries() override {
    first.end();
    second.end();
  }

  const shared::library& first = load(TROUPE_TEST_FIRST);
  const shared::library& second = load(TROUPE_TEST_SECOND);
  troupe::system system{{.workers = 2}};
};

TEST_F(shared_libraries, find_each_others_actors_by_name_and_class) {
  EXPECT_EQ(first.ask(system, "greeter of second"), "second greets first");
  EXPECT_EQ(second.ask(system, "greeter of first"), "first greets second");
  const auto found = troupe::registry(system).find<greeter>("greeter of first");
  ASSERT_TRUE(found);
  EXPECT_EQ(second.ask_on_this_thread(*found), "first greets second");
}

TEST_F(shared_libraries, have_classes_of_their_own_that_are_not_each_others) {
  EXPECT_TRUE(first.finds_its_private_class(system, "private to first"));
  EXPECT_FALSE(first.finds_its_private_class(system, "private to second"));
  EXPECT_FALSE(second.finds_its_private_class(system, "private to first"));
}

TEST_F(shared_libraries, share_a_topic_by_name_and_message) {
  first.publish(system, "hello");
  EXPECT_EQ(first.hear(), "hello");
  EXPECT_EQ(second.hear(), "hello");
}

TEST_F(shared_libraries, know_which_handler_runs_on_the_thread) {
  const auto it = system.spawn<greeter>("program");
  EXPECT_TRUE(first.is_seen_as_sender(system, it));
  EXPECT_TRUE(second.is_seen_as_sender(system, it));
}

TEST_F(shared_libraries, use_redirections_that_the_program_has_compiled) {
  troupe::pump here(system);
  const auto relief = system.spawn<shared::stand_in>();
  const auto full = system.spawn<greeter>(
      troupe::spawn_options{.where = troupe::bound_to(here),
                            .max_messages = 1,
                            .on_full = troupe::overflow::redirect_to<greeter>(relief)},
      "program");
  ASSERT_EQ(full.send(greet{"nobody"}), troupe::delivery::accepted);
  EXPECT_EQ(second.ask_on_this_thread(full), "a stand-in greets second");
}

TEST(shared_library, may_be_unloaded_after_the_system_is_destroyed) {
  for (int round = 0; round < 3; ++round) {
    void* const handle = ::dlopen(from_bin(TROUPE_TEST_THIRD).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << ::dlerror();
    const auto get =
        reinterpret_cast<shared::library_function>(::dlsym(handle, "troupe_test_library"));
    ASSERT_NE(get, nullptr);
    std::thread([get] {
      troupe::system system({.workers = 2});
      get()->begin(system);
      EXPECT_EQ(get()->ask(system, "greeter of third"), "third greets third");
      get()->end();
    }).join();
    {
      troupe::system system({.workers = 2});
      get()->begin(system);
      EXPECT_EQ(get()->ask(system, "greeter of third"), "third greets third");
      get()->end();
    }
    EXPECT_EQ(::dlclose(handle), 0);
    EXPECT_EQ(::dlopen(from_bin(TROUPE_TEST_THIRD).c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr)
        << "it is unloaded";
    // The memory that this thread has cached is used again.
    const troupe::system system({.workers = 1});
  }
}

}  // namespace
