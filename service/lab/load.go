package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/lab/fleet"
)

// bodySize is that of a capture, slow how many devices send slowly at once.
const bodySize, slow = 200 << 10, 2000

// loader loads a service, which shares the processors with who sends.
type loader struct {
	ctx      context.Context
	client   *http.Client
	devices  int           // that send at once
	long     time.Duration // of each measure
	pace     float64       // times a second at most; 0: as fast as it goes
	body     []byte
	data     string         // a folder
	postgres *dbtest.Server // nil: the service has SQLite
}

func newLoader(ctx context.Context, data string, devices int, long time.Duration) *loader {
	l := &loader{ctx: ctx, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 8 * devices}}, devices: devices,
		long: long, body: make([]byte, bodySize), data: data}
	rand.Read(l.body) // never fails: crypto/rand
	return l
}

func load(ctx context.Context, program, data string, devices int, long time.Duration) error {
	l := newLoader(ctx, data, devices, long)
	// Results are another measure: no workers.
	s, err := fleet.Start(ctx, data+"/load", nil, program, "--workers", "0", "--connections", "5000")
	if err != nil {
		return err
	}
	for _, measure := range []func(*fleet.Service) error{l.alone(l.uploads), l.disk, l.offers, l.connections} {
		if err == nil {
			err = measure(s)
		}
	}
	if err = errors.Join(err, s.Kill()); err != nil {
		return err
	}
	return l.backtraces(program)
}

// rate has so many devices do something again and again, and tells how often a second it was done.
func (l *loader) rate(devices int, do func(device int, n int64) error) (float64, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.long)
	defer cancel()
	var n, done atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, devices)
	began := time.Now()
	for i := range devices {
		all.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				if errs[i] = do(i, n.Add(1)); errs[i] == nil {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / time.Since(began).Seconds(), errors.Join(errs...)
}

func (l *loader) post(url string, body []byte) error {
	r, err := http.NewRequestWithContext(l.ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := l.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return err
}

// connections has many devices send slowly at once.
func (l *loader) connections(s *fleet.Service) error {
	body := l.body
	address := strings.TrimPrefix(s.Base, "http://")
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for i := range slow {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		open = append(open, c)
		head := fmt.Sprintf("POST /api/v1/captures?key=%s&device=slow%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", s.Key, i, len(body)+1)
		if _, err := c.Write(append([]byte(head), body...)); err != nil {
			return err
		}
	}
	most := 0
	for range 20 {
		most = max(most, memory(s.PID()))
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("RSS under %d connections, each of which has sent all but a byte of 200 kB: %d MB\n", slow, most>>20)
	for i, c := range open {
		binaryOwn := []byte{byte(i)}
		if _, err := c.Write(binaryOwn); err != nil {
			return err
		}
	}
	for range 20 {
		most = max(most, memory(s.PID()))
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("and when all of them are whole at once: %d MB\n", most>>20)
	return nil
}

// backtraces measures how many captures a second have a result.
func (l *loader) backtraces(program string) error {
	s, err := fleet.Start(l.ctx, l.data+"/work", nil, program)
	if err != nil {
		return err
	}
	sent, err := l.rate(l.devices, func(_ int, n int64) error {
		return l.post(fmt.Sprintf("%s&device=box%d", s.URL, n), fleet.Capture(n))
	})
	fmt.Printf("captures of 300 bytes a second, with workers: %.0f\n", sent)
	if err == nil {
		var first, last float64
		if first, err = fleet.Results(s); err == nil {
			time.Sleep(l.long)
			last, err = fleet.Results(s)
		}
		fmt.Printf("captures backtraced a second: %.1f\n", (last-first)/l.long.Seconds())
	}
	return errors.Join(err, s.Kill())
}

// memory is the resident memory of a process in bytes (proc_pid_statm(5)).
func memory(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident int
	_, _ = fmt.Sscan(string(b), &size, &resident) // 0, else
	return resident * os.Getpagesize()
}
