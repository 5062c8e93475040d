#!/usr/bin/env bash
# Prints the commit that HEAD is compared with.
#
# EVENT    pull_request: HEAD is the merge that GitHub made, and its first parent is what it is merged
#          into. Any other event: BEFORE, if that is still there, else the first parent.
# BEFORE   where the branch stood before a push: only zeros on a new branch, empty where nothing was
#          pushed, and no longer in the repository after some forced pushes.
set -euo pipefail

parent() {
    git rev-parse --verify --quiet 'HEAD^1^{commit}' || {
        echo "HEAD is the first commit: there is nothing to compare it with" >&2
        exit 2
    }
}

before=${BEFORE:-}
if [ "${EVENT:-}" = pull_request ]; then
    parent
elif [[ $before =~ ^[0-9a-f]{40,64}$ ]] && git cat-file -e "$before^{commit}" 2>/dev/null; then
    echo "$before"
else
    parent
fi
