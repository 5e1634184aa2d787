#!/bin/sh
# Prints the backtraces of the captures in a folder, and a workflow command of GitHub's for each line of source
# where a program crashed: backtraces.sh [FOLDER]. BACKSIGHT is the command, FLAGS are further flags of bt.
set -u
folder=${1:-.}
backsight=${BACKSIGHT:-backsight}
list=$(mktemp) && messages=$(mktemp) || exit 1
trap 'rm -f "$list" "$messages"' EXIT

# What writes captures names them so: the kernel, QEMU, systemd, breakpad, crashpad, ASan is text and read by people.
find "$folder" -type f -size -8000000k \( -name core -o -name 'core.*' -o -name 'core-*' -o -name '*.core' -o -name '*.dmp' \
	-o -name '*.mdmp' -o -name '*.ips' -o -name '*.crash' -o -name 'console*.log' -o -name 'dmesg*' \) >"$list"

# annotate makes of "file:line: error: text" what marks the line.
annotate() {
	sed -n -e 's/%/%25/g' -e 's/^\([^:]*\):\([0-9][0-9]*\): error: \(.*\)$/::error file=\1,line=\2::\3/p'
}

found=0
while IFS= read -r capture; do
	# shellcheck disable=SC2086
	"$backsight" bt --sysroot "$folder" ${FLAGS:-} -f problems -- "$capture" >"$messages" 2>/dev/null || continue
	found=$((found + 1))
	printf '::group::%s\n' "$capture" | tr -d '\r'
	# shellcheck disable=SC2086
	"$backsight" bt --color never --sysroot "$folder" ${FLAGS:-} -- "$capture"
	printf '::endgroup::\n'
	annotate <"$messages"
done <"$list"
echo "$found captures with backtraces below $folder"
