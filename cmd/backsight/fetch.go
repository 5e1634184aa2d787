//go:build !small

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/debuginfod"
	"github.com/spf13/pflag"
)

// addFetch adds the flags of servers.
func (ff *fileFlags) addFetch(f *pflag.FlagSet) {
	f.StringVar(&ff.servers, "debuginfod", "", "fetch binaries and debug files that are not here from the debuginfod servers "+
		"at `[=URLS]`, else at those of the variable DEBUGINFOD_URLS")
	f.Lookup("debuginfod").NoOptDefVal = fromEnvironment
	f.StringArrayVar(&ff.symbolURL, "symbols-url", nil, "fetch symbol files and program databases that are not here from the symbol server at `URL`; repeatable")
}

// fetchers ask the servers that the user wants to be asked; nil for none.
func (ff *fileFlags) fetchers(ctx context.Context, warn func(string)) (fetcher, symbolFetcher, error) {
	fetch, err := ff.fetch(ctx, warn)
	if err != nil {
		return nil, nil, err
	}
	symbols, err := ff.fetchSymbols(ctx, warn)
	return fetch, symbols, err
}

// fromEnvironment is --debuginfod without a value.
const fromEnvironment = "env"

// fetch asks servers, where the user wants that; nil where not. What goes wrong is said to
// warn, once for each file.
func (ff *fileFlags) fetch(ctx context.Context, warn func(string)) (fetcher, error) {
	if !ff.flags.Changed("debuginfod") {
		return nil, nil
	}
	urls := ff.servers
	if urls == fromEnvironment {
		urls = ""
	}
	c, err := debuginfod.New(urls, os.Getenv, backsight.ImageFormats(), func(err error) { warn(err.Error()) })
	if err != nil {
		return nil, fmt.Errorf("--debuginfod: %w", err)
	}
	return func(kind input.FetchKind, id []byte) (string, bool) { return c.Fetch(ctx, kind, id) }, nil
}

// fetchSymbols is fetch for symbol servers.
func (ff *fileFlags) fetchSymbols(ctx context.Context, warn func(string)) (symbolFetcher, error) {
	if len(ff.symbolURL) == 0 {
		return nil, nil
	}
	c, err := debuginfod.NewSymbols(ff.symbolURL, os.Getenv, backsight.ImageFormats(), func(err error) { warn(err.Error()) })
	if err != nil {
		return nil, fmt.Errorf("--symbols-url: %w", err)
	}
	return func(name, id, file string) (string, bool) { return c.FetchSymbols(ctx, name, id, file) }, nil
}
