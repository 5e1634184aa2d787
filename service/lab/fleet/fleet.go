// Package fleet is a fleet of devices for tests: it sends to a service, remembers what was acknowledged, and kills the service.
package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Service is a backsightd that runs as a process.
type Service struct {
	cmd     *exec.Cmd
	URL     string // of intake, with the key: URL + "&device=…"
	Base    string
	Key     string
	data    string
	Started time.Duration
}

// Start starts a program with its arguments and waits until it serves. Its environment has more than this process's.
func Start(ctx context.Context, data string, env []string, program string, args ...string) (*Service, error) {
	address, err := free()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, program, append(args, "--data", data, "--listen", address)...)
	cmd.Env = append(cmd.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Service{cmd: cmd, data: data, Base: "http://" + address}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "Devices send to "); ok {
			s.URL = url
			_, s.Key, _ = strings.Cut(url, "key=")
			break
		}
	}
	go io.Copy(io.Discard, out)
	if s.URL == "" {
		err := s.Kill() // waits for what it said
		return nil, errors.Join(fmt.Errorf("%s does not serve: %s", program, said.String()), err)
	}
	s.Started = time.Since(began)
	return s, nil
}

// free is an address that nobody listens at, and that no sender on this machine is given while the service is not there.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// PID is the process's.
func (s *Service) PID() int { return s.cmd.Process.Pid }

// Kill ends the service as a loss of power would: it is told nothing.
func (s *Service) Kill() error {
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
	return err
}

// Fleet sends captures.
type Fleet struct {
	client  *http.Client
	urls    atomic.Pointer[[]string] // of the nodes that serve
	next    atomic.Int64
	left    atomic.Int64
	mu      sync.Mutex
	acked   map[string]bool // names of reports
	refused map[string]int  // answers other than 2xx
	// Symbols has each tenth capture be followed by a symbol file; symbols are those that were acknowledged.
	Symbols bool
	symbols []int64
	// Offers has each capture be followed by an offer of a crash that is known; offered are those that were answered with 2xx.
	Offers  bool
	offered atomic.Int64
}

// New makes a fleet that sends so many captures.
func New(captures int) *Fleet {
	f := &Fleet{client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, acked: map[string]bool{}}
	f.left.Store(int64(captures))
	return f
}

// acknowledged is what was acknowledged by now: names of reports, numbers of symbol files.
func (f *Fleet) acknowledged() (acked []string, symbols []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.acked)), slices.Clone(f.symbols)
}

// Capture is a report of a kernel, each another one; one of ten has a long log before it.
func Capture(n int64) []byte {
	before := ""
	if n%often == often-1 {
		before = strings.Repeat("eth0: link is up\n", int(n%5000))
	}
	return fmt.Appendf(nil, "%sUnable to handle kernel paging request at virtual address %08x\nCPU: 0 PID: 95 Comm: busybox\n"+
		"epc   : 80101234 f%d+0x4/0x8\nra    : 80101238 g+0x4/0x8\nCall Trace:\n[<80101234>] f+0x4/0x8\n[<80101238>] g+0x4/0x8\n", before, n, n%7)
}

// device sends one capture after the other, each until it is acknowledged.
func (f *Fleet) device(ctx context.Context, pause time.Duration) {
	for f.left.Add(-1) >= 0 && ctx.Err() == nil {
		n := f.next.Add(1)
		for ctx.Err() == nil {
			if f.send(ctx, n) {
				f.sendSymbols(ctx, n)
				f.sendOffer(ctx, n)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(pause) + 1)))
	}
}

// often is of how many captures one has a symbol file behind it, and one is long.
const often = 10

// symbols is a symbol file, and where the service has it.
func symbols(n int64) (text []byte, path string) {
	name, id := fmt.Sprintf("lib%d.so", n), fmt.Sprintf("%032X0", n)
	return fmt.Appendf(nil, "MODULE Linux mips %s %s\nFUNC 1000 100 0 f%d\n%s", id, name, n, strings.Repeat("PUBLIC 2000 0 other\n", int(n%500))),
		filepath.Join("symbols", name, id, name+".sym")
}

func (f *Fleet) sendSymbols(ctx context.Context, n int64) {
	urls := f.urls.Load()
	if !f.Symbols || n%often != 0 || urls == nil {
		return
	}
	text, _ := symbols(n)
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, strings.Replace((*urls)[0], "captures", "binaries", 1), bytes.NewReader(text))
	if err != nil {
		return
	}
	resp, err := f.client.Do(r)
	if err != nil {
		return
	}
	_ = resp.Body.Close() // its status is all
	if resp.StatusCode/100 == 2 {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.symbols = append(f.symbols, n)
	}
}

// offeredKey is the signature of crashes that are offered.
const offeredKey = "ab"

// sendOffer offers a crash, once: what is not answered may be counted or not.
func (f *Fleet) sendOffer(ctx context.Context, n int64) {
	urls := f.urls.Load()
	if !f.Offers || urls == nil {
		return
	}
	url := (*urls)[rand.IntN(len(*urls))]
	text := fmt.Sprintf(`{"stable":%q,"device":"box%d","version":"1.%d"}`, offeredKey, n%50, n%3)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.Replace(url, "captures", "offers", 1), strings.NewReader(text))
	if err != nil {
		return
	}
	resp, err := f.client.Do(r)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body) // its status is all
	_ = resp.Body.Close()
	if f.answered(resp); resp.StatusCode/100 == 2 {
		f.offered.Add(1)
	}
}

// answered counts refusals, those apart that do not say when to come again.
func (f *Fleet) answered(resp *http.Response) {
	if resp.StatusCode/100 == 2 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == nil {
		f.refused = map[string]int{}
	}
	what := fmt.Sprint(resp.StatusCode)
	if resp.Header.Get("Retry-After") == "" {
		what += " without Retry-After"
	}
	f.refused[what]++
}

func (f *Fleet) send(ctx context.Context, n int64) bool {
	urls := f.urls.Load()
	if urls == nil {
		return false
	}
	url := (*urls)[rand.IntN(len(*urls))]
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s&device=box%d&version=1.%d", url, n%50, n%3), bytes.NewReader(Capture(n)))
	if err != nil {
		return false
	}
	resp, err := f.client.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var of struct{ ID string }
	b, err := io.ReadAll(resp.Body)
	f.answered(resp)
	if resp.StatusCode/100 != 2 {
		return false
	}
	if err == nil {
		err = json.Unmarshal(b, &of)
	}
	if err != nil || of.ID == "" {
		return false // the status came, its name did not: it is asked for again, and is the same capture
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acked[of.ID] = true
	return true
}

// Drain ends the service as an operator does, and waits for it.
func (s *Service) Drain() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := s.cmd.Wait()
	if err != nil {
		err = fmt.Errorf("told to end: %w", err)
	}
	return err
}
