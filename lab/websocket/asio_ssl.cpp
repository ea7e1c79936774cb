// SPDX-License-Identifier: Apache-2.0

// The parts of Asio's TLS that are not templates, once for the whole program.
#include <boost/asio/ssl/impl/src.hpp>
