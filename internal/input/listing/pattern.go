package listing

import (
	"strings"
	"sync"

	"github.com/backsight/backsight/internal/phrases"
)

// pattern is a form of lines, made of literals and of what stands between them:
//
//	a blank   one blank or tab, or several
//	%n        a decimal number             %d   the same, of which nothing is wanted
//	%x        a hexadecimal number, of an address; the others:
//	%o        in a module                  %i   of the file where the module begins
//	%p        in a function, hexadecimal behind 0x, else decimal
//	%z        the size of a function
//	%b        a build ID                   %l   a line, and a column behind a colon
//	%m %f     a module, a function: any text, as short as may be
//	%s        a source file: a text without blanks
//	%w        a word                       %t   any text
//	«…»       may be missing
//
// What a pattern begins with may stand behind blanks, and blanks may stand behind the end.
//
// It is compiled when a line is first compared with it: most captures are no texts.
type pattern struct{ *lazy }

type lazy struct {
	text string
	once sync.Once
	is   *compiled
}

// compiled is a pattern as lines are compared with it.
type compiled struct {
	steps []step
	need  string // the longest literal that does not miss
}

// step is a literal, a blank, a verb, or the begin of what may be missing, which ends before step to.
type step struct {
	verb byte // 0: a literal; ' ': blanks; '?': up to step to may be missing
	text string
	to   int
	// stops are the bytes that may stand behind a text; last: a text may end the line.
	stops string
	last  bool
}

// compile makes a pattern of its text.
func compile(text string) pattern { return pattern{&lazy{text: text}} }

func (l *lazy) compiled() *compiled {
	l.once.Do(func() { l.is = newCompiled(l.text) })
	return l.is
}

func newCompiled(text string) *compiled {
	p := steps(text)
	out := &compiled{steps: p}
	for k := 0; k < len(p); k++ {
		if p[k].verb == '?' {
			k = p[k].to - 1
		} else if len(p[k].text) > len(out.need) {
			out.need = p[k].text
		}
	}
	for k := range p {
		next := k + 1
		for ; next < len(p) && p[next].verb == '?'; next = p[next].to {
			p[k].stops += begins(p[next+1])
		}
		if p[k].last = next == len(p); !p[k].last {
			p[k].stops += begins(p[next])
		}
	}
	return out
}

// begins are the bytes with which a literal or a blank begins.
func begins(s step) string {
	if s.verb == ' ' {
		return " \t"
	}
	return s.text[:min(1, len(s.text))]
}

// steps are the steps of a pattern's text.
func steps(text string) (p []step) {
	var open []int
	for text != "" {
		switch {
		case strings.HasPrefix(text, "«"):
			open, text = append(open, len(p)), text[len("«"):]
			p = append(p, step{verb: '?'})
		case strings.HasPrefix(text, "»"):
			p[open[len(open)-1]].to = len(p)
			open, text = open[:len(open)-1], text[len("»"):]
		case text[0] == ' ':
			p, text = append(p, step{verb: ' '}), text[1:]
		case text[0] == '%':
			p, text = append(p, step{verb: text[1]}), text[2:]
		default:
			n := strings.IndexAny(text, " %«»")
			if n < 0 {
				n = len(text)
			}
			p, text = append(p, step{text: text[:n]}), text[n:]
		}
	}
	return p
}

// maxSteps bounds the work on one line: texts between literals that come often could be cut in many ways.
const maxSteps = 1 << 11

// found is what the verbs of a pattern stand for in a line.
type found struct {
	line string
	at   ['z' - 'a' + 1][2]int32 // by verb: from, to
	left int                     // steps
}

// match finds what a line, without blanks around, says by a pattern.
func (p pattern) match(line string) (f found, ok bool) {
	c := p.compiled()
	if !strings.Contains(line, c.need) {
		return f, false
	}
	f = found{line: line, left: maxSteps}
	return f, f.from(c.steps, 0, 0)
}

// text is what a verb stands for, "" where that is missing.
func (f *found) text(verb byte) string { at := f.at[verb-'a']; return f.line[at[0]:at[1]] }

// from matches the line from at on by the steps from k on.
func (f *found) from(p []step, k, at int) bool {
	for ; k < len(p); k++ {
		if f.left--; f.left < 0 {
			return false
		}
		s := &p[k]
		switch s.verb {
		case 0:
			if !strings.HasPrefix(f.line[at:], s.text) {
				return false
			}
			at += len(s.text)
		case ' ':
			n := run(f.line[at:], isBlank)
			if n == 0 {
				return false
			}
			at += n
		case '?':
			before := f.at
			if f.from(p, k+1, at) {
				return true
			}
			f.at = before
			k = s.to - 1
		case 'm', 'f', 's', 't':
			return f.some(p, k, at)
		default:
			n := span(s.verb, f.line[at:])
			if n == 0 {
				return false
			}
			f.at[s.verb-'a'] = [2]int32{int32(at), int32(at + n)}
			at += n
		}
	}
	return at == len(f.line)
}

// some matches any text by step k, the shortest behind which the others fit.
func (f *found) some(p []step, k, at int) bool {
	verb, literal := p[k].verb, ""
	if k+1 < len(p) {
		literal = p[k+1].text
	}
	for end := at + 1; end <= len(f.line); end++ {
		switch n := p[k].next(f.line[end:], literal); {
		case n >= 0:
			end += n
		case !p[k].last:
			return false
		default:
			end = len(f.line)
		}
		f.left -= (end - at) / perStep
		if verb == 's' && strings.ContainsAny(f.line[at:end], " \t") { // names of functions have blanks, those of files hardly ever
			return false
		}
		f.at[verb-'a'] = [2]int32{int32(at), int32(end)}
		if (verb != 'f' || end == len(f.line) || closed(f.line[at:end])) && f.from(p, k+1, end) {
			return true
		}
		if f.left < 0 {
			break
		}
	}
	return false
}

// perStep is how many bytes of a text are looked at for the cost of a step.
const perStep = 32

// closed tells whether each bracket of a function's name is closed, those of its operators aside: a blank may stand before an argument of
// a template, as in "std::function<void (int)>::operator()(int) const".
func closed(name string) bool {
	open := 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case 'o':
			if rest, ok := strings.CutPrefix(name[i:], "operator"); ok {
				i += len("operator") + run(rest, func(c byte) bool { return c == '<' || c == '>' || c == '-' || c == '=' }) - 1
			}
		case '<', '(':
			open++
		case '>', ')':
			if i == 0 || name[i-1] != '-' {
				open--
			}
		}
	}
	return open <= 0
}

// next is where in s a text may end, −1 for nowhere but at the end.
func (s *step) next(rest, literal string) int {
	if literal != "" {
		return strings.Index(rest, literal)
	}
	return strings.IndexAny(rest, s.stops)
}

// span is how long the number or word is that a verb stands for, 0 for none.
func span(verb byte, s string) int {
	switch verb {
	case 'n', 'd':
		return run(s, phrases.IsDigit)
	case 'l':
		n := run(s, phrases.IsDigit)
		if n > 0 && n < len(s) && s[n] == ':' {
			n += 1 + run(s[n+1:], phrases.IsDigit)
		}
		return n
	case 'w':
		return run(s, func(c byte) bool { return c != ' ' && c != '\t' && c != ']' && c != ')' && c != ':' })
	case 'b':
		return run(s, phrases.IsHex)
	case 'p':
		if !strings.HasPrefix(s, "0x") {
			return run(s, phrases.IsDigit)
		}
	}
	n := 0
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		n = 2
	}
	digits := run(s[n:], phrases.IsHex)
	if digits == 0 || digits > 16 || verb == 'x' && n == 0 && digits < leastDigits { // a word
		return 0
	}
	return n + digits
}

// run is how many bytes at the beginning of s are of a kind.
func run(s string, is func(byte) bool) (n int) {
	for n < len(s) && is(s[n]) {
		n++
	}
	return n
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
