#!/usr/bin/env bash
# A slowdown planted in a small training library: `regress compare` finds it on real ranks, and finds
# nothing between the first revision and itself.
#
# usage: demo/run.sh [FOLDER]     the library's repository is made there (default: demo-out)
set -euo pipefail

out=${1:-demo-out}
regress=${REGRESS:-regress}

"$(dirname "$0")/make-repository.sh" "$out"
cd "$out"
export REGRESS_CACHE="$PWD/.regress/cache"

expect() { # expect STATUS ARGUMENT...: run regress and insist on its exit status
    local wanted=$1 status=0
    shift
    printf '\n$ regress %s\n' "$*"
    "$regress" "$@" || status=$?
    if [ "$status" -ne "$wanted" ]; then
        echo "demo: exit status $status, and $wanted was expected" >&2
        exit 1
    fi
}

start=$SECONDS
expect 1 compare HEAD~1 HEAD --html planted.html
expect 0 compare HEAD~1 HEAD~1 --html clean.html
printf '\nFound the planted slowdown, and none between a revision and itself, in %d s.\n' $((SECONDS - start))
printf '%s\n' "$PWD/clean.html" "$PWD/planted.html"
