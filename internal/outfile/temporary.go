package outfile

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// temporaries are the files of a run that have not taken their places yet.
type temporaries struct {
	mu    sync.Mutex
	names map[string]bool // bounded by the goroutines that write
	over  bool
}

type key struct{}

// Tidy is a context whose Writes leave no temporary file when the process ends before them: end removes the
// files, and lets no Write create or replace a file any more.
func Tidy(ctx context.Context) (tidy context.Context, end func()) {
	t := new(temporaries)
	return context.WithValue(ctx, key{}, t), t.end
}

// temporariesOf are those of a context, else some that nobody ends.
func temporariesOf(ctx context.Context) *temporaries {
	if t, ok := ctx.Value(key{}).(*temporaries); ok {
		return t
	}
	return new(temporaries)
}

// temporary begins the names of temporary files.
const temporary = ".backsight-"

// Temporary tells whether a file is called as those are that have not taken their places. One that is old has lost its writer.
func Temporary(name string) bool {
	digits, ours := strings.CutPrefix(name, temporary)
	_, err := strconv.ParseUint(digits, 16, 64)
	return ours && err == nil && len(digits) == 16
}

// create makes a file beside path. The umask is taken from mode, which os.CreateTemp does not do.
func (t *temporaries) create(path string, mode fs.FileMode) (f *os.File, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, context.Canceled
	}
	dir, _ := filepath.Split(path)
	name := fmt.Sprintf("%s%s%016x", dir, temporary, rand.Uint64())
	if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
		return nil, naming(path, name, err)
	}
	if t.names == nil {
		t.names = make(map[string]bool)
	}
	t.names[f.Name()] = true
	return f, nil
}

// rename moves a complete file to its place.
func (t *temporaries) rename(from, to string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return context.Canceled
	}
	err := os.Rename(from, to)
	if err == nil {
		delete(t.names, from)
	}
	return err
}

// remove removes a file unless it has its place.
func (t *temporaries) remove(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names[name] {
		_ = os.Remove(name)
		delete(t.names, name)
	}
}

// end removes all files.
func (t *temporaries) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for name := range t.names {
		_ = os.Remove(name)
	}
	t.names = nil
}
