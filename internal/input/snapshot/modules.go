package snapshot

import (
	"context"
	"encoding/hex"
	"path/filepath"
	"slices"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// moduleSet is the modules of a list of images, shared by the snapshots of a
// batch that name the same ones.
type moduleSet struct {
	images  []imageRef
	want    stated
	modules []*target.Module
	issues  []target.Issue
}

// stale tells whether a binary cannot be read any more: its file was cut short.
func (m *moduleSet) stale() bool {
	return slices.ContainsFunc(m.modules, func(m *target.Module) bool { return m.Image.Files.Err() != nil })
}

// modules finds what a record and the user name.
func (b *builder) modules(ctx context.Context, r *record, want stated) *moduleSet {
	if b.last.modules == nil && b.last.issues == nil || b.last.stale() || b.last.want != want || !slices.Equal(b.last.images, r.images) {
		b.last = moduleSet{images: slices.Clone(r.images), want: want}
		for _, ref := range b.named(r.images) {
			if ctx.Err() != nil {
				b.last = moduleSet{}
				break
			}
			b.last.add(b.env.Files, ref, b.dir)
		}
		m := b.last.modules
		sort.SliceStable(m, func(i, j int) bool { return m[i].Lo < m[j].Lo })
	}
	return &b.last
}

// named joins the images of the snapshot and those of the command line. Of the
// same base name, the command line's is the file and, where stated, the bias.
func (b *builder) named(refs []imageRef) []imageRef {
	refs = slices.Clone(refs)
	for _, n := range b.userImages(len(refs) > 0) {
		i := slices.IndexFunc(refs, func(r imageRef) bool {
			return !r.direct && filepath.Base(r.path) == filepath.Base(n.Path)
		})
		switch {
		case i < 0:
			refs = append(refs, imageRef{path: n.Path, bias: n.Bias, direct: true})
		case n.Placed:
			refs[i].bias = n.Bias
		}
	}
	return refs
}

// userImages are --image and, where nothing else names a binary, --exe.
func (b *builder) userImages(named bool) []input.NamedImage {
	images := b.env.Files.Images()
	if exe := b.env.Files.Exe(); exe != "" && !named && len(images) == 0 {
		return []input.NamedImage{{Path: exe}}
	}
	return images
}

// add opens one image. One that cannot be used is an issue.
func (m *moduleSet) add(files *input.Files, ref imageRef, dir string) {
	img, issues := m.open(files, ref, dir)
	m.issues = append(m.issues, issues...)
	if img == nil {
		if len(issues) == 0 {
			m.issues = append(m.issues, target.Issue{Kind: target.IssueNotFound, Subject: ref.path, Text: ref.path + ": not found"})
		}
		return
	}
	m.modules = append(m.modules, target.NewModule(ref.path, img, ref.bias))
}

func (m *moduleSet) open(files *input.Files, ref imageRef, dir string) (*image.Image, []target.Issue) {
	w := input.BinaryRef{Name: ref.path, Arch: m.want.arch, AnyABI: m.want.abi == "", Dir: dir}
	if ref.direct {
		return files.Use(ref.path, w)
	}
	if id, err := hex.DecodeString(ref.buildID); err == nil && len(id) > 0 {
		w.BuildID = id
	}
	return files.Find(w)
}

// arch is the processor of the snapshot. A binary's header knows more than the
// three words of the format: release 6, microMIPS, the ARM profile. It decides
// where it agrees with them.
func (m *moduleSet) arch(want stated) *cpu.Arch {
	for _, mod := range m.modules {
		if a := mod.Image.Arch; want.abi == "" || a.ABI == want.abi {
			return a
		}
	}
	return want.arch
}
