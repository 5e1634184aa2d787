package input

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/outfile"
)

// knownIDs are the build IDs of a directory's files as an earlier search read them. A file is known by its path, size
// and time of change. It is of use for speed only: what an ID leads to is opened, and held to the ID.
//
//	"backsight build IDs 1\n"
//	{ 8 bytes: digest of path, size and time, little-endian; 1 byte: n; n bytes: the build ID, none for n = 0 }
type knownIDs struct {
	file string // "": nothing is kept
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
func openKnown(cache, dir string) *knownIDs {
	k := &knownIDs{old: make(map[uint64]string), now: make(map[uint64]string)}
	dir, err := filepath.Abs(dir)
	if cache == "" || err != nil {
		return k
	}
	k.file = filepath.Join(cache, fmt.Sprintf("%016x.ids", digest(dir)))
	st, err := os.Stat(k.file)
	if err != nil || st.Size() > maxKnownFile {
		return k
	}
	b, err := os.ReadFile(k.file)
	if err != nil {
		return k
	}
	s, ok := strings.CutPrefix(string(b), knownMagic)
	for ok && len(s) > 8 && len(s) > 8+int(s[8]) {
		n := 9 + int(s[8])
		k.old[binary.LittleEndian.Uint64([]byte(s[:8]))] = s[9:n]
		s = s[n:]
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
func (k *knownIDs) id(path string, st os.FileInfo, formats []image.Format) string {
	key := digest(path, st.Size(), st.ModTime().UnixNano())
	id, ok := k.old[key]
	if !ok {
		id = string(image.BuildID(path, formats))
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
func (k *knownIDs) save(ctx context.Context) {
	if k.file == "" || k.read == 0 || len(k.now) < minKnown {
		return
	}
	b := []byte(knownMagic)
	for key, id := range k.now {
		b = append(append(binary.LittleEndian.AppendUint64(b, key), byte(len(id))), id...)
	}
	if len(b) > maxKnownFile || os.MkdirAll(filepath.Dir(k.file), 0o700) != nil {
		return
	}
	_ = outfile.Write(ctx, k.file, 0o600, func(f *os.File) error { _, err := f.Write(b); return err })
}
