#!/usr/bin/env bash
# What gpudiy can do so far, from a test in the literature to three formats; results go to out/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
out=out/demo
rm -rf "$out"
mkdir -p "$out"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. A test of the literature: message passing through a compare-and-swap"
gpudiy show docs/examples/mp-cas.litmus

say "2. Every test here is read and checked"
gpudiy check docs/examples/sb.litmus docs/examples/mp-cas.litmus docs/examples/mp-acquire.litmus tests/data/litmus/figures
gpudiy check --json tests/data/litmus/figures > "$out/figures.jsonl"

say "3. A broken one is refused, with its place"
gpudiy check docs/examples/broken.litmus || true

say "4. The same tests for other tools"
gpudiy convert --to herd tests/data/litmus/figures -o "$out/herd"
gpudiy convert --to dat3m --modern docs/examples/sb.litmus docs/examples/mp-cas.litmus -o "$out/dat3m"
cat "$out/dat3m/mp-cas.litmus"

say "Results are in $out:"
find "$out" -type f | sort
