package kallsyms

import "sort"

// New is a table of symbols that are known already, in any order.
func New(symbols []Symbol) *Table {
	t := &Table{named: new(index), names: list(symbols)}
	for i := range symbols {
		t.addrs, t.refs = append(t.addrs, symbols[i].Addr), append(t.refs, uint32(i))
	}
	sort.Sort((*byAddr)(t))
	return t
}

// list names symbols by their index.
type list []Symbol

// symbol implements namer.
func (l list) symbol(ref uint32) (name, module string, kind byte) {
	s := &l[ref]
	return s.Name, s.Module, s.Kind
}
