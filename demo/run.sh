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

compare() { # compare ARGUMENT...: run it, show it, keep its exit status
    printf '\n$ regress compare %s\n' "$*"
    status=0
    "$regress" compare "$@" || status=$?
}

start=$SECONDS
compare HEAD~1 HEAD --html planted.html
planted=$status
compare HEAD~1 HEAD~1 --html clean.html
clean=$status
printf '\n%d s in all. ' $((SECONDS - start))
# 0: nothing regressed; 3: nothing regressed, and the machine is too noisy to see what the suite asks for
if [ "$planted" -ne 1 ] || { [ "$clean" -ne 0 ] && [ "$clean" -ne 3 ]; }; then
    echo "Expected exit status 1 and then 0 or 3, got $planted and $clean: is the machine very busy?" >&2
    exit 1
fi
echo "Found the planted slowdown, and none between a revision and itself:"
printf '%s\n' "$PWD/clean.html" "$PWD/planted.html"
