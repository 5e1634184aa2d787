package debian

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// words are what the text inputs are made of.
const words = `the of and a to in is that for it frame stack pointer caller returns address register unwinding
signal Every function saves RETURN registers, (in its prologue) and restores them. Leaf functions: none; 42 1999 3.14
walking testing called linked based going ended used`

// text makes n lines, the same for the same seed.
func text(seed uint64, n int) string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	all := strings.Fields(words)
	var b strings.Builder
	for range n {
		for i := range 4 + rnd.IntN(9) {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(all[rnd.IntN(len(all))])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// changed replaces some lines, for programs that compare.
func changed(s string) string {
	lines := strings.SplitAfter(s, "\n")
	rnd := rand.New(rand.NewPCG(7, 1))
	for range len(lines) / 9 {
		lines[rnd.IntN(len(lines))] = "another line\n"
	}
	return strings.Join(lines, "")
}

const macros = `define(` + "`fact',`ifelse($1,0,1,`eval($1*fact(decr($1)))')'" + `)dnl
fact(9) define(` + "`loop', `ifelse($1,$2,,`<$1 eval($1*$1,16,4) translit(abc,a-c,A-C)> $0(incr($1),$2)')'" + `)
loop(1,70) patsubst(abc abc abc,b\(.\),[\1]) format(%05d %s,42,x) index(abcdef,de) regexp(GNUs not Unix,\w\(\w+\)$,\1)
divert(1)later divert(0)undivert(1) include(other.txt)
`

const makefile = `S := $(wildcard *.txt) $(foreach i,a b c d e f g h,x$(i).c)
O := $(patsubst %.c,%.o,$(filter %.c,$(S)))
all: $(O) $(sort $(S:.txt=.q))
%.o: %.c
	cc -c $< -o $@ $(if $(filter xa,$*),yes,no) $(call f,$@)
%.q: %.txt
	echo $(words $^) $(strip  $(dir $<) ) $(subst t,T,$@)
f = $(firstword $(1) $(notdir $(1)))
x%.c:
	touch $@
`

// writeInputs writes the files that the programs read.
func writeInputs(dir string) error {
	long := text(1, 1500)
	files := map[string][]byte{
		"long.txt":  []byte(long),
		"text.txt":  []byte(long[:len(long)/2]),
		"other.txt": []byte(changed(long[:len(long)/2])),
		"macros.m4": []byte(macros),
		"Makefile":  []byte(makefile),
	}
	for name, text := range sources() {
		files[name] = []byte(text)
	}
	packed, err := archive(files)
	if err != nil {
		return err
	}
	files["files.tar"] = packed
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(long)) // into memory: no error
	if err := w.Close(); err != nil {
		return err
	}
	files["text.gz"] = z.Bytes()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// archive is a tar file, the same each time.
func archive(files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: "files/" + name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}
