// Package browser looks at the pages of `backsight bt -f html` in a real browser, headless
// Chromium. It is a module of its own, so that nobody else needs a browser's driver.
package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// page is a page of the core file that is in the repository. Everything that the browser complains about fails the test.
func page(t *testing.T) context.Context {
	t.Helper()
	return show(t, ".frame", "bt", "-f", "html", "--sysroot", "testdata/mips-deref/modules", "testdata/mips-deref/core.gz")
}

// show makes a page by a command, and waits until an element is seen.
func show(t *testing.T, element string, args ...string) context.Context {
	t.Helper()
	path := chromium(t)
	html, err := exec.Command("go", append([]string{"-C", "../..", "run", "./cmd/backsight"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, html, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := browse(t, path)
	run(t, ctx, chromedp.Navigate("file://"+file), chromedp.WaitVisible(element, chromedp.ByQuery))
	return ctx
}

// chromium is the browser's path.
func chromium(t *testing.T) (path string) {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium")
	}
	return path
}

// browse starts the browser. Everything that it complains about fails the test.
func browse(t *testing.T, path string) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("exception: %s", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			t.Errorf("console.%s", e.Type)
		case *log.EventEntryAdded:
			t.Errorf("%s: %s", e.Entry.Level, e.Entry.Text)
		}
	})
	return ctx
}

func run(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval is the value of a JavaScript expression.
func eval[T any](t *testing.T, ctx context.Context, js string) (v T) {
	t.Helper()
	run(t, ctx, chromedp.Evaluate(js, &v))
	return v
}

// TestClicks: a frame unfolds, what was tried for it unfolds; with the keyboard too.
func TestClicks(t *testing.T) {
	ctx := page(t)
	const third = `.frame[data-frame="3"]`
	run(t, ctx, chromedp.Click(third+" > summary", chromedp.ByQuery), chromedp.WaitVisible(third+" .tried > summary", chromedp.ByQuery), chromedp.Click(third+" .tried > summary", chromedp.ByQuery))
	if !eval[bool](t, ctx, `document.querySelector('`+third+` .tried').open`) {
		t.Error("a click does not unfold what was tried")
	}
	run(t, ctx, chromedp.Focus(`.frame[data-frame="4"] > summary`, chromedp.ByQuery), chromedp.KeyEvent("\r"))
	if !eval[bool](t, ctx, `document.querySelector('.frame[data-frame="4"]').open`) {
		t.Error("Enter does not unfold a frame")
	}
	if n := eval[int](t, ctx, `document.querySelectorAll('.stack tr.lit').length`); n < 3 {
		t.Errorf("%d words of the stack light up with the frame that has the focus", n)
	}
}

// TestNarrow: nothing needs a sideways scroll on a telephone, but the stack's own table.
func TestNarrow(t *testing.T) {
	ctx := page(t)
	run(t, ctx, chromedp.EmulateViewport(360, 800))
	if w := eval[int](t, ctx, `document.documentElement.scrollWidth`); w > 360 {
		t.Errorf("the page is %d pixels wide on a screen of 360", w)
	}
}

// TestColours: text is readable on its ground, by day and by night (WCAG 2.2, 1.4.3: a
// contrast of 4.5).
func TestColours(t *testing.T) {
	ctx := page(t)
	const contrast = `(() => {
		const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
			return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
		const ground = light(getComputedStyle(document.querySelector('.card')).backgroundColor);
		let least = 21;
		for (const e of document.querySelectorAll('.name, .place, .trust, td, dt, dd, small, .legend span, .stop')) {
			const ink = light(getComputedStyle(e).color);
			least = Math.min(least, (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05));
		}
		return least;
	})()`
	for _, scheme := range []string{"light", "dark"} {
		run(t, ctx, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		if c := eval[float64](t, ctx, contrast); c < 4.5 {
			t.Errorf("%s: a contrast of %.2f", scheme, c)
		}
	}
}

// TestFlame: a click makes a function as wide as the graph, a search counts the stacks that have a function.
func TestFlame(t *testing.T) {
	ctx := show(t, "#flame button", "bt", "-f", "flame", "-e", "testdata/perf-x86_64/profile.sym", "testdata/perf-x86_64/perf.data")
	const width = `document.querySelector('button[title^="parse"]').offsetWidth / document.querySelector('#flame').offsetWidth`
	if w := eval[float64](t, ctx, width); w > 0.5 {
		t.Errorf("parse.constprop.0, which 14 of 26 stacks have at four places, is %.2f wide", w)
	}
	run(t, ctx, chromedp.Click(`button[title^="parse"]`, chromedp.ByQuery))
	if w := eval[float64](t, ctx, width); w < 0.9 {
		t.Errorf("a click makes a function %.2f wide", w)
	}
	run(t, ctx, chromedp.SendKeys("#search", "PARSE", chromedp.ByQuery))
	if s := eval[string](t, ctx, `document.getElementById("found").value`); s != "14 of 26, 53.8 %" {
		t.Errorf("found %q", s)
	}
	run(t, ctx, chromedp.EmulateViewport(360, 800))
	if w := eval[int](t, ctx, `document.documentElement.scrollWidth`); w > 360 {
		t.Errorf("the page is %d pixels wide on a screen of 360", w)
	}
}

// TestIcicle: the deepest stack comes first, a click makes a function as wide as the chart, a search counts the blocks of a name.
func TestIcicle(t *testing.T) {
	ctx := show(t, "#flame button", "usage", "-f", "html", "testdata/microcontroller/m3-freertos.elf")
	if s := eval[string](t, ctx, `document.querySelectorAll('#flame button')[1].textContent`); s != "entry Reset: 856 bytes" {
		t.Errorf("the first stack is %q", s)
	}
	const width = `document.querySelector('button[title^="mid_b:"]').offsetWidth / document.querySelector('#flame').offsetWidth`
	run(t, ctx, chromedp.Click(`button[title^="mid_b:"]`, chromedp.ByQuery))
	if w := eval[float64](t, ctx, width); w < 0.9 {
		t.Errorf("a click makes a function %.2f wide", w)
	}
	run(t, ctx, chromedp.SendKeys("#search", "mid_b", chromedp.ByQuery))
	if s := eval[string](t, ctx, `document.getElementById("found").value`); s == "" || s[0] < '1' || s[0] > '9' {
		t.Errorf("found %q", s)
	}
	run(t, ctx, chromedp.EmulateViewport(360, 800))
	if w := eval[int](t, ctx, `document.documentElement.scrollWidth`); w > 360 {
		t.Errorf("the page is %d pixels wide on a screen of 360", w)
	}
}

// TestSearch: what is searched for is marked, threads without it go; what is shown is copied as text.
func TestSearch(t *testing.T) {
	ctx := show(t, ".frame", "bt", "-f", "html", "--sysroot", "testdata/x86_64-threads/modules", "testdata/x86_64-threads/core.gz")
	const shown = `document.querySelectorAll(".thread:not(.away)").length`
	if n := eval[int](t, ctx, shown); n < 3 {
		t.Fatalf("%d threads", n)
	}
	run(t, ctx, chromedp.SendKeys(".tools input", "tree_walk", chromedp.ByQuery))
	if n, hits := eval[int](t, ctx, shown), eval[int](t, ctx, `document.querySelectorAll(".frame.hit").length`); n != 1 || hits != 4 {
		t.Errorf("tree_walk: %d threads, %d frames, want 1 and 4", n, hits)
	}
	run(t, ctx, chromedp.Evaluate(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }`, nil),
		chromedp.Click(".tools button", chromedp.ByQuery))
	text := eval[string](t, ctx, `window.copied`)
	for _, want := range []string{"through a pointer that is NULL", "Thread 17144 crashed\n#0   0x0000563b787f92b7 visit+0x7", "server.c:68\n#1", "stop: root"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in what was copied:\n%s", want, text)
		}
	}
	run(t, ctx, chromedp.Evaluate(`(() => { const input = document.querySelector(".tools input"); input.value = ""; input.dispatchEvent(new Event("input")); })()`, nil))
	if n := eval[int](t, ctx, shown); n < 3 {
		t.Errorf("an empty search shows %d threads", n)
	}
	run(t, ctx, chromedp.EmulateViewport(360, 800))
	if w := eval[int](t, ctx, `document.documentElement.scrollWidth`); w > 360 {
		t.Errorf("the page is %d pixels wide on a screen of 360", w)
	}
}
