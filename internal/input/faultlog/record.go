package faultlog

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/input/rtos"
	"github.com/backsight/backsight/target"
)

// record is what device/dump.c prints or stores: where a program stands, and bytes of its stack. As text a line has 42
// bytes of the record, the record's sum, by which lines of one record are known, and the line's own sum. The first
// line comes again as the last one.
//
//	bsR1 d2f0 0000 MVJzYg…2gAA 5b0c93d1
//
// Numbers are in the processor's byte order (struct bs_record of device/dump.h):
//
//	magic 4, sum 4, machine 2, size of a register 1, kind 1 (task, Cortex-M), bytes of the stack 2, of the other stack 2,
//	build 1 + 20, name 15; then registers: where the other stack is, SP, PC, LR, and 7 by processor; the two stacks
type record struct {
	tag     string
	pieces  []piece // by offset, each a line: at most maxRecord/recordLine
	damaged int     // lines
}

// piece are bytes of a record.
type piece struct {
	at    int
	bytes []byte
}

const (
	recordMark = "bsR1 "
	recordHead = 52
	recordRegs = 11
	recordLine = 42
)

// takeRecord takes a line of a record. another: the line is of another record. done: the line is the last one.
func (w *words) takeRecord(line string) (took, another, done bool) {
	i := strings.Index(line, recordMark)
	if i < 0 {
		return false, false, false
	}
	tag, p, ok := parseRecordLine(line[i:])
	switch {
	case w.record == nil && !ok:
		return false, false, false // whose it was is not known
	case w.record == nil:
		w.record = &record{tag: tag}
	case ok && tag != w.record.tag:
		return false, true, false
	}
	if !ok {
		w.record.damaged++
		return true, false, false
	}
	done = p.at == 0 && len(w.record.pieces) > 1
	return true, !w.record.add(p), done
}

// parseRecordLine checks a line, which may be longer.
func parseRecordLine(line string) (tag string, p piece, ok bool) {
	f := strings.Fields(line)
	if len(f) < 5 || len(f[1]) != 4 || len(f[4]) != 8 {
		return "", p, false
	}
	sum, err := strconv.ParseUint(f[4], 16, 32)
	checked := strings.Join(f[:4], " ") + " "
	at, bad := strconv.ParseUint(f[2], 16, 16)
	b, broken := base64.RawStdEncoding.DecodeString(f[3])
	if err != nil || bad != nil || broken != nil || at%recordLine != 0 || crc32.ChecksumIEEE([]byte(checked)) != uint32(sum) || len(b) > recordLine {
		return "", p, false
	}
	return f[1], piece{int(at), b}, true
}

// add adds a piece, and tells whether it fits what is there: a record that is printed twice has the same bytes.
func (r *record) add(p piece) bool {
	i, found := slices.BinarySearchFunc(r.pieces, p.at, func(o piece, at int) int { return o.at - at })
	if found {
		return string(r.pieces[i].bytes) == string(p.bytes)
	}
	r.pieces = slices.Insert(r.pieces, i, p)
	return true
}

// bytes are the n bytes at an offset, nil where one of them is lost.
func (r *record) bytes(at, n int) []byte {
	var out []byte
	for _, p := range r.pieces {
		if p.at <= at && at < p.at+len(p.bytes) && n > 0 {
			part := p.bytes[at-p.at:][:min(n, p.at+len(p.bytes)-at)]
			out, at, n = append(out, part...), at+len(part), n-len(part)
		}
	}
	if n > 0 {
		return nil
	}
	return out
}

// opened is a record's head, read.
type opened struct {
	*record
	order        binary.ByteOrder
	size         int // of a register
	stack, other int
	machine      int
	task, micro  bool
	name         string
	build        []byte
}

// open reads the head; why says what is wrong with the record, "" for nothing that matters.
func (r *record) open() (o opened, why string) {
	head := r.bytes(0, recordHead)
	if head == nil {
		return o, "the dump's first lines are lost"
	}
	o = opened{record: r, order: binary.LittleEndian, size: int(head[10]), task: head[11]&1 != 0, micro: head[11]&2 != 0}
	if string(head[:4]) == "1Rsb" {
		o.order = binary.BigEndian
	}
	o.machine, o.stack, o.other = int(o.order.Uint16(head[8:])), int(o.order.Uint16(head[12:])), int(o.order.Uint16(head[14:]))
	if o.order.Uint32(head) != recordMagic || o.size != 4 && o.size != 8 {
		return o, "the dump's head has no sense"
	}
	o.build = head[17:][:min(int(head[16]), maxIdentity)]
	o.name = strings.TrimRight(string(head[37:]), "\x00")
	all := r.bytes(0, o.total())
	if all != nil && crc32.ChecksumIEEE(all[8:]) != o.order.Uint32(all[4:]) {
		return o, "the dump's lines are not of one dump"
	}
	return o, ""
}

const recordMagic = 0x31527362

// behind is where the registers begin, total how many bytes there are.
func (o *opened) behind() int { return (recordHead + o.size - 1) &^ (o.size - 1) }
func (o *opened) total() int  { return o.behind() + recordRegs*o.size + o.stack + o.other }

// word is a register by its number.
func (o *opened) word(i int) (uint64, bool) {
	b := o.bytes(o.behind()+i*o.size, o.size)
	switch {
	case b == nil:
		return 0, false
	case o.size == 4:
		return uint64(o.order.Uint32(b)), true
	}
	return o.order.Uint64(b), true
}

// arch is the first of the processor's variants, of which the binary tells more, nil where the processor is not known.
func (o *opened) arch(archs cpu.Set) *cpu.Arch {
	for _, a := range archs {
		if int(a.ELF.Machine) == o.machine && a.AddrSize == o.size && a.BigEndian == (o.order == binary.BigEndian) && a.Micro() == o.micro {
			return a
		}
	}
	return nil
}

// values are the registers by name.
func (o *opened) values(arch *cpu.Arch) (out values) {
	names := make([]string, 3)
	for i, r := range [...]cpu.Reg{arch.SP, arch.PC, arch.LR} {
		if r != cpu.NoReg {
			names[i] = arch.Regs[r].Names[0]
		}
	}
	switch {
	case arch.Micro():
		names = append(names, "xpsr", "psp", "cfsr", "hfsr", "dfsr", "mmfar", "bfar")
	case strings.HasPrefix(arch.Name, "riscv"):
		names = append(names, "", "mcause", "mtval", "mstatus") // mepc is not this PC
	}
	for i, name := range names {
		if v, ok := o.word(1 + i); ok && name != "" {
			out = append(out, regtext.Value{Name: name, Value: v})
		}
	}
	return out
}

// addMemory adds what is there of the stacks, and returns how many bytes are lost.
func (o *opened) addMemory(b *target.Builder) (lost int) {
	from := o.behind() + recordRegs*o.size
	for i, n := range [2]int{o.stack, o.other} {
		addr, ok := o.word(1 - i)
		lost += n
		for _, p := range o.pieces {
			lo, hi := max(p.at, from), min(p.at+len(p.bytes), from+n)
			if ok && lo < hi {
				b.Add(addr+uint64(lo-from), p.bytes[lo-p.at:hi-p.at], 0, target.PermUnknown)
				lost -= hi - lo
			}
		}
		from += n
	}
	return lost
}

// said are the issues of a dump of which lines are lost.
func (o *opened) said(lost int) (out []string) {
	if o.damaged > 0 {
		out = append(out, fmt.Sprintf("%d lines of the dump are damaged; not used", o.damaged))
	}
	if lost > 0 {
		out = append(out, fmt.Sprintf("%d bytes of the stack are lost", lost))
	}
	if _, ok := o.word(2); !ok && !o.task {
		out = append(out, "the line with the program counter is lost")
	}
	return out
}

// recordReport makes a report of a dump.
func (w *words) recordReport(ctx context.Context, log *console.Log, env *input.Env) *console.Report {
	o, why := w.record.open()
	if why != "" {
		return w.refused(why)
	}
	w.thread = o.name
	p := firmware.Open(env, o.arch(env.Archs))
	if issue, other := p.OtherBuild(o.build); other {
		return &console.Report{Title: w.title(), Issues: []target.Issue{issue}}
	}
	if p.Arch == nil {
		return w.refused("a dump of a processor that is not supported")
	}
	r := &console.Report{Title: w.title(), Arch: p.Arch, Modules: p.Modules, Issues: p.Issues}
	if o.task && o.name != "" {
		r.Title = o.name
	}
	var b target.Builder
	b.Until(ctx)
	r.Issues = append(r.Issues, firmware.AddRAM(&b, log.RAM())...)
	lost := o.addMemory(&b)
	r.Thread = target.Thread{Crashed: !o.task, Memory: b.Memory(p.Arch)}
	said := o.said(lost)
	if o.task {
		snap := &target.Snapshot{Arch: p.Arch, Modules: p.Modules, Memory: r.Thread.Memory}
		snap.SortModules()
		sp, _ := o.word(0)
		var known bool
		if r.Thread.Regs, known = rtos.Context(ctx, snap, sp); !known {
			said = append(said, "no kernel that is known saves a task's registers so, or the firmware is not named (-e)")
		}
	} else {
		w.vals = o.values(p.Arch)
		r.Thread.Regs, _ = firmware.Registers(p.Arch, w.vals)
	}
	for _, text := range said {
		r.Issues = append(r.Issues, target.Issue{Kind: target.IssueCapture, Text: r.Title + ": " + text})
	}
	if f := w.fault(p.Arch); f.Status != "" {
		r.Fault = f
	}
	status := w.vals.faultStatus(w.said)
	r.Thread.Stale = status.NotPushed()
	return r
}
