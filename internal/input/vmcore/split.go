package vmcore

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/sha256"
	"github.com/backsight/backsight/target"
)

// makedumpfile --split writes a dump to several files, so that several processes can write: all
// have the headers and the bitmaps of the whole dump, and each has the pages of one range, to which
// its descriptors refer.

// kdumpFile is one file of a dump: the pages from up to end.
type kdumpFile struct {
	pages     input.Pages
	from, end uint64
	first     uint64 // the number of dumped pages before these
}

// headReach bounds where VMCOREINFO and the notes lie: behind the sub-header.
const headReach = 1 << 20

// setOf is the set of files of which a file is one: a digest of the header, VMCOREINFO, which has the time of
// the crash and the addresses that were chosen at random, and the notes, which have the processors' registers.
func setOf(file io.ReaderAt) string {
	var magic [len(kdumpMagic)]byte
	if _, err := file.ReadAt(magic[:], 0); err != nil || string(magic[:]) != kdumpMagic {
		return ""
	}
	head := make([]byte, headReach)
	n, _ := file.ReadAt(head, 0)
	return splitSet(head[:n])
}

// splitSet is setOf for the bytes of a file.
func splitSet(data []byte) string {
	data = data[:min(len(data), headReach)]
	h, ok := readKdumpHeader(data, uint64(len(data)))
	if !ok || !h.split {
		return ""
	}
	d := sha256.New()
	for _, b := range [][]byte{data[:kdumpFields], part(data, h.info[0], h.info[1]), part(data, h.notes[0], h.notes[1])} {
		d.Write(b)
	}
	return hex.EncodeToString(d.Sum(nil))
}

// others are the other files of a dump that was split.
func others(ctx context.Context, c *input.Capture, first *input.Pages) (list []input.Pages, err error) {
	set := splitSet(first.Bytes(0, headReach))
	for _, o := range c.Others {
		more, err := o.Pages(ctx)
		if err != nil {
			return nil, err
		}
		if set == "" || splitSet(more.Bytes(0, headReach)) != set {
			return nil, &input.Error{Path: o.Name, Offset: -1, Reason: "no file of the dump of " + c.Name}
		}
		list = append(list, more)
	}
	return list, nil
}

// join gives the dump its files, and says which pages are in none of them.
func (k *kdump) join(d *dump, files []input.Pages) {
	for _, pages := range files {
		f := kdumpFile{pages: pages, end: 8 * uint64(len(k.dumped))}
		if h, ok := readKdumpHeader(pages.Bytes(0, headReach), pages.Size()); ok && h.split {
			f.from, f.end = h.from, min(h.end, f.end)
		}
		f.first = k.dumpedBefore(f.from)
		k.files = append(k.files, f)
	}
	slices.SortFunc(k.files, func(a, b kdumpFile) int { return cmp.Compare(a.from, b.from) })
	had := uint64(0)
	missing := func(from, end uint64) {
		if from < end && k.dumpedBefore(end) > k.dumpedBefore(from) {
			d.missing = fmt.Sprintf("the dump was split into several files: no file named here has the memory from %#x to %#x", from*k.block, end*k.block)
			d.issue(target.IssueCapture, "%s", d.missing)
		}
	}
	for _, f := range k.files {
		missing(had, f.from)
		had = max(had, f.end)
	}
	missing(had, 8*uint64(len(k.dumped)))
}

// fileOf is the file that has a page.
func (k *kdump) fileOf(page uint64) (kdumpFile, bool) {
	for _, f := range k.files {
		if page >= f.from && page < f.end {
			return f, true
		}
	}
	return kdumpFile{}, false
}

// dumpedBefore counts the pages before a page that the dump holds.
func (k *kdump) dumpedBefore(page uint64) uint64 {
	if page >= 8*uint64(len(k.dumped)) {
		return k.count
	}
	n := uint64(k.ranks[page/rankPages])
	for p := page / rankPages * rankPages; p < page; p++ {
		if k.has(p) {
			n++
		}
	}
	return n
}
