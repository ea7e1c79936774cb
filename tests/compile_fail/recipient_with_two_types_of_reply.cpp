// SPDX-License-Identifier: Apache-2.0
// A recipient lists each request with one type of reply.
// expect-error: two types of reply
#include <troupe/troupe.hpp>

struct balance {};

#ifdef MUST_NOT_COMPILE
troupe::recipient<int(balance), long(balance)> wrong;
#else
troupe::recipient<int(balance), balance> fine;
#endif
