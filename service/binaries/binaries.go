// Package binaries keeps executables, debug files and symbol files by what captures call them: build IDs, and names of symbol
// servers. A file that comes has the captures backtraced again that wait for it.
package binaries

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/breakpad"
	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/store"
)

// ErrNone says that a file is no binary that a capture could name.
var ErrNone = errors.New("neither an executable with a build ID nor a symbol file")

// ErrOther says that a file has another build ID than its sender says.
var ErrOther = errors.New("the file has another build ID")

// Folder keeps files below a folder.
type Folder struct {
	DB   *db.DB
	Dir  child.Binaries
	Most int64 // bytes of a file
	// Remote has the files, too, where several nodes share them; else nil.
	Remote Remote
	// Room is how many bytes of them are kept here then, beside those that were asked for a moment ago; 0: all.
	Room int64
	// Came has captures backtraced again that wait for a build ID.
	Came func(ctx context.Context, tx *sql.Tx, build string) (int, error)

	copies copies
}

// found is what a file turned out to be.
type found struct {
	ids        []string // in lower case
	kind, name string
	path       string // where it goes
}

// Add implements intake.Binaries.
func (f *Folder) Add(ctx context.Context, name, id string, body io.Reader) ([]string, error) {
	temp, size, err := f.write(body)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp) // of no name any more where all went well
	what, err := f.look(ctx, temp, name)
	if err != nil {
		return nil, err
	}
	if id != "" && !strings.EqualFold(id, what.ids[0]) {
		return nil, fmt.Errorf("%w: %s", ErrOther, what.ids[0])
	}
	if err := f.place(temp, what.path); err != nil {
		return nil, err
	}
	if f.Remote != nil {
		if err := f.Share(ctx, what.path); err != nil {
			return nil, err
		}
		if err := f.came(size); err != nil {
			return nil, err
		}
	}
	return what.ids, f.DB.Tx(ctx, func(tx *sql.Tx) error { return f.list(ctx, tx, what, size) })
}

// Share gives a file to all nodes.
func (f *Folder) Share(ctx context.Context, path string) error {
	rel, err := filepath.Rel(f.Dir.Dir, path)
	if err != nil {
		return err
	}
	return f.Remote.Put(ctx, remoteName(rel), path)
}

// write writes a file that has no place yet.
func (f *Folder) write(body io.Reader) (path string, size int64, err error) {
	if err := store.MakeDir(f.Dir.Dir, f.Dir.Dir); err != nil {
		return "", 0, err
	}
	to, err := os.CreateTemp(f.Dir.Dir, "new-")
	if err != nil {
		return "", 0, err
	}
	in := bufio.NewReader(packing.Bounded(body, f.Most))
	head, _ := in.Peek(4)
	from, err := packing.Reader(packing.Of(head), in)
	if err == nil {
		size, err = io.Copy(to, packing.Bounded(from, f.Most))
		err = errors.Join(err, from.Close(), to.Sync())
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return "", 0, errors.Join(err, os.Remove(to.Name()))
	}
	return to.Name(), size, nil
}

// look finds out what a file is.
func (f *Folder) look(ctx context.Context, path, name string) (*found, error) {
	if what, err := f.symbols(path); what != nil || err != nil {
		return what, err
	}
	img, err := image.Open(path, backsight.ImageFormats(), image.Options{Archs: backsight.CPUs(), NoDebugFiles: true, Context: ctx})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrNone, strings.ReplaceAll(err.Error(), path, "the file"))
	}
	defer img.Close()
	if len(img.BuildID) == 0 {
		return nil, ErrNone
	}
	id := hex.EncodeToString(img.BuildID)
	what := &found{ids: []string{id}, kind: "executable", name: filepath.Base("/" + name)}
	if img.Hollow() {
		what.kind = "debuginfo"
	}
	what.path = f.Dir.Path(id, what.kind)
	return what, nil
}

// maxHead bounds the lines of a symbol file that tell what it is of.
const maxHead = 4096

// maxName bounds what a symbol file is called by, in bytes: a name in a folder has 255 (limits.h, NAME_MAX), with what is added.
const maxName = 200

// symbols is a Breakpad symbol file, nil where it is none: MODULE OS CPU ID NAME, and where it is known INFO CODE_ID BUILD.
func (f *Folder) symbols(path string) (*found, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, maxHead))
	if !breakpad.Sniff(head) {
		return nil, nil
	}
	module, rest, _ := bytes.Cut(head, []byte("\n"))
	words := strings.SplitN(strings.TrimSpace(string(module)), " ", 5)
	if len(words) != 5 || max(len(words[3]), len(words[4])) > maxName {
		return nil, ErrNone
	}
	id, name := words[3], words[4]
	what := &found{ids: []string{strings.ToLower(id)}, kind: "symbols", name: name, path: f.Dir.SymbolPath(name, id, strings.TrimSuffix(name, ".pdb")+".sym")}
	if line, ok := bytes.CutPrefix(rest, []byte("INFO CODE_ID ")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		if words := strings.Fields(string(line)); len(words) > 0 {
			what.ids = append(what.ids, strings.ToLower(words[0]))
		}
	}
	return what, nil
}

// place gives a file its name, which is on the disk then.
func (f *Folder) place(temp, path string) error {
	f.copies.mu.Lock() // so that came takes no folder away that is to have a file
	defer f.copies.mu.Unlock()
	dir := filepath.Dir(path)
	if err := store.MakeDir(dir, f.Dir.Dir); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return store.SyncDir(dir)
}

// list lists a file, and starts the captures that wait for it.
func (f *Folder) list(ctx context.Context, tx *sql.Tx, what *found, size int64) error {
	rel, err := filepath.Rel(f.Dir.Dir, what.path)
	if err != nil {
		return err
	}
	now := time.Now()
	if err := os.Chtimes(what.path, time.Time{}, now); err != nil { // so that Fill sees that it is the last one
		return err
	}
	const add = `INSERT INTO binaries (build_id, kind, name, path, size, received) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (build_id, kind) DO UPDATE SET name = excluded.name, path = excluded.path, size = excluded.size, received = excluded.received`
	for _, id := range what.ids {
		if _, err := tx.ExecContext(ctx, add, id, what.kind, what.name, rel, size, db.Milli(now)); err != nil {
			return err
		}
		if _, err := f.Came(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// Has implements intake.Binaries.
func (f *Folder) Has(name, id string) bool {
	path := f.Dir.SymbolPath(name, id, strings.TrimSuffix(name, ".pdb")+".sym")
	_, err := os.Stat(path)
	if f.Remote != nil && errors.Is(err, fs.ErrNotExist) {
		return f.elsewhere(path)
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// elsewhere tells whether another node was given a file.
func (f *Folder) elsewhere(path string) bool {
	rel, err := filepath.Rel(f.Dir.Dir, path)
	if err != nil {
		return false
	}
	var n int
	err = f.DB.Read.QueryRow("SELECT count(*) FROM binaries WHERE path = $1", rel).Scan(&n)
	return err == nil && n > 0
}
