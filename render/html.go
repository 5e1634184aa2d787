package render

import (
	"cmp"
	"embed"
	"io"
	"strconv"

	"github.com/backsight/backsight/report"
)

//go:embed page
var pageFiles embed.FS

// pageFile is a file of the page, which is part of the program.
func pageFile(name string) markup {
	b, _ := pageFiles.ReadFile("page/" + name)
	return markup(b)
}

// PageStyle is the style of web pages with reports, for pages beside these.
func PageStyle() string { return string(pageFile("page.css")) }

// AppendPageHead begins one web page with reports, which needs nothing else: no network, no
// other file. title is the page's. AppendPage appends the reports, AppendPageTail ends it.
func AppendPageHead(dst []byte, title string) []byte {
	dst = appendMarkup(dst, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{}</title>
<style>`, title)
	dst = appendMarkup(dst, pageFile("page.css"))
	return appendMarkup(dst, "</style>\n</head>\n<body>\n")
}

// AppendPageTail ends a web page.
func AppendPageTail(dst []byte) []byte {
	dst = appendLegend(dst)
	dst = appendMarkup(dst, "<script>")
	dst = appendMarkup(dst, pageFile("page.js"))
	return appendMarkup(dst, "</script>\n</body>\n</html>\n")
}

// appendLegend appends what the marks mean, folded.
func appendLegend(dst []byte) []byte {
	dst = appendDetails(dst, "card marks", false)
	dst = appendMarkup(dst, "<summary><h2>What the marks mean</h2></summary>\n")
	for _, s := range marks() {
		dst = appendMarkup(dst, "<h3>{}</h3><dl>", s.title)
		for _, m := range s.marks {
			dst = appendMarkup(dst, "<dt>{}<dd>{}\n", m.mark, m.means)
		}
		dst = appendMarkup(dst, "</dl>\n")
	}
	return appendMarkup(dst, "</details>\n")
}

// AppendPage appends r as a part of a web page. The words of stacks are told what they are by
// what was tried for each frame (report.Thread.Tried).
func AppendPage(dst []byte, r *report.Report, style Style) []byte {
	dst, _ = appendReport(dst, nil, viewReport(r, style))
	return dst
}

// WritePage writes what AppendPage appends, while it is made.
func WritePage(w io.Writer, r *report.Report, style Style) error {
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
		held.b = appendMarkup(held.b, `<section class="card" id="issues"><h2>What was in the way</h2><ul>`)
		for _, issue := range v.Issues {
			held.b = appendMarkup(held.b, "<li>{}", issue)
		}
		held.b = appendMarkup(held.b, "</ul></section>\n")
	}
	held.b = appendMarkup(held.b, "</article>\n")
	held.flush(0)
	return held.b, held.err
}

func appendHeader(dst []byte, v *reportView) []byte {
	dst = appendMarkup(dst, "<article>\n<header>\n<h1>{}</h1>\n", v.Title)
	for i, reason := range v.Reasons {
		class := "reason"
		if i == 0 {
			class = "reason first"
		}
		dst = appendMarkup(dst, `<p class="{}">{}</p>`+"\n", class, reason)
	}
	dst = appendMarkup(dst, `<p class="facts">`)
	for _, fact := range v.Facts {
		dst = appendMarkup(dst, "<span>{}</span> ", fact)
	}
	return appendMarkup(dst, "</p>\n</header>\n")
}

func appendModules(dst []byte, modules []moduleView) []byte {
	if len(modules) == 0 {
		return dst
	}
	dst = appendMarkup(dst, `<details class="card" id="modules"><summary>Modules <small>{}</small></summary>
<div class="wide"><table><thead><tr><th>from<th>to<th>name<th>build ID<th>file</thead>
<tbody>`, strconv.Itoa(len(modules)))
	for i := range modules {
		m := &modules[i]
		dst = appendMarked(dst, "tr", "missing", m.File == "")
		dst = appendMarkup(dst, `<td class="hex">{}<td class="hex">{}<td>{}<td class="hex">{}<td>{}`+"\n",
			m.Lo, m.Hi, m.Name, m.BuildID, cmp.Or(m.File, "not found"))
	}
	return appendMarkup(dst, "</tbody></table></div></details>\n")
}
