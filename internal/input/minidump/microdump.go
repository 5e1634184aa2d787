package minidump

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// Microdump reads microdumps: what Breakpad's writer prints into a device's log instead of a file. Numbers are hexadecimal,
// addresses as wide as the program's.
//
//	-----BEGIN BREAKPAD MICRODUMP-----
//	V Chrome_Android:49.0.2623.15                      product and version
//	O A x86 04 i686 vendor/product/…                   system (Android, Linux), processor, how many, the machine's
//	R 0000000B SIGSEGV 00000000                        signal, its name, address; newer writers
//	S 0 FFB44BD0 FFB44000 00004000                     SP; where the stack begins that follows, its size
//	S FFB44000 A4C46FF7E429FAF3…                       address, memory
//	C 07000100…                                        the CONTEXT of a minidump
//	M F7313000 00000000 0001D000 8F36…1F570 libc.so    a mapping of code: address, offset in the file, size, identity, name
//	-----END BREAKPAD MICRODUMP-----
//
// One thread is in a microdump, that which crashed. Lines of P, G and H tell the kind of process, the graphics processor, and holes
// in the address space. Specification: google_breakpad, client/linux/microdump_writer/microdump_writer.cc.
func Microdump() console.Reader {
	return console.Reader{Name: "microdump", Read: readMicrodump, Signs: console.Phrases(beginMicrodump), Beside: true}
}

// Marks of the first and the last line.
const beginMicrodump, endMicrodump = "-----BEGIN BREAKPAD MICRODUMP-----", "-----END BREAKPAD MICRODUMP-----"

// maxOthers is how many lines of others may follow each other within a microdump.
const maxOthers = 1 << 10

// microdump is what the lines say.
type microdump struct {
	dump     dump
	product  string
	platform uint32
	cpu      string
	context  []byte
	runs     []run
	modules  []module
	maps     []mapping
	crash    crash
}

func readMicrodump(ctx context.Context, log *console.Log, at int, env *input.Env) (*console.Report, int) {
	if !strings.HasSuffix(log.Line(at), beginMicrodump) {
		return nil, at + 1
	}
	m := microdump{dump: dump{name: "microdump"}}
	pid := processOf(log.Line(at))
	next, size := at+1, 0
	for i := next; i < log.Len() && i-next <= maxOthers; i++ {
		line := log.Line(i)
		if strings.HasSuffix(line, beginMicrodump) {
			break
		}
		if strings.HasSuffix(line, endMicrodump) {
			next = i + 1
			break
		}
		size += len(line)
		if p := processOf(line); (p == pid || p == "") && m.line(log.Message(i).Text) {
			next = i + 1
		}
	}
	m.dump.room = newRoom(size)
	return m.report(ctx, env, pid), next
}

// processOf is the process in what logcat puts before a line, "F/google-breakpad(11976): ", "" where the line has no such.
func processOf(line string) string {
	_, rest, _ := strings.Cut(line, "google-breakpad(")
	id, _, ok := strings.Cut(rest, "):")
	if !ok {
		return ""
	}
	return strings.TrimSpace(id)
}

// line takes a line, and tells whether that is of a microdump.
func (m *microdump) line(text string) bool {
	f := strings.Fields(text)
	if len(f) < 2 || len(f[0]) != 1 {
		return false
	}
	switch f[0] {
	case "V":
		m.product = strings.Join(f[1:], " ")
	case "O":
		return m.system(f[1:])
	case "R":
		return m.reason(f[1:])
	case "S":
		return m.stack(f[1:])
	case "C":
		b, err := hex.DecodeString(f[1])
		if err != nil || m.context != nil {
			return false
		}
		m.context = b
	case "M":
		return m.module(f[1:])
	default: // P, G, H and what later writers add
		return len(f[0]) == 1 && f[0] >= "A" && f[0] <= "Z"
	}
	return true
}

func (m *microdump) system(f []string) bool {
	if len(f) < 2 || f[0] != "A" && f[0] != "L" {
		return false
	}
	m.platform, m.cpu = linux, f[1]
	if f[0] == "A" {
		m.platform = android
	}
	return true
}

// reason reads why the program stopped; 0 is a dump that a program asked for.
func (m *microdump) reason(f []string) bool {
	if len(f) < 3 {
		return false
	}
	signal, err := strconv.ParseUint(f[0], 16, 32)
	address, err2 := strconv.ParseUint(f[len(f)-1], 16, 64)
	m.crash = crash{present: signal != 0, code: uint32(signal), address: address}
	return err == nil && err2 == nil
}

// stack reads a piece of the stack, or the line in front of all pieces.
func (m *microdump) stack(f []string) bool {
	if len(f) != 2 {
		return len(f) == 4
	}
	at, err := strconv.ParseUint(f[0], 16, 64)
	b, err2 := hex.DecodeString(f[1])
	if err != nil || err2 != nil {
		return false
	}
	if n := len(m.runs); n > 0 && m.runs[n-1].addr+uint64(len(m.runs[n-1].data)) == at {
		m.runs[n-1].data = append(m.runs[n-1].data, b...)
	} else {
		m.runs = append(m.runs, run{at, b})
	}
	return true
}

// module reads a mapping. The identity is a GUID as symbol servers write one, and the age 0.
func (m *microdump) module(f []string) bool {
	const guidDigits = 2 * guidSize
	if len(f) < 5 || len(f[3]) <= guidDigits {
		return false
	}
	lo, err := strconv.ParseUint(f[0], 16, 64)
	off, err2 := strconv.ParseUint(f[1], 16, 64)
	size, err3 := strconv.ParseUint(f[2], 16, 64)
	guid, err4 := hex.DecodeString(f[3][:guidDigits])
	if err != nil || err2 != nil || err3 != nil || err4 != nil {
		return false
	}
	in := module{Range: target.RangeOf(lo, size), name: strings.Join(f[4:], " "), id: identity{guid: guid}}
	if strings.Trim(f[3][:guidDigits], "0") == "" {
		in.id.guid = nil
	}
	m.modules = append(m.modules, in)
	if len(m.maps) < maxMaps {
		m.maps = append(m.maps, mapping{in.Range, off, in.name, true})
	}
	return true
}

// microProcessors are what microdumps call processors.
func microProcessors() map[string]struct{ name, abi string } {
	return map[string]struct{ name, abi string }{
		"x86": {"i386", ""}, "x86_64": {"x86_64", ""}, "arm": {"arm", ""}, "arm64": {"aarch64", ""}, "mips": {"mips", "o32"}, "mips64": {"mips64", "n64"},
	}
}

// arch is the processor; nil where the lines tell none that is supported. Of MIPS the flags of the context tell the order of
// bytes: no flag is so high that a little-endian machine would begin with 0.
func (m *microdump) arch(archs cpu.Set) *cpu.Arch {
	p := microProcessors()[m.cpu]
	big := strings.HasPrefix(m.cpu, "mips") && len(m.context) > 0 && m.context[0] == 0
	a, _ := archs.ByName(p.name, p.abi, big)
	return a
}

// report makes the report of the thread.
func (m *microdump) report(ctx context.Context, env *input.Env, pid string) *console.Report {
	arch := m.arch(env.Archs)
	if arch == nil {
		return console.Refused("microdump", "a microdump of a processor that is not supported: "+strconv.Quote(m.cpu))
	}
	regs := arch.Read(arch.Layouts[cpu.MinidumpContext], m.context)
	if _, ok := regs.Lookup(arch.PC); !ok {
		return console.Refused("microdump", "a microdump without registers: its line C is missing or broken")
	}
	sys := system{arch: arch, os: osName(m.platform), platform: m.platform}
	snap := &target.Snapshot{Arch: arch, OS: sys.os, Threads: []target.Thread{{Regs: regs, Crashed: true}}}
	m.dump.fill(ctx, snap, env, &finder{arch: arch, runs: m.runs, maps: m.maps}, m.listed)
	snap.Fault = m.crash.fault(&sys)
	r := console.Whole(snap)
	r.Title = strings.TrimSpace("microdump " + m.product)
	r.PID, _ = strconv.Atoi(pid)
	r.Space = m // of one program
	return r
}

// listed calls yield for each module.
func (m *microdump) listed(yield func(*module) bool) {
	for i := range m.modules {
		if !yield(&m.modules[i]) {
			return
		}
	}
}
