#!/bin/sh
# Sends the captures in a folder to backsightd, and removes those that were taken: for a cron job or a loop of busybox.
#
#   send-crashes.sh URL KEY DIR [PRODUCT [VERSION]]     (needs wget or curl)
#
# Beside CAPTURE may stand CAPTURE.sig with the line of "backsight bt -f signature": the crash is offered by it first, and only
# counted where the service knows it. What the service cannot take stays for the next time; in a storm devices wait up to SPREAD
# seconds before they begin.
set -u
url=${1:?URL} key=${2:?KEY} dir=${3:?DIR} product=${4:-} version=${5:-}
SPREAD=${SPREAD:-0} TRIES=${TRIES:-4}
device=$(cat /etc/machine-id 2>/dev/null || hostname)
who="device=$device&product=$product&version=$version"

# random N: a number below N
random() { [ "$1" -gt 0 ] && echo $(($(od -An -N2 -tu2 /dev/urandom) % $1)) || echo 0; }

# post URL FILE: the answer; fails where the service did not take it
post() {
	if command -v curl >/dev/null; then
		curl -sf --max-time 600 -H "X-Backsight-Key: $key" --data-binary "@$2" "$1"
	else
		wget -q -O - -T 600 --header "X-Backsight-Key: $key" --post-file "$2" "$1"
	fi
}

# wanted CAPTURE: known, send or later
wanted() {
	[ -s "$1.sig" ] || { echo send; return; }
	IFS='	' read -r exact stable rest <"$1.sig"
	printf '{"exact":"%s","stable":"%s","device":"%s","product":"%s","version":"%s"}' \
		"$exact" "$stable" "$device" "$product" "$version" >"$1.offer"
	answer=$(post "$url/api/v1/offers" "$1.offer") || answer=later
	rm -f "$1.offer"
	case $answer in
	*known*) echo known ;;
	*send*) echo send ;;
	*) echo later ;;
	esac
}

# one CAPTURE: it is removed where the service has it
one() {
	case $(wanted "$1") in
	known) ;;
	send) post "$url/api/v1/captures?$who&file=${1##*/}" "$1" >/dev/null || return 1 ;;
	*) return 1 ;;
	esac
	rm -f "$1" "$1.sig"
}

sleep "$(random "$SPREAD")"
pause=2
for capture in "$dir"/*; do
	case $capture in *.sig | *.offer | "$dir/*") continue ;; esac
	tries=0
	until one "$capture"; do
		tries=$((tries + 1))
		[ "$tries" -lt "$TRIES" ] || exit 1
		sleep $((pause + $(random "$pause")))
		pause=$((pause * 4))
	done
done
