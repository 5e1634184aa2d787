package intake

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/backsight/backsight/service/binaries"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/store"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Debug files as sentry-cli sends them (debug-files upload), in parts by their SHA-1:
//
//	GET  /api/0/organizations/ORG/chunk-upload/               how large parts are
//	POST /api/0/projects/ORG/PROJECT/files/difs/assemble/     {SHA-1 of the file: {name, chunks}}: which parts are missing
//	POST /api/0/organizations/ORG/chunk-upload/               a form of parts: file, file_gzip
//	POST …/assemble/                                          again: the file is whole
//
// Organization and project are of no matter: the token is a key.

// Bounds of what is sent so: of a part, of a request in parts, of files in a request; how long a part waits for its file.
const (
	pieceSize    = 8 << 20
	maxPieces    = 16
	maxDifs      = 1000
	maxAssemble  = 8 << 20
	pieceTime    = time.Hour
	maxAssembled = 10_000
)

// Pieces keeps parts of files in a folder.
type Pieces struct {
	dir  string
	most int64 // bytes of all of them
	mu   sync.Mutex
	used int64
	done *lru.Cache[string, dif] // by project and SHA-1 of the file
}

// dif is a file that was taken, as sentry-cli is told.
type dif struct {
	Name string `json:"objectName"`
	CPU  string `json:"cpuName"`
	SHA1 string `json:"sha1"`
	ID   string `json:"debugId,omitempty"`
}

// NewPieces keeps parts in a folder, of so many bytes together. What was left there goes.
func NewPieces(dir string, most int64) (*Pieces, error) {
	done, err := lru.New[string, dif](maxAssembled)
	return &Pieces{dir: dir, most: most, done: done}, errors.Join(err, os.RemoveAll(dir), os.MkdirAll(dir, 0o700))
}

// path is where a part of a project is.
func (c *Pieces) path(project int64, sum string) string {
	return filepath.Join(c.dir, fmt.Sprintf("%d-%s", project, sum))
}

// isSHA1 tells whether a text is one as sentry-cli writes it.
func isSHA1(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha1.Size
}

// add keeps a part that its sender calls by its SHA-1.
func (c *Pieces) add(project int64, sum string, r io.Reader) error {
	if !isSHA1(sum) {
		return wrong("a part's name is not its SHA-1")
	}
	f, err := os.CreateTemp(c.dir, "new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // of no name any more where all went well
	h := sha1.New()
	n, err := io.Copy(io.MultiWriter(f, h), packing.Bounded(r, pieceSize))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != sum {
		return wrong("a part is not what its name says")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.path(project, sum)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if c.used+n > c.most {
		return fmt.Errorf("%w: parts of files that are not whole", store.ErrFull)
	}
	if err := os.Rename(f.Name(), to); err != nil {
		return err
	}
	c.used += n
	return nil
}

// missing are the parts that are not there.
func (c *Pieces) missing(project int64, sums []string) []string {
	list := []string{}
	for _, s := range sums {
		if _, err := os.Stat(c.path(project, s)); err != nil {
			list = append(list, s)
		}
	}
	return list
}

// remove forgets parts.
func (c *Pieces) remove(paths ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range paths {
		if st, err := os.Stat(path); err == nil && os.Remove(path) == nil {
			c.used -= st.Size()
		}
	}
}

// Sweep forgets parts whose files nobody has made whole.
func (c *Pieces) Sweep() error {
	list, err := os.ReadDir(c.dir)
	for _, e := range list {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > pieceTime {
			c.remove(filepath.Join(c.dir, e.Name()))
		}
	}
	return err
}

// open reads parts one behind the other.
func (c *Pieces) open(project int64, sums []string) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		for _, s := range sums {
			f, err := os.Open(c.path(project, s))
			if err == nil {
				_, err = io.Copy(plainWriter{w}, f)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				w.CloseWithError(err)
				return
			}
		}
		w.Close()
	}()
	return r
}

// chunkOptions tells how parts are to be sent.
func (s *Server) chunkOptions(w http.ResponseWriter, r *http.Request, _ inbox.Key) error {
	to := url.URL{Scheme: scheme(r), Host: r.Host, Path: r.URL.Path}
	say(w, http.StatusOK, map[string]any{"url": to.String(), "chunkSize": pieceSize, "chunksPerRequest": maxPieces, "maxFileSize": s.Pieces.most / 2,
		"maxRequestSize": maxPieces * pieceSize, "concurrency": 4, "hashAlgorithm": "sha1", "compression": []string{"gzip"},
		"accept": []string{"debug_files", "pdbs", "portablepdbs"}})
	return nil
}

// difChunks takes a form of parts.
func (s *Server) difChunks(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	in, err := r.MultipartReader()
	if err != nil {
		return wrong("no multipart/form-data")
	}
	for range maxPieces + 1 {
		p, err := in.NextRawPart()
		if err == io.EOF {
			say(w, http.StatusOK, struct{}{})
			return nil
		}
		if err == nil {
			err = s.difChunk(p, key)
		}
		if err != nil {
			return partError(err)
		}
	}
	return wrong("too many parts")
}

func (s *Server) difChunk(p *multipart.Part, key inbox.Key) error {
	form := packing.None
	if p.FormName() == "file_gzip" {
		form = packing.Gzip
	}
	body, err := packing.Reader(form, packing.Bounded(p, 2*pieceSize))
	if err != nil {
		return wrong("a part is not packed as it is called")
	}
	defer body.Close()
	return s.Pieces.add(key.Project, p.FileName(), body)
}

// wantedDif is a file that is to be made of parts.
type wantedDif struct {
	Name   string   `json:"name"`
	ID     string   `json:"debug_id"`
	Chunks []string `json:"chunks"`
}

// assembled is what became of it: not_found, ok, error.
type assembled struct {
	State   string   `json:"state"`
	Missing []string `json:"missingChunks"`
	Detail  string   `json:"detail,omitempty"`
	Dif     *dif     `json:"dif,omitempty"`
}

// assemble makes files of parts that are there, and tells which are missing.
func (s *Server) assemble(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	b, err := io.ReadAll(packing.Bounded(r.Body, maxAssemble))
	if err != nil {
		return err
	}
	var wanted map[string]wantedDif
	if json.Unmarshal(b, &wanted) != nil || len(wanted) > maxDifs {
		return wrong("no files, or more than 1000: {SHA-1: {name, chunks}}")
	}
	answer := map[string]assembled{}
	var used []string
	for sum, of := range wanted {
		if answer[sum], err = s.assembleOne(r, key, sum, of); err != nil {
			return err
		}
		if answer[sum].State == "ok" {
			used = append(used, of.Chunks...) // what another file needs, too, is asked for again
		}
	}
	for _, c := range used {
		s.Pieces.remove(s.Pieces.path(key.Project, c))
	}
	say(w, http.StatusOK, answer)
	return nil
}

// assembleOne makes a file, if its parts are there.
func (s *Server) assembleOne(r *http.Request, key inbox.Key, sum string, of wantedDif) (assembled, error) {
	for _, c := range append([]string{sum}, of.Chunks...) {
		if !isSHA1(c) {
			return assembled{}, wrong("a name is no SHA-1")
		}
	}
	whole := s.Pieces.path(key.Project, sum)
	if d, ok := s.Pieces.done.Get(whole); ok {
		return assembled{State: "ok", Missing: []string{}, Dif: &d}, nil
	}
	if missing := s.Pieces.missing(key.Project, of.Chunks); len(missing) > 0 {
		return assembled{State: "not_found", Missing: missing}, nil
	}
	body := s.Pieces.open(key.Project, of.Chunks)
	defer body.Close()
	h := sha1.New()
	_, err := s.Binaries.Add(r.Context(), line(of.Name), "", io.TeeReader(body, h))
	switch {
	case errors.Is(err, fs.ErrNotExist): // swept meanwhile
		return assembled{State: "not_found", Missing: s.Pieces.missing(key.Project, of.Chunks)}, nil
	case errors.Is(err, binaries.ErrNone), errors.Is(err, packing.ErrLarge):
		return assembled{State: "error", Missing: []string{}, Detail: line(err.Error())}, nil
	case err != nil:
		return assembled{}, err
	case hex.EncodeToString(h.Sum(nil)) != sum:
		return assembled{State: "error", Missing: []string{}, Detail: "the parts make another file"}, nil
	}
	d := dif{Name: line(of.Name), SHA1: sum, ID: line(of.ID)}
	s.Pieces.done.Add(whole, d)
	return assembled{State: "ok", Missing: []string{}, Dif: &d}, nil
}
