package plcrash

import "github.com/backsight/backsight/input/darwin"

// decode reads the message; whole is how many bytes of it were read.
func decode(b []byte) (r report, whole int) {
	r.system.os, r.system.architecture = osUnknown, archUnknown
	r.room = darwin.NewRoom(len(b))
	whole = eachField(b, func(f field) {
		switch f.num {
		case 1:
			eachField(f.bytes, r.system.field)
		case 2:
			eachField(f.bytes, r.app.field)
		case 3:
			if r.room.Threads.Draw(1) {
				t := thread{room: &r.room}
				eachField(f.bytes, t.field)
				r.threads = append(r.threads, t)
			}
		case 4:
			if r.room.Binaries.Draw(1) {
				var i binaryImage
				eachField(f.bytes, i.field)
				r.images = append(r.images, i)
			}
		case 5:
			r.exception = &exception{room: &r.room}
			eachField(f.bytes, r.exception.field)
		case 6:
			eachField(f.bytes, r.signal.field)
		case 7:
			r.process = new(processInfo)
			eachField(f.bytes, r.process.field)
		case 8:
			r.machine = new(machineInfo)
			eachField(f.bytes, r.machine.field)
		case 9:
			r.info = new(reportInfo)
			eachField(f.bytes, r.info.field)
		case 10:
			r.custom = f.text()
		}
	})
	return r, whole
}

func (s *systemInfo) field(f field) {
	f.into(&s.os, &s.version, &s.architecture, &s.timestamp, &s.build)
}

func (a *applicationInfo) field(f field) {
	f.into(&a.identifier, &a.version, &a.marketing)
}

func (t *thread) field(f field) {
	f.into(&t.number, func() { t.frames = addFrame(t.frames, t.room, &f) }, &t.crashed, func() {
		if len(t.registers) < maxRegisters {
			var r register
			eachField(f.bytes, r.field)
			t.registers = append(t.registers, r)
		}
	})
}

// maxRegisters bounds the registers of a thread.
const maxRegisters = 256

// addFrame adds a frame, if there is room for one.
func addFrame(frames []stackFrame, room *darwin.Room, f *field) []stackFrame {
	if !room.Frames.Draw(1) {
		return frames
	}
	var s stackFrame
	eachField(f.bytes, s.field)
	return append(frames, s)
}

func (s *stackFrame) field(f field) {
	f.into(nil, nil, &s.pc, nil, nil, func() {
		s.symbol = new(symbol)
		eachField(f.bytes, s.symbol.field)
	})
}

func (s *symbol) field(f field) {
	f.into(&s.name, &s.start, &s.end)
}

func (r *register) field(f field) {
	f.into(&r.name, &r.value)
}

func (i *binaryImage) field(f field) {
	f.into(&i.base, &i.size, &i.name, &i.uuid, func() {
		i.code = new(processor)
		eachField(f.bytes, i.code.field)
	})
}

func (p *processor) field(f field) {
	f.into(&p.encoding, &p.typ, &p.subtype)
}

func (e *exception) field(f field) {
	f.into(&e.name, &e.reason, func() { e.frames = addFrame(e.frames, e.room, &f) })
}

func (s *signal) field(f field) {
	f.into(&s.name, &s.code, &s.address, func() {
		s.mach = new(machException)
		eachField(f.bytes, s.mach.field)
	})
}

func (m *machException) field(f field) {
	f.into(&m.typ, func() { m.codes = numbers(m.codes, &f) })
}

func (p *processInfo) field(f field) {
	f.into(&p.name, &p.id, &p.path, &p.parentName, &p.parentID, &p.native, &p.start)
}

func (m *machineInfo) field(f field) {
	f.into(&m.model, func() { eachField(f.bytes, m.processor.field) }, &m.cores, &m.logicals)
}

func (i *reportInfo) field(f field) {
	f.into(&i.requested, &i.uuid)
}
