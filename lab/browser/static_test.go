package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// staticPage builds the page that needs nothing, and opens it. A request of anything fails the test.
func staticPage(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("BACKSIGHT_LONG") == "" {
		t.Skip("compiles the project for another system; BACKSIGHT_LONG=1")
	}
	path := chromium(t)
	dir := t.TempDir()
	if out, err := exec.Command("go", "-C", "../..", "run", "./contrib/web", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	page := "file://" + filepath.Join(dir, "backsight.html")
	ctx := browse(t, path)
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && e.Request.URL != page && !strings.HasPrefix(e.Request.URL, "blob:") && !strings.HasPrefix(e.Request.URL, "about:") {
			t.Errorf("a request for %s", e.Request.URL)
		}
	})
	run(t, ctx, network.Enable(), chromedp.Navigate(page), chromedp.WaitVisible("#drop", chromedp.ByQuery))
	return ctx
}

// reported waits for the end of a run, and returns the page's report, its status, and how long it took since began.
func reported(t *testing.T, ctx context.Context, began time.Time) (report, status string) {
	t.Helper()
	run(t, ctx, chromedp.WaitVisible(`#status[data-done]`, chromedp.ByQuery))
	status = eval[string](t, ctx, `document.getElementById("status").textContent`)
	t.Logf("%v: %s", time.Since(began).Round(10*time.Millisecond), status)
	return eval[string](t, ctx, `document.getElementById("report").srcdoc`), status
}

// TestStaticPage: files that are chosen give the native command's page, and so does each example.
func TestStaticPage(t *testing.T) {
	ctx := staticPage(t)
	names := []string{"core.gz", "modules/usr/bin/netd", "modules/usr/lib/libproto.so", "modules/lib/libc.so.6", "modules/lib/ld.so.1"}
	flat := t.TempDir()
	var paths []string
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("../../testdata/mips-deref", name))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(flat, filepath.Base(name)))
		if err := os.WriteFile(paths[len(paths)-1], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := filepath.Join(t.TempDir(), "backsight")
	if out, err := exec.Command("go", "-C", "../..", "build", "-o", command, "./cmd/backsight").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	began := time.Now()
	run(t, ctx, chromedp.SetUploadFiles("#files", paths, chromedp.ByQuery))
	got, status := reported(t, ctx, began)
	native := exec.Command(command, "bt", "-f", "html", "--sysroot", ".", "core.gz")
	native.Dir = flat
	want, err := native.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: the report has %d bytes, the command's %d", status, len(got), len(want))
	}
	for example, wanted := range map[string]string{"core": "proto_parse", "log": "sysrq_handle_crash", "ram": "crash"} {
		began := time.Now()
		run(t, ctx, chromedp.Evaluate(`delete document.getElementById("status").dataset.done`, nil), chromedp.Click(`[data-example="`+example+`"]`, chromedp.ByQuery))
		if got, status := reported(t, ctx, began); !strings.Contains(got, wanted) {
			t.Errorf("example %s: %s; no %s in a report of %d bytes", example, status, wanted, len(got))
		}
	}
}
