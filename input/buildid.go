package input

import (
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/backsight/backsight/image"
)

// FetchKind is what is fetched from far away: named as debuginfod's web API names it.
type FetchKind string

const (
	FetchExecutable FetchKind = "executable"
	FetchDebugInfo  FetchKind = "debuginfo"
)

// maxTwins bounds the files of one build ID: copies of one program in a build tree.
const maxTwins = 16

// idIndex finds files anywhere below directories by their build IDs. It is made when the
// first one is looked for, by a look at the headers of every file; a file below .build-id says
// by its name whose it is.
type idIndex struct {
	dirs    []string
	formats []image.Format
	once    sync.Once
	mu      sync.Mutex
	files   map[string][]string
}

// find returns the files of a build ID, in the order of their paths.
func (x *idIndex) find(id []byte) []string {
	if len(id) < 2 || len(x.dirs) == 0 {
		return nil
	}
	x.once.Do(x.build)
	found := x.files[string(id)]
	return found[:min(len(found), maxTwins)]
}

// build walks through the directories, and reads the headers on all cores.
func (x *idIndex) build() {
	x.files = make(map[string][]string)
	paths := make(chan string, 256)
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			for path := range paths {
				if id := image.BuildID(path, x.formats); id != nil {
					x.add(id, path)
				}
			}
		})
	}
	entries := 0
	for _, dir := range x.dirs {
		x.walk(dir, &entries, paths)
	}
	close(paths)
	readers.Wait()
	for _, found := range x.files { // in the order of the readers
		slices.Sort(found)
	}
}

// walk sends the files below a directory. Directories that cannot be read are left out.
func (x *idIndex) walk(dir string, entries *int, paths chan<- string) {
	root, err := filepath.EvalSymlinks(dir) // WalkDir does not enter a link
	if err != nil {
		return
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if *entries++; *entries > maxEntries {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil
		}
		path = filepath.Join(dir, rel)
		if id := idOfName(rel); id != nil {
			x.add(id, path)
		} else if d.Type().IsRegular() {
			paths <- path
		}
		return nil
	})
}

// idOfName is the build ID in a path's .build-id/xx/yyyy or .build-id/xx/yyyy.debug, nil for
// other paths.
func idOfName(path string) []byte {
	dir, name := filepath.Split(path)
	dir, first := filepath.Split(filepath.Clean(dir))
	if filepath.Base(dir) != ".build-id" || len(first) != 2 {
		return nil
	}
	id, err := hex.DecodeString(first + strings.TrimSuffix(name, ".debug"))
	if err != nil || len(id) < 2 {
		return nil
	}
	return id
}

func (x *idIndex) add(id []byte, path string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files[string(id)] = append(x.files[string(id)], path)
}
