// Package linux finds the kernel of a captured machine, and its modules, among the user's
// files, and places them where they ran. A console log or the machine's memory tells which
// kernel ran.
//
// Debian and others name the files by the release: vmlinuz-RELEASE, vmlinux-RELEASE,
// System.map-RELEASE; embedded systems vmlinux, zImage, Image, uImage. Whatever its name, a
// kernel says its release itself.
package linux

import (
	"fmt"
	"path/filepath"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/kernel"
	"github.com/backsight/backsight/internal/kallsyms"
	"github.com/backsight/backsight/target"
)

// Kernel is the kernel that ran, as far as a capture says.
type Kernel struct {
	// Release is what uname -r prints, "" where nothing says it.
	Release string
	// Banner is the first line of the kernel's log, "" where it is not known. It tells
	// builds of one release apart.
	Banner string
	// BuildID decides where it is known and the file has one.
	BuildID []byte
	Arch    *cpu.Arch
}

// names are the usual names of kernel files that do not name the release, files with symbols first.
var names = [...]string{"vmlinux", "vmlinuz", "Image", "zImage", "bzImage", "uImage", "kernel"}

// Find opens the kernel's image. Its image addresses are those that the kernel is linked for. The
// image is nil where no file fits; issues say which files were found and not used, and why.
// Functions are named by the file's own symbols, else by a System.map-RELEASE.
func Find(files *input.Files, k Kernel) (img *image.Image, issues []target.Issue) {
	for _, path := range k.candidates(files) {
		img, more := files.Use(path, input.BinaryRef{Name: filepath.Base(path), Arch: k.Arch})
		if img == nil {
			issues = append(issues, more...)
			continue
		}
		if why := k.differs(img); why != "" {
			issues = append(issues, target.Issue{Kind: target.IssueNotUsed, Subject: path, Text: path + ": " + why + "; not used"})
			continue
		}
		if img.Files.Err() == nil {
			return k.named(files, img), more
		}
	}
	return nil, issues
}

// candidates are the files that may be the kernel, best first: files that the user named, files
// named by the release, files with a usual name.
func (k *Kernel) candidates(files *input.Files) (paths []string) {
	if files.Exe() != "" {
		paths = append(paths, files.Exe())
	}
	for _, i := range files.Images() {
		paths = append(paths, i.Path)
	}
	for _, name := range []string{"vmlinux-", "vmlinuz-"} {
		paths = append(append(paths, k.atBoot(files, name)...), files.Beginning(name+k.Release)...)
	}
	for _, name := range names {
		paths = append(paths, files.Beginning(name)...)
	}
	return unique(paths)
}

// atBoot are files of the release where distributions put them.
func (k *Kernel) atBoot(files *input.Files, name string) []string {
	if k.Release == "" {
		return nil
	}
	return files.At("/boot/" + name + k.Release)
}

func unique(paths []string) (out []string) {
	seen := make(map[string]bool)
	for _, p := range paths {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// differs says why an image is not the kernel that ran, "" where nothing speaks against it.
func (k *Kernel) differs(img *image.Image) string {
	banner := kernel.Banner(img)
	switch {
	case len(k.BuildID) > 0 && len(img.BuildID) > 0:
		if string(k.BuildID) != string(img.BuildID) {
			return fmt.Sprintf("build ID %x, the capture says %x", img.BuildID, k.BuildID)
		}
	case banner == "":
		return "not a Linux kernel"
	case k.Banner != "" && banner != k.Banner:
		return fmt.Sprintf("a kernel %q, the capture is of %q", banner, k.Banner)
	case k.Release != "" && kernel.Release(banner) != k.Release:
		return fmt.Sprintf("a kernel of release %q, the capture is of %q", kernel.Release(banner), k.Release)
	}
	return ""
}

// named is img or, where img has no symbols, img with the names of a System.map.
func (k *Kernel) named(files *input.Files, img *image.Image) *image.Image {
	img = files.Rename(img)
	if img.Symbols.HasFunctions() || k.Release == "" {
		return img
	}
	type key struct{ release string }
	return img.Memo(key{k.Release}, func() any {
		for _, path := range append(k.atBoot(files, "System.map-"), files.Beginning("System.map-"+k.Release)...) {
			if table, err := ReadSymbols(files, path); err == nil {
				return kallsyms.Named(img, table)
			}
		}
		return img
	}).(*image.Image)
}

// Names is a kernel of which nothing is known but the names in a file of symbols (/proc/kallsyms, or a copy of that), whose code lies in
// a range, one of the symbols at an address. The file may be of another boot, with the kernel at another place.
func Names(files *input.Files, path string, arch *cpu.Arch, code target.Range, symbol string, at uint64) (*target.Module, error) {
	data, err := files.Disk().ReadFile(path)
	if err != nil {
		return nil, err
	}
	table, err := kallsyms.Parse(data)
	if err != nil {
		return nil, err
	}
	s, ok := table.Named(symbol)
	if !ok {
		return nil, fmt.Errorf("%s: no symbol %s", path, symbol)
	}
	bias := at - s.Addr
	h := image.Header{Path: path, Arch: arch, Segments: image.Segments{{Addr: code.Lo - bias, Size: code.Hi - code.Lo, Read: true, Exec: true}}}
	return target.NewModule("vmlinux", kallsyms.Named(image.New(h, nil), table), bias), nil
}

// ReadSymbols reads a file of symbols: System.map, /proc/kallsyms, the output of nm.
func ReadSymbols(files *input.Files, path string) (*kallsyms.Table, error) {
	data, err := readObject(files, path)
	if err != nil {
		return nil, err
	}
	table, err := kallsyms.Parse(data)
	if err != nil {
		return nil, &image.Error{Path: path, Reason: "not a list of symbols", Err: err}
	}
	return table, nil
}
