package render

import (
	"strings"

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
		dst = append(append(append(dst, what...), "  "...), Text(orUnknown(in.Function))+" (inlined)"...)
		if in.File != "" {
			dst = append(append(dst, "  "...), place(in.File, l.Dir, in.Line)...)
		}
		dst = append(dst, '\n')
	}
	dst = append(append(append(dst, what...), "  "...), named(l, at)...)
	if l.File != "" {
		dst = append(append(dst, "  "...), place(l.File, l.Dir, l.Line)...)
	}
	return append(dst, '\n')
}

// LocationText is a place in one line, what was inlined first: inl a.h:3, inlined into main+0x16 a.c:9.
func LocationText(l *symbol.Location, at uint64) string {
	var s strings.Builder
	for i := range l.Inlines {
		in := &l.Inlines[i]
		s.WriteString(strings.TrimRight(Text(orUnknown(in.Function))+" "+place(in.File, l.Dir, in.Line), " ") + ", inlined into ")
	}
	s.WriteString(strings.TrimRight(named(l, at)+" "+place(l.File, l.Dir, l.Line), " "))
	return s.String()
}

func named(l *symbol.Location, at uint64) string {
	if l.Function == "" {
		return "?"
	}
	return Text(l.Function) + offset(at-l.Entry)
}
