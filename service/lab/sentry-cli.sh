#!/bin/sh
# lab/sentry-cli.sh SENTRY-CLI BACKSIGHTD FILE…: uploads debug files by sentry-cli (npm install @sentry/cli) to a service of its own,
# again, and a symbol file, and looks what the service has then.
set -eu
cli=$1 program=$2
shift 2
dir=$(mktemp -d)
address=127.0.0.1:8097
"$program" --data "$dir/data" --listen "$address" >"$dir/said" 2>&1 &
service=$!
trap 'kill "$service"; rm -rf "$dir"' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10; do
	key=$(sed -n 's/.*key=//p' "$dir/said")
	[ -z "$key" ] || break
	sleep 1
done
mkdir "$dir/symbols"
printf 'MODULE Linux x86_64 4D0B0C9158B833BE5F953CC7943BF0500 app\nFILE 0 app.c\nFUNC 1000 10 0 main\n1000 10 7 0\n' >"$dir/symbols/app.sym"
upload() {
	"$cli" --url "http://$address" --auth-token "$key" debug-files upload -o any -p any "$@" 2>&1 | tee -a "$dir/log"
}
upload "$@" "$dir/symbols"
upload "$@" "$dir/symbols"
grep -q 'Nothing to upload' "$dir/log"
find "$dir/data/binaries" -type f
[ -s "$dir/data/binaries/symbols/app/4D0B0C9158B833BE5F953CC7943BF0500/app.sym" ]
