// Package debian records programs as Debian and npm ship them: stripped, with all their
// libraries, for every CPU that they are built for. The packages are unpacked into a folder and
// run under an emulator; nothing is installed.
package debian

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/backsight/backsight/lab/tracer"
)

// Port is a CPU that Debian has packages for.
type Port struct {
	// Name is Debian's, Folder that of the truth's folder.
	Name, Folder string
	// Arch and ABI are the CPU's, as in captures.
	Arch, ABI string
	Emulator  string
	// NPM are the names that the CPU has in those of npm's packages.
	NPM string
	// Cross is the folder of libraries that Debian has for cross compilers of a CPU it has no programs for.
	Cross string
}

// Ports are those of Debian 12, and of npm, that the emulator's plugin knows.
func Ports() []Port {
	return []Port{
		{Name: "mipsel", Folder: "mipsel", Arch: "mips", ABI: "o32", Emulator: "qemu-mipsel"},
		{Name: "mips64el", Folder: "mips64el", Arch: "mips64", ABI: "n64", Emulator: "qemu-mips64el", NPM: "mips64el mips64le"},
		{Name: "arm64", Folder: "aarch64", Arch: "aarch64", Emulator: "qemu-aarch64", NPM: "arm64 arm64-gnu arm64-glibc aarch64"},
		{Name: "armhf", Folder: "armhf", Arch: "arm", Emulator: "qemu-arm", NPM: "arm arm-gnueabihf armv7 armv7l"},
		{Name: "armel", Folder: "armel", Arch: "arm", Emulator: "qemu-arm"},
		{Name: "i386", Folder: "i386", Arch: "i386", Emulator: "qemu-i386", NPM: "ia32 i686 32"},
		{Name: "amd64", Folder: "x86_64", Arch: "x86_64", Emulator: "qemu-x86_64", NPM: "x64 x64-gnu x64-glibc x64-baseline 64 linux64"},
		{Name: "riscv64", Folder: "riscv64", Arch: "riscv64", Emulator: "qemu-riscv64", NPM: "riscv64 riscv64-glibc", Cross: "riscv64-linux-gnu"},
	}
}

// apt is the CPU whose packages apt-get looks for: those for cross compilers are this machine's.
func (p *Port) apt() string {
	if p.Cross != "" {
		return runtime.GOARCH
	}
	return p.Name
}

// packages are those that the programs need.
func (p *Port) packages(programs []Program) (names []string) {
	if p.Cross != "" {
		suffix := "-" + strings.TrimSuffix(p.Cross, "-linux-gnu") + "-cross"
		return []string{"libc6" + suffix, "libgcc-s1" + suffix, "libstdc++6" + suffix}
	}
	names = []string{"libc6", "libgcc-s1", "libstdc++6"}
	for i := range programs {
		if programs[i].CPUs == "" {
			names = append(names, programs[i].Package)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// has tells whether a program is shipped for the port; cpu is npm's name for it, "" of a program of Debian's.
func (p *Port) has(prog *Program) (cpu string, ok bool) {
	if prog.CPUs == "" {
		return "", p.Cross == ""
	}
	for _, cpu := range strings.Fields(prog.CPUs) {
		if slices.Contains(strings.Fields(p.NPM), cpu) {
			return cpu, true
		}
	}
	return "", false
}

// root is where the emulator finds libraries, below the folder of unpacked packages.
func (p *Port) root(unpacked string) string {
	if p.Cross != "" {
		return filepath.Join(unpacked, "usr", p.Cross)
	}
	return unpacked
}

// Missing names the first tool that the machine lacks, "" if it has all.
func (p *Port) Missing() string {
	for _, tool := range []string{"apt-get", "dpkg-deb", tracer.Compiler, p.Emulator} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool
		}
	}
	return ""
}
