package kernellog

import (
	"cmp"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/input/linux"
	"github.com/backsight/backsight/target"
)

// kernelLog is what there is to know of a log, found out once.
type kernelLog struct {
	*scanner
	// machine is that of reports without registers.
	machine *machine
	// found are the binaries of each machine: a log has one.
	found     map[*machine]*binaries
	before    map[*machine]*binaries // those of the part of the log before
	calls     calls
	spellings spellings
	// refused: a report's processor was not known; nobody stands for that.
	refused bool
	nobody  *cpu.Arch
}

func newKernelLog(log *console.Log) *kernelLog {
	k := &kernelLog{scanner: scan(log), found: map[*machine]*binaries{}}
	k.machine, k.calls, k.spellings = processorOfAll(k.records, &k.facts), callsOf(k.records), spellingsOf(k.records)
	if before := partBefore(log); before != nil {
		k.before, k.refused = before.found, before.refused
		if before.machine.known() {
			k.machine = before.machine
		}
	}
	return k
}

// partBefore is what there is to know of the part of the log before, nil where there is none.
func partBefore(log *console.Log) *kernelLog {
	before, _ := log.Before(logKey{}).(*kernelLog)
	return before
}

// report makes a console's report of a record; nil where nobody knows the processor.
func (k *kernelLog) report(r *record, env *input.Env) *console.Report {
	b := k.binaries(r, env)
	if b.arch == nil {
		return nil
	}
	arch := b.arch
	out := &console.Report{Title: r.title(), Arch: arch, OS: "Linux", Modules: b.list(), Issues: b.takeIssues()}
	r.unmixed()
	for _, said := range [...]string{beginsSaid(r), endsSaid(r), tracerSaid(r), lossSaid(r)} {
		if said != "" {
			out.Issues = append(out.Issues, target.Issue{Kind: target.IssueCapture, Text: said})
		}
	}
	if b.kernel != nil {
		out.Hooks = linux.Hooks(b.kernel)
	}
	t := &out.Thread
	t.Crashed = r.crash
	if r.crash {
		out.Fault = faultOf(r)
	}
	t.Regs = registersOf(r, b)
	t.Listed = k.chain(r, b)
	t.Memory = memoryOf(r, arch, &t.Regs)
	if own, ok := ownRegisters(r, t.Listed, b); ok && !t.Regs.Known.Has(arch.PC) {
		t.Regs = own
	}
	if mayServeUser(r) {
		t.Entered = enteredAt(b.machine, arch, &t.Regs)
	}
	if pc, ok := t.Regs.Lookup(arch.PC); ok && r.hasCode {
		out.Issues = append(out.Issues, b.compareCode(&r.code, pc)...)
	}
	return out
}

// binaries are those of a record's machine: as its registers tell, else as the log's other
// records do.
func (k *kernelLog) binaries(r *record, env *input.Env) *binaries {
	m := processorOf(r)
	if !m.known() {
		m = cmp.Or(stated(env), k.machine)
	}
	b := k.found[m]
	if b == nil {
		b = k.find(m, k.before[m], env)
		k.found[m] = b
	}
	return b
}

// stated is the processor that the user stated, or else that of the executable that the user named; nil where neither says.
func stated(env *input.Env) *machine {
	arch := env.Files.Raw()
	if exe := env.Files.Exe(); arch == nil && exe != "" {
		if img, err := env.Files.Open(exe); err == nil {
			arch = img.Arch
		}
	}
	if arch == nil {
		return nil
	}
	if m := machineNamed(arch.Name); m.known() {
		return m
	}
	return nil
}

// faultOf is why a report was made.
func faultOf(r *record) *target.Fault {
	why := r.why
	if pc := pcOf(r); pc != nil && pc.at.module != "" {
		why = append(why, "in "+pc.at.module)
	}
	name := r.reason()
	if len(why) > 0 {
		name += ": " + strings.Join(why, ", ")
	}
	return &target.Fault{Name: name, Address: r.fault.addr, HasAddress: r.fault.known}
}

// registersOf are the registers whose values the record has, or a file.
func registersOf(r *record, b *binaries) (regs cpu.Registers) {
	noPC := b.doubtPC(r)
	for i := range r.regs {
		reg := &r.regs[i]
		n, ok := b.arch.RegByName(reg.name)
		if !ok || n == b.arch.PC && noPC || n != b.arch.PC && reg.known && !b.agrees(reg.value, &reg.at) {
			continue
		}
		if reg.known {
			regs.Set(n, reg.value&b.arch.AddrMask())
		} else if v, ok := b.addressOf(&reg.at); ok && !regs.Known.Has(n) {
			regs.Set(n, v)
		}
	}
	return regs
}

// memoryOf is the memory that the record shows: of the stack, and the code at the PC.
func memoryOf(r *record, arch *cpu.Arch, regs *cpu.Registers) *target.Memory {
	var b target.Builder
	if pc, ok := regs.Lookup(arch.PC); ok && r.hasCode {
		data, at := r.code.bytes(arch.BigEndian)
		b.Add(pc-uint64(at), data, 0, target.PermRead|target.PermExec)
	}
	sp, _ := regs.Lookup(arch.SP)
	r.stack.addTo(&b, arch, sp)
	return b.Memory(arch)
}
