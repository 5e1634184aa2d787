// Package fleet is a fleet of devices for tests: it sends to a service, remembers what was acknowledged, and kills the service.
package fleet

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/backsight/backsight/service/db"
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
	client *http.Client
	url    atomic.Pointer[string]
	next   atomic.Int64
	left   atomic.Int64
	mu     sync.Mutex
	acked  map[string]bool // names of reports
}

// New makes a fleet that sends so many captures.
func New(captures int) *Fleet {
	f := &Fleet{client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, acked: map[string]bool{}}
	f.left.Store(int64(captures))
	return f
}

// Acked is how many captures were acknowledged.
func (f *Fleet) Acked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.acked)
}

// Capture is a report of a kernel, each another one.
func Capture(n int64) []byte {
	return fmt.Appendf(nil, "Unable to handle kernel paging request at virtual address %08x\nCPU: 0 PID: 95 Comm: busybox\n"+
		"epc   : 80101234 f%d+0x4/0x8\nra    : 80101238 g+0x4/0x8\nCall Trace:\n[<80101234>] f+0x4/0x8\n[<80101238>] g+0x4/0x8\n", n, n%7)
}

// device sends one capture after the other, each until it is acknowledged.
func (f *Fleet) device(ctx context.Context, pause time.Duration) {
	for f.left.Add(-1) >= 0 && ctx.Err() == nil {
		n := f.next.Add(1)
		for ctx.Err() == nil {
			if f.send(ctx, n) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(pause) + 1)))
	}
}

func (f *Fleet) send(ctx context.Context, n int64) bool {
	url := f.url.Load()
	if url == nil {
		return false
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s&device=box%d&version=1.%d", *url, n%50, n%3), bytes.NewReader(Capture(n)))
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

// Outcome is what became of a trial.
type Outcome struct {
	Kills, Acked, Captures, Results int
	Lost                            []string // names that were acknowledged and have no result
	Slowest                         time.Duration
}

func (o *Outcome) String() string {
	return fmt.Sprintf("%d kills, %d acknowledged, %d captures, %d results, %d lost; slowest start %v", o.Kills, o.Acked, o.Captures, o.Results, len(o.Lost), o.Slowest)
}

// Kills has a fleet send while the service that start starts is killed so many times at random moments, and tells what became of
// what was acknowledged.
func (f *Fleet) Kills(ctx context.Context, start func() (*Service, error), kills, devices int, within time.Duration, database string) (o Outcome, err error) {
	sending, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for range devices {
		all.Go(func() { f.device(sending, within/4) })
	}
	for range kills {
		s, err := start()
		if err != nil {
			return o, err
		}
		o.Slowest = max(o.Slowest, s.Started)
		f.url.Store(&s.URL)
		time.Sleep(time.Duration(rand.Int64N(int64(within))))
		if err := s.Kill(); err != nil {
			return o, err
		}
		o.Kills++
	}
	s, err := start()
	if err != nil {
		return o, err
	}
	f.url.Store(&s.URL)
	all.Wait()
	if err := idle(ctx, s); err != nil {
		return o, errors.Join(err, s.Kill())
	}
	if err := s.Kill(); err != nil {
		return o, err
	}
	return o, f.look(ctx, database, &o)
}

// idle waits until the service has no jobs.
func idle(ctx context.Context, s *Service) error {
	for ctx.Err() == nil {
		resp, err := http.Get(s.Base + "/metrics")
		if err != nil {
			return err
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close() // it was read
		if err != nil {
			return err
		}
		if text := string(b); strings.Contains(text, "backsight_waiting 0\n") {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return ctx.Err()
}

// look counts what there is in the end.
func (f *Fleet) look(ctx context.Context, database string, o *Outcome) error {
	d, err := db.Open(ctx, database)
	if err != nil {
		return err
	}
	defer d.Close()
	const counts = "SELECT (SELECT count(*) FROM captures), (SELECT count(*) FROM results)"
	if err := d.Read.QueryRowContext(ctx, counts).Scan(&o.Captures, &o.Results); err != nil {
		return err
	}
	o.Acked = f.Acked()
	for name := range f.acked {
		var n int
		err := d.Read.QueryRowContext(ctx, "SELECT r.capture_id FROM captures c JOIN results r ON r.capture_id = c.id WHERE c.name = $1", name).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			o.Lost = append(o.Lost, name)
		} else if err != nil {
			return err
		}
	}
	return nil
}
