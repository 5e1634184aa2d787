// Package firmware is what captures of microcontrollers have in common: one program whose
// binaries the user names, and memory that no kernel stands before.
package firmware

import (
	"bytes"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Program is the binaries that ran, and their processor.
type Program struct {
	// Arch is nil where neither the user, nor a binary, nor hint told.
	Arch    *cpu.Arch
	Modules []*target.Module
	Issues  []target.Issue
}

// Open opens the binaries that the user named. hint is the processor as the capture tells
// it, nil where it does not, and then the one that the user stated; a binary of another one is not used, and said. The byte order, the
// width and the variant are the binary's: registers do not tell these surely.
func Open(env *input.Env, hint *cpu.Arch) Program {
	p := Program{}
	if hint == nil {
		hint = env.Files.Raw()
	}
	for _, n := range binaries(env.Files) {
		img, issues := env.Files.Use(n.Path, input.BinaryRef{Name: n.Path})
		p.Issues = append(p.Issues, issues...)
		if img == nil {
			continue
		}
		if hint != nil && img.Arch.ELF.Machine != hint.ELF.Machine {
			p.Issues = append(p.Issues, target.Issue{Kind: target.IssueNotUsed, Subject: n.Path,
				Text: fmt.Sprintf("%s: a binary for %s, the capture has the registers of %s; not used", n.Path, img.Arch, hint.Name)})
			continue
		}
		if p.Arch == nil {
			p.Arch = img.Arch
		}
		p.Modules = append(p.Modules, target.NewModule(n.Path, img, n.Bias))
	}
	if p.Arch == nil {
		p.Arch = hint
	}
	return p
}

// OtherBuild is the issue where one of the binaries is of another build than the device's, of whose identity
// (image.Image.Identity) a capture has the first bytes, or none.
func (p *Program) OtherBuild(identity []byte) (issue target.Issue, other bool) {
	for _, m := range p.Modules {
		if len(identity) > 0 && m.Image != nil && !bytes.HasPrefix(m.Image.Identity(), identity) {
			return target.Issue{Kind: target.IssueNotUsed, Subject: m.Name,
				Text: fmt.Sprintf("%s: another build than the device's, which is %x; not used", m.Name, identity)}, true
		}
	}
	return issue, false
}

// binaries are the executable and the images that the user named, each once.
func binaries(files *input.Files) []input.NamedImage {
	images := files.Images()
	exe := files.Exe()
	for _, n := range images {
		if n.Path == exe {
			exe = ""
		}
	}
	if exe == "" {
		return images
	}
	return append([]input.NamedImage{{Path: exe}}, images...)
}
