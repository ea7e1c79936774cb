// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe::lab::report {

/// The files of this folder and Chart.js, which lab/report/embed.cmake writes into the program.
extern const char* const frame;     ///< page.html
extern const char* const style;     ///< page.css
extern const char* const script;    ///< *.js, in the order of their names
extern const char* const library;   ///< Chart.js
extern const char* const licenses;  ///< of the parts from other projects

}  // namespace troupe::lab::report
