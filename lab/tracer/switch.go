package tracer

import (
	"debug/elf"
	"debug/gosym"
	"fmt"
	"slices"
	"strings"
)

// changing are Go's functions that change to another stack (runtime/asm_*.s).
var changing = [...]string{"runtime.gogo", "runtime.mcall", "runtime.systemstack", "runtime.morestack", "runtime.asmcgocall", "runtime.cgocallback",
	"gogo", "runtime.asmcgocall_no_g", "runtime.rt0_go", "runtime.mstart"}

// switchers are the functions of a Go program that change stacks, as arguments of the plugin: by
// their distances from the start of the code.
func switchers(path string, start uint64) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var table []byte
	for _, s := range f.Sections {
		if strings.HasSuffix(s.Name, ".gopclntab") {
			table, _ = s.Data() // none: no such functions
		}
	}
	text := f.Section(".text")
	if table == nil || text == nil {
		return ""
	}
	symbols, err := gosym.NewTable(nil, gosym.NewLineTable(table, text.Addr))
	if err != nil {
		return ""
	}
	var args strings.Builder
	for _, fn := range symbols.Funcs {
		if slices.Contains(changing[:], strings.TrimSuffix(fn.Name, ".abi0")) {
			fmt.Fprintf(&args, ",switch=%d-%d", fn.Entry-start, fn.End-start)
		}
	}
	return args.String()
}
