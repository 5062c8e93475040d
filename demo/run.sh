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

verdict() { # verdict ARGUMENT...: compare, show the answer, keep its verdict (empty when there is none)
    printf '\n$ regress compare %s\n' "$*"
    verdict=
    "$regress" compare "$@" --json answer.json || true
    if [ -f answer.json ]; then
        verdict=$(sed -n 's/^ "verdict": "\(.*\)",$/\1/p' answer.json)
        rm answer.json
    fi
}

start=$SECONDS
verdict HEAD~1 HEAD --html planted.html
planted=$verdict
verdict HEAD~1 HEAD~1 --html clean.html
clean=$verdict
printf '\n%d s in all. ' $((SECONDS - start))
case "$planted/$clean" in
regressed/unchanged | regressed/inconclusive | regressed/improved)
    echo "Found the planted slowdown, and none between a revision and itself:"
    printf '%s\n' "$PWD/clean.html" "$PWD/planted.html"
    ;;
*)
    echo "Expected 'regressed' and then no alarm, got '$planted' and '$clean': is the machine very busy?" >&2
    exit 1
    ;;
esac
