#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cached-compiler.sh <folder of the project> <ccache> <compiler> <argument>...
#
# Compiles through ccache, so that another clone finds the result: paths below the folder count as relative ones.
folder=$1
shift

# GCC takes an old precompiled header for the one that it is about to make, since that is included by its name.
for argument; do
  case $before$argument in
    -o*.gch) rm -f "$argument" ;;
  esac
  before=
  if [ "$argument" = -o ]; then before=-o; fi
done

# ccache takes a file that uses a precompiled header only under the first two kinds of sloppiness; the others let a
# fresh clone, where every file is new, use the cache.
CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
CCACHE_BASEDIR=$folder
CCACHE_NOHASHDIR=true
export CCACHE_SLOPPINESS CCACHE_BASEDIR CCACHE_NOHASHDIR
exec "$@"
