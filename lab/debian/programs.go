package debian

// Program is what is run.
type Program struct {
	Name string
	// Package has it.
	Package string
	Path    string
	Args    []string
	// CPUs are npm's names of those that there are packages for; "" of a program of Debian's.
	// One of them stands for {cpu} in Package and Path.
	CPUs string
}

// apt is a program of Debian's.
func apt(name, pkg, path string, args ...string) Program {
	return Program{Name: name, Package: pkg, Path: path, Args: args}
}

// Programs are interpreters, shells, codecs and ciphers: deep recursion, dispatch by
// tables, exceptions and longjmp, hand-written assembly, threads, signals.
func Programs() []Program {
	all := []Program{
		apt("perl", "perl-base", "/usr/bin/perl", "-e", perl),
		apt("python3", "python3.11-minimal", "/usr/bin/python3.11", "-S", "-E", "-I", "-c", python),
		apt("sqlite3", "sqlite3", "/usr/bin/sqlite3", ":memory:", sql),
		apt("lua", "lua5.4", "/usr/bin/lua5.4", "-e", lua),
		apt("jq", "jq", "/usr/bin/jq", "-n", jq),
		apt("mawk", "mawk", "/usr/bin/mawk", awk, "other.txt"),
		apt("m4", "m4", "/usr/bin/m4", "macros.m4"),
		apt("make", "make", "/usr/bin/make", "-n", "all"),
		apt("mksh", "mksh", "/bin/mksh", "-c", korn),
		apt("busybox-ash", "busybox", "/bin/busybox", "ash", "-c", ash),
		apt("busybox-awk", "busybox", "/bin/busybox", "awk", awk, "other.txt"),
		apt("busybox-gunzip", "busybox", "/bin/busybox", "gunzip", "-c", "text.gz"),
		apt("sed", "sed", "/bin/sed", "-E", `s/([a-z]+) ([a-z]+)/\2 \1/g;/^$/d;y/abc/xyz/;$!N;P;D`, "other.txt"),
		apt("grep", "grep", "/bin/grep", "-E", "-n", "-o", `(the|a|of) +[a-z]*(ing|ed)|[A-Z]{3,}(.*)\2`, "other.txt"),
		apt("find", "findutils", "/usr/bin/find", ".", "-type", "f", "-size", "+1k", "-name", "*.[a-t]*", "-printf", `%p %s %TY-%Tm %M\n`),
		apt("tar", "tar", "/bin/tar", "-c", "-v", "-f", "/dev/null", "."),
		apt("tar-list", "tar", "/bin/tar", "-t", "-v", "-f", "files.tar"),
		apt("diff", "diffutils", "/usr/bin/diff", "-u", "text.txt", "other.txt"),
		apt("file", "file", "/usr/bin/file", "text.txt", "files.tar", "text.gz", "macros.m4"),
		apt("xz", "xz-utils", "/usr/bin/xz", "-5", "-k", "-c", "text.txt"),
		apt("xz-threads", "xz-utils", "/usr/bin/xz", "-0", "-T2", "--block-size=30000", "-k", "-c", "long.txt"),
		apt("bzip2", "bzip2", "/bin/bzip2", "-k", "-c", "text.txt"),
		apt("brotli", "brotli", "/usr/bin/brotli", "-q", "6", "-c", "other.txt"),
		apt("flac", "flac", "/usr/bin/flac", "-s", "--force-raw-format", "--endian=little", "--sign=signed", "--channels=2", "--bps=16",
			"--sample-rate=44100", "-c", "text.txt"),
		apt("dropbearkey", "dropbear-bin", "/usr/bin/dropbearkey", "-t", "ed25519", "-f", "/nowhere/key"),
	}
	return append(all, openssl()...)
}

// openssl has assembly of its own for every cipher and CPU.
func openssl() []Program {
	program := func(name string, args ...string) Program {
		return apt("openssl-"+name, "openssl", "/usr/bin/openssl", args...)
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
