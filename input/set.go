package input

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/backsight/backsight/internal/mapped"
)

// Sets groups files by the captures that they are: files of one set together (Format.Set), every
// other file by itself. The sets are in the order of their first files.
func (env *Env) Sets(paths []string) (sets [][]string) {
	known := make(map[string]int)
	for _, path := range paths {
		name := setOf(path, env)
		if i, ok := known[name]; ok && name != "" {
			sets[i] = append(sets[i], path)
			continue
		}
		known[name] = len(sets)
		sets = append(sets, []string{path})
	}
	return sets
}

// setOf is the set that a file is one of, "" for none. Only a regular file can be read here and again
// later.
func setOf(path string, env *Env) string {
	disk := env.Files.Disk()
	if !disk.Regular(path) {
		return ""
	}
	f, err := disk.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for i := range env.Formats {
		if set := env.Formats[i].Set; set != nil {
			if name := set(f); name != "" {
				return name
			}
		}
	}
	return ""
}

// maxInDirectory is how many files are looked for in a recording: perf record --threads writes one for each processor at most.
const maxInDirectory = 1 << 12

// inDirectory are the files of a recording that perf wrote as a directory (--kcore, --threads): data, and data.0 and so on, of which some may be
// empty; nil where path is none.
func inDirectory(disk mapped.Disk, path string) (files []string) {
	if st, err := disk.Stat(path); err != nil || !st.IsDir() {
		return nil
	}
	data := filepath.Join(path, "data")
	if !disk.Regular(data) {
		return nil
	}
	files = []string{data}
	for i := range maxInDirectory {
		file := fmt.Sprintf("%s.%d", data, i)
		st, err := disk.Stat(file)
		if err != nil {
			break
		}
		if st.Size() > 0 {
			files = append(files, file)
		}
	}
	return files
}

// OpenSet is Open for a capture of one or several files, as Sets groups them.
func (env *Env) OpenSet(ctx context.Context, paths []string) (Stream, error) {
	if len(paths) == 1 {
		return env.Open(ctx, paths[0])
	}
	first, err := openFile(ctx, paths[0], env)
	if err != nil {
		return nil, err
	}
	for _, path := range paths[1:] {
		c, err := openFile(ctx, path, env)
		if err != nil {
			return nil, errors.Join(err, first.Close())
		}
		first.Others = append(first.Others, c)
		first.release = append(first.release, c.Close)
	}
	return first.open(ctx, env)
}
