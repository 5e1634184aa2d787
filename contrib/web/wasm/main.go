//go:build js

// Command wasm is Backsight for JavaScript: it hands three functions to globalThis.backsight, and serves until its thread ends.
// Files are those of globalThis.fs.
package main

import (
	"context"
	"runtime/debug"
	"syscall/js"

	"github.com/backsight/backsight/internal/embedded"
)

// garbage is how much of it may come before it is collected, in percent of what is in use: WebAssembly gives no memory back.
const garbage = 50

func main() {
	debug.SetGCPercent(garbage)
	s := sessions{open: map[int]*embedded.Session{}}
	js.Global().Call("backsight", map[string]any{
		"open":   promising(s.add),
		"report": promising(s.report),
		"close":  promising(s.remove),
	})
	select {}
}

// sessions are those that are open, by number. JavaScript has one thread.
type sessions struct {
	open map[int]*embedded.Session
	last int
}

// add opens a session: options → number.
func (s *sessions) add(args []js.Value) (any, error) {
	opened, err := embedded.Open(args[0].String())
	if err != nil {
		return nil, err
	}
	s.last++
	s.open[s.last] = opened
	return s.last, nil
}

// report makes the reports of a capture: number, format, paths… → bytes, and why there are no backtraces.
func (s *sessions) report(args []js.Value) (any, error) {
	session := s.open[args[0].Int()]
	if session == nil {
		return nil, errClosed
	}
	var captures []string
	for _, path := range args[2:] {
		captures = append(captures, path.String())
	}
	out, err := session.Backtraces(context.Background(), args[1].String(), captures...)
	if out == nil {
		return nil, err
	}
	bytes := js.Global().Get("Uint8Array").New(len(out))
	js.CopyBytesToJS(bytes, out)
	return map[string]any{"bytes": bytes, "failure": message(err)}, nil
}

// remove closes a session: number → nothing.
func (s *sessions) remove(args []js.Value) (any, error) {
	session := s.open[args[0].Int()]
	if session == nil {
		return nil, errClosed
	}
	delete(s.open, args[0].Int())
	return nil, session.Close()
}

type closed struct{}

func (closed) Error() string { return "the session is closed" }

var errClosed = closed{}

func message(err error) any {
	if err == nil {
		return nil
	}
	return err.Error()
}

// promising makes a function of JavaScript that returns a promise: files are read by callbacks, for which it must not wait.
func promising(work func(args []js.Value) (any, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		return js.Global().Get("Promise").New(js.FuncOf(func(_ js.Value, settle []js.Value) any {
			go func() {
				result, err := work(args)
				if err != nil {
					settle[1].Invoke(js.Global().Get("Error").New(err.Error()))
					return
				}
				settle[0].Invoke(result)
			}()
			return nil
		}))
	})
}
