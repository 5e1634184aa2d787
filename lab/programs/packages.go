package programs

import "slices"

// Packages are the Debian packages that have the tools of all toolchains: compilers
// with their C and C++ libraries, emulators, and GDB to score beside.
func Packages() []string {
	all := []string{"clang", "qemu-user", "qemu-system-arm", "qemu-system-misc", "gdb-multiarch"}
	for _, t := range Toolchains() {
		all = append(all, t.Packages...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
