package elfcore_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// numbered is a block of n words, each its own number.
func numbered(n int) (b []byte) {
	for i := range n {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return b
}

func put(b []byte, at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }

// netBSDCore is a core of two threads of which the second in the file's order, LWP 1, crashed.
func netBSDCore(t testing.TB, arch string, getRegs uint32, words int) *synth {
	info := make([]byte, 160)
	put(info, 8, 10)
	put(info, 80, 622)
	copy(info[124:], "sensor")
	put(info, 156, 1)
	return newCore(archNamed(t, arch, "", false)).owned("NetBSD-CORE", 1, info).owned("NetBSD-CORE", 2, nil).
		owned("NetBSD-CORE@2", getRegs, numbered(words)).owned("NetBSD-CORE@2", getRegs+2, make([]byte, 512)).
		owned("NetBSD-CORE@1", getRegs, numbered(words))
}

// freeBSDCore is a core of one thread.
func freeBSDCore(t testing.TB, arch string, words int) *synth {
	c := newCore(archNamed(t, arch, "", false))
	status := append(make([]byte, 48), numbered(words)...)
	put(status, 36, 11)
	put(status, 40, 100123)
	info := make([]byte, 120)
	copy(info[16:], "crasher")
	copy(info[33:], "./crasher -v")
	put(info, 116, 812)
	return c.owned("FreeBSD", 3, info).owned("FreeBSD", 1, status).owned("FreeBSD", 7, append([]byte("worker"), make([]byte, 18)...))
}

// openBSDCore is a core of two threads of which the first crashed.
func openBSDCore(t testing.TB, arch string, words int) *synth {
	info := make([]byte, 104)
	put(info, 8, 11)
	put(info, 32, 733)
	copy(info[72:], "sorter")
	return newCore(archNamed(t, arch, "", false)).owned("OpenBSD", 10, info).owned("OpenBSD", 11, nil).
		owned("OpenBSD@412", 20, numbered(words)).owned("OpenBSD@412", 21, make([]byte, 512)).owned("OpenBSD@413", 20, numbered(words))
}

// vmEntry is struct kinfo_vmentry of a mapped file.
func vmEntry(lo, hi, off uint64, path string) []byte {
	b := append(make([]byte, 136), path+"\x00"...)
	b = pad(b, 8)
	put(b, 0, uint32(len(b)))
	for i, v := range []uint64{lo, hi, off} {
		binary.LittleEndian.PutUint64(b[8+8*i:], v)
	}
	return b
}

// TestBSD: registers, who crashed of what, and names of NetBSD's, FreeBSD's and OpenBSD's cores. Signals have BSD's numbers: 10 is SIGBUS.
func TestBSD(t *testing.T) {
	for _, tt := range []struct {
		name, system string
		core         *synth
		pc, sp       uint64
		thread       int
		want         target.Fault
		command      string
	}{
		{"NetBSD, x86-64", "NetBSD", netBSDCore(t, "x86_64", 33, 26), 21, 24, 1, target.Fault{Signal: 10, Name: "SIGBUS", Thread: 1}, "sensor"},
		{"NetBSD, AArch64", "NetBSD", netBSDCore(t, "aarch64", 32, 35), 32, 31, 1, target.Fault{Signal: 10, Name: "SIGBUS", Thread: 1}, "sensor"},
		{"FreeBSD, x86-64", "FreeBSD", freeBSDCore(t, "x86_64", 22), 17, 20, 0, target.Fault{Signal: 11, Name: "SIGSEGV", Thread: 100123}, "./crasher -v"},
		{"FreeBSD, AArch64", "FreeBSD", freeBSDCore(t, "aarch64", 34), 32, 31, 0, target.Fault{Signal: 11, Name: "SIGSEGV", Thread: 100123}, "./crasher -v"},
		{"OpenBSD, x86-64", "OpenBSD", openBSDCore(t, "x86_64", 24), 16, 15, 0, target.Fault{Signal: 11, Name: "SIGSEGV", Thread: 412}, "sorter"},
	} {
		snap := mustRead(t, tt.core)
		th := &snap.Threads[tt.thread]
		pc, _, _ := snap.Arch.PCOf(&th.Regs)
		if sp := th.Regs.Val[snap.Arch.SP]; pc != tt.pc || sp != tt.sp || !th.Crashed {
			t.Errorf("%s: pc %d, sp %d, crashed %t", tt.name, pc, sp, th.Crashed)
		}
		if snap.OS != tt.system || snap.Fault == nil || *snap.Fault != tt.want || snap.Command != tt.command {
			t.Errorf("%s: %s, %q, fault %+v", tt.name, snap.OS, snap.Command, snap.Fault)
		}
	}
	if snap := mustRead(t, freeBSDCore(t, "x86_64", 22)); snap.Threads[0].Name != "worker" || snap.PID != 812 {
		t.Errorf("thread %q of process %d", snap.Threads[0].Name, snap.PID)
	}
}

// TestFreeBSDMappings: NT_PROCSTAT_VMMAP and NT_PROCSTAT_AUXV lead to the binaries, as NT_FILE and NT_AUXV do on Linux.
func TestFreeBSDMappings(t *testing.T) {
	c := freeBSDCore(t, "x86_64", 22)
	c.load(0x5555_0000, 0x1000, nil, 5)
	c.owned("FreeBSD", 10, append(binary.LittleEndian.AppendUint32(nil, 144), append(vmEntry(0x5555_0000, 0x5555_1000, 0, "/bin/crasher"), vmEntry(0x6000, 0x7000, 0, "")...)...))
	c.owned("FreeBSD", 16, c.words(c.u32(nil, 16), 9, 0x5555_0040, 0, 0))
	snap := mustRead(t, c)
	if len(snap.Modules) != 1 || snap.Modules[0].Name != "/bin/crasher" || !snap.Modules[0].Contains(0x5555_0fff) {
		t.Errorf("modules %+v", snap.Modules)
	}
}

// TestRefusedByName: what is not read says what it is.
func TestRefusedByName(t *testing.T) {
	x32 := newCore(archNamed(t, "i386", "", false)).thread(1, 11, 0).bytes()
	binary.LittleEndian.PutUint16(x32[18:], 62)
	for want, data := range map[string][]byte{
		"a core of an x32 program": x32,
		"a core of NetBSD for riscv64 lp64d little-endian, whose registers": newCore(archNamed(t, "riscv64", "", false)).owned("NetBSD-CORE@1", 33, numbered(33)).bytes(),
		"a core of OpenBSD for aarch64 little-endian, whose registers":      openBSDCore(t, "aarch64", 34).bytes(),
		// Solaris writes the notes of System V, too, with registers of its own: 360 bytes of i386, which Linux has 68 of.
		"a core of Solaris or illumos for i386 little-endian, whose registers": newCore(archNamed(t, "i386", "", false)).note(1, make([]byte, 432)).note(10, make([]byte, 1136)).bytes(),
	} {
		if _, err := read(t, data, input.FileOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestHealthyProcess: gcore of a process that no signal ended leaves pr_cursig 0, or what stopped the process for GDB. Nothing crashed.
func TestHealthyProcess(t *testing.T) {
	for signal, crashed := range map[uint32]bool{0: false, 19: false, 11: true, 34: true} {
		snap := mustRead(t, newCore(archNamed(t, "x86_64", "", false)).thread(1, signal, 0).thread(2, 0, 0))
		if snap.Threads[0].Crashed != crashed || (snap.Fault != nil) != crashed || snap.Threads[1].Crashed {
			t.Errorf("signal %d: thread crashed %t, fault %+v", signal, snap.Threads[0].Crashed, snap.Fault)
		}
	}
}

// TestArchive: libraries that were mapped out of one archive are found where they begin in it, each by its own parts.
func TestArchive(t *testing.T) {
	lib, err := os.ReadFile(recorded.Testdata(t, "x86_64-threads/modules/usr/lib/libtree.so"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	second := pad(append(make([]byte, 0x4000), lib...), 0x1000)
	apk := append(append([]byte(nil), second...), lib...)
	if err := os.WriteFile(filepath.Join(root, "base.apk"), apk, 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCore(archNamed(t, "x86_64", "", false)).thread(1, 11, 0)
	var words []uint64
	for _, at := range []struct{ addr, off uint64 }{{0x7000_0000, 0x4000}, {0x7100_0000, uint64(len(second))}} {
		for part := uint64(0); part < 0x4000; part += 0x1000 {
			words = append(words, at.addr+part, at.addr+part+0x1000, (at.off+part)/0x1000)
			c.load(at.addr+part, 0x1000, nil, [...]uint32{4, 5, 4, 6}[part/0x1000])
		}
	}
	n := uint64(len(words) / 3)
	c.note(0x46494c45, append(c.words(nil, append([]uint64{n, 0x1000}, words...)...), strings.Repeat("/base.apk\x00", int(n))...))
	snap, err := read(t, c.bytes(), input.FileOptions{Sysroots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	for i, bias := range []uint64{0x7000_0000, 0x7100_0000} {
		if len(snap.Modules) != 2 || snap.Modules[i].Name != "/base.apk!libtree.so" || snap.Modules[i].Bias != bias {
			t.Fatalf("modules %+v, issues %v", snap.Modules, snap.Issues)
		}
	}
}
