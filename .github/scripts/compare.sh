#!/usr/bin/env bash
# Measures BASE against HEAD and ends with the status of the verdict.
#
# usage: compare.sh BASE HEAD FOLDER
#
# FOLDER gets comparison.json, report.html and summary.md; the summary is also shown on the page of the
# workflow. REGRESS is the command (default: regress).
set -euo pipefail

base=$1 head=$2 folder=$3
mkdir -p "$folder"
rm -f "$folder/summary.md" # of an earlier try: what is shown is this answer or none

status=0
"${REGRESS:-regress}" compare "$base" "$head" \
    --json "$folder/comparison.json" --html "$folder/report.html" --markdown "$folder/summary.md" || status=$?

if [ -s "$folder/summary.md" ]; then
    cat "$folder/summary.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
else
    printf 'No answer: regress ended with status %d; the log says why.\n' "$status" \
        >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
fi

case $status in
0) [ -s "$folder/summary.md" ] || status=3 ;; # green only when there is an answer
1) echo '::error::something regressed or broke; the summary and report.html say what' ;;
2) echo '::error::the request is wrong; the log says what to do' ;;
3) echo '::error::could not tell; the summary or the log says why' ;;
*) echo "::error::regress ended with status $status" ;;
esac
exit "$status"
