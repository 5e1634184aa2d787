package perfdata

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/target"
	"github.com/klauspost/compress/zstd"
)

// file assembles a recording.
type file struct {
	order  binary.AppendByteOrder
	events [][]byte
	attr   []byte
	feats  map[int][]byte
}

// The fields of the samples that the tests assemble, and the registers, those that perf takes of x86-64.
const testFields, testRegs = hasIP | hasTID | hasTime | hasPeriod | hasCallchain | hasCPU | hasRegsUser | hasStackUser, 0xff0fff

func newFile(order binary.AppendByteOrder) *file {
	f := &file{order: order, feats: map[int][]byte{featureArch: text(order, "x86_64"), featureRelease: text(order, "6.1.0-test")}}
	f.attr = f.words(0, 0, 0, testFields, 0, sampleIDAll, 0, 0, 0, 0, testRegs)
	return f
}

func text(order binary.AppendByteOrder, s string) []byte {
	return append(order.AppendUint32(nil, uint32(len(s)+1)), s+"\x00"...)
}

func (f *file) words(list ...uint64) (b []byte) {
	for _, v := range list {
		b = f.order.AppendUint64(b, v)
	}
	return b
}

func (f *file) halves(list ...uint32) (b []byte) {
	for _, v := range list {
		b = f.order.AppendUint32(b, v)
	}
	return b
}

// event adds an event of a kind, with its time behind it: process, time, CPU.
func (f *file) event(kind uint32, misc uint16, time uint64, parts ...[]byte) {
	body := bytes.Join(parts, nil)
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	if kind < firstOfPerf && kind != eventSample {
		body = append(body, f.words(0, time, 0)...)
	}
	head := f.order.AppendUint16(f.order.AppendUint16(f.order.AppendUint32(nil, kind), misc), uint16(len(body)+eventHeader))
	f.events = append(f.events, append(head, body...))
}

func (f *file) comm(misc uint16, time uint64, pid, tid uint32, name string) {
	f.event(eventComm, misc, time, f.halves(pid, tid), []byte(name+"\x00"))
}

func (f *file) mmap(time uint64, pid uint32, addr, size, off uint64, prot uint32, name string) {
	f.event(eventMmap2, userMode, time, f.halves(pid, pid), f.words(addr, size, off, 0, 0, 0), f.halves(prot, 0), []byte(name+"\x00"))
}

// sample adds a sample: the list of calls, then abi, registers and stack.
func (f *file) sample(time uint64, pid, tid uint32, chain []uint64, sp, ip uint64, stack []byte) {
	parts := [][]byte{f.words(ip), f.halves(pid, tid), f.words(time), f.halves(3, 0), f.words(1000, uint64(len(chain))), f.words(chain...), f.words(abi64, 0, 0, 0, 0, 0, 0, 0, sp, ip), make([]byte, 8*11),
		f.words(uint64(len(stack))), stack}
	if len(stack) > 0 {
		parts = append(parts, f.words(uint64(len(stack))))
	}
	f.event(eventSample, userMode, time, parts...)
}

// bytes is the file: header, attribute, events, features.
func (f *file) bytes() []byte {
	data := bytes.Join(f.events, nil)
	attrs := append(bytes.Clone(f.attr), f.words(0, 0)...)
	at := uint64(fileHeader)
	magic := little
	if f.order.String() == "BigEndian" {
		magic = big
	}
	b := append([]byte(magic), f.words(fileHeader, uint64(len(attrs)), at, uint64(len(attrs)), at+uint64(len(attrs)), uint64(len(data)), 0, 0)...)
	var flags [featureBits / 64]uint64
	for n := range f.feats {
		flags[n/64] |= 1 << (n % 64)
	}
	b = append(b, f.words(flags[:]...)...)
	b = append(append(b, attrs...), data...)
	at, bodies := uint64(len(b)+16*len(f.feats)), []byte(nil)
	for n := range featureBits {
		if body, ok := f.feats[n]; ok {
			b = append(b, f.words(at+uint64(len(bodies)), uint64(len(body)))...)
			bodies = append(bodies, body...)
		}
	}
	return append(b, bodies...)
}

// pipe is the same as perf writes it to a pipe.
func (f *file) pipe() []byte {
	g := &file{order: f.order}
	g.event(eventAttr, 0, 0, f.order.AppendUint32(nil, 0), f.order.AppendUint32(nil, uint32(len(f.attr))), f.attr[8:])
	for n, body := range f.feats {
		g.event(eventFeature, 0, 0, f.words(uint64(n)), body)
	}
	b := append([]byte(little), f.words(pipeHeader)...)
	return append(append(b, bytes.Join(g.events, nil)...), bytes.Join(f.events, nil)...)
}

func environment() *input.Env {
	archs := append(append(cpu.Set{}, x86.Archs()...), arm64.Archs()...)
	return &input.Env{Archs: archs, Files: input.NewFiles(input.FileOptions{Archs: archs})}
}

// summary is what a recording has: of each snapshot the process and where its code lies, of each sample the thread, PC, SP, how much
// of the stack, and the kernel's calls.
func summary(t testing.TB, data []byte) string {
	t.Helper()
	s, err := open(context.Background(), input.NewCapture("perf.data", data), environment())
	if err != nil {
		return err.Error() + "\n"
	}
	defer s.Close()
	return told(t, s)
}

// told is a summary of a recording's snapshots.
func told(t testing.TB, s input.Stream) string {
	t.Helper()
	var b strings.Builder
	for {
		snap, err := s.Next(context.Background())
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d %s", snap.Arch.Name, snap.PID, snap.Command)
		for _, m := range snap.Modules {
			fmt.Fprintf(&b, " %s@%#x", m.Name, m.Lo)
		}
		b.WriteByte('\n')
		for i := range snap.Threads {
			th := &snap.Threads[i]
			pc, _ := th.Regs.Lookup(snap.Arch.PC)
			sp, _ := th.Regs.Lookup(snap.Arch.SP)
			fmt.Fprintf(&b, "  %d %s at %d: pc %#x sp %#x stack %d", th.ID, th.Name, th.Moment.Time, pc, sp, th.Memory.Size())
			for _, l := range append(th.Inner, th.Listed...) {
				fmt.Fprintf(&b, " %#x", l.PC)
			}
			b.WriteByte('\n')
		}
		for _, i := range snap.Issues {
			if i.Kind == target.IssueCapture {
				fmt.Fprintf(&b, "  %s\n", i.Text)
			}
		}
	}
}

// program adds the events of a program that runs in two threads.
func (f *file) program() {
	f.comm(0, 1, 7, 7, "sh")
	f.mmap(2, 7, 0x1000, 0x1000, 0, protExec, "/bin/sh")
	f.sample(3, 7, 7, nil, 0x7000, 0x1100, make([]byte, 16))
	f.event(eventFork, 0, 4, f.halves(8, 7, 8, 7), f.words(4))
	f.sample(5, 8, 8, nil, 0x7000, 0x1200, make([]byte, 16))
	f.comm(commExec, 6, 8, 8, "netd")
	f.mmap(7, 8, 0x400000, 0x3000, 0, 1, "/usr/sbin/netd")
	f.mmap(8, 8, 0x401000, 0x1000, 0x1000, protExec, "/usr/sbin/netd")
	f.mmap(9, 8, 0x9000, 0x1000, 0, 3, "//anon")
	f.comm(0, 10, 8, 9, "worker")
	f.sample(11, 8, 9, []uint64{contextKernel, 0xffffffff81000010, 0xffffffff81000020}, 0x7fff0000, 0x401010, make([]byte, 32))
	f.sample(12, 8, 8, []uint64{contextUser}, 0x7ffe0000, 0x401020, make([]byte, 8))
}

const programSays = `x86_64 8 sh /bin/sh@0x1000
  8 sh at 5: pc 0x1200 sp 0x7000 stack 16
x86_64 7 sh /bin/sh@0x1000
  7 sh at 3: pc 0x1100 sp 0x7000 stack 16
x86_64 8 netd /usr/sbin/netd@0x400000
  9 worker at 11: pc 0x401010 sp 0x7fff0000 stack 32 0xffffffff81000010 0xffffffff81000020
  8 netd at 12: pc 0x401020 sp 0x7ffe0000 stack 8
`

// TestPrograms: a process is what it was at each sample: forked, then another program, with threads of their own names.
func TestPrograms(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.program()
	for name, data := range map[string][]byte{"file": f.bytes(), "pipe": f.pipe()} {
		if got := summary(t, data); got != programSays {
			t.Errorf("%s:\n%swant\n%s", name, got, programSays)
		}
	}
}

// TestPacked: the same events packed by zstd, flushed in the midst of events, as perf packs what its buffers have.
func TestPacked(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.program()
	all := bytes.Join(f.events, nil)
	for _, kind := range []uint32{eventCompressed, eventCompressed2} {
		var packed bytes.Buffer
		z, err := zstd.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		g := newFile(binary.LittleEndian)
		for piece := range bytes.SplitAfterSeq(all, []byte("s")) { // pieces of any length
			packed.Reset()
			if _, err := z.Write(piece); err != nil {
				t.Fatal(err)
			}
			if err := z.Flush(); err != nil {
				t.Fatal(err)
			}
			if kind == eventCompressed {
				head := g.order.AppendUint16(g.order.AppendUint16(g.order.AppendUint32(nil, kind), 0), uint16(packed.Len()+eventHeader))
				g.events = append(g.events, append(head, packed.Bytes()...))
			} else {
				g.event(kind, 0, 0, g.words(uint64(packed.Len())), packed.Bytes())
			}
		}
		if got := summary(t, g.bytes()); got != programSays {
			t.Errorf("kind %d:\n%swant\n%s", kind, got, programSays)
		}
	}
}

// TestOrder: events of two processors come in rounds, each processor's one after the other. What was mapped at 20 is known to the
// sample at 30 that stands in front of it, and not to the one at 10.
func TestOrder(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.comm(0, 1, 7, 7, "sh")
	f.sample(10, 7, 7, nil, 0x7000, 0x1100, nil)
	f.sample(30, 7, 7, nil, 0x7000, 0x1200, nil)
	f.mmap(20, 7, 0x1000, 0x1000, 0, protExec, "/bin/sh")
	f.event(eventRound, 0, 0)
	f.sample(40, 7, 7, nil, 0x7000, 0x1300, nil)
	want := `x86_64 7 sh
  7 sh at 10: pc 0x1100 sp 0x7000 stack 0
x86_64 7 sh /bin/sh@0x1000
  7 sh at 30: pc 0x1200 sp 0x7000 stack 0
  7 sh at 40: pc 0x1300 sp 0x7000 stack 0
`
	if got := summary(t, f.bytes()); got != want {
		t.Errorf("%swant\n%s", got, want)
	}
}

// TestThreads: perf record --threads writes a directory: a file with the header, and one for each thread. Their events are told in the order
// of their times; that alone is no recording.
func TestThreads(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.program()
	f.feats[featureDirectory] = f.words(1)
	of := [3][]byte{}
	for i, e := range f.events[1:] { // the first is in the file with the header
		of[i%2] = append(of[i%2], e...)
	}
	f.events = f.events[:1]
	dir := t.TempDir()
	for name, data := range map[string][]byte{"data": f.bytes(), "data.0": of[0], "data.1": nil, "data.2": of[1]} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := environment()
	env.Formats = []input.Format{Format()}
	s, err := env.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := told(t, s); got != programSays {
		t.Errorf("%swant\n%s", got, programSays)
	}
	if _, err := env.Open(t.Context(), filepath.Join(dir, "data")); err == nil || !strings.Contains(err.Error(), "name the directory") {
		t.Errorf("the file alone: %v", err)
	}
}

// TestLosses: what a recording lacks is said.
func TestLosses(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.program()
	f.event(eventLost, 0, 20, f.words(0, 5))
	f.event(eventLostSamples, 0, 21, f.words(2))
	f.event(eventThrottle, 0, 22, f.words(22, 0, 0))
	f.event(eventExit, 0, 23, f.halves(8, 7, 8, 7), f.words(23)) // no sample is left
	f.event(eventExit, 0, 23, f.halves(7, 1, 7, 1), f.words(23))
	got := summary(t, f.bytes())
	for _, want := range []string{"7 samples or events were lost", "throttled the recording 1 times"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	whole := f.bytes()
	if got := summary(t, whole[:len(whole)-300]); !strings.Contains(got, "cut short") || !strings.Contains(got, "pc 0x401010") {
		t.Errorf("cut: %s", got)
	}
	whole = f.bytes()
	if got := summary(t, whole[:len(whole)-4]); !strings.Contains(got, "cut short behind its events") || !strings.Contains(got, "pc 0x401020") {
		t.Errorf("cut in its features: %s", got)
	}
	whole = f.pipe()
	if got := summary(t, whole[:len(whole)-4]); !strings.Contains(got, "cut short") || !strings.Contains(got, "pc 0x401010") {
		t.Errorf("cut pipe: %s", got)
	}
	empty := newFile(binary.LittleEndian)
	empty.comm(0, 1, 7, 7, "sh")
	empty.feats[featureDirectory] = empty.words(1)
	if got := summary(t, empty.bytes()); !strings.Contains(got, "without samples of user code") || !strings.Contains(got, "record --threads") {
		t.Errorf("empty: %s", got)
	}
	whole = empty.pipe()
	if got := summary(t, whole[:len(whole)-4]); !strings.Contains(got, "without samples of user code") || !strings.Contains(got, "cut short at") {
		t.Errorf("cut in its first event: %s", got)
	}
}

// TestCalls: samples without registers have the calls that the kernel found, or where they were taken.
func TestCalls(t *testing.T) {
	f := newFile(binary.BigEndian)
	f.feats[featureArch] = text(f.order, "aarch64")
	f.attr = f.words(0, 0, 0, hasIP|hasTID|hasTime|hasCallchain, 0, sampleIDAll)
	f.event(eventSample, userMode, 1, f.words(0x1100), f.halves(7, 7), f.words(1, 4, contextUser, 0x1100, 0x1200, 0))
	f.event(eventSample, 1, 2, f.words(0xffff800008000010), f.halves(7, 7), f.words(2, 0))
	f.event(eventSample, 1, 3, f.words(0xffff800008000020), f.halves(0, 0), f.words(3, 0))
	want := `aarch64 0 swapper
  0 swapper at 3: pc 0x0 sp 0x0 stack 0 0xffff800008000020
aarch64 7 
  7  at 1: pc 0x0 sp 0x0 stack 0 0x1100 0x1200
  7  at 2: pc 0x0 sp 0x0 stack 0 0xffff800008000010
`
	if got := summary(t, f.bytes()); got != want {
		t.Errorf("%swant\n%s", got, want)
	}
}

// TestMadeCode: memory of no file that may be executed is code that the program made; a chain may lead through it.
func TestMadeCode(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.mmap(1, 7, 0x9000, 0x1000, 0x9000, protExec, anonymous)
	f.mmap(2, 7, 0xb000, 0x1000, 0xb000, 3, anonymous)
	f.mmap(3, 7, 0xc000, 0x1000, 0, protExec, "[heap]")
	f.sample(4, 7, 7, nil, 0x7000, 0x9100, nil)
	if got, want := summary(t, f.bytes()), "x86_64 7  //anon@0x9000\n  7  at 4: pc 0x9100 sp 0x7000 stack 0\n"; got != want {
		t.Errorf("%swant\n%s", got, want)
	}
}

// TestFirstThreadEnds: the threads of a process go on when its first one has ended, and its number is given to another at last.
func TestFirstThreadEnds(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.comm(0, 1, 7, 7, "netd")
	f.mmap(2, 7, 0x1000, 0x1000, 0, protExec, "/usr/sbin/netd")
	f.event(eventExit, 0, 3, f.halves(7, 1, 7, 1), f.words(3))
	f.sample(4, 7, 8, nil, 0x7000, 0x1100, nil)
	f.event(eventFork, 0, 5, f.halves(7, 2, 7, 2), f.words(5))
	f.sample(6, 7, 7, nil, 0x7000, 0x1100, nil)
	want := "x86_64 7 netd /usr/sbin/netd@0x1000\n  8 netd at 4: pc 0x1100 sp 0x7000 stack 0\nx86_64 7 \n  7  at 6: pc 0x1100 sp 0x7000 stack 0\n"
	if got := summary(t, f.bytes()); got != want {
		t.Errorf("%swant\n%s", got, want)
	}
}

// TestUnfinished: perf record that is killed leaves a header that says that there are no events.
func TestUnfinished(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.program()
	data := f.bytes()[:fileHeader+len(f.attr)+16]
	clear(data[6*8 : 7*8])
	data = append(data, bytes.Join(f.events, nil)...)
	got := summary(t, data)
	if !strings.Contains(got, "ended before it could finish") || !strings.Contains(got, "8 netd at 12:") {
		t.Error(got)
	}
}

// TestManyProcesses: samples of more processes than are kept are handed out, and none of them waits for all of the file.
func TestManyProcesses(t *testing.T) {
	f := newFile(binary.LittleEndian)
	const processes = maxProcesses + 100
	for pid := range uint32(processes) {
		f.sample(1, pid, pid, nil, 0x7000, 0x1100, nil)
	}
	if got := strings.Count(summary(t, f.bytes()), " at 1: "); got != processes {
		t.Errorf("%d samples, want %d", got, processes)
	}
}

// TestUnpackedBound: a recording of packed events that unpack to more than their bytes can be worth ends, and says so.
func TestUnpackedBound(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.program()
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	for range unpackedFloor >> 20 * 2 {
		packed.Reset()
		if _, err := z.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
		f.event(eventCompressed2, 0, 0, f.words(uint64(packed.Len())), packed.Bytes())
	}
	got := summary(t, f.bytes())
	if !strings.Contains(got, "unpacked bytes; further ones are not read") || !strings.HasPrefix(got, programSays[:20]) {
		t.Error(got)
	}
}

// TestContext: reading ends with its context, in the midst of events that lead to nothing.
func TestContext(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.program()
	for range 100_000 {
		f.event(eventRound, 0, 0)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := open(ctx, input.NewCapture("perf.data", f.bytes()), environment())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	for range 10 {
		if _, err = s.Next(ctx); err != nil {
			break
		}
	}
	if err != context.Canceled {
		t.Errorf("the end of the context: %v", err)
	}
}

// FuzzOpen: no recording ends the program, and none has more samples than its bytes can hold.
func FuzzOpen(f *testing.F) {
	seed := newFile(binary.LittleEndian)
	seed.program()
	f.Add(seed.bytes())
	f.Add(seed.pipe())
	names := []function{{0x100, 0x80, "leaf"}}
	seed.feats[featureFile], seed.feats[featureFile2] = seed.fileStruct("/bin/sh", fileELF, 0, names, 0), seed.fileMessage("/bin/sh", fileELF, 0, names, 0)
	f.Add(seed.bytes())
	seed.order = binary.BigEndian
	f.Add(seed.bytes())
	env := environment()
	f.Fuzz(func(t *testing.T, data []byte) {
		if !sniff(data) {
			return
		}
		s, err := open(context.Background(), input.NewCapture("perf.data", data), env)
		if err != nil {
			return
		}
		defer s.Close()
		samples := 0
		for {
			snap, err := s.Next(context.Background())
			if err != nil {
				break
			}
			samples += len(snap.Threads)
		}
		if samples > len(data)/eventHeader && !bytes.Contains(data, []byte{eventCompressed}) {
			t.Errorf("%d samples of %d bytes", samples, len(data))
		}
	})
}
