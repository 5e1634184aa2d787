package plcrash

import (
	"fmt"
	"strings"
)

// text writes a report as protoc --decode does.
type text struct {
	b     strings.Builder
	depth int
}

func (t *text) line(format string, args ...any) {
	fmt.Fprintf(&t.b, "%s%s\n", strings.Repeat("  ", t.depth), fmt.Sprintf(format, args...))
}

func (t *text) message(name string, inside func()) {
	t.line("%s {", name)
	t.depth++
	inside()
	t.depth--
	t.line("}")
}

func (t *text) str(name, v string) {
	if v != "" {
		t.line("%s: %s", name, quoted(v))
	}
}

// quoted is a string as protoc writes it: octal escapes for what is no ASCII.
func quoted(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == '"', c == '\'', c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

var (
	systems   = []string{"MAC_OS_X", "IPHONE_OS", "IPHONE_SIMULATOR", "OS_UNKNOWN", "APPLE_TVOS"}
	archNames = []string{"X86_32", "X86_64", "ARMV6", "PPC", "PPC64", "ARMV7", "ARCHITECTURE_UNKNOWN"}
	encodings = []string{"TYPE_ENCODING_UNKNOWN", "TYPE_ENCODING_MACH"}
)

func (r *report) text() string {
	var t text
	t.message("system_info", func() {
		t.line("operating_system: %s", systems[r.system.os])
		t.line("os_version: %s", quoted(r.system.version))
		t.line("architecture: %s", archNames[r.system.architecture])
		t.line("timestamp: %d", r.system.timestamp)
		t.str("os_build", r.system.build)
	})
	t.message("application_info", func() {
		t.line("identifier: %s", quoted(r.app.identifier))
		t.line("version: %s", quoted(r.app.version))
		t.str("marketing_version", r.app.marketing)
	})
	for i := range r.threads {
		t.message("threads", func() { t.thread(&r.threads[i]) })
	}
	for i := range r.images {
		t.message("binary_images", func() { t.image(&r.images[i]) })
	}
	if e := r.exception; e != nil {
		t.message("exception", func() {
			t.line("name: %s", quoted(e.name))
			t.line("reason: %s", quoted(e.reason))
			t.frames(e.frames)
		})
	}
	t.message("signal", func() { t.signal(&r.signal) })
	t.rest(r)
	return t.b.String()
}

func (t *text) thread(x *thread) {
	t.line("thread_number: %d", x.number)
	t.frames(x.frames)
	t.line("crashed: %t", x.crashed)
	for _, r := range x.registers {
		t.message("registers", func() {
			t.line("name: %s", quoted(r.name))
			t.line("value: %d", r.value)
		})
	}
}

func (t *text) frames(frames []stackFrame) {
	for _, f := range frames {
		t.message("frames", func() {
			t.line("pc: %d", f.pc)
			if s := f.symbol; s != nil {
				t.message("symbol", func() {
					t.line("name: %s", quoted(s.name))
					t.line("start_address: %d", s.start)
				})
			}
		})
	}
}

func (t *text) image(x *binaryImage) {
	t.line("base_address: %d", x.base)
	t.line("size: %d", x.size)
	t.line("name: %s", quoted(x.name))
	t.str("uuid", string(x.uuid))
	if x.code != nil {
		t.message("code_type", func() { t.processor(x.code) })
	}
}

func (t *text) processor(p *processor) {
	t.line("encoding: %s", encodings[p.encoding])
	t.line("type: %d", p.typ)
	t.line("subtype: %d", p.subtype)
}

func (t *text) signal(s *signal) {
	t.line("name: %s", quoted(s.name))
	t.line("code: %s", quoted(s.code))
	t.line("address: %d", s.address)
	if m := s.mach; m != nil {
		t.message("mach_exception", func() {
			t.line("type: %d", m.typ)
			for _, c := range m.codes {
				t.line("codes: %d", c)
			}
		})
	}
}

func (t *text) rest(r *report) {
	if p := r.process; p != nil {
		t.message("process_info", func() {
			t.str("process_name", p.name)
			t.line("process_id: %d", p.id)
			t.str("process_path", p.path)
			t.line("parent_process_name: %s", quoted(p.parentName))
			t.line("parent_process_id: %d", p.parentID)
			t.line("native: %t", p.native)
			if p.start != 0 {
				t.line("start_time: %d", p.start)
			}
		})
	}
	if m := r.machine; m != nil {
		t.message("machine_info", func() {
			t.str("model", m.model)
			t.message("processor", func() { t.processor(&m.processor) })
			t.line("processor_count: %d", m.cores)
			t.line("logical_processor_count: %d", m.logicals)
		})
	}
	if i := r.info; i != nil {
		t.message("report_info", func() {
			t.line("user_requested: %t", i.requested)
			t.str("uuid", string(i.uuid))
		})
	}
	t.str("custom_data", r.custom)
}
