// Package debian records programs as Debian ships them: dynamic, position independent,
// stripped, with all their libraries, for every CPU that Debian has. The packages are
// unpacked into a folder and run under an emulator; nothing is installed.
package debian

import (
	"os/exec"

	"github.com/backsight/backsight/lab/tracer"
)

// Port is a CPU that Debian has packages for.
type Port struct {
	// Name is Debian's, Folder that of the truth's folder.
	Name, Folder string
	// Arch and ABI are the CPU's, as in captures.
	Arch, ABI string
	Emulator  string
}

// Ports are those of Debian 12 that the emulator's plugin knows.
func Ports() []Port {
	return []Port{
		{"mipsel", "mipsel", "mips", "o32", "qemu-mipsel"},
		{"mips64el", "mips64el", "mips64", "n64", "qemu-mips64el"},
		{"arm64", "aarch64", "aarch64", "", "qemu-aarch64"},
		{"armhf", "armhf", "arm", "", "qemu-arm"},
		{"armel", "armel", "arm", "", "qemu-arm"},
		{"i386", "i386", "i386", "", "qemu-i386"},
		{"amd64", "x86_64", "x86_64", "", "qemu-x86_64"},
	}
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
