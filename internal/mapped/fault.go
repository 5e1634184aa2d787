package mapped

import (
	"runtime/debug"
	"unsafe"
)

// Fault is an access to mapped bytes that the system could not bring: somebody cut the
// file short meanwhile, or its disk failed.
type Fault struct{ addr uintptr }

func (f *Fault) Error() string {
	return "the file was cut short, or its disk failed, while it was read"
}

// In tells whether the fault was an access to data, and at which offset.
func (f *Fault) In(data []byte) (off uint64, ok bool) {
	d := f.addr - uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	return uint64(d), d < uintptr(len(data))
}

// Guard runs fn, which reads mapped bytes, and returns a *Fault where such a read failed. fn is
// broken off there as by a panic: fn must unlock in deferred calls, and the caller must not use
// what fn was changing. Other goroutines are not guarded.
//
// Without Guard a failed read ends the program with SIGBUS. Reading files instead of
// mapping them would cost the time and the memory of all their bytes, of which a
// backtrace looks at a few pages.
func Guard(fn func()) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		r := recover()
		if r == nil {
			return
		}
		f, ok := r.(interface{ Addr() uintptr })
		if !ok {
			panic(r)
		}
		err = &Fault{f.Addr()}
	}()
	fn()
	return nil
}
