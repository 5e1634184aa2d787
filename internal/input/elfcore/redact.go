package elfcore

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"sort"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// Keep says what of a core is kept when the rest is blanked. All are target addresses.
type Keep struct {
	// Code has the ranges of code, Stacks those of the threads' stacks: words that point there are kept.
	Code, Stacks []target.Range
	// Saved has ranges where the kernel saved registers for signal handlers: of these all is kept but text.
	Saved []target.Range
	// Values are the registers and return addresses of the frames, kept wherever they stand.
	Values map[uint64]bool
	// WordSize is the size of an address in bytes, Mask has its bits.
	WordSize int
	Mask     uint64
}

// Remains counts what a redacted core still has.
type Remains struct {
	// Words point to code or to a stack, of memory and registers.
	Words uint64
	// Code is how many bytes of code and of the headers of binaries there are, Linked of the dynamic linker's list of
	// binaries, Saved of what the kernel saved for signal handlers.
	Code, Linked, Saved uint64
	// Blanked is how many bytes that were not zero are zero now.
	Blanked uint64
}

// Redact writes the core in data with all memory zero that keep does not keep, and without arguments, environment,
// floating-point registers and what else notes have that no walk reads. The layout stays: offsets and sizes are the same.
func Redact(ctx context.Context, data []byte, env *input.Env, keep *Keep, w io.Writer) (Remains, error) {
	var linked []target.Range
	f := file{name: "core", pages: input.PagesOf(data), needed: &linked}
	if _, err := read(ctx, f, env, new(problems)); err != nil {
		return Remains{}, err
	}
	slices.SortFunc(linked, func(a, b target.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	h, what := readHeader(data)
	if what == "" && h.typ != etCore {
		what = "an ELF file, but no core"
	}
	if what != "" {
		return Remains{}, f.errorf(0, "%s", what)
	}
	f.header = h
	segs, err := f.segments(new(problems))
	if err != nil {
		return Remains{}, err
	}
	r := redaction{file: &f, keep: keep, linked: linked, out: w}
	headers := phdr{off: 0, filesz: h.phoff + f.count()*h.phentsize}
	parts := append(append([]phdr{headers}, segs.notes...), segs.loads...)
	slices.SortStableFunc(parts, func(a, b phdr) int { return cmp.Compare(a.off, b.off) })
	for i := range parts {
		if err := r.part(ctx, &parts[i]); err != nil {
			return r.remains, err
		}
	}
	return r.remains, r.zeros(uint64(len(data)))
}

// redaction writes a core from the first byte to the last.
type redaction struct {
	*file
	keep    *Keep
	linked  []target.Range
	out     io.Writer
	at      uint64 // so much is written
	remains Remains
}

// piece is how much is blanked at once, in bytes.
const piece = 1 << 20

// part writes a part of the file, as far as that was not written with another part, and zeros in front.
func (r *redaction) part(ctx context.Context, p *phdr) error {
	end := p.off + r.pages.Held(p.off, p.filesz)
	if end <= r.at {
		return nil
	}
	if err := r.zeros(p.off); err != nil {
		return err
	}
	if p.typ != ptLoad {
		b := bytes.Clone(r.pages.Bytes(r.at, end-r.at))
		if p.typ == ptNote {
			r.notes(b)
		}
		return r.write(b)
	}
	for r.at < end {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b := bytes.Clone(r.pages.Bytes(r.at, min(end-r.at, piece)))
		r.memory(b, p, p.vaddr+(r.at-p.off))
		if err := r.write(b); err != nil {
			return err
		}
	}
	return nil
}

func (r *redaction) write(b []byte) error {
	_, err := r.out.Write(b)
	r.at += uint64(len(b))
	return err
}

// zeros writes zeros up to an offset.
func (r *redaction) zeros(to uint64) error {
	for r.at < to {
		if err := r.write(make([]byte, min(to-r.at, piece))); err != nil {
			return err
		}
	}
	return nil
}

// elfHead is how much is kept of a binary's first page, by whose build ID the binary is found: its headers and notes.
const elfHead = 4096

// memory blanks a piece of a segment that lies at addr. Code is the binaries', and stays.
func (r *redaction) memory(b []byte, p *phdr, addr uint64) {
	if p.flags&pfX != 0 && p.flags&pfW == 0 {
		r.remains.Code += uint64(len(b))
		return
	}
	if addr == p.vaddr && bytes.HasPrefix(b, []byte("\x7fELF")) {
		n := min(len(b), elfHead)
		r.remains.Code += uint64(n)
		b, addr = b[n:], addr+uint64(n)
	}
	size := r.keep.WordSize
	for ; len(b) >= size; b, addr = b[size:], addr+uint64(size) {
		r.word(b[:size], addr)
	}
	r.blank(b)
}

// word blanks a word that no walk reads: what points neither to code nor to a stack, or reads as text. The text of an
// argument may by chance be an address.
func (r *redaction) word(b []byte, addr uint64) {
	d := bin.New(b, r.header.big)
	v := d.Uint(len(b)) & r.keep.Mask
	points := within(r.keep.Code, v) || within(r.keep.Stacks, v)
	switch {
	case v == 0:
	case r.keep.Values[v] || points && !isText(b):
		r.remains.Words++
	case meets(r.linked, addr, uint64(len(b))):
		r.remains.Linked += uint64(len(b))
	case within(r.keep.Saved, addr) && !isText(b):
		r.remains.Saved += uint64(len(b))
	default:
		r.blank(b)
	}
}

// meets tells whether n bytes at an address are among some ranges, which are sorted by where they begin.
func meets(list []target.Range, addr, n uint64) bool {
	i := sort.Search(len(list), func(i int) bool { return list[i].Lo >= addr+n })
	for back := 0; i > 0 && back < maxMet; back++ {
		if i--; list[i].Hi > addr {
			return true
		}
	}
	return false
}

// maxMet bounds how many ranges in front are looked at for one that is long.
const maxMet = 8

// isText tells whether all bytes but leading and trailing zeros are printable characters.
func isText(b []byte) bool {
	return !slices.ContainsFunc(bytes.Trim(b, "\x00"), func(c byte) bool { return c < ' ' || c > '~' })
}

func (r *redaction) blank(b []byte) {
	for i := range b {
		if b[i] != 0 {
			b[i] = 0
			r.remains.Blanked++
		}
	}
}

// within tells whether one of a few ranges has an address; they are sorted.
func within(list []target.Range, addr uint64) bool {
	i, found := slices.BinarySearchFunc(list, addr, func(x target.Range, addr uint64) int {
		switch {
		case addr < x.Lo:
			return 1
		case addr >= x.Hi:
			return -1
		}
		return 0
	})
	return found && i < len(list)
}

// notes blanks what notes tell of the program's data. What tells of binaries and of the fault is kept.
func (r *redaction) notes(b []byte) {
	eachNote(b, r.header.big, func(name []byte, typ uint32, desc []byte) {
		if owner := string(name); owner != "CORE" && owner != "LINUX" {
			return // another system's are kept: their registers lie elsewhere
		}
		switch typ {
		case ntPrstatus:
			r.registers(desc[min(r.header.regOffset(), len(desc)):])
		case ntPrpsinfo:
			if args := desc[max(0, len(desc)-psargs):]; len(desc) > psargs {
				r.blank(args[max(0, bytes.IndexByte(args, ' ')):]) // the first is the program's path
			}
		case ntAuxv, ntSiginfo, ntFile, ntARMPACMask, ntX86Shadow, ntARMShadow, ntRISCVCFI:
		default:
			r.blank(desc)
		}
	})
}

// psargs is the size of pr_psargs, the last member of struct elf_prpsinfo.
const psargs = 80

// registers blanks those that point neither to code nor to a stack.
func (r *redaction) registers(b []byte) {
	for size := r.header.word(); len(b) >= size; b = b[size:] {
		r.word(b[:size], 0)
	}
}
