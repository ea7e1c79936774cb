// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/plain.hpp>  // IWYU pragma: export
