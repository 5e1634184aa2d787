package gdbremote

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/input/rtos"
	"github.com/backsight/backsight/internal/input/vmcore"
)

func env() *input.Env {
	var archs cpu.Set
	for _, list := range [][]*cpu.Arch{mips.Archs(), arm.Archs(), x86.Archs()} {
		archs = append(archs, list...)
	}
	files := input.NewFiles(input.FileOptions{Archs: archs, Formats: []image.Format{elf.Format()}, Sysroots: []string{os.DevNull}})
	return &input.Env{Archs: archs, Files: files, Formats: []input.Format{vmcore.Format(), elfcore.Format(), rtos.Format()}}
}

// FuzzStream: whatever a server says, and however often, reading it ends; and nothing but what reads is asked for.
func FuzzStream(f *testing.F) {
	packets := func(replies ...string) (b []byte) {
		for _, r := range replies {
			c := newConn(&wire{Reader: strings.NewReader("")})
			_ = c.send([]byte(r)) // into a buffer
			b = append(b, c.out...)
		}
		return b
	}
	auxv := "\x06\x00\x00\x00\x00\x10\x00\x00\x03\x00\x00\x00\x34\x00\x40\x00" + strings.Repeat("\x00", 8)
	f.Add(packets("PacketSize=1000;qXfer:auxv:read+", "OK", "T0bthread:p1.1;", "l"+auxv, "E14", "m1,2", "l", "OK", strings.Repeat("0", 8*38), "OK", "OK"))
	f.Add(packets("PacketSize=1000;qXfer:features:read+;qXfer:memory-map:read+", "OK", `l<target><architecture>arm</architecture><feature name="m-profile"><reg name="sp" bitsize="32"/></feature></target>`,
		"S05", `l<memory-map><memory type="ram" start="0x20000000" length="0x1000"/></memory-map>`, "", "OK", "", "00000020"))
	f.Add(packets("PacketSize=1000;multiprocess+", "OK", "T05thread:p01.01;", "1", "OK", "O"+"4f4b", "OK", "mp01.01", "l", "OK", "", strings.Repeat("1", 600)))
	f.Add([]byte("$T05thread:" + strings.Repeat("1", 99) + "#00$m" + strings.Repeat("1,", 999) + "#00"))
	e := env()
	f.Fuzz(func(t *testing.T, b []byte) {
		w := &wire{Reader: bytes.NewReader(b)}
		c, err := New(context.Background(), w, nil)
		if err != nil {
			return
		}
		s, err := c.Stream(context.Background(), "fuzzed", e, Options{})
		if err == nil {
			_, _ = s.Next(context.Background())
			_ = s.Close()
		}
		for _, written := range []string{"$M", "$X", "$G", "$P", "$Z", "$c", "$s", "$k"} {
			if strings.Contains(w.sent.String(), written) {
				t.Errorf("%s was sent", written)
			}
		}
		if size := w.sent.Len(); size > 1<<20+200*len(b) {
			t.Errorf("%d bytes were sent for %d", size, len(b))
		}
	})
}

// TestSilence: a server that does not answer is given up, after a break that may have helped, and asked nothing more.
func TestSilence(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	heard := make(chan string, 1)
	go func() {
		buf, all := make([]byte, 1<<10), ""
		for {
			n, err := server.Read(buf)
			if all += string(buf[:n]); err != nil {
				heard <- all
				return
			}
		}
	}()
	start := time.Now()
	_, err := patient(t.Context(), client, nil, 50*time.Millisecond)
	if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), `does not answer "qSupported`) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if all := <-heard; !strings.Contains(all, "\x03") || strings.Count(all, "qSupported") != 1 {
		t.Errorf("the server heard %q", all)
	}
}

// TestBrokenOnce: after an answer did not come, memory is not asked for any more; the target is let go all the same.
func TestBrokenOnce(t *testing.T) {
	c, err := patient(t.Context(), serve(t, map[string]string{"qSupported": "PacketSize=1000", "D": "OK"}), arch(t), 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	c.broken = os.ErrDeadlineExceeded
	if n, err := (pager{c: c}).ReadPage(0, make([]byte, 8)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d %v", n, err)
	}
	if err := c.Leave(Options{}); err != nil {
		t.Error(err)
	}
}

// TestFlatView: of what QEMU lists, memory that the processors see, and what of it can be written.
func TestFlatView(t *testing.T) {
	ram, all := flatView(`FlatView #0
 AS "I/O", root: io
 Root memory region: io
  0000000000000000-000000000000ffff (prio 0, ram): other

FlatView #1
 AS "memory", root: system
 Root memory region: system
  0000000000000000-0000000003ffffff (prio 0, romd): virt.flash0
  0000000008000000-0000000008000fff (prio 0, i/o): gic_dist
  0000000040000000-0000000047ffffff (prio 0, ram): mach-virt.ram
  ffffffffffffffff-0000000000000000 (prio 0, ram): wrong
`)
	if len(ram) != 1 || ram[0].Lo != 0x40000000 || ram[0].Hi != 0x48000000 || len(all) != 2 || all[0].Hi != 0x4000000 {
		t.Errorf("%#x %#x", ram, all)
	}
}

// TestThreads: the numbers of threads with a process and without; what is no name of a thread is never sent.
func TestThreads(t *testing.T) {
	for id, want := range map[string][2]int{"1f": {0x1f, 0}, "p12.1f": {0x1f, 0x12}, "p1": {1, 0}, "-1": {}, "p.1": {1, 0}} {
		if tid, pid := (thread{id: id}).number(); [2]int{tid, pid} != want {
			t.Errorf("%s: %d %d", id, tid, pid)
		}
	}
	for _, id := range []string{"", "p", "1;M0,1:00", "1#", "p1.2.3", strings.Repeat("1", 41)} {
		if isThread(id) {
			t.Errorf("%q", id)
		}
	}
}

// dialects are what servers answer, as their sources and traces have it.
var dialects = map[string]struct {
	answers map[string]string
	leaves  []string // the last requests
}{
	"OpenOCD": {map[string]string{
		"qSupported":            "PacketSize=4000;qXfer:memory-map:read+;qXfer:features:read+;qXfer:threads:read+;QStartNoAckMode+;vContSupported+",
		"QStartNoAckMode":       "OK",
		"Hg":                    "OK",
		"qXfer:features:read:t": `l<target><architecture>arm</architecture><feature name="org.gnu.gdb.arm.m-profile"><reg name="sp" bitsize="32" regnum="13"/><reg name="lr" bitsize="32"/><reg name="pc" bitsize="32"/><reg name="xPSR" bitsize="32" regnum="25"/></feature><feature name="org.gnu.gdb.arm.m-system"><reg name="msp" bitsize="32"/><reg name="psp" bitsize="32"/></feature></target>`,
		"qXfer:memory-map":      `l<memory-map><memory type="flash" start="0x8000000" length="0x1000"/><memory type="ram" start="0x8001000" length="0xf7fff000"/></memory-map>`,
		"qXfer:threads":         `l<threads><thread id="1">Name: idle</thread><thread id="2" name="net"/></threads>`,
		"?":                     "T05",
		"qRcmd,76657273696f6e":  "4f70656e204f6e2d43686970204465627567676572", // version
		"qRcmd,726573756d65":    "OK",                                         // resume
		"g":                     "000000200100000802000008" + "00000001",
		"p1a":                   "00100020",
		"p1b":                   "00200020",
		"D":                     "OK",
	}, []string{"qRcmd,726573756d65", "D"}},
	"gdbserver": {map[string]string{
		"qSupported":          "PacketSize=47ff;multiprocess+;qXfer:auxv:read+;qXfer:libraries-svr4:read+;qXfer:exec-file:read+;qXfer:threads:read+;qXfer:features:read+",
		"Hg":                  "OK",
		"qXfer:features:read": `l<target><architecture>i386:x86-64</architecture><feature name="org.gnu.gdb.i386.core"><reg name="rsp" bitsize="64"/><reg name="rip" bitsize="64"/></feature></target>`,
		"qXfer:threads":       `l<threads><thread id="p1f.1f" core="0" name="daemon"/></threads>`,
		"qXfer:auxv":          "l" + strings.Repeat("\x00", 16),
		"qXfer:libraries":     `l<library-list-svr4 version="1.0" main-lm="0x1"><library name="/lib/libc.so.6" lm="0x2" l_addr="0x7f0000000000" l_ld="0x7f00001d0b80"/></library-list-svr4>`,
		"qXfer:exec-file":     "l/sbin/daemon",
		"?":                   "T0bthread:p1f.1f;core:0;",
		"g":                   "00e0ffffff7f0000" + "3412400000000000",
		"D;1f":                "OK",
	}, []string{"D;1f"}},
	"kgdb": {map[string]string{"qSupported": "", "?": "S05", "qfThreadInfo": "m01,02,-1", "qsThreadInfo": "l", "Hg": "OK",
		"qThreadExtraInfo,01": "696e6974", "g": strings.Repeat("00", 38*4), "D": "OK"}, []string{"D"}},
}

// TestDialects: what each server tells is read, and it is left as it wants to be left.
func TestDialects(t *testing.T) {
	said := make(map[string]*input.Stopped)
	for name, d := range dialects {
		var requests []string
		c, err := patient(t.Context(), noted{serve(t, d.answers), &requests}, nil, time.Second)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		e := env()
		if name == "kgdb" { // which tells nothing of the processor
			e.Files = input.NewFiles(input.FileOptions{Archs: e.Archs, Raw: arch(t)})
		}
		p, err := c.stopped(name, e)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said[name] = p
		if err := c.Leave(Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(requests) - len(d.leaves); n < 0 || strings.Join(requests[n:], " ") != strings.Join(d.leaves, " ") {
			t.Errorf("%s: left by %q", name, requests)
		}
	}
	if p := said["OpenOCD"]; len(p.Threads) != 2 || p.Threads[0].Name != "Name: idle" || p.Threads[1].Name != "net" || !p.Arch.Micro() ||
		len(p.Readable) != 1 || p.Threads[0].Regs.Val[arm.MSP] != 0x20001000 || p.Threads[0].Regs.Val[arm.SP] != 0x20000000 {
		t.Errorf("OpenOCD: %+v", p)
	}
	if p := said["gdbserver"]; p.PID != 31 || p.Exec != "/sbin/daemon" || len(p.Libraries) != 1 || p.Libraries[0].Bias != 0x7f0000000000 ||
		p.Fault == nil || p.Fault.Name != "SIGSEGV" || p.Fault.Thread != 31 || !p.Threads[0].Crashed || p.Threads[0].Regs.Val[p.Arch.PC] != 0x401234 {
		t.Errorf("gdbserver: %+v", p)
	}
	if p := said["kgdb"]; len(p.Threads) != 2 || p.Threads[0].Name != "init" || p.Threads[0].ID != 1 {
		t.Errorf("kgdb: %+v", p)
	}
}

// noted remembers what is sent.
type noted struct {
	Transport
	requests *[]string
}

func (n noted) Write(b []byte) (int, error) {
	if request, ok := strings.CutPrefix(string(b), "$"); ok {
		*n.requests = append(*n.requests, request[:strings.LastIndex(request, "#")])
	}
	return n.Transport.Write(b)
}
