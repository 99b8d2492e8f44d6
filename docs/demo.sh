#!/usr/bin/env bash
# The whole way of gpudiy on a machine without a GPU; results go to out/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
out=out/demo
rm -rf "$out"
mkdir -p "$out"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '\033[2m$ %s\033[0m\n' "$*"; "$@"; }

say "1. A family of tests, made from cycles of relaxation edges"
run gpudiy generate --family classic -o "$out/classic"
run gpudiy show docs/examples/mp-cas.litmus

say "2. What four memory models say of it"
run gpudiy model "$out/classic" --models sc,tso,ptx-asplos15,ptx-6.0 -j 2 | tail -6

say "3. Harnesses for two architectures, and the proof that the compiler left the tests alone"
code=0
run gpudiy build "$out/classic" --arch sm_80,sm_90 -o "$out/built" -q 2> "$out/built.txt" || code=$?
if [ -f "$out/built/index.jsonl" ]; then
  for arch in sm_80 sm_90; do
    for verdict in unchanged reordered removed merged widened fence-changed dependency-broken unverifiable; do
      count=$(grep -c "\"arch\": \"$arch\".*\"optcheck\": \"$verdict\"" "$out/built/index.jsonl" || true)
      [ "$count" = 0 ] || echo "$arch: $count tests are $verdict"
    done
  done
else
  echo "The CUDA tools are not to be had here; everything else goes on:"
  tail -2 "$out/built.txt"
fi

say "4. Runs: on this processor through OpenCL, and on two simulated chips"
run gpudiy devices
code=0
run gpudiy run "$out"/classic/{SB,SB+membar.gls,MP,LB,R,S,2+2W}.litmus --device opencl -s 1000000 --seed 1 -o "$out/opencl.jsonl" -q || code=$?
for chip in kepler maxwell; do
  run gpudiy run "$out/classic" docs/published --device "sim:$chip" -s 100000 --seed 1 -o "$out/$chip.jsonl" -q | tail -1
done

say "5. The simulated chips beside the published ones"
run gpudiy compare "$out/kepler.jsonl" "$out/maxwell.jsonl" logs/thesis.jsonl --most 1 > "$out/compare.txt" || true
head -25 "$out/compare.txt"
run gpudiy table "$out/kepler.jsonl" "$out/maxwell.jsonl" logs/thesis.jsonl --tests 'coherent-reads,mp-cas,*-value'
run gpudiy conform "$out/kepler.jsonl" "$out/maxwell.jsonl" --model ptx-asplos15 --most 1

say "6. A spinlock that was published, and its repair"
run gpudiy lock check he-yu-spinlock --models ptx-asplos15 --witness "$out/lock" -j 2 || true
run gpudiy lock fix he-yu-spinlock --models ptx-asplos15 > "$out/fix.txt" || true
head -40 "$out/fix.txt"
run gpudiy lock check he-yu-spinlock-fixed --models ptx-asplos15 -j 2 | tail -3

say "7. The report"
run gpudiy report "$out/kepler.jsonl" "$out/maxwell.jsonl" "$out/opencl.jsonl" logs/thesis.jsonl -o "$out/report.html" -j 2 --title "gpudiy demo"

say "What was found"
python - "$out" <<'PYTHON'
import json
import subprocess
import sys
from pathlib import Path

from gpudiy.logs import Columns, load_log
from gpudiy.logs.conformance import conform
from gpudiy.logs.decision import Sighting, decide_record
from gpudiy.models.library import load_model

out = Path(sys.argv[1])
records = {name: list(load_log(out / f"{name}.jsonl").columns.records()) for name in ("opencl", "kepler", "maxwell")}
published = list(load_log("logs/thesis.jsonl").columns.records())


def seen(name: str) -> list[str]:
    return [record.test for record in records[name] if decide_record(record).sighting is Sighting.OBSERVED]


cpu = records["opencl"][0].chip
print(f"This processor ({cpu}) shows {', '.join(seen('opencl')) or 'nothing weak'}, and nothing else of the seven tests it ran.")
judged = conform(Columns.of([*records["kepler"], *records["maxwell"]]), load_model("ptx-asplos15"))
print(
    f"Of {len(records['kepler'])} tests the simulated Kepler shows {len(seen('kepler'))} weak, the simulated Maxwell"
    f" {len(seen('maxwell'))}; outcomes that ptx-asplos15 forbids: {len(judged.findings) or 'none'}."
)
titan = {record.test: record.positive for record in published if record.chip == "GTX Titan"}
kepler = {record.test: record.positive for record in records["kepler"]}
print("The real Kepler (GTX Titan) and the simulated one, weak outcomes in 100,000 iterations:")
for test, count in titan.items():
    print(f"  {test:<26}{count:>7,}{kepler[test]:>8,}")
answer = subprocess.run(
    ["gpudiy", "lock", "check", "he-yu-spinlock", "--models", "ptx-asplos15", "--json"], capture_output=True, text=True
)
wrong = dict.fromkeys(row["question"] for row in map(json.loads, answer.stdout.splitlines()) if row.get("verdict") == "allowed")
print(f"The spinlock of He and Yu is wrong: {', '.join(wrong) or 'see above'}. The weakest repair is in {out}/fix.txt.")
if (out / "built" / "index.jsonl").exists():
    rows = [json.loads(line) for line in (out / "built" / "index.jsonl").read_text().splitlines()]
    same = sum(row["optcheck"] == "unchanged" for row in rows)
    print(f"The compiler left {same} of {len(rows)} binaries as the tests are.")
print(f"\nOpen {out}/report.html to look at all of it.")
PYTHON
