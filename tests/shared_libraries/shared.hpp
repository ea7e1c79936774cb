// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <troupe/supervision/child.hpp>
#include <troupe/troupe.hpp>

// Compiled into the program and both libraries: each has its own copy of the records that the
// compiler creates.

namespace shared {

struct greet {
  std::string name;
};
struct greeting {
  std::string text;
};
struct knock {};
struct was_sender_known {};

/// Replies, and knows the sender of a message.
class greeter : public troupe::actor {
 public:
  using messages = troupe::messages<greet, knock, was_sender_known>;

  explicit greeter(std::string library) : library_(std::move(library)) {}
  std::string on(const greet& m) { return library_ + " greets " + m.name; }
  void on(knock, troupe::address sender) { was_sender_known_ = static_cast<bool>(sender); }
  bool on(was_sender_known) { return was_sender_known_; }

 private:
  const std::string library_;
  bool was_sender_known_ = false;
};

/// Takes the messages that overflow a greeter's mailbox.
class stand_in : public troupe::actor {
 public:
  std::string on(const greet& m) { return "a stand-in greets " + m.name; }
  void on(knock) {}
  bool on(was_sender_known) { return false; }
};

/// The functions of a library.
struct library {
  /// Spawns "greeter of NAME" and "private to NAME", and subscribes to "greetings".
  void (*begin)(troupe::system& system);
  /// Finds a greeter by its name, asks it in a handler, and returns the reply.
  std::string (*ask)(troupe::system& system, const char* whom);
  /// Asks the greeter on this thread.
  std::string (*ask_on_this_thread)(troupe::ref<greeter> whom);
  bool (*is_seen_as_sender)(troupe::system& system, troupe::ref<greeter> by);
  void (*publish)(troupe::system& system, const char* text);
  std::string (*hear)();  // waits for a published message
  /// Whether the actor of this name has the class that each library defines in an unnamed
  /// namespace.
  bool (*finds_its_private_class)(troupe::system& system, const char* whom);
  void (*end)();
};

using library_function = const library* (*)();

}  // namespace shared
