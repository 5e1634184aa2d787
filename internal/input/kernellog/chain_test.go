package kernellog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// TestBadPC: where a call went through a bad pointer, arm64's chain begins with the PC, which no
// symbol names. It is one frame, and the link register has the next one.
func TestBadPC(t *testing.T) {
	snaps := snapshots(t, `
Internal error: Oops: 0000000086000006 [#1] SMP
CPU: 0 PID: 99 Comm: sh Not tainted 6.1.0-test #1
pstate: 00000005 (nzcv daif -PAN -UAO -TCO -DIT -SSBS BTYPE=--)
pc : 0x12345678
lr : call_ptr+0x2c/0x40 [toy]
sp : ffff80000825bb40
x29: ffff80000825bb40 x28: ffff0ac4431e8000 x27: 0000000000000000
Call trace:
 0x12345678
 caller+0x18/0x30 [toy]
 el0t_64_sync+0x18c/0x190`)
	if got, want := chainOf(&snaps[0].Threads[0]), "! call_ptr caller el0t_64_sync."; got != want {
		t.Errorf("chain %q, want %q", got, want)
	}
}

// TestNameOfNextFunction: a function that calls what never returns ends with the call, and arm64
// names the return address after the next function. Without the module's file nobody knows whose
// call it was.
func TestNameOfNextFunction(t *testing.T) {
	snaps := snapshots(t, `
Kernel panic - not syncing: die_now
CPU: 0 PID: 97 Comm: sh Not tainted 6.1.0-6-arm64 #1
Call trace:
 panic+0x184/0x364
 next+0x0/0x28 [toy]
 caller+0x18/0x180 [toy]
 el0t_64_sync+0x18c/0x190
---[ end Kernel panic - not syncing: die_now ]---`)
	if got, want := chainOf(&snaps[0].Threads[0]), "panic  caller el0t_64_sync."; got != want {
		t.Errorf("chain %q, want %q", got, want)
	}
}

// TestGapsOfTracers: each entry that is a tracer's trampoline stands for a frame that nobody knows;
// a word left over from a tracer, which x86 doubts, stands for none.
func TestGapsOfTracers(t *testing.T) {
	for _, c := range []struct {
		stale string
		gap   bool
	}{{"", true}, {"? ", false}} {
		snaps := snapshots(t, `
Kernel panic - not syncing: sysrq triggered crash
CPU: 0 UID: 0 PID: 1 Comm: init Not tainted 6.12.107+deb13-riscv64 #1
Call Trace:
[<ffffffff80a5b90c>] panic+0x11a/0x35a
[<ffffffff8000cac4>] `+c.stale+`return_to_handler+0x0/0x26
[<ffffffff80314de4>] vfs_write+0xaa/0x3ba
[<ffffffff80314f00>] ksys_write+0x6a/0xf0
---[ end Kernel panic - not syncing: sysrq triggered crash ]---`)
		l := snaps[0].Threads[0].Listed
		if len(l) != 4 || l[1].Gap || l[2].Gap != c.gap || l[3].Gap {
			t.Errorf("%q: %+v", c.stale, l)
		}
		if said := fmt.Sprint(snaps[0].Issues); strings.Contains(said, "panic returns to a tracer") != c.gap {
			t.Errorf("%q: %s", c.stale, said)
		}
	}
}

// functions are an image's, sorted by address.
type functions struct {
	image.Container
	list []image.Symbol
}

func (f functions) SymbolAt(addr uint64) (image.Symbol, bool) {
	for _, s := range f.list {
		if addr-s.Addr < s.Size {
			return s, true
		}
	}
	return image.Symbol{}, false
}

func (f functions) SymbolNamed(name string) (image.Symbol, bool) {
	for _, s := range f.list {
		if s.Name == name {
			return s, true
		}
	}
	return image.Symbol{}, false
}

func (f functions) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	for _, s := range f.list {
		if !yield(s.Addr, 0, s.Size) {
			return
		}
	}
}

// TestSizesOfFunctions: a kernel's size of a function reaches to the next symbol, which behind the
// last function of a section may be far off. A size within which another function begins is that of
// another build.
func TestSizesOfFunctions(t *testing.T) {
	img := image.New(image.Header{}, functions{list: []image.Symbol{
		{Name: "first", Addr: 0x1000, Size: 0x18}, {Name: "same", Addr: 0x1020, Size: 0x20}, {Name: "last", Addr: 0x1040, Size: 0x18},
		{Name: "same", Addr: 0x1200, Size: 0x80},
	}})
	for _, c := range []struct {
		p    place
		want uint64
	}{
		{place{symbol: "first", offset: 4, size: 0x20}, 0x1004},
		{place{symbol: "first", offset: 4, size: 0x100}, 0},
		{place{symbol: "last", offset: 4, size: 0x1c0}, 0x1044},
		{place{symbol: "last", offset: 4, size: 0x10}, 0},
		{place{symbol: "same", offset: 4, size: 0x80}, 0x1204},
	} {
		s := symbols{known: map[symbolKey]symbolAt{}}
		if addr, ok := s.addressOf(img, &c.p); ok != (c.want != 0) || ok && addr != c.want {
			t.Errorf("%s+%#x/%#x is at %#x, %v; want %#x", c.p.symbol, c.p.offset, c.p.size, addr, ok, c.want)
		}
	}
}

// TestLostLettersOfNames: a name that the file of the kernel does not have lost letters, and is a
// guess. A file without symbols says nothing of names.
func TestLostLettersOfNames(t *testing.T) {
	named := &target.Module{Name: "vmlinux", Image: image.New(image.Header{}, functions{list: []image.Symbol{{Name: "ksys_write", Addr: 0x1000, Size: 0x18}}})}
	stripped := &target.Module{Name: "vmlinux", Image: image.New(image.Header{}, functions{})}
	for _, c := range []struct {
		name   string
		kernel *target.Module
		want   bool
	}{{"ksys_write", named, false}, {"te", named, true}, {"te", stripped, false}, {"te", nil, false}} {
		b := binaries{kernel: c.kernel}
		if got := b.lacksName(&place{symbol: c.name}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestSources: the source of an entry may stand behind it.
func TestSources(t *testing.T) {
	const log = `CPU: 1 UID: 0 PID: 159 Comm: sh Not tainted 6.12.0 #1
Call Trace:
[<ffffffff80002a88>] vpanic+0x108/0x2bc (../kernel/panic.c:651)
[<ffffffff02763240>] __riscv_sys_toy+0x12e/0x228 [toy] (../toy.c:7)
[<ffffffff80b3e868>] do_trap_ecall_u+0x260/0x45c (../arch/riscv/include/asm/syscall.h:112)
[<ffffffff80b4c034>] _new_label+0x168/0x174 (../arch/riscv/kernel/entry.S:233)
`
	listed := snapshots(t, log)[0].Threads[0].Listed
	if len(listed) != 4 || listed[0].File != "../kernel/panic.c" || listed[0].Line != 651 || listed[1].Module != "toy" || listed[1].Line != 7 || !listed[3].Outermost {
		t.Errorf("%+v", listed)
	}
}

// TestSizeOfBrokenLine: the end of a line that was broken within an entry is no address, and that entry is missing.
func TestSizeOfBrokenLine(t *testing.T) {
	th := &snapshots(t, strings.Replace(oopses[0].log, " top+0x58/", " top+0x58/\n", 1))[0].Threads[0]
	if got := chainOf(th); got != "leaf! mid el0t_64_sync." || !th.Listed[2].Gap {
		t.Errorf("%s: %+v", got, th.Listed)
	}
}
