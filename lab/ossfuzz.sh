#!/bin/bash
# ossfuzz.sh: builds every fuzz target for OSS-Fuzz. Its project's build.sh runs this in the clone, within the image
# base-builder-go, which has compile_native_go_fuzzer (google.github.io/oss-fuzz, "Integrating a Go project"). A target's
# name is its package and its own: input_elfcore_FuzzCore. What lies beside examples, in modules of its own, is left out.
set -eu
cd "$(dirname "$0")/.."
module=$(go list -m)
go test -list '^Fuzz' ./... | awk '/^Fuzz/ { t[n++] = $1 } /^ok/ { for (i = 0; i < n; i++) print $2, t[i]; n = 0 }' |
	while read -r package target; do
		name=$(echo "${package#"$module"/}" | tr / _)_$target
		compile_native_go_fuzzer "$package" "$target" "$name"
	done
