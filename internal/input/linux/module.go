package linux

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/unpack"
	"github.com/backsight/backsight/target"
)

// Module is a loaded module, as a log or the kernel's memory says.
type Module struct {
	Name string
	// Base is where its code begins, and Size the size of all that is loaded, or of the
	// code where no more is known; target addresses.
	Base, Size uint64
	// Sections are the addresses of sections, where they are known (sysfs).
	Sections map[string]uint64
	// BuildID decides where it is known and the file has one.
	BuildID []byte
}

// maxObject bounds the bytes of a module or of a list of symbols, as they are stored and
// decompressed; with debug information the largest modules have some tens of megabytes. What is
// compressed expands to maxRatio times as much at most, and to unpackedFloor in any case.
const maxObject, maxRatio, unpackedFloor = 256 << 20, 64, 1 << 20

// Module finds the module's file and links it to where it ran. What calls of the kernel
// mean, resolve tells by target address; nil where that is not known. Without a file the
// result has no image, only its name and range.
//
// Image addresses of a module are target addresses.
func (k *Kernel) Module(files *input.Files, m Module, resolve func(name string) (uint64, bool)) (*target.Module, []target.Issue) {
	var issues []target.Issue
	for _, path := range m.candidates(files) {
		img, err := k.link(files, path, m, resolve)
		if err == nil {
			mod := target.NewModule(m.Name, img, 0)
			if m.Size > 0 {
				mod.Range = target.Range{Lo: m.Base, Hi: m.Base + m.Size}
			}
			return mod, issues
		}
		issues = append(issues, target.Issue{Kind: target.IssueNotUsed, Subject: m.Name, Addr: m.Base, Text: fmt.Sprintf("%v; not used", err)})
	}
	if len(issues) == 0 {
		issues = append(issues, target.Issue{Kind: target.IssueNotFound, Subject: m.Name, Addr: m.Base,
			Text: fmt.Sprintf("module %s at %#x was not found (%s.ko)", m.Name, m.Base, m.Name)})
	}
	return &target.Module{Name: m.Name, Range: target.Range{Lo: m.Base, Hi: m.Base + max(m.Size, 1)}, BuildID: m.BuildID}, issues
}

// candidates are the module's files: the kernel writes - as _ in modules' names.
func (m *Module) candidates(files *input.Files) (paths []string) {
	for _, name := range []string{m.Name, strings.ReplaceAll(m.Name, "_", "-")} {
		paths = append(paths, files.Beginning(name+".ko")...)
	}
	for _, p := range files.Beginning(strings.SplitN(m.Name, "_", 2)[0]) { // snd-hda_codec.ko
		stem, _, ko := strings.Cut(filepath.Base(p), ".ko")
		if ko && strings.ReplaceAll(stem, "-", "_") == m.Name {
			paths = append(paths, p)
		}
	}
	return unique(paths)
}

// link opens a module's file, which may be compressed, and places it.
func (k *Kernel) link(files *input.Files, path string, m Module, resolve func(string) (uint64, bool)) (*image.Image, error) {
	data, err := readObject(files, path)
	if err != nil {
		return nil, err
	}
	linked, err := elf.Link(path, data, elf.Placement{Base: m.Base, Sections: m.Sections, Resolve: resolve})
	if err != nil {
		return nil, err
	}
	img, err := files.Parse(path, linked)
	if err != nil {
		return nil, err
	}
	if why := k.wrongModule(img, m); why != "" {
		return nil, &image.Error{Path: path, Offset: -1, Reason: why}
	}
	return img, nil
}

// readObject is a file's content, decompressed.
func readObject(files *input.Files, path string) ([]byte, error) {
	file, release, err := files.Disk().Load(path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, &image.Error{Path: path, Offset: -1, Reason: "cannot be opened", Err: err}
	}
	if len(file) > maxObject {
		return nil, errors.Join(&image.Error{Path: path, Offset: maxObject, Reason: "larger than any module"}, release())
	}
	data := bytes.Clone(file)
	if err := release(); err != nil {
		return nil, &image.Error{Path: path, Offset: -1, Reason: "cannot be read", Err: err}
	}
	if f, packed := unpack.Recognise(data); packed {
		limit := min(maxObject, maxRatio*min(len(data), maxObject/maxRatio)+unpackedFloor)
		if data, err = f.Unpack(data, limit); err != nil {
			return nil, &image.Error{Path: path, Offset: -1, Reason: "damaged compression", Err: err}
		}
	}
	return data, nil
}

// wrongModule says why a file is not the module that was loaded, "" where nothing speaks
// against it. .modinfo has the release that the module was built for: vermagic=6.1.0-50-arm64 SMP …
func (k *Kernel) wrongModule(img *image.Image, m Module) string {
	if !runsOn(img.Arch, k.Arch) {
		return fmt.Sprintf("a module for %s, the capture is of %s", img.Arch, k.Arch)
	}
	if len(m.BuildID) > 0 && len(img.BuildID) > 0 {
		if string(m.BuildID) != string(img.BuildID) {
			return fmt.Sprintf("build ID %x, the capture says %x", img.BuildID, m.BuildID)
		}
		return ""
	}
	info, _ := img.Sections.Named(".modinfo")
	for _, s := range strings.Split(string(info.Data), "\x00") {
		magic, ok := strings.CutPrefix(s, "vermagic=")
		release, _, _ := strings.Cut(magic, " ")
		if ok && k.Release != "" && release != k.Release {
			return fmt.Sprintf("a module for release %q, the capture is of %q", release, k.Release)
		}
	}
	return ""
}

func runsOn(a, b *cpu.Arch) bool {
	return b == nil || a == b || a.Name == b.Name && a.BigEndian == b.BigEndian && a.AddrSize == b.AddrSize
}
