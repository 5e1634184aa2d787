package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/grouping"
)

// crashes are two cores of the repository, with what bt needs for them.
func crashes() (cores, flags []string) {
	for _, dir := range []string{"mips-deref", "x86_64-threads"} {
		folder := filepath.Join("../../testdata", dir)
		cores = append(cores, filepath.Join(folder, "core.gz"))
		flags = append(flags, "--sysroot", filepath.Join(folder, "modules"), "--debug-dir", folder)
	}
	return cores, flags
}

// A capture and its report are one crash; groups that were kept are gone on with.
func TestGroup(t *testing.T) {
	cores, flags := crashes()
	dir := t.TempDir()
	reports, known := filepath.Join(dir, "reports.json"), filepath.Join(dir, "groups.json")
	_, text, _ := bs(t, append(append([]string{"bt", "-f", "json"}, flags...), cores...)...)
	if err := os.WriteFile(reports, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, talk := bs(t, append(append([]string{"group", "-f", "json", reports}, flags...), cores[0])...)
	var groups grouping.Groups
	if err := json.Unmarshal([]byte(out), &groups); err != nil || code != exitOK || len(groups.List) != 2 {
		t.Fatalf("exit code %d, %v, %d groups, %s", code, err, len(groups.List), talk)
	}
	first := groups.List[0]
	if len(first.Members) != 2 || first.Members[1].Why != "the same place of the same build" || !strings.HasPrefix(first.Title, "SIGSEGV reading NULL+0x40 in pack ← on_route") {
		t.Errorf("%+v", first)
	}
	if err := os.WriteFile(known, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, talk = bs(t, append(append([]string{"group", "--known", known}, flags...), cores[1])...)
	if code != exitOK || !strings.HasPrefix(out, "4 crashes in 2 groups\n\n#1  2 × SIGSEGV") {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
}

// A crash and itself differ in nothing; two crashes of different programs have no frame in common. A page says the same.
func TestDiff(t *testing.T) {
	cores, flags := crashes()
	code, out, talk := bs(t, append(append([]string{"diff"}, flags...), cores[0], cores[0])...)
	if code != exitOK || strings.Contains(out, "→") || !strings.Contains(out, "    #0   #0  pack+") {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
	code, out, _ = bs(t, append(append([]string{"diff"}, flags...), cores...)...)
	if code != exitOK || !strings.Contains(out, "processor    mips  →  x86_64\n") || !strings.Contains(out, "-   #0       pack+") || !strings.Contains(out, "Only in B: thread ") {
		t.Errorf("exit code %d, %s", code, out)
	}
	code, out, _ = bs(t, append(append([]string{"diff", "-f", "html"}, flags...), cores...)...)
	if code != exitOK || !strings.HasPrefix(out, "<!DOCTYPE html>") || !strings.Contains(out, ">pack+0x") {
		t.Errorf("exit code %d, %.200s", code, out)
	}
}

// TestSignature: a capture has a line; its JSON has the same keys.
func TestSignature(t *testing.T) {
	cores, flags := crashes()
	_, line, _ := bs(t, append(append([]string{"bt", "-f", "signature"}, flags...), cores[0])...)
	fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if len(fields) != 5 || len(fields[0]) != 16 || fields[2] != "SIGSEGV null-pointer read" || fields[3] != "SIGSEGV reading NULL+0x40 in pack ← on_route ← word" {
		t.Fatalf("%q", fields)
	}
	_, text, _ := bs(t, append(append([]string{"bt", "-f", "jsonl"}, flags...), cores[0])...)
	if !strings.Contains(text, `"exact":"`+fields[0]+`","stable":"`+fields[1]+`"`) {
		t.Errorf("other keys in %.2000s", text)
	}
}

// Files that are no reports, and reports that are cut, are told of in one line; what stood before is grouped.
func TestWrongReports(t *testing.T) {
	dir := t.TempDir()
	cut := filepath.Join(dir, "cut.json")
	if err := os.WriteFile(cut, []byte(`{"status":"OK","threads":[{"thread_id":1,"frames":[{"frame":0}],"backsight":{"signature":{"version":1,"title":"SIGSEGV in f","exact":"01","stable":"02"}}}]} {"status":`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, talk := bs(t, "group", cut)
	if code != exitNone || !strings.Contains(talk, "cut.json: offset 0x") || strings.Count(talk, "\n") != 1 || !strings.HasPrefix(out, "1 crash in 1 group\n") {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	if code, _, talk := bs(t, "diff", cut); code != exitUsage || !strings.Contains(talk, "wants two") {
		t.Errorf("exit code %d, %q", code, talk)
	}
}

// What a capture lacks is said in text and in JSON; a whole one lacks nothing.
func TestAdvise(t *testing.T) {
	cores, flags := crashes()
	_, out, _ := bs(t, append(append([]string{"bt", "--advise"}, flags...), cores[0])...)
	if !strings.HasSuffix(out, "\nAdvice: 1 of 1 threads are whole.\n") {
		t.Errorf("%s", out)
	}
	_, out, _ = bs(t, "bt", "--advise", cores[0])
	if !strings.Contains(out, "\nAdvice: 0 of 1 threads are whole.\n    binary usr/bin/netd, of unknown build, 4096 bytes mapped at 0x40000000, with 1 frames ") || !strings.Contains(out, "coredump_filter") {
		t.Errorf("%s", out)
	}
	_, out, _ = bs(t, "bt", "--advise", "-f", "jsonl", cores[0])
	if !strings.Contains(out, `"advice":{"threads":1,"whole":0,"lacks":[{"kind":"binary","threads":[30978],"address":"0x40000000","bytes":4096,"module":"usr/bin/netd","code_id":null,"frames":1}]`) {
		t.Errorf("%s", out)
	}
}
