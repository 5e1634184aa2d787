package input

import (
	"bytes"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// listing is what a walk through a tree found: a block for each directory, those below a directory behind its own. A name
// costs its length and nine bytes. Each record has a NUL before it, which no name has:
//
//	//0123456789abcdef          the root, in the state with that stamp
//	/usr/lib/0123456789abcdef   usr/lib below it
//	name                        a regular file of that directory
//	name/                       a symbolic link
//	name//                      a directory
type listing struct {
	text []byte
	once sync.Once
	// names and stems find records: 32 bits of the digest of a file's name in small letters, and of what the names of a
	// library share over versions, each with 32 bits of where the record is. They are sorted.
	names, stems []uint64
}

// kind is what ends a record.
type kind int

const (
	isFile kind = iota
	isLink
	isDirectory
	isBlock // the head of a block
)

// stampSize is the length of a directory's stamp.
const stampSize = 16

// record is the first record of a text, and how long it is with its NUL.
func record(text []byte) (name []byte, k kind, n int) {
	n = len(text)
	if end := bytes.IndexByte(text[1:], 0); end >= 0 {
		n = 1 + end
	}
	name = text[1:n]
	switch {
	case len(name) > 0 && name[0] == '/':
		return name, isBlock, n
	case bytes.HasSuffix(name, []byte("//")):
		return name[:len(name)-2], isDirectory, n
	case bytes.HasSuffix(name, []byte("/")):
		return name[:len(name)-1], isLink, n
	}
	return name, isFile, n
}

// head is a block's directory below the root, without a slash before it, and its stamp.
func head(block []byte) (dir, stamp []byte, ok bool) {
	name, k, _ := record(block)
	if i := len(name) - stampSize - 1; k == isBlock && i > 0 && name[i] == '/' {
		return name[1:i], name[i+1:], true
	}
	if len(name) == stampSize+2 && name[1] == '/' {
		return nil, name[2:], true
	}
	return nil, nil, false
}

// appendRecord adds a name of a kind.
func appendRecord(text []byte, name string, k kind) []byte {
	return append(append(append(text, 0), name...), "//"[:k]...)
}

// all yields where the records of files and links are, with their names.
func (l *listing) all(yield func(at int, name []byte) bool) {
	for at := 0; at < len(l.text); {
		name, k, n := record(l.text[at:])
		if k <= isLink && !yield(at, name) {
			return
		}
		at += n
	}
}

// path is the path of a record below the root.
func (l *listing) path(at int) string {
	name, _, _ := record(l.text[at:])
	block := max(0, bytes.LastIndex(l.text[:at], []byte("\x00/")))
	dir, _, _ := head(l.text[block:])
	return path.Join(string(dir), string(name))
}

// files are the paths of what may have a build ID: regular files, and what .build-id calls by one.
func (l *listing) files() iter.Seq[string] {
	return func(yield func(string) bool) {
		var dir string
		for at := 0; at < len(l.text); {
			name, k, n := record(l.text[at:])
			switch p := path.Join(dir, string(name)); {
			case k == isBlock:
				d, _, _ := head(l.text[at:])
				dir = string(d)
			case k == isDirectory, k == isLink && idOfName(p) == nil:
			case !yield(p):
				return
			}
			at += n
		}
	}
}

// index makes what names are found by.
func (l *listing) index() {
	l.names = make([]uint64, 0, bytes.Count(l.text, []byte{0}))
	for at, name := range l.all {
		name := string(name)
		l.names = append(l.names, nameKey(name, at))
		if s := stem(name); s != "" {
			l.stems = append(l.stems, nameKey(s, at))
		}
	}
	slices.Sort(l.names)
	slices.Sort(l.stems)
}

// nameKey is a digest of a name in small letters, and a place.
func nameKey(name string, at int) uint64 {
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		name = strings.ToLower(name)
	}
	h := uint32(2166136261) // FNV-1a
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return uint64(h)<<32 | uint64(at)
}

// maxSameKey bounds the records of one key that are looked at.
const maxSameKey = 1 << 12

// with yields the names of the records with a key, and where they are.
func (l *listing) with(keys *[]uint64, name string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		l.once.Do(l.index)
		key := nameKey(name, 0)
		first, _ := slices.BinarySearch(*keys, key)
		for _, k := range (*keys)[first:min(first+maxSameKey, len(*keys))] {
			at := int(uint32(k))
			if found, _, _ := record(l.text[at:]); k>>32 != key>>32 || !yield(at, string(found)) {
				return
			}
		}
	}
}

// named are the files with a name; where there are none those with other capitals, small letters first.
func (l *listing) named(name string) []string {
	var same, small, folded []string
	lower := strings.ToLower(name)
	for at, other := range l.with(&l.names, name) {
		found := &folded
		switch {
		case other == name:
			found = &same
		case other == lower:
			found = &small
		case !strings.EqualFold(other, name):
			continue
		}
		if len(*found) < maxSameNamed {
			*found = append(*found, l.path(at))
		}
	}
	if same == nil {
		return append(small, folded...)
	}
	return same
}

// alike are the libraries with a stem.
func (l *listing) alike(s string) (found []string) {
	for at, name := range l.with(&l.stems, s) {
		if stem(name) == s && len(found) < maxSameNamed {
			found = append(found, l.path(at))
		}
	}
	return found
}

// beginning yields the files whose names begin with a prefix.
func (l *listing) beginning(prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin := append([]byte{0}, prefix...)
		for at := 0; at < len(l.text); {
			i := bytes.Index(l.text[at:], begin)
			if i < 0 {
				return
			}
			at += i
			_, k, n := record(l.text[at:])
			if k <= isLink && !yield(l.path(at)) {
				return
			}
			at += n
		}
	}
}
