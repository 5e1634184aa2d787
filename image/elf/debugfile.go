package elf

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// findDebugFile looks where GDB looks (GDB manual, "Debugging Information in
// Separate Files"): by build ID below each debug directory, then by
// .gnu_debuglink beside the file, in .debug/, and below each debug directory. Last come
// files of the same build ID elsewhere: the program before it was stripped.
func (c *container) findDebugFile() *file {
	if f := c.debugFileByID(); f != nil {
		return f
	}
	if f := c.debugFileByLink(); f != nil {
		return f
	}
	return c.twin()
}

// twin finds another file of the same build ID that has what this one lacks.
func (c *container) twin() *file {
	if c.opt.ByBuildID == nil || len(c.buildID) < 2 {
		return nil
	}
	for path := range c.opt.ByBuildID(c.buildID) {
		f := c.tryDebugFile(path, func(f *file) bool {
			_, symbols := f.findShdr(".symtab")
			_, lines := f.section(".debug_info")
			return (symbols || lines) && bytes.Equal(f.buildID(), c.buildID)
		})
		if f != nil {
			return f
		}
	}
	return nil
}

// Hollow implements image.Image's: some code is stated, and has no bytes.
func (c *container) Hollow() bool {
	for i := range c.main.shnum {
		if s := c.main.shdr(i); s.typ == shtNobits && s.flags&shfExecinstr != 0 && s.size > 0 {
			return true
		}
	}
	return false
}

func (c *container) debugFileByID() *file {
	if len(c.buildID) < 2 {
		return nil
	}
	id := hex.EncodeToString(c.buildID)
	for _, dir := range c.opt.DebugDirs {
		path := filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
		if f := c.tryDebugFile(path, func(f *file) bool { return bytes.Equal(f.buildID(), c.buildID) }); f != nil {
			return f
		}
	}
	return nil
}

// debugFileByLink follows .gnu_debuglink: a file name, padding, the CRC-32 of
// the debug file. The name must be a bare one, so that a hostile file cannot
// point anywhere. Equal build IDs spare reading the whole debug file for its CRC, which
// is not done for one that is out of proportion.
func (c *container) debugFileByLink() *file {
	s, ok := c.main.section(".gnu_debuglink")
	if !ok || c.in.Path == "" {
		return nil
	}
	r := bin.New(s.Data, c.main.big)
	name := r.CString()
	r.Align(4)
	crc := r.U32()
	if r.Err() != nil || name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return nil
	}
	accept := func(f *file) bool {
		if id := f.buildID(); id != nil && c.buildID != nil {
			return bytes.Equal(id, c.buildID)
		}
		summed := budget.New("bytes to sum up", summedFloor, summedPerByte*uint64(len(c.main.data)))
		return summed.Draw(len(f.data)) && crc32.ChecksumIEEE(f.data) == crc
	}
	for _, dir := range c.linkDirs() {
		path := filepath.Join(dir, name)
		if path == filepath.Clean(c.in.Path) {
			continue
		}
		if f := c.tryDebugFile(path, accept); f != nil {
			return f
		}
	}
	return nil
}

// What a debug file may have whose CRC is taken: Chromium's is some thirty times as large
// as what it describes. A sparse file of 200 GB would be read for minutes.
const summedFloor, summedPerByte = 64 << 20, 64

// linkDirs are the directories where a debug link may lead.
func (c *container) linkDirs() []string {
	dir := filepath.Dir(c.in.Path)
	dirs := []string{dir, filepath.Join(dir, ".debug")}
	abs, err := filepath.Abs(dir)
	if inside, ok := c.opt.Inside(dir); ok {
		abs, err = inside, nil // DIR/usr/bin is /usr/bin on the other machine
	}
	if err != nil {
		return dirs
	}
	abs = strings.TrimPrefix(abs, filepath.VolumeName(abs))
	for _, d := range c.opt.DebugDirs {
		dirs = append(dirs, filepath.Join(d, abs))
	}
	return dirs
}

// tryDebugFile opens a candidate; what is missing, damaged or not accepted is no
// debug file.
func (c *container) tryDebugFile(path string, accept func(*file) bool) *file {
	path, ok := c.opt.Locate(path)
	if !ok {
		return nil
	}
	in, err := image.OpenFile(path, sniff)
	if err != nil {
		return nil
	}
	f, err := newFile(path, in.Data)
	if err != nil || !f.sameTarget(c.main) || !accept(f) {
		in.Close()
		return nil
	}
	c.debugIn.Store(in)
	return f
}
