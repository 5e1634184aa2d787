package backsight_test

import (
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/unwind"
)

// tombstone is of the program in testdata/aarch64-signal, which called a function pointer that is NULL.
const tombstone = `*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
ABI: 'arm64'
pid: 4711, tid: 4711, name: sensor  >>> /usr/bin/sensor <<<
signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0000000000000000
    x28 000000550210e3a0  x29 000000550210d010
    lr  00000055021805b0  sp  000000550210d010  pc  0000000000000000  pst 0000000060001000
backtrace:
      #00 pc 0000000000000000  <unknown>
      #01 pc 00000000000005ac  /usr/lib/libplug.so (BuildId: 10cb63308ec8c7eb2afaf055b7a1fe1f3cc24649)
      #02 pc 00000000000008f4  /usr/bin/sensor (BuildId: 892eb152c3a24e29ec12439208e9eee145b2f889)
      #03 pc LISTED  /usr/bin/sensor (BuildId: 892eb152c3a24e29ec12439208e9eee145b2f889)
      #04 pc 00000000000007a4  /usr/bin/sensor (BuildId: 892eb152c3a24e29ec12439208e9eee145b2f889)
memory near sp ([stack]):
    000000550210d010 000000550210d020 00000055000008f8  ................
memory map (2 entries):
    00000055'00000000-00000055'00020fff r-x         0     21000  /usr/bin/sensor (BuildId: 892eb152c3a24e29ec12439208e9eee145b2f889)
    00000055'02180000-00000055'021a0fff r-x         0     21000  /usr/lib/libplug.so (BuildId: 10cb63308ec8c7eb2afaf055b7a1fe1f3cc24649)
`

// TestTombstoneIsWalked: by the binaries and the memory that a tombstone has, the chain is found anew; the list goes on where
// the memory ends. A listed frame that no call leads on from is a guess.
func TestTombstoneIsWalked(t *testing.T) {
	for listed, want := range map[string]string{
		"0000000000000960": "? context, plug_report code, on_alarm cfi, digest prewalked, main prewalked",
		"0000000000000950": "? context, plug_report code, on_alarm cfi, digest prewalked?, main prewalked",
	} {
		var got []string
		for _, f := range framesOf(t, strings.ReplaceAll(tombstone, "LISTED", listed), input.FileOptions{Sysroots: []string{"testdata/aarch64-signal/modules"}}) {
			name := f.Function
			if name == "" {
				name = "?"
			}
			name += " " + f.Method.String()
			if f.Trust == unwind.Guess {
				name += "?"
			}
			got = append(got, name)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s listed: %s\nwant %s", listed, strings.Join(got, ", "), want)
		}
	}
}

// TestTaskEndsInFunction: what a kernel has a task return to is the beginning of a function, which no call stands before: it has
// that function's name, not that of the function before (Default).
func TestTaskEndsInFunction(t *testing.T) {
	const log = "backsight: report 1\nexc_return: fffffff9\nsp: 20001000 lr: 00000151 pc: 000003b4\n#0 0x000003b4\n#1 0x00000150\nbacksight: end 0\n"
	frames := framesOf(t, log, input.FileOptions{Exe: "testdata/microcontroller/m3-rtthread.elf"})
	if last := &frames[len(frames)-1]; len(frames) != 2 || last.Function != "flush" || last.Trust != unwind.Guess {
		t.Errorf("%d frames, the last one %s, %v", len(frames), last.Function, last.Trust)
	}
}

// framesOf are the frames of the first thread of a text.
func framesOf(t *testing.T, text string, opt input.FileOptions) []report.Frame {
	t.Helper()
	files := backsight.NewFiles(opt)
	defer files.Close()
	stream, err := backsight.OpenReader(t.Context(), "capture", strings.NewReader(text), input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	snap, err := stream.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := u.Backtraces(t.Context(), snap)
	if err != nil {
		t.Fatal(err)
	}
	return backsight.Report(t.Context(), snap, traces, new(symbol.Symbolizer)).Threads[0].Frames
}
