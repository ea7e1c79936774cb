// SPDX-License-Identifier: Apache-2.0

// Boost.Beast, compiled once: BOOST_BEAST_SEPARATE_COMPILATION leaves its functions to this file.

// Boost 1.81 asserts that five bytes are available when it looks at a last chunk again, and a
// client can send four and wait: https://github.com/boostorg/beast/pull/2861. Without the assertion
// it requests more data. Data from a client must not end the process, even with assertions on.
#define BOOST_DISABLE_ASSERTS
#include <boost/beast/src.hpp>
