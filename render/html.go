package render

import (
	"bytes"
	"embed"
	"html/template"

	"github.com/backsight/backsight/report"
)

//go:embed page
var pageFiles embed.FS

// Page writes reports as one web page that needs nothing else: no network, no other file.
// It is safe for concurrent use.
type Page struct {
	templates *template.Template
	css       template.CSS
	js        template.JS
}

// NewPage parses the page's templates, which are part of the program.
func NewPage() (*Page, error) {
	t, err := template.ParseFS(pageFiles, "page/page.html")
	if err != nil {
		return nil, err
	}
	css, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return nil, err
	}
	js, err := pageFiles.ReadFile("page/page.js")
	return &Page{t, template.CSS(css), template.JS(js)}, err
}

// Head is what precedes the reports. title is the page's.
func (p *Page) Head(title string) ([]byte, error) {
	return p.execute("head", struct {
		Title string
		CSS   template.CSS
	}{Text(title), p.css})
}

// Report is one report. It wants what was tried for each frame, for the stack's words.
func (p *Page) Report(r *report.Report, style Style) ([]byte, error) {
	return p.execute("report", viewReport(r, style))
}

// Tail is what follows the reports.
func (p *Page) Tail() ([]byte, error) {
	return p.execute("tail", struct{ JS template.JS }{p.js})
}

func (p *Page) execute(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := p.templates.ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}
