// SPDX-License-Identifier: Apache-2.0

// Boost.Beast, compiled once: BOOST_BEAST_SEPARATE_COMPILATION leaves its functions to this file.
#include <boost/beast/src.hpp>
