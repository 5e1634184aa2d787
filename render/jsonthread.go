package render

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// threadEncoder writes a thread.
type threadEncoder struct {
	*encoder
	arch  *cpu.Arch
	t     *report.Thread
	style Style
	use   []report.StackUse // of each frame, nil where that was not asked for
	names bool              // the capture is named by the thread
}

func (e *threadEncoder) thread() {
	t := e.t
	e.open('{')
	e.key("thread_id")
	e.int(t.ID)
	e.member("thread_name", t.Name)
	e.key("frame_count")
	e.int(t.Count())
	e.key("frames")
	e.open('[')
	for n := range t.Count() {
		e.frame(n)
		e.flush(mostHeld)
	}
	e.close(']')
	e.key("backsight")
	e.open('{')
	e.key("stop")
	e.open('{')
	e.key("reason")
	e.string(t.Stop.Reason.String())
	e.key("address")
	if t.Stop.Addr == 0 {
		e.hex(0, 1)
	} else {
		e.address(t.Stop.Addr)
	}
	e.close('}')
	if t.Kernel > 0 {
		e.key("kernel_frames")
		e.int(t.Kernel)
	}
	if t.Overwritten != nil {
		e.overwritten()
	}
	if len(t.Reasons) > 0 {
		e.key("reasons")
		e.open('[')
		for _, s := range t.Reasons {
			e.string(s)
		}
		e.close(']')
	}
	if g := goroutineOf(t); g != nil {
		e.goroutine(g)
	} else if t.Task != nil {
		e.task()
	}
	if t.Signature != nil {
		e.signature(t.Signature)
	}
	if t.Tried != nil {
		writeAttempts(e.encoder, t.Tried[len(t.Frames)])
	}
	e.close('}')
	e.close('}')
}

// overwritten writes the return address that is no code.
func (e *threadEncoder) overwritten() {
	o := e.t.Overwritten
	e.key("overwritten")
	e.open('{')
	e.key("frame")
	e.int(o.Frame)
	e.key("value")
	e.address(o.Value)
	e.member("text", o.Text)
	e.key("slot")
	e.addressIf(o.Slot != 0, o.Slot)
	e.close('}')
}

// task writes what a real-time kernel knows of the thread, null for what is not known.
func (e *threadEncoder) task() {
	t, k := e.t, e.t.Task
	e.key("task")
	e.open('{')
	e.member("state", k.State)
	if k.Call+k.Channel != "" {
		e.member("system_call", k.Call)
		e.member("wait_channel", k.Channel)
	}
	e.key("priority")
	if k.HasPriority {
		e.int(k.Priority)
	} else {
		e.null()
	}
	e.key("stack_low")
	e.address(t.Stack.Lo)
	e.key("stack_high")
	e.address(t.Stack.Hi)
	e.key("stack_unused")
	if k.Filled && !k.Overflown {
		e.int(int(k.Unused))
	} else {
		e.null()
	}
	e.key("stack_overflown")
	e.bool(k.Overflown)
	e.key("stale")
	e.bool(t.Stale)
	e.close('}')
}

// frame writes frame n: what stands in the order of minidump-stackwalk's, and how the frame was found.
func (e *threadEncoder) frame(n int) {
	i, further := e.t.Repeats.Index(n)
	w := frameEncoder{e.encoder, &e.t.Frames[i]}
	f := w.f
	e.open('{')
	e.key("frame")
	e.int(n)
	e.member("module", typeset.ModuleName(f.Module))
	e.key("module_offset")
	if f.Module == nil || f.Module.Stated == target.StatedAddresses {
		e.null()
	} else {
		e.address(f.CallSite - f.Module.Lo)
	}
	e.key("offset")
	e.addressIf(f.HasAddress(), f.CallSite)
	w.location()
	e.key("trust")
	e.string(walkerTrust(f.Frame))
	if n == 0 && e.style.Registers {
		e.registers()
	}
	e.key("backsight")
	e.evidence(&w, i, further)
	e.close('}')
}

// evidence writes how the frame with index n in the list was found and how sure it is; the frame lies so many bytes further
// out.
func (e *threadEncoder) evidence(w *frameEncoder, n int, further uint64) {
	f := w.f
	e.open('{')
	e.key("pc")
	e.addressIf(f.HasAddress(), f.PC)
	e.key("cfa")
	e.addressIf(f.HasCFA, f.CFA+further)
	if e.use != nil {
		e.stackUse(e.use[n], further)
	}
	e.member("method", f.Method.String())
	e.member("trust", f.Trust.String())
	e.key("checks")
	e.open('[')
	for _, c := range f.Checks.Names() {
		e.string(c)
	}
	e.close(']')
	if l := tailCaller(f); l != nil {
		e.member("tail_caller", l.Function)
	}
	w.excerpts(e.arch)
	if e.t.Tried != nil && further == 0 {
		writeAttempts(e.encoder, e.t.Tried[n])
	}
	e.close('}')
}

// stackUse writes what a frame, so many bytes further out, takes of the stack; null where nobody knows.
func (e *threadEncoder) stackUse(u report.StackUse, further uint64) {
	e.key("stack_depth")
	if !u.Known {
		e.null()
		e.key("stack_size")
		e.null()
		return
	}
	e.int(int(u.Depth - further))
	if u.AtLeast {
		e.key("stack_depth_at_least")
		e.bool(true)
	}
	e.key("stack_size")
	e.int(int(u.Size))
}

func (e *threadEncoder) registers() {
	e.key("registers")
	e.open('{')
	for i := range e.arch.Regs {
		if v, ok := e.t.Regs.Lookup(regAt(i)); ok {
			e.key(e.arch.Regs[i].Names[0])
			e.hex(v, 2*e.arch.Regs[i].Size)
		}
	}
	e.close('}')
}

// walkerTrust says in minidump-stackwalk's words how a frame was found. Its cfi
// is any rule that is derived and checked.
func walkerTrust(f *unwind.Frame) string {
	switch {
	case f.Method == unwind.MethodContext:
		return "context"
	case f.Method == unwind.MethodFP:
		return "frame_pointer"
	case f.Method == unwind.MethodScan || f.Trust == unwind.Guess:
		return "scan"
	}
	return "cfi"
}
