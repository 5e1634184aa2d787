#!/bin/sh
# soak.sh [CPU-MINUTES [CORES]]: spreads that much processor time (30 unless given) over every fuzz target of the project,
# each in turn on so many cores (all of them), and prints a table: the executions and findings of each, and what part of its
# package's statements the inputs that were found so far reach (COVERAGE=no leaves that out, for which each package is compiled
# once more). lab/results/soak.md has the last long one. Inputs that reached new code are kept in Go's build cache and are where
# the next soak goes on; inputs that fail are left under testdata/fuzz of their package.
# An input is made smaller a few times only: Go's minute for each was all that some targets did.
set -u
cd "$(dirname "$0")/.."
minutes=${1:-30}
cores=${2:-$(getconf _NPROCESSORS_ONLN)}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# targets lists all targets, of modules of their own too: module directory, package, target.
targets() {
	find . -name go.mod -exec dirname {} \; | sort | while read -r module; do
		go list -C "$module" -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do
			cat "$dir"/*_test.go 2>/dev/null | sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|$module $package \1|p"
		done
	done
}

# ended: nothing but the end of the time is in the way. Go 1.26 may report that as a failure where the machine is busy
# (go.dev/issue/75804): one line in place of what an input did, and no input is written.
ended() {
	! grep -q 'Failing input written' "$log" &&
		[ "$(sed -n '/^--- FAIL/,/^FAIL$/p' "$log" | sed '1d;$d')" = '    context deadline exceeded' ]
}

# covered MODULE PACKAGE TARGET: the statements of the package that the target's inputs reach, those in Go's cache too.
covered() {
	[ "${COVERAGE-}" != no ] || return 0
	dir=$(go list -C "$1" -f '{{.Dir}}' "$2")/testdata/fuzz
	found=$(go env GOCACHE)/fuzz/$2/$3
	[ ! -e "$dir/$3" ] && [ -d "$found" ] && mkdir -p "$dir" && ln -s "$found" "$dir/$3"
	go test -C "$1" -run "^$3\$" -cover "$2" 2>&1 | grep -o '[0-9.]*% of statements' | cut -d' ' -f1
	[ ! -L "$dir/$3" ] || { rm "$dir/$3" && rmdir -p --ignore-fail-on-non-empty "$dir"; }
}

list=$(targets)
each=$(echo "$list" | awk -v s="$minutes" -v c="$cores" 'END { s = s * 60 / c / NR; printf "%.1f", s < 0.5 ? 0.5 : s }')
echo "$(echo "$list" | wc -l) targets, ${each} s each on $cores cores."
printf '\n| package | target | executions | a second | statements reached | |\n|---|---|---|---|---|---|\n'
total=0 failed=0
while read -r module package target; do
	if go test -C "$module" -vet=off "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${each}s" -fuzzminimizetime 10x \
		-parallel "$cores" >"$log" 2>&1 || ended; then
		result=ok
	else
		result=FOUND
		failed=$((failed + 1))
	fi
	execs=$(grep -o 'execs: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)
	printf '| %s | %s | %d | %.0f | %s | %s |\n' "${package#*/backsight/}" "$target" "${execs:-0}" \
		"$(awk -v n="${execs:-0}" -v s="$each" 'BEGIN { print n / s }')" "$(covered "$module" "$package" "$target")" $result
	[ $result = ok ] || grep -v '^fuzz: elapsed' "$log" | head -20 >&2
	total=$((total + ${execs:-0}))
done <<EOL
$list
EOL
printf '\n%d executions, %d findings.\n' $total $failed
[ "$failed" -eq 0 ]
