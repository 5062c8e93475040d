#!/usr/bin/env bash
# Prints where HEAD's branch stood a day ago: the newest commit of that age, else the oldest one.
#
# Where nothing has come in since, that is HEAD itself: then the night shows what identical code gives.
set -euo pipefail

then=$(git rev-list --first-parent --max-count=1 --before='24 hours ago' HEAD)
if [ -z "$then" ]; then
    then=$(git rev-list --first-parent HEAD | tail -n 1)
fi
echo "$then"
