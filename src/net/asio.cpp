// SPDX-License-Identifier: Apache-2.0

// Boost.Asio, compiled once: BOOST_ASIO_SEPARATE_COMPILATION leaves its functions to this file.
#include <boost/asio/impl/src.hpp>
