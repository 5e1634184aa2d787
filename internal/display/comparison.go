//go:build !small

package display

import (
	"fmt"
	"path"
	"strconv"

	"github.com/backsight/backsight/internal/comparing"
	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/internal/typeset"
)

// AppendComparison appends two reports side by side, as text: a line a frame, with what the frame of A is to that of B.
func AppendComparison(dst []byte, c *comparing.Comparison, color bool) []byte {
	w := comparisonText{dst: dst, color: color}
	w.facts(append([]comparing.Fact{{Name: "capture", A: path.Base(c.A.Own.Capture), B: path.Base(c.B.Own.Capture)}}, c.Facts...))
	for i := range c.Threads {
		w.threads(&c.Threads[i])
	}
	if len(c.Registers) > 0 {
		w.dst = append(w.dst, "\nregisters of the innermost frame\n"...)
		w.facts(c.Registers)
	}
	return w.dst
}

type comparisonText struct {
	dst   []byte
	color bool
}

func (w *comparisonText) facts(list []comparing.Fact) {
	for _, f := range list {
		w.dst = typeset.AppendText(fmt.Appendf(w.dst, "%-12s ", typeset.Text(f.Name)), typeset.OrDash(f.A))
		if f.A == f.B {
			w.dst = append(w.dst, '\n')
			continue
		}
		w.dst = typeset.AppendText(append(w.dst, "  →  "...), typeset.OrDash(f.B))
		w.dst = append(w.dst, '\n')
	}
}

func (w *comparisonText) threads(t *comparing.Threads) {
	w.dst = append(append(append(w.dst, '\n'), threadsTitle(t)...), '\n')
	for i := range t.Rows {
		r := &t.Rows[i]
		mark, color := rowMark(r.Relation)
		if w.color {
			w.dst = append(w.dst, color...)
		}
		w.dst = fmt.Appendf(w.dst, "%c %4s %4s  ", mark, number(r.A), number(r.B))
		w.dst = typeset.AppendText(w.dst, rowName(r))
		if said := rowSays(r); said != "" {
			w.dst = typeset.AppendText(append(w.dst, "  "...), said)
		}
		if w.color && color != "" {
			w.dst = append(w.dst, typeset.Plain...)
		}
		w.dst = append(w.dst, '\n')
	}
}

// threadsTitle says which threads stand side by side.
func threadsTitle(t *comparing.Threads) string {
	switch {
	case t.B == nil:
		return "Only in A: " + threadLabel(t.A) + frameCount(t.A)
	case t.A == nil:
		return "Only in B: " + threadLabel(t.B) + frameCount(t.B)
	case threadLabel(t.A) == threadLabel(t.B):
		return threadLabel(t.A)
	}
	return threadLabel(t.A) + "  →  " + threadLabel(t.B)
}

func threadLabel(t *jsonreport.Thread) string {
	title := "thread " + strconv.Itoa(t.ID)
	if t.Name != "" {
		title += " " + strconv.Quote(typeset.Text(t.Name))
	}
	return title
}

func frameCount(t *jsonreport.Thread) string { return fmt.Sprintf(", %d frames", len(t.Frames)) }

// rowMark is the mark of a relation, and its colour; "" for none.
func rowMark(r comparing.Relation) (mark byte, color string) {
	switch r {
	case comparing.OnlyA:
		return '-', typeset.Red
	case comparing.OnlyB:
		return '+', typeset.Green
	case comparing.SamePlace:
		return ' ', ""
	}
	return '~', typeset.Yellow
}

func number(f *jsonreport.Frame) string {
	if f == nil {
		return ""
	}
	return "#" + strconv.Itoa(f.Number)
}

// rowName is what the frames of a row are called.
func rowName(r *comparing.Row) string {
	switch {
	case r.A == nil:
		return frameTitle(r.B)
	case r.B == nil || frameTitle(r.A) == frameTitle(r.B):
		return frameTitle(r.A)
	}
	return frameTitle(r.A) + "  →  " + frameTitle(r.B)
}

// frameTitle is a frame in some words: its function and the place there.
func frameTitle(f *jsonreport.Frame) string {
	name := comparing.Name(f)
	if f.Function != "" && f.FunctionOffset != "" {
		name += "+" + f.FunctionOffset
	}
	return name
}

// rowSays is what there is to say of two frames: what they are to one another unless they are the same, and how sure they are where
// that differs.
func rowSays(r *comparing.Row) string {
	switch {
	case r.Relation == comparing.SamePlace && r.A.Own.Trust != r.B.Own.Trust:
		return fmt.Sprintf("(%s, in B %s)", r.A.Own.Trust, r.B.Own.Trust)
	case r.Relation == comparing.SamePlace:
		return ""
	}
	return "(" + string(r.Relation) + ")"
}

// AppendComparisonPage appends two reports side by side, as a web page.
func AppendComparisonPage(dst []byte, c *comparing.Comparison) []byte {
	a, b := path.Base(c.A.Own.Capture), path.Base(c.B.Own.Capture)
	return typeset.AppendPageTail(AppendComparisonArticle(typeset.AppendPageHead(dst, a+" and "+b), c))
}

// AppendComparisonArticle appends two reports side by side, as a part of a web page.
func AppendComparisonArticle(dst []byte, c *comparing.Comparison) []byte {
	a, b := path.Base(c.A.Own.Capture), path.Base(c.B.Own.Capture)
	dst = typeset.AppendMarkup(dst, "<article>\n<header><h1>{} and {}</h1></header>\n", a, b)
	dst = appendFactsCard(dst, "What differs as a whole", a, b, c.Facts)
	for i := range c.Threads {
		dst = appendThreadsCard(dst, &c.Threads[i])
	}
	if len(c.Registers) > 0 {
		dst = appendFactsCard(dst, "Registers of the innermost frame", a, b, c.Registers)
	}
	return typeset.AppendMarkup(dst, "</article>\n")
}

func appendFactsCard(dst []byte, title, a, b string, list []comparing.Fact) []byte {
	dst = typeset.AppendMarkup(dst, `<section class="card"><h2>{}</h2><div class="wide"><table><thead><tr><th><th>{}<th><th>{}</thead><tbody>`+"\n", title, a, b)
	for _, f := range list {
		dst = typeset.AppendMarked(dst, "tr", "likely", f.A != f.B)
		unlike := ""
		if f.A != f.B {
			unlike = "≠"
		}
		dst = typeset.AppendMarkup(dst, `<td>{}<td class="hex">{}<td>{}<td class="hex">{}`+"\n", f.Name, typeset.OrDash(f.A), unlike, typeset.OrDash(f.B))
	}
	return typeset.AppendMarkup(dst, "</tbody></table></div></section>\n")
}

func appendThreadsCard(dst []byte, t *comparing.Threads) []byte {
	dst = typeset.AppendMarkup(dst, `<section class="card"><h2>{}</h2><div class="wide"><table><tbody>`+"\n", threadsTitle(t))
	for i := range t.Rows {
		r := &t.Rows[i]
		dst = appendSide(append(dst, "<tr><td>"...), r.A, r.Relation)
		dst = appendSide(append(dst, "<td>"...), r.B, r.Relation)
		dst = typeset.AppendMarkup(dst, `<td class="dim">{}`+"\n", rowSays(r))
	}
	return typeset.AppendMarkup(dst, "</tbody></table></div></section>\n")
}

// appendSide appends one of the frames of a row, with what else is known of the frame behind a click; nothing for nil.
func appendSide(dst []byte, f *jsonreport.Frame, r comparing.Relation) []byte {
	if f == nil {
		return dst
	}
	dst = typeset.AppendMarkup(dst, `<details class="frame {}"><summary><span class="n">{}</span><span class="name">{}</span></summary>`, rowClass(r), number(f), frameTitle(f))
	where := f.Module
	if f.File != "" {
		where = f.File + ":" + strconv.Itoa(f.Line)
	}
	return typeset.AppendMarkup(dst, `<p class="excerpt">{}<br>{}<br>{}, {}</p></details>`, where, f.Own.PC, f.Own.Method, f.Own.Trust)
}

// rowClass is the class by which a row has its colour, one of those of frames by their trust.
func rowClass(r comparing.Relation) string {
	switch r {
	case comparing.SamePlace:
		return "certain"
	case comparing.OnlyA, comparing.OnlyB:
		return "guess"
	}
	return "likely"
}
