package machcore

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/macho"
	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/target"
)

// maxImages bounds the images of a core: a process with a thousand libraries is large.
const maxImages = 1 << 14

// images finds the images that were mapped. Three things tell of images: the notes of the core,
// dyld's own list in memory, and a Mach-O header at the beginning of a segment.
func (c *core) images() []located {
	list := c.noted()
	for _, l := range c.commands.loads {
		if b := c.mem.Bytes(l.addr); macho.IsHeader(b[:min(len(b), 64)]) {
			list = append(list, located{header: l.addr})
		}
	}
	list = append(list, c.dyldList(list)...)
	return unique(list[:min(len(list), maxImages)])
}

// unique joins the entries of each header address to one that has everything known of the image.
func unique(list []located) []located {
	at := make(map[uint64]int, len(list))
	out := list[:0:0]
	for _, l := range list {
		i, seen := at[l.header]
		if !seen {
			at[l.header] = len(out)
			out = append(out, l)
			continue
		}
		if out[i].name == "" {
			out[i].name = l.name
		}
		if out[i].uuid == nil {
			out[i].uuid = l.uuid
		}
	}
	return out
}

// dyldList reads dyld_all_image_infos (mach-o/dyld_images.h), which dyld keeps for debuggers:
// version, count, and the address of an array of header, path and time.
func (c *core) dyldList(known []located) (list []located) {
	for _, l := range known {
		if len(list) >= maxImages {
			break
		}
		img, slide, err := c.fromMemory(&l)
		if err != nil || !macho.IdentityOf(img).Dyld {
			continue
		}
		sym, ok := img.Symbols.Named("dyld_all_image_infos")
		if !ok {
			continue
		}
		word := uint64(c.arch.AddrSize)
		at := sym.Addr + slide
		count, _ := c.mem.Uint(at+4, 4)
		entries, _ := c.mem.Word(at + 8)
		for i := range min(count, maxImages) {
			header, ok := c.mem.Word(entries + i*3*word)
			path, _ := c.mem.Word(entries + i*3*word + word)
			if !ok {
				break
			}
			list = append(list, located{header: header, name: c.mem.CString(path, maxString)})
		}
	}
	return list
}

// maxCommands bounds the bytes of the load commands of all images, which are read twice and take
// more memory once parsed. A thousand libraries have some 4 MB of load commands.
const maxCommands = 16 << 20

// fromMemory is the image out of the captured memory, and its load bias.
func (c *core) fromMemory(l *located) (*image.Image, uint64, error) {
	const sizeOfCommands = 20 // offset in the header
	if n, _ := c.mem.Uint(l.header+sizeOfCommands, 4); !c.left.Draw(int(min(n, maxCommands))) {
		return nil, 0, c.left.Err()
	}
	name := l.name
	if name == "" {
		name = c.name
	}
	read := func(addr, size uint64) []byte {
		b := c.mem.Bytes(addr)
		return b[:min(uint64(len(b)), size)]
	}
	return macho.FromMemory(macho.Mapped{Name: name, Header: l.header, Read: read}, image.Options{Archs: c.env.Archs, DebugDirs: c.env.Files.DebugDirs()})
}

// modules opens the images. A file with the image's UUID is preferred, for a file has symbols that
// are not mapped; without such a file the image is read out of the captured memory.
func (c *core) modules() (modules []*target.Module) {
	finder := darwin.NewFinder(c.env.Files, c.arch)
	for _, l := range c.images() {
		img, slide, err := c.fromMemory(&l)
		name, id := l.name, l.uuid
		if err == nil {
			if id == nil {
				id = img.BuildID
			}
			if name == "" {
				name = macho.IdentityOf(img).Name
			}
		}
		// What is mapped has the code that ran, which a dSYM lacks.
		file, issues := finder.Find(&darwin.Binary{Name: name, UUID: id})
		if file != nil && (err != nil || !file.Hollow()) {
			c.issues = append(c.issues, issues...)
			modules = append(modules, target.NewModule(file.Path, file, l.header-macho.IdentityOf(file).Header))
			continue
		}
		if err != nil {
			c.issues = append(c.issues, target.Issue{Kind: target.IssueNotFound, Subject: name, Addr: l.header, Text: err.Error()})
			continue
		}
		if name == "" {
			name = "program"
		}
		modules = append(modules, target.NewModule(name, img, slide))
	}
	return modules
}
