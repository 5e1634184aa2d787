//go:build !small

package main

import (
	"context"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/spf13/pflag"
)

// addRemote adds the flags of GDB servers.
func (p *processes) addRemote(f *pflag.FlagSet) {
	f.StringArrayVar(&p.remotes, "remote", nil, "what a GDB server has stopped: `ADDR`, as HOST:PORT, unix:PATH, a serial device or |COMMAND (repeatable)")
	f.BoolVar(&p.keepHalted, "keep-halted", false, "with --remote: leave the target as it stands, and do not let it go on")
}

// remote opens what stands at a GDB server. An interruption ends that, and release waits for it.
func (p *processes) remote(ctx context.Context, addr string, env input.Env) (input.Stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	line, err := rawDevice(addr)
	if err != nil {
		return nil, err
	}
	if line != nil {
		p.held = append(p.held, line)
	}
	s, err := backsight.OpenRemote(ctx, addr, env, p.keepHalted)
	if err == nil {
		p.held = append(p.held, s)
	}
	return s, err
}
