package tracer

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Runs of programs, an instruction a line: PC, length, SP, LR, t7, Thumb, the word at
// SP; behind the colon the shadow stack then, return addresses with CFAs.
var runs = []struct{ name, cpu, run string }{
	{"a call, a framed callee, a return", "1 4", `
		1000 4 8000 0 0 0 0    :
		2000 4 8000 1004 0 0 0 :1004:8000
		2004 4 7ff0 1004 0 0 0 :1004:8000
		1004 4 8000 1004 0 0 0 :`},
	{"a branch and link to the next instruction reads the PC, it calls nothing", "1 4", `
		1000 4 8000 0 0 0 0    :
		1004 4 8000 1004 0 0 0 :`},
	{"a call of the function that begins behind it shows where that function has kept the return address", "1 4", `
		1000 4 8000 0 0 0 0       :
		2000 4 8000 1004 0 0 0    :1004:8000
		2004 4 7ff0 2008 0 0 0    :1004:8000
		2008 4 7ff0 2008 0 0 0    :1004:8000
		200c 4 7fe0 2008 0 0 2008 :1004:8000
		3000 4 7fe0 2010 0 0 2008 :1004:8000 2008:7ff0 2010:7fe0
		2010 4 7fe0 2010 0 0 2008 :1004:8000 2008:7ff0`},
	{"a call over data reads the PC, it calls nothing", "1 4", `
		1000 4 8000 0 0 0 0    :
		1018 4 8000 1008 0 0 0 :
		101c 4 8000 1008 0 0 0 :
		3000 4 8000 1020 0 0 0 :1020:8000`},
	{"the call of MIPS is seen behind its delay slot", "1 4", `
		1000 4 8000 0 0 0 0    :
		1004 4 8000 1008 0 0 0 :
		2000 4 8000 1008 0 0 0 :1008:8000
		2004 4 8000 1008 0 0 0 :1008:8000
		1008 4 8000 1008 0 0 0 :`},
	{"a loop in a function without a frame does not end it, a tail call neither", "1 4", `
		1000 4 8000 0 0 0 0    :
		2000 4 8000 1004 0 0 0 :1004:8000
		2000 4 8000 1004 0 0 0 :1004:8000
		3000 4 8000 1004 0 0 0 :1004:8000
		1004 4 8000 1004 0 0 0 :`},
	{"a lazy binding stub of MIPS calls the resolver, which does not return to it", "1 4", `
		1000 4 8000 0 0 0 0       :
		2000 4 8000 1004 0 0 0    :1004:8000
		2004 4 8000 1004 1004 0 0 :1004:8000
		5000 4 8000 2008 1004 0 0 :1004:8000
		5004 4 7fd0 2008 1004 0 0 :1004:8000
		6000 4 8000 1004 0 0 0    :1004:8000
		1004 4 8000 1004 0 0 0    :`},
	{"… not if the function begins where the call returns to", "1 4", `
		1000 4 8000 0 0 0 0       :
		2000 4 8000 1004 0 0 0    :1004:8000
		2004 4 8000 1004 1004 0 0 :1004:8000
		5000 4 8000 2008 1004 0 0 :1004:8000
		5010 4 8000 2008 1004 0 0 :1004:8000
		5014 4 7fd0 2008 1004 0 0 :1004:8000
		1004 4 8000 1004 0 0 0    :1004:8000
		1008 4 7ff0 1004 0 0 0    :1004:8000
		1004 4 8000 1004 0 0 0    :`},
	{"a Thumb switch has its table behind it and lr as the base, which is even", "1 4", `
		1000 4 8000 0 0 1 0    :
		2000 4 8000 1005 0 1 0 :1004:8000
		2004 4 7fe0 1005 0 1 0 :1004:8000
		2008 4 7fe0 200c 0 1 0 :1004:8000
		2100 2 7fe0 200c 0 1 0 :1004:8000
		1004 2 8000 200c 0 1 0 :`},
	{"longjmp: the frames below SP end, the one that ends at SP with them", "1 4", `
		1000 4 8000 0 0 0 0    :
		2000 4 8000 1004 0 0 0 :1004:8000
		2004 4 7ff0 1004 0 0 0 :1004:8000
		3000 4 7ff0 2008 0 0 0 :1004:8000 2008:7ff0
		1100 4 8000 1100 0 0 0 :`},
	{"a signal: the handler returns to its trampoline, that to the interrupted place", "1 4", `
		1000 4 8000 0 0 0 0    :
		2000 4 8000 1004 0 0 0 :1004:8000
		2004 4 7ff0 1004 0 0 0 :1004:8000
		9000 4 7c00 f000 0 0 0 :1004:8000 2008:7ff0 f000:7c00
		f000 4 7c00 f000 0 0 0 :1004:8000 2008:7ff0
		f004 4 7c00 f000 0 0 0 :1004:8000 2008:7ff0
		2008 4 7ff0 1004 0 0 0 :1004:8000
		1004 4 8000 1004 0 0 0 :`},
	{"a signal behind a call: the callee is entered when the handler has returned", "1 4", `
		1000 4 8000 0 0 0 0    :
		9000 4 7c00 f000 0 0 0 :1004:8000 f000:7c00
		f000 4 7c00 f000 0 0 0 :1004:8000
		2000 4 8000 1004 0 0 0 :1004:8000
		2004 4 7ff0 1004 0 0 0 :1004:8000
		1004 4 8000 1004 0 0 0 :`},
	{"a second signal was pending when the handler returned", "1 4", `
		1000 4 8000 0 0 0 0    :
		9000 4 7c00 f000 0 0 0 :1004:8000 f000:7c00
		f000 4 7c00 f000 0 0 0 :1004:8000
		9000 4 7c00 f000 0 0 0 :1004:8000 f000:7c00
		f000 4 7c00 f000 0 0 0 :1004:8000
		1004 4 8000 0 0 0 0    :`},
	{"a signal behind a return: the caller goes on when the handler has returned", "1 4", `
		1000 4 8000 0 0 0 0    :
		2000 4 8000 1004 0 0 0 :1004:8000
		9000 4 7c00 f000 0 0 0 :1004:8000 2004:8000 f000:7c00
		f000 4 7c00 f000 0 0 0 :1004:8000 2004:8000
		1004 4 8000 1004 0 0 0 :`},
	{"x86: the call pushes, the return pops, arguments with it", "0 4", `
		1000 5 8000 0 0 0 0    :
		2000 1 7ffc 0 0 0 1005 :1005:8000
		2001 3 7fe0 0 0 0 0    :1005:8000
		1005 1 8008 0 0 0 0    :`},
	{"x86: a jump that pushes nothing is a tail call", "0 8", `
		1000 5 8000 0 0 0 0    :
		2000 5 7ff8 0 0 0 1005 :1005:8000
		3000 1 7ff8 0 0 0 1005 :1005:8000
		1005 1 8000 0 0 0 0    :`},
	{"x86: a longjmp to a function that has returned since: sigsetjmp, which called setjmp", "0 8", `
		1000 5 8000 0 0 0 0    :
		2000 4 7ff8 0 0 0 1005 :1005:8000
		2004 5 7fe0 0 0 0 0    :1005:8000
		3000 3 7fd8 0 0 0 2009 :1005:8000 2009:7fe0
		3003 5 7fe0 0 0 0 0    :1005:8000 2009:7fe0
		4000 1 7fd8 0 0 0 3008 :1005:8000 2009:7fe0 3008:7fe0
		3008 3 7fe0 0 0 0 0    :1005:8000 2009:7fe0
		300b 1 7fd8 0 0 0 2009 :1005:8000 2009:7fe0
		2009 5 7fe0 0 0 0 0    :1005:8000
		5000 3 7fd8 0 0 0 200e :1005:8000 200e:7fe0
		5003 2 7fe0 0 0 0 0    :1005:8000 200e:7fe0
		3008 3 7fe0 0 0 0 0    :1005:8000?`},
	{"a longjmp that branches behind its switch of SP has not left yet", "1 4", `
		1000 4 8000 0 0 0 0    :
		2000 4 8000 1004 0 0 0 :1004:8000
		2004 4 7ff0 1004 0 0 0 :1004:8000
		3000 4 7ff0 2008 0 0 0 :1004:8000 2008:7ff0
		3004 4 8000 1010 0 0 0 :1004:8000 2008:7ff0
		3010 4 8000 1010 0 0 0 :1004:8000 2008:7ff0
		1010 4 8000 1010 0 0 0 :`},
	{"a jump of code that stands behind a trampoline is no return from the signal", "0 8", `
		1000 5 8000 0 0 0 0    :
		9000 3 7c00 0 0 0 f000 :1005:8000 f000:7c08
		f010 3 7bf0 0 0 0 0    :1005:8000 f000:7c08
		f020 3 7bf0 0 0 0 0    :1005:8000 f000:7c08
		f000 4 7c08 0 0 0 0    :1005:8000`},
}

func TestShadowStack(t *testing.T) {
	if _, err := exec.LookPath(Compiler); err != nil {
		t.Skip("there is no ", Compiler)
	}
	program := harness(t)
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) { follow(t, program, r.cpu, strings.TrimSpace(r.run)) })
	}
}

// harness compiles the shadow stack with a main function that reads a run.
func harness(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "shadow")
	cmd := exec.CommandContext(context.Background(), Compiler, "-Wall", "-Wextra", "-Werror", "-Isrc", "-o", program, "src/shadow.c", "testdata/script.c")
	if err := run(cmd); err != nil {
		t.Fatal(err)
	}
	return program
}

func follow(t *testing.T, program, cpu, moments string) {
	var in strings.Builder
	in.WriteString(cpu + "\n")
	var want []string
	for line := range strings.Lines(moments) {
		moment, chain, _ := strings.Cut(strings.TrimSpace(line), ":")
		in.WriteString(moment + "\n")
		want = append(want, chain)
	}
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(out), "\n")
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("instruction %d: got %q, want %q", i+1, got, want[i])
		}
	}
}

// TestPluginCompiles: against the declarations in qemu.h alone.
func TestPluginCompiles(t *testing.T) {
	if _, err := exec.LookPath(Compiler); err != nil {
		t.Skip("there is no ", Compiler)
	}
	if _, err := Build(context.Background(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
}
