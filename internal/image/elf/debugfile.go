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

// debugSearch is for the separate debug file of main.
type debugSearch struct {
	main    *file
	path    string // main's, "" where it has none
	buildID []byte
	opt     *image.Options
}

// debugFile is a separate debug file and what it was read from; neither where there is none.
type debugFile struct {
	file *file
	in   *image.File
}

// find looks where GDB looks (GDB manual, "Debugging Information in
// Separate Files"): by build ID below each debug directory, then by
// .gnu_debuglink beside the file, in .debug/, and below each debug directory. Last come
// files of the same build ID elsewhere: the program before it was stripped.
func (s *debugSearch) find() debugFile {
	if f := s.byID(); f.file != nil {
		return f
	}
	if f := s.byLink(); f.file != nil {
		return f
	}
	return s.twin()
}

// twin finds another file of the same build ID that has symbols or debug information.
func (s *debugSearch) twin() debugFile {
	if s.opt.ByBuildID == nil || len(s.buildID) < 2 {
		return debugFile{}
	}
	for path := range s.opt.ByBuildID(s.buildID) {
		f := s.try(path, func(f *file) bool {
			_, symbols := f.sections.find(".symtab")
			_, lines := f.section(".debug_info")
			return (symbols || lines) && bytes.Equal(f.buildID(), s.buildID)
		})
		if f.file != nil {
			return f
		}
	}
	return debugFile{}
}

func (s *debugSearch) byID() debugFile {
	if len(s.buildID) < 2 {
		return debugFile{}
	}
	id := hex.EncodeToString(s.buildID)
	for _, dir := range s.opt.DebugDirs {
		path := filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
		if f := s.try(path, func(f *file) bool { return bytes.Equal(f.buildID(), s.buildID) }); f.file != nil {
			return f
		}
	}
	return debugFile{}
}

// byLink follows .gnu_debuglink: a file name, padding, the CRC-32 of
// the debug file. The name must be a bare one, so that a hostile file cannot
// point anywhere. Equal build IDs spare reading the whole debug file for its CRC, which
// is not done for one that is out of proportion.
func (s *debugSearch) byLink() debugFile {
	link, ok := s.main.section(".gnu_debuglink")
	if !ok || s.path == "" {
		return debugFile{}
	}
	r := bin.New(link.Data, s.main.big)
	name := r.CString()
	r.Align(4)
	crc := r.U32()
	if r.Err() != nil || name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return debugFile{}
	}
	accept := func(f *file) bool {
		if id := f.buildID(); id != nil && s.buildID != nil {
			return bytes.Equal(id, s.buildID)
		}
		summed := budget.New("bytes to sum up", summedFloor, summedPerByte*uint64(len(s.main.data)))
		return summed.Draw(len(f.data)) && crc32.ChecksumIEEE(f.data) == crc
	}
	for _, dir := range s.linkDirs() {
		path := filepath.Join(dir, name)
		if path == filepath.Clean(s.path) {
			continue
		}
		if f := s.try(path, accept); f.file != nil {
			return f
		}
	}
	return debugFile{}
}

// What a debug file may have whose CRC is taken: Chromium's is some thirty times as large
// as what it describes. A sparse file of 200 GB would be read for minutes.
const summedFloor, summedPerByte = 64 << 20, 64

// linkDirs are the directories where a debug link may lead.
func (s *debugSearch) linkDirs() []string {
	dir := filepath.Dir(s.path)
	dirs := []string{dir, filepath.Join(dir, ".debug")}
	abs, err := filepath.Abs(dir)
	if inside, ok := s.opt.Inside(dir); ok {
		abs, err = inside, nil // DIR/usr/bin is /usr/bin on the other machine
	}
	if err != nil {
		return dirs
	}
	abs = strings.TrimPrefix(abs, filepath.VolumeName(abs))
	for _, d := range s.opt.DebugDirs {
		dirs = append(dirs, filepath.Join(d, abs))
	}
	return dirs
}

// try opens a candidate; what is missing, damaged or not accepted is no
// debug file.
func (s *debugSearch) try(path string, accept func(*file) bool) debugFile {
	path, ok := s.opt.Locate(path)
	if !ok {
		return debugFile{}
	}
	in, err := s.opt.OpenFile(path, sniff)
	if err != nil {
		return debugFile{}
	}
	f, err := newFile(in)
	if err != nil || !f.sameTarget(&s.main.encoding) || !accept(f) {
		in.Close()
		return debugFile{}
	}
	return debugFile{f, in}
}
