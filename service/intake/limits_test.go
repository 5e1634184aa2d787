package intake_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/intake"
	"github.com/backsight/backsight/service/store"
)

// TestLogs: a report is cut out of what a console prints, over requests; a log without one is no capture.
func TestLogs(t *testing.T) {
	b := newBench(t)
	const report = "HardFault: CFSR 00008200 HFSR 40000000 BFAR a0000000\r\n" +
		"R0 00000004 R1 00007eb4 R2 00000002 R3 a0000000\r\nR12 00000000 LR 08000175 PC 0800015c PSR 01000000\r\n" +
		"SP 200029e0\r\n200029e0: 20002a12 00000199 00020000 200003cc\r\n"
	for _, text := range []string{"boot\n", report[:80], report[80:], "boot again\n"} {
		if status, answer := b.send(t, "POST", "/api/v1/logs?key=good&device=board", []byte(text)); status != 202 {
			t.Fatal(status, answer)
		}
	}
	b.send(t, "POST", "/api/v1/logs?key=good&device=other", []byte("all is well\n"))
	if status, _ := b.send(t, "POST", "/api/v1/logs?key=good", []byte("x")); status != 400 {
		t.Errorf("nobody's console: %d", status)
	}
	if err := b.consoles.Close(); err != nil {
		t.Fatal(err)
	}
	b.consoles = nil
	if row, got := b.newest(t, described); row != "board|||log" || !strings.Contains(got, report) {
		t.Errorf("%s %q", row, got)
	}
	if n := b.count(t, "SELECT count(*) FROM captures"); n != 1 {
		t.Errorf("%d captures, want 1", n)
	}
}

// TestSyslog: a kernel's report that comes message by message is one capture.
func TestSyslog(t *testing.T) {
	b := newBench(t)
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no network: ", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.intake.Syslog(ctx, conn, inbox.Key{Key: "good", Project: 1}) }()
	to, err := net.Dial("udp", conn.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	const report = "Unable to handle kernel paging request at virtual address 00000000\nCPU: 0 PID: 95 Comm: busybox\n" +
		"epc   : 80101234 f+0x4/0x8\nra    : 80101238 g+0x4/0x8\nCall Trace:\n[<80101234>] f+0x4/0x8\n[<80101238>] g+0x4/0x8"
	for line := range strings.SplitSeq(report, "\n") {
		if _, err := fmt.Fprintf(to, "<1>Nov 29 10:00:00 box7 kernel: [   12.345678] %s", line); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(20 * time.Second); b.count(t, "SELECT count(*) FROM captures") == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no capture")
		}
	}
	if row, got := b.newest(t, described); row != "127.0.0.1|||log" || strings.Count(got, "kernel: ") != 7 {
		t.Errorf("%s %q", row, got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// full is a store without room.
type full struct{ store.Store }

func (full) Append(context.Context, []store.Body) ([]store.Ref, error) {
	return nil, fmt.Errorf("%w: 0 bytes are free", store.ErrFull)
}

// TestFull: a full disk is 507, and nothing of what was refused is there.
func TestFull(t *testing.T) {
	b := newBench(t)
	b.intake.Inbox = inbox.New(b.db, full{b.store}, nobody{})
	defer b.intake.Inbox.Close()
	body, kind := formOf(part{"upload_file_minidump", "a.dmp", "MDMP..."})
	for path, kind := range map[string]string{"/api/v1/captures?key=good": "", "/submit?key=good": kind} {
		if status, answer := b.send(t, "POST", path, body, "Content-Type", kind); status != http.StatusInsufficientStorage {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	if n := b.count(t, "SELECT (SELECT count(*) FROM captures) + (SELECT count(*) FROM blobs) + (SELECT count(*) FROM usage)"); n != 0 {
		t.Errorf("%d rows of what was refused", n)
	}
}

// TestSpill: what has no room in memory is in a file, and is the same; all memory is given back.
func TestSpill(t *testing.T) {
	spools := intake.NewSpools(t.TempDir(), 128<<10, 1<<20, 8<<20)
	var open []*intake.Spool
	for i := range 8 {
		text := strings.Repeat(fmt.Sprint(i), 300<<10*(i%2)+60<<10)
		sp, err := spools.Read(t.Context(), strings.NewReader(text), "")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, sp)
		r, err := sp.Body().Open()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != text || err != nil || sp.Sum != sha256.Sum256([]byte(text)) {
			t.Errorf("body %d is another one (%v)", i, err)
		}
	}
	for _, sp := range open {
		sp.Close()
	}
	if _, err := spools.Read(t.Context(), io.MultiReader(strings.NewReader("x"), broken{}), ""); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
