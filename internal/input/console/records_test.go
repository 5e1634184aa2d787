package console

import (
	"context"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
)

// TestRecords: the same two reports, as log daemons and log servers keep their lines. What is no record in between, as the
// beginning of a log that was cut, costs no other record.
func TestRecords(t *testing.T) {
	for what, log := range map[string]string{
		"journalctl -o json": `{"PRIORITY":"4","MESSAGE":"CRASH a"}` + "\n" +
			`{"MESSAGE":[67,82,65,83,72,32,98],"_TRANSPORT":"kernel"}` + "\n",
		"… cut in front and behind": `IORITY":"4","MESSAGE":"boot"}` + "\n" + `{"MESSAGE":"CRASH a"}` + "\n" +
			`{"MESSAGE":"CRASH b"}` + "\n" + `{"MESSAGE":"CRA`,
		"journalctl -o json-pretty": "{\n\t\"PRIORITY\" : \"4\",\n\t\"MESSAGE\" : \"CRASH a\"\n}\n{\n\t\"MESSAGE\" : \"CRASH b\"\n}\n",
		"dmesg --json":              "{\n   \"dmesg\": [\n      {\n         \"pri\": 4,\n         \"msg\": \"CRASH a\"\n      },{\n         \"msg\": \"CRASH b\"\n      }\n   ]\n}\n",
		"Docker":                    `{"log":"CRASH a\n","stream":"stdout"}` + "\n" + `{"log":"CRASH b\r\n","stream":"stdout"}` + "\n",
		"an array":                  `[{"line":"CRASH a"},{"line":"\u0043RASH b"}]`,
		"two members that may be it": `{"log":{"file":"x"},"message":"CRASH a","msg":"CRASH c"}` + "\n" +
			`{"message":"CRASH b","msg":"CRASH d"}` + "\n",
		"JSON in a message":     `{"msg":"CRASH a"}` + "\n" + `{"msg":"{\"msg\":\"CRASH c\"}"}` + "\n" + `{"msg":"CRASH b"}` + "\n",
		"journalctl -o export":  "__CURSOR=s=1;i=1\nMESSAGE=CRASH a\n\n__CURSOR=s=1;i=2\nMESSAGE\n\x07\x00\x00\x00\x00\x00\x00\x00CRASH b\nPRIORITY=4\n\n",
		"journalctl -o verbose": "Sun 2026-11-22 05:00:01.000000 UTC [s=1;i=1]\n    PRIORITY=4\n    MESSAGE=CRASH a\nSun 2026-11-22 05:00:02.000000 UTC [s=1;i=2]\n    MESSAGE=CRASH b\n",
		"CSV":                   "time,host,message\n1,router,\"CRASH a\"\n2,router,CRASH b\n3,router\n",
		"CSV of spreadsheets":   "\xef\xbb\xbf\"Time\";\"Message\"\r\n1;\"CRASH a\"\r\n2;\"CRASH b\"\r\n",
	} {
		if got := crashes(t, log); got != "a b" {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// TestRecordsNewestFirst: log servers export what they show, often the newest line first.
func TestRecordsNewestFirst(t *testing.T) {
	for in, want := range map[string]string{
		"[    3.000001] c\nd\n[    2.000001] b\rbb\n[    1.000001] a\n":                         "[    1.000001] a\n[    2.000001] b\rbb\nd\n[    3.000001] c\n",
		"[    3.000001] before a reset\n[    1.000001] a\n[    2.000001] b\n[    2.500001] c\n": "",
	} {
		if want == "" {
			want = in
		}
		if got := string(messages(in).inOrder(t.Context())); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestColumns: fields in quotes have separators and ends of lines; a quote that nobody closed reaches to the end, and
// one within a field is text.
func TestColumns(t *testing.T) {
	for in, want := range map[string]string{
		"1,a,x\r\n2,b\n":                      "a\nb\n",
		"1,\"a,b\nc\",x\n2,\"say \"\"d\"\"\"": "a,b\rc\nsay \"d\"\n",
		"1,a\"b\"c\n\n2\n3,\"d\"e\"\r\n4,f":   "a\"b\"c\nd\"e\nf\n",
		"1,\"open\n2,b\n":                     "open\r2,b\n",
		"1,":                                  "\n",
	} {
		if got := string(columns([]byte(in), ',', 1)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestNoRecords: snapshots, and text that only looks alike.
func TestNoRecords(t *testing.T) {
	for _, head := range []string{
		`{"arch":"mips","message":"x","regs":{}}`, `{"message":{"text":1}}`, `{"event":"x"}`, `{`, "",
		"[    0.000000] {\"msg\":\"x\"}\n", "Starting kernel ..., log\n", "message\nx\n", "4,1234,12345678,-;message\n", "a,b\n1,2\n",
	} {
		if recordsIn([]byte(head)) != nil {
			t.Errorf("%q has records", head)
		}
	}
}

// crashes are the titles of the reports of toy in a log.
func crashes(t *testing.T, log string) string {
	t.Helper()
	format := Records(toy(&cpu.Arch{Name: "toy"}))
	if !format.Sniff([]byte(log)) {
		return "no records"
	}
	s, err := format.Open(context.Background(), input.NewCapture("log", []byte(log)), &input.Env{})
	if err != nil {
		return err.Error()
	}
	snap, err := s.Next(context.Background())
	if err != nil {
		return err.Error()
	}
	var titles []string
	for _, th := range snap.Threads {
		titles = append(titles, th.Name)
	}
	return strings.Join(titles, " ")
}

// FuzzRecords: messages take no more room than the records, but that JSON makes three bytes of each that is no UTF-8 (U+FFFD).
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"msg":"a","x":[1,2],"msg":[67,300]}`))
	f.Add([]byte("__CURSOR=1\nMESSAGE\n\x01\x00\x00\x00\x00\x00\x00\x00a\nMESSAGE=b\n"))
	f.Add([]byte("{\"msg\":\"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\"}"))
	f.Add([]byte("a,log\n1,\"x\ny\"\n2,\"z"))
	f.Fuzz(func(t *testing.T, data []byte) {
		take := recordsIn(data[:min(len(data), 4096)])
		if take == nil {
			return
		}
		if n := len(take(data)); n > 3*len(data) {
			t.Errorf("%d bytes of messages out of %d", n, len(data))
		}
	})
}
