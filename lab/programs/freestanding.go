package programs

import "slices"

// freestanding are compilers of programs without a library, with a start of their own: no C library of Debian's
// is built so. Shadow call stacks want a register that the library's code uses as it likes.
func freestanding() (all []Toolchain) {
	for _, p := range ports() {
		var t Toolchain
		switch p.folder {
		case "aarch64", "riscv64":
			t = p.toolchain("shadow", "clang-19", alone("-fsanitize=shadow-call-stack", "-fuse-ld=lld-19"))
			t.Packages = append(t.Packages, "clang-19", "lld-19")
			t.Flags = append(t.Flags, "--target="+p.triplet)
			if p.folder == "aarch64" {
				t.Flags = append(t.Flags, "-ffixed-x18")
			}
		case "mips":
			// QEMU before 8.0 stores halves for SWM's words. A list of registers begins with s0: without s0 GCC
			// stores each by SW.
			t = p.toolchain("micromips", p.triplet+"-gcc", alone("-mmicromips", "-msoft-float", "-mno-abicalls", "-fno-pic", "-ffixed-16"))
			t.Emulator = append(t.Emulator, "-cpu", "M14Kc")
		default:
			continue
		}
		t.Programs = []string{"mixed"}
		all = append(all, t)
	}
	return all
}

// alone are the variants of programs without a library.
func alone(flags ...string) (all []Variant) {
	for _, level := range []string{"O0", "O2", "Os"} {
		own := []string{"-" + level, "-nostdlib", "-ffreestanding", "-static", "start-linux.c"}
		all = append(all, Variant{level, slices.Concat(flags, own)})
	}
	return all
}
