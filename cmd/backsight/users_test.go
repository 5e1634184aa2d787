package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/kernels"
)

// machineDump is the memory of a machine that runs two programs, the first of which crashed it, and a folder with the files of both.
func machineDump(t *testing.T) (vmcore, sysroot string) {
	t.Helper()
	m, dir := kernels.NewMachine("swapper/0", "init", "kthreadd", "netd"), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"init", "netd"} {
		p := kernels.Program{Task: task, Path: "/bin/" + task}
		m.Run(&p)
		if err := os.WriteFile(filepath.Join(dir, p.Path), p.File(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vmcore = filepath.Join(dir, "vmcore")
	if err := os.WriteFile(vmcore, m.Vmcore(m.Symbols[5].Addr+8), 0o600); err != nil {
		t.Fatal(err)
	}
	return vmcore, dir
}

// programFrames are the lines of the program's chain, as text has them.
const programFrames = `    entered from user space:
#3  0x0000000000401068  netd+0x1068              [exception]
#4  0x000000000040104c  netd+0x104c              [code]
#5  0x000000000040102c  netd+0x102c              [code]
#6  0x000000000040100c  netd+0x100c              [code]
    stop: root
`

// TestUser: one chain from the kernel down to where the program began, of the process that was asked for, and without a name of the one
// that crashed.
func TestUser(t *testing.T) {
	vmcore, root := machineDump(t)
	code, out, talk := bs(t, "bt", "--user=netd", "--sysroot", root, vmcore)
	if code != exitOK || talk != "" || !strings.HasPrefix(out, "Process 3 /bin/netd\nThread 3 \"netd\"\n#0  0xffff80000801") || !strings.HasSuffix(out, programFrames) {
		t.Errorf("exit code %d, %q\n%s", code, talk, out)
	}
	if code, out, talk := bs(t, "bt", "--user", "--sysroot", root, vmcore); code != exitOK || !strings.HasPrefix(out, "Process 1 /bin/init\nThread 1 \"init\" (crashed)\n") {
		t.Errorf("exit code %d, %q\n%s", code, talk, out)
	}
	if code, _, talk := bs(t, "bt", "--user=httpd", vmcore); code != exitNone || !strings.Contains(talk, `no process "httpd"; there are 1 (init), 3 (netd)`) {
		t.Errorf("exit code %d, %q", code, talk)
	}
}

// TestUserForms: each process is a report; JSON and the page tell the kernel's frames from the program's.
func TestUserForms(t *testing.T) {
	vmcore, root := machineDump(t)
	_, out, _ := bs(t, "bt", "--user=*", "-f", "json", "--sysroot", root, vmcore)
	var reports []struct {
		PID     int
		Command string
		Threads []struct {
			Frames []struct {
				Module    string
				Backsight struct{ Method string }
			}
			Backsight struct {
				Kernel int `json:"kernel_frames"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &reports); err != nil || len(reports) != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	r := reports[1]
	if r.PID != 3 || r.Command != "/bin/netd" || len(r.Threads) != 1 || len(r.Threads[0].Frames) != 7 || r.Threads[0].Backsight.Kernel != 3 {
		t.Fatalf("%+v", r)
	}
	if f := r.Threads[0].Frames; f[2].Module != "vmlinux" || f[3].Module != "netd" || f[3].Backsight.Method != "exception" {
		t.Errorf("%+v", f)
	}
	if _, out, _ := bs(t, "bt", "--user=netd", "-f", "html", "--sysroot", root, vmcore); strings.Count(out, ">entered from user space:<") != 1 {
		t.Errorf("the page does not tell where the program entered the kernel:\n%s", out)
	}
}

// TestProcessList: a line for each process.
func TestProcessList(t *testing.T) {
	vmcore, root := machineDump(t)
	code, out, talk := bs(t, "bt", "--list", "--sysroot", root, vmcore)
	lines := strings.Split(out, "\n")
	if code != exitOK || talk != "" || len(lines) != 4 {
		t.Fatalf("exit code %d, %q\n%s", code, talk, out)
	}
	if got := strings.Join(strings.Fields(lines[2]), " "); got != "3 1 - 0.0 612070726f6772616d2773206275696c64204944 /bin/netd" {
		t.Errorf("%s", got)
	}
}

// TestCoreOfMachine: the core of a process out of a machine's memory is one that bt reads, to the same frames.
func TestCoreOfMachine(t *testing.T) {
	vmcore, root := machineDump(t)
	core := filepath.Join(t.TempDir(), "core")
	if code, out, talk := bs(t, "core", "--from", vmcore, "netd", "-o", core); code != exitOK || out+talk != "" {
		t.Fatalf("exit code %d, %q", code, out+talk)
	}
	code, out, talk := bs(t, "bt", "--sysroot", root, core)
	if code != exitOK || strings.Count(out, "netd+0x10") != 4 || !strings.Contains(out, "stop: root") {
		t.Errorf("exit code %d, %q\n%s", code, talk, out)
	}
	for _, args := range [][]string{{"--from", vmcore}, {"--from", vmcore, "netd"}, {"netd", "-o", core}} {
		if code, _, _ := bs(t, append([]string{"core"}, args...)...); code == exitOK {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}
