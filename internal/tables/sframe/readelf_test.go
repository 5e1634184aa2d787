package sframe_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/listed"
	"github.com/backsight/backsight/internal/tables/sframe"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// known is the newest version of the format that readelf reads; 0: it reads none. Binutils 2.40 reads
// version 1, later ones version 2.
func known(t *testing.T) byte {
	out, err := exec.Command("readelf", "--version").Output()
	m := regexp.MustCompile(`\) (\d+)\.(\d+)`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Skip("there is no readelf of binutils")
	}
	major, _ := strconv.Atoi(string(m[1]))
	switch minor, _ := strconv.Atoi(string(m[2])); {
	case major > 2 || minor > 40:
		return 2
	case minor == 40:
		return 1
	}
	t.Skip("this readelf knows no SFrame")
	return 0
}

// TestReadelf: binutils' readelf accepts the section, and says at every row what the rules say.
func TestReadelf(t *testing.T) {
	version := known(t)
	for _, name := range []string{"x86_64-threads/modules/usr/lib/libc.so.6", "aarch64-signal/modules/lib/libc.so.6"} {
		p := listed.Rules(t, name)
		var b bytes.Buffer
		if _, err := sframe.WriteVersion(&b, p, version); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "x.sframe")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("readelf", "--sframe=.sframe", path).CombinedOutput()
		if err != nil || strings.Contains(string(out), "rror") {
			t.Fatalf("%v: %.300s", err, out)
		}
		n := 0
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			if f := strings.Fields(lines.Text()); len(f) >= 4 && len(f[0]) == 16 {
				n += compare(t, p, f)
			}
		}
		if n < 1000 {
			t.Errorf("%s: readelf prints %d rows", name, n)
		}
	}
}

// compare compares a row that readelf prints, "address CFA FP RA", with the rules.
func compare(t *testing.T, p *tables.Program, f []string) int {
	t.Helper()
	pc, err := strconv.ParseUint(f[0], 16, 64)
	if err != nil {
		return 0
	}
	r := p.At(pc)
	if r == nil {
		t.Errorf("%#x: %v where nothing is known", pc, f)
		return 0
	}
	a := p.Image.Arch
	f[3] = strings.TrimSuffix(f[3], "[s]")
	want := []string{text(a, &r.CFA), place(a, r.Of(a.FP)), place(a, r.RA)}
	if a.Name == "x86_64" {
		want[2] = f[3] // fixed, printed as u or f
	}
	if strings.Join(f[1:4], " ") != strings.Join(want, " ") {
		t.Errorf("%#x: readelf says %v, want %v", pc, f[1:], want)
	}
	return 1
}

// text is a CFA as readelf prints it: sp+16.
func text(a *cpu.Arch, r *rule.Register) string {
	name := "sp"
	if r.Base == a.FP {
		name = "fp"
	}
	return fmt.Sprintf("%s+%d", name, r.Off)
}

// place is where a register was saved as readelf prints it: c-16, u for not.
func place(a *cpu.Arch, r rule.Register) string {
	if r.Kind != rule.AtCFA {
		return "u"
	}
	return fmt.Sprintf("c%+d", r.Off)
}

// TestRefused: what the form cannot say is named with the function.
func TestRefused(t *testing.T) {
	p := listed.Rules(t, "x86_64-threads/modules/usr/lib/libc.so.6")
	var b bytes.Buffer
	refused, err := sframe.Format().Write(&b, p)
	if err != nil || len(refused) == 0 {
		t.Fatal(refused, err)
	}
	if got := refused[0].String(); !strings.Contains(got, ": no row at 0x") {
		t.Error(got)
	}
	if _, err := sframe.Format().Write(&b, listed.Rules(t, "mips-naked/modules/packer")); err == nil || !strings.Contains(err.Error(), "not for mips") {
		t.Error(err)
	}
}
