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

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
)

// Bounds of uploads that go on later: how many, and for how long.
const maxPartial, partialTime = 10_000, 24 * time.Hour

// Partial keeps what has come of uploads that go on later: in files, or in the database where several nodes share that, so that each
// part may come to another node.
type Partial struct {
	dir string
	db  *db.DB // nil: files
	mu  sync.Mutex
	use map[string]bool // files that somebody sends
}

// NewPartial keeps them in a folder, or in a database that is shared.
func NewPartial(d *db.DB, dir string) (*Partial, error) {
	if d.Postgres() {
		return &Partial{db: d}, nil
	}
	return &Partial{dir: dir, use: map[string]bool{}}, os.MkdirAll(dir, 0o700)
}

// unwhole is an upload that goes on later.
type unwhole interface {
	// told is how many bytes its sender has been told to have arrived.
	told(ctx context.Context) (int64, error)
	// add keeps a part behind the bytes that there are, and tells how many there are then. What came of a part that was cut short
	// counts, nothing of one that is too large.
	add(ctx context.Context, size int64, part io.Reader) (int64, error)
	// all reads the first bytes.
	all(ctx context.Context, size int64) io.Reader
	remove(ctx context.Context) error
	end()
}

var (
	errInUse   = &answer{http.StatusConflict, "it is being sent"}
	errPartial = &answer{http.StatusServiceUnavailable, "too many uploads are not whole"}
)

// name is what an upload of a key is kept under, whatever its sender calls it.
func (p *Partial) name(key inbox.Key, id string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", key.Key, id))
	return hex.EncodeToString(sum[:])
}

// begin opens an upload for its sender.
func (p *Partial) begin(ctx context.Context, name string) (unwhole, error) {
	if p.db != nil {
		return p.row(ctx, name)
	}
	path := filepath.Join(p.dir, name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.use[path] {
		return nil, errInUse
	}
	if _, err := os.Stat(path); err != nil {
		if list, _ := os.ReadDir(p.dir); len(list) >= maxPartial {
			return nil, errPartial
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	p.use[path] = true
	return &uploadFile{f, p}, nil
}

// size is how many bytes there are of an upload, which may be none.
func (p *Partial) size(ctx context.Context, name string) (int64, error) {
	if p.db != nil {
		return (&uploadRows{p.db, name}).told(ctx)
	}
	f, err := os.Open(filepath.Join(p.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	size, err := (&uploadFile{f, p}).told(ctx)
	return size, errors.Join(err, f.Close())
}

// Sweep removes uploads that nobody has gone on with.
func (p *Partial) Sweep(ctx context.Context) error {
	if p.db != nil {
		_, err := p.db.Write.ExecContext(ctx, "DELETE FROM parts WHERE came < $1", db.Milli(time.Now().Add(-partialTime)))
		return err
	}
	list, err := os.ReadDir(p.dir)
	for _, e := range list {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > partialTime {
			_ = os.Remove(filepath.Join(p.dir, e.Name())) // the next time, else
		}
	}
	return err
}

// uploadFile is an upload in a file, which has one sender at a time. A part is on the disk before what has arrived is told (lengthSize
// bytes before the upload say how much that is): power that goes leaves an upload with what was told, or less, and never with zeros
// between what came before and after.
type uploadFile struct {
	f  *os.File
	of *Partial
}

const lengthSize = 8

func (u *uploadFile) told(context.Context) (int64, error) {
	var b [lengthSize]byte
	if _, err := u.f.ReadAt(b[:], 0); err == io.EOF {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(b[:])), nil
}

func (u *uploadFile) add(_ context.Context, size int64, part io.Reader) (int64, error) {
	n, err := io.Copy(io.NewOffsetWriter(u.f, lengthSize+size), part)
	if errors.Is(err, packing.ErrLarge) {
		return size, err
	}
	return size + n, errors.Join(err, u.tell(size+n))
}

// tell says that so many bytes have arrived.
func (u *uploadFile) tell(size int64) error {
	if err := u.f.Sync(); err != nil {
		return err
	}
	_, err := u.f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(size)), 0)
	return err
}

func (u *uploadFile) all(_ context.Context, size int64) io.Reader {
	return io.NewSectionReader(u.f, lengthSize, size)
}

func (u *uploadFile) remove(context.Context) error { return os.Remove(u.f.Name()) }

func (u *uploadFile) end() {
	_ = u.f.Close() // what has come is asked for again
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	delete(u.of.use, u.f.Name())
}

// arrived tells how many bytes of an upload there are (Upload-Offset).
func (s *Server) arrived(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	size, err := s.Partial.size(r.Context(), s.Partial.name(key, r.PathValue("id")))
	if err != nil {
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
	u, err := s.Partial.begin(r.Context(), s.Partial.name(key, r.PathValue("id")))
	if err != nil {
		return err
	}
	defer u.end()
	size, err := u.told(r.Context())
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
	if size, err = u.add(r.Context(), size, packing.Bounded(r.Body, most-offset)); err != nil {
		return err
	}
	if size < total {
		w.Header().Set("Upload-Offset", strconv.FormatInt(size, 10))
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	return s.whole(w, r, key, u, size)
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
func (s *Server) whole(w http.ResponseWriter, r *http.Request, key inbox.Key, u unwhole, size int64) error {
	a := described(r, key, "upload")
	a.ID = line(r.PathValue("id"))
	if err := s.Keys.quota(r.Context(), key, a.Device); err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	sp, err := s.Spools.Read(ctx, u.all(ctx, size), "")
	if err != nil {
		return errors.Join(err, u.remove(ctx))
	}
	defer sp.Close()
	name, err := s.take(r.Context(), a, sp)
	if err != nil {
		return err
	}
	if err := u.remove(ctx); err != nil {
		return err
	}
	say(w, http.StatusCreated, map[string]string{"id": name})
	return nil
}
