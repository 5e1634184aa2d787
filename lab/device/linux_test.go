package device_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/device"
)

// naked programs have no unwind tables, and no frame pointers.
const naked = "-fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer"

// linuxPrograms compiles a program of device/test for each machine that there are tools for, and that keep does not leave out.
func linuxPrograms(t *testing.T, name, flags string, keep func(m *device.Machine) bool, test func(t *testing.T, m *device.Machine, command func(args ...string) *exec.Cmd)) {
	port, err := filepath.Glob("../../device/ports/linux/*.c")
	if err != nil {
		t.Fatal(err)
	}
	machines := device.Machines()
	for i := range machines {
		m := &machines[i]
		t.Run(m.Name, func(t *testing.T) {
			if !keep(m) {
				t.Skip("BACKSIGHT_LONG=1")
			}
			for _, tool := range []string{m.Compiler[0], m.Emulator[0]} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(err)
				}
			}
			program := filepath.Join(t.TempDir(), name)
			args := append(m.Compiler[1:len(m.Compiler):len(m.Compiler)], strings.Fields(flags)...)
			args = append(args, "-static", "-Wl,--eh-frame-hdr", "-fno-optimize-sibling-calls", "-o", program, "../../device/test/"+name+".c", "../../device/backsight.c")
			if out, err := exec.CommandContext(t.Context(), m.Compiler[0], append(args, port...)...).CombinedOutput(); err != nil {
				if strings.Contains(string(out), "No such file") {
					t.Skipf("no C library for it: %.200s", out)
				}
				t.Fatalf("%v: %s", err, out)
			}
			test(t, m, func(args ...string) *exec.Cmd {
				line := append(m.Emulator[1:len(m.Emulator):len(m.Emulator)], program)
				return exec.CommandContext(t.Context(), m.Emulator[0], append(line, args...)...)
			})
		})
	}
}

// survivors is linuxPrograms for survive.c, which prints what it found.
func survivors(t *testing.T, flags string, test func(t *testing.T, m *device.Machine, run func(kind string) string)) {
	all := func(*device.Machine) bool { return true }
	linuxPrograms(t, "survive", flags, all, func(t *testing.T, m *device.Machine, command func(...string) *exec.Cmd) {
		test(t, m, func(kind string) string {
			out, err := command(kind).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			return string(out)
		})
	})
}

// survived is what a handler finds at least, by how the program failed: a walk ends, without another signal, and
// what can be known is there.
var survived = map[string]string{
	"smash":    `^smash: smash .*why [0-9]`,
	"fill":     `^fill: smash .*why [0-9]`,
	"wild":     `^wild: leaf .*why [0-9]`,
	"null":     `^null: leaf .*why [0-9]`,
	"top":      `^top: leaf .*why [0-9]`,
	"guard":    `^guard: leaf .*why [0-9]`,
	"odd":      `^odd: leaf .*why [0-9]`,
	"overflow": `^overflow: recurse( recurse){62,63} why 1`,
	"handler":  `^handler: leaf .* fails outer main `,
	"call":     `^call: outer main .*why 0`,
}

// TestLinuxSurvives: whatever the stack pointer is and whatever stands on the stack, a walk in a signal's handler ends and has
// the frames that can be known; a handler that fails itself is walked through.
func TestLinuxSurvives(t *testing.T) {
	survivors(t, "-O2 -funwind-tables -fasynchronous-unwind-tables", func(t *testing.T, _ *device.Machine, run func(string) string) {
		for kind, want := range survived {
			if out := run(kind); !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%q is not %s", out, want)
			}
		}
	})
}

// TestLinuxCode: with neither table nor compiler's tables, the code alone gives the whole chain: through frames of variable size,
// large frames, a function that the C library calls, one that calls without a frame of its own, and back to main.
func TestLinuxCode(t *testing.T) {
	if testing.Short() {
		t.Skip("a compilation for each machine")
	}
	survivors(t, "-O2 -DBS_NO_FRAMES "+naked, func(t *testing.T, _ *device.Machine, run func(string) string) {
		for kind, want := range map[string]string{"chain": "leaf fails compare (- )+sorts large sized", "bare": "leaf bare fails"} {
			want = `^` + kind + `: ` + want + ` outer main -`
			if out := run(kind); !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%q is not %s", out, want)
			}
		}
	})
}

// TestLinuxCalled: bs_frames, called by a program, begins with its caller and goes on to main, with optimization and without.
func TestLinuxCalled(t *testing.T) {
	if testing.Short() {
		t.Skip("two compilations for each machine")
	}
	for _, level := range []string{"-O0", "-O3"} {
		survivors(t, level+" -funwind-tables -fasynchronous-unwind-tables", func(t *testing.T, _ *device.Machine, run func(string) string) {
			if out := run("call"); !strings.HasPrefix(out, "call: outer main ") {
				t.Errorf("%s: %q", level, out)
			}
		})
	}
}
