package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/backsight/backsight"
)

// TestProcessorNames: a processor by its name here, and by those that distributions have.
func TestProcessorNames(t *testing.T) {
	for _, tt := range []struct {
		given rawFlags
		name  string
		big   bool
		abi   string
	}{
		{rawFlags{"mips", "big", ""}, "mips", true, "o32"},
		{rawFlags{"mipsel", "little", ""}, "mips", false, "o32"},
		{rawFlags{"mipseb", "little", ""}, "mips", true, "o32"},
		{rawFlags{"mips64el", "little", "n32"}, "mips64", false, "n32"},
		{rawFlags{"arm64", "little", ""}, "aarch64", false, ""},
		{rawFlags{"amd64", "little", ""}, "x86_64", false, ""},
		{rawFlags{"armhf", "little", ""}, "arm", false, ""},
		{rawFlags{"cortex-m", "little", ""}, "arm", false, "cortexm"},
	} {
		a, err := tt.given.parse(backsight.CPUs())
		if err != nil {
			t.Errorf("%v: %v", tt.given, err)
			continue
		}
		if a.Name != tt.name || a.BigEndian != tt.big || tt.abi != "" && a.ABI != tt.abi {
			t.Errorf("%v: %s %s, big-endian %t", tt.given, a.Name, a.ABI, a.BigEndian)
		}
	}
}

// TestHelpFitsTerminals: no line of our help is wider than the 80 columns of most terminals.
func TestHelpFitsTerminals(t *testing.T) {
	for _, command := range []string{"", "bt", "explain", "schema", "table", "version", "watch"} {
		_, help, _ := bs(t, append(strings.Fields(command), "--help")...)
		if help == "" {
			t.Errorf("no help of %q", command)
		}
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s --help, %d columns: %s", command, n, line)
			}
		}
	}
}

// TestListedNames: names that a capture lists are made readable as those of files are (glibc's backtrace_symbols_fd writes the mangled ones).
func TestListedNames(t *testing.T) {
	file := write(t, "crash.txt", "./netd(_ZN3net6Server5closeEv+0x1f) [0x5555555551ff]\n./netd(main+0x9) [0x555555555209]\n")
	for _, tt := range []struct{ flag, name string }{{"--demangle", "net::Server::close()+0x1f"}, {"--no-demangle", "_ZN3net6Server5closeEv+0x1f"}} {
		if _, out, _ := bs(t, "bt", tt.flag, file); !strings.Contains(out, tt.name) || !strings.Contains(out, "main+0x9") {
			t.Errorf("%s: %s", tt.flag, out)
		}
	}
}
