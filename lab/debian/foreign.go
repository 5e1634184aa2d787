package debian

import "slices"

// Foreign are programs of other languages and run-times, and of other people's compilers, in two lists. Each was
// drawn before the first run of one of its programs, and none was removed since.
func Foreign() []Program { return slices.Concat(firstForeign(), laterForeign()) }

// firstForeign has, for each language that npm or Debian has programs of, compiled ahead of time or interpreted by
// machine code of their own, up to three; each on every CPU that it is shipped for. npm's are those with a
// package for each CPU.
func firstForeign() []Program {
	return []Program{
		// Go
		npm("esbuild", "@esbuild/linux-{cpu}@0.28.2", "bin/esbuild", "x64 ia32 arm arm64 riscv64 mips64el", "--minify", "script.js"),
		npm("tsgo", "@typescript/native-preview-linux-{cpu}@7.0.0-dev.20260707.2", "lib/tsgo", "x64 arm arm64", "--noEmit", "script.ts"),
		apt("gron", "gron", "/usr/bin/gron", "data.json"),
		// Dart
		npm("sass", "sass-embedded-linux-{cpu}@1.105.0", "dart-sass/src/dart", "x64 arm arm64 riscv64", "{dir}/sass.snapshot", "style.scss"),
		// Rust
		npm("biome", "@biomejs/cli-linux-{cpu}@2.6.8", "biome", "x64 arm64", "format", "script.js"),
		npm("dprint", "@dprint/linux-{cpu}@0.54.0", "dprint", "x64-glibc arm64-glibc riscv64-glibc", "--help"),
		npm("lightningcss", "lightningcss-cli-linux-{cpu}@1.33.0", "lightningcss", "x64-gnu arm64-gnu arm-gnueabihf", "--minify", "style.css"),
		npm("sentry", "@sentry/cli-linux-{cpu}@3.8.0", "bin/sentry-cli", "x64 i686 arm arm64", "--help"),
		npm("oxlint", "@oxlint/linux-{cpu}@0.16.0", "oxlint", "x64-gnu arm64-gnu", "script.js"),
		apt("rg", "ripgrep", "/usr/bin/rg", "-n", "(the|a|of) +[a-z]*(ing|ed)", "other.txt"),
		// OCaml
		npm("bsc", "@rescript/linux-{cpu}@12.2.0", "bin/bsc.exe", "x64 arm64", "-only-parse", "script.res"),
		npm("flow", "flow-bin@0.336.0", "flow-linux{cpu}-v0.336.0/flow", "64 -arm64", "ast", "script.js"),
		apt("dose", "dose-distcheck", "/usr/bin/dose-distcheck", "--deb-native-arch=amd64", "deb://Packages"),
		apt("unison", "unison-2.52", "/usr/bin/unison-2.52", "-help"),
		// Haskell
		npm("elm-format", "@avh4/elm-format-linux-{cpu}@0.8.8-1", "elm-format", "x64 arm64", "--validate", "Main.elm"),
		apt("shellcheck", "shellcheck", "/usr/bin/shellcheck", "script.sh"),
		// Java, compiled by GraalVM
		npm("closure", "google-closure-compiler-linux{cpu}@20260830.0.0", "compiler", "64 -arm64", "--js", "script.js"),
		// C, C++ and assembly
		npm("ffmpeg", "@ffmpeg-installer/linux-{cpu}@4", "ffmpeg", "x64 ia32 arm arm64", "-f", "s16le", "-ar", "8000", "-ac", "1", "-i", "long.txt",
			"-f", "null", "-"),
		npm("postgres", "@embedded-postgres/linux-{cpu}@18.4.0-beta.17", "native/bin/postgres", "x64 ia32 arm arm64", "--describe-config"),
		npm("7za", "7zip-bin@5.2.0", "linux/{cpu}/7za", "x64 ia32 arm arm64", "a", "-txz", "-so", "out.xz", "text.txt"),
		// Pascal, Ada, D, Fortran
		apt("h2pas", "fp-utils-3.2.2", "/usr/bin/h2pas-3.2.2", "-o", "header.pas", "header.h"),
		apt("words", "whitakers-words", "/usr/bin/whitakers-words", "amo"),
		apt("onedrive", "onedrive", "/usr/bin/onedrive", "--help"),
		apt("blas", "libblas-test", "/usr/lib/*/blas/xblat1d"),
		// Interpreters with machine code of their own, and compilers
		apt("luajit", "luajit", "/usr/bin/luajit", "-joff", "-e", lua),
		apt("luajit-traces", "luajit", "/usr/bin/luajit", "-e", lua),
		apt("gforth", "gforth", "/usr/bin/gforth-fast-0.7.3", "-e", ": f dup 2 < if drop 1 else dup 1- recurse swap 2 - recurse + then ; 15 f . bye"),
		apt("tcc", "tcc", "/usr/bin/tcc", "-c", "-o", "program.o", "program.c"),
		apt("guile", "guile-3.0", "/usr/bin/guile-3.0", "-c", "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 12))"),
		apt("ruby", "ruby3.1", "/usr/bin/ruby3.1", "-e", "def f(n) n < 2 ? n : f(n-1)+f(n-2) end; puts f(12), %w[b a].sort.map(&:upcase).inspect, 'abc'.gsub(/b/) { |x| x*2 }"),
		apt("tclsh", "tcl8.6", "/usr/bin/tclsh8.6", "script.tcl"),
		apt("gawk", "gawk", "/usr/bin/gawk", awk, "other.txt"),
		// C libraries that link statically: musl, klibc, dietlibc
		apt("mksh-musl", "mksh", "/usr/lib/*-linux-musl/bin/mksh", "-c", korn),
		apt("mksh-klibc", "mksh", "/usr/lib/klibc/bin/mksh", "-c", korn),
		apt("mksh-diet", "mksh", "/usr/lib/diet/bin/mksh", "-c", korn),
	}
}

// npm is a program of npm's.
func npm(name, pkg, path, cpus string, args ...string) Program {
	return Program{Name: name, Package: pkg, Path: path, Args: args, CPUs: cpus}
}
