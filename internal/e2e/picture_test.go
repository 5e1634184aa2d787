package e2e_test

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPicture: docs/terminal.svg, which README.md shows, is what a terminal shows of two of its commands.
func TestPicture(t *testing.T) {
	program := command(t)
	var screen strings.Builder
	for _, c := range []struct{ dir, args string }{
		{"../../testdata/mips-deref", "bt --color always --sysroot modules core.gz"},
		{"../../testdata/mips-naked", "bt --color always --image modules/packer snaps.jsonl.gz"},
	} {
		shown := strings.NewReplacer("--color always ", "", "modules/", "", "modules", "rootfs", "snaps.jsonl.gz", "naked.core", ".gz", "").Replace(c.args)
		out, talk, exit := run(t, program, c.dir, strings.Fields(c.args)...)
		if exit != 0 || talk != "" {
			t.Fatalf("%s: exit code %d, said %q", c.args, exit, talk)
		}
		out, _, _ = strings.Cut(out, "\nSnapshot 2")
		fmt.Fprintf(&screen, "\x1b[2m$\x1b[0m backsight %s\n%s\n", shown, out)
	}
	const file = "../../docs/terminal.svg"
	got := picture(strings.TrimRight(screen.String(), "\n"))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, file) != got {
		t.Errorf("%s is not what is printed: go test ./internal/e2e -run TestPicture -update", file)
	}
}

// escape is a sequence that changes the colour of a terminal (ECMA-48, 8.3.117).
var escape = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// word is what has blanks around it.
var word = regexp.MustCompile(`[^ ]+`)

// picture is a terminal with a text, as SVG. Each character has its place, whatever font there is.
func picture(screen string) string {
	const width, char, line, margin = 94, 8.4, 19, 16
	lines := strings.Split(screen, "\n")
	var b strings.Builder
	wide, high := width*char+2*margin, len(lines)*line+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img" aria-label="backsight bt, of two cores of MIPS programs">`+"\n", wide, high, wide, high)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#16191d"/>`+"\n"+
		`<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#d6dae0">`+"\n")
	style := ""
	for i, text := range lines {
		column, from := 0, 0
		for _, at := range append(escape.FindAllStringSubmatchIndex(text, -1), []int{len(text), len(text), 0, 0}) {
			for _, w := range word.FindAllStringIndex(text[from:at[0]], -1) {
				part := text[from+w[0] : from+w[1]]
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n", margin+float64(column+len([]rune(text[from:from+w[0]])))*char, margin+14+i*line,
					float64(len([]rune(part)))*char, style, html.EscapeString(part))
			}
			column += len([]rune(text[from:at[0]]))
			style = map[string]string{"1": ` font-weight="bold"`, "2": ` opacity="0.6"`, "31": ` fill="#f08080"`, "32": ` fill="#8fce8f"`, "33": ` fill="#e5c07b"`}[text[at[2]:at[3]]]
			from = at[1]
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
