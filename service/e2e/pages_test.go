package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// TestConfiguration: CONFIGURATION.md has each flag, and no other.
func TestConfiguration(t *testing.T) {
	help, _ := exec.Command("go", "run", "../cmd/backsightd", "--help").CombinedOutput()
	page, err := os.ReadFile("../CONFIGURATION.md")
	if err != nil {
		t.Fatal(err)
	}
	list := func(pattern string, text []byte) (flags []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			flags = append(flags, string(m[1]))
		}
		slices.Sort(flags)
		return slices.Compact(flags)
	}
	has, told := list(`(?m)^  -([a-z-]+)`, help), list("`--([a-z-]+)", page)
	told = slices.DeleteFunc(told, func(s string) bool { return s == "help" })
	if len(has) < 10 || !slices.Equal(has, told) {
		t.Errorf("flags are %q\ntold are  %q", has, told)
	}
}
