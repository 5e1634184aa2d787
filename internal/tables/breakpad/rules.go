package breakpad

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// converter writes STACK CFI records.
type converter struct {
	p    *tables.Program
	arch *cpu.Arch
	cpu  string
	// dollar is "$" on the processors whose registers have names with a dollar sign in the format,
	// else "".
	dollar  string
	base    uint64 // where the module is loaded, as an image address
	rules   []expressions
	refused []tables.Refusal
	records int
}

// expressions are a rule as the format has it: names with what they are computed by, in the order
// of a record. why says what cannot be computed, "" where all can.
type expressions struct {
	of  []assignment
	why string
}

type assignment struct{ name, value string }

// processor is one as the format has it.
type processor struct {
	cpu    string // cpu.Arch.Name
	name   string // in MODULE records
	dollar string // before the names of registers
}

// processors are those that the format has.
func processors() []processor {
	return []processor{
		{"mips", "mips", "$"},
		{"mips64", "mips64", "$"},
		{"arm", "arm", ""},
		{"aarch64", "arm64", ""},
		{"riscv32", "riscv", ""},
		{"riscv64", "riscv64", ""},
		{"i386", "x86", "$"},
		{"x86_64", "x86_64", "$"},
	}
}

func newConverter(p *tables.Program) (*converter, error) {
	a := p.Image.Arch
	known := processors()
	i := slices.IndexFunc(known, func(p processor) bool { return p.cpu == a.Name })
	if i < 0 {
		return nil, fmt.Errorf("the format has no processor %s", a.Name)
	}
	c := &converter{p: p, arch: a, cpu: known[i].name, dollar: known[i].dollar, rules: make([]expressions, len(p.Rules))}
	if s := p.Image.Segments; len(s) > 0 && s[0].FileOff <= s[0].Addr {
		c.base = s[0].Addr - s[0].FileOff
	}
	for i := range p.Rules {
		c.rules[i] = c.convert(&p.Rules[i])
	}
	return c, nil
}

// register is a register's name as the format has it: the ABI's, but $fp of MIPS.
func (c *converter) register(r cpu.Reg) string {
	name := c.arch.RegName(r)
	if name == "s8" && c.dollar != "" {
		name = "fp"
	}
	return c.dollar + name
}

// convert makes the expressions of a rule.
func (c *converter) convert(r *tables.Rule) (e expressions) {
	if r.RA.Kind == rule.Undefined {
		return expressions{of: []assignment{{".ra", "0"}}} // at 0 every walk ends
	}
	e.add(".cfa", c.value(&r.CFA))
	e.add(".ra", c.value(&r.RA))
	for i := range r.Regs {
		reg := &r.Regs[i]
		switch reg.Kind {
		case rule.Unspecified, rule.SameValue, rule.Undefined:
			continue // the readers keep what the ABI preserves
		}
		if reg.Reg != c.arch.SP || reg.Kind != rule.CFAPlus || reg.Off != 0 {
			e.add(c.register(reg.Reg), c.value(reg))
		}
	}
	return e
}

func (e *expressions) add(name, value string) {
	if value == "" && e.why == "" {
		e.why = "a DWARF expression gives " + name
	}
	e.of = append(e.of, assignment{name, value})
}

// value is an expression in postfix form, "" where the form has none.
func (c *converter) value(r *rule.Register) string {
	switch r.Kind {
	case rule.AtCFA:
		return sum(".cfa", r.Off) + " ^"
	case rule.CFAPlus:
		return sum(".cfa", r.Off)
	case rule.RegPlus:
		if r.Off == 0 && r.Base == c.arch.LR {
			return c.register(r.Base)
		}
		return sum(c.register(r.Base), r.Off)
	case rule.AtReg:
		if r.Add == 0 {
			return sum(c.register(r.Base), r.Off) + " ^"
		}
		return sum(sum(c.register(r.Base), r.Off)+" ^", r.Add)
	case rule.Constant:
		return fmt.Sprint(r.Off)
	}
	return ""
}

// sum adds a number in postfix form.
func sum(to string, n int64) string { return fmt.Sprintf("%s %d +", to, n) }

// function writes the records of a function: an INIT record for each stretch of known rows, then
// what changes.
func (c *converter) function(out *bufio.Writer, f *tables.Function) {
	for from := 0; from < len(f.Rows); {
		to := from + 1
		if c.sayable(f, from) {
			for to < len(f.Rows) && c.sayable(f, to) {
				to++
			}
			c.stretch(out, f, from, to)
		}
		from = to
	}
}

// sayable tells whether a row has a rule that the form can say. A rule that the form cannot say is added
// to refused.
func (c *converter) sayable(f *tables.Function, row int) bool {
	n := f.Rows[row].Rule
	if n == tables.None {
		return false
	}
	if c.rules[n].why == "" {
		return true
	}
	at := f.Rows[row].Addr
	r := tables.Refusal{Function: f.Symbol(), Addr: at, Size: f.RowEnd(row) - at, Reason: c.rules[n].why}
	if k := len(c.refused); k == 0 || c.refused[k-1] != r {
		c.refused = append(c.refused, r)
	}
	return false
}

// stretch writes the records of the rows from one up to another. A register that a row says nothing
// of has its value again.
func (c *converter) stretch(out *bufio.Writer, f *tables.Function, from, to int) {
	start := f.Rows[from].Addr
	now := map[string]string{}
	for i := from; i < to; i++ {
		var b strings.Builder
		mentioned := map[string]bool{".cfa": true}
		for _, a := range c.initial(i == from, &c.rules[f.Rows[i].Rule]) {
			mentioned[a.name] = true
			if now[a.name] != a.value {
				now[a.name] = a.value
				fmt.Fprintf(&b, " %s: %s", a.name, a.value)
			}
		}
		for _, name := range sortedNames(now) {
			if !mentioned[name] {
				fmt.Fprintf(&b, " %s: %s", name, name)
				delete(now, name)
			}
		}
		switch {
		case i == from:
			fmt.Fprintf(out, "STACK CFI INIT %x %x%s\n", start-c.base, f.RowEnd(to-1)-start, b.String())
		case b.Len() > 0:
			fmt.Fprintf(out, "STACK CFI %x%s\n", f.Rows[i].Addr-c.base, b.String())
		}
		c.records++
	}
}

// initial are a row's assignments. A first row of an outermost frame has a CFA as well: readers want
// one.
func (c *converter) initial(first bool, e *expressions) []assignment {
	if first && e.of[0].name != ".cfa" {
		return append([]assignment{{".cfa", sum(c.register(c.arch.SP), c.arch.EntryCFA)}}, e.of...)
	}
	return e.of
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
