// SPDX-License-Identifier: Apache-2.0

// The part of Boost.Asio over OpenSSL, compiled once: BOOST_ASIO_SEPARATE_COMPILATION leaves its
// functions to this file.
#include <boost/asio/ssl/impl/src.hpp>
