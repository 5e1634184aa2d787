package stackmarks

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"strings"

	"github.com/backsight/backsight/lab/child"
)

// Listing is the text of a program's functions as objdump writes it, by name.
type Listing map[string]string

// Disassembled lists the program by objdump.
func (c *Case) Disassembled(ctx context.Context) (Listing, error) {
	cmd := child.Command(ctx, strings.TrimSuffix(c.CPU.compiler[0], "gcc")+"objdump", "-d", "--no-show-raw-insn", c.ELF())
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	return readListing(strings.NewReader(string(out))), nil
}

var functionLine = regexp.MustCompile(`^[0-9a-f]+ <(.+)>:$`)

func readListing(r io.Reader) Listing {
	l, name := Listing{}, ""
	var text strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if m := functionLine.FindStringSubmatch(lines.Text()); m != nil {
			l[name] = text.String()
			name = m[1]
			text.Reset()
		}
		text.WriteString(lines.Text() + "\n")
	}
	l[name] = text.String()
	return l
}

// has tells whether the listing has a function whose calls it names: those through MIPS' t9 it does not.
func (l Listing) has(name string) bool {
	text, ok := l[name]
	return ok && !strings.Contains(text, "jalr\tt9") && !strings.Contains(text, "jr\tt9")
}

// calls tells whether a function, or a part of it that is kept elsewhere, names another.
func (l Listing) calls(name, to string) bool {
	for _, part := range []string{name, name + ".cold"} {
		if strings.Contains(l[part], "<"+to+">") || strings.Contains(l[part], "<"+to+"@") {
			return true
		}
	}
	return false
}
