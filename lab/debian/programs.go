package debian

import "slices"

// Program is what is run.
type Program struct {
	Name string
	// Package has it.
	Package string
	Path    string
	Args    []string
}

// Packages are the packages of all programs.
func Packages() []string {
	var all []string
	for _, p := range Programs() {
		all = append(all, p.Package)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Programs are interpreters, shells, codecs and ciphers: deep recursion, dispatch by
// tables, exceptions and longjmp, hand-written assembly, threads, signals.
func Programs() []Program {
	all := []Program{
		{"perl", "perl-base", "/usr/bin/perl", []string{"-e", perl}},
		{"python3", "python3.11-minimal", "/usr/bin/python3.11", []string{"-S", "-E", "-I", "-c", python}},
		{"sqlite3", "sqlite3", "/usr/bin/sqlite3", []string{":memory:", sql}},
		{"lua", "lua5.4", "/usr/bin/lua5.4", []string{"-e", lua}},
		{"jq", "jq", "/usr/bin/jq", []string{"-n", jq}},
		{"mawk", "mawk", "/usr/bin/mawk", []string{awk, "other.txt"}},
		{"m4", "m4", "/usr/bin/m4", []string{"macros.m4"}},
		{"make", "make", "/usr/bin/make", []string{"-n", "all"}},
		{"mksh", "mksh", "/bin/mksh", []string{"-c", korn}},
		{"busybox-ash", "busybox", "/bin/busybox", []string{"ash", "-c", ash}},
		{"busybox-awk", "busybox", "/bin/busybox", []string{"awk", awk, "other.txt"}},
		{"busybox-gunzip", "busybox", "/bin/busybox", []string{"gunzip", "-c", "text.gz"}},
		{"sed", "sed", "/bin/sed", []string{"-E", `s/([a-z]+) ([a-z]+)/\2 \1/g;/^$/d;y/abc/xyz/;$!N;P;D`, "other.txt"}},
		{"grep", "grep", "/bin/grep", []string{"-E", "-n", "-o", `(the|a|of) +[a-z]*(ing|ed)|[A-Z]{3,}(.*)\2`, "other.txt"}},
		{"find", "findutils", "/usr/bin/find", []string{".", "-type", "f", "-size", "+1k", "-name", "*.[a-t]*", "-printf", `%p %s %TY-%Tm %M\n`}},
		{"tar", "tar", "/bin/tar", []string{"-c", "-v", "-f", "/dev/null", "."}},
		{"tar-list", "tar", "/bin/tar", []string{"-t", "-v", "-f", "files.tar"}},
		{"diff", "diffutils", "/usr/bin/diff", []string{"-u", "text.txt", "other.txt"}},
		{"file", "file", "/usr/bin/file", []string{"text.txt", "files.tar", "text.gz", "macros.m4"}},
		{"xz", "xz-utils", "/usr/bin/xz", []string{"-5", "-k", "-c", "text.txt"}},
		{"xz-threads", "xz-utils", "/usr/bin/xz", []string{"-0", "-T2", "--block-size=30000", "-k", "-c", "long.txt"}},
		{"bzip2", "bzip2", "/bin/bzip2", []string{"-k", "-c", "text.txt"}},
		{"brotli", "brotli", "/usr/bin/brotli", []string{"-q", "6", "-c", "other.txt"}},
		{"flac", "flac", "/usr/bin/flac", []string{"-s", "--force-raw-format", "--endian=little", "--sign=signed", "--channels=2", "--bps=16",
			"--sample-rate=44100", "-c", "text.txt"}},
		{"dropbearkey", "dropbear-bin", "/usr/bin/dropbearkey", []string{"-t", "ed25519", "-f", "/nowhere/key"}},
	}
	return append(all, openssl()...)
}

// openssl has assembly of its own for every cipher and CPU.
func openssl() []Program {
	program := func(name string, args ...string) Program {
		return Program{"openssl-" + name, "openssl", "/usr/bin/openssl", args}
	}
	const key, iv = "00112233445566778899aabbccddeeff", "000102030405060708090a0b0c0d0e0f"
	enc := func(name, cipher, key string) Program {
		return program(name, "enc", "-"+cipher, "-K", key, "-iv", iv, "-in", "text.txt")
	}
	all := []Program{
		enc("aes", "aes-256-cbc", key+key), enc("aesctr", "aes-128-ctr", key), enc("chacha", "chacha20", key+key), enc("camellia", "camellia-128-cbc", key),
		program("ec", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
		program("x25519", "genpkey", "-algorithm", "x25519"),
	}
	for _, digest := range []string{"md5", "sha1", "sha256", "sha512", "sm3", "sha3-256"} {
		all = append(all, program(digest, "dgst", "-"+digest, "text.txt"))
	}
	return all
}
