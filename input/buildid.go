package input

import (
	"encoding/hex"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// FetchKind is what is fetched from far away: named as debuginfod's web API names it.
type FetchKind string

const (
	FetchExecutable FetchKind = "executable"
	FetchDebugInfo  FetchKind = "debuginfo"
)

// maxTwins bounds the files of one build ID: copies of one program in a build tree.
const maxTwins = 16

// idIndex finds files of trees by their build IDs. It is made when the first one is looked for, by a look at the
// headers of every file; a file below .build-id says by its name whose it is.
type idIndex struct {
	trees []*tree
	opt   *FileOptions
	// programs: only what looks as if it had run is of interest, by its mode or by its name.
	programs bool
	once     sync.Once
	mu       sync.Mutex
	files    map[string][]string
}

// find returns the files of a build ID, in the order of their paths.
func (x *idIndex) find(id []byte) []string {
	if len(id) < 2 || len(x.trees) == 0 {
		return nil
	}
	x.once.Do(x.build)
	found := x.files[string(id)]
	return found[:min(len(found), maxTwins)]
}

func (x *idIndex) build() {
	x.files = make(map[string][]string)
	for _, t := range x.trees {
		known := openKnown(x.opt, t.root)
		x.read(t, known)
		known.save()
	}
	for _, found := range x.files { // in the order of the readers
		slices.Sort(found)
	}
}

// read reads the headers of a tree's files on all cores, as far as they are not known.
func (x *idIndex) read(t *tree, known *knownIDs) {
	paths := make(chan string, 256)
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			for path := range paths {
				st, err := t.disk.Lstat(path)
				if err != nil || !st.Mode().IsRegular() || x.programs && st.Mode()&0o111 == 0 && stem(st.Name()) == "" {
					continue
				}
				if id := known.id(path, st, x.opt.Formats); id != "" {
					x.add([]byte(id), path)
				}
			}
		})
	}
	for rel := range t.listed().files() {
		if !t.goOn() {
			break
		}
		path := filepath.Join(t.root, rel)
		if id := idOfName(rel); id != nil {
			x.add(id, path)
		} else {
			paths <- path
		}
	}
	close(paths)
	readers.Wait()
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
