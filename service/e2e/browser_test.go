// Package e2e runs the service as its users do, with a browser.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const testdata = "../../testdata/x86_64-threads/"

// server is a running backsightd.
type server struct {
	url, join, key string
}

// start builds and starts backsightd on a new directory, and reads what it prints.
func start(t *testing.T) *server {
	dir := t.TempDir()
	exe := filepath.Join(dir, "backsightd")
	if out, err := exec.Command("go", "build", "-o", exe, "../cmd/backsightd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command(exe, "--data", filepath.Join(dir, "data"), "--listen", address)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	s := &server{url: "http://" + address}
	lines := bufio.NewScanner(out)
	for (s.join == "" || s.key == "") && lines.Scan() {
		if at := strings.Index(lines.Text(), s.url+"/join/"); at >= 0 {
			s.join = lines.Text()[at:]
		}
		if _, key, ok := strings.Cut(lines.Text(), "?key="); ok {
			s.key = key
		}
	}
	for range 100 {
		if a, err := http.Get(s.url + "/readyz"); err == nil {
			a.Body.Close()
			return s
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("backsightd does not answer")
	return nil
}

// send sends a capture as a device does.
func (s *server) send(t *testing.T, file, query string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest("PUT", s.url+query+"key="+s.key, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode/100 != 2 {
		t.Fatalf("%s: %s", file, a.Status)
	}
}

// browser is a tab that fails the test where a page breaks its policy or a script fails.
type browser struct {
	*testing.T
	ctx  context.Context
	lock sync.Mutex
	bad  []string
}

// patience is how long a page may take on a loaded machine.
const patience = 150 * time.Second

func newBrowser(t *testing.T) *browser {
	exe := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			exe = path
			break
		}
	}
	if exe == "" {
		t.Skip("no chromium: apt install chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(exe), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{T: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil { // starts it
		t.Fatal(err)
	}
	err := chromedp.Listen(ctx, func(event any) {
		b.lock.Lock()
		defer b.lock.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.bad = append(b.bad, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				b.bad = append(b.bad, e.Entry.Text+" "+e.Entry.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// step is something that is done in the tab.
type step = chromedp.Action[chromedp.Void]

// do does something in the tab.
func (b *browser) do(what string, steps ...step) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body")))
		b.Fatalf("%s: %v\n%s", what, err, page)
	}
	b.sound(what)
}

// sound fails where the browser has told of something bad.
func (b *browser) sound(what string) {
	b.Helper()
	b.lock.Lock()
	defer b.lock.Unlock()
	if len(b.bad) > 0 {
		b.Fatalf("%s: %s", what, strings.Join(b.bad, "\n"))
	}
}

// ask is what the tab says.
func ask[T any](b *browser, what string, action chromedp.Action[T]) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.Fatalf("%s: %v", what, err)
	}
	b.sound(what)
	return v
}

// reads fails unless the page says a text.
func (b *browser) reads(want ...string) {
	b.Helper()
	page := ask(b, "reading", chromedp.Text(chromedp.CSS("body")))
	for _, w := range want {
		if !strings.Contains(page, w) {
			b.Errorf("the page does not say %q:\n%s", w, page)
		}
	}
}

// look sees the page on a phone and on a desk: nothing is wider than the screen. BACKSIGHT_SHOTS is where pictures go.
func (b *browser) look(name string) {
	b.Helper()
	for _, width := range []int64{360, 1280} {
		b.do(name, chromedp.EmulateViewport(width, 800))
		if over := ask(b, name, chromedp.Evaluate[int]("document.documentElement.scrollWidth - window.innerWidth")); over > 0 {
			b.Errorf("%s is %d wider than %d", name, over, width)
		}
		dir := os.Getenv("BACKSIGHT_SHOTS")
		if dir == "" {
			continue
		}
		picture := ask(b, name, chromedp.FullScreenshot(100))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.png", name, width)), picture, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// first follows the first admin's link.
func (b *browser) first(s *server) {
	b.do("joining", chromedp.Navigate(s.join), chromedp.SendKeys(chromedp.CSS("[name=name]"), "ada"),
		chromedp.SendKeys(chromedp.CSS("[name=password]"), "correct horse"), chromedp.Submit(chromedp.CSS("[name=password]")), chromedp.WaitVisible(chromedp.CSS(".top")))
}

// upload uploads the recorded core as a device's.
func (b *browser) upload(device, version string) {
	core, err := filepath.Abs(testdata + "core.gz")
	if err != nil {
		b.Fatal(err)
	}
	b.do("uploading", chromedp.SendKeys(chromedp.CSS(".upload [name=device]"), device), chromedp.SendKeys(chromedp.CSS(".upload [name=version]"), version),
		chromedp.SetUploadFiles(chromedp.CSS("[type=file]"), []string{core}), chromedp.Submit(chromedp.CSS(".upload [name=device]")),
		chromedp.WaitVisible(chromedp.CSS("iframe.report")))
}

// TestFirstHour: first start, upload, group, report, triage, comparison, search.
func TestFirstHour(t *testing.T) {
	b := newBrowser(t)
	s := start(t)
	b.first(s)
	b.reads("Nothing has come in yet", "curl")
	b.look("empty")
	b.upload("box1", "2.1")
	b.reads("SIGSEGV (null-pointer)", "device box1", "Binaries that were not at hand")
	b.look("capture")
	b.do("to the group", chromedp.Click(chromedp.CSS(`a[href^="/groups/"]`)), chromedp.WaitVisible(chromedp.CSS("#triage")))
	b.reads("1 crashes", "2.1", "box1", "new")
	for _, file := range []string{"modules/usr/bin/server", "modules/usr/lib/libtree.so", "modules/usr/lib/libc.so.6"} {
		s.send(t, testdata+file, "/api/v1/binaries?")
	}
	b.until("visit ← tree_walk", s.url+"/groups")
	b.look("groups")
	b.do("the second", chromedp.Click(chromedp.CSS("details.more summary")))
	b.upload("box2", "2.2")
	b.do("to the group", chromedp.Click(chromedp.CSS(`a[href^="/groups/"]`)), chromedp.WaitVisible(chromedp.CSS("#triage")))
	b.reads("2 crashes", "2.2", "box2")
	b.do("triage", chromedp.SetValue(chromedp.CSS("[name=state]"), "resolved"), chromedp.SetValue(chromedp.CSS("[name=resolved_in]"), "2.3"),
		chromedp.SendKeys(chromedp.CSS("[name=notes]"), "visit takes NULL"), chromedp.SetValue(chromedp.CSS("[name=assignee]"), "ada"),
		chromedp.Click(chromedp.CSS("#triage button")), chromedp.WaitVisible(chromedp.CSS(".state.resolved")))
	b.reads("resolved in 2.3", "assigned to ada")
	b.look("group")
	b.do("comparison", chromedp.Click(chromedp.CSS("tbody tr:nth-child(1) .pick input")), chromedp.Click(chromedp.CSS("tbody tr:nth-child(2) .pick input")),
		chromedp.Click(chromedp.CSS(`form[action="/compare"] button`)), chromedp.WaitVisible(chromedp.CSS("article")))
	b.reads("What differs as a whole", "tree_walk")
	b.look("compare")
	b.do("the key of the search", chromedp.KeyEvent("/"))
	if at := ask(b, "the key of the search", chromedp.Evaluate[string]("document.activeElement.id")); at != "find" {
		t.Errorf("/ goes to %q", at)
	}
	b.do("search", chromedp.SendKeys(chromedp.CSS("#find"), "function:tree_walk device:box2\r"), chromedp.WaitVisible(chromedp.CSS(".found")))
	b.reads("Search: function:tree_walk device:box2", "visit ← tree_walk", "box2")
	b.look("search")
	s.send(t, testdata+"core.gz", "/api/v1/captures?device=box3&version=2.3&") // the version with the remedy
	b.until("regressed", s.url+"/groups?state=all")
	for _, page := range []string{"missing", "queue", "rules", "admin", "audit", "account", "proposals"} {
		b.do(page, chromedp.Navigate(s.url+"/"+page), chromedp.WaitVisible(chromedp.CSS("h1")))
		b.look(page)
	}
	b.jobs(s)
}

// until turns to a page until it says something.
func (b *browser) until(want, url string) {
	b.Helper()
	page := ""
	for range 200 {
		b.do("waiting for "+want, chromedp.Navigate(url))
		page = ask(b, "waiting for "+want, chromedp.Text(chromedp.CSS("main")))
		if strings.Contains(page, want) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.Fatalf("%s never says %q:\n%s", url, want, page)
}

// jobs sees River's page, which is another's. It looks whether it may compile scripts, and may not: what is told of that is no fault.
func (b *browser) jobs(s *server) {
	if err := chromedp.Do(b.ctx, chromedp.Navigate(s.url+"/jobs/")); err != nil {
		b.Fatal(err)
	}
	title, err := chromedp.Run(b.ctx, chromedp.Title())
	if err != nil || !strings.Contains(title, "River") {
		b.Errorf("River's page is called %q (%v)", title, err)
	}
}

// TestWithoutScripts: all that is read, and triage, without JavaScript.
func TestWithoutScripts(t *testing.T) {
	b := newBrowser(t)
	s := start(t)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.first(s)
	s.send(t, testdata+"core.gz", "/api/v1/captures?device=box1&version=2.1&")
	b.until("SIGSEGV (null-pointer)", s.url+"/groups")
	b.do("group", chromedp.Click(chromedp.CSS("a.row")), chromedp.WaitVisible(chromedp.CSS("#triage")))
	if _, err := chromedp.RunResponse(b.ctx, chromedp.SendKeys(chromedp.CSS("[name=notes]"), "seen"), chromedp.Click(chromedp.CSS("#triage button"))); err != nil {
		b.Fatal(err)
	}
	b.until("triage notes ada", s.url+"/groups/1")
	b.until("SIGSEGV (null-pointer)", s.url+"/search?q=module:server")
}
