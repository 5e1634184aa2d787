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
	switch f.num {
	case 1:
		s.os = f.value
	case 2:
		s.version = f.text()
	case 3:
		s.architecture = f.value
	case 4:
		s.timestamp = int64(f.value)
	case 5:
		s.build = f.text()
	}
}

func (a *applicationInfo) field(f field) {
	switch f.num {
	case 1:
		a.identifier = f.text()
	case 2:
		a.version = f.text()
	case 3:
		a.marketing = f.text()
	}
}

func (t *thread) field(f field) {
	switch f.num {
	case 1:
		t.number = uint32(f.value)
	case 2:
		t.frames = addFrame(t.frames, t.room, &f)
	case 3:
		t.crashed = f.value != 0
	case 4:
		if len(t.registers) < maxRegisters {
			var r register
			eachField(f.bytes, r.field)
			t.registers = append(t.registers, r)
		}
	}
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
	switch f.num {
	case 3:
		s.pc = f.value
	case 6:
		s.symbol = new(symbol)
		eachField(f.bytes, s.symbol.field)
	}
}

func (s *symbol) field(f field) {
	switch f.num {
	case 1:
		s.name = f.text()
	case 2:
		s.start = f.value
	case 3:
		s.end = f.value
	}
}

func (r *register) field(f field) {
	switch f.num {
	case 1:
		r.name = f.text()
	case 2:
		r.value = f.value
	}
}

func (i *binaryImage) field(f field) {
	switch f.num {
	case 1:
		i.base = f.value
	case 2:
		i.size = f.value
	case 3:
		i.name = f.text()
	case 4:
		i.uuid = f.bytes
	case 5:
		i.code = new(processor)
		eachField(f.bytes, i.code.field)
	}
}

func (p *processor) field(f field) {
	switch f.num {
	case 1:
		p.encoding = f.value
	case 2:
		p.typ = f.value
	case 3:
		p.subtype = f.value
	}
}

func (e *exception) field(f field) {
	switch f.num {
	case 1:
		e.name = f.text()
	case 2:
		e.reason = f.text()
	case 3:
		e.frames = addFrame(e.frames, e.room, &f)
	}
}

func (s *signal) field(f field) {
	switch f.num {
	case 1:
		s.name = f.text()
	case 2:
		s.code = f.text()
	case 3:
		s.address = f.value
	case 4:
		s.mach = new(machException)
		eachField(f.bytes, s.mach.field)
	}
}

func (m *machException) field(f field) {
	switch f.num {
	case 1:
		m.typ = f.value
	case 2:
		m.codes = numbers(m.codes, &f)
	}
}

func (p *processInfo) field(f field) {
	switch f.num {
	case 1:
		p.name = f.text()
	case 2:
		p.id = uint32(f.value)
	case 3:
		p.path = f.text()
	case 4:
		p.parentName = f.text()
	case 5:
		p.parentID = uint32(f.value)
	case 6:
		p.native = f.value != 0
	case 7:
		p.start = f.value
	}
}

func (m *machineInfo) field(f field) {
	switch f.num {
	case 1:
		m.model = f.text()
	case 2:
		eachField(f.bytes, m.processor.field)
	case 3:
		m.cores = uint32(f.value)
	case 4:
		m.logicals = uint32(f.value)
	}
}

func (i *reportInfo) field(f field) {
	switch f.num {
	case 1:
		i.requested = f.value != 0
	case 2:
		i.uuid = f.bytes
	}
}
