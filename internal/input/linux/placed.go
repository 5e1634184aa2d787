package linux

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// Placed is a kernel that runs bias bytes above where it is linked. x86-64's has a segment at 0, of
// which each processor gets a copy elsewhere (PERCPU_VADDR, arch/x86/kernel/vmlinux.lds.S): what lies
// between that and the kernel's code is not the kernel's.
func Placed(img *image.Image, bias uint64) *target.Module {
	m := target.NewModule("vmlinux", img, bias)
	for i := range img.Segments {
		if s := &img.Segments[i]; s.Addr != 0 {
			m.Lo = m.ToTarget(s.Addr)
			break
		}
	}
	return m
}

// Hooks are where tracers make functions of a kernel return to, as far as its image has names.
func Hooks(kernel *target.Module) (at []uint64) {
	for _, name := range [...]string{
		"return_to_handler",                                                         // function_graph
		"__kretprobe_trampoline", "kretprobe_trampoline", "arch_rethook_trampoline", // kretprobes: before Linux 5.16, since, with rethooks
	} {
		if s, ok := kernel.Image.Symbols.Named(name); ok {
			at = append(at, kernel.ToTarget(s.Addr))
		}
	}
	return at
}
