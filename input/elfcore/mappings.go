package elfcore

import (
	"bytes"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// mapping is all that NT_FILE says of one path.
type mapping struct {
	path  string
	parts []fileMapping
}

// maxLoads bounds how often one file may be loaded (dlmopen).
const maxLoads = 16

// fromMappings makes modules of the table of file mappings.
func (c *core) fromMappings() {
	main := c.mainPath()
	for _, m := range c.grouped() {
		if !c.isCode(&m) {
			continue
		}
		id := c.buildID(&m)
		var img *image.Image
		if m.path == main {
			img = c.mainProgram(m.path, id)
		} else {
			img = c.find(m.path, id)
		}
		if img == nil {
			c.addUnknown(&m, id)
			continue
		}
		biases := c.biases(&m, img)
		for _, bias := range biases {
			c.add(m.path, img, bias)
		}
		if len(biases) == 0 {
			c.issue("%s: its segments do not fit the mappings of %s; not used", img.Path, m.path)
			c.addUnknown(&m, id)
		}
	}
}

// grouped collects the mappings of each path, in order of their first address.
func (c *core) grouped() (groups []mapping) {
	at := make(map[string]int)
	for _, f := range c.notes.files {
		i, ok := at[f.path]
		if !ok {
			i = len(groups)
			at[f.path] = i
			groups = append(groups, mapping{path: f.path})
		}
		groups[i].parts = append(groups[i].parts, f)
	}
	return groups
}

// mainPath is the path that the program headers of the executable are mapped from.
func (c *core) mainPath() string {
	for _, key := range []uint64{atPhdr, atEntry} {
		addr, ok := c.notes.auxv[key]
		for _, f := range c.notes.files {
			if ok && f.start <= addr && addr < f.end {
				return f.path
			}
		}
	}
	return ""
}

// isCode tells binaries from data files (locales, fonts, databases): a part is
// executable.
func (c *core) isCode(m *mapping) bool {
	return slices.ContainsFunc(m.parts, c.executable)
}

// executable tells whether a mapping is: by the program header of its address.
func (c *core) executable(f fileMapping) bool {
	p, ok := c.ranges.PermAt(f.start)
	return ok && p&target.PermExec != 0
}

// buildID reads the build ID of a mapped file from its captured first page.
func (c *core) buildID(m *mapping) []byte {
	for _, f := range m.parts {
		if f.off == 0 {
			e, _ := c.readMapped(f.start)
			return e.buildID
		}
	}
	return nil
}

// biases are the biases at which an image was loaded: for each executable
// mapping, the segment that holds its file offset says where it belongs.
func (c *core) biases(m *mapping, img *image.Image) (list []uint64) {
	for _, f := range m.parts {
		if !c.executable(f) || len(list) == maxLoads {
			continue
		}
		if b, ok := bias(f, img); ok && !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	return list
}

// bias places one mapping. Mappings begin on a page, segments anywhere in one;
// an executable segment is preferred where two share a page of the file.
func bias(f fileMapping, img *image.Image) (uint64, bool) {
	var found *image.Segment
	for i := range img.Segments {
		s := &img.Segments[i]
		end := s.FileOff + uint64(len(s.Data))
		if f.off < end && s.FileOff < f.off+(f.end-f.start) && (found == nil || s.Exec && !found.Exec) {
			found = s
		}
	}
	if found == nil {
		return 0, false
	}
	return f.start - f.off - (found.Addr - found.FileOff), true
}

// addUnknown makes a module without an image, so that frames in it have a name.
// Its bias is that of the captured ELF header.
func (c *core) addUnknown(m *mapping, id []byte) {
	mod := &target.Module{Name: m.path, BuildID: bytes.Clone(id), Range: target.Range{Lo: m.parts[0].start, Hi: m.parts[0].end}}
	first := m.parts[0]
	for _, f := range m.parts {
		mod.Lo, mod.Hi = min(mod.Lo, f.start), max(mod.Hi, f.end)
		if f.off < first.off {
			first = f
		}
	}
	if e, ok := c.readMapped(first.start); ok && first.off == 0 {
		mod.Bias = e.bias
	}
	c.modules = append(c.modules, mod)
}
