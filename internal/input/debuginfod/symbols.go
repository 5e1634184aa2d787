package debuginfod

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
)

// NewSymbols is New for the symbol servers at urls, which have Breakpad's symbol files and program databases at
// URL/NAME/ID/FILE. Bounds and the cache's place are those of debuginfod's variables.
func NewSymbols(urls []string, getenv func(string) string, formats []image.Format, warn func(error)) (*Client, error) {
	list := strings.Join(urls, " ")
	if strings.TrimSpace(list) == "" {
		return nil, errors.New("names no server")
	}
	c, err := New(list, getenv, formats, warn)
	if err == nil {
		c.packed = true
	}
	return c, err
}

// FetchSymbols is a file with the symbols of the build that a symbol server has as name and id: out of the cache, or from
// the first server that has it. It is false where there is none, or when ctx ends.
func (c *Client) FetchSymbols(ctx context.Context, name, id, file string) (path string, ok bool) {
	key := "symbols"
	var address strings.Builder
	for _, part := range []string{name, id, file} {
		if !plain(part) {
			return "", false
		}
		key += "/" + part
		address.WriteString("/" + url.PathEscape(part))
	}
	return c.ask(ctx, question{key, address.String(), func(file string) error {
		if !input.HasSymbols(file, []string{id}, c.formats) {
			return errors.New("the answer is no file of symbols, or another build's; not used")
		}
		return nil
	}})
}

// plain tells whether a name, which captures and binaries state, is the name of a file on every host.
func plain(name string) bool {
	const longest = 128
	return name != "" && len(name) <= longest && strings.Trim(name, ".") != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r)
	})
}
