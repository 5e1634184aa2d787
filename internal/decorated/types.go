package decorated

import (
	"strconv"
	"strings"
)

// typeText is a type as C++ writes it, around what has the type.
type typeText struct {
	left, right string
	pointer     bool // qualifiers of the place that has the type follow a member's class
}

func (t *typeText) text() string { return t.left + t.right }

// with is the type with qualifiers.
func (t typeText) with(qualifiers string) typeText {
	if qualifiers != "" {
		t.left += " " + qualifiers
	}
	return t
}

// pointed is a pointer to the type, by its sign.
func (t typeText) pointed(sign string) typeText {
	switch {
	case t.pointer && strings.HasSuffix(t.left, "*"):
		return typeText{t.left + sign, t.right, true}
	case t.pointer:
		return typeText{t.left + " " + sign, t.right, true}
	case t.right != "": // of a function or an array
		return typeText{strings.TrimSuffix(t.left, " ") + " (" + sign, ")" + t.right, true}
	}
	return typeText{t.left + " " + sign, "", true}
}

// pointers are what types of pointers and references begin with.
var pointers = [...]struct{ code, sign string }{{"$$Q", "&&"}, {"$$R", "&& volatile"}, {"A", "&"}, {"B", "& volatile"}, {"P", "*"}, {"Q", "*const"}, {"R", "*volatile"},
	{"S", "*const volatile"}}

// typ reads a type.
func (p *parser) typ() (t typeText) {
	p.enter()
	defer p.leave()
	if p.failed {
		return t
	}
	t = p.anyType()
	p.made(t.text())
	return t
}

func (p *parser) anyType() typeText {
	switch {
	case p.take("T"), p.take("U"), p.take("V"), p.take("W4"): // union, struct, class, enum
		return typeText{left: p.qualified(false)}
	case p.take("$$T"):
		return typeText{left: "std::nullptr_t"}
	case p.take("$$A6"):
		return p.function(false)
	case p.take("$$A8@@"):
		return p.function(true)
	case p.take("Y"):
		return p.array()
	}
	for _, k := range pointers {
		if p.take(k.code) {
			return p.pointer(k.sign)
		}
	}
	return typeText{left: p.simpleType()}
}

// pointer reads what a pointer points to.
func (p *parser) pointer(sign string) typeText {
	if p.take("6") {
		f := p.function(false)
		return f.pointed(sign)
	}
	if p.take("8") { // a member function
		class := p.qualified(false)
		f := p.function(true)
		return f.pointed(class + "::" + sign)
	}
	p.extended()
	qualifiers, member := p.qualifiers()
	if member {
		sign = p.qualified(false) + "::" + sign
	}
	t := p.typ()
	return t.with(qualifiers).pointed(sign)
}

// extended skips what is said of a pointer's size, alignment and aliases.
func (p *parser) extended() {
	for p.take("E") || p.take("I") || p.take("F") {
	}
}

// qualifiers reads const and volatile. member: the place is a member of the class that follows.
func (p *parser) qualifiers() (text string, member bool) {
	c := p.next()
	member = c >= 'Q'
	if member {
		c -= 'Q' - 'A'
	}
	if c -= 'A'; c > 3 {
		p.failed = true
		return "", false
	}
	return [...]string{"", "const", "volatile", "const volatile"}[c], member
}

func (p *parser) array() (t typeText) {
	n := p.number()
	if n < 1 || n > maxBack {
		p.failed = true
		return t
	}
	dimensions := ""
	for range n {
		dimensions += "[" + strconv.FormatInt(p.number(), 10) + "]"
	}
	qualifiers := ""
	if p.take("$$C") {
		qualifiers, _ = p.qualifiers()
	}
	t = p.typ()
	t = t.with(qualifiers)
	t.right = dimensions + t.right
	return t
}

// function reads the type of a function; a member's says first what it does to its object.
func (p *parser) function(member bool) typeText {
	suffix := ""
	if member {
		p.extended()
		for _, ref := range [...]struct{ code, text string }{{"G", " &"}, {"H", " &&"}} {
			if p.take(ref.code) {
				suffix = ref.text
			}
		}
		if q, _ := p.qualifiers(); q != "" {
			suffix = " " + q + suffix
		}
	}
	p.next() // how it is called
	result := typeText{}
	if !p.take("@") { // of a constructor
		qualifiers := ""
		if p.take("?") {
			qualifiers, _ = p.qualifiers()
		}
		result = p.typ()
		result = result.with(qualifiers)
	}
	params := p.parameters()
	if p.take("_E") {
		suffix += " noexcept"
	} else {
		p.failed = p.failed || !p.take("Z")
	}
	return typeText{left: result.left + " ", right: "(" + params + ")" + suffix + result.right}
}

// parameters reads the types of a function's parameters.
func (p *parser) parameters() string {
	if p.take("X") {
		return "void"
	}
	var list []string
	for !p.failed && !p.take("@") {
		if p.take("Z") {
			list = append(list, "...")
			break
		}
		text, ok := p.back(p.params)
		if !ok {
			before := len(p.s)
			t := p.typ()
			text = t.text()
			if before-len(p.s) > 1 && len(p.params) < maxBack {
				p.params = append(p.params, text)
			}
		}
		list = append(list, text)
	}
	return p.made(strings.Join(list, ","))
}

// simpleTypes are those of one or two letters.
var simpleTypes = [...]struct{ code, name string }{
	{"X", "void"}, {"D", "char"}, {"C", "signed char"}, {"E", "unsigned char"}, {"F", "short"}, {"G", "unsigned short"}, {"H", "int"}, {"I", "unsigned int"},
	{"J", "long"}, {"K", "unsigned long"}, {"M", "float"}, {"N", "double"}, {"O", "long double"}, {"_N", "bool"}, {"_J", "__int64"}, {"_K", "unsigned __int64"},
	{"_L", "__int128"}, {"_M", "unsigned __int128"}, {"_W", "wchar_t"}, {"_Q", "char8_t"}, {"_S", "char16_t"}, {"_U", "char32_t"}, {"_P", "auto"},
	{"_T", "decltype(auto)"},
}

func (p *parser) simpleType() string {
	for _, t := range simpleTypes {
		if p.take(t.code) {
			return t.name
		}
	}
	p.failed = true
	return ""
}

// number reads a number: a digit is one less than what it stands for, others have digits from A to P up to the sign.
func (p *parser) number() int64 {
	sign := int64(1)
	if p.take("?") {
		sign = -1
	}
	if p.s != "" && p.s[0]-'0' <= 9 {
		return sign * (int64(p.next()-'0') + 1)
	}
	n := uint64(0)
	for !p.failed && !p.take("@") {
		c := p.next() - 'A'
		p.failed = p.failed || c > 15
		n = n<<4 | uint64(c)
	}
	return sign * int64(n)
}

// value reads an argument of a template that is no type.
func (p *parser) value(kind byte) string {
	numbers, symbol := 0, ""
	switch kind {
	case '0':
		return strconv.FormatInt(p.number(), 10)
	case '1', 'H', 'I', 'J': // a pointer, to a member with what is added to its object
		if p.take("@") {
			return "nullptr"
		}
		numbers, symbol = max(0, int(kind)-'G'), "&"
	case 'E': // a reference
	case 'F', 'G': // a pointer to a member, by its place
		return p.list(nil, int(kind)-'F'+2)
	default:
		p.failed = true
		return ""
	}
	p.failed = p.failed || !p.take("?")
	symbol += p.symbol(true)
	if kind == '1' || kind == 'E' {
		return symbol
	}
	return p.list([]string{symbol}, numbers)
}

// list is a value of several numbers behind what there is already.
func (p *parser) list(parts []string, numbers int) string {
	for range numbers {
		parts = append(parts, strconv.FormatInt(p.number(), 10))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// encoding reads what is behind a symbol's name, and is the type of a function's result.
func (p *parser) encoding() string {
	p.take("$$J0") // extern "C"
	switch c := p.next(); {
	case c >= '0' && c <= '4':
		p.variable()
	case c == '5': // a guard's number
		p.number()
	case c == '6', c == '7': // a table of virtual functions, for bases
		p.extended()
		p.qualifiers()
		for !p.failed && !p.take("@") {
			p.qualified(false)
		}
	case c == '8', c == '9': // what has no type
	case c == '$':
		return p.thunk()
	default:
		kind := (c - 'A') % 8 / 2
		p.failed = p.failed || c < 'A' || c > 'Z'
		if c >= 'Y' {
			kind = ofClass
		} else if kind == adjusting {
			p.number()
		}
		f := p.function(kind != ofClass)
		return strings.TrimSuffix(f.left, " ")
	}
	return ""
}

// Kinds of functions, of each access: members, static ones, virtual ones, and those that add to their object first.
const ofClass, adjusting = 1, 3

// variable reads the type of a variable, and what is said of the variable itself.
func (p *parser) variable() {
	t := p.typ()
	if t.pointer {
		p.extended()
	}
	if _, member := p.qualifiers(); member {
		p.qualified(false)
	}
}

// thunk reads the type of a function that goes on in another, of a class with virtual bases.
func (p *parser) thunk() string {
	if p.take("B") { // a call by a table of virtual functions: its place there, how it is called
		p.number()
		p.failed = p.failed || !p.take("A")
		p.next()
		return ""
	}
	numbers := 2
	if p.take("R") {
		numbers = 4
	}
	if c := p.next(); c < '0' || c > '5' {
		p.failed = true
	}
	for range numbers {
		p.number()
	}
	f := p.function(true)
	return strings.TrimSuffix(f.left, " ")
}
