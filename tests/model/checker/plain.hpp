// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <utility>

#include "engine.hpp"

namespace troupe {
namespace model {

/// Plain memory that is watched. Two concurrent accesses, one of which writes, are a data race:
/// neither happens before the other.
template <class T>
class plain {
  using where = std::source_location;

 public:
  plain(where at = where::current()) : plain(T{}, at) {}
  plain(T initial, where at = where::current()) : value_(std::move(initial)) {
    detail::plain_born(&value_, at);
  }
  plain(const plain& other) : plain(other.get()) {}
  ~plain() { detail::given_back(&value_, 1); }
  // Inlined, so that the functions they call return to the line that uses them.
  [[gnu::always_inline]] inline plain& operator=(const plain& other) {
    T value = other;
    return *this = std::move(value);
  }
  [[gnu::always_inline]] inline plain& operator=(T value) {
    detail::plain_write_here(&value_);
    value_ = std::move(value);
    return *this;
  }
  [[gnu::always_inline]] inline operator T() const {
    detail::plain_read_here(&value_);
    return value_;
  }

  [[nodiscard]] T get(where at = where::current()) const {
    detail::plain_read(&value_, at);
    return value_;
  }
  void set(T value, where at = where::current()) {
    detail::plain_write(&value_, at);
    value_ = std::move(value);
  }

 private:
  T value_;
};

}  // namespace model

inline namespace checked {

template <class T>
using watched = model::plain<T>;

}  // namespace checked
}  // namespace troupe
