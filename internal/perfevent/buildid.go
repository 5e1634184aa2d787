//go:build linux

package perfevent

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/backsight/backsight/internal/procfs"
)

// sha1 is how many bytes an event has for a build ID.
const sha1 = 20

// buildIDOf is the build ID of the file that the last of a process's mappings is of, as that lies in the process's memory: what is at
// the file's path now may be another one. nil where there is none, or the memory cannot be read.
func buildIDOf(memory io.ReaderAt, maps []procfs.Mapping) []byte {
	m := &maps[len(maps)-1]
	for i := len(maps) - 1; i >= 0 && m.Inode != 0 && maps[i].Inode == m.Inode && maps[i].Name == m.Name; i-- {
		if maps[i].Off != 0 {
			continue
		}
		var page [4096]byte
		n, _ := memory.ReadAt(page[:], int64(maps[i].Lo))
		return buildIDIn(page[:n])
	}
	return nil
}

// buildIDIn is the build ID in the first page of an ELF file, where linkers put the note (type 3 of "GNU") behind the program headers;
// nil where there is none, or one that no event has room for.
func buildIDIn(page []byte) []byte {
	note := append(binary.NativeEndian.AppendUint32(nil, 3), "GNU\x00"...)
	at := bytes.Index(page, note)
	if !bytes.HasPrefix(page, []byte("\x7fELF")) || at < 8 || binary.NativeEndian.Uint32(page[at-8:]) != 4 {
		return nil
	}
	size, id := binary.NativeEndian.Uint32(page[at-4:]), page[at+len(note):]
	if size == 0 || size > sha1 || int(size) > len(id) {
		return nil
	}
	return id[:size]
}
