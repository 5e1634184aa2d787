package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/procfs"
)

// fetcher finds a file by its build ID.
type fetcher func(input.FetchKind, []byte) (path string, ok bool)

// symbolFetcher finds symbol files on servers.
type symbolFetcher func(name, id, file string) (path string, ok bool)

// or asks another one where this one has nothing. Both may be nil.
func (f fetcher) or(next fetcher) fetcher {
	if f == nil || next == nil {
		if f == nil {
			return next
		}
		return f
	}
	return func(kind input.FetchKind, id []byte) (string, bool) {
		if path, ok := f(kind, id); ok {
			return path, true
		}
		return next(kind, id)
	}
}

// replaced are links below /proc to files that a process has mapped and that are not at their paths any more: deleted, or replaced by an update.
func replaced(pid int) (links []string) {
	dir := procfs.Living(fmt.Sprintf("/proc/%d", pid))
	maps, _ := procfs.Maps(dir)
	for i := range maps {
		m := &maps[i]
		if m.Inode == 0 || m.Off != 0 || !strings.HasPrefix(m.Name, "/") {
			continue
		}
		link := fmt.Sprintf("%s/map_files/%x-%x", dir, m.Lo, m.Hi)
		if _, err := os.Stat(link); err == nil && !same(link, filepath.Join(dir, "root", m.Name)) { // only root may follow it
			links = append(links, link)
		}
	}
	return links
}

// use makes files of what processes see below their roots, and of what they have mapped where that is not at its path any more. The
// program itself may have no build ID.
func (p *processes) use(ff *fileFlags) {
	ff.sysroots = append(ff.sysroots, p.roots()...)
	ff.running = p.fetch()
	if len(p.pids) != 1 || ff.exe != "" {
		return
	}
	exe := procfs.Living(fmt.Sprintf("/proc/%d", p.pids[0])) + "/exe"
	if name, err := os.Readlink(exe); err == nil && !same(exe, filepath.Join(filepath.Dir(exe), "root", name)) {
		ff.exe = exe
	}
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	y, bad := os.Stat(b)
	return err == nil && bad == nil && os.SameFile(x, y)
}

// fetch finds files that processes have replaced; nil where there are none.
func (p *processes) fetch() fetcher {
	known := map[string]string{}
	for _, pid := range p.pids {
		for _, link := range replaced(pid) {
			img, err := elf.Open(link, image.Options{Archs: backsight.CPUs()})
			if err != nil {
				continue
			}
			if img.BuildID != nil {
				known[string(img.BuildID)] = link
			}
			_ = img.Close() // it was read only
		}
	}
	if len(known) == 0 {
		return nil
	}
	return func(kind input.FetchKind, id []byte) (string, bool) {
		path, ok := known[string(id)]
		return path, ok && kind == input.FetchExecutable
	}
}
