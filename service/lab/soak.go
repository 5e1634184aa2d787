package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/service/lab/fleet"
)

// Bounds that must hold: memory of the service in bytes, and how long who is honest may wait.
const soakMemory, soakWait = 512 << 20, 10 * time.Second

// soak is a service that hostile senders talk to for long.
type soak struct {
	ctx     context.Context
	s       *fleet.Service
	client  *http.Client
	bombs   [][]byte
	mu      sync.Mutex
	told    map[string]map[int]int // what each kind was told, how often; 0: nothing
	wrong   []string               // what must not be
	most    int                    // bytes of memory
	files   int                    // that were open
	slowest time.Duration          // of who is honest
}

// soaked runs a service under hostile senders.
func soaked(ctx context.Context, program, data string, long time.Duration) error {
	s, err := fleet.Start(ctx, data, nil, program)
	if err != nil {
		return err
	}
	k := &soak{s: s, client: &http.Client{Timeout: 2 * time.Minute}, told: map[string]map[int]int{}}
	if k.bombs, err = bombs(); err != nil {
		return errors.Join(err, s.Kill())
	}
	files := open(s.PID())
	working, stop := context.WithTimeout(ctx, long)
	defer stop()
	k.ctx = working
	k.run()
	fmt.Print(k)
	if err := k.after(ctx, data, files); err != nil {
		return errors.Join(err, s.Kill())
	}
	return s.Kill()
}

// run has all senders send until the time is over.
func (k *soak) run() {
	var all sync.WaitGroup
	for kind, do := range k.hostile() {
		copies, pause := 2, 200*time.Millisecond
		switch {
		case strings.HasPrefix(kind, "slow"):
			copies, pause = 200, 0
		case kind == "damaged capture", kind == "bomb":
			copies, pause = 1, 2*time.Second
		}
		for range copies {
			all.Go(func() { k.again(kind, pause, do) })
		}
	}
	all.Go(func() { k.again("honest", time.Second, k.honest) })
	all.Go(k.watch)
	all.Wait()
}

func (k *soak) again(kind string, pause time.Duration, do func() (int, error)) {
	for k.ctx.Err() == nil {
		status, err := do()
		k.mu.Lock()
		if k.told[kind] == nil {
			k.told[kind] = map[int]int{}
		}
		k.told[kind][status]++
		if (err != nil || status == http.StatusInternalServerError || kind == "honest" && status/100 != 2) && k.ctx.Err() == nil && len(k.wrong) < 20 {
			k.wrong = append(k.wrong, fmt.Sprintf("%s: %d (%v)", kind, status, err))
		}
		k.mu.Unlock()
		time.Sleep(pause)
	}
}

// send sends a request with the project's key.
func (k *soak) send(method, path string, body []byte, headers ...string) (int, error) {
	return k.sendAs(k.s.Key, method, path, body, headers...)
}

func (k *soak) sendAs(key, method, path string, body []byte, headers ...string) (int, error) {
	r, err := http.NewRequestWithContext(k.ctx, method, k.s.Base+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Backsight-Key", strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, key))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := k.client.Do(r)
	if err != nil {
		return 0, nil // the service may hang up on who is hostile
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // the status is what counts
	return resp.StatusCode, nil
}

// honest is a device whose capture must be taken, and soon.
func (k *soak) honest() (int, error) {
	began := time.Now()
	status, err := k.send("POST", fmt.Sprintf("/api/v1/captures?device=honest&version=1.%d", began.Second()), fleet.Capture(began.UnixNano()))
	if took := time.Since(began); k.ctx.Err() == nil {
		k.mu.Lock()
		k.slowest = max(k.slowest, took)
		k.mu.Unlock()
		if took > soakWait {
			err = errors.Join(err, fmt.Errorf("it waited for %v", took))
		}
	}
	return status, err
}

// watch measures the service.
func (k *soak) watch() {
	for k.ctx.Err() == nil {
		k.most, k.files = max(k.most, memory(k.s.PID())), max(k.files, open(k.s.PID()))
		time.Sleep(100 * time.Millisecond)
	}
}

// open is how many files a process has open.
func open(pid int) int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // none: it ended
	return len(list)
}

// after looks at the service when nobody is hostile any more.
func (k *soak) after(ctx context.Context, data string, files int) error {
	k.client.CloseIdleConnections()
	time.Sleep(5 * time.Second)
	if err := fleet.Idle(ctx, k.s); err != nil {
		return err
	}
	fmt.Printf("files open before: %d, at most: %d, after: %d; memory at most %d MB, after: %d MB; the honest device waited for %v at most\n", files, k.files,
		open(k.s.PID()), k.most>>20, memory(k.s.PID())>>20, k.slowest.Round(time.Millisecond))
	if k.most > soakMemory {
		k.wrong = append(k.wrong, fmt.Sprintf("%d bytes of memory", k.most))
	}
	if now := open(k.s.PID()); now > files+20 {
		k.wrong = append(k.wrong, fmt.Sprintf("%d files are open, before %d", now, files))
	}
	names, err := filepath.Glob(filepath.Join(data, "*"))
	fmt.Println("the folder has", len(names), "entries")
	if len(k.wrong) > 0 {
		err = errors.Join(err, fmt.Errorf("wrong: %q", k.wrong))
	}
	return err
}

// String is a table of what each kind of sender was told.
func (k *soak) String() string {
	var b strings.Builder
	b.WriteString("| sender | HTTP status, 0 for none: how often |\n|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(k.told)) {
		fmt.Fprintf(&b, "| %s |", kind)
		for _, status := range slices.Sorted(maps.Keys(k.told[kind])) {
			fmt.Fprintf(&b, " %d: %d;", status, k.told[kind][status])
		}
		b.WriteString(" |\n")
	}
	return b.String()
}
