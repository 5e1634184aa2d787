package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPages runs every command that a page of docs shows, in order, each page in a folder of its own
// beside testdata. What the page shows of the output is in the output, line by line; … stands for
// lines that are left out.
func TestPages(t *testing.T) {
	for _, tool := range []string{"sh", "cat", "find", "gunzip", "head", "ls", "mkdir"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no ", tool)
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + filepath.Dir(command(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(filepath.Join(top, "testdata"), filepath.Join(dir, "testdata")); err != nil {
				t.Skip(err)
			}
			for _, s := range shown(read(t, page)) {
				s.run(t, dir, path)
			}
		})
	}
}

// session is a command of a page, with the lines that are shown of its output.
type session struct {
	command string
	output  []string
}

// shown are the commands of a page's console blocks: "$ command", "> more of it".
func shown(page string) (list []session) {
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			list = append(list, session{command: line[2:]})
		case strings.HasPrefix(line, "> ") && len(list) > 0:
			list[len(list)-1].command += "\n" + line[2:]
		case len(list) > 0 && line != "…" && line != "":
			list[len(list)-1].output = append(list[len(list)-1].output, line)
		}
	}
	return list
}

func (s *session) run(t *testing.T, dir, path string) {
	t.Helper()
	for _, word := range []string{"unzip"} {
		if _, err := exec.LookPath(word); err != nil && strings.HasPrefix(s.command, word+" ") {
			t.Skip("there is no ", word)
		}
	}
	begun := time.Now()
	defer func() { t.Logf("%4d ms  %s", time.Since(begun).Milliseconds(), s.command) }()
	cmd := exec.Command("sh", "-c", s.command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), path, "NO_COLOR=1")
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("$ %s\n%v\n%s", s.command, err, got)
		return
	}
	rest := string(got)
	for _, line := range s.output {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Errorf("$ %s\nno line %q behind the ones before in\n%s", s.command, line, got)
			return
		}
		rest = after
	}
}
