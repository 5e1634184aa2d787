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
	"github.com/backsight/backsight/cpu/arm"
	"github.com/backsight/backsight/cpu/mips"
	"github.com/backsight/backsight/cpu/x86"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/image/elf"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/input/elfcore"
	"github.com/backsight/backsight/input/rtos"
	"github.com/backsight/backsight/input/vmcore"
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
	if n, err := (pager{c}).ReadPage(0, make([]byte, 8)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
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
