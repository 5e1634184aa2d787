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
