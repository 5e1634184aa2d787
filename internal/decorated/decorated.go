// Package decorated reads names that Microsoft's compilers decorated, as linkers and export tables have them:
//
//	?next@Iterator@list@@QEAAHXZ            list::Iterator::next
//	??0?$Box@PEBDV?$A@H@ns@@@@QEAA@XZ       Box<char const *,ns::A<int> >::Box<char const *,ns::A<int> >
//	??1Box@?A0x1f2e@@QEAA@XZ                `anonymous namespace'::Box::~Box
//	??R<lambda_1>@?0??main@@YAHXZ@QEBA@XZ   `main'::`1'::<lambda_1>::operator()
//
// Names stand innermost first. A digit is a name, or the type of a parameter, that came before; a template has lists of its own. What comes
// out is what program databases call the same function: with arguments of templates, without parameters.
//
// No document of Microsoft's has the grammar; LLVM's MicrosoftDemangle.h does.
package decorated

import (
	"slices"
	"strconv"
	"strings"
)

const (
	maxBack   = 10      // names that digits can stand for
	maxDepth  = 96      // templates and types inside one another
	maxScopes = 64      // names of a qualified name
	maxText   = 1 << 16 // bytes of all the texts that a name is put together from: each of ten types may have the one before twice
)

// Name is the qualified name in a decorated name. What is not decorated by the grammar stays as it is.
func Name(name string) string {
	p := parser{s: name, room: maxText}
	if !p.take("?") || strings.ContainsAny(name, class+result) {
		return name
	}
	if text := p.symbol(false); !p.failed && text != "" {
		return text
	}
	return name
}

// parser is what is left of a name.
type parser struct {
	s           string
	names       []string // that digits stand for where a name is
	params      []string // where the type of a parameter is
	depth, room int
	failed      bool
}

func (p *parser) take(prefix string) (ok bool) {
	p.s, ok = strings.CutPrefix(p.s, prefix)
	return ok
}

// next is the next byte, 0 at the end.
func (p *parser) next() (c byte) {
	if p.s == "" {
		p.failed = true
		return 0
	}
	c, p.s = p.s[0], p.s[1:]
	return c
}

// back is what the next digit stands for; false where none is next.
func (p *parser) back(list []string) (text string, ok bool) {
	if p.s == "" || p.s[0]-'0' > 9 {
		return "", false
	}
	n := int(p.next() - '0')
	if n >= len(list) {
		p.failed = true
		return "", true
	}
	return list[n], true
}

// made charges a text that was put together.
func (p *parser) made(text string) string {
	if p.room -= len(text); p.room < 0 {
		p.failed = true
		return ""
	}
	return text
}

// enter begins a part that may have parts of its kind; leave ends it.
func (p *parser) enter() { p.depth++; p.failed = p.failed || p.depth > maxDepth }
func (p *parser) leave() { p.depth-- }

// remember notes a name that a digit can stand for from now on.
func (p *parser) remember(name string) {
	if len(p.names) < maxBack && !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
}

// symbol reads what is behind the first question mark. whole: with its type, as far as there is one: the name is part of another.
func (p *parser) symbol(whole bool) string {
	switch {
	case p.take("?_C@"):
		p.failed = p.failed || whole
		return "`string'"
	case p.take("?__E"):
		return p.stub("dynamic initializer", whole)
	case p.take("?__F"):
		return p.stub("dynamic atexit destructor", whole)
	case p.take("?_R0?"):
		p.qualifiers()
		t := p.typ()
		return t.text() + " `RTTI Type Descriptor'"
	}
	name := p.qualified(true)
	switch before, after, converts := strings.Cut(name, result); {
	case converts:
		name = before + p.encoding() + after
	case whole:
		p.encoding()
	case p.s == "": // decorated by somebody else
		p.failed = true
	}
	return name
}

// stub reads the name of a function that the compiler made for a variable.
func (p *parser) stub(what string, whole bool) string {
	variable := p.take("?")
	name := p.qualified(true)
	if variable && whole {
		p.encoding()
		p.failed = p.failed || !p.take("@@")
	}
	if whole {
		p.encoding()
	}
	return "`" + what + " for '" + name + "''"
}

// qualified reads a name and its scopes: of a type, or of a symbol, which may be an operator.
func (p *parser) qualified(symbol bool) string {
	p.enter()
	defer p.leave()
	parts := []string{p.unqualified(symbol, !symbol)}
	for !p.failed && !p.take("@") {
		parts = append(parts, p.scope())
		p.failed = p.failed || len(parts) > maxScopes
	}
	if strings.Contains(parts[0], class) {
		p.failed = p.failed || len(parts) == 1
		parts[0] = strings.Replace(parts[0], class, parts[min(1, len(parts)-1)], 1)
	}
	slices.Reverse(parts)
	return p.made(strings.Join(parts, "::"))
}

// unqualified reads a name without scopes. A template's is remembered where it is a type's.
func (p *parser) unqualified(symbol, remembered bool) string {
	if name, ok := p.back(p.names); ok {
		return name
	}
	switch {
	case p.take("?$"):
		name := p.template()
		if remembered {
			p.remember(name)
		}
		return name
	case symbol && p.take("?"):
		return p.operator()
	}
	return p.simple()
}

// simple reads a name up to the sign that ends it.
func (p *parser) simple() string {
	name, rest, ok := strings.Cut(p.s, "@")
	if !ok || name == "" || strings.Contains(name, "?") {
		p.failed = true
		return ""
	}
	p.s = rest
	p.remember(name)
	return name
}

// scope reads a name around another.
func (p *parser) scope() string {
	switch {
	case !strings.HasPrefix(p.s, "?"), strings.HasPrefix(p.s, "?$"):
		return p.unqualified(false, true)
	case p.take("?A"):
		_, rest, ok := strings.Cut(p.s, "@")
		p.s, p.failed = rest, p.failed || !ok
		p.remember(anonymous)
		return anonymous
	}
	p.take("?")
	n := p.number() // of the block in the function that follows
	p.failed = p.failed || !p.take("??")
	return p.made("`" + p.symbol(true) + "'::`" + strconv.FormatInt(n, 10) + "'")
}

const anonymous = "`anonymous namespace'"

// template reads a template's name and its arguments.
func (p *parser) template() string {
	p.enter()
	defer p.leave()
	names, params := p.names, p.params
	p.names, p.params = nil, nil
	name := p.unqualified(true, false)
	var list []string
	for !p.failed && !p.take("@") {
		if !p.take("$S") && !p.take("$$V") && !p.take("$$$V") && !p.take("$$Z") { // packs without types, and between two
			list = append(list, p.argument())
		}
	}
	p.names, p.params = names, params
	args := strings.Join(list, ",")
	if strings.HasSuffix(args, ">") {
		args += " "
	}
	if before, after, ok := strings.Cut(name, result); ok { // operator<int> long
		return p.made(strings.TrimSuffix(before, " ") + "<" + args + "> " + result + after)
	}
	return p.made(name + "<" + args + ">")
}

// argument reads an argument of a template.
func (p *parser) argument() string {
	kind := byte(0)
	switch {
	case p.take("$$Y"): // a template
		return p.qualified(false)
	case p.take("$$B"): // an array
		t := p.typ()
		return t.text()
	case p.take("$$C"):
		q, _ := p.qualifiers()
		t := p.typ()
		t = t.with(q)
		return t.text()
	case p.take("$M"): // auto: the type is said
		p.typ()
		kind = p.next()
	case len(p.s) > 1 && p.s[0] == '$' && p.s[1] != '$':
		p.next()
		kind = p.next()
	default:
		t := p.typ()
		return t.text()
	}
	return p.value(kind)
}
