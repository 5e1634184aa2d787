package render

import (
	"cmp"
	"io"
	"strconv"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// AppendPage appends r as a part of a web page. The words of stacks are told what they are by
// what was tried for each frame (report.Thread.Tried).
func AppendPage(dst []byte, r *report.Report, style Style) []byte {
	dst, _ = appendReport(dst, nil, viewReport(r, style))
	return dst
}

// writePage writes what AppendPage appends, while it is made.
func writePage(w io.Writer, r *report.Report, style Style) error {
	_, err := appendReport(nil, w, viewReport(r, style))
	return err
}

// appendReport appends a report, or writes it to w, if set, thread by thread.
func appendReport(dst []byte, w io.Writer, v reportView) ([]byte, error) {
	held := text{b: dst, w: w}
	held.b = appendHeader(held.b, &v)
	for th := range v.Threads {
		held.b = appendThread(held.b, &th)
		held.flush(mostHeld)
	}
	held.b = appendModules(held.b, v.Modules)
	if len(v.Issues) > 0 {
		held.b = typeset.AppendMarkup(held.b, `<section class="card" id="issues"><h2>What was in the way</h2><ul>`)
		for _, issue := range v.Issues {
			held.b = typeset.AppendMarkup(held.b, "<li>{}", issue)
		}
		held.b = typeset.AppendMarkup(held.b, "</ul></section>\n")
	}
	held.b = typeset.AppendMarkup(held.b, "</article>\n")
	held.flush(0)
	return held.b, held.err
}

func appendHeader(dst []byte, v *reportView) []byte {
	dst = typeset.AppendMarkup(dst, "<article>\n<header>\n<h1>{}</h1>\n", v.Title)
	for i, reason := range v.Reasons {
		class := "reason"
		if i == 0 {
			class = "reason first"
		}
		dst = typeset.AppendMarkup(dst, `<p class="{}">{}</p>`+"\n", class, reason)
	}
	dst = typeset.AppendMarkup(dst, `<p class="facts">`)
	for _, fact := range v.Facts {
		dst = typeset.AppendMarkup(dst, "<span>{}</span> ", fact)
	}
	return typeset.AppendMarkup(dst, "</p>\n</header>\n")
}

func appendModules(dst []byte, modules []moduleView) []byte {
	if len(modules) == 0 {
		return dst
	}
	dst = typeset.AppendMarkup(dst, `<details class="card" id="modules"><summary>Modules <small>{}</small></summary>
<div class="wide"><table><thead><tr><th>from<th>to<th>name<th>build ID<th>file</thead>
<tbody>`, strconv.Itoa(len(modules)))
	for i := range modules {
		m := &modules[i]
		dst = typeset.AppendMarked(dst, "tr", "missing", m.File == "")
		dst = typeset.AppendMarkup(dst, `<td class="hex">{}<td class="hex">{}<td>{}<td class="hex">{}<td>{}`+"\n",
			m.Lo, m.Hi, m.Name, m.BuildID, cmp.Or(m.File, "not found"))
	}
	return typeset.AppendMarkup(dst, "</tbody></table></div></details>\n")
}
