// Package debuginfod asks debuginfod servers for executables and debug files by their build
// IDs, and keeps the answers where elfutils and GDB keep theirs, so that one fetch serves all
// three:
//
//	CACHE/<build ID in hex>/debuginfo
//	CACHE/<build ID in hex>/executable     empty: no server had one, some minutes ago
//	CACHE/symbols/NAME/ID/FILE             of symbol servers, which have files under the same path
//
// curl speaks to the servers: it knows proxies and certificates as their users set them up, and
// Go's own HTTP and TLS would cost every run two megabytes, whether something is fetched or not.
//
// What a server sends is taken for no more than a claim: an answer has a bound in bytes and in
// time, and is used only if its build ID is the one that was asked for.
//
// Specification: elfutils' debuginfod(8), "WEBAPI", and debuginfod_find_debuginfo(3),
// "ENVIRONMENT VARIABLES" and "FILES".
package debuginfod

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/outfile"
)

// Client fetches from servers, of debuginfod or of symbols. It is safe for concurrent use.
type Client struct {
	settings
	formats []image.Format
	// warn is told why an answer was not used.
	warn func(error)

	mu    sync.Mutex
	asked map[string]*answer
}

// answer is what became of a question, asked once in a run.
type answer struct {
	once sync.Once
	path string
}

// New returns a client of the servers at urls, separated by blanks; with "" those of
// DEBUGINFOD_URLS. getenv reads the environment, formats tell build IDs, and warn is told
// why an answer was not used. It is an error if there is no curl.
func New(urls string, getenv func(string) string, formats []image.Format, warn func(error)) (*Client, error) {
	s, err := readSettings(urls, getenv)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(curl); err != nil {
		return nil, errors.New("needs curl, which is not installed")
	}
	return &Client{settings: s, formats: formats, warn: warn, asked: make(map[string]*answer)}, nil
}

// Fetch is the file of a build ID: out of the cache, or from the first server that has it. It
// is false where there is none, or when ctx ends.
func (c *Client) Fetch(ctx context.Context, kind input.FetchKind, id []byte) (path string, ok bool) {
	key := hex.EncodeToString(id) + "/" + string(kind)
	return c.ask(ctx, question{key, "/buildid/" + key, func(file string) error {
		if got := image.BuildID(nil, file, c.formats); !bytes.Equal(got, id) {
			return fmt.Errorf("the answer has build ID %x; not used", got)
		}
		return nil
	}})
}

// question is where a file lies in the cache, with slashes, and on servers. fits tells why an answer is another file.
type question struct {
	key, path string
	fits      func(file string) error
}

// ask finds the answer once in a run.
func (c *Client) ask(ctx context.Context, q question) (path string, ok bool) {
	c.mu.Lock()
	a := c.asked[q.key]
	if a == nil {
		a = new(answer)
		c.asked[q.key] = a
	}
	c.mu.Unlock()
	a.once.Do(func() { a.path = c.find(ctx, &q) })
	return a.path, a.path != ""
}

// find looks into the cache, and asks the servers one after the other.
func (c *Client) find(ctx context.Context, q *question) string {
	file := filepath.Join(c.cache, filepath.FromSlash(q.key))
	if st, err := os.Stat(file); err == nil {
		switch {
		case st.Size() > 0 && q.fits(file) == nil:
			return file
		case st.Size() == 0 && time.Since(st.ModTime()) < c.missAge():
			return ""
		}
	}
	_ = os.Remove(file) // old, or another's: its mode (elfutils makes notes of mode 0) is none to keep
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		c.warn(fmt.Errorf("the cache of what was fetched: %w", err))
		return ""
	}
	missing := true
	for _, server := range c.urls {
		err := c.download(ctx, server+q.path, file, q.fits)
		if err == nil {
			return file
		}
		if ctx.Err() != nil {
			return ""
		}
		if !errors.Is(err, errMissing) {
			missing = false
			c.warn(err)
		}
	}
	if missing {
		c.remember(ctx, file)
	}
	return ""
}

// remember notes that no server has a file, as elfutils does. Where the note cannot be written, the
// servers will be asked again.
func (c *Client) remember(ctx context.Context, file string) {
	_ = outfile.Write(ctx, file, 0o600, func(*os.File) error { return nil })
}

var errMissing = errors.New("the server has no such file")

// download writes a server's answer to a file, which exists only if the answer is whole and
// fits.
func (c *Client) download(ctx context.Context, address, file string, fits func(file string) error) error {
	return outfile.Write(ctx, file, 0o600, func(f *os.File) error {
		if err := c.get(ctx, address, f); err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		if err := fits(f.Name()); err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		return nil
	})
}

// splitURLs separates the servers' addresses.
func splitURLs(list string) (urls []string, err error) {
	for _, s := range strings.Fields(list) {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("%q is no http:// or https:// address of a server", s)
		}
		urls = append(urls, strings.TrimRight(s, "/"))
	}
	return urls, nil
}
