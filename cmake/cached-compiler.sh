#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cached-compiler.sh <folder of the project> <ccache> <compiler> <argument>...
#
# Compiles through ccache with paths relative to the project's folder, so that another clone finds
# the results.
folder=$1
shift

# GCC would include an old precompiled header instead of compiling the new one, because it is found
# by name.
for argument; do
  case $before$argument in
    -o*.gch) rm -f "$argument" ;;
  esac
  before=
  if [ "$argument" = -o ]; then before=-o; fi
done

# ccache caches a file that uses a precompiled header only with the first two kinds of sloppiness.
# The others let a fresh clone, in which every file is new, use the cache.
CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
CCACHE_BASEDIR=$folder
CCACHE_NOHASHDIR=true
export CCACHE_SLOPPINESS CCACHE_BASEDIR CCACHE_NOHASHDIR
exec "$@"
