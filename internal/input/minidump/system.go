package minidump

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

// system is the machine that wrote a dump.
type system struct {
	arch     *cpu.Arch
	os       string // as target.Snapshot.OS
	platform uint32 // MD_OS_…
}

// Platforms (MD_OS_…), where exceptions have numbers of their own.
const (
	windows32s = 0
	windows9x  = 1
	windowsNT  = 2
	macOS      = 0x8101
	iOS        = 0x8102
	linux      = 0x8201
	solaris    = 0x8202
	android    = 0x8203
	fuchsia    = 0x8207
)

// processors are the values of MD_CPU_ARCHITECTURE_… that have an ABI here, by the names of cpu.Arch.
func processors() map[uint16]struct{ name, abi string } {
	return map[uint16]struct{ name, abi string }{
		0:      {"i386", ""},
		1:      {"mips", "o32"},
		5:      {"arm", ""},
		9:      {"x86_64", ""},
		10:     {"i386", ""}, // on Windows of 64 bits
		12:     {"aarch64", ""},
		0x8003: {"aarch64", ""}, // with the context of Breakpad's first years
		0x8004: {"mips64", "n64"},
		0x8005: {"riscv32", ""},
		0x8006: {"riscv64", ""},
	}
}

// unsupported are names of other processors.
func unsupported() map[uint16]string {
	return map[uint16]string{2: "Alpha", 3: "PowerPC", 4: "SuperH", 6: "Itanium", 0x8001: "SPARC", 0x8002: "PowerPC 64", 0xffff: "of an unknown kind"}
}

// mips64Context is the flag of a CONTEXT that is of MIPS64, in dumps whose processor is MIPS as well.
const mips64Context = 0x80000

// system reads the processor and the operating system.
func (d *dump) system(archs cpu.Set) (sys system, err error) {
	r := bin.New(d.stream(systemInfo), d.big)
	number := r.U16()
	r.Skip(18) // level, revision, number of processors, product type, version, build
	sys.platform = r.U32()
	if r.Err() != nil {
		return sys, d.errorf(d.streams[systemInfo].rva, "a minidump that does not say of which processor it is")
	}
	sys.os = osName(sys.platform)
	p, known := processors()[number]
	if !known {
		if name, ok := unsupported()[number]; ok {
			return sys, d.errorf(d.streams[systemInfo].rva, "a minidump of a processor that is not supported: %s", name)
		}
		return sys, d.errorf(d.streams[systemInfo].rva, "a minidump of processor %#x, which is not known", number)
	}
	if p.name == "mips" && d.firstContextFlags()&mips64Context != 0 {
		p.name, p.abi = "mips64", "n64"
	}
	a, ok := archs.ByName(p.name, p.abi, d.big)
	if !ok {
		return sys, d.errorf(d.streams[systemInfo].rva, "a minidump of %s, big-endian %t, which is not supported", p.name, d.big)
	}
	sys.arch = a
	return sys, nil
}

func osName(platform uint32) string {
	switch platform {
	case windows32s, windows9x, windowsNT:
		return "Windows"
	case macOS:
		return "macOS"
	case iOS:
		return "iOS"
	case linux:
		return "Linux"
	case android:
		return "Android"
	case solaris:
		return "Solaris"
	case fuchsia:
		return "Fuchsia"
	}
	return ""
}

// isLinux tells whether signals are Linux's.
func (s *system) isLinux() bool { return s.platform == linux || s.platform == android }

func (s *system) isWindows() bool { return s.platform <= windowsNT }

func (s *system) isDarwin() bool { return s.platform == macOS || s.platform == iOS }

// pid is the process, 0 where the dump does not say.
func (d *dump) pid() int {
	const hasProcessID = 1
	r := bin.New(d.stream(miscInfo), d.big)
	_, flags, id := r.U32(), r.U32(), r.U32()
	if r.Err() == nil && flags&hasProcessID != 0 {
		return int(id)
	}
	for line := range bytes.Lines(d.stream(linuxStatus)) {
		if value, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(string(value)))
			return n
		}
	}
	return 0
}

// maxCommand bounds a command line in bytes.
const maxCommand = 4096

// command is the command line, "" where the dump has none.
func (d *dump) command() string {
	b := d.stream(linuxCmdLine)
	b = bytes.TrimRight(b[:min(len(b), maxCommand)], "\x00")
	return string(bytes.ReplaceAll(b, []byte{0}, []byte{' '}))
}
