package stackmarks

import (
	"fmt"
	"github.com/backsight/backsight/internal/code/stackdepth"
	"maps"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
)

// Tally counts what two sides say of functions: of their stacks, and of their calls.
type Tally struct {
	Functions, Bytes int
	Calls, SameCalls int
	Same             int // functions of which both say the same of both
}

// Add adds another tally.
func (t *Tally) Add(o Tally) {
	t.Functions += o.Functions
	t.Same += o.Same
	t.Bytes += o.Bytes
	t.Calls += o.Calls
	t.SameCalls += o.SameCalls
}

// Difference is something that GCC says otherwise of a function. Why explains it, "" where nothing does.
type Difference struct{ Name, GCC, Code, Why string }

// Comparison compares GCC's figures with a report.
type Comparison struct {
	cpu    string
	img    *image.Image
	report *stackdepth.Report
	known  map[string]*stackdepth.Function
	// listing is the program disassembled by another.
	listing Listing
	Tally
	Differ []Difference
}

// NewComparison compares with the report of an image for a processor. listing may be nil.
func NewComparison(cpu string, img *image.Image, r *stackdepth.Report, listing Listing) *Comparison {
	c := &Comparison{cpu: cpu, img: img, report: r, listing: listing, known: map[string]*stackdepth.Function{}}
	for i := range r.Functions {
		c.known[r.Functions[i].Name] = &r.Functions[i]
	}
	return c
}

// Add compares the figures of functions, as far as the image has them.
func (c *Comparison) Add(list []Figure) {
	for i := range list {
		if own := c.function(list[i].Name); own != nil {
			c.Functions++
			before := len(c.Differ)
			c.bytes(&list[i], own)
			c.calls(&list[i], own)
			if len(c.Differ) == before {
				c.Same++
			}
		}
	}
}

// function is the function of a name; one function may have several.
func (c *Comparison) function(name string) *stackdepth.Function {
	if f := c.known[name]; f != nil {
		return f
	}
	if sym, ok := c.img.Symbols.Named(name); ok {
		if at, ok := c.img.Symbols.At(sym.Addr); ok && at.Addr == sym.Addr {
			return c.known[at.Name]
		}
	}
	return nil
}

// bytes compares the stacks. Of a function with alloca or variable arrays, both must say so: what GCC counts of that is not what
// the first pass takes.
func (c *Comparison) bytes(f *Figure, own *stackdepth.Function) {
	dynamic := f.Kind == "dynamic"
	if dynamic && own.Dynamic || !dynamic && own.Own == f.Bytes {
		c.Bytes++
		return
	}
	c.Differ = append(c.Differ, Difference{f.Name, fmt.Sprintf("%d %s", f.Bytes, f.Kind), fmt.Sprint(own.Own), explained(f, own, c.cpu)})
}

// pretended is the most that a function for ARM pushes of its arguments' registers.
const pretended = 16

// explained says why GCC counts otherwise (gcc/config/arm/arm.cc, arm_expand_prologue; gcc/config/i386/i386.cc, ix86_expand_prologue).
func explained(f *Figure, own *stackdepth.Function, cpu string) string {
	switch more := own.Own - f.Bytes; {
	case strings.HasPrefix(cpu, "arm") && more > 0 && more <= pretended:
		return "GCC leaves out registers of arguments that the function pushes in front of its frame"
	case own.Dynamic && more > 0:
		return "SP is aligned by more than the ABI does: GCC takes the caller's SP as aligned already"
	}
	return ""
}

// pointers stands for calls through pointers among the names of what a function calls.
const pointers = "(pointer)"

// calls compares which functions a function calls: a call that one side alone knows is a difference. GCC has one name for all calls
// of which it has no declaration: through pointers, and those of its own library that it makes itself (__clear_cache). The code may
// show where these lead.
func (c *Comparison) calls(f *Figure, own *stackdepth.Function) {
	theirs := map[string]bool{}
	for _, name := range f.Calls {
		theirs[c.same(name)] = true
	}
	if f.Pointers {
		theirs[pointers] = true
	}
	ours := map[string]bool{}
	c.gather(own, func(call stackdepth.Called) {
		name := c.same(call.Name)
		if call.Indirect && !call.Sure || f.Pointers && !theirs[name] {
			name = pointers
		}
		ours[name] = true
	})
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.Calls++
		switch {
		case !ours[name]:
			c.Differ = append(c.Differ, Difference{f.Name, "calls " + name, "", c.absent(own, name, ours[pointers])})
		case !theirs[name]:
			c.Differ = append(c.Differ, Difference{f.Name, "", "calls " + name, c.more(name, theirs)})
		default:
			c.SameCalls++
		}
	}
}

// absent says why GCC alone knows a call. pointer: the code has calls that it does not resolve.
func (c *Comparison) absent(own *stackdepth.Function, name string, pointer bool) string {
	switch {
	case c.listing.has(own.Name) && name != pointers && !c.listing.calls(own.Name, name):
		if strings.HasPrefix(name, ".") {
			return "a local label, which is no symbol"
		}
		return "the code has no such call, as objdump has it, too: later passes of GCC dropped or combined it"
	case pointer:
		return "the code loads the address on several ways: listed as open"
	case own.Open > 0:
		return "behind a jump that is not followed: listed as open"
	}
	return ""
}

// more says why the code alone has a call.
func (c *Comparison) more(name string, theirs map[string]bool) string {
	for to := range theirs {
		if strings.HasPrefix(to, ".") {
			return "GCC names a local label, which is no symbol"
		}
	}
	if name == pointers {
		return "a jump or call through a register, set too far in front: listed as open"
	}
	return ""
}

// same is the name that stands for all names of a function.
func (c *Comparison) same(name string) string {
	if f := c.function(name); f != nil {
		return f.Name
	}
	return name
}

// gather yields the calls of a function, those of its parts that GCC keeps elsewhere (foo.cold) included.
func (c *Comparison) gather(own *stackdepth.Function, yield func(stackdepth.Called)) {
	for _, call := range c.report.Tree.Calls(own.At) {
		if part := c.known[call.Name]; part != nil && part != own && strings.HasPrefix(call.Name, own.Name+".cold") {
			c.gather(part, yield)
			continue
		}
		yield(call)
	}
}
