//go:build linux

package gcore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/procfs"
)

// dump is the beginning of a core as the kernel writes it (fs/binfmt_elf.c, elf_core_dump): ELF header, program headers, of which the
// first is that of the notes, the notes; behind that memory, which is left in the stream.
type dump struct {
	*builder
	in     *stream
	loads  []load
	kept   []byte // notes as they are
	files  []byte // NT_FILE's
	missed int    // threads whose notes are too many
}

// load is a segment: filled of its size bytes from lo on are in the stream, at off.
type load struct {
	lo, size, off, filled uint64
	flags                 uint32
}

// stream is read once, from its beginning to its end.
type stream struct {
	r  *bufio.Reader
	at uint64
}

// piece reads size bytes at an offset that is not passed yet, as many as there are.
func (s *stream) piece(off, size uint64) []byte {
	if off < s.at || !s.skip(off-s.at) {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(s.r, int64(min(size, 1<<40)))) // grows with what comes
	s.at += uint64(len(data))
	return data
}

func (s *stream) skip(n uint64) bool {
	skipped, err := io.CopyN(io.Discard, s.r, int64(min(n, 1<<62)))
	s.at += uint64(skipped)
	return err == nil && uint64(skipped) == n
}

// What is kept of a dump at most: segments, of which Linux allows 65,530 (vm.max_map_count), and bytes of notes, of which a thread takes
// 350 and files 4 MB (MAX_FILE_NOTE_SIZE).
const maxLoads, maxNotes = 1 << 17, 12 << 20

// readDump reads the beginning of a dump.
func readDump(r io.Reader, archs cpu.Set) (*dump, error) {
	s := &stream{r: bufio.NewReaderSize(r, 1<<16)}
	head, err := s.r.Peek(identSize)
	if err != nil {
		return nil, fmt.Errorf("the dump has only %d bytes: %w", len(head), err)
	}
	b, err := identified(slices.Clone(head), archs)
	if err != nil {
		return nil, fmt.Errorf("the dump is %w", err)
	}
	d := &dump{builder: b, in: s}
	notes, err := d.segments()
	if err != nil {
		return nil, err
	}
	if notes.off < s.at || notes.off-s.at > maxNotes || !s.skip(notes.off-s.at) {
		return nil, errors.New("the dump's notes are not in front of its memory")
	}
	err = d.notes(notes.off + notes.filled)
	d.mapped()
	if len(d.threads) > 0 {
		err = nil // what there is
	}
	return d, err
}

// segments reads the program headers, and returns that of the notes.
func (d *dump) segments() (notes load, err error) {
	file, segment := d.headers()
	header, entry := uint64(file), uint64(segment)
	if !d.in.skip(header) {
		return notes, io.ErrUnexpectedEOF
	}
	for count := uint64(1); count > 0; count-- {
		raw := d.in.piece(d.in.at, entry)
		if uint64(len(raw)) < entry {
			return notes, fmt.Errorf("the dump ends in its program headers: %w", io.ErrUnexpectedEOF)
		}
		kind, l := d.load(raw)
		switch {
		case kind == ptNote && notes.off == 0:
			notes = l
			// e_phnum has 16 bits, and the headers reach to the notes, which begin within their alignment.
			count = min((l.off-min(l.off, header))/entry, maxLoads)
		case notes.off == 0:
			return notes, errors.New("the dump does not begin with notes: it is not the kernel's")
		case kind == ptLoad && l.size > 0:
			d.loads = append(d.loads, l)
		}
	}
	return notes, nil
}

// load decodes a program header.
func (d *dump) load(raw []byte) (kind uint32, l load) {
	r, w := bin.New(raw, d.arch.BigEndian), d.width()
	kind = r.U32()
	if d.wide {
		l.flags = r.U32()
	}
	l.off, l.lo = r.Uint(w), r.Uint(w)
	r.Skip(uint64(w))
	l.filled, l.size = r.Uint(w), r.Uint(w)
	if !d.wide {
		l.flags = r.U32()
	}
	l.size = min(l.size, ^l.lo)
	l.filled = min(l.filled, ^l.off)
	if kind == ptLoad {
		l.filled = min(l.filled, l.size)
	}
	return kind, l
}

// notes reads the notes, up to an offset of the stream, and keeps those that are looked at.
func (d *dump) notes(end uint64) error {
	for d.in.at+12 <= end {
		head := d.in.piece(d.in.at, 12)
		r := bin.New(head, d.arch.BigEndian)
		name, size, kind := uint64(r.U32()), uint64(r.U32()), r.U32()
		body := (name+3)&^3 + (size+3)&^3
		if r.Err() != nil || body > end-d.in.at {
			return errors.New("the dump's notes are damaged")
		}
		if !wantedNote(kind, name, size) || uint64(len(d.kept))+body > maxNotes {
			if kind == prstatus {
				d.missed++
			}
			if !d.in.skip(body) {
				return fmt.Errorf("the dump ends in its notes: %w", io.ErrUnexpectedEOF)
			}
			continue
		}
		b := d.in.piece(d.in.at, body)
		if uint64(len(b)) < body {
			return fmt.Errorf("the dump ends in its notes: %w", io.ErrUnexpectedEOF)
		}
		d.kept = append(append(d.kept, head...), b...)
		d.note(kind, b[(name+3)&^3:][:size])
	}
	return nil
}

// wantedNote tells whether a note says what is looked at: those of CORE but for floating-point registers, and small ones of LINUX, for the
// vectors of a thread take kilobytes.
func wantedNote(kind uint32, name, size uint64) bool {
	const ntFPRegs, small = 2, 64
	switch kind {
	case prstatus, ntPsinfo, ntAuxv, ntFile, ntSiginfo:
		return name == uint64(len("CORE\x00"))
	}
	return kind != ntFPRegs && size <= small && name <= small
}

// Kinds of notes that only the kernel writes.
const ntPsinfo, ntSiginfo = 3, 0x53494749

func (d *dump) note(kind uint32, desc []byte) {
	switch kind {
	case prstatus:
		regs, pid := d.prstatus()
		if len(desc) > regs {
			d.threads = append(d.threads, thread{id: int(d.order.Uint32(desc[pid:])), regs: slices.Clone(desc[regs:])})
		}
	case ntAuxv:
		d.auxv = slices.Clone(desc)
	case ntFile:
		d.files = desc
	}
}

// mapped makes mappings of the segments, and names those that are of files.
func (d *dump) mapped() {
	const atSysinfoEhdr = 33
	vdso := d.auxiliary(atSysinfoEhdr)
	for i := range d.loads {
		l := &d.loads[i]
		m := procfs.Mapping{Lo: l.lo, Hi: l.lo + l.size, Perms: permsOf(l.flags)}
		if l.lo == vdso && vdso != 0 {
			m.Name = "[vdso]"
		}
		d.maps = append(d.maps, m)
	}
	sort.Slice(d.maps, func(x, y int) bool { return d.maps[x].Lo < d.maps[y].Lo })
	w := d.width()
	r := bin.New(d.files, d.arch.BigEndian)
	count, unit := r.Uint(w), r.Uint(w)
	names := r
	names.Skip(min(count, uint64(len(d.files))) * 3 * uint64(w))
	for range min(count, uint64(len(d.files))) {
		lo, _, off, name := r.Uint(w), r.Uint(w), r.Uint(w), names.CString()
		if names.Err() != nil {
			return
		}
		if m := at(d.maps, lo); m != nil && m.Lo == lo {
			m.Name, m.Off, m.Inode = name, off*unit, 1
		}
	}
}

// permsOf are a segment's permissions as /proc/PID/maps prints them.
func permsOf(flags uint32) string {
	perms := []byte("---p")
	for i, bit := range [...]uint32{4, 2, 1} {
		if flags&bit != 0 {
			perms[i] = "rwx"[i]
		}
	}
	return string(perms)
}
