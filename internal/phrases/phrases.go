// Package phrases finds which of many phrases a text has, in one pass over the text.
package phrases

import (
	"bytes"
	"strings"
	"sync"
)

// List is a list of phrases, of two bytes or more each. It costs nothing before the first text is looked at: there are many lists,
// and a text has few.
type List struct {
	// Phrases are those of the list, the more specific first.
	Phrases func() []string

	once sync.Once
	made *index
}

// index is what a list is looked up by.
type index struct {
	phrases []string
	// beginning lists the phrases that begin with a byte, in the list's order.
	beginning [256][]int32
	// pairs has a bit for each two bytes that a phrase begins with: most places of a text have none.
	pairs [1 << 16 / 64]uint64
}

func (l *List) index() *index {
	l.once.Do(func() { l.made = newIndex(l.Phrases()) })
	return l.made
}

func newIndex(phrases []string) *index {
	l := &index{phrases: phrases}
	for i, p := range phrases {
		l.beginning[p[0]] = append(l.beginning[p[0]], int32(i))
		pair := uint16(p[0]) | uint16(p[1])<<8
		l.pairs[pair/64] |= 1 << (pair % 64)
	}
	return l
}

// Of is what the elements of a list say, in their order.
func Of[T any](list []T, says func(*T) string) []string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = says(&list[i])
	}
	return all
}

// In tells whether a phrase of the list stands anywhere in text.
func (l *List) In(text []byte) bool {
	index := l.index()
	for at := 0; at+1 < len(text); at++ {
		pair := uint16(text[at]) | uint16(text[at+1])<<8
		if index.pairs[pair/64]&(1<<(pair%64)) == 0 {
			continue
		}
		for _, i := range index.beginning[text[at]] {
			if bytes.HasPrefix(text[at:], []byte(index.phrases[i])) {
				return true
			}
		}
	}
	return false
}

// First is the index of the first phrase of the list that stands anywhere in text, -1 for none.
func (l *List) First(text string) int { return l.Within(text, len(text)) }

// Within is the index of the first phrase of the list that stands in text and begins at byte most or before, -1
// for none.
func (l *List) Within(text string, most int) int {
	index := l.index()
	first := len(index.phrases)
	for at := 0; at <= min(most, len(text)-2); at++ {
		pair := uint16(text[at]) | uint16(text[at+1])<<8
		if index.pairs[pair/64]&(1<<(pair%64)) == 0 {
			continue
		}
		for _, i := range index.beginning[text[at]] {
			if int(i) >= first {
				break
			}
			if strings.HasPrefix(text[at:], index.phrases[i]) {
				first = int(i)
				break
			}
		}
	}
	if first == len(index.phrases) {
		return -1
	}
	return first
}
