#!/bin/sh
# `sh scripts/run.sh FILE [ARG ...]` installs what FILE needs and then becomes FILE on Node 24, so that signals reach it directly.
# `mucast/client` resolves to the client's source there, because a checkout has no dist/.
root=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
node=$(node "$root/scripts/setup.mjs" --for "$@") || exit
case $1 in /*) file=$1 ;; *) file=$PWD/$1 ;; esac
# npm runs scripts in the folder of the package; a command of the product resolves paths from where the person is.
if [ "$1" = src/cli/main.ts ]; then cd "${INIT_CWD:-.}" || exit; fi
shift
# Node strips the types from TypeScript at every start; the compiled result is kept for the next one.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$root/node_modules/.cache/mucast/compiled}"
exec "$node" --conditions=mucast-source "$file" "$@"
