package elfcore

import (
	"path"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// findModules finds which files were mapped where, from what tells most: the
// table of file mappings, else the program itself and its dynamic linker's list.
// Binaries that the user placed come last and the vDSO is always in memory.
func (c *core) findModules() {
	if len(c.notes.files) > 0 {
		c.fromMappings()
	} else {
		c.fromLinker()
	}
	c.userImages()
	c.vdso()
}

// wanted is a binary of this core.
func (c *core) wanted(name string, buildID []byte) input.BinaryRef {
	return input.BinaryRef{Name: name, BuildID: buildID, Arch: c.arch}
}

// find opens a binary that the core names. What was not used is an issue.
func (c *core) find(name string, buildID []byte) *image.Image {
	img, issues := c.env.Files.Find(c.wanted(name, buildID))
	if img == nil {
		c.issues = append(c.issues, issues...)
	}
	return img
}

// add makes a module of an image at a bias.
func (c *core) add(name string, img *image.Image, bias uint64) *target.Module {
	m := target.NewModule(name, img, bias&c.arch.AddrMask())
	c.modules = append(c.modules, m)
	return m
}

// mainProgram opens the program's executable: the one that the user named, else
// the one that the core names. where is its path in the core, "" if unknown.
func (c *core) mainProgram(where string, buildID []byte) *image.Image {
	if exe := c.env.Files.Exe(); exe != "" {
		img, issues := c.env.Files.Use(exe, c.wanted(exe, buildID))
		c.issues = append(c.issues, issues...)
		if img != nil {
			c.adopt(img)
			return img
		}
	}
	for _, name := range c.programNames(where) {
		if img := c.find(name, buildID); img != nil {
			c.adopt(img)
			return img
		}
	}
	return c.amongImages(buildID)
}

// amongImages is the binary of --image that the kernel's addresses fit, for cores
// whose program was renamed.
func (c *core) amongImages(buildID []byte) *image.Image {
	if _, ok := c.notes.auxv[atEntry]; !ok {
		return nil
	}
	for _, n := range c.env.Files.Images() {
		img, _ := c.env.Files.Use(n.Path, c.wanted(n.Path, buildID)) // issues: see userImages
		if img == nil || n.Placed {
			continue
		}
		if _, ok := c.placed(img); ok {
			c.adopt(img)
			return img
		}
	}
	return nil
}

// adopt takes the ABI of the executable, whose header knows variants of the
// instruction set that the core's does not.
func (c *core) adopt(img *image.Image) {
	if img.Arch.ABI == c.arch.ABI {
		c.arch = img.Arch
	}
}

// argv0 is the program's name in its command line, as far as the core has it.
func (c *core) argv0() string {
	name, _, _ := strings.Cut(c.notes.command, " ")
	return name
}

// programNames are the names under which the executable may be known, best
// first. psargs is argv joined by blanks, cut to 79 bytes; fname to 15.
func (c *core) programNames(where string) (names []string) {
	for _, n := range []string{where, c.cstring(c.notes.auxv[atExecFn]), c.argv0(), c.notes.fname} {
		known := n == ""
		for _, k := range names {
			known = known || k == n
		}
		if !known {
			names = append(names, n)
		}
	}
	return names
}

// userImages adds the binaries of --image that no module uses yet.
func (c *core) userImages() {
	for _, n := range c.env.Files.Images() {
		if !n.Placed && c.names(path.Base(n.Path)) {
			continue
		}
		img, issues := c.env.Files.Use(n.Path, c.wanted(n.Path, nil))
		c.issues = append(c.issues, issues...)
		if img != nil && !c.uses(img) {
			c.add(n.Path, img, n.Bias)
		}
	}
}

func (c *core) uses(img *image.Image) bool {
	for _, m := range c.modules {
		if m.Image == img {
			return true
		}
	}
	return false
}

// names tells whether a module has this base name.
func (c *core) names(base string) bool {
	for _, m := range c.modules {
		if path.Base(m.Name) == base {
			return true
		}
	}
	return false
}

// maxVDSO bounds the kernel's shared object; it has one to four pages.
const maxVDSO = 256 << 10

// vdso parses the kernel's shared object out of the captured memory. It exists
// in no file.
func (c *core) vdso() {
	base := c.notes.auxv[atSysinfoEhdr]
	if base == 0 {
		return
	}
	data := c.mem.Bytes(base)
	data = data[:min(len(data), maxVDSO)]
	if len(data) == 0 {
		return
	}
	img, err := c.env.Files.Parse("[vdso]", data)
	if err != nil {
		c.issue("%s: vDSO: %v", c.name, err)
		return
	}
	lo, _ := img.Bounds()
	c.add("[vdso]", img, base-lo)
}
