package main

import (
	"os"
	"strings"
	"testing"
)

// modules are the binaries of a program whose symbols are known.
const modules = "../../testdata/aarch64-signal/modules"

// namedLog is a log with what annotate names: a list by build ID, one by name, a place as kernels print them, an address.
const namedLog = "I/app: start 0x12345678\r\n" +
	"      #01 pc 00000000000007a4  /usr/bin/sensor (BuildId: 892eb152c3a24e29ec12439208e9eee145b2f889)\n" +
	"      #02 pc 00000000000007a4  /usr/bin/other\n" +
	"by_time+0x4c/0x60 and digest+0x54/0x70\n" +
	"end\n"

// TestAnnotate: the log's bytes are unchanged; names stand behind an address, or below the line where there are several.
func TestAnnotate(t *testing.T) {
	code, out, talk := bs(t, "annotate", "--names-only", "-e", modules+"/usr/bin/sensor", "--sysroot", modules, write(t, "a.log", namedLog))
	want := "I/app: start 0x12345678\r\n" +
		"      #01 pc 00000000000007a4  /usr/bin/sensor (BuildId: 892eb152c3a24e29ec12439208e9eee145b2f889)  ← main+0x24 sensor.c:42\n" +
		"      #02 pc 00000000000007a4  /usr/bin/other\n" +
		"by_time+0x4c/0x60 and digest+0x54/0x70\n" +
		"    ← by_time+0x4c/0x60: by_time+0x4c sensor.c:26\n" +
		"    ← digest+0x54/0x70: digest+0x54 sensor.c:36\n" +
		"end\n"
	if code != exitOK || talk != "" || out != want {
		t.Errorf("exit code %d, %s\n%s\nwant\n%s", code, talk, out, want)
	}
}

// TestAnnotateReports: below a report stands what bt makes of it.
func TestAnnotateReports(t *testing.T) {
	log := "pid: 1, tid: 1, name: a  >>> /usr/bin/sensor <<<\n#00 pc 00000000000007a4  /usr/bin/sensor\n#01 pc 00000000000007a8  /usr/bin/sensor\nlast"
	code, out, _ := bs(t, "annotate", "--sysroot", modules, write(t, "a.log", log))
	if code != exitOK || !strings.HasPrefix(out, log[:20]) || !strings.Contains(out, "last\n") || !strings.Contains(out, "Thread 0 \"Android: tid 1 a\"") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestAnnotateAsOthers: what tools for one maker's logs say of a line, in the form of their documents, annotate says behind the line.
func TestAnnotateAsOthers(t *testing.T) {
	const id = "892eb152c3a24e29ec12439208e9eee145b2f889"
	for _, c := range []struct{ tool, line, theirs, want string }{
		{"scripts/decode_stacktrace.sh", "[   12.345678]  main+0x24/0x80", "[   12.345678] main (sensor.c:42)", "main+0x24 sensor.c:42"},
		{"ndk-stack", "01-17 12:00:00.123   412   412 F DEBUG   :       #01 pc 00000000000007a4  /usr/bin/sensor",
			"Stack frame #01 pc 00000000000007a4  /usr/bin/sensor: Routine main at sensor.c:42", "main+0x24 sensor.c:42"},
		{"asan_symbolize.py", "    #1 0xaaaab0c0e7a4  (/usr/bin/sensor+0x7a4) (BuildId: " + id + ")", "    #1 0xaaaab0c0e7a4 in main sensor.c:42", "main+0x24 sensor.c:42"},
		{"idf.py monitor", "Backtrace: 0x000007a4:0x3ffb4e40 0x00000964:0x3ffb4e60", "0x000007a4: main at sensor.c:42\n0x00000964: digest at sensor.c:36",
			"0x000007a4: main+0x24 sensor.c:42\n    ← 0x00000964: digest+0x54 sensor.c:36"},
		{"addr2line -f", "/usr/bin/sensor(+0x7a4) [0xaaaab0c0e7a4]", "main\nsensor.c:42", "main+0x24 sensor.c:42"},
	} {
		code, out, talk := bs(t, "annotate", "--names-only", "-e", modules+"/usr/bin/sensor", "--sysroot", modules, write(t, "a.log", c.line+"\n"))
		if code != exitOK || talk != "" || !strings.HasPrefix(out, c.line) || !strings.Contains(out, "← "+c.want) {
			t.Errorf("%s makes of it\n%s\nannotate, with exit code %d:\n%s%s", c.tool, c.theirs, code, talk, out)
		}
	}
}

// TestAddr: addresses, places in binaries and in functions, from arguments and from lines.
func TestAddr(t *testing.T) {
	sensor := modules + "/usr/bin/sensor"
	for _, c := range []struct {
		file, ask, want string
	}{
		{sensor, "0x7a4", "0x7a4  main+0x24  sensor.c:42\n"},
		{sensor, "7a4", "7a4  main+0x24  sensor.c:42\n"},
		{sensor + "@0x10000", "0x107a4", "0x107a4  main+0x24  sensor.c:42\n"},
		{sensor, "main+0x24", "main+0x24  main+0x24  sensor.c:42\n"},
		{sensor, "sensor+0x7a4", "sensor+0x7a4  main+0x24  sensor.c:42\n"},
		{sensor, "libplug.so+0x5ac", "libplug.so+0x5ac  plug_report+0xc  plug.c:10\n"},
		{sensor, "0x99999999", "0x99999999  ?\n"},
	} {
		if code, out, talk := bs(t, "addr", "--sysroot", modules, c.file, c.ask); code != exitOK || out != c.want || talk != "" {
			t.Errorf("%s in %s: exit code %d, %s%s, want %s", c.ask, c.file, code, out, talk, c.want)
		}
	}
	code, out, talk := bs(t, "addr", sensor, "nothing", "0x7a4")
	if code != exitNone || !strings.Contains(talk, `"nothing" is neither an address nor a function`) || !strings.Contains(out, "main+0x24") {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
	defer func(in *os.File) { os.Stdin = in }(os.Stdin)
	in, err := os.Open(write(t, "addresses", "0x7a4\n\n 7a4 \n"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	os.Stdin = in
	if code, out, _ := bs(t, "addr", sensor); code != exitOK || strings.Count(out, "sensor.c:42\n") != 2 {
		t.Errorf("lines: exit code %d\n%s", code, out)
	}
}
