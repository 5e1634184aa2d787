package display

import (
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/symbol"
)

// AppendLocation appends the lines that name a place, what was inlined first:
//
//	0x401136  inl (inlined)  a.h:3
//	0x401136  main+0x16  a.c:9
//
// what is the place as the reader wrote it, at its image address.
func AppendLocation(dst []byte, what string, l *symbol.Location, at uint64) []byte {
	for i := range l.Inlines {
		in := &l.Inlines[i]
		dst = append(append(dst, what...), "  "...)
		dst = append(typeset.AppendText(dst, typeset.OrUnknown(in.Function)), " (inlined)"...)
		dst = append(typeset.AppendPlace(dst, "  ", in.File, l.Dir, in.Line), '\n')
	}
	dst = appendNamed(append(append(dst, what...), "  "...), l, at)
	return append(typeset.AppendPlace(dst, "  ", l.File, l.Dir, l.Line), '\n')
}

// LocationText is a place in one line, what was inlined first: inl a.h:3, inlined into main+0x16 a.c:9.
func LocationText(l *symbol.Location, at uint64) string {
	var dst []byte
	for i := range l.Inlines {
		in := &l.Inlines[i]
		dst = typeset.AppendPlace(typeset.AppendText(dst, typeset.OrUnknown(in.Function)), " ", in.File, l.Dir, in.Line)
		dst = append(dst, ", inlined into "...)
	}
	return string(typeset.AppendPlace(appendNamed(dst, l, at), " ", l.File, l.Dir, l.Line))
}

func appendNamed(dst []byte, l *symbol.Location, at uint64) []byte {
	if l.Function == "" {
		return append(dst, '?')
	}
	return typeset.AppendHex(append(typeset.AppendText(dst, l.Function), '+'), at-l.Entry, 1)
}
