#!/bin/sh
# soak.sh [CPU-MINUTES [CORES]]: spreads that much processor time (30 unless given) over every fuzz target of the project, as
# many targets at a time as CORES (all of them), and prints a table: the executions and findings of each, and what part of its
# package's statements the inputs that were found so far reach (COVERAGE=no leaves that out, for which each package is compiled
# once more). lab/results/soak.md has the last long one. Inputs that reached new code are kept in Go's build cache and are where
# the next soak goes on; inputs that fail are left under testdata/fuzz of their package.
# An input is made smaller a few times only: Go's minute for each was all that some targets did.
set -u
cd "$(dirname "$0")/.."
minutes=${1:-30}
cores=${2:-$(getconf _NPROCESSORS_ONLN)}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

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
	seeds=$(go list -C "$1" -f '{{.Dir}}' "$2")/testdata/fuzz
	found=$(go env GOCACHE)/fuzz/$2/$3
	[ ! -e "$seeds/$3" ] && [ -d "$found" ] && mkdir -p "$seeds" && ln -s "$found" "$seeds/$3"
	go test -C "$1" -run "^$3\$" -cover "$2" 2>&1 | grep -o '[0-9.]*% of statements' | cut -d' ' -f1
	[ ! -L "$seeds/$3" ] || { rm "$seeds/$3" && rmdir -p --ignore-fail-on-non-empty "$seeds"; }
}

list=$(targets)
each=$(echo "$list" | awk -v s="$minutes" 'END { s = s * 60 / NR; printf "%.1f", s < 0.5 ? 0.5 : s }')
echo "$(echo "$list" | wc -l) targets, ${each} s each, $cores at a time."
printf '\n| package | target | executions | a second | statements reached | |\n|---|---|---|---|---|---|\n'

# soaked NUMBER MODULE PACKAGE TARGET: fuzzes a target on one core, and leaves its row of the table, and its executions behind.
soaked() {
	log=$dir/$1.log result=ok
	go test -C "$2" -vet=off "$3" -run '^$' -fuzz "^$4\$" -fuzztime "${each}s" -fuzzminimizetime 10x -parallel 1 >"$log" 2>&1 ||
		ended || result=FOUND
	execs=$(grep -o 'execs: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)
	printf '| %s | %s | %d | %.0f | %s | %s |\n' "${3#*/backsight/}" "$4" "${execs:-0}" \
		"$(awk -v n="${execs:-0}" -v s="$each" 'BEGIN { print n / s }')" "$(covered "$2" "$3" "$4")" $result >"$dir/$1.row"
	[ $result = ok ] || grep -v '^fuzz: elapsed' "$log" | head -20 >&2
}

# As many targets at a time as there are cores: to link a test takes one core longer than to run it shortly.
n=0
while read -r module package target; do
	n=$((n + 1))
	soaked $n "$module" "$package" "$target" &
	[ $((n % cores)) -ne 0 ] || wait
done <<EOL
$list
EOL
wait
for i in $(seq $n); do cat "$dir/$i.row"; done >"$dir/rows"
cat "$dir/rows"
awk -F'|' '{ n += $4; found += $7 !~ / ok / } END { printf "\n%d executions, %d findings.\n", n, found; exit found > 0 }' "$dir/rows"
