package espcore

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/internal/sha256"
	"github.com/backsight/backsight/target"
)

// snapshot is the dump as a stopped program; why says what keeps it from being one.
func (d *dump) snapshot(env *input.Env) (snap *target.Snapshot, why string) {
	name := "riscv32"
	if d.machine == machineXtensa {
		name = "xtensa"
	}
	hint, _ := env.Archs.ByName(name, "", false)
	p := firmware.Open(env, hint)
	if p.Arch == nil {
		return nil, "a core dump of a chip with " + name + ", a processor that is not supported"
	}
	var b target.Builder
	for _, s := range d.segments {
		b.Add(s.addr, s.bytes, 0, target.PermUnknown)
	}
	snap = &target.Snapshot{Arch: p.Arch, OS: "ESP-IDF", Modules: p.Modules, Issues: p.Issues, Memory: b.Memory(p.Arch)}
	for _, text := range append(d.issues, d.otherBuild(env)...) {
		snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueCapture, Text: text})
	}
	d.addROM(snap)
	snap.SortModules()
	for i := range d.tasks {
		snap.Threads = append(snap.Threads, d.thread(i, snap))
	}
	snap.Fault = d.fault()
	return snap, ""
}

// crashedTask is the index of the task that crashed, which the dump names, or has first.
func (d *dump) crashedTask() int {
	for i, t := range d.tasks {
		if t.block == d.crashed {
			return i
		}
	}
	return 0
}

// thread is task i.
func (d *dump) thread(i int, snap *target.Snapshot) target.Thread {
	t := &d.tasks[i]
	th := target.Thread{ID: i, Name: d.name(i, snap.Memory), Crashed: i == d.crashedTask()}
	if d.machine == machineXtensa {
		th.Regs, th.Listed = t.windowed(snap)
	} else {
		th.Regs = registers(snap.Arch, t)
	}
	return th
}

// registers are a task's: the PC in the place of x0, then x1 to x31.
func registers(arch *cpu.Arch, t *task) (regs cpu.Registers) {
	for n, v := range t.regs {
		if reg, ok := arch.RegByName(fmt.Sprintf("x%d", n)); ok && n > 0 {
			regs.Set(reg, uint64(v))
		}
	}
	regs.Set(arch.PC, uint64(t.regs[0]))
	return regs
}

// nameAt is where FreeRTOS' control block has a task's name: behind the top of the stack, two items of lists, the priority and
// the stack's beginning (tasks.c, TCB_t).
const nameAt, nameLen = 13 * 4, 16

// name is the name of task i, in front of which stands that the handler of an interrupt crashed.
func (d *dump) name(i int, mem *target.Memory) string {
	block := d.tasks[i].block
	raw := make([]byte, nameLen)
	raw = raw[:mem.Read(uint64(block)+nameAt, raw)]
	name := text(raw)
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		name = fmt.Sprintf("task %#x", block)
	}
	if d.handler && i == d.crashedTask() {
		name = "handler of an interrupt, in " + name
	}
	return name
}

// addROM adds the chip's ROM as a binary without a file, unless the user named one that lies there.
func (d *dump) addROM(snap *target.Snapshot) {
	if d.chip == nil || d.chip.rom.Lo == d.chip.rom.Hi {
		return
	}
	rom := d.chip.rom
	for _, m := range snap.Modules {
		for _, s := range m.Image.Segments {
			if lo := m.ToTarget(s.Addr); s.Size > 0 && lo < rom.Hi && rom.Lo < lo+s.Size {
				return
			}
		}
	}
	snap.Modules = append(snap.Modules, &target.Module{Name: "ROM of the " + d.chip.name, Range: rom})
}

// otherBuild says where the program's ELF file is none of the one that ran, by the SHA-256 that the device knows. A file that
// was stripped since has another, too, so that the file is used all the same.
func (d *dump) otherBuild(env *input.Env) (issues []string) {
	path := env.Files.Exe()
	if d.sha == "" || path == "" {
		return nil
	}
	f, err := env.Files.Disk().Open(path)
	if err != nil {
		return nil // said where the binary is opened
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return []string{path + ": " + err.Error()}
	}
	if own := hex.EncodeToString(sum.Sum(nil)); !strings.HasPrefix(own, d.sha) {
		return []string{fmt.Sprintf("%s: its SHA-256 begins with %s, the one that ran has %s: another build, or the file was changed since",
			path, own[:min(len(own), len(d.sha))], d.sha)}
	}
	return nil
}
