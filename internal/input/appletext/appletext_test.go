package appletext

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/synth/meter"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

func archs() cpu.Set {
	return append(append(append(cpu.Set{}, arm64.Archs()...), x86.Archs()...), arm.Archs()...)
}

// snapshots reads all of a report.
func snapshots(t testing.TB, data []byte) (snaps []*target.Snapshot, err error) {
	t.Helper()
	env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Archs: archs()})}
	s, err := open(context.Background(), input.NewCapture("r.crash", data), env)
	if err != nil {
		return nil, err
	}
	for {
		snap, err := s.Next(context.Background())
		if err == io.EOF {
			return snaps, nil
		}
		if err != nil {
			return nil, err
		}
		snaps = append(snaps, snap)
	}
}

const asText = `Process:             my app [455]
Path:                /Applications/my app.app/my app
Date/Time:           2022-09-18 15:28:37.3451 +0900
Code Type:           ARM-64 (Native)
OS Version:          iPhone OS 16.0 (20A362)
Report Version:      104

Exception Type:  EXC_BAD_ACCESS (SIGSEGV)
Exception Codes: 0x0000000000000001, 0x0000000000000018
Exception Subtype: KERN_INVALID_ADDRESS at 0x0000000000000018
Termination Reason: SIGNAL 11 Segmentation fault: 11

Application Specific Information:
objc_msgSend() selector name: release

Last Exception Backtrace:
(0x18e0 0x18e4)

Thread 0 name:   Dispatch queue: com.apple.main-thread
Thread 0 Crashed:
0   libswiftCore.dylib            	       0x18a98520c fail(_:_:) + 312
1   my app                        	       0x102236004 0x102230000 + 24580
2   my app                        	       0x102236010 next (list.h:20) [inlined]
3   my app                        	       0x102236010 walk + 16 (walk.c:7)
4   dyld                          	       0x1cb9d5948 start + 2504

Thread 1:
0   libsystem_kernel.dylib        	       0x1c8a92068 __workq_kernreturn + 8

Thread 0 crashed with ARM Thread State (64-bit):
    x0: 0x8000000102236830   x1: 0x0000000281d76520
    fp: 0x000000016dbcceb0   lr: 0x000000018a98520c
    sp: 0x000000016dbcce30   pc: 0x000000018a98520c cpsr: 0x60001000

Binary Images:
       0x18a94d000 -        0x18aeb5fff libswiftCore.dylib arm64e  <a49d560c13233bfba7e8762be0c1b2ef> /usr/lib/swift/libswiftCore.dylib
       0x102230000 -        0x102237fff +my app arm64  <82D13D98-219E-3040-B62A-07A297007A7C> /Applications/my app.app/my app
`

const asJSON = `{"bug_type":"309","name":"my app"}
{"pid":455,"cpuType":"ARM-64","procPath":"/Applications/my app.app/my app","captureTime":"2022-09-18 15:28:37.3451 +0900","osVersion":{"train":"iPhone OS 16.0"},
"exception":{"type":"EXC_BAD_ACCESS","signal":"SIGSEGV","codes":"0x0000000000000001, 0x0000000000000018","subtype":"KERN_INVALID_ADDRESS at 0x0000000000000018"},
"termination":{"flags":0,"code":11,"namespace":"SIGNAL","indicator":"Segmentation fault: 11","byPid":1},"asi":{"libobjc.dylib":["objc_msgSend() selector name: release"]},
"faultingThread":0,"lastExceptionBacktrace":[{"imageOffset":6368,"imageIndex":9},{"imageOffset":6372,"imageIndex":9}],
"threads":[{"id":0,"queue":"Dispatch queue: com.apple.main-thread",
"threadState":{"x":[{"value":9223372041185617968},{"value":10768311584}],"fp":{"value":6136057520},"lr":{"value":6620205580},
"sp":{"value":6136057392},"pc":{"value":6620205580},"cpsr":{"value":1610616832},"flavor":"ARM_THREAD_STATE64"},
"frames":[{"imageOffset":229900,"imageIndex":0,"symbol":"fail(_:_:)","symbolLocation":312},{"imageOffset":24580,"imageIndex":1},
{"imageOffset":24592,"imageIndex":1,"symbol":"next","symbolLocation":0,"sourceFile":"list.h","sourceLine":20,"inline":true},
{"imageOffset":24592,"imageIndex":1,"symbol":"walk","symbolLocation":16,"sourceFile":"walk.c","sourceLine":7},
{"imageOffset":7711054152,"imageIndex":2,"symbol":"start","symbolLocation":2504}]},
{"id":1,"frames":[{"imageOffset":7661494376,"imageIndex":2,"symbol":"__workq_kernreturn","symbolLocation":8}]}],
"usedImages":[{"base":6619975680,"size":5672960,"uuid":"a49d560c-1323-3bfb-a7e8-762be0c1b2ef","path":"/usr/lib/swift/libswiftCore.dylib","name":"libswiftCore.dylib"},
{"base":4330815488,"size":32768,"uuid":"82d13d98-219e-3040-b62a-07a297007a7c","path":"/Applications/my app.app/my app","name":"my app"},
{"base":0,"size":0,"uuid":"00000000-0000-0000-0000-000000000000","name":"dyld"}]}`

// said is what a report says, without the names that a form leaves out.
func said(snap *target.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %q %d %s %+v\n", snap.Arch.Name, snap.OS, snap.Command, snap.PID, snap.Time, *snap.Fault)
	for _, t := range snap.Threads {
		fmt.Fprintf(&b, "thread %t %x:", t.Crashed, t.Regs.Known)
		for _, r := range []cpu.Reg{snap.Arch.PC, snap.Arch.SP, snap.Arch.LR, 0} {
			v, _ := t.Regs.Lookup(r)
			fmt.Fprintf(&b, " %#x", v)
		}
		for _, l := range t.Listed {
			fmt.Fprintf(&b, "\n  %#x %q+%d %s:%d %v %t %t", l.PC, l.Symbol, l.Offset, l.File, l.Line, l.Inlined, l.Exact, l.Outermost)
		}
		b.WriteByte('\n')
	}
	for _, m := range snap.Modules {
		fmt.Fprintf(&b, "%#x-%#x %s %x\n", m.Lo, m.Hi, m.Name, m.BuildID)
	}
	return b.String()
}

// TestFormsAgree: text, text behind a line of JSON, and JSON say the same.
func TestFormsAgree(t *testing.T) {
	var first string
	for name, report := range map[string]string{"text": asText, "text behind JSON": "{\"bug_type\":\"109\"}\n" + asText, "JSON": asJSON,
		"text with CRLF": strings.ReplaceAll(asText, "\n", "\r\n")} {
		if !sniff([]byte(report)) {
			t.Errorf("%s is not recognised", name)
		}
		snaps, err := snapshots(t, []byte(report))
		if err != nil || len(snaps) != 1 {
			t.Fatal(name, err)
		}
		got := said(snaps[0])
		if first == "" {
			first = got
		}
		if !strings.Contains(got, " 2022-09-18 15:28:37.3451 +0900 ") {
			t.Errorf("%s: the time is missing:\n%s", name, got)
		}
		if got != first {
			t.Errorf("%s:\n%s\nanother form:\n%s", name, got, first)
		}
	}
	if want := "Says:EXC_BAD_ACCESS, 0x0000000000000001, 0x0000000000000018, KERN_INVALID_ADDRESS at 0x0000000000000018\n" +
		"termination reason: SIGNAL 11 Segmentation fault: 11\nobjc_msgSend() selector name: release "; !strings.Contains(first, want) {
		t.Errorf("%s lacks %s", first, want)
	}
	if !strings.Contains(first, `0x18a98520c "fail(_:_:)"+312 :0 [] true false`) || !strings.Contains(first, `0x1cb9d5948 "start"+2504 :0 [] false true`) ||
		!strings.Contains(first, `0x102236010 "walk"+16 walk.c:7 [{next list.h 20}] false false`) ||
		!strings.Contains(first, "0x102230000-0x102238000 /Applications/my app.app/my app 82d13d98219e3040b62a07a297007a7c") {
		t.Error(first)
	}
}

// TestOtherLogs: what Apple's reports have in common with logs of other machines makes none of Apple's.
func TestOtherLogs(t *testing.T) {
	for _, log := range []string{"Process: com.example.app, PID: 4321\n++ MbedOS Fault Handler ++\n", "boot\nHardware Model: toy board\nPC 08000200\n"} {
		if sniff([]byte(log)) {
			t.Errorf("%q", log)
		}
	}
}

// TestSpindump: each process is a snapshot; the heaviest stack of a thread, innermost first.
func TestSpindump(t *testing.T) {
	snaps, err := snapshots(t, []byte(`Process:          adid [99159]
Architecture:     x86_64

  Thread 0x10    Thread name "spool"    1000 samples (1-1000)    priority 4 (base 4)
  1000  start + 462 (dyld + 21790) [0x113f6c51e]
    900  a::f(int)::g + 12 (adid + 535708) [0x10da97c9c]
     *900  ??? (kernel + 335600) [0xffffff8000261ef0]
    100  other (adid + 1) [0x10da15001]

  Binary Images:
           0x10da15000 -        0x10dbe0fff  adid (6)   <EEE799AA-AEAB-3BF1-AC79-C58000DAAC3A>  /usr/adid
   *0xffffff8000210000 -                ???  kernel (8020.121.3)  <3C587984-4004-3C76-8ADF-997822977184>  /System/kernel

Process:          other [2]
Architecture:     x86_64
  Thread 0x11    5 samples (1-5)
  5  start + 1 (dyld + 2) [0x113f6c51e]
`))
	if err != nil || len(snaps) != 2 {
		t.Fatal(err, len(snaps))
	}
	th := snaps[0].Threads[0]
	got := fmt.Sprint(th.ID, " ", th.Name)
	for _, l := range th.Listed {
		got += fmt.Sprintf("; %#x %q+%d %s %t %t", l.PC, l.Symbol, l.Offset, l.Module, l.Exact, l.Outermost)
	}
	if want := `16 spool; 0xffffff8000261ef0 ""+0 kernel true false; 0x10da97c9c "a::f(int)::g"+12 adid false false; 0x113f6c51e "start"+462 dyld false true`; got != want {
		t.Error(got)
	}
	if len(snaps[0].Modules) != 2 {
		t.Errorf("%d modules", len(snaps[0].Modules))
	}
}

// TestSample: the form of the command sample.
func TestSample(t *testing.T) {
	if got := named("-[A b:]  (in CoreFoundation) + 12"); got.Symbol != "-[A b:]" || got.Module != "CoreFoundation" || got.Offset != 12 {
		t.Errorf("%+v", got)
	}
}

// TestPanic: the panicked thread's backtrace, then all threads.
func TestPanic(t *testing.T) {
	snaps, err := snapshots(t, []byte(`{"bug_type":"151"}
{"build":"iPhone OS 16.2 (20C65)","product":"iPhone11,8","string":"panic(cpu 1)\nPanicked thread: 0xff, backtrace: 0xfe, tid: 798\n\t\t  lr: 0xfffffff02cfc6ba8  fp: 0x1\n\t\t  lr: 0xfffffff02cfc697c  fp: 0x0\n",
"processByPid":{"10":{"procname":"b","threadById":{"7":{"id":7,"kernelFrames":[[0,16]],"userFrames":[[1,32]]}}},"2":{"procname":"a","threadById":{}}},
"binaryImages":[["e162e369-a92e-3eb7-872f-862218fb860f",18446744005120770048,"T"],["98a24b67-a443-3c7f-a0d6-f33c1badf6d4",4294967296,"P"]]}`))
	if err != nil || len(snaps[0].Threads) != 2 {
		t.Fatal(err, snaps)
	}
	first, second := snaps[0].Threads[0], snaps[0].Threads[1]
	if first.ID != 798 || !first.Crashed || len(first.Listed) != 2 || first.Listed[1].PC != 0xfffffff02cfc697c {
		t.Errorf("%+v", first)
	}
	if second.Name != "b [10]" || len(second.Listed) != 2 || second.Listed[0].PC != 18446744005120770048+16 || second.Listed[1].PC != 1<<32+32 {
		t.Errorf("%+v", second)
	}
}

// TestDamaged: one line with the offset.
func TestDamaged(t *testing.T) {
	for report, want := range map[string]string{
		"{\"bug_type\":\"309\"}\n{\"pid\":1,": "r.crash: offset 0x1c: a crash report whose JSON is damaged: unexpected end of JSON input",
		"Code Type: PPC (Native)\n":           `r.crash: offset 0x0: a crash report of an unknown processor ("PPC (Native)")`,
	} {
		if _, err := snapshots(t, []byte(report)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", report, err)
		}
	}
}

// TestRealReports: the frames are those that another parser finds, and the three forms of one
// crash agree.
func TestRealReports(t *testing.T) {
	dir := recorded.Shared(t, "inputs", "apple", "text")
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	n := 0
	for _, path := range files {
		if strings.HasSuffix(path, ".gz") {
			continue
		}
		n++
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		snaps, err := snapshots(t, data)
		if err != nil || !sniff(data[:min(len(data), 4096)]) {
			t.Errorf("%s: %v", path, err)
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		if want := otherParser(t, filepath.Join(filepath.Dir(path), "test_snapshots__"+name+".snap.gz")); want != nil {
			compare(t, path, snaps[0], want)
		}
	}
	if n != 13 {
		t.Errorf("%d reports", n)
	}
}

func compare(t *testing.T, path string, snap *target.Snapshot, want []string) {
	t.Helper()
	var got []string
	for _, th := range snap.Threads {
		for _, l := range th.Listed {
			got = append(got, fmt.Sprintf("%#x", l.PC))
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: %d frames, want %d", path, len(got), len(want))
	}
}

// otherParser is the addresses of all frames in a file of the other parser's results.
func otherParser(t *testing.T, path string) (addrs []string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(z); s.Scan(); {
		if _, addr, ok := strings.Cut(s.Text(), "instruction_addr: "); ok {
			addrs = append(addrs, strings.Trim(addr, `"`))
		}
	}
	return addrs
}

// FuzzReport: whatever a report says, reading it ends and never panics.
func FuzzReport(f *testing.F) {
	f.Add([]byte(asText))
	f.Add([]byte(asJSON))
	f.Add([]byte("Process: a [1]\nArchitecture: x86_64\n  Thread 0x1  2 samples (1-2)\n  2  f + 1 (g + 2) [0x3]\n"))
	f.Add(bytes.Repeat([]byte("Thread 0 Crashed:\n0 a 0x1 b + 2\n"), 20))
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = snapshots(t, data) })
}

// TestRoom: what a report lists beyond all bounds is left out, and said.
func TestRoom(t *testing.T) {
	for name, report := range map[string]string{
		"text": asText[:strings.Index(asText, "Thread 0 name")] + strings.Repeat("Thread 1:\n0 a 0x1\n", 20_000),
		"JSON": `{"bug_type":"309"}` + "\n" + `{"cpuType":"ARM-64","threads":[{}` + strings.Repeat(`,{}`, 20_000) + `]}`,
	} {
		snaps, err := snapshots(t, []byte(report))
		if err != nil {
			t.Fatal(name, err)
		}
		if n, is := len(snaps[0].Threads), snaps[0].Issues; n > 17_000 || len(is) != 1 || is[0].Text != "r.crash: more than 16384 threads; the others are left out" {
			t.Errorf("%s: %d threads, issues %v", name, n, is)
		}
	}
}

// TestLongProcessName: the name of a process is part of the names of all of its threads, and
// takes memory in proportion to the report whatever its length.
func TestLongProcessName(t *testing.T) {
	var report strings.Builder
	report.WriteString(`{"bug_type":"151"}` + "\n" + `{"processByPid":{"1":{"procname":"` + strings.Repeat("n", 256<<10) + `","threadById":{"0":{}`)
	for i := range 8000 {
		fmt.Fprintf(&report, `,"%d":{"id":%[1]d,"name":"worker"}`, i+1)
	}
	report.WriteString("}}}}")
	meter.Allocations(t, report.Len(), func() {
		snaps, err := snapshots(t, []byte(report.String()))
		if err != nil {
			t.Fatal(err)
		}
		if name := snaps[0].Threads[1].Name; !strings.HasPrefix(name, "nnn") || !strings.HasSuffix(name, "… [1] worker") {
			t.Errorf("%d bytes: %.40q", len(name), name)
		}
	})
}

// TestStates: registers are those of the thread that their heading names, else of the first
// that crashed; a number that no thread has is no thread's.
func TestStates(t *testing.T) {
	const report = `Incident Identifier: 1
Code Type:           ARM-64 (Native)

Thread 3:
0   a   0x1 b + 2

Thread 7 Crashed:
0   a   0x2 b + 2

Thread 7:
0   a   0x3 b + 2

Thread 9 crashed with ARM Thread State (64-bit):
    x0: 0x0000000000000001
Unknown thread crashed with ARM Thread State (64-bit):
    x1: 0x0000000000000002
Thread 3 crashed with ARM Thread State (64-bit):
    x2: 0x0000000000000003
Thread 7 crashed with ARM Thread State (64-bit):
    x3: 0x0000000000000004
`
	snaps, err := snapshots(t, []byte(report))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, th := range snaps[0].Threads {
		for i, name := range []string{"x0", "x1", "x2", "x3"} {
			r, _ := snaps[0].Arch.RegByName(name)
			if v, ok := th.Regs.Lookup(r); ok {
				got = append(got, fmt.Sprintf("%d at %#x: x%d=%d", th.ID, th.Listed[0].PC, i, v))
			}
		}
	}
	if want := "3 at 0x1: x2=3, 7 at 0x2: x1=2, 7 at 0x2: x3=4"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
}
