package main

import (
	"strings"
	"testing"
)

// TestWrongUsage: each mistake has its exit code and one line that says what is wrong, without
// the words of the libraries that found it; where the command line itself is wrong, a second
// line leads to the help. Commands run beside a captured program.
func TestWrongUsage(t *testing.T) {
	t.Chdir("../../testdata/mips-deref")
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{exitUsage, []string{"bogus"}, `unknown command "bogus" for "backsight"`},
		{exitUsage, []string{"help", "bogus"}, `no command "bogus" to help with`},
		{exitUsage, []string{"bt"}, "bt: no capture named; - is standard input"},
		{exitUsage, []string{"bt", "--bogus", "core.gz"}, "unknown flag: --bogus"},
		{exitUsage, []string{"bt", "-f", "xml", "core.gz"}, `--format "xml" is none of text, json, jsonl, html`},
		{exitUsage, []string{"bt", "-n", "x", "core.gz"}, `--max-frames "x" is no number`},
		{exitUsage, []string{"bt", "-n", "-1", "core.gz"}, "--max-frames -1 is negative"},
		{exitUsage, []string{"bt", "-n", "99999999999999999999", "core.gz"}, `--max-frames "99999999999999999999" is no number`},
		{exitUsage, []string{"bt", "--thread", "abc", "core.gz"}, `--thread "abc" is no number`},
		{exitNone, []string{"bt", "--thread", "99", "core.gz"}, "no thread 99; there are 30978"},
		{exitUsage, []string{"bt", "--sources", "", "core.gz"}, "--sources: names no unwind source"},
		{exitUsage, []string{"bt", "--sources", ",,", "core.gz"}, "--sources: names no unwind source"},
		{exitUsage, []string{"bt", "--sources", "cfi,cfi", "core.gz"}, `--sources: "cfi" is named twice`},
		{exitUsage, []string{"bt", "--sources", "nope", "core.gz"}, `--sources: no unwind source "nope"; there are sigframe`},
		{exitUsage, []string{"bt", "-e"}, "--exe wants a value"},
		{exitUsage, []string{"bt", "-e", "a", "-e", "b", "core.gz"}, `--exe "b": given twice`},
		{exitNone, []string{"bt", "-e", "nofile", "core.gz"}, "nofile: cannot be opened: no such file or directory"},
		{exitNone, []string{"bt", "-e", "core.gz", "core.gz"}, "core.gz: offset 0x10: a core file is a capture, not an executable"},
		{exitNone, []string{"bt", "--image", "core.gz", "core.gz"}, "core.gz: offset 0x10: a core file is a capture, not an executable"},
		{exitNone, []string{"bt", "--image", "nofile@0x10", "core.gz"}, "nofile: cannot be opened: no such file or directory"},
		{exitUsage, []string{"bt", "--image", "", "core.gz"}, "--image: an empty name"},
		{exitNone, []string{"bt", "--sysroot", "nodir", "core.gz"}, "--sysroot nodir: not a directory"},
		{exitNone, []string{"bt", "--sysroot", "core.gz", "core.gz"}, "--sysroot core.gz: not a directory"},
		{exitNone, []string{"bt", "--debug-dir", "nodir", "core.gz"}, "--debug-dir nodir: not a directory"},
		{exitNone, []string{"bt", "--table-dir", "nodir", "core.gz"}, "--table-dir nodir: not a directory"},
		{exitUsage, []string{"bt", "--arch", "bogus", "core.gz"}, "no processor bogus little-endian; there are mips o32"},
		{exitUsage, []string{"bt", "--arch", "mips", "--abi", "bogus", "core.gz"}, "no processor mips bogus little-endian; there are mips o32"},
		{exitUsage, []string{"bt", "--endian", "bog", "core.gz"}, `--endian "bog" is neither little nor big`},
		{exitUsage, []string{"bt", "--color", "sometimes", "core.gz"}, `--color "sometimes" is none of auto, always, never`},
		{exitUsage, []string{"bt", "-1", "-a", "core.gz"}, "--all and --one exclude one another"},
		{exitUsage, []string{"bt", "--demangle", "--no-demangle", "core.gz"}, "--demangle and --no-demangle exclude one another"},
		{exitUsage, []string{"bt", "--demangle=maybe", "core.gz"}, `--demangle "maybe" is neither true nor false`},
		{exitUsage, []string{"bt", "--strict=yes", "core.gz"}, `--strict "yes" is neither true nor false`},
		{exitNone, []string{"bt", "nofile"}, "nofile: cannot be opened: no such file or directory"},
		{exitNone, []string{"bt", "."}, ".: a directory, no capture: name the files in it"},
		{exitNone, []string{"bt", "/dev/null"}, "/dev/null: cannot be used as a capture (to read a pipe, redirect it and name it -): not a regular file"},
		{exitNone, []string{"bt", "modules/usr/bin/netd"}, "modules/usr/bin/netd: offset 0x0: an executable, no core file: give it with --exe or --image, beside a capture"},
		{exitNone, []string{"bt", "netd.c"}, "netd.c: offset 0x0: text without a crash report"},
		{exitNone, []string{"bt", "README.md", "args"}, "README.md: offset 0x0: text without a crash report"},
		{exitUsage, []string{"bt", ""}, "bt: an empty name"},
		{exitNone, []string{"bt", "--ram", "nofile@0"}, "nofile: cannot be opened: no such file or directory"},
		{exitUsage, []string{"bt", "--ram", "core.gz@zzz"}, `--ram "core.gz@zzz": "zzz" is no address`},
		{exitUsage, []string{"bt", "-e", "core.gz@zzz", "core.gz"}, `--exe "core.gz@zzz": "zzz" is no address`},
		{exitNone, []string{"bt", "--ram", "none.bin", "core.gz"}, "none.bin: cannot be opened: no such file or directory"},
		{exitUsage, []string{"bt", "--json", "core.gz"}, "unknown flag: --json"},
		{exitNone, []string{"./none.core"}, "./none.core: cannot be opened: no such file or directory"},
		{exitNone, []string{"bt", "--regs", "nofile", "core.gz"}, "nofile: cannot be opened: no such file or directory"},
		{exitNone, []string{"bt", "--regs", "make.sh", "core.gz"}, "make.sh: offset 0x0: no registers in it"},
		{exitNone, []string{"bt", "--symbols", "nofile", "core.gz"}, "nofile: cannot be opened: no such file or directory"},
		{exitNone, []string{"bt", "--report", "3", "core.gz"}, "no report 3; there are 30978"},
		{exitUsage, []string{"bt", "--debuginfod=ftp://x", "core.gz"}, `--debuginfod: "ftp://x" is no http:// or https:// address of a server`},
		{exitUsage, []string{"bt", "--symbols-url=ftp://x", "core.gz"}, `--symbols-url: "ftp://x" is no http:// or https:// address of a server`},
		{exitUsage, []string{"bt", "--exe"}, "--exe wants a value"},
		{exitUsage, []string{"explain"}, "explain: wants a binary and an address in it"},
		{exitUsage, []string{"explain", "modules/usr/bin/netd"}, "explain: wants a binary and an address in it"},
		{exitUsage, []string{"explain", "modules/usr/bin/netd", "zzz"}, `PC "zzz" is neither an address nor a symbol of modules/usr/bin/netd`},
		{exitUsage, []string{"explain", "modules/usr/bin/netd", "main+x"}, `PC "main+x": the offset is not a number`},
		{exitNone, []string{"explain", "modules/usr/bin/netd", "0xffffffff"}, "modules/usr/bin/netd: no code at 0xffffffff"},
		{exitNone, []string{"explain", "netd.c", "0"}, "netd.c: offset 0x0: not a known kind of binary; code without headers needs its processor to be stated (--arch)"},
		{exitNone, []string{"explain", "nofile", "0"}, "nofile: cannot be opened: no such file or directory"},
		{exitUsage, []string{"explain", "-f", "xml", "modules/usr/bin/netd", "main"}, `--format "xml" is none of text, json`},
		{exitUsage, []string{"explain", "--lines", "x", "modules/usr/bin/netd", "main"}, `--lines "x" is no number`},
		{exitUsage, []string{"explain", "--lines", "-5", "modules/usr/bin/netd", "main"}, "--lines -5 is negative"},
		{exitUsage, []string{"table"}, "table: wants a binary"},
		{exitNone, []string{"table", "nofile"}, "nofile: cannot be opened: no such file or directory"},
		{exitUsage, []string{"table", "--sources", "bogus", "modules/usr/bin/netd"}, `--sources: no table can be compiled from "bogus"; there are seh, cfi, compact, ehabi, code`},
		{exitNone, []string{"table", "-o", "/nonexistent/x", "modules/usr/bin/netd"}, "/nonexistent/x: cannot be written: no such file or directory"},
		{exitUsage, []string{"table", "--rootfs", "modules"}, "--rootfs makes one file of tables: give --format device and a file with -o"},
		{exitNone, []string{"table", "--format", "device", "--rootfs", "nodir", "-o", "x"}, "--rootfs nodir: not a directory"},
		{exitUsage, []string{"table", "--format", "bogus", "modules/usr/bin/netd"}, `--format: no form of tables is called "bogus"`},
		{exitUsage, []string{"version", "-f", "xml"}, `--format "xml" is none of text, json`},
		{exitUsage, []string{"version", "extra"}, `version takes no arguments, such as "extra"`},
		{exitUsage, []string{"schema", "extra"}, `schema takes no arguments, such as "extra"`},
		{exitUsage, []string{"watch"}, "watch: wants a terminal, a file or -"},
		{exitNone, []string{"watch", "nofile"}, "nofile: cannot be opened: no such file or directory"},
		{exitNone, []string{"watch", "."}, ".: a directory, no console"},
		{exitUsage, []string{"completion", "bogus"}, `completion: no shell "bogus"; there are bash, fish, powershell, zsh`},
		{exitUsage, []string{"bt", "-f"}, "--format wants a value"},
		{exitUsage, []string{"bt", "-nx", "core.gz"}, `--max-frames "x" is no number`},
		{exitUsage, []string{"-y"}, "unknown shorthand flag: 'y' in -y"},
	} {
		code, _, says := bs(t, c.args...)
		lines := strings.Split(strings.TrimSuffix(says, "\n"), "\n")
		if line := strings.TrimPrefix(lines[0], "backsight: "); code != c.code || !strings.HasPrefix(line, c.says) {
			t.Errorf("%q: exit code %d, want %d; said %q, want %q", c.args, code, c.code, line, c.says)
		}
		if leads := strings.HasPrefix(lines[len(lines)-1], "Run 'backsight --help'"); leads != (code == exitUsage) {
			t.Errorf("%q: exit code %d, said %q", c.args, code, says)
		}
		for _, word := range []string{"strconv", "pflag", "goroutine 1", "invalid syntax", "<nil>", "%!", "\\x0a"} {
			if strings.Contains(says, word) {
				t.Errorf("%q: said %q", c.args, says)
			}
		}
	}
}
