package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/recorded"
)

// core is a crashed router program for MIPS, with its libraries.
const core = "../../testdata/mips-deref/core.gz"

func coreArgs(t *testing.T, args ...string) []string {
	t.Helper()
	return append(args, "--sysroot", "../../testdata/mips-deref/modules", core)
}

// TestCore: a MIPS core gives JSON whose frames are certain and whose walk ends at the root.
func TestCore(t *testing.T) {
	code, out, says := bs(t, coreArgs(t, "bt", "-f", "json")...)
	var doc struct {
		Threads []struct {
			Frames []struct {
				Function  string
				Backsight struct{ Trust string }
			}
			Backsight struct{ Stop struct{ Reason string } }
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v, said %q", code, err, says)
	}
	var chain []string
	for _, f := range doc.Threads[0].Frames {
		chain = append(chain, f.Function)
	}
	const want = "pack on_route word proto_parse proto_parse proto_parse proto_parse serve main"
	if got := strings.Join(chain, " "); !strings.HasPrefix(got, want) || doc.Threads[0].Backsight.Stop.Reason != "root" {
		t.Errorf("%s, stop %s; want %s", got, doc.Threads[0].Backsight.Stop.Reason, want)
	}
}

func TestCoreOptions(t *testing.T) {
	if _, out, _ := bs(t, coreArgs(t, "bt", "-n", "3")...); !strings.Contains(out, "stop: limit") || strings.Contains(out, "#3") {
		t.Errorf("-n 3:\n%s", out)
	}
	if _, out, _ := bs(t, coreArgs(t, "bt", "--no-symbols")...); strings.Contains(out, "main+") {
		t.Errorf("--no-symbols:\n%s", out)
	}
	_, out, _ := bs(t, coreArgs(t, "bt", "--explain", "--registers")...)
	for _, want := range []string{"context, certain", "gives pc", "not covered", "\n    zero   0x00000000"} {
		if !strings.Contains(out, want) {
			t.Errorf("--explain --registers without %q:\n%s", want, out)
		}
	}
}

// TestExplain: every source answers, and the code is listed with its effects.
func TestExplain(t *testing.T) {
	lib := recorded.Testdata(t, "mips-deref/modules/usr/lib/libproto.so")
	for _, place := range []string{"proto_parse+8", "proto_parse"} {
		code, out, says := bs(t, "explain", lib, place)
		if code != exitOK {
			t.Fatalf("exit code %d, said %q", code, says)
		}
		for _, want := range []string{"binary    ", "mips o32 big-endian", "proto_parse+", "\nrule      CFA=", "  cfi  ", "  code  ", "forward from", "call 0x5b0, after the next word", "\n> 0x"} {
			if !strings.Contains(out, want) {
				t.Errorf("explain %s: no %q in\n%s", place, want, out)
			}
		}
	}
}

// TestExplainRaw: eight instructions of MIPS at a flash address, without headers.
func TestExplainRaw(t *testing.T) {
	file := write(t, "fw.bin", strings.Join([]string{
		"\x27\xbd\xff\xe0", // addiu sp,sp,-32
		"\xaf\xbf\x00\x1c", // sw ra,28(sp)
		"\x0c\x00\x00\x10", // jal
		"\x00\x00\x00\x00", // nop
		"\x8f\xbf\x00\x1c", // lw ra,28(sp)
		"\x03\xe0\x00\x08", // jr ra
		"\x27\xbd\x00\x20", // addiu sp,sp,32
		"\x00\x00\x00\x00",
	}, ""))
	code, out, says := bs(t, "explain", "--arch", "mips", "--endian", "big", file+"@0xbfc00000", "0xbfc00010")
	if code != exitOK {
		t.Fatalf("exit code %d, said %q", code, says)
	}
	for _, want := range []string{"rule      CFA=sp+32 RA=[CFA-4]  (code)", "> 0xbfc00010  8fbf001c  lw ra,28(sp)     ra = [sp+28]", "jal 0xb0000040", "return ra, after the next"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestTruth: one recorded batch, with the arguments of the scorer.
func TestTruth(t *testing.T) {
	c := recorded.Cases(t, "mips/flow-gcc-O2")[0]
	program, _ := recorded.Program(t, &c, "naked")
	code, out, says := bs(t, "bt", "-f", "jsonl", "--no-symbols", "--image", program, c.Snapshots())
	if code != exitOK || says != "" {
		t.Fatalf("exit code %d, said %q", code, says)
	}
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			t.Fatalf("not JSON: %s", line)
		}
	}
}

// TestSeveralCrashes: each crash of a log has its reasons; of one that was chosen, crash_info tells.
func TestSeveralCrashes(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	const oops = "Unable to handle kernel paging request at virtual address %s\nInternal error: Oops: 5 [#1] SMP ARM\nCPU: 0 PID: %d Comm: sh\n" +
		"PC is at 0xc0100000\npc : [<c0100000>]    lr : [<c0100010>]    psr: 60000013\n---[ end trace 0 ]---\n"
	text := fmt.Sprintf(oops, "00000010", 7) + fmt.Sprintf(oops, "6b6b6b93", 8) + "WARNING: CPU: 0 PID: 9 at x.c:1 f+0x1/0x2\nCPU: 0 PID: 9 Comm: sh\nf from g+0x1/0x2\n---[ end trace 0 ]---\n"
	if err := os.WriteFile(log, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		says []string
	}{
		{"bt", []string{"0x10 through a pointer that is NULL", "0x6b6b6b93, through a pointer that is of freed memory"}},
		{"bt -f jsonl", []string{`"kind":"null-pointer"`, `"reasons":["the kernel accesses 0x6b6b6b93, through a pointer that is of freed memory`}},
		{"bt -f jsonl --report 1", []string{`"kind":"poison"`}},
		{"bt -f jsonl --report 2", []string{`"crash_info":{}`}},
	} {
		_, out, _ := bs(t, append(strings.Fields(c.args), log)...)
		for _, s := range c.says {
			if !strings.Contains(out, s) {
				t.Errorf("%s without %q:\n%s", c.args, s, out)
			}
		}
	}
}

// TestExplainPlaces: places are named as bt prints them; a name that is not there gets a hint.
func TestExplainPlaces(t *testing.T) {
	lib, core := recorded.Testdata(t, "mips-deref/modules/usr/lib/libproto.so"), coreArgs(t)
	c := recorded.Cases(t, "armt2/odd-gcc-O2")[0]
	thumb, _ := recorded.Program(t, &c, "naked")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{append([]string{core[len(core)-1] + ":3"}, core[:len(core)-1]...), exitOK, "proto_parse+0x74  proto.c:30 (after the call before it)"},
		{append([]string{core[len(core)-1] + ":#0"}, core[:len(core)-1]...), exitOK, "place     0x400007d0  pack+0x0"},
		{append([]string{core[len(core)-1] + ":99"}, core[:len(core)-1]...), exitNone, "has no frame 99"},
		{append([]string{core[len(core)-1] + ":3", "--thread", "5"}, core[:len(core)-1]...), exitUsage, "no thread 5; there are 30978"},
		{[]string{lib, "libproto.so+0x6e4"}, exitOK, "proto_parse+0x74"},
		{[]string{lib, "prtoo_parse"}, exitUsage, "Did you mean proto_parse?"},
		{[]string{lib, "proto_parse+0x10000"}, exitUsage, "proto_parse has 0x"},
		{[]string{lib, "0x40001000"}, exitNone, "needs the load bias"},
		{[]string{thumb, "0x10450"}, exitOK, "push"},
	} {
		code, out, says := bs(t, append([]string{"explain"}, c.args...)...)
		if code != c.code || !strings.Contains(out+says, c.want) {
			t.Errorf("explain %q: exit code %d, want %d, and %q in\n%s%s", c.args, code, c.code, c.want, out, says)
		}
	}
}
