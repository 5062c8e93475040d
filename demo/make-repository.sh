#!/usr/bin/env bash
# Makes a repository with two revisions of a training library; the second is slower.
#
# usage: demo/make-repository.sh FOLDER     replaces an earlier one, and nothing else
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$1

if [ -e "$out" ] && ! { [ -d "$out/tinytrain" ] && [ -d "$out/.git" ]; }; then
    echo "demo: $out is there and was not made by this script; name another folder" >&2
    exit 2
fi
rm -rf "$out"
cp -R "$here/repository" "$out"
cd "$out"
commit() { git -c user.name=demo -c user.email=demo@localhost -c commit.gpgsign=false commit --quiet --all --message "$1"; }
printf '.regress/\n__pycache__/\n' > .gitignore
git init --quiet
git add .
commit "Train a classifier with DDP"
git apply "$here/slower.patch"
commit "Keep the loss after the update for the log"
