package faultlog

import (
	"path"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

// places are what a report says of where binaries lie: firmware is moved before it runs, and prints where to.
type places struct {
	bases []base
	// linked is the PC as it was linked, which U-Boot prints beside the one that it ran at.
	linked    uint64
	hasLinked bool
}

// base is where a binary begins.
type base struct {
	name string
	at   uint64
}

// maxBases bounds the binaries of a report.
const maxBases = 1024

func (p *places) add(name string, at uint64) {
	if len(p.bases) < maxBases && name != "" {
		p.bases = append(p.bases, base{name, at})
	}
}

// take takes what a line says of a binary:
//
//	elr: 00000000feaa47bc lr : 00000000feaa895c (reloc)                  U-Boot: as linked; RISC-V writes "reloc adjusted"
//	reloc pc : [<178034c0>]	   lr : [<178034b8>]                        U-Boot, ARM
//	(ImageBase=0000000007460000, EntryPoint=0000000007464B20)            edk2, behind a name
//	[0] 5b9e0e40-2636-11e1-ad9e-0002a5d5c51b @ 0x80019000                 OP-TEE's loader of programs
//	 - load addr : 0x103000    ctx-idr: 1                                OP-TEE before 3.6
func (p *places) take(line string) (took bool) {
	if strings.HasSuffix(line, "(reloc)") || strings.HasSuffix(line, "reloc adjusted") || strings.Contains(line, "reloc pc : [<") {
		_, pc, _ := strings.Cut(line, ":")
		pc, _, _ = strings.Cut(strings.Trim(pc, " [<"), ">")
		p.linked, p.hasLinked = firstHex(pc)
		return true
	}
	if name, rest, ok := strings.Cut(line, " (ImageBase="); ok {
		if at, ok := firstHex(strings.ReplaceAll(rest, ",", " ")); ok {
			p.add(name[strings.LastIndexByte(name, ' ')+1:], at)
		}
		return true
	}
	if name, rest, ok := strings.Cut(line, " @ 0x"); ok && strings.Contains(name, "[") && strings.Count(name, "-") >= 4 {
		at, ok := firstHex(rest)
		if ok {
			p.add(name[strings.LastIndexByte(name, ' ')+1:], at)
		}
		return ok
	}
	if _, rest, ok := strings.Cut(line, "- load addr : 0x"); ok {
		at, ok := firstHex(rest)
		if ok {
			p.add("TA", at)
		}
		return ok
	}
	return false
}

// frame reads the frame of a line that has a list's form of its own.
func (p *places) frame(line string) (f target.Listed, ok bool) {
	if _, rest, is := strings.Cut(line, "PC 0x"); is {
		where, name, is := strings.Cut(rest, "] ")
		pc, where, _ := strings.Cut(where, " (0x")
		image, _, plus := strings.Cut(where, "+0x")
		f.PC, ok = firstHex(pc)
		if at, based := firstHex(image); is && ok && plus && based {
			f.Module = strings.TrimSpace(name)
			p.add(f.Module, at)
			return f, true
		}
	}
	if _, rest, is := strings.Cut(line, "    [<"); is {
		addr, rest, _ := strings.Cut(rest, ">] ")
		how, where, _ := strings.Cut(rest, " ")
		if strings.HasPrefix(line, "(XEN)") && strings.Contains(how, "+0x") {
			how, where = xenARM(rest)
		}
		f.PC, ok = firstHex(addr)
		setSymbol(&f, where)
		f.Searched, f.Exact = how == "S", how == "R"
		return f, ok && (how == "R" || how == "S" || how == "F") && len(addr) >= 8
	}
	if _, rest, is := strings.Cut(line, " ip="); is && strings.Contains(line, ") terminated SIG") { // QNX, slogger
		ip, rest, _ := strings.Cut(rest, "(")
		where, _, _ := strings.Cut(rest, ")")
		name, symbol, _ := strings.Cut(where, "@")
		f.PC, ok = firstHex(ip)
		if _, at, mapped := strings.Cut(rest, "mapaddr="); mapped {
			if offset, known := firstHex(strings.TrimRight(at[:min(len(at), 17)], ". ")); known && offset <= f.PC {
				p.add(path.Base(name), f.PC-offset)
			}
		}
		f.Module, f.Exact = path.Base(name), true
		setSymbol(&f, symbol)
		return f, ok
	}
	return f, false
}

// xenARM is how Xen found a frame on ARM, by x86's letters, and the frame's place: in the registers as they were ("(PC)"), in LR, where
// it may be stale ("(LR)"), by frame pointers (xen/arch/arm/traps.c, show_trace).
func xenARM(rest string) (how, where string) {
	switch where, of, _ := strings.Cut(rest, " "); of {
	case "(PC)":
		return "R", where
	case "(LR)":
		return "S", where
	default:
		return "F", where
	}
}

// placed reads "0x000008de @ name", "0x000008de - name" and "EL3: 0x4024504", what stands behind a frame's number.
func placed(s string) (f target.Listed, ok bool) {
	if level, addr, is := strings.Cut(s, ": "); is && strings.HasPrefix(level, "EL") {
		f.PC, ok = firstHex(addr)
		return f, ok
	}
	addr, name, is := strings.Cut(s, " @ ")
	if !is {
		addr, name, is = strings.Cut(s, " - ")
	}
	if f.PC, ok = firstHex(addr); !is || !ok || !strings.HasPrefix(addr, "0x") {
		return f, false
	}
	if name != "<unknown>" {
		f.Symbol = name
	}
	return f, true
}

// alone takes a line that has nothing but an address, behind what a log puts in front; Zephyr's x86 has the caller's arguments
// behind, and names the PC.
//
//	E:      0x00100477 (0x0)
//	E/TC:0  0x000000000e114320
//	    200024c4
func (l *lister) alone(line string) bool {
	const most = 4
	words := strings.Fields(line)
	if n := len(words); n > 1 && strings.HasPrefix(words[n-1], "(0x") {
		words = words[:n-1]
	}
	if len(words) == 0 || len(words) > most {
		return false
	}
	last := words[len(words)-1]
	v, ok := firstHex(last)
	if !ok || len(last) < 8 {
		return false
	}
	for _, w := range words[:len(words)-1] {
		if len(w) >= 8 { // another address, or words
			return false
		}
	}
	l.add(target.Listed{PC: v, Searched: !strings.HasPrefix(last, "0x")})
	return true
}

// nuttx takes a list of NuttX: each task has a chain, by its number.
func (l *lister) nuttx(line string) bool {
	pid, rest := "", line
	if _, behind, ok := strings.Cut(line, "acktrace|"); ok {
		pid, rest, _ = strings.Cut(behind, ":")
	} else if _, behind, ok := strings.Cut(line, "BackTrace|"); ok {
		pid, rest, _ = strings.Cut(behind, ":")
	} else if _, behind, ok := strings.Cut(line, "sched_dumpstack: ["); ok {
		pid, rest, _ = strings.Cut(behind, "]")
	}
	pid, _, _ = strings.Cut(strings.TrimSpace(pid), "|")
	pid, _, _ = strings.Cut(pid, "]")
	if l.numbered(pid); strings.Contains(rest, "[<0x") {
		_, rest, _ = strings.Cut(rest, "[<0x")
		addr, where, _ := strings.Cut(rest, ">] ")
		v, ok := firstHex(addr)
		if f := (target.Listed{PC: v}); ok {
			setSymbol(&f, where)
			l.add(f)
		}
		return ok
	}
	return l.numbers(rest, false)
}

// numbered makes the chain of a task the one that frames are added to.
func (l *lister) numbered(pid string) {
	name := "task " + pid
	for i := range l.chains {
		if l.chains[i].name == name { // the last chain is the one that grows
			l.chains = append(append(l.chains[:i:i], l.chains[i+1:]...), l.chains[i])
			return
		}
	}
	if len(l.chains) < maxBases {
		l.chains = append(l.chains, named{name: name})
	}
}

// move puts binaries where the report says that they lay. A single binary is the one of a single base; of several, names tell.
func (p *places) move(program *firmware.Program, pc uint64) {
	if len(program.Modules) == 1 && p.hasLinked && program.Modules[0].Image != nil {
		m := program.Modules[0]
		program.Modules[0] = target.NewModule(m.Name, m.Image, pc-p.linked)
		return
	}
	for i, m := range program.Modules {
		for _, b := range p.bases {
			if m.Image == nil {
				break
			}
			if stem(b.name) == stem(m.Name) || len(program.Modules) == 1 && len(p.bases) == 1 {
				lo, _ := m.Image.Segments.Bounds()
				program.Modules[i] = target.NewModule(m.Name, m.Image, b.at-lo)
				break
			}
		}
	}
}

// stem is a file's name without its directory and its endings, in small letters.
func stem(name string) string {
	name, _, _ = strings.Cut(path.Base(strings.ReplaceAll(name, "\\", "/")), ".")
	return strings.ToLower(name)
}

// setSymbol reads "name+0x1c/0x90" into a frame.
func setSymbol(f *target.Listed, where string) {
	name, offset, _ := strings.Cut(strings.TrimSpace(where), "+0x")
	offset, size, _ := strings.Cut(offset, "/0x")
	f.Symbol = name
	f.Offset, _ = strconv.ParseUint(offset, 16, 64)
	f.Size, _ = strconv.ParseUint(size, 16, 64)
}
