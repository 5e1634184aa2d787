package processes

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/paging"
	"github.com/backsight/backsight/internal/synth/kernels"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

var names = []string{"swapper/0", "init", "kthreadd", "netd", "httpd"}

// kernelOf is a machine's kernel, and its tasks.
func kernelOf(m *kernels.Machine) (*Kernel, []tasks.Task) {
	arch := arm64.Archs()[0]
	var b, physical target.Builder
	b.Add(kernels.Linear, m.RAM, 0, target.PermRead|target.PermWrite)
	physical.Add(kernels.RAMBase, m.RAM, 0, target.PermUnknown)
	k := &Kernel{Arch: arch, Memory: b.Memory(arch), Physical: physical.Memory(arch), Schemes: []paging.Scheme{paging.AArch64(12, 48, false).User()},
		At: func(va uint64) (uint64, bool) {
			return va - kernels.Linear + kernels.RAMBase, va-kernels.Linear < kernels.RAMSize
		}}
	k.Compat, _ = cpu.Set(arm.Archs()).ByName("arm", "", false)
	var list []tasks.Task
	for pid, name := range names {
		comm, lo, hi := m.Address(name)
		list = append(list, tasks.Task{Comm: name, At: comm, PID: pid, Stack: target.Range{Lo: lo, Hi: hi}})
	}
	return k, list
}

// TestFind: what two programs map, and where they entered the kernel, by a list of mappings and by a tree.
func TestFind(t *testing.T) {
	for _, maple := range []bool{false, true} {
		m := kernels.NewMachine(names...)
		m.Run(&kernels.Program{Task: "netd", Path: "/bin/netd", Maple: maple})
		m.Run(&kernels.Program{Task: "httpd", Path: "/usr/sbin/httpd", Maple: maple})
		k, list := kernelOf(m)
		found, err := Find(t.Context(), k, list)
		if err != nil || len(found) != 2 {
			t.Fatalf("maple %t: %d processes, %v", maple, len(found), err)
		}
		p := &found[1]
		want := []Mapping{
			{target.Range{Lo: kernels.ProgramHead, Hi: kernels.ProgramData}, target.PermRead | target.PermExec, 0, "/usr/sbin/httpd"},
			{target.Range{Lo: kernels.ProgramData, Hi: kernels.ProgramData + 4096}, target.PermRead | target.PermWrite, 0x2000, "/usr/sbin/httpd"},
			{target.Range{Lo: kernels.ProgramStack, Hi: kernels.ProgramStack + 4096}, target.PermRead | target.PermWrite, 0, ""},
		}
		if !slices.Equal(p.Maps, want) {
			t.Errorf("maple %t: %+v", maple, p.Maps)
		}
		if !slices.Equal(p.Tasks, []int{4}) || p.Word != 8 || p.Aux(k.Arch, atEntry) != kernels.ProgramCode {
			t.Errorf("maple %t: tasks %v, words of %d bytes, entry %#x", maple, p.Tasks, p.Word, p.Aux(k.Arch, atEntry))
		}
		_, resume := (&kernels.Program{}).Functions()
		if pc := p.Regs[0].Val[k.Arch.PC]; pc != resume["level2"] {
			t.Errorf("maple %t: PC %#x, want %#x", maple, pc, resume["level2"])
		}
		if pa, ok := p.Tables.Translate(kernels.ProgramHead); !ok || string(m.RAM[pa-kernels.RAMBase:][:4]) != "\x7fELF" {
			t.Errorf("maple %t: the program's head at %#x, %t", maple, pa, ok)
		}
	}
}

// TestFindByTypes: the kernel's types are asked first, and wrong ones do not lead astray.
func TestFindByTypes(t *testing.T) {
	m := kernels.NewMachine(names...)
	m.Run(&kernels.Program{Task: "netd", Path: "/bin/netd"})
	for _, wrong := range []uint64{0, 24} {
		k, list := kernelOf(m)
		asked := 0
		k.Types = func(structure string, path ...string) (uint64, bool) {
			asked++
			off, ok := map[string]uint64{"task_struct comm": 128, "task_struct mm": 112, "mm_struct mmap": 0, "mm_struct saved_auxv": 0x160, "vm_area_struct vm_mm": 32,
				"vm_area_struct vm_flags": 48, "vm_area_struct vm_pgoff": 96, "file f_path": 64, "mm_struct pgd": 72}[structure+" "+path[0]]
			return off + wrong, ok
		}
		found, err := Find(t.Context(), k, list)
		if err != nil || len(found) != 1 || len(found[0].Maps) != 3 || found[0].Maps[0].Path != "/bin/netd" || asked == 0 {
			t.Errorf("wrong by %d: %+v, %v, asked %d times", wrong, found, err, asked)
		}
	}
}

// TestNarrow: a 32-bit program on a 64-bit kernel has its own processor's registers.
func TestNarrow(t *testing.T) {
	m := kernels.NewMachine(names...)
	m.Run(&kernels.Program{Task: "netd", Path: "/bin/netd", Narrow: true})
	k, list := kernelOf(m)
	found, err := Find(t.Context(), k, list)
	if err != nil || len(found) != 1 || found[0].Word != 4 {
		t.Fatalf("%+v, %v", found, err)
	}
	_, resume := (&kernels.Program{}).Functions()
	regs := &found[0].Regs[0]
	if regs.Val[k.Compat.PC] != resume["level2"] || regs.Val[k.Compat.LR] != resume["level1"] || regs.Val[k.Compat.SP]>>12<<12 != kernels.ProgramStack {
		t.Errorf("PC %#x, LR %#x, SP %#x", regs.Val[k.Compat.PC], regs.Val[k.Compat.LR], regs.Val[k.Compat.SP])
	}
	var wide cpu.Registers
	amd64, i386 := x86.Archs()[0], x86.Archs()[1]
	for i := range amd64.Regs {
		wide.Set(cpu.Reg(i), 0xffff_ffff_0000_0000+uint64(i))
	}
	got := narrow(&wide, amd64, i386)
	for _, name := range []string{"eax", "ebx", "esp", "ebp", "edi", "eip"} {
		from, _ := amd64.RegByName("r" + name[1:])
		to, _ := i386.RegByName(name)
		if v, ok := got.Lookup(to); !ok || v != uint64(from) {
			t.Errorf("%s: %#x, known %t; want %#x", name, v, ok, from)
		}
	}
}

// TestRunning: a task that ran its program has its processor's registers, one that ran in the kernel has none of the program.
func TestRunning(t *testing.T) {
	p := &Process{Word: 8, Maps: []Mapping{{Range: target.Range{Lo: 0x1000, Hi: 0x2000}, Perm: target.PermExec}, {Range: target.Range{Lo: 0x2000, Hi: 0x3000}, Perm: target.PermWrite}}}
	armv7, _ := cpu.Set(arm.Archs()).ByName("arm", "", false)
	for _, c := range []struct {
		name           string
		arch, compat   *cpu.Arch
		word           int
		pc, sp, status uint64
		want           bool
	}{
		{"x86-64, the program", x86.Archs()[0], nil, 8, 0x1800, 0x2800, 0, true},
		{"x86-64, the kernel", x86.Archs()[0], nil, 8, 0xffff_ffff_8000_0000, 0xffff_c900_0000_0000, 0, false},
		{"x86-64, i386", x86.Archs()[0], x86.Archs()[1], 4, 0x1800, 0x2800, 0, true},
		{"arm, the kernel's helper", armv7, nil, 4, 0xffff_0fc0, 0x2800, 0x10, true},
		{"arm, the kernel", armv7, nil, 4, 0xc000_0000, 0xc100_0000, 0x13, false},
		{"arm64, AArch32", arm64.Archs()[0], armv7, 4, 0x1800, 0, 0x30, true},
		{"arm64, the kernel", arm64.Archs()[0], armv7, 4, 0xffff_8000_0800_0000, 0, 5, false},
	} {
		var regs cpu.Registers
		regs.Set(c.arch.PC, c.pc)
		regs.Set(c.arch.SP, c.sp)
		if r := statusOf(c.arch); r != cpu.NoReg {
			regs.Set(r, c.status)
		}
		p.Word = c.word
		k := &Kernel{Arch: c.arch, Compat: c.compat}
		got, runs := k.Running(p, &regs)
		arch := c.arch
		if c.compat != nil {
			arch = c.compat
		}
		if runs != c.want || runs && got.Val[arch.PC] != c.pc {
			t.Errorf("%s: %t, PC %#x", c.name, runs, got.Val[arch.PC])
		}
		if arch == armv7 && got.Val[arch.Status] != c.status {
			t.Errorf("%s: CPSR %#x, want %#x", c.name, got.Val[arch.Status], c.status)
		}
	}
}

// TestWithout: a kernel whose memory has no programs has none; a search that is broken off says so.
func TestWithout(t *testing.T) {
	m := kernels.NewMachine(names...)
	k, list := kernelOf(m)
	if found, err := Find(t.Context(), k, list); !errors.Is(err, ErrNone) {
		t.Errorf("%+v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, err := Find(ctx, k, list); found != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", found, err)
	}
}

// treeOf is a finder over nodes of a maple tree of 4-byte or 8-byte words.
func treeOf(t testing.TB, word int, memory []byte) *finder {
	arch := arm64.Archs()[0]
	if word == 4 {
		arch, _ = cpu.Set(arm.Archs()).ByName("arm", "", false)
	}
	var b target.Builder
	b.Add(treeAt(word), memory, 0, target.PermRead|target.PermWrite)
	f := &finder{reader: reader{Kernel: &Kernel{Arch: arch, Memory: b.Memory(arch)}, ctx: t.Context(), word: uint64(word)}, maple: true}
	f.work.Add(leastWork)
	return f
}

// treeAt is where such a tree lies.
func treeAt(word int) uint64 { return 1<<(8*word-1) + 0x10000 }

// TestMapleTree: nodes of both kinds and word sizes; what is left over behind the last entry of a node is no mapping, nor is what
// does not lie where its node says.
func TestMapleTree(t *testing.T) {
	const mm, vmas = 0x1234, 0x4000
	for _, word := range []int{4, 8} {
		memory := make([]byte, 0x8000)
		put := func(at, v uint64) {
			if word == 4 {
				binary.LittleEndian.PutUint32(memory[at:], uint32(v))
			} else {
				binary.LittleEndian.PutUint64(memory[at:], v)
			}
		}
		w := uint64(word)
		mapping := func(n, lo, hi uint64) uint64 {
			at := vmas + 256*n
			put(at, lo)
			put(at+w, hi)
			put(at+4*w, mm)
			return treeAt(word) + at
		}
		f := treeOf(t, word, memory)
		leaf, gaps := f.slots(mapleLeaf), f.slots(mapleGaps)
		put(0x100+w, 0xffff) // the root: two children, up to 0xffff and behind
		put(0x100+gaps*w, treeAt(word)+0x200|mapleLeaf<<3|4)
		put(0x100+(gaps+1)*w, treeAt(word)+0x300|mapleLeaf<<3|4)
		for i, last := range []uint64{0x2fff, 0x4fff, 0x7fff, 0xffff} {
			put(0x200+(1+uint64(i))*w, last)
		}
		put(0x200+(leaf+1)*w, mapping(0, 0x3000, 0x5000))
		put(0x200+(leaf+2)*w, mapping(1, 0x6000, 0x8000)) // begins elsewhere
		put(0x200+(leaf+4)*w, mapping(2, 0x1000, 0x2000)) // left over
		put(0x300+w, 0x1ffff)
		put(0x300+leaf*w, mapping(3, 0x10000, 0x20000))
		var list []vma
		f.node(mm, treeAt(word)+0x100|mapleGaps<<3|2, 0, ^uint64(0)>>(64-8*word), 0, &list)
		var got []target.Range
		for _, v := range list {
			got = append(got, v.Range)
		}
		want := []target.Range{{Lo: 0x3000, Hi: 0x5000}, {Lo: 0x10000, Hi: 0x20000}}
		if !slices.Equal(got, want) {
			t.Errorf("words of %d bytes: %#x, want %#x", word, got, want)
		}
	}
}

// TestCircles: trees and lists that lead back to themselves end, and cost what the memory is worth.
func TestCircles(t *testing.T) {
	memory := make([]byte, 0x1000)
	at := treeAt(8)
	for slot := range uint64(16) { // a node all of whose entries are the node
		binary.LittleEndian.PutUint64(memory[0x100+8*(1+slot):], (slot+1)<<56)
		binary.LittleEndian.PutUint64(memory[0x100+8*(16+slot):], at+0x100|mapleRange<<3|4)
	}
	binary.LittleEndian.PutUint64(memory[0x400:], 0x1000) // a mapping that is its own successor
	binary.LittleEndian.PutUint64(memory[0x408:], 0x2000)
	binary.LittleEndian.PutUint64(memory[0x410:], at+0x400)
	binary.LittleEndian.PutUint64(memory[0x420:], 0x1234)
	f := treeOf(t, 8, memory)
	var list []vma
	f.node(0x1234, at+0x100|mapleRange<<3|2, 0, ^uint64(0), 0, &list)
	f.chain(0x1234, at+0x400, &list)
	if len(list) != 1 {
		t.Errorf("%d mappings", len(list))
	}
}

// FuzzFind changes words of the memory of programs and of what the kernel knows of them.
func FuzzFind(f *testing.F) {
	m := kernels.NewMachine(names...)
	begin := len(m.RAM)
	for begin > 8 && binary.LittleEndian.Uint64(m.RAM[begin-8:]) == 0 {
		begin -= 8
	}
	m.Run(&kernels.Program{Task: "netd", Path: "/bin/netd", Maple: true})
	m.Run(&kernels.Program{Task: "httpd", Path: "/usr/sbin/httpd", Maple: true})
	k, list := kernelOf(m)
	f.Add(uint16(0), uint64(0), uint16(8), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, at1 uint16, v1 uint64, at2 uint16, v2 uint64) {
		places := [...][]byte{m.RAM[begin-256:][int(at1)*8%(64<<10):][:8], m.RAM[begin-256:][int(at2)*8%(64<<10):][:8]}
		var was [len(places)]uint64
		for i, v := range []uint64{v1, v2} {
			was[i] = binary.LittleEndian.Uint64(places[i])
			binary.LittleEndian.PutUint64(places[i], v)
		}
		found, _ := Find(t.Context(), k, list)
		for i := range found {
			for n := 1; n < len(found[i].Maps); n++ {
				if found[i].Maps[n].Lo < found[i].Maps[n-1].Hi {
					t.Errorf("mappings overlap: %+v", found[i].Maps)
				}
			}
		}
		for i := len(places) - 1; i >= 0; i-- {
			binary.LittleEndian.PutUint64(places[i], was[i])
		}
	})
}
