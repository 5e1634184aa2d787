package corrupt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// token is a string, a number, a word or a punctuation mark of JSON.
type token struct {
	at, end int
	// depth is how many arrays and objects are open around it.
	depth int
}

// tokens cuts JSON that may be damaged.
func tokens(b []byte) (list []token) {
	depth := 0
	for at := 0; at < len(b); {
		end := at + 1
		switch c := b[at]; {
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == '"':
			for end < len(b) && (b[end] != '"' || b[end-1] == '\\') {
				end++
			}
			end = min(end+1, len(b))
		case c > ' ' && c != ':' && c != ',':
			for end < len(b) && !bytes.ContainsRune([]byte(" \n\t:,{}[]\""), rune(b[end])) {
				end++
			}
		}
		if b[at] > ' ' {
			list = append(list, token{at, end, depth})
		}
		at = end
	}
	return list
}

// values are what may stand where something else is expected.
var values = []string{
	`null`, `true`, `-1`, `1e999`, `18446744073709551616`, `0.5`, `""`, `"0x"`, `"0xffffffffffffffff"`, `"0x1ffffffffffffffff"`,
	`"-0x1"`, `"\u0000\ud800"`, `"\x"`, `{}`, `[]`, `[{}]`, `[[]]`, `"` + "\xff\x1b[31m" + `"`, `"AA"`, `"A=A="`, `"mips"`, `"x86_64"`,
	`"/dev/zero"`, `"../../../../etc/passwd"`, `"."`, `"capture"`,
}

// damage are pieces of JSON where none belong.
var damage = []string{strings.Repeat(`[`, 1000), strings.Repeat(`{"a":`, 1000), `}`, `]`, `,`, `:`, `"`, "\n{", "\x00", "]}"}

// changeText changes a value of JSON, or repeats or removes an element; rarely, the text
// is no JSON behind the change. evidence: what was changed lies in registers or memory.
func changeText(b []byte, rng *rand.Rand) (out []byte, what string, evidence bool) {
	list := tokens(b)
	if len(list) == 0 {
		return b, "empty", false
	}
	i := pickValue(b, list, rng)
	t := list[i]
	from, to := element(b, list, i)
	evidence = inEvidence(b, list, i)
	switch rng.IntN(12) {
	case 0:
		comma := bytes.HasPrefix(b[to:], []byte(","))
		return splice(b, from, to+map[bool]int{true: 1}[comma], nil), "element removed", evidence
	case 1:
		return splice(b, t.at, t.at, []byte(damage[rng.IntN(len(damage))])), "damaged", true
	case 2, 3:
		o := list[pickValue(b, list, rng)]
		return splice(b, t.at, t.end, bytes.Clone(b[o.at:o.end])), "value copied", true
	case 4, 5, 6:
		again := append(bytes.Clone(b[from:to]), ',')
		n := min(1<<rng.IntN(12), 1+(1<<16)/len(again))
		return splice(b, from, from, bytes.Repeat(again, n)), "element repeated", evidence
	case 7, 8, 9:
		return splice(b, t.at, t.end, fmt.Appendf(nil, `"%#x"`, ^uint64(0)>>rng.IntN(64))), "number", evidence
	}
	return splice(b, t.at, t.end, []byte(values[rng.IntN(len(values))])), "value", evidence
}

// pickValue picks a token that is a value or opens one, if one is found soon: half of all
// tokens are names and brackets.
func pickValue(b []byte, list []token, rng *rand.Rand) (i int) {
	for range 8 {
		i = rng.IntN(len(list))
		isName := i+1 < len(list) && bytes.HasPrefix(bytes.TrimLeft(b[list[i].end:], " \n"), []byte(":"))
		if c := b[list[i].at]; !isName && c != '}' && c != ']' && c != ',' && c != ':' {
			break
		}
	}
	return i
}

func splice(b []byte, from, to int, with []byte) []byte {
	return append(append(bytes.Clone(b[:from]), with...), b[to:]...)
}

// element is what begins with token i: with its name where it is a member of an object, and
// to where the array or object closes that the token opens.
func element(b []byte, list []token, i int) (from, to int) {
	from, to = list[i].at, list[i].end
	if i > 1 && b[list[i-1].at] == ':' {
		from = list[i-2].at
	}
	if c := b[list[i].at]; c == '{' || c == '[' {
		for k := i + 1; k < len(list) && to == list[i].end; k++ {
			if list[k].depth < list[i].depth {
				to = list[k].end
			}
		}
	}
	return from, to
}

// inEvidence tells whether token i belongs to a member that is not the list of images:
// registers, memory, the processor that they are of.
func inEvidence(b []byte, list []token, i int) bool {
	for k := i; k >= 0; k-- {
		if t := list[k]; t.depth == 1 && b[t.at] == '"' && bytes.HasPrefix(b[t.end:], []byte(":")) {
			return !bytes.Equal(b[t.at:t.end], []byte(`"images"`))
		}
	}
	return true
}
