#!/bin/sh
# soak.sh [CPU-MINUTES | EXECUTIONSx [CORES]]: spreads that much processor time (30 minutes unless given) over every fuzz target
# of the project, or gives each that many executions, in at most LONGEST seconds (no limit), as many targets at a time as CORES
# (all of them). PART=1/3 takes the second of three parts of them. It prints a table: the executions and findings of each, how
# many inputs of the last tenth reached new code, and what part of its package's statements the inputs that were found so far
# reach (COVERAGE=no leaves that out, for which each package is compiled once more). lab/results/soak.md has the last long one.
# Inputs that reached new code are kept in Go's build cache and are where
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
	[ "$(tail -n 1 "$log")" = PASS ] && return
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

# late: how many inputs that reached new code were found in the last tenth of the executions.
late() {
	sed -n 's/^fuzz: elapsed: .*, execs: \([0-9]*\) .*, new interesting: \([0-9]*\) .*/\1 \2/p' "$log" |
		awk '{ execs[NR] = $1; new[NR] = $2 } END { for (i = NR; i > 0 && execs[i] > execs[NR] * 0.9; i--); print new[NR] - new[i] }'
}

list=$(targets | awk -v part="${PART:-0/1}" 'BEGIN { split(part, p, "/") } NR % p[2] == p[1]')
case $minutes in
*x) each=$minutes ;;
*) each=$(echo "$list" | awk -v s="$minutes" 'END { s = s * 60 / NR; printf "%.1fs", s < 0.5 ? 0.5 : s }') ;;
esac
echo "$(echo "$list" | wc -l) targets, ${each} each, $cores at a time."
printf '\n| package | target | executions | a second | new code in the last tenth | statements reached | |\n|---|---|---|---|---|---|---|\n'

# a_second ELAPSED N: how many that is a second; ELAPSED as Go writes it, as 1h2m3s.
a_second() {
	awk -v e="${1:-1s}" -v n="${2:-0}" 'BEGIN { while (match(e, /^[0-9]+[hms]/)) {
		s = s * 60 + substr(e, 1, RLENGTH - 1); e = substr(e, RLENGTH + 1) } print n / (s ? s : 1) }'
}

# soaked NUMBER MODULE PACKAGE TARGET: fuzzes a target on one core, and prints its row of the table. LONGEST counts from when
# the target is built: to build takes minutes where nothing was.
soaked() {
	log=$dir/$1.log result=ok
	if go test -C "$2" -vet=off -c -o "$dir/$1.test" -fuzz "^$4\$" "$3" >"$log" 2>&1; then
		(cd "$(go list -C "$2" -f '{{.Dir}}' "$3")" && timeout -s INT "${LONGEST:-0}" "$dir/$1.test" -test.timeout 0 -test.run '^$' \
			-test.fuzz "^$4\$" -test.fuzztime "$each" -test.fuzzminimizetime 10x -test.fuzzcachedir "$(go env GOCACHE)/fuzz/$3" \
			-test.parallel 1) >"$log" 2>&1 || ended || result=FOUND
		rm "$dir/$1.test"
	else
		result=FOUND
	fi
	set -- "$@" $(sed -n 's/^fuzz: elapsed: \([^,]*\), execs: \([0-9]*\) .*/\1 \2/p' "$log" | tail -1)
	printf '| %s | %s | %d | %.0f | %s | %s | %s |\n' "${3#*/backsight/}" "$4" "${6:-0}" "$(a_second "${5:-}" "${6:-}")" "$(late)" \
		"$(covered "$2" "$3" "$4")" $result | tee -a "$dir/rows"
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
awk -F'|' '{ n += $4; found += $8 !~ / ok / } END { printf "\n%d executions, %d findings.\n", n, found; exit found > 0 }' "$dir/rows"
