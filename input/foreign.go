package input

import (
	"bytes"
	"encoding/binary"
)

// foreign are kinds of files that people give by mistake, or that are not supported, by
// their first bytes.
var foreign = []struct{ magic, what string }{
	{"MZ", "a Windows executable, no capture"},
	{"PAGEDU64", "a Windows kernel dump, which is not supported"},
	{"PAGEDUMP", "a Windows kernel dump, which is not supported"},
	{"PERFILE2", "a perf.data file, which is not supported"},
	{"CORE\x02\x00\x00\x00", "a coredump of Memfault, which is not supported: export its ELF core, or the RAM (--ram) and registers (--regs)"},
	{"!<arch>\n", "an archive (.a, .deb), no capture"},
	{"PK\x03\x04", "a ZIP archive: unpack the capture"},
	{"version https://git-lfs.github.com/spec/", "a pointer of Git LFS, not the file: git lfs pull fetches that"},
	{"/annex/objects/", "a pointer of git-annex, not the file: git annex get fetches that"},
	{"\x89PNG", "a picture"},
	{"%PDF", "a PDF document"},
	{"\xca\xfe\xba\xbe", "a universal Mach-O or Java file, no capture"},
}

// whatIs names a file that is no capture by its head; "" where it is of no known kind.
func whatIs(head []byte) string {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.what
		}
	}
	switch {
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "a tar archive: unpack the capture"
	case len(head) < 18 && bytes.HasPrefix(head, []byte("\x7fELF")):
		return "an ELF file that ends within its header"
	case IsELF(head):
		return "an executable, no core file: give it with --exe or --image, beside a capture"
	}
	return ""
}

// IsELF tells whether head begins an ELF file that is no core file.
func IsELF(head []byte) bool {
	const etCore = 4
	if len(head) < 18 || !bytes.HasPrefix(head, []byte("\x7fELF")) {
		return false
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if head[5] == 2 {
		order = binary.BigEndian
	}
	return order.Uint16(head[16:]) != etCore
}
