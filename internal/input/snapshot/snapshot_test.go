package snapshot_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/snapshot"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/meter"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// openText opens a capture that is in memory.
func openText(t testing.TB, text string) input.Stream {
	t.Helper()
	files := input.NewFiles(input.FileOptions{Archs: captured.Archs(), Formats: []image.Format{elf.Format()}})
	env := &input.Env{Archs: captured.Archs(), Files: files}
	s, err := snapshot.Format().Open(context.Background(), input.NewCapture("-", []byte(text)), env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// first reads the first snapshot.
func first(t testing.TB, text string) *target.Snapshot {
	t.Helper()
	snap, err := openText(t, text).Next(context.Background())
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return snap
}

// all reads a batch as one word a snapshot: its PC, or the error.
func all(t testing.TB, text string) (list []string) {
	t.Helper()
	s := openText(t, text)
	for {
		snap, err := s.Next(context.Background())
		var e *input.Error
		switch {
		case err == io.EOF:
			return list
		case errors.As(err, &e) && e.Recoverable:
			list = append(list, err.Error())
		case err != nil:
			t.Fatal(err)
		default:
			pc, _ := snap.Threads[0].Regs.Lookup(snap.Arch.PC)
			list = append(list, fmt.Sprintf("%#x", pc))
		}
	}
}

// TestProcessors: which words choose which ABI.
func TestProcessors(t *testing.T) {
	for _, tt := range []struct {
		text, name, abi string
		big             bool
	}{
		{`"arch":"mips","endian":"big","abi":"o32"`, "mips", "o32", true},
		{`"arch":"mips","endian":"little"`, "mips", "o32", false},
		{`"arch":"mipsel"`, "mips", "o32", false},
		{`"arch":"mips64","endian":"big"`, "mips64", "n64", true},
		{`"arch":"mips64","endian":"big","abi":"n32"`, "mips64", "n32", true},
		{`"arch":"mips","endian":"big","abi":"n32"`, "mips64", "n32", true},
		{`"arch":"mipsel","abi":"n64"`, "mips64", "n64", false},
		{`"arch":"mips64","endian":"big","abi":"o32"`, "mips", "o32", true},
		{`"arch":"mips64le"`, "mips64", "n64", false},
		{`"endian":"little","arch":"arm"`, "arm", "", false},
		{`"arch":"arm","abi":"cortexm"`, "arm", "cortexm", false},
		{`"arch":"cortex-m"`, "arm", "cortexm", false},
		{`"arch":"cortexm"`, "arm", "cortexm", false},
		{`"arch":"Cortex-M4"`, "arm", "cortexm", false},
		{`"arch":"cortexm3"`, "arm", "cortexm", false},
		{`"arch":"armv7m"`, "arm", "cortexm", false},
		{`"arch":"armv7e-m"`, "arm", "cortexm", false},
		{`"arch":"armv8-m.main"`, "arm", "cortexm", false},
		{`"arch":"aarch64"`, "aarch64", "", false},
		{`"arch":"arm64"`, "aarch64", "", false},
		{`"arch":"riscv32"`, "riscv32", "", false},
		{`"arch":"riscv64"`, "riscv64", "", false},
		{`"arch":"i386"`, "i386", "", false},
		{`"arch":"X86_64"`, "x86_64", "", false},
		{`"arch":"amd64"`, "x86_64", "", false},
	} {
		a := first(t, "{"+tt.text+`,"regs":{}}`).Arch
		if a.Name != tt.name || tt.abi != "" && a.ABI != tt.abi || a.BigEndian != tt.big {
			t.Errorf("%s: %s", tt.text, a)
		}
	}
}

// TestRegisters: names in any case and their aliases; hex strings with or without
// 0x, integers; null is unknown; 32-bit registers lose the sign extension of
// 64-bit tools; names that nobody knows are left out.
func TestRegisters(t *testing.T) {
	s := first(t, `{"regs":{"pc":"0xffffffff80001234","SP":"7fff0000","$31":4660,"fp":-16,"v0":null,"x":"0x1"},
		"arch":"mips","endian":"big"}`)
	for name, want := range map[string]uint64{"pc": 0x80001234, "sp": 0x7fff0000, "ra": 4660, "s8": 0xfffffff0} {
		r, _ := s.Arch.RegByName(name)
		if v, ok := s.Threads[0].Regs.Lookup(r); !ok || v != want {
			t.Errorf("%s = %#x, %v; want %#x", name, v, ok, want)
		}
	}
	if n := s.Threads[0].Regs.Known.Len(); n != 4 {
		t.Errorf("%d registers known", n)
	}
}

// TestMemory: later pieces override earlier ones; base64 with or without padding,
// with escaped slashes as PHP writes them; damage is an issue and what comes
// before it is used.
func TestMemory(t *testing.T) {
	s := first(t, `{"arch":"mips","endian":"big","regs":{"pc":"0x0"},
		"memory":[{"base":"0x1000","bytes":"AAECAwQFBgc="},{"bytes":"\/\/8","base":4098},
		          {"base":"0xffffffff80000000","bytes":"AQIDBA=="},{"base":"0x3000","bytes":"AQID!!!!"}],
		"stack":{"base":"0x2000","bytes":"qg=="},"extra":[{"base":"0x2001","bytes":"uw=="}]}`)
	for addr, want := range map[uint64]string{
		0x1000: "0001ffff04050607", 0x2000: "aabb", 0x80000000: "01020304", 0x3000: "010203",
	} {
		buf := make([]byte, 16)
		if got := fmt.Sprintf("%x", buf[:s.Memory.Read(addr, buf)]); got != want {
			t.Errorf("memory at %#x: %s, want %s", addr, got, want)
		}
	}
	if len(s.Issues) != 1 || !strings.Contains(s.Issues[0].Text, "illegal base64") {
		t.Errorf("issues %q", s.Issues)
	}
}

// TestThreadsAndFault: what a capture may tell besides registers.
func TestThreadsAndFault(t *testing.T) {
	s := first(t, `{"arch":"aarch64","os":"Linux","pac_mask":"0x7f000000000000","unknown":{"a":[1,{"b":null}]},
		"threads":[{"id":7,"name":"main","regs":{"pc":"0x10"}},{"id":9,"crashed":true,"regs":{"pc":"0x20"}}],
		"fault":{"signal":"11","name":"SIGSEGV","code":1,"address":"0x0"}}`)
	if len(s.Threads) != 2 || s.Threads[0].ID != 7 || s.Threads[0].Name != "main" || !s.Threads[1].Crashed || s.Threads[0].Crashed {
		t.Errorf("threads %+v", s.Threads)
	}
	want := target.Fault{Signal: 11, Name: "SIGSEGV", Code: 1, HasAddress: true, Thread: 9}
	if s.Fault == nil || *s.Fault != want {
		t.Errorf("fault %+v", s.Fault)
	}
	if s.OS != "Linux" || s.CodeMask != 0xff80ffffffffffff {
		t.Errorf("os %q, code mask %#x", s.OS, s.CodeMask)
	}
}

const line = `{"arch":"mips","endian":"big","regs":{"pc":"0x%x"}}`

// TestBatch: one snapshot a line in order; a broken line takes its place as an
// error that says where, and swallows nothing.
func TestBatch(t *testing.T) {
	ok := func(pc int) string { return fmt.Sprintf(line, pc) }
	for _, tt := range []struct {
		name, text string
		want       []string // parts of what comes out
	}{
		{"lines", ok(1) + "\n" + ok(2) + "\n", []string{"0x1", "0x2"}},
		{"no newline at the end, blank lines, CRLF", ok(1) + "\r\n\n  \n" + ok(2), []string{"0x1", "0x2"}},
		{"byte order mark", "\xef\xbb\xbf" + ok(1), []string{"0x1"}},
		{"cut within a string", ok(1) + "\n" + `{"arch":"mi` + "\n" + ok(3), []string{"0x1", "line 2: a string without an end", "0x3"}},
		{"cut within an object", `{"arch":"mips","regs":{` + "\n" + ok(2), []string{"line 1: expected", "0x2"}},
		{"cut at the end", ok(1) + "\n" + `{"arch":"mips","regs":{"pc":"0x1"},`, []string{"0x1", "line 2: expected"}},
		{"garbage", "}{\n" + ok(2) + "\nnull\n" + ok(4), []string{"line 1", "0x2", "line 3", "0x4"}},
		{"two on a line", ok(1) + ok(2) + "\n" + ok(3), []string{"something follows", "0x3"}},
		{"no processor", `{"regs":{"pc":"0x1"}}` + "\n" + ok(2), []string{"no arch", "0x2"}},
		{"unknown processor", `{"arch":"z80"}` + "\n" + ok(2), []string{`unknown processor: arch "z80"`, "0x2"}},
		{"bad number", `{"arch":"mips","regs":{"pc":"0xg"}}`, []string{"offset 0x1c: line 1: expected a hex string"}},
		{"bad memory", `{"arch":"mips","memory":[{"bytes":""}]}`, []string{"memory without a base"}},
		{"deep", `{"a":` + strings.Repeat("[", 100_000) + "\n" + ok(2), []string{"nested too deeply", "0x2"}},
	} {
		got := all(t, tt.text)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], tt.want[i]) {
				t.Errorf("%s: %q, want %q", tt.name, got[i], tt.want[i])
			}
		}
	}
}

// TestPrettyPrinted: objects over several lines, as jq and Python print them.
func TestPrettyPrinted(t *testing.T) {
	var out []string
	for i, indent := range []string{"  ", "\t", ""} {
		var b bytes.Buffer
		text := fmt.Sprintf(`{"arch":"mips","memory":[{"base":"0x10","bytes":"AA=="}],"regs":{"pc":"0x%x"}}`, i+1)
		if err := json.Indent(&b, []byte(text), "", indent); err != nil {
			t.Fatal(err)
		}
		out = append(out, b.String())
	}
	if got := all(t, strings.Join(out, "\n")); fmt.Sprint(got) != "[0x1 0x2 0x3]" {
		t.Errorf("%q", got)
	}
}

// TestImageNotFound: a binary that is nowhere is an issue, not an error.
func TestImageNotFound(t *testing.T) {
	s := first(t, `{"arch":"mips","regs":{"pc":"0x0"},"images":[{"path":"no-such-file.elf","bias":"0x0"}]}`)
	if len(s.Modules) != 0 || len(s.Issues) != 1 || !strings.Contains(s.Issues[0].Text, "no-such-file.elf: not found") || s.Issues[0].Kind != target.IssueNotFound {
		t.Errorf("modules %v, issues %q", s.Modules, s.Issues)
	}
}

// TestConstantMemory: a batch is not collected. 200,000 lines with BACKSIGHT_LONG.
func TestConstantMemory(t *testing.T) {
	n := 5_000
	if os.Getenv("BACKSIGHT_LONG") != "" {
		n = 200_000
	}
	r, w := io.Pipe()
	go func() {
		z := gzip.NewWriter(w)
		for i := range n {
			fmt.Fprintf(z, `{"arch":"mips","regs":{"pc":"0x%x"},"memory":[{"base":"0x0","bytes":"%s"}]}`+"\n", i, strings.Repeat("AAAA", 1000))
		}
		z.Close()
		w.Close()
	}()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	env := &input.Env{Archs: captured.Archs(), Formats: []input.Format{snapshot.Format()}, Files: input.NewFiles(input.FileOptions{})}
	s, err := env.OpenReader(context.Background(), "-", z)
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	for i := range n {
		if _, err := s.Next(context.Background()); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
	}
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(line, 1)))
	f.Add([]byte(`{"arch":"mips","endian":"big","abi":"o32","regs":{"pc":"0x1","ra":2},"memory":[{"base":"0x0","bytes":"AAA="}],
"images":[{"path":"a","bias":"0x0","build_id":"00"}],"threads":[{"id":1,"name":"\u0041","crashed":true,"regs":{}}],"fault":{"signal":11},"code_mask":1}`))
	f.Add([]byte("{\n\"arch\": \"x86_64\",\n\"stack\": {\"base\": 1, \"bytes\": \"\\/A==\"}}\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		meter.Allocations(t, len(data), func() { readAll(t, openText(t, string(data))) })
	})
}

// readAll reads a batch to its end: each snapshot, or what is wrong with it.
func readAll(t *testing.T, s input.Stream) {
	for {
		snap, err := s.Next(context.Background())
		var e *input.Error
		if err == io.EOF {
			return
		}
		if err != nil && (!errors.As(err, &e) || !e.Recoverable) {
			t.Fatalf("not recoverable: %v", err)
		}
		if (snap == nil) != (err != nil) {
			t.Fatalf("snapshot %v with error %v", snap, err)
		}
	}
}

// BenchmarkTruth reads recorded snapshots of some 6 kB, without their binary.
func BenchmarkTruth(b *testing.B) {
	for _, arch := range []string{"mips", "x86_64", "cortexm3"} {
		cases := recorded.Cases(b, arch+"/*")
		text := recorded.Unzip(b, cases[0].Snapshots())
		b.Run(arch, func(b *testing.B) {
			b.SetBytes(int64(len(text) / bytes.Count(text, []byte("\n"))))
			b.ReportAllocs()
			s := openText(b, string(text))
			for b.Loop() {
				if _, err := s.Next(context.Background()); err == io.EOF {
					s = openText(b, string(text))
				} else if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
