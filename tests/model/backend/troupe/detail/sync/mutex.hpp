// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/sync.hpp>  // IWYU pragma: export
