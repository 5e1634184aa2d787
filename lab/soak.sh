#!/bin/sh
# soak.sh [CPU-MINUTES]: spreads that much processor time (30 unless given) over every fuzz target of the project, each on all
# cores in turn, and prints the executions and findings of each. Inputs that reached new code are kept in Go's build cache
# and are where the next soak goes on; inputs that fail are left under testdata/fuzz of their package.
# An input is made smaller a few times only: Go's minute for each was all that some targets did.
set -u
cd "$(dirname "$0")/.."
minutes=${1:-30}
list=$(grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' . | sed 's/\/[^/]*:func / /' | sort -u)
targets=$(echo "$list" | wc -l)
cores=$(getconf _NPROCESSORS_ONLN)
each=$(awk "BEGIN { s = $minutes * 60 / $cores / $targets; printf \"%.1f\", s < 0.5 ? 0.5 : s }")
echo "$targets targets on $cores cores, ${each} s each"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# ended: nothing but the end of the time is in the way. Go 1.26 may report that as a failure where the machine is busy
# (go.dev/issue/75804): one line in place of what an input did, and no input is written.
ended() {
	! grep -q 'Failing input written' "$log" &&
		[ "$(sed -n '/^--- FAIL/,/^FAIL$/p' "$log" | sed '1d;$d')" = '    context deadline exceeded' ]
}

total=0 failed=0
while read -r dir target; do
	if go test -C "$dir" . -run '^$' -fuzz "^$target\$" -fuzztime "${each}s" -fuzzminimizetime 10x >"$log" 2>&1 || ended; then
		result=ok
	else
		result=FOUND
		failed=$((failed + 1))
	fi
	execs=$(grep -o 'execs: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)
	new=$(grep -o 'new interesting: [0-9]*' "$log" | tail -1 | cut -d' ' -f3)
	printf '%-24s %-28s %12s executions  %6s new inputs  %s\n' "$dir" "$target" "${execs:-0}" "${new:-0}" "$result"
	[ $result = ok ] || grep -v '^fuzz: elapsed' "$log" | head -20
	total=$((total + ${execs:-0}))
done <<EOF
$list
EOF
echo "$total executions, $failed findings"
[ "$failed" -eq 0 ]
