package jsonreport

import (
	"context"
	"strings"
	"testing"
)

// read are the reports of a text.
func read(text string) (list []Report, err error) {
	err = Each(context.Background(), strings.NewReader(text), func(r *Report) error {
		list = append(list, *r)
		return nil
	})
	return list, err
}

// Reports of a version without signatures, one after the other and as an array.
const earlier = `{"status":"OK","system_info":{"cpu_arch":"mips","os":"Linux"},"crash_info":{"type":"SIGSEGV","crashing_thread":0},
"modules":[{"filename":"netd","base_addr":"0x00400000","code_id":"ab12"}],
"threads":[{"thread_id":7,"frames":[{"frame":0,"module":"netd","function":"pack","line":31,"inlines":null}],"backsight":{"stop":{"reason":"root"}}}],"backsight":{"version":null}}`

func TestEach(t *testing.T) {
	for _, text := range []string{earlier + "\n" + earlier, "[" + earlier + ",\n" + earlier + "]\n"} {
		list, err := read(text)
		if err != nil || len(list) != 2 {
			t.Fatalf("%d reports, %v", len(list), err)
		}
		r := list[1]
		if r.System.CPU != "mips" || r.Modules[0].ID != "ab12" || r.Threads[0].Frames[0].Function != "pack" || r.Threads[0].Own.Stop.Reason != "root" || r.Named() != nil {
			t.Errorf("%+v", r)
		}
	}
}

// What is cut or no report is told of with its place, behind what stood before.
func TestCut(t *testing.T) {
	list, err := read(earlier + earlier[:100])
	if len(list) != 1 || err == nil || !strings.Contains(err.Error(), "no report") {
		t.Errorf("%d reports, %v", len(list), err)
	}
	if _, err := read(`{"threads":[{"backsight":{"signature":{"frames":[{"named":"0123456"}]}}}]}`); err == nil {
		t.Error("seven digits are a hash of eight")
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{earlier: true, " [ {\"status\": \"ERROR\"": true, `{"arch":"mips"}`: false, "[1]": false, "": false, "\x7fELF": false} {
		if got := Is([]byte(text)); got != want {
			t.Errorf("%.20q: %t", text, got)
		}
	}
}

// A crashing thread that does not exist names nothing.
func TestNamed(t *testing.T) {
	for _, i := range []string{"-1", "7", "0"} {
		list, err := read(strings.Replace(earlier, `"crashing_thread":0`, `"crashing_thread":`+i, 1))
		if err != nil || list[0].Named() != nil {
			t.Errorf("%s: %v", i, err)
		}
	}
}

func FuzzEach(f *testing.F) {
	f.Add([]byte(earlier))
	f.Add([]byte("[" + earlier + "]"))
	f.Add([]byte(`{"status":"OK","threads":[{"backsight":{"signature":{"frames":[{"named":"00112233"}]}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = Each(context.Background(), strings.NewReader(string(text)), func(r *Report) error {
			r.Named()
			return nil
		})
	})
}
