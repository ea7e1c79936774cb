// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/catalogue.hpp"

namespace troupe::lab {

const catalogue_entry* find_experiment(std::string_view name) {
  for (const catalogue_entry& each : catalogue()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace troupe::lab
