package intake

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
)

// Bounds of uploads that go on later: how many, and for how long.
const maxPartial, partialTime = 10_000, 24 * time.Hour

// Partial keeps what has come of uploads that go on later.
type Partial struct {
	dir string
	mu  sync.Mutex
	use map[string]bool // those that somebody sends
}

// NewPartial keeps them in a folder.
func NewPartial(dir string) (*Partial, error) {
	return &Partial{dir: dir, use: map[string]bool{}}, os.MkdirAll(dir, 0o700)
}

var errInUse = &answer{http.StatusConflict, "it is being sent"}

// path is where an upload of a key is, whatever its sender calls it.
func (p *Partial) path(key inbox.Key, id string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", key.Key, id))
	return filepath.Join(p.dir, hex.EncodeToString(sum[:]))
}

// begin opens an upload for its sender alone.
func (p *Partial) begin(path string) (*os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.use[path] {
		return nil, errInUse
	}
	if _, err := os.Stat(path); err != nil {
		if list, _ := os.ReadDir(p.dir); len(list) >= maxPartial {
			return nil, &answer{http.StatusServiceUnavailable, "too many uploads are not whole"}
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		p.use[path] = true
	}
	return f, err
}

func (p *Partial) end(path string, f *os.File) {
	_ = f.Close() // what has come is asked for again
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.use, path)
}

// Sweep removes uploads that nobody has gone on with.
func (p *Partial) Sweep() error {
	list, err := os.ReadDir(p.dir)
	for _, e := range list {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > partialTime {
			_ = os.Remove(filepath.Join(p.dir, e.Name())) // the next time, else
		}
	}
	return err
}

// A part is on the disk before what has arrived is told (lengthSize bytes before the upload say how much that is): power that goes
// leaves an upload with what was told, or less, and never with zeros between what came before and after.
const lengthSize = 8

// told is how many bytes of an upload its sender has been told to have arrived.
func told(f *os.File) (int64, error) {
	var b [lengthSize]byte
	if _, err := f.ReadAt(b[:], 0); err == io.EOF {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(b[:])), nil
}

// tell says that so many bytes have arrived.
func tell(f *os.File, size int64) error {
	if err := f.Sync(); err != nil {
		return err
	}
	_, err := f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(size)), 0)
	return err
}

// add writes a part behind the bytes that there are, and tells how many there are then. What came of a part that was cut short counts.
func add(f *os.File, size int64, part io.Reader) (int64, error) {
	n, err := io.Copy(io.NewOffsetWriter(f, lengthSize+size), part)
	return size + n, errors.Join(err, tell(f, size+n))
}

// arrived tells how many bytes of an upload there are (Upload-Offset).
func (s *Server) arrived(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	var size int64
	f, err := os.Open(s.Partial.path(key, r.PathValue("id")))
	if err == nil {
		size, err = told(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w.Header().Set("Upload-Offset", strconv.FormatInt(size, 10))
	w.WriteHeader(http.StatusOK)
	return nil
}

// resumed takes a part of a capture: ?offset= is where it belongs, ?total= how long the whole is. The last part makes it a capture; an
// upload without total is whole. The id is the sender's own.
func (s *Server) resumed(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	offset, total, err := extent(r, s.Spools.unbound)
	if err != nil {
		return err
	}
	path := s.Partial.path(key, r.PathValue("id"))
	f, err := s.Partial.begin(path)
	if err != nil {
		return err
	}
	defer s.Partial.end(path, f)
	size, err := told(f)
	if err != nil {
		return err
	}
	if offset != size {
		w.Header().Set("Upload-Offset", strconv.FormatInt(size, 10))
		return &answer{http.StatusConflict, "the upload goes on at " + strconv.FormatInt(size, 10)}
	}
	most := s.Spools.unbound
	if total >= 0 {
		most = total
	}
	if size, err = add(f, size, packing.Bounded(r.Body, most-offset)); err != nil {
		return err
	}
	if size < total {
		w.Header().Set("Upload-Offset", strconv.FormatInt(size, 10))
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	return s.whole(w, r, key, io.NewSectionReader(f, lengthSize, size), path)
}

// extent reads where a part belongs.
func extent(r *http.Request, most int64) (offset, total int64, err error) {
	q := r.URL.Query()
	total = -1
	if t := q.Get("offset"); t != "" {
		if offset, err = strconv.ParseInt(t, 10, 64); err != nil || offset < 0 {
			return 0, 0, wrong("offset is no number")
		}
	}
	if t := q.Get("total"); t != "" {
		if total, err = strconv.ParseInt(t, 10, 64); err != nil || total < offset {
			return 0, 0, wrong("total is no number, or less than offset")
		}
	}
	if max(offset, total) > most {
		return 0, 0, packing.ErrLarge
	}
	return offset, total, nil
}

// whole makes an upload a capture.
func (s *Server) whole(w http.ResponseWriter, r *http.Request, key inbox.Key, all io.Reader, path string) error {
	a := described(r, key, "upload")
	a.ID = line(r.PathValue("id"))
	if err := s.Keys.quota(r.Context(), key, a.Device); err != nil {
		return err
	}
	sp, err := s.Spools.Read(context.WithoutCancel(r.Context()), all, "")
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	defer sp.Close()
	name, err := s.take(r.Context(), a, sp)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	say(w, http.StatusCreated, map[string]string{"id": name})
	return nil
}
