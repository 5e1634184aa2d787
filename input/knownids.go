package input

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/backsight/backsight/image"
)

// knownIDs are the build IDs of a directory's files as an earlier search read them. A file is known by its path, size
// and time of change. It is of use for speed only: what an ID leads to is opened, and held to the ID.
//
//	"backsight build IDs 1\n"
//	{ 8 bytes: digest of path, size and time, little-endian; 1 byte: n; n bytes: the build ID, none for n = 0 }
type knownIDs struct {
	fsys fs.FS // where the files are
	file keptFile
	old  map[uint64]string
	mu   sync.Mutex
	now  map[uint64]string
	read int // files whose headers were read
}

const knownMagic = "backsight build IDs 1\n"

// Bounds of what is kept: fewer files are read again as fast, and more take too much memory (some 60 bytes each).
const (
	minKnown, maxKnown = 1000, 1 << 19
	maxKnownFile       = 32 << 20
)

// settled is how long ago a file must have changed: a clock's tick later it may have changed again without a trace.
const settled = 2 * time.Second

// openKnown reads what is kept for a directory. What cannot be read is not known.
func openKnown(opt *FileOptions, dir string) *knownIDs {
	k := &knownIDs{fsys: opt.FS, file: newKept(opt, dir, "ids", knownMagic, maxKnownFile), old: make(map[uint64]string), now: make(map[uint64]string)}
	in, _, end := k.file.open()
	defer end()
	b, _ := io.ReadAll(in) // as far as it can be read
	for len(b) > 8 && len(b) > 8+int(b[8]) {
		n := 9 + int(b[8])
		k.old[binary.LittleEndian.Uint64(b)] = string(b[9:n])
		b = b[n:]
	}
	return k
}

// digest tells paths and states of files apart.
func digest(path string, numbers ...int64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path))
	for _, n := range numbers {
		_, _ = h.Write(binary.LittleEndian.AppendUint64([]byte{0}, uint64(n)))
	}
	return h.Sum64()
}

// id is the build ID of a file, "" for none.
func (k *knownIDs) id(path string, st fs.FileInfo, formats []image.Format) string {
	key := digest(path, st.Size(), st.ModTime().UnixNano())
	id, ok := k.old[key]
	if !ok {
		id = string(image.BuildID(k.fsys, path, formats))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !ok {
		k.read++
	}
	if len(k.now) < maxKnown && len(id) < 256 && time.Since(st.ModTime()) > settled {
		k.now[key] = id
	}
	return id
}

// save keeps what is known of many files, where some of them were read anew. Where nothing can be written, they are
// read again the next time.
func (k *knownIDs) save() {
	if k.read == 0 || len(k.now) < minKnown {
		return
	}
	var b []byte
	for key, id := range k.now {
		b = append(append(binary.LittleEndian.AppendUint64(b, key), byte(len(id))), id...)
	}
	k.file.write(b)
}
