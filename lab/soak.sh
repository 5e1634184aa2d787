#!/bin/sh
# soak.sh [SECONDS-PER-TARGET]: runs every fuzz target of the module, one after another on all cores, and prints the
# executions and findings of each. Inputs that fail are left under testdata/fuzz of their package.
set -u
cd "$(dirname "$0")/.."
each=${1:-60}
failed=0
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
	for target in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //' | sort -u); do
		log=$(mktemp)
		if go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "${each}s" >"$log" 2>&1; then
			result=ok
		else
			result=FOUND
			failed=$((failed + 1))
		fi
		execs=$(grep -o 'execs: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)
		printf '%-28s %-30s %12s executions  %s\n' "$dir" "$target" "${execs:-0}" "$result"
		[ $result = ok ] || grep -v '^fuzz: elapsed' "$log" | head -20
		rm -f "$log"
	done
done
echo "$failed findings"
[ "$failed" -eq 0 ]
