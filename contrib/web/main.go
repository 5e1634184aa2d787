// Command web builds Backsight for JavaScript, at the root of a clone: DIR/npm, a package for Node, and DIR/backsight.html, a page
// that needs nothing else.
//
//	go run ./contrib/web -o DIR
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sources are what the package and the page are made of.
//
//go:embed npm page
var sources embed.FS

func main() {
	dir := flag.String("o", "", "the `DIR` to write to")
	version := flag.String("version", "0.0.0", "the package's `VERSION`")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := build(*dir, *version); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(dir, version string) error {
	glue, err := glueOfGo()
	if err != nil {
		return err
	}
	if err := packageOf(filepath.Join(dir, "npm"), version, glue); err != nil {
		return err
	}
	program, err := os.ReadFile(filepath.Join(dir, "npm", "backsight.wasm"))
	if err != nil {
		return err
	}
	page, err := pageOf(program, glue)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "backsight.html"), page, 0o644)
}

// glueOfGo is what Go's distribution has for JavaScript.
func glueOfGo() ([]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
}

// packageOf writes the package for Node.
func packageOf(dir, version string, glue []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := sources.ReadDir("npm")
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := sources.ReadFile("npm/" + e.Name())
		if err != nil {
			return err
		}
		if e.Name() == "package.json" {
			data = bytes.ReplaceAll(data, []byte("VERSION"), []byte(version))
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), data, 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "wasm_exec.js"), glue, 0o644); err != nil {
		return err
	}
	compile := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "backsight.wasm"), "./contrib/web/wasm")
	compile.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	compile.Stderr = os.Stderr
	return compile.Run()
}

// pageOf is the page with all that it needs. Its parts are put in from the outside in, so that no part is looked into.
func pageOf(program, glue []byte) ([]byte, error) {
	examples, err := examplesOf(os.DirFS("."))
	if err != nil {
		return nil, err
	}
	packed, err := gzipped(program)
	if err != nil {
		return nil, err
	}
	parts := map[string]string{"EXAMPLES": string(examples), "WASM": packed}
	for name, file := range map[string]string{"HTML": "page.html", "STYLE": "page.css", "SCRIPT": "page.js", "WORKER": "worker.js"} {
		text, err := sources.ReadFile("page/" + file)
		if err != nil {
			return nil, err
		}
		parts[name] = string(text)
	}
	parts["WORKER"] = strings.Replace(parts["WORKER"], "WASM_EXEC", string(glue), 1)
	for _, name := range []string{"SCRIPT", "WORKER"} {
		if strings.Contains(parts[name], "</script") {
			return nil, fmt.Errorf("%s ends its own element", name)
		}
	}
	var list []string
	for _, name := range []string{"STYLE", "WORKER", "EXAMPLES", "WASM", "SCRIPT"} {
		list = append(list, ">"+name+"<", ">"+parts[name]+"<")
	}
	return []byte(strings.NewReplacer(list...).Replace(parts["HTML"])), nil
}

// gzipped is data in a gzip stream, in base64.
func gzipped(data []byte) (string, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// example is what a click on the page opens: files, and what the page cannot guess of them.
type example struct {
	Files    map[string]string         `json:"files"` // by path: packed
	Settings map[string]map[string]any `json:"settings,omitempty"`
}

// examplesOf are the page's examples, out of a clone.
func examplesOf(clone fs.FS) ([]byte, error) {
	const core, firmware = "testdata/mips-deref/", "testdata/microcontroller/"
	list := map[string]struct {
		files    map[string]string // by path on the page: in the clone, a member of an archive behind "!"
		settings map[string]map[string]any
	}{
		"core": {files: map[string]string{"core.gz": core + "core.gz", "usr/bin/netd": core + "modules/usr/bin/netd", "usr/lib/libproto.so": core + "modules/usr/lib/libproto.so"}},
		"log":  {files: map[string]string{"oops.log": "contrib/web/page/oops.log"}},
		"ram": {files: map[string]string{"fw.elf": firmware + "m3-freertos11.elf", "fw.ram": firmware + "m3-freertos11.zip!read.ram"},
			settings: map[string]map[string]any{"fw.elf": {"role": "exe"}, "fw.ram": {"role": "ram", "at": "0x20000000"}}},
	}
	all := map[string]example{}
	for name, e := range list {
		made := example{Files: map[string]string{}, Settings: e.settings}
		for path, from := range e.files {
			data, err := member(clone, from)
			if err != nil {
				return nil, err
			}
			if made.Files[path], err = gzipped(data); err != nil {
				return nil, err
			}
		}
		all[name] = made
	}
	return json.Marshal(all)
}

// member is a file of a clone, or a member of an archive in it.
func member(clone fs.FS, from string) ([]byte, error) {
	archive, name, packed := strings.Cut(from, "!")
	data, err := fs.ReadFile(clone, archive)
	if err != nil || !packed {
		return data, err
	}
	f, err := openZip(data, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	data, err = io.ReadAll(f)
	return data, cmp.Or(err, f.Close())
}
