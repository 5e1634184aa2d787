package macho

import "github.com/backsight/backsight/internal/bin"

// linkedit is where the tables of __LINKEDIT lie, as load commands say.
type linkedit struct {
	symtab   extent // entries of nlist
	strings  extent
	indirect extent
	// noDefined: LC_DYSYMTAB says that the symbol table has no symbols that other files may use:
	// these are in the exports trie only.
	noDefined bool

	starts, exports, fixups extent
	rebase                  extent
	binds                   [3]extent // bind, weak bind, lazy bind
}

// command reads the load commands that say where tables are, of which r is the body; entries of
// the symbol table have nlistSize bytes.
func (l *linkedit) command(id uint32, nlistSize uint64, r *bin.Reader) {
	switch id {
	case lcSymtab:
		off, n := uint64(r.U32()), uint64(r.U32())
		l.symtab = extent{off, n * nlistSize}
		l.strings = readExtent(r)
	case lcDysymtab:
		r.Skip(3 * 4) // ilocalsym, nlocalsym, iextdefsym
		l.noDefined = r.U32() == 0
		r.Skip(8 * 4) // undefined symbols, table of contents, modules, references
		off, n := uint64(r.U32()), uint64(r.U32())
		l.indirect = extent{off, 4 * n}
	case lcDyldInfo, lcDyldInfo | lcReqDyld:
		l.rebase = readExtent(r)
		for i := range l.binds {
			l.binds[i] = readExtent(r)
		}
		if x := readExtent(r); x.size != 0 {
			l.exports = x
		}
	case lcFunctionStarts:
		l.starts = readExtent(r)
	case lcExportsTrie:
		l.exports = readExtent(r)
	case lcChainedFixups:
		l.fixups = readExtent(r)
	}
}
