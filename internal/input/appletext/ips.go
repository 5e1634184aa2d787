package appletext

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/target"
)

// jsonReport is the body of an .ips file: of a crash, or of a stackshot.
type jsonReport struct {
	PID       int    `json:"pid"`
	CPUType   string `json:"cpuType"`
	ProcName  string `json:"procName"`
	ProcPath  string `json:"procPath"`
	Time      string `json:"captureTime"`
	OSVersion struct {
		Train string `json:"train"`
	} `json:"osVersion"`
	Exception struct {
		Type, Signal, Subtype, Codes string
	} `json:"exception"`
	Termination struct {
		Namespace, Indicator string
		Code                 int64
		Details              []string `json:"details"`
	} `json:"termination"`
	// ASI are the messages of each library that left some.
	ASI        map[string][]string `json:"asi"`
	Faulting   *int                `json:"faultingThread"`
	Threads    raw                 `json:"-"` // of jsonThread
	UsedImages raw                 `json:"-"` // of jsonImage
	Last       raw                 `json:"-"` // of jsonFrame

	jsonStackshot
}

type jsonThread struct {
	ID        int    `json:"id"`
	Name      string `json:"name"`
	Queue     string `json:"queue"`
	Triggered bool   `json:"triggered"`
	state     raw
	frames    raw // of jsonFrame
}

type jsonFrame struct {
	Offset   uint64 `json:"imageOffset"`
	Image    int    `json:"imageIndex"`
	Symbol   string `json:"symbol"`
	Location uint64 `json:"symbolLocation"`
	File     string `json:"sourceFile"`
	Line     int    `json:"sourceLine"`
	Inline   bool   `json:"inline"`
}

type jsonImage struct {
	Base uint64 `json:"base"`
	Size uint64 `json:"size"`
	UUID string `json:"uuid"`
	Arch string `json:"arch"`
	Path string `json:"path"`
	Name string `json:"name"`
}

// crashed is a crash report in JSON while it is read.
type crashed struct {
	*jsonReport
	arch   *cpu.Arch
	images []jsonImage
	room   darwin.Room
}

// crash is the report of one process.
func (r *jsonReport) crash(name string, env *input.Env) (*darwin.Report, error) {
	arch, ok := darwin.Arch(env.Archs, r.CPUType)
	if !ok {
		return nil, unknown(name, r.CPUType)
	}
	out := &darwin.Report{Arch: arch, OS: darwin.System(r.OSVersion.Train), Command: r.ProcPath, PID: r.PID, Time: r.Time, Fault: r.fault()}
	if out.Command == "" {
		out.Command = r.ProcName
	}
	c := crashed{jsonReport: r, arch: arch, room: darwin.NewRoom(len(r.Threads))}
	eachElement(r.UsedImages, func() bool { return c.room.Binaries.Draw(1) }, func(i *jsonImage, _ raw) {
		c.images = append(c.images, *i)
		if b := i.binary(); b.Size != 0 {
			out.Binaries = append(out.Binaries, b)
		}
	})
	eachElement(r.Threads, func() bool { return c.room.Threads.Draw(1) }, func(j *jsonThread, text raw) {
		parts(text, map[string]*raw{"threadState": &j.state, "frames": &j.frames})
		t := c.thread(j, len(out.Threads))
		if t.Crashed {
			out.Fault.Thread = t.ID
		}
		out.Threads = append(out.Threads, t)
	})
	if last := c.listed(r.Last); len(last) > 0 {
		out.Threads = append(out.Threads, target.Thread{ID: len(out.Threads), Name: lastException, Listed: last})
	}
	out.Issues = c.room.Issues(name)
	return out, nil
}

// lastException names the thread that shows where an exception was thrown.
const lastException = "last exception"

// thread is the i-th thread.
func (c *crashed) thread(t *jsonThread, i int) target.Thread {
	out := target.Thread{ID: t.ID, Name: t.Name, Crashed: t.Triggered || c.Faulting != nil && *c.Faulting == i, Listed: c.listed(t.frames)}
	if out.Name == "" {
		out.Name = t.Queue
	}
	if len(out.Listed) > 0 {
		out.Listed[0].Exact = true
	}
	const most = 256 // members of a thread's state
	left := most
	eachMember(t.state, func() bool { left--; return left >= 0 }, func(name string, text raw) {
		register(c.arch, &out.Regs, name, text)
	})
	return out
}

// register reads one field of a thread's state: a register, or arm64's array of them.
func register(arch *cpu.Arch, regs *cpu.Registers, name string, text raw) {
	type value struct {
		Value *uint64 `json:"value"`
	}
	var one value
	switch {
	case name == "x" || name == "r":
		i := 0
		eachElement(text, func() bool { i++; return i <= 32 }, func(v *value, _ raw) {
			if v.Value != nil {
				darwin.Register(arch, regs, name+itoa(i-1), *v.Value)
			}
		})
	case json.Unmarshal(text, &one) == nil && one.Value != nil:
		darwin.Register(arch, regs, name, *one.Value)
	}
}

// listed are the frames of an array of jsonFrame.
func (c *crashed) listed(lines raw) []target.Listed {
	n := 0 // to grow a list would leave more than twice as much behind
	for range lines.inside('[') {
		n++
	}
	frames := darwin.Frames{List: make([]target.Listed, 0, min(int64(n), c.room.Frames.Left()))}
	eachElement(lines, func() bool { return c.room.Frames.Draw(1) }, func(f *jsonFrame, _ raw) {
		l := target.Listed{PC: f.Offset, Symbol: f.Symbol, Offset: f.Location, Source: target.Source{File: f.File, Line: f.Line}, Outermost: darwin.Outermost(f.Symbol)}
		if f.Image >= 0 && f.Image < len(c.images) {
			l.PC += c.images[f.Image].Base
			l.Module = c.images[f.Image].Name
		}
		frames.Add(l, f.Inline)
	})
	frames.End()
	return frames.List
}

// fault is the exception; its subtype has the address: "KERN_INVALID_ADDRESS at 0x18".
func (r *jsonReport) fault() *target.Fault {
	f := &target.Fault{Name: r.Exception.Signal}
	if f.Name == "" {
		f.Name = r.Exception.Type
	}
	f.Address, f.HasAddress = addressIn(r.Exception.Subtype)
	t := &r.Termination
	said := []string{words(r.Exception.Type, r.Exception.Codes, r.Exception.Subtype)}
	if t.Namespace != "" {
		said = append(said, fmt.Sprintf("%s%s %d %s", terminated, t.Namespace, t.Code, t.Indicator))
	}
	said = append(said, t.Details...)
	for _, library := range slices.Sorted(maps.Keys(r.ASI)) {
		said = append(said, r.ASI[library]...)
	}
	f.Says = says(said)
	return f
}

// terminated stands before why a process was ended.
const terminated = "termination reason: "

// Bounds of what a report says of the cause: messages, and bytes of each.
const maxSays, maxSaid = 8, 512

// words is one message: of what kind an exception is, its codes, and its subtype; "" where only the kind is known.
func words(kind, codes, subtype string) string {
	text := kind
	for _, more := range [...]string{codes, subtype} {
		if more != "" {
			text += ", " + more
		}
	}
	if text == kind {
		return ""
	}
	return text
}

// says are messages, a line each, as far as there are not too many and none is too long.
func says(messages []string) string {
	var out []string
	for _, m := range messages {
		if m = strings.Join(strings.Fields(m), " "); m != "" && len(out) < maxSays {
			out = append(out, m[:min(len(m), maxSaid)])
		}
	}
	return strings.Join(out, "\n")
}

// addressIn is the number behind " at 0x".
func addressIn(s string) (uint64, bool) {
	_, s, ok := strings.Cut(s, " at 0x")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(s, " ")
	return hexNumber(digits)
}

func (b *jsonImage) binary() darwin.Binary {
	name := b.Path
	if name == "" {
		name = b.Name
	}
	return darwin.Binary{Name: path.Clean(name), Base: b.Base, Size: b.Size, UUID: uuid(b.UUID)}
}

// uuid reads a UUID with or without hyphens; nil for none, or one of zeros.
func uuid(s string) []byte {
	id, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(id) != 16 || strings.Trim(s, "0-") == "" {
		return nil
	}
	return id
}
