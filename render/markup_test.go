package render

import (
	"github.com/backsight/backsight/internal/typeset"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPageKeepsItsTags: no text that a report may hold adds a tag or an attribute to the page,
// or takes one away: with hostile text everywhere, the tags are the same as with harmless.
func TestPageKeepsItsTags(t *testing.T) {
	want := tags(t, "harmless, and longer than an address")
	if len(want) < 80 {
		t.Fatalf("%d tags: too little of the page is written", len(want))
	}
	for _, evil := range []string{`</style></title><script>alert(1)</script>`, `" onmouseover="alert(1)`, `'><img src=x onerror=alert(1)>`, "<!--", "--><i>", "]]>", "{}", "`${}`", "\\\"<b>", "&quot;&lt;", "\x1b[31m\u202e"} {
		got := tags(t, "longer than an address: "+evil)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%s: tag %d is %s", evil, i, got[min(i, len(got)-1)])
				break
			}
		}
	}
}

// tags are the tags of a page all of whose texts are text, with the values of their attributes
// left out.
func tags(t *testing.T, text string) []string {
	t.Helper()
	var v reportView
	fill(t, reflect.ValueOf(&v).Elem(), text)
	body, err := appendReport(typeset.AppendPageHead(nil, text), nil, v)
	if err != nil {
		t.Fatal(err)
	}
	page := string(typeset.AppendPageTail(body))
	if strings.ContainsAny(page, "\x1b\u202e") {
		t.Error("a text of the page steers what shows it")
	}
	script := strings.Index(page, "<script>") + len("<script>")
	page = page[:script] + page[strings.Index(page, "</script>"):] // where < compares
	if n := strings.Count(page, "harmless"); strings.HasPrefix(text, "harmless") && n < 30 {
		t.Fatalf("%d texts are on the page", n)
	}
	var out []string
	for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1) {
		out = append(out, regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag, `""`))
	}
	return out
}

// fill makes all strings in v text, all lists two long, all else true or a number.
func fill(t *testing.T, v reflect.Value, text string) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Slice:
		if v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			fill(t, v.Index(i), text)
		}
	case reflect.Func: // the threads, made one by one
		threads := make([]threadView, 2)
		fill(t, reflect.ValueOf(threads), text)
		v.Set(reflect.ValueOf(slices.Values(threads)))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), text)
		}
	default:
		t.Fatalf("a field of the page is of kind %s", v.Kind())
	}
}
