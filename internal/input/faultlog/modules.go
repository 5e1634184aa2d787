package faultlog

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

// A report of a program with libraries says of each frame in which module it is, where in it, the first bytes of
// which build that is, and its address (device/ports/linux/report.c):
//
//	#0 libfoo.so+0x1234 b3ebaef2 0x7f5a12341234
//
// Where the address lacks, nobody says where the module was mapped. Such modules lie one behind the other here, from an address on
// that no frame without a module has.

// maxModules bounds the modules of a report.
const maxModules = 256

// ownModule is a module of a report.
type ownModule struct {
	name   string
	build  []byte
	bias   uint64
	placed bool // bias is what it was
}

// takePlace takes "libfoo.so+0x1234" and, of the words behind, the build and the address.
func (o *own) takePlace(words []string) (f target.Listed, ok bool) {
	i := strings.LastIndex(words[0], "+0x")
	if i <= 0 {
		return f, false
	}
	off, err := strconv.ParseUint(words[0][i+len("+0x"):], 16, 64)
	if err != nil {
		return f, false
	}
	m := ownModule{name: words[0][:i]}
	for _, word := range words[1:] {
		if digits, ok := strings.CutPrefix(word, "0x"); ok {
			at, err := strconv.ParseUint(digits, 16, 64)
			m.bias, m.placed = at-off, err == nil
		} else if m.build == nil {
			m.build, _ = hex.DecodeString(word[:min(len(word), 2*maxIdentity)])
		}
	}
	known := slices.ContainsFunc(o.modules, func(k ownModule) bool { return k.name == m.name })
	if !known && len(o.modules) < maxModules {
		o.modules = append(o.modules, m)
	}
	return target.Listed{Module: m.name, PC: off}, known || len(o.modules) <= maxModules
}

// place finds the modules, and lets the frames have addresses in them. A frame without a module has none: the address
// may be anything. arch is the processor of the binaries that the user named, nil for none.
func (o *own) place(env *input.Env, arch *cpu.Arch, lists ...[]target.Listed) firmware.Program {
	const apart = 1 << 16
	p := firmware.Program{Arch: arch}
	next := uint64(apart)
	for _, m := range o.modules {
		img, issues := m.find(env.Files, len(o.modules) == 1)
		p.Issues = append(p.Issues, issues...)
		bias := next
		if m.placed {
			bias = m.bias
		}
		mod := &target.Module{Name: m.name, Bias: bias, Range: target.Range{Lo: bias, Hi: bias}, BuildID: m.build}
		if img != nil && (p.Arch == nil || p.Arch == img.Arch) {
			if lo, _ := img.Segments.Bounds(); !m.placed {
				bias -= lo &^ (apart - 1)
			}
			p.Arch, mod = img.Arch, target.NewModule(m.name, img, bias)
		}
		for _, listed := range lists {
			move(mod, listed)
		}
		if !m.placed {
			next = (mod.Hi + 2*apart) &^ (apart - 1)
		}
		p.Modules = append(p.Modules, mod)
	}
	for _, listed := range lists {
		for i := range listed {
			if f := &listed[i]; f.Module == "" {
				f.Symbol, f.PC, f.Doubtful = fmt.Sprintf("%#x", f.PC), 0, true
			}
		}
	}
	return p
}

// move lets the frames in a module have addresses, and the module have room for them.
func move(mod *target.Module, listed []target.Listed) {
	for i := range listed {
		if f := &listed[i]; f.Module == mod.Name {
			f.PC += mod.Bias
			mod.Hi = max(mod.Hi, f.PC+1)
		}
	}
}

// find finds a module: among the files that the user named by its build, elsewhere by its name too. The only module of a report,
// where it is linked and without a build, is a static program: the one that the user named.
func (m *ownModule) find(files *input.Files, only bool) (img *image.Image, issues []target.Issue) {
	paths := []string{files.Exe()}
	for _, n := range files.Images() {
		paths = append(paths, n.Path)
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		named := only && m.bias == 0 && path == files.Exe()
		if img, err := files.Open(path); err == nil && (named || len(m.build) > 0) && bytes.HasPrefix(img.Identity(), m.build) {
			return img, nil
		}
	}
	img, issues = files.Find(input.BinaryRef{Name: m.name, Begin: m.build, Absolute: true})
	if img == nil {
		build := ""
		if len(m.build) > 0 {
			build = fmt.Sprintf(" of build %x", m.build)
		}
		text := fmt.Sprintf("%s%s: not found; name the file, or a sysroot", m.name, build)
		issues = append(issues, target.Issue{Kind: target.IssueNotFound, Subject: m.name, Text: text})
	}
	return img, issues
}
