#!/usr/bin/env bash
# What gpudiy can do so far, on a machine without a GPU; results go to out/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
out=out/demo
rm -rf "$out"
mkdir -p "$out"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. A test of the literature: message passing through a compare-and-swap"
gpudiy show docs/examples/mp-cas.litmus

say "2. A family of tests, made from cycles of relaxation edges"
gpudiy generate --family classic -o "$out/classic"
gpudiy check "$out/classic"

say "3. What four memory models say of it"
gpudiy model "$out/classic" --models sc,tso,ptx-asplos15,ptx-6.0 --csv > "$out/classic.csv"
head -5 "$out/classic.csv"
gpudiy model "$out/classic" --models sc,tso,ptx-asplos15,ptx-6.0 | tail -1

say "4. Why one of them is forbidden, and a picture of it"
gpudiy model docs/examples/mp-acquire.litmus --explain
gpudiy model docs/examples/mp-acquire.litmus --witness "$out/mp-acquire.svg"

say "5. Where the models before and after Volta part, and what it takes to forbid an outcome"
gpudiy model diff ptx-asplos15 ptx-6.0 --most 1 -o "$out/diff" || true
gpudiy model minimal docs/examples/mp-cas.litmus --models ptx-asplos15

say "6. The same tests for other tools"
gpudiy convert --to herd "$out/classic" -o "$out/herd"
gpudiy convert --to dat3m --modern docs/examples/sb.litmus docs/examples/mp-cas.litmus -o "$out/dat3m"
cat "$out/dat3m/mp-cas.litmus"

say "7. A broken test is refused, with its place"
gpudiy check docs/examples/broken.litmus || true

say "What was found"
verdict=$(gpudiy model docs/examples/mp-cas.litmus --models ptx-asplos15 --csv | tail -1 | cut -d, -f2)
echo "By the model of GPUs before Volta, message passing through a compare-and-swap that reads stale data is $verdict."
echo "What forbids it:"
gpudiy model minimal docs/examples/mp-cas.litmus --models ptx-asplos15 --most 1 | tail -n +2
echo "Open $out/mp-acquire.svg for a picture of an execution. All results are in $out: $(find "$out" -type f | wc -l) files."
