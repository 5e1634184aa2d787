package console

import "testing"

// TestCut: one message on all ways to a log.
func TestCut(t *testing.T) {
	for line, caller := range map[string]string{
		"Call Trace: x":                                                               "",
		"[   12.345678] Call Trace: x":                                                "",
		"[   12.345678][   T95] Call Trace: x":                                        "T95",
		"[   12.345678][    C1]  Call Trace: x ":                                      "C1",
		"<4>[   12.345678] Call Trace: x":                                             "",
		"<4>Call Trace: x":                                                            "",
		"[12345.345678] Call Trace: x":                                                "",
		"4,1234,12345678,-;Call Trace: x":                                             "",
		"4,1234,12345678,-,caller=T95;Call Trace: x":                                  "T95",
		"kern  :warn  : [   12.345678] Call Trace: x":                                 "",
		"kern  :warn  : [Sun Nov 22 05:00:01 2026] Call Trace: x":                     "",
		"[Sun Nov 22 05:00:01 2026] Call Trace: x":                                    "",
		"2026-11-22T05:00:01,345678+00:00 Call Trace: x":                              "",
		"Nov 22 05:00:01 host kernel: [   12.345678] Call Trace: x":                   "",
		"Nov 22 05:00:01 host kernel: Call Trace: x":                                  "",
		"2026-11-22T05:00:01.345678+00:00 host kernel: Call Trace: x":                 "",
		"[   12.345678] host kernel: Call Trace: x":                                   "",
		"Sun Nov 22 05:00:01 2026 kern.warn kernel: [   12.345678] Call Trace: x":     "",
		"buildroot login: [   12.345678] Call Trace: x":                               "",
		"[   12.345678] [   T95] Call Trace: x":                                       "T95",
		"[Nov22 05:00] Call Trace: x":                                                 "",
		"[  +0.000123] Call Trace: x":                                                 "",
		"[<    0.000123>] Call Trace: x":                                              "",
		"[   12.345678 <    0.000123>] Call Trace: x":                                 "",
		"11-23 10:00:00.123     0     0 W         : Call Trace: x":                    "",
		"11-23 10:00:00.123     0     0 I kernel  : Call Trace: x":                    "",
		"2026-11-23 10:00:00.123456 +0100  root     0     0 W : Call Trace: x":        "",
		"1795000000.123     0     0 W         : Call Trace: x":                        "",
		"11-23 10:00:00.123     0     0 W kernel  : [   12.345678] Call Trace: x":     "",
		"11-23 10:00:00.123 W/        (    0): Call Trace: x":                         "",
		"W/        (    0): Call Trace: x":                                            "",
		"W/        : Call Trace: x":                                                   "",
		"W(    0) Call Trace: x  ()":                                                  "",
		"W(    0:    0) Call Trace: x":                                                "",
		"[   12.345678]  [2:    kworker/2:1:  123] Call Trace: x":                     "T123",
		"<6>[   12.345678] [I2:      swapper/2:    0] Call Trace: x":                  "C2",
		"[   12.345678] (2)[123:kworker/2:1]Call Trace: x":                            "T123",
		"[   12.345678] -(2)[123:kworker/2:1]Call Trace: x":                           "T123",
		"[   12.345678]<2>.(2)[123:kworker/2:1]Call Trace: x":                         "T123",
		"<4>[   12.345678]I[2:    kworker/2:1:  123] Call Trace: x":                   "C2",
		"[   12.345678] c2 Call Trace: x":                                             "C2",
		"[   12.345678] c2 123 (kworker/2:1) Call Trace: x":                           "T123",
		"[   12.345678] [c2] Call Trace: x":                                           "C2",
		"[12345.345678,2] Call Trace: x":                                              "C2",
		"[   12.345678 / 09-26 13:22:37.707][2][123][kworker/2:1] Call Trace: x":      "T123",
		"[   12.345678s][2016:05:10 10:40:15][pid:123,cpu2,kworker/2:1]Call Trace: x": "T123",
		"[   12.345678] [pid:123,cpu2,kworker/2:1]Call Trace: x":                      "T123",
		"[2026/11/22, 05:00:01.725] Call Trace: x":                                    "",
		"2026-11-22T05:00:01.604496  kern  :warn  : Call Trace: x":                    "",
		"> > [   12.345678][   T95] Call Trace: x":                                    "T95",
		">>   Call Trace: x":                                                          "",
		"> Nov 22 05:00:01 host kernel: Call Trace: x":                                "",
		"[2026-11-22 05:00:01] [Sun Nov 22 05:00:01 2026] Call Trace: x":              "",
		"2026-11-22T05:00:01.1234567Z [Sun Nov 22 05:00:01 2026]  Call Trace: x":      "",
		"> Call Trace: x":                                           "",
		"> >>  Call Trace: x":                                       "",
		"> [   12.345678][   T95] Call Trace: x":                    "T95",
		"&gt; [   12.345678] Call Trace: x":                         "",
		"&lt;4&gt;[   12.345678] Call Trace: x":                     "",
		"[12.345678 0.000123] Call Trace: x":                        "",
		"[12.345678 0.000123] [   12.345678][   T95] Call Trace: x": "T95",
		"05:00:01.123 -> Call Trace: x":                             "",
		"[   12.345678] Call Trace: x<br />":                        "",
	} {
		if got := cutLine(line); got.Text != "Call Trace: x" || got.Caller != caller {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestCutAll: where nothing stands behind what was put before a message.
func TestCutAll(t *testing.T) {
	for _, line := range []string{"[   12.345678]", "Nov 22 05:00:01 host kernel:", "Nov 22 05:00:01 host kernel: [   12.345678] ", "> ", ">"} {
		if got := cutLine(line); got.Text != "" {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestBare: what log daemons put before the lines of other programs is seen, too.
func TestBare(t *testing.T) {
	for line, want := range map[string]bool{
		"Nov 22 05:00:01 host toyd[7]: Call Trace: x": true, "нояб 2 05:00:01 host toyd: x": true, "[   12.345678] x": true, "4,1234,12345678,-;x": true,
		"> [   12.345678] x": true, "> x": false, "x": false, "": false, "  pointer dereference at 0000000000000010": false, "a 7 b c": false, "a 12 5:00:01 b": false,
	} {
		if got := cutLine(line); got.Bare == want {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestCutKeepsMessages: brackets, colons and signs of a message are no prefixes.
func TestCutKeepsMessages(t *testing.T) {
	for _, text := range []string{"[<c00a5020>] leaf+0x20/0x2c [crashy]", "CPU: 0 PID: 95 Comm: sh", "<TASK>", "</IRQ>", "? foo+0x1/0x2",
		"W/crashy: x", "I(a) b", "S", "D/", "[2: x] y", "10:00:00 0 0 X y: z", "kernel BUG at mm/slab.c:1!", "$ 0   : 00000000 81d4b3b4", "[00000010] *pgd=41d33835", "foo: a;b", "", "[", "[12.345678 x] y",
		"[12.345678 0.000123]", "5 -> 6", "<br>x"} {
		if got := cutLine(text); got.Text != text || got.Caller != "" {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// FuzzCut: what is cut off is never more than the line has, and cutting again changes nothing
// that is no prefix.
func FuzzCut(f *testing.F) {
	f.Add("<4>[   12.345678][   T95] Call Trace: x")
	f.Add("4,1234,12345678,-,caller=T95;Call Trace: x")
	f.Add("Sun Nov 22 05:00:01 2026 kern.warn kernel: [   12.345678] x")
	f.Fuzz(func(t *testing.T, line string) {
		if l := cutLine(line); len(l.Text)+len(l.Caller) > len(line) {
			t.Errorf("%q: %+v", line, l)
		}
	})
}
