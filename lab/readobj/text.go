package readobj

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// entry is a RUNTIME_FUNCTION in the text.
type entry struct {
	fields map[string]string
	// codes are the lines of a list of codes: the prologue's, an epilogue's behind the fields' StartOffset of that time.
	prologue  []string
	epilogues []epilogue
}

type epilogue struct {
	start string // "" where the text does not say
	codes []string
}

// read reads the text of llvm-readobj --unwind. Each line is a field (Name: value), a code, or begins or ends a part (Name {, Name [).
func read(text io.Reader) (entries []entry, err error) {
	var open []string
	var e *entry
	for lines := bufio.NewScanner(text); ; {
		if !lines.Scan() {
			return entries, lines.Err()
		}
		line := strings.TrimSpace(lines.Text())
		name, begins := strings.CutSuffix(strings.TrimSuffix(line, " {"), " [")
		switch {
		case begins || strings.HasSuffix(line, "{") || strings.HasSuffix(line, " [") || strings.HasPrefix(line, "Flags ["):
			open = append(open, name)
			if name == "RuntimeFunction" {
				entries = append(entries, entry{fields: map[string]string{}})
				e = &entries[len(entries)-1]
			}
			if name == "EpilogueScope" || name == "Epilogue" {
				e.epilogues = append(e.epilogues, epilogue{})
			}
		case line == "}" || line == "]":
			open = open[:max(0, len(open)-1)]
		case e != nil && len(open) > 0:
			e.line(open[len(open)-1], line)
		}
	}
}

// line notes a line of a part.
func (e *entry) line(part, line string) {
	switch part {
	case "UnwindCodes", "Prologue":
		e.prologue = append(e.prologue, line)
	case "Opcodes", "Epilogue":
		last := &e.epilogues[len(e.epilogues)-1]
		last.codes = append(last.codes, line)
	case "EpilogueScope":
		if v, ok := strings.CutPrefix(line, "StartOffset: "); ok {
			e.epilogues[len(e.epilogues)-1].start = v
		}
	case "RuntimeFunction", "UnwindInfo", "ExceptionData", "ExceptionHandler":
		if name, v, ok := strings.Cut(line, ": "); ok {
			e.fields[name] = v
		}
	}
}

// number is a field's number; addresses of x64 stand in parentheses, behind a symbol's name.
func (e *entry) number(name string) uint64 {
	text := e.fields[name]
	text = strings.TrimSuffix(text[strings.LastIndexByte(text, '(')+1:], ")")
	n, _ := strconv.ParseUint(text, 0, 64)
	return n
}

// lo is where the function begins.
func (e *entry) lo() uint64 { return e.number("StartAddress") | e.number("Function") }

// notes are the lines that explain says of the entry.
func (e *entry) notes() []string {
	if e.fields["StartAddress"] != "" {
		return e.x64()
	}
	return e.arm64()
}

func (e *entry) x64() []string {
	frame := ""
	if register, _, ok := strings.Cut(e.fields["FrameRegister"], " ("); ok {
		frame = fmt.Sprintf(", frame register %s%+d", register, -16*int64(e.number("FrameOffset")))
	}
	lines := []string{fmt.Sprintf("entry 0x%016x to 0x%016x", e.lo(), e.number("EndAddress")),
		fmt.Sprintf("version %s, prologue of %s bytes%s", e.fields["Version"], e.fields["PrologSize"], frame)}
	return append(append(lines, e.prologue...), e.handler("Handler")...)
}

func (e *entry) handler(field string) []string {
	if e.fields[field] == "" {
		return nil
	}
	return []string{fmt.Sprintf("handler 0x%016x", e.number(field))}
}

func (e *entry) arm64() []string {
	size, kind := e.number("FunctionLength"), ".xdata"
	if e.fields["RegI"] != "" {
		kind = "packed"
	}
	lines := []string{fmt.Sprintf("entry 0x%016x to 0x%016x", e.lo(), e.lo()+size), fmt.Sprintf("%s, %d bytes", kind, size),
		"prologue, backwards: " + steps(e.prologue)}
	if offset := e.fields["EpilogueOffset"]; offset == "0" { // it has the codes of the prologue
		e.epilogues = []epilogue{{codes: e.prologue}}
	}
	for _, ep := range e.epilogues {
		line := "epilogue: " + steps(ep.codes)
		if start, err := strconv.ParseUint(ep.start, 0, 32); err == nil {
			line = fmt.Sprintf("epilogue at 0x%016x: %s", e.lo()+4*start, steps(ep.codes))
		}
		lines = append(lines, line)
	}
	return append(lines, e.handler("Routine")...)
}

// steps are codes as the instructions of a prologue: an epilogue's undo these.
func steps(codes []string) string {
	instruction := strings.NewReplacer("ldp", "stp", "ldr", "str", "], #", ", #-", "x30", "lr", "fp", "x29", "autibsp", "pacibsp", "restore", "save",
		"add sp", "sub sp", "sub sp, sp", "sub sp", "mov sp, fp", "mov x29, sp", "clear unwound to call", "not called")
	var words []string
	for _, c := range codes {
		if _, text, ok := strings.Cut(c, "; "); ok {
			c = text
		}
		moves := strings.Contains(c, "], #")
		if c = instruction.Replace(c); moves { // ldp x19, x20, [sp], #16
			c += "]!"
		}
		words = append(words, c)
	}
	return strings.Join(words, "; ")
}
