package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/study"
)

// measured is a row of what the stacks of another's program are: NAME=FILE, or a file.
func measured(ctx context.Context, arg string) (row string, err error) {
	name, path, named := strings.Cut(arg, "=")
	if !named {
		name, path = filepath.Base(arg), arg
	}
	img, err := image.Open(path, backsight.ImageFormats(), image.Options{Archs: backsight.CPUs(), NoDebugFiles: true})
	if err != nil {
		return "", err
	}
	defer img.Close()
	begin := time.Now()
	r, err := study.StackUsage(ctx, img, nil, nil)
	if err != nil {
		return "", err
	}
	took := time.Since(begin)
	kinds := map[string]int{}
	closed := 0
	for i := range r.Roots {
		kinds[r.Roots[i].Kind]++
		if r.Roots[i].OpenCount == 0 {
			closed++
		}
	}
	deepest := ""
	if len(r.Roots) > 0 {
		x := &r.Roots[0]
		deepest = fmt.Sprintf("%s %s: %d", x.Kind, x.Name, x.Depth)
		if x.OpenCount > 0 {
			deepest += ", at least"
		}
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d (%.1f %%) | %d | %d of %d | %s | %.1f |", name, img.Arch.Name, len(r.Functions), r.Calls, r.Pointers,
		100*float64(r.Pointers)/float64(max(r.Calls, 1)), kinds["task"], closed, len(r.Roots), deepest, took.Seconds()), nil
}
