package intake

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/follow"
	"github.com/backsight/backsight/service/inbox"
)

// Bounds of consoles: how many, and the bytes that are kept of all of them.
const maxConsoles, maxConsoleBytes = 10_000, 64 << 20

// Consoles cut reports out of what consoles print. What is of a report that has not ended is in memory for follow.Quiet.
type Consoles struct {
	take   func(key inbox.Key, device string, report []byte) error
	log    *slog.Logger
	files  *input.Files
	format input.Format
	mu     sync.Mutex
	open   map[consoleKey]*console
	bytes  int
	stop   chan struct{}
	done   chan struct{}
}

type consoleKey struct {
	project int64
	device  string
}

type console struct {
	follow.Follower
	key inbox.Key
	at  time.Time
}

// NewConsoles starts Consoles, which must be closed. take is given each report.
func NewConsoles(take func(key inbox.Key, device string, report []byte) error, log *slog.Logger) *Consoles {
	c := &Consoles{take: take, log: log, open: map[consoleKey]*console{}, stop: make(chan struct{}), done: make(chan struct{}),
		files: backsight.NewFiles(input.FileOptions{NoIndex: true, DebugDirs: []string{}, CacheDir: input.NoCache})}
	for _, f := range backsight.Formats() {
		if f.Name == "console" {
			c.format = f
		}
	}
	go c.end()
	return c
}

// Close takes the reports that have not ended.
func (c *Consoles) Close() error {
	close(c.stop)
	<-c.done
	return c.files.Close()
}

func (c *Consoles) reports(text []byte) input.Reports {
	env := &input.Env{Archs: backsight.CPUs(), Files: c.files, Formats: []input.Format{c.format}}
	return c.format.Reports(context.Background(), text, env)
}

// Add takes what a device's console printed.
func (c *Consoles) Add(key inbox.Key, device string, text []byte) error {
	now := time.Now()
	c.mu.Lock()
	at := consoleKey{key.Project, device}
	of := c.open[at]
	if of == nil {
		if len(c.open) >= maxConsoles || c.bytes > maxConsoleBytes {
			c.mu.Unlock()
			return &answer{http.StatusServiceUnavailable, "too many consoles print at once"}
		}
		of = &console{Follower: follow.Follower{Reports: c.reports, Pause: 250 * time.Millisecond}, key: key}
		c.open[at] = of
	}
	c.bytes -= of.Len()
	p := of.Add(follow.Printable(bytes.Clone(text)), now)
	c.bytes += of.Len()
	of.at = now
	c.mu.Unlock()
	if len(p.Text) == 0 {
		return nil
	}
	return c.take(key, device, p.Text)
}

// end ends reports behind which nothing more is printed.
func (c *Consoles) end() {
	defer close(c.done)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			c.rest(now.Add(-follow.Quiet))
		case <-c.stop:
			c.rest(time.Now().Add(time.Hour))
			return
		}
	}
}

// rest takes the reports of consoles that have printed nothing since a time.
func (c *Consoles) rest(since time.Time) {
	type silent struct {
		consoleKey
		inbox.Key
		text []byte
	}
	var list []silent
	c.mu.Lock()
	for at, of := range c.open {
		if of.at.Before(since) {
			c.bytes -= of.Len()
			list = append(list, silent{at, of.key, of.Rest().Text})
			delete(c.open, at)
		}
	}
	c.mu.Unlock()
	for _, s := range list {
		if len(c.reports(s.text).Extents) == 0 {
			continue
		}
		if err := c.take(s.Key, s.device, s.text); err != nil {
			c.log.Error("a console's report is lost", "device", s.device, "error", err)
		}
	}
}

// logs takes what a console prints, for as long as the request lasts: its reports are captures.
func (s *Server) logs(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	device := described(r, key, "log").Device
	if device == "" {
		return wrong("?device= is missing: whose console it is")
	}
	body, done, err := s.clear(r.Context(), r)
	if err != nil {
		return err
	}
	defer done()
	b := make([]byte, 32<<10)
	for {
		n, err := body.Read(b)
		if n > 0 {
			if err := s.Consoles.Add(key, device, b[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			w.WriteHeader(http.StatusAccepted)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// TakeLog keeps a report of a console: what NewConsoles is given.
func TakeLog(in *inbox.Inbox, spools *Spools) func(inbox.Key, string, []byte) error {
	return func(key inbox.Key, device string, report []byte) error {
		sp, err := spools.Read(context.Background(), bytes.NewReader(report), "")
		if err != nil {
			return err
		}
		defer sp.Close()
		end := slices.Clone(report[max(0, len(report)-maxLog):])
		_, err = in.Add(&inbox.Arrival{Key: key, Kind: "log", File: "console.log", Device: device, Log: string(bytes.ToValidUTF8(end, []byte("?"))),
			Body: sp.Body(), Packing: sp.Packing, Size: sp.Size})
		return err
	}
}
