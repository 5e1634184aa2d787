package typeset

import "embed"

//go:embed page
var pageFiles embed.FS

// PageFile is a file of the page, which is part of the program.
func PageFile(name string) Markup {
	b, _ := pageFiles.ReadFile("page/" + name)
	return Markup(b)
}

// PageStyle is the style of web pages with reports, for pages beside these.
func PageStyle() string { return string(PageFile("page.css")) }

// AppendPageHead begins one web page with reports, which needs nothing else: no network, no
// other file. title is the page's. AppendPage appends the reports, AppendPageTail ends it.
func AppendPageHead(dst []byte, title string) []byte {
	dst = AppendMarkup(dst, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{}</title>
<style>`, title)
	dst = AppendMarkup(dst, PageFile("page.css"))
	return AppendMarkup(dst, "</style>\n</head>\n<body>\n")
}

// AppendPageTail ends a web page.
func AppendPageTail(dst []byte) []byte {
	dst = appendLegend(dst)
	dst = AppendMarkup(dst, "<script>")
	dst = AppendMarkup(dst, PageFile("page.js"))
	return AppendMarkup(dst, "</script>\n</body>\n</html>\n")
}

// appendLegend appends what the marks mean, folded.
func appendLegend(dst []byte) []byte {
	dst = AppendDetails(dst, "card marks", false)
	dst = AppendMarkup(dst, "<summary><h2>What the marks mean</h2></summary>\n")
	for _, s := range marks() {
		dst = AppendMarkup(dst, "<h3>{}</h3><dl>", s.title)
		for _, m := range s.marks {
			dst = AppendMarkup(dst, "<dt>{}<dd>{}\n", m.mark, m.means)
		}
		dst = AppendMarkup(dst, "</dl>\n")
	}
	return AppendMarkup(dst, "</details>\n")
}
